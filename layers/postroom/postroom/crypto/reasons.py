"""Reasons for which a public key is refused."""

from postroom.core.reason import NLWEB, discard

# fmt: off
KEY_RECORD_INVALID = discard("KeyRecordInvalid", 401, NLWEB, 'RFC 6376 §3.6.1; decision "Key records"',
    "The sender's key record is malformed, or there is more than one.")
KEY_UNUSABLE = discard("KeyUnusable", 401, NLWEB, 'decision "Key records"; RFC 8301 §3.2; RFC 8463',
    "The sender's key has a kind or size that is not accepted.")
