"""Reasons of the mailbox API: requests, sign-in, messages, settings, outbox, notifications, storage."""

from postroom.core.reason import Audience, Kind, Reason

NOT_A_REQUEST = Reason(
    "NotARequest", Kind.REFUSAL, 400, Audience.OWNERS,
    "The request does not have the form that this address takes; GET /openapi.json says which.",
    'decision "Signing in"',
)  # fmt: skip
NO_MAILBOX_NAME = Reason(
    "NoMailboxName", Kind.REFUSAL, 404, Audience.OWNERS,
    "The name in the address is no name that a mailbox can have.", 'decisions "Profiles" and "Receivers"',
)  # fmt: skip
CHALLENGE_INVALID = Reason(
    "ChallengeInvalid", Kind.REFUSAL, 401, Audience.OWNERS,
    "The challenge is not one of ours for this name, or its time is over, or it was answered before.",
    'decision "Signing in"',
)  # fmt: skip
NOT_THE_OWNER = Reason(
    "NotTheOwner", Kind.REFUSAL, 401, Audience.OWNERS,
    "The signature is by no key of this mailbox, or there is no such mailbox.", 'decision "Signing in"',
)  # fmt: skip
TOKEN_INVALID = Reason(
    "TokenInvalid", Kind.REFUSAL, 401, Audience.OWNERS,
    "This takes a token of the mailbox (Authorization: Bearer), as POST /auth/{name} gives one, whose time is not "
    "over and which was not revoked.",
    'RFC 6750 §3.1; decision "Signing in"',
)  # fmt: skip
ANOTHERS_MAILBOX = Reason(
    "AnothersMailbox", Kind.REFUSAL, 403, Audience.OWNERS,
    "The token is that of another mailbox.", 'RFC 6750 §3.1; decision "Signing in"',
)  # fmt: skip
OPENING_NOT_OFFERED = Reason(
    "OpeningNotOffered", Kind.REFUSAL, 403, Audience.OWNERS,
    "At this post office its operator opens mailboxes, and nobody else.", 'decision "Signing in"',
)  # fmt: skip
OPENING_REFUSED = Reason(
    "OpeningRefused", Kind.REFUSAL, 403, Audience.OWNERS,
    "This mailbox is not opened by its owner alone.", 'dm3 §2.1.1; decision "Signing in"',
)  # fmt: skip
CURSOR_INVALID = Reason(
    "CursorInvalid", Kind.REFUSAL, 400, Audience.OWNERS,
    "The cursor is not one that this mailbox gave.", "store protocol: Reader",
)  # fmt: skip
MESSAGE_UNKNOWN = Reason(
    "MessageUnknown", Kind.REFUSAL, 404, Audience.OWNERS,
    "There is no such message waiting in this mailbox.", "store protocol: Reader",
)  # fmt: skip
RANGE_UNSATISFIABLE = Reason(
    "RangeUnsatisfiable", Kind.REFUSAL, 416, Audience.OWNERS,
    "The message has no such bytes.", "RFC 9110 §15.5.17",
)  # fmt: skip
CHANGED_MEANWHILE = Reason(
    "ChangedMeanwhile", Kind.REFUSAL, 412, Audience.OWNERS,
    "It is not any more what If-Match says; read it again.", "RFC 9110 §13.1.1",
)  # fmt: skip
MATCH_NEEDED = Reason(
    "MatchNeeded", Kind.REFUSAL, 428, Audience.OWNERS,
    "This takes If-Match with the ETag of what is to be changed, so that no change is lost.", "RFC 6585 §3",
)  # fmt: skip
SETTING_INVALID = Reason(
    "SettingInvalid", Kind.REFUSAL, 422, Audience.OWNERS,
    "A setting is none that this mailbox can have.", 'decisions "Subjects" and "Profile extension"',
)  # fmt: skip
SUBJECT_OF_OPERATOR = Reason(
    "SubjectOfOperator", Kind.REFUSAL, 403, Audience.OWNERS,
    "What becomes of this Subject the operator of this post office says, and no owner changes it.",
    'decision "Subjects"',
)  # fmt: skip
NOT_A_SENDER = Reason(
    "NotASender", Kind.REFUSAL, 403, Audience.OWNERS,
    "This mailbox cannot send: it is no domain that is served here with a key to sign by.",
    "NLWeb: how do receiver domains prevent sender impersonation attacks",
)  # fmt: skip
TOKEN_REUSED = Reason(
    "TokenReused", Kind.REFUSAL, 409, Audience.OWNERS,
    "This token was used before, to send something else.", "NLWeb: how do receiver domains prevent replay attacks",
)  # fmt: skip
NOT_SENT = Reason(
    "NotSent", Kind.REFUSAL, 404, Audience.OWNERS,
    "No message was sent from this mailbox under this Correlation, or it was long ago.",
    "NLWeb: how do receiver domains prevent replay attacks",
)  # fmt: skip
NOTIFICATION_NOT_OFFERED = Reason(
    "NotificationNotOffered", Kind.REFUSAL, 422, Audience.OWNERS,
    "This deployment sends no notifications of this kind, or none there.", "design: Notifications",
)  # fmt: skip
TARGET_INVALID = Reason(
    "TargetInvalid", Kind.REFUSAL, 422, Audience.OWNERS,
    "The address is none that notifications can be sent to.", "design: Notifications",
)  # fmt: skip
TARGET_EXISTS = Reason(
    "TargetExists", Kind.REFUSAL, 409, Audience.OWNERS,
    "This mailbox has this target already: …/verify sends another code, …/rotate gives it another secret.",
    "design: Notifications",
)  # fmt: skip
TOO_MANY_TARGETS = Reason(
    "TooManyTargets", Kind.REFUSAL, 409, Audience.OWNERS,
    "This mailbox has as many targets of notifications as it may have; remove one of them.", "design: Notifications",
)  # fmt: skip
TARGET_UNKNOWN = Reason(
    "TargetUnknown", Kind.REFUSAL, 404, Audience.OWNERS,
    "This mailbox has no such target of notifications.", "design: Notifications",
)  # fmt: skip
CODE_WRONG = Reason(
    "CodeWrong", Kind.REFUSAL, 403, Audience.OWNERS,
    "The code is not the one that was sent to this target last, or it was tried too often; ask for another.",
    "design: Notifications",
)  # fmt: skip
CONTAINER_UNKNOWN = Reason(
    "ContainerUnknown", Kind.REFUSAL, 404, Audience.OWNERS,
    "There is no container under this key.", 'dm3 §3.2; decision "Containers"',
)  # fmt: skip
PART_UNKNOWN = Reason(
    "PartUnknown", Kind.REFUSAL, 409, Audience.OWNERS,
    "One of the parts is not there: a part counts for an hour, and once; send the container again.",
    'dm3 §3.2; decision "Containers"',
)  # fmt: skip
CONTAINER_TOO_LARGE = Reason(
    "ContainerTooLarge", Kind.REFUSAL, 413, Audience.OWNERS,
    "That is more than is taken at once, or than a container may have.", 'dm3 §3.2; decision "Containers"',
)  # fmt: skip
STORAGE_FULL = Reason(
    "StorageFull", Kind.REFUSAL, 507, Audience.OWNERS,
    "The mailbox's storage has no room for this; GET /storage/{name} says how much is used.",
    "RFC 4918 §11.5; dm3 §3.2",
)  # fmt: skip
TOO_MANY_REQUESTS = Reason(
    "TooManyRequests", Kind.RETRY, 429, Audience.OWNERS,
    "The mailbox was asked too often; come again in a moment.", "RFC 6585 §4",
)  # fmt: skip
COUNTER_CLOSED = Reason(
    "CounterClosed", Kind.RETRY, 503, Audience.OWNERS,
    "The mailbox could not be looked into just now; ask again.", 'decision "Signing in"',
)  # fmt: skip
MESSAGE_UNREADABLE = Reason(
    "MessageUnreadable", Kind.RETRY, 503, Audience.OWNERS,
    "The message waits in this mailbox, and cannot be read until this post office has mended it.",
    "store protocol: Invariants",
)  # fmt: skip
