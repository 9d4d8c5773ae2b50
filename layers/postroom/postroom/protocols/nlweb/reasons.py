"""Reasons of NLWeb: envelopes, signatures, senders' keys, subjects."""

from postroom.core.reason import Audience, Kind, Reason

WRONG_SHAPE = Reason(
    "WrongShape", Kind.REFUSAL, 422, Audience.NLWEB | Audience.OWNERS,
    "The envelope does not have the members it must have, in the form they must have.",
    "NLWeb: what is contained in a domain message envelope",
)  # fmt: skip
UNSUPPORTED_VERSION = Reason(
    "UnsupportedVersion", Kind.REFUSAL, 422, Audience.NLWEB,
    "The envelope's schema code is of a version or authority that this receiver does not support.",
    'NLWeb: how do receiver domains handle upgraded schema versions; decision "Schema codes"',
)  # fmt: skip
NOT_OURS = Reason(
    "NotOurs", Kind.REFUSAL, 421, Audience.NLWEB,
    "The message is addressed to a domain that is not served here.",
    "NLWeb: how do receiver domains know who sent a message",
)  # fmt: skip
TIMESTAMP_TOO_OLD = Reason(
    "TimestampTooOld", Kind.REFUSAL, 422, Audience.NLWEB,
    "The message's Timestamp is too long ago.",
    'NLWeb: how do receiver domains prevent replay attacks; decision "Time window"',
)  # fmt: skip
TIMESTAMP_TOO_NEW = Reason(
    "TimestampTooNew", Kind.REFUSAL, 422, Audience.NLWEB,
    "The message's Timestamp is too far in the future.",
    'NLWeb: how do receiver domains prevent replay attacks; decision "Time window"',
)  # fmt: skip
HASH_MISMATCH = Reason(
    "HashMismatch", Kind.REFUSAL, 422, Audience.NLWEB,
    "The Hash is not the lower-case hex SHA-256 of the canonical (RFC 8785) text of Body and Header.",
    'NLWeb: how to create the canonical hash; decision "Signed text"',
)  # fmt: skip
SIGNATURE_INVALID = Reason(
    "SignatureInvalid", Kind.DISCARD, 401, Audience.NLWEB,
    "Invalid DKIM signature.", "NLWeb: how do receiver domains prevent sender impersonation attacks",
)  # fmt: skip
SENDER_NOT_SIGNED = Reason(
    "SenderNotSigned", Kind.DISCARD, 401, Audience.NLWEB,
    "DNSSEC is not implemented on the sender's domain.",
    'NLWeb: how do receiver domains prevent DNS spoofing attacks; decision "DNSSEC required"',
)  # fmt: skip
DNSSEC_BOGUS = Reason(
    "DnssecBogus", Kind.DISCARD, 401, Audience.NLWEB,
    "DNSSEC validation of the sender's key record failed.", 'RFC 4035 §5; decision "DNSSEC required"',
)  # fmt: skip
KEY_NOT_FOUND = Reason(
    "KeyNotFound", Kind.DISCARD, 401, Audience.NLWEB,
    "The sender's domain has no key record under this selector.", 'RFC 6376 §3.6.2; decision "DNSSEC required"',
)  # fmt: skip
KEY_REVOKED = Reason(
    "KeyRevoked", Kind.DISCARD, 401, Audience.NLWEB,
    "The sender's key record is revoked (empty p=).", "RFC 6376 §3.6.1",
)  # fmt: skip
WALLET_UNKNOWN = Reason(
    "WalletUnknown", Kind.DISCARD, 401, Audience.NLWEB,
    "No public key was registered beforehand for this wallet.", 'NLWeb: what is the signature for; decision "Senders"',
)  # fmt: skip
CORRELATION_REUSED = Reason(
    "CorrelationReused", Kind.DISCARD, 409, Audience.NLWEB | Audience.OWNERS,
    "This Correlation was used before for another message.",
    'NLWeb: how do receiver domains prevent replay attacks; decision "Replay"',
)  # fmt: skip
UNEXPECTED_SUBJECT = Reason(
    "UnexpectedSubject", Kind.DISCARD, 404, Audience.NLWEB,
    "The Subject is not one that this receiver handles.",
    'NLWeb: how do receiver domains differentiate methods; decision "Subjects"',
)  # fmt: skip
FEEDBACK_NOT_KEPT = Reason(
    "FeedbackNotKept", Kind.DISCARD, 404, Audience.OPERATORS,
    "This buffer does not keep Feedback for the domain named in Body.Sender.", 'decision "Buffer"',
)  # fmt: skip
DNSSEC_TOO_COSTLY = Reason(
    "DnssecTooCostly", Kind.RETRY, 503, Audience.NLWEB,
    "To prove the sender's key record would take more work than one look-up may.",
    'RFC 4035 §5; RFC 9276 §3.2; decision "DNSSEC required"',
)  # fmt: skip
KEY_LOOKUP_FAILED = Reason(
    "KeyLookupFailed", Kind.RETRY, 503, Audience.NLWEB,
    "The sender's key record could not be looked up just now.", 'decision "DNSSEC required"',
)  # fmt: skip
STILL_WORKING = Reason(
    "StillWorking", Kind.RETRY, 503, Audience.NLWEB,
    "The same request is being worked on; ask again for its reply.", 'decision "Answers"',
)  # fmt: skip
HANDLER_FAILED = Reason(
    "HandlerFailed", Kind.RETRY, 503, Audience.NLWEB,
    "The handler of this Subject did not answer just now.", 'decision "Subjects"',
)  # fmt: skip
