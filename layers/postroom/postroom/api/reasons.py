"""Reasons of the mailbox API: requests, sign-in, messages, settings, outbox, notifications, storage."""

from postroom.core.reason import OWNERS, refusal, retry

# fmt: off
NOT_A_REQUEST = refusal("NotARequest", 400, OWNERS, 'decision "Signing in"',
    "The request does not have the form that this path requires; see GET /openapi.json.")
NO_MAILBOX_NAME = refusal("NoMailboxName", 404, OWNERS, 'decisions "Profiles" and "Receivers"',
    "The name in the path is not a valid mailbox name.")
CHALLENGE_INVALID = refusal("ChallengeInvalid", 401, OWNERS, 'decision "Signing in"',
    "The challenge was not issued for this name, has expired, or was used before.")
NOT_THE_OWNER = refusal("NotTheOwner", 401, OWNERS, 'decision "Signing in"',
    "The signature is not by a key of this mailbox, or there is no such mailbox.")
TOKEN_INVALID = refusal("TokenInvalid", 401, OWNERS, 'RFC 6750 §3.1; decision "Signing in"',
    "This takes a token of the mailbox (Authorization: Bearer), as POST /auth/{name} gives one, whose time is "
    "not over and which was not revoked.")
ANOTHERS_MAILBOX = refusal("AnothersMailbox", 403, OWNERS, 'RFC 6750 §3.1; decision "Signing in"',
    "The token is for another mailbox.")
OPENING_NOT_OFFERED = refusal("OpeningNotOffered", 403, OWNERS, 'decision "Signing in"',
    "At this post office, only the operator opens mailboxes.")
OPENING_REFUSED = refusal("OpeningRefused", 403, OWNERS, 'dm3 §2.1.1; decision "Signing in"',
    "The owner cannot open this mailbox.")
CURSOR_INVALID = refusal("CursorInvalid", 400, OWNERS, "store protocol: Reader",
    "The cursor was not issued for this mailbox.")
MESSAGE_UNKNOWN = refusal("MessageUnknown", 404, OWNERS, "store protocol: Reader",
    "There is no such message in this mailbox.")
RANGE_UNSATISFIABLE = refusal("RangeUnsatisfiable", 416, OWNERS, "RFC 9110 §15.5.17",
    "The requested range is outside the message.")
CHANGED_MEANWHILE = refusal("ChangedMeanwhile", 412, OWNERS, "RFC 9110 §13.1.1",
    "It has changed since the version in If-Match; read it again.")
MATCH_NEEDED = refusal("MatchNeeded", 428, OWNERS, "RFC 6585 §3",
    "This needs If-Match with the current ETag, so that no change is lost.")
SETTING_INVALID = refusal("SettingInvalid", 422, OWNERS, 'decisions "Subjects" and "Profile extension"',
    "A setting is not valid for this mailbox.")
SUBJECT_OF_OPERATOR = refusal("SubjectOfOperator", 403, OWNERS, 'decision "Subjects"',
    "The operator has set a rule for this Subject, which an owner cannot change.")
NOT_A_SENDER = refusal("NotASender", 403, OWNERS, "NLWeb: how do receiver domains prevent sender impersonation attacks",
    "This mailbox cannot send: it is not a domain that has a signing key here.")
TOKEN_REUSED = refusal("TokenReused", 409, OWNERS, "NLWeb: how do receiver domains prevent replay attacks",
    "This token was used before for another message.")
NOT_SENT = refusal("NotSent", 404, OWNERS, "NLWeb: how do receiver domains prevent replay attacks",
    "No message with this Correlation was sent from this mailbox, or it has been forgotten.")
NOTIFICATION_NOT_OFFERED = refusal("NotificationNotOffered", 422, OWNERS, "design: Notifications",
    "This deployment does not send notifications of this kind, or not to this target.")
TARGET_INVALID = refusal("TargetInvalid", 422, OWNERS, "design: Notifications",
    "Notifications cannot be sent to this address.")
TARGET_EXISTS = refusal("TargetExists", 409, OWNERS, "design: Notifications",
    "This mailbox already has this target: …/verify sends another code, …/rotate returns another secret.")
TOO_MANY_TARGETS = refusal("TooManyTargets", 409, OWNERS, "design: Notifications",
    "This mailbox has the maximum number of notification targets; remove one of them.")
TARGET_UNKNOWN = refusal("TargetUnknown", 404, OWNERS, "design: Notifications",
    "This mailbox has no such notification target.")
CODE_WRONG = refusal("CodeWrong", 403, OWNERS, "design: Notifications",
    "The code is not the last one sent to this target, or it was tried too often; request another one.")
CONTAINER_UNKNOWN = refusal("ContainerUnknown", 404, OWNERS, 'dm3 §3.2; decision "Containers"',
    "There is no container with this key.")
PART_UNKNOWN = refusal("PartUnknown", 409, OWNERS, 'dm3 §3.2; decision "Containers"',
    "A part is missing: a part can be used once, within an hour; send the container again.")
CONTAINER_TOO_LARGE = refusal("ContainerTooLarge", 413, OWNERS, 'dm3 §3.2; decision "Containers"',
    "This is larger than a request or a container may be.")
STORAGE_FULL = refusal("StorageFull", 507, OWNERS, "RFC 4918 §11.5; dm3 §3.2",
    "This would exceed the limit of the mailbox's storage; GET /storage/{name} shows how much is used.")
TOO_MANY_REQUESTS = retry("TooManyRequests", 429, OWNERS, "RFC 6585 §4",
    "There were too many requests for this mailbox; try again in a moment.")
COUNTER_CLOSED = retry("CounterClosed", 503, OWNERS, 'decision "Signing in"',
    "The mailbox could not be read now; try again.")
CONTENT_UNAVAILABLE = retry("ContentUnavailable", 503, OWNERS, 'decision "The mailbox as a resource"',
    "What is in the mailbox could not be read now, or not in time; try again.")
MESSAGE_UNREADABLE = retry("MessageUnreadable", 503, OWNERS, "store protocol: Invariants",
    "The message is in this mailbox, and cannot be read until the operator has repaired it.")
