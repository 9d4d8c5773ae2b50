"""Reasons of NLWeb: envelopes, signatures, senders' keys, subjects."""

from postroom.core.reason import NLWEB, OPERATORS, OWNERS, discard, refusal, retry

# fmt: off
WRONG_SHAPE = refusal("WrongShape", 422, NLWEB | OWNERS, "NLWeb: what is contained in a domain message envelope",
    "The envelope has missing or malformed members.")
UNSUPPORTED_VERSION = refusal("UnsupportedVersion", 422, NLWEB,
    'NLWeb: how do receiver domains handle upgraded schema versions; decision "Schema codes"',
    "The envelope's schema code has a version or authority that this receiver does not support.")
NOT_OURS = refusal("NotOurs", 421, NLWEB, "NLWeb: how do receiver domains know who sent a message",
    "The message is addressed to a domain that is not served here.")
TIMESTAMP_TOO_OLD = refusal("TimestampTooOld", 422, NLWEB,
    'NLWeb: how do receiver domains prevent replay attacks; decision "Time window"',
    "The message's Timestamp is too old.")
TIMESTAMP_TOO_NEW = refusal("TimestampTooNew", 422, NLWEB,
    'NLWeb: how do receiver domains prevent replay attacks; decision "Time window"',
    "The message's Timestamp is too far in the future.")
HASH_MISMATCH = refusal("HashMismatch", 422, NLWEB, 'NLWeb: how to create the canonical hash; decision "Signed text"',
    "The Hash is not the lower-case hex SHA-256 of the canonical (RFC 8785) text of Body and Header.")
SIGNATURE_INVALID = discard("SignatureInvalid", 401, NLWEB,
    "NLWeb: how do receiver domains prevent sender impersonation attacks",
    "Invalid DKIM signature.")
SENDER_NOT_SIGNED = discard("SenderNotSigned", 401, NLWEB,
    'NLWeb: how do receiver domains prevent DNS spoofing attacks; decision "DNSSEC required"',
    "DNSSEC is not implemented on the sender's domain.")
DNSSEC_BOGUS = discard("DnssecBogus", 401, NLWEB, 'RFC 4035 §5; decision "DNSSEC required"',
    "DNSSEC validation of the sender's key record failed.")
KEY_NOT_FOUND = discard("KeyNotFound", 401, NLWEB, 'RFC 6376 §3.6.2; decision "DNSSEC required"',
    "The sender's domain has no key record under this selector.")
KEY_REVOKED = discard("KeyRevoked", 401, NLWEB, "RFC 6376 §3.6.1",
    "The sender's key record is revoked (empty p=).")
WALLET_UNKNOWN = discard("WalletUnknown", 401, NLWEB, 'NLWeb: what is the signature for; decision "Senders"',
    "No public key is registered for this wallet.")
CORRELATION_REUSED = discard("CorrelationReused", 409, NLWEB | OWNERS,
    'NLWeb: how do receiver domains prevent replay attacks; decision "Replay"',
    "This Correlation was used before for another message.")
UNEXPECTED_SUBJECT = discard("UnexpectedSubject", 404, NLWEB,
    'NLWeb: how do receiver domains differentiate methods; decision "Subjects"',
    "The Subject is not one that this receiver handles.")
FEEDBACK_NOT_KEPT = discard("FeedbackNotKept", 404, OPERATORS, 'decision "Buffer"',
    "This buffer does not keep Feedback for the domain named in Body.Sender, or, without it, for the domain in To.")
DNSSEC_TOO_COSTLY = retry("DnssecTooCostly", 503, NLWEB, 'RFC 4035 §5; RFC 9276 §3.2; decision "DNSSEC required"',
    "Proving the sender's key record would take more work than is allowed for a look-up.")
KEY_LOOKUP_FAILED = retry("KeyLookupFailed", 503, NLWEB, 'decision "DNSSEC required"',
    "The sender's key record could not be looked up now.")
SENDER_DNS_SILENT = retry("SenderDnsSilent", 503, NLWEB, 'decision "Silent zones"',
    "The DNS servers of the sender's zone do not answer, and too many messages wait for them; try again later.")
STILL_WORKING = retry("StillWorking", 503, NLWEB, 'decision "Answers"',
    "The same request is being processed; try again to get its reply.")
HANDLER_FAILED = retry("HandlerFailed", 503, NLWEB, 'decision "Subjects"',
    "The handler of this Subject did not answer.")
