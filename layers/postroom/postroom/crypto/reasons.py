"""Reasons for which a public key is refused."""

from postroom.core.reason import Audience, Kind, Reason

KEY_RECORD_INVALID = Reason(
    "KeyRecordInvalid", Kind.DISCARD, 401, Audience.NLWEB,
    "The sender's key record is malformed, or there is more than one.", 'RFC 6376 §3.6.1; decision "Key records"',
)  # fmt: skip
KEY_UNUSABLE = Reason(
    "KeyUnusable", Kind.DISCARD, 401, Audience.NLWEB,
    "The sender's key is of a kind or size that is not accepted.", 'decision "Key records"; RFC 8301 §3.2; RFC 8463',
)  # fmt: skip
