"""The one vocabulary of the house: why a message was refused, discarded, or has to wait.

The same member stands in HTTP answers, Feedback, logs, metrics and tests. Its value is the machine code.
"""

from enum import Enum, StrEnum


class Kind(StrEnum):
    """What a reason does to a message."""

    REFUSAL = "refusal"
    """Said to the sender's face at the door; nothing is stored; no Feedback follows."""
    DISCARD = "discard"
    """Decided by the worker, final; the sender's buffer is told once."""
    RETRY = "retry"
    """Could not be found out or done now; the message waits, or the caller is asked to come back."""


class Reason(Enum):
    """A reason: machine code (`value`), `kind`, HTTP `status`, `sentence` for people, `section` it comes from."""

    kind: Kind
    status: int
    sentence: str
    section: str

    def __new__(cls, code: str, kind: Kind, status: int, sentence: str, section: str) -> "Reason":
        """Keep the machine code as the value and the rest as attributes."""
        member = object.__new__(cls)
        member._value_ = code
        member.kind, member.status, member.sentence, member.section = kind, status, sentence, section
        return member

    # --- refusals: at the door ------------------------------------------------------------------------------
    NO_SUCH_ROUTE = (
        "NoSuchRoute", Kind.REFUSAL, 404,
        "There is nothing at this address; messages are posted to /inbox.", "settlement NLWeb 8",
    )  # fmt: skip
    METHOD_NOT_ALLOWED = (
        "MethodNotAllowed", Kind.REFUSAL, 405,
        "This address does not answer that HTTP method.", "RFC 9110 §15.5.6",
    )  # fmt: skip
    WRONG_CONTENT_TYPE = (
        "WrongContentType", Kind.REFUSAL, 415,
        "A message is posted as application/json in UTF-8.", "settlement NLWeb 8",
    )  # fmt: skip
    WRONG_CONTENT_ENCODING = (
        "WrongContentEncoding", Kind.REFUSAL, 415,
        "The request body must not be compressed.", "settlement NLWeb 8, 15",
    )  # fmt: skip
    TOO_LARGE = (
        "TooLarge", Kind.REFUSAL, 413,
        "The message is larger than this receiver takes.", "settlement NLWeb 8",
    )  # fmt: skip
    NOT_JSON = (
        "NotJson", Kind.REFUSAL, 400,
        "The request body is not a JSON text in UTF-8.", "RFC 8259 §2, §8.1",
    )  # fmt: skip
    NOT_I_JSON = (
        "NotIJson", Kind.REFUSAL, 400,
        "The request body is JSON, but not I-JSON: member names must be unique, "
        "numbers must fit an IEEE double, strings must be valid Unicode, nesting and the number of values are limited.",
        "RFC 7493 §2",
    )  # fmt: skip
    WRONG_SHAPE = (
        "WrongShape", Kind.REFUSAL, 422,
        "The envelope does not have the members it must have, in the form they must have.",
        "NLWeb: what is contained in a domain message envelope",
    )  # fmt: skip
    UNSUPPORTED_VERSION = (
        "UnsupportedVersion", Kind.REFUSAL, 422,
        "The envelope's schema code is of a version or authority that this receiver does not support.",
        "NLWeb: how do receiver domains handle upgraded schema versions; settlement NLWeb 2",
    )  # fmt: skip
    NOT_OURS = (
        "NotOurs", Kind.REFUSAL, 421,
        "The message is addressed to a domain that is not served here.",
        "NLWeb: how do receiver domains know who sent a message",
    )  # fmt: skip
    TIMESTAMP_TOO_OLD = (
        "TimestampTooOld", Kind.REFUSAL, 422,
        "The message's Timestamp is too long ago.",
        "NLWeb: how do receiver domains prevent replay attacks; settlement NLWeb 6",
    )  # fmt: skip
    TIMESTAMP_TOO_NEW = (
        "TimestampTooNew", Kind.REFUSAL, 422,
        "The message's Timestamp is too far in the future.",
        "NLWeb: how do receiver domains prevent replay attacks; settlement NLWeb 6",
    )  # fmt: skip
    HASH_MISMATCH = (
        "HashMismatch", Kind.REFUSAL, 422,
        "The Hash is not the lower-case hex SHA-256 of the canonical (RFC 8785) text of Body and Header.",
        "NLWeb: how to create the canonical hash; settlement NLWeb 1",
    )  # fmt: skip

    MAILBOX_FULL = (
        "MailboxFull", Kind.REFUSAL, 507,
        "The mailbox holds as much as it may; there is room again when its owner has picked mail up.",
        "RFC 4918 §11.5",
    )  # fmt: skip

    # --- refusals of dm3: JSON-RPC answers 200 and says its own code (protocols/dm3/codes.py) ---
    RPC_NOT_A_REQUEST = (
        "RpcNotARequest", Kind.REFUSAL, 200,
        "The JSON is no JSON-RPC 2.0 request.",
        "dm3 §2.4.3; JSON-RPC 2.0 §4",
    )  # fmt: skip
    RPC_WRONG_VERSION = (
        "RpcWrongVersion", Kind.REFUSAL, 200,
        "The member jsonrpc must be the string 2.0.",
        "dm3 §2.3.1; JSON-RPC 2.0 §4",
    )  # fmt: skip
    RPC_UNKNOWN_METHOD = (
        "RpcUnknownMethod", Kind.REFUSAL, 200,
        "There is no such method.",
        "dm3 §2.4.3; JSON-RPC 2.0 §5.1",
    )  # fmt: skip
    RPC_METHOD_NOT_OFFERED = (
        "RpcMethodNotOffered", Kind.REFUSAL, 200,
        "This dm3 method is not offered here.",
        "dm3 §2.3.1; settlement dm3 7",
    )  # fmt: skip
    RPC_WRONG_PARAMS = (
        "RpcWrongParams", Kind.REFUSAL, 200,
        "The method takes its parameters in another form.",
        "dm3 §2.4.3; JSON-RPC 2.0 §5.1",
    )  # fmt: skip
    RPC_BATCH_TOO_LONG = (
        "RpcBatchTooLong", Kind.REFUSAL, 200,
        "The batch holds more requests than are answered at once.",
        "dm3 §2.3.1; settlement dm3 7",
    )  # fmt: skip
    ENVELOPE_INVALID = (
        "EnvelopeInvalid", Kind.REFUSAL, 200,
        "The dm3 envelope does not have the members it must have, in the form they must have.",
        "dm3 §2.2.5, §2.2.6; settlement dm3 4",
    )  # fmt: skip
    ENCRYPTION_SCHEME_UNKNOWN = (
        "EncryptionSchemeUnknown", Kind.REFUSAL, 200,
        "The encryption scheme is not one that is known here.",
        "dm3 §2.2.6; settlement dm3 1",
    )  # fmt: skip
    SEALED_VALUE_INVALID = (
        "SealedValueInvalid", Kind.REFUSAL, 200,
        "A sealed value cannot be opened: it is malformed, not padded, or sealed to another key.",
        "dm3 §2.2.5; settlement dm3 1",
    )  # fmt: skip
    NAME_INVALID = (
        "NameInvalid", Kind.REFUSAL, 200,
        "A name is none that ENSIP-15 normalises.",
        "dm3 §2.2.7; settlement dm3 10",
    )  # fmt: skip
    RECEIVER_UNKNOWN = (
        "ReceiverUnknown", Kind.REFUSAL, 200,
        "The receiver has no mailbox at this delivery service.",
        "dm3 §2.3.1; settlement dm3 5, 7",
    )  # fmt: skip
    PROFILE_UNKNOWN = (
        "ProfileUnknown", Kind.REFUSAL, 200,
        "The name has no dm3 profile in the registry.",
        "dm3 §2.1; settlement dm3 5",
    )  # fmt: skip
    PROFILE_INVALID = (
        "ProfileInvalid", Kind.REFUSAL, 200,
        "The dm3 profile of the name is malformed.",
        "dm3 §2.1.1, §2.1.2; settlement dm3 10",
    )  # fmt: skip
    PROFILE_URI_UNSUPPORTED = (
        "ProfileUriUnsupported", Kind.REFUSAL, 200,
        "The dm3 profile is published under a URI of a kind that is not read here.",
        "dm3 §2.2.1; settlement dm3 10",
    )  # fmt: skip
    SENDER_SIGNATURE_INVALID = (
        "SenderSignatureInvalid", Kind.REFUSAL, 200,
        "The signature is not one by the signing key of the sender's profile.",
        "dm3 §2.2.6; settlement dm3 2, 5",
    )  # fmt: skip
    MESSAGE_INVALID = (
        "MessageInvalid", Kind.REFUSAL, 200,
        "The dm3 message does not have the members it must have, in the form they must have.",
        "dm3 §2.2.2 - §2.2.4; settlement dm3 14",
    )  # fmt: skip
    MESSAGE_TYPE_UNSUPPORTED = (
        "MessageTypeUnsupported", Kind.REFUSAL, 200,
        "The receiver does not take messages of this type.",
        "dm3 §2.3.3",
    )  # fmt: skip
    POSTMARK_INVALID = (
        "PostmarkInvalid", Kind.REFUSAL, 200,
        "The postmark does not fit the message, or is not signed by the delivery service.",
        "dm3 §2.2.8; settlement dm3 6",
    )  # fmt: skip

    # --- refusals at the counter: to owners, and to whoever says to be one ------------------------------------
    NOT_A_REQUEST = (
        "NotARequest", Kind.REFUSAL, 400,
        "The request does not have the form that this address takes; GET /openapi.json says which.",
        "settlement dm3 16",
    )  # fmt: skip
    NO_MAILBOX_NAME = (
        "NoMailboxName", Kind.REFUSAL, 404,
        "The name in the address is no name that a mailbox can have.", "settlement dm3 10, NLWeb 13",
    )  # fmt: skip
    CHALLENGE_INVALID = (
        "ChallengeInvalid", Kind.REFUSAL, 401,
        "The challenge is not one of ours for this name, or its time is over, or it was answered before.",
        "settlement dm3 16",
    )  # fmt: skip
    NOT_THE_OWNER = (
        "NotTheOwner", Kind.REFUSAL, 401,
        "The signature is by no key of this mailbox, or there is no such mailbox.", "settlement dm3 16",
    )  # fmt: skip
    TOKEN_INVALID = (
        "TokenInvalid", Kind.REFUSAL, 401,
        "This takes a token of the mailbox (Authorization: Bearer), as POST /auth/{name} gives one, "
        "whose time is not over and which was not revoked.",
        "RFC 6750 §3.1; settlement dm3 16",
    )  # fmt: skip
    ANOTHERS_MAILBOX = (
        "AnothersMailbox", Kind.REFUSAL, 403,
        "The token is that of another mailbox.", "RFC 6750 §3.1; settlement dm3 16",
    )  # fmt: skip
    OPENING_NOT_OFFERED = (
        "OpeningNotOffered", Kind.REFUSAL, 403,
        "At this post office its operator opens mailboxes, and nobody else.", "settlement dm3 16",
    )  # fmt: skip
    OPENING_REFUSED = (
        "OpeningRefused", Kind.REFUSAL, 403,
        "This mailbox is not opened by its owner alone.", "dm3 §2.1.1; settlement dm3 16",
    )  # fmt: skip
    CURSOR_INVALID = (
        "CursorInvalid", Kind.REFUSAL, 400,
        "The cursor is not one that this mailbox gave.", "store protocol: Reader",
    )  # fmt: skip
    MESSAGE_UNKNOWN = (
        "MessageUnknown", Kind.REFUSAL, 404,
        "There is no such message waiting in this mailbox.", "store protocol: Reader",
    )  # fmt: skip
    RANGE_UNSATISFIABLE = (
        "RangeUnsatisfiable", Kind.REFUSAL, 416,
        "The message has no such bytes.", "RFC 9110 §15.5.17",
    )  # fmt: skip
    CHANGED_MEANWHILE = (
        "ChangedMeanwhile", Kind.REFUSAL, 412,
        "It is not any more what If-Match says; read it again.", "RFC 9110 §13.1.1",
    )  # fmt: skip
    MATCH_NEEDED = (
        "MatchNeeded", Kind.REFUSAL, 428,
        "This takes If-Match with the ETag of what is to be changed, so that no change is lost.", "RFC 6585 §3",
    )  # fmt: skip

    SETTING_INVALID = (
        "SettingInvalid", Kind.REFUSAL, 422,
        "A setting is none that this mailbox can have.", "settlement NLWeb 14, dm3 12",
    )  # fmt: skip
    SUBJECT_OF_OPERATOR = (
        "SubjectOfOperator", Kind.REFUSAL, 403,
        "What becomes of this Subject the operator of this post office says, and no owner changes it.",
        "settlement NLWeb 14",
    )  # fmt: skip
    NOT_A_SENDER = (
        "NotASender", Kind.REFUSAL, 403,
        "This mailbox cannot send: it is no domain that is served here with a key to sign by.",
        "NLWeb: how do receiver domains prevent sender impersonation attacks",
    )  # fmt: skip
    TOKEN_REUSED = (
        "TokenReused", Kind.REFUSAL, 409,
        "This token was used before, to send something else.",
        "NLWeb: how do receiver domains prevent replay attacks",
    )  # fmt: skip
    NOT_SENT = (
        "NotSent", Kind.REFUSAL, 404,
        "No message was sent from this mailbox under this Correlation, or it was long ago.",
        "NLWeb: how do receiver domains prevent replay attacks",
    )  # fmt: skip

    NOTIFICATION_NOT_OFFERED = (
        "NotificationNotOffered", Kind.REFUSAL, 422,
        "This deployment sends no notifications of this kind, or none there.", "design: Notifications",
    )  # fmt: skip
    TARGET_INVALID = (
        "TargetInvalid", Kind.REFUSAL, 422,
        "The address is none that notifications can be sent to.", "design: Notifications",
    )  # fmt: skip
    TARGET_EXISTS = (
        "TargetExists", Kind.REFUSAL, 409,
        "This mailbox has this target already: …/verify sends another code, …/rotate gives it another secret.",
        "design: Notifications",
    )  # fmt: skip
    TOO_MANY_TARGETS = (
        "TooManyTargets", Kind.REFUSAL, 409,
        "This mailbox has as many targets of notifications as it may have; remove one of them.",
        "design: Notifications",
    )  # fmt: skip
    TARGET_UNKNOWN = (
        "TargetUnknown", Kind.REFUSAL, 404,
        "This mailbox has no such target of notifications.", "design: Notifications",
    )  # fmt: skip
    CODE_WRONG = (
        "CodeWrong", Kind.REFUSAL, 403,
        "The code is not the one that was sent to this target last, or it was tried too often; ask for another.",
        "design: Notifications",
    )  # fmt: skip
    CONTAINER_UNKNOWN = (
        "ContainerUnknown", Kind.REFUSAL, 404,
        "There is no container under this key.", "dm3 §3.2; settlement dm3 15",
    )  # fmt: skip
    PART_UNKNOWN = (
        "PartUnknown", Kind.REFUSAL, 409,
        "One of the parts is not there: a part counts for an hour, and once; send the container again.",
        "dm3 §3.2; settlement dm3 15",
    )  # fmt: skip
    CONTAINER_TOO_LARGE = (
        "ContainerTooLarge", Kind.REFUSAL, 413,
        "That is more than is taken at once, or than a container may have.", "dm3 §3.2; settlement dm3 15",
    )  # fmt: skip
    STORAGE_FULL = (
        "StorageFull", Kind.REFUSAL, 507,
        "The mailbox's storage has no room for this; GET /storage/{name} says how much is used.",
        "RFC 4918 §11.5; dm3 §3.2",
    )  # fmt: skip

    # --- discards: by the worker, or said at once in answer to a synchronous request -----------------------
    SIGNATURE_INVALID = (
        "SignatureInvalid", Kind.DISCARD, 401,
        "Invalid DKIM signature.",
        "NLWeb: how do receiver domains prevent sender impersonation attacks",
    )  # fmt: skip
    SENDER_NOT_SIGNED = (
        "SenderNotSigned", Kind.DISCARD, 401,
        "DNSSEC is not implemented on the sender's domain.",
        "NLWeb: how do receiver domains prevent DNS spoofing attacks; settlement NLWeb 5",
    )  # fmt: skip
    DNSSEC_BOGUS = (
        "DnssecBogus", Kind.DISCARD, 401,
        "DNSSEC validation of the sender's key record failed.",
        "RFC 4035 §5; settlement NLWeb 5",
    )  # fmt: skip
    KEY_NOT_FOUND = (
        "KeyNotFound", Kind.DISCARD, 401,
        "The sender's domain has no key record under this selector.",
        "RFC 6376 §3.6.2; settlement NLWeb 5",
    )  # fmt: skip
    KEY_REVOKED = (
        "KeyRevoked", Kind.DISCARD, 401,
        "The sender's key record is revoked (empty p=).", "RFC 6376 §3.6.1",
    )  # fmt: skip
    KEY_RECORD_INVALID = (
        "KeyRecordInvalid", Kind.DISCARD, 401,
        "The sender's key record is malformed, or there is more than one.",
        "RFC 6376 §3.6.1; settlement NLWeb 4",
    )  # fmt: skip
    KEY_UNUSABLE = (
        "KeyUnusable", Kind.DISCARD, 401,
        "The sender's key is of a kind or size that is not accepted.",
        "settlement NLWeb 4; RFC 8301 §3.2; RFC 8463",
    )  # fmt: skip
    WALLET_UNKNOWN = (
        "WalletUnknown", Kind.DISCARD, 401,
        "No public key was registered beforehand for this wallet.",
        "NLWeb: what is the signature for; settlement NLWeb 12",
    )  # fmt: skip
    CORRELATION_REUSED = (
        "CorrelationReused", Kind.DISCARD, 409,
        "This Correlation was used before for another message.",
        "NLWeb: how do receiver domains prevent replay attacks; settlement NLWeb 9",
    )  # fmt: skip
    UNEXPECTED_SUBJECT = (
        "UnexpectedSubject", Kind.DISCARD, 404,
        "The Subject is not one that this receiver handles.",
        "NLWeb: how do receiver domains differentiate methods; settlement NLWeb 14",
    )  # fmt: skip
    FEEDBACK_NOT_KEPT = (
        "FeedbackNotKept", Kind.DISCARD, 404,
        "This buffer does not keep Feedback for the domain named in Body.Sender.",
        "settlement NLWeb 11",
    )  # fmt: skip
    SENDER_NOT_WANTED = (
        "SenderNotWanted", Kind.DISCARD, 403,
        "The receiver's filter rules do not let this sender in.",
        "dm3 §2.2.1; settlement dm3 5, 12, NLWeb 14",
    )  # fmt: skip
    TOO_LATE = (
        "TooLate", Kind.DISCARD, 504,
        "The message could not be judged within the time a message may wait.",
        "store protocol: Times; settlement NLWeb 5",
    )  # fmt: skip
    UNDELIVERABLE = (
        "Undeliverable", Kind.DISCARD, 500,
        "The message could not be processed, though it was tried many times.",
        "store protocol: Operation",
    )  # fmt: skip

    # --- retries: could not be found out or done now --------------------------------------------------------
    NOT_QUEUED = (
        "NotQueued", Kind.RETRY, 503,
        "The message could not be taken in just now; send the same message again.",
        "NLWeb: how do receiver domains reply to incoming messages; settlement NLWeb 8",
    )  # fmt: skip
    DNSSEC_TOO_COSTLY = (
        "DnssecTooCostly", Kind.RETRY, 503,
        "To prove the sender's key record would take more work than one look-up may.",
        "RFC 4035 §5; RFC 9276 §3.2; settlement NLWeb 5",
    )  # fmt: skip
    KEY_LOOKUP_FAILED = (
        "KeyLookupFailed", Kind.RETRY, 503,
        "The sender's key record could not be looked up just now.", "settlement NLWeb 5",
    )  # fmt: skip
    STILL_WORKING = (
        "StillWorking", Kind.RETRY, 503,
        "The same request is being worked on; ask again for its reply.", "settlement NLWeb 8",
    )  # fmt: skip
    HANDLER_FAILED = (
        "HandlerFailed", Kind.RETRY, 503,
        "The handler of this Subject did not answer just now.", "settlement NLWeb 14",
    )  # fmt: skip
    STORE_UNAVAILABLE = (
        "StoreUnavailable", Kind.RETRY, 503,
        "The store did not take a write just now.", "store protocol: Steps",
    )  # fmt: skip
    OUTBOUND_FAILED = (
        "OutboundFailed", Kind.RETRY, 503,
        "The other domain's host could not be reached, or did not take the message.",
        "NLWeb: how can senders know if receivers discarded messages",
    )  # fmt: skip
    SIGNING_KEY_UNAVAILABLE = (
        "SigningKeyUnavailable", Kind.RETRY, 503,
        "Our own signing key could not be read just now.", "design: Settings",
    )  # fmt: skip
    PROFILE_LOOKUP_FAILED = (
        "ProfileLookupFailed", Kind.RETRY, 503,
        "The dm3 profile of a name could not be looked up just now.",
        "dm3 §2.1; settlement dm3 7, 8",
    )  # fmt: skip
    TOO_MANY_REQUESTS = (
        "TooManyRequests", Kind.RETRY, 429,
        "The mailbox was asked too often; come again in a moment.", "RFC 6585 §4",
    )  # fmt: skip
    COUNTER_CLOSED = (
        "CounterClosed", Kind.RETRY, 503,
        "The mailbox could not be looked into just now; ask again.", "settlement dm3 16",
    )  # fmt: skip
    MESSAGE_UNREADABLE = (
        "MessageUnreadable", Kind.RETRY, 503,
        "The message waits in this mailbox, and cannot be read until this post office has mended it.",
        "store protocol: Invariants",
    )  # fmt: skip
    FILTER_RULE_UNCHECKED = (
        "FilterRuleUnchecked", Kind.RETRY, 503,
        "The receiver's filter rules ask for what cannot be looked up here: a nonce or a balance.",
        "dm3 §2.2.1; settlement dm3 12",
    )  # fmt: skip

    def __str__(self) -> str:
        return str(self.value)


_BY_CODE = {str(reason): reason for reason in Reason}


def reason_of(code: str) -> Reason:
    """The reason with this machine code. Raises KeyError."""
    return _BY_CODE[code]
