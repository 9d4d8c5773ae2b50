"""Reasons of the mailbox API: requests, sign-in, messages, settings, outbox, notifications, storage."""

from postroom.core.reason import OWNERS, refusal, retry

# fmt: off
NOT_A_REQUEST = refusal("NotARequest", 400, OWNERS, 'decision "Signing in"',
    "The request does not have the form that this address takes; GET /openapi.json says which.")
NO_MAILBOX_NAME = refusal("NoMailboxName", 404, OWNERS, 'decisions "Profiles" and "Receivers"',
    "The name in the address is no name that a mailbox can have.")
CHALLENGE_INVALID = refusal("ChallengeInvalid", 401, OWNERS, 'decision "Signing in"',
    "The challenge is not one of ours for this name, or its time is over, or it was answered before.")
NOT_THE_OWNER = refusal("NotTheOwner", 401, OWNERS, 'decision "Signing in"',
    "The signature is by no key of this mailbox, or there is no such mailbox.")
TOKEN_INVALID = refusal("TokenInvalid", 401, OWNERS, 'RFC 6750 §3.1; decision "Signing in"',
    "This takes a token of the mailbox (Authorization: Bearer), as POST /auth/{name} gives one, whose time is "
    "not over and which was not revoked.")
ANOTHERS_MAILBOX = refusal("AnothersMailbox", 403, OWNERS, 'RFC 6750 §3.1; decision "Signing in"',
    "The token is that of another mailbox.")
OPENING_NOT_OFFERED = refusal("OpeningNotOffered", 403, OWNERS, 'decision "Signing in"',
    "At this post office its operator opens mailboxes, and nobody else.")
OPENING_REFUSED = refusal("OpeningRefused", 403, OWNERS, 'dm3 §2.1.1; decision "Signing in"',
    "This mailbox is not opened by its owner alone.")
CURSOR_INVALID = refusal("CursorInvalid", 400, OWNERS, "store protocol: Reader",
    "The cursor is not one that this mailbox gave.")
MESSAGE_UNKNOWN = refusal("MessageUnknown", 404, OWNERS, "store protocol: Reader",
    "There is no such message waiting in this mailbox.")
RANGE_UNSATISFIABLE = refusal("RangeUnsatisfiable", 416, OWNERS, "RFC 9110 §15.5.17",
    "The message has no such bytes.")
CHANGED_MEANWHILE = refusal("ChangedMeanwhile", 412, OWNERS, "RFC 9110 §13.1.1",
    "It is not any more what If-Match says; read it again.")
MATCH_NEEDED = refusal("MatchNeeded", 428, OWNERS, "RFC 6585 §3",
    "This takes If-Match with the ETag of what is to be changed, so that no change is lost.")
SETTING_INVALID = refusal("SettingInvalid", 422, OWNERS, 'decisions "Subjects" and "Profile extension"',
    "A setting is none that this mailbox can have.")
SUBJECT_OF_OPERATOR = refusal("SubjectOfOperator", 403, OWNERS, 'decision "Subjects"',
    "What becomes of this Subject the operator of this post office says, and no owner changes it.")
NOT_A_SENDER = refusal("NotASender", 403, OWNERS, "NLWeb: how do receiver domains prevent sender impersonation attacks",
    "This mailbox cannot send: it is no domain that is served here with a key to sign by.")
TOKEN_REUSED = refusal("TokenReused", 409, OWNERS, "NLWeb: how do receiver domains prevent replay attacks",
    "This token was used before, to send something else.")
NOT_SENT = refusal("NotSent", 404, OWNERS, "NLWeb: how do receiver domains prevent replay attacks",
    "No message was sent from this mailbox under this Correlation, or it was long ago.")
NOTIFICATION_NOT_OFFERED = refusal("NotificationNotOffered", 422, OWNERS, "design: Notifications",
    "This deployment sends no notifications of this kind, or none there.")
TARGET_INVALID = refusal("TargetInvalid", 422, OWNERS, "design: Notifications",
    "The address is none that notifications can be sent to.")
TARGET_EXISTS = refusal("TargetExists", 409, OWNERS, "design: Notifications",
    "This mailbox has this target already: …/verify sends another code, …/rotate gives it another secret.")
TOO_MANY_TARGETS = refusal("TooManyTargets", 409, OWNERS, "design: Notifications",
    "This mailbox has as many targets of notifications as it may have; remove one of them.")
TARGET_UNKNOWN = refusal("TargetUnknown", 404, OWNERS, "design: Notifications",
    "This mailbox has no such target of notifications.")
CODE_WRONG = refusal("CodeWrong", 403, OWNERS, "design: Notifications",
    "The code is not the one that was sent to this target last, or it was tried too often; ask for another.")
CONTAINER_UNKNOWN = refusal("ContainerUnknown", 404, OWNERS, 'dm3 §3.2; decision "Containers"',
    "There is no container under this key.")
PART_UNKNOWN = refusal("PartUnknown", 409, OWNERS, 'dm3 §3.2; decision "Containers"',
    "One of the parts is not there: a part counts for an hour, and once; send the container again.")
CONTAINER_TOO_LARGE = refusal("ContainerTooLarge", 413, OWNERS, 'dm3 §3.2; decision "Containers"',
    "That is more than is taken at once, or than a container may have.")
STORAGE_FULL = refusal("StorageFull", 507, OWNERS, "RFC 4918 §11.5; dm3 §3.2",
    "The mailbox's storage has no room for this; GET /storage/{name} says how much is used.")
TOO_MANY_REQUESTS = retry("TooManyRequests", 429, OWNERS, "RFC 6585 §4",
    "The mailbox was asked too often; come again in a moment.")
COUNTER_CLOSED = retry("CounterClosed", 503, OWNERS, 'decision "Signing in"',
    "The mailbox could not be looked into just now; ask again.")
MESSAGE_UNREADABLE = retry("MessageUnreadable", 503, OWNERS, "store protocol: Invariants",
    "The message waits in this mailbox, and cannot be read until this post office has mended it.")
