"""The schemas of the mailbox API: the shapes of requests and responses."""

from typing import Annotated, Any, Final, Literal

from msgspec import UNSET, Meta, Raw, Struct, UnsetType, field

from postroom.api.challenges import Purpose
from postroom.api.states import State, TargetState
from postroom.protocols.nlweb.subjects import Treatment

MAX_WAIT_SECONDS: Final = 20
MAX_PAGE_MESSAGES: Final = 1000
MAX_PAGE_BYTES: Final = 4_000_000
"""The largest page. Lambda returns 6 MB, and the page is base64 by then."""
MAX_ACKNOWLEDGED: Final = 1000
MAX_SENT: Final = 100
MAX_TARGET: Final = 1000
"""Characters of a URL, or of an ARN."""
MAX_CONTAINERS: Final = 1000
MAX_PART_BYTES: Final = 4_000_000
"""The largest part in a request or response. Both are base64 within an event of Lambda, which accepts 6 MB."""
MAX_CONTAINER_BYTES: Final = 64 * 1024 * 1024
"""More than any container of an archive has: a message of 20 MB in a chunk of its own (dm3 §2.2.4)."""
MAX_PARTS: Final = 32
"""The parts of a container; each is a write in one transaction, which has at most 100."""
_MAX_CURSOR: Final = 200
_MAX_ID: Final = 100

MessageId = Annotated[
    str, Meta(max_length=_MAX_ID, description="The ID of one message; it never changes and is never used again.")
]
Time = Annotated[str, Meta(description="RFC 3339, in UTC.", extra_json_schema={"format": "date-time"})]


class ChallengeQuery(Struct, frozen=True):
    """The purpose of a challenge."""

    purpose: Annotated[Purpose, Meta(description="What the signature is for; it is invalid for the other purpose.")] = (
        Purpose.PICK_UP
    )


class SignedChallenge(Struct, frozen=True):
    """A challenge and its signature by one of the mailbox's keys."""

    challenge: Annotated[
        str, Meta(max_length=2048, description="The challenge that GET returned. Sign the whole text.")
    ]
    signature: Annotated[
        str, Meta(max_length=2048, description="Base64 of an Ed25519, secp256k1 (r ‖ s) or RSA signature.")
    ]


class PageQuery(Struct, frozen=True):
    """Which messages to list."""

    after: Annotated[
        str, Meta(max_length=_MAX_CURSOR, description="The cursor of the previous page; empty: the first page.")
    ] = ""
    limit: Annotated[
        int, Meta(ge=1, le=MAX_PAGE_MESSAGES, description="The maximum number of messages in the page.")
    ] = 100
    bytes: Annotated[
        int,
        Meta(
            ge=1,
            le=MAX_PAGE_BYTES,
            description="The maximum size of the page in bytes. A single message may be larger, in a page of its own.",
        ),
    ] = 1_000_000
    conversation: Annotated[
        str, Meta(max_length=300, description="Lists only messages of this conversation; empty: of all.")
    ] = ""
    wait: Annotated[
        float,
        Meta(
            ge=0,
            le=MAX_WAIT_SECONDS,
            description="If the mailbox has no message, the number of seconds to wait for one before answering. If too "
            "many requests wait, the answer comes at once, with Retry-After.",
        ),
    ] = 0.0


class Status(Struct, frozen=True, omit_defaults=True):
    """How many messages are in the mailbox."""

    waiting: Annotated[int, Meta(description="The number of messages that are not acknowledged.")]
    bytes: Annotated[int, Meta(description="Their size in bytes, as stored.")]
    more: Annotated[bool, Meta(description="Whether there are more messages than were counted.")]
    oldest: Annotated[Time | None, Meta(description="When the oldest of them was received; null: there is none.")]
    age_seconds: Annotated[int, Meta(description="The age of the oldest message in seconds.")]
    max_messages: Annotated[int | None, Meta(description="The quota of messages; absent: unlimited.")] = None
    max_bytes: Annotated[int | None, Meta(description="The quota of bytes; absent: unlimited.")] = None


class Message(Struct, frozen=True, omit_defaults=True):
    """A message."""

    id: MessageId
    received_at: Time
    conversation: Annotated[str, Meta(description="The partner with whom the message is exchanged.")]
    receipt: Annotated[dict[str, Any], Meta(description="How this post office verified the message.")]
    envelope: Annotated[
        str | UnsetType,
        Meta(
            description="The envelope, byte for byte as received; absent if it is too large for a page: get "
            "…/envelope instead."
        ),
    ] = UNSET


class Page(Struct, frozen=True, omit_defaults=True):
    """Messages, oldest first."""

    messages: list[Message]
    cursor: Annotated[str, Meta(description="Pass it as `after` to get the next page; empty: a new pass begins.")]
    more: Annotated[bool, Meta(description="Whether there is a next page now.")]
    unreadable: Annotated[
        list[MessageId],
        Meta(description="Messages that cannot be read, because their stored bytes are missing or damaged."),
    ] = field(default_factory=list)
    status: Annotated[Status | UnsetType, Meta(description="Only on the last page, if it has no messages.")] = UNSET


class Conversation(Struct, frozen=True):
    """The messages with one partner."""

    partner: str
    waiting: int
    oldest: Time
    newest: Time


class Conversations(Struct, frozen=True):
    """All partners with messages in the mailbox, the one with the oldest message first."""

    conversations: list[Conversation]
    more: Annotated[bool, Meta(description="Whether there are more messages than were counted.")]


class Acknowledgements(Struct, frozen=True):
    """Messages that the client has stored safely."""

    ids: Annotated[list[MessageId], Meta(max_length=MAX_ACKNOWLEDGED)]


class Acknowledged(Struct, frozen=True):
    """The result for each message.

    `acknowledged`: the message is never listed again. `unknown`: it is not in this mailbox. `again`: it could not be
    acknowledged now; try again.
    """

    acknowledged: list[str]
    unknown: list[str]
    again: list[str]


class SignedOut(Struct, frozen=True):
    """All tokens issued until then are revoked. This takes effect everywhere within a minute."""

    signed_out_at: Time


class OperatorsSubject(Struct, frozen=True, omit_defaults=True):
    """The operator's rule for a Subject, or a rule that every domain has."""

    treatment: Treatment
    mailbox: Annotated[
        str, Meta(description="The mailbox of messages with this Subject, unless the owner sets another one.")
    ] = ""


class Settings(Struct, frozen=True, omit_defaults=True):
    """The settings of the owner.

    A dm3 mailbox has `extension` and `unverified`; an NLWeb mailbox has the other members.
    """

    extension: Annotated[
        dict[str, Any] | UnsetType,
        Meta(description="What dm3_getProfileExtension returns to senders, who must follow it (dm3 §2.3.3)."),
    ] = UNSET
    unverified: Annotated[
        bool | UnsetType,
        Meta(description="Whether messages are accepted, and marked, if their sender cannot be verified."),
    ] = UNSET
    blocks: Annotated[
        list[str] | UnsetType,
        Meta(
            description="Blocked senders: a domain, *.domain (the domain and everything below it), or the UUID of a "
            "wallet."
        ),
    ] = UNSET
    subjects: Annotated[
        dict[str, str] | UnsetType,
        Meta(
            description="Only the mailbox of a domain: the mailbox for each pattern of Subjects (Method@Role; * stands "
            "for a whole part)."
        ),
    ] = UNSET
    operators_subjects: Annotated[
        dict[str, OperatorsSubject] | UnsetType,
        Meta(
            description="The operator's rules. `subjects` takes precedence over those that name a mailbox, and over no "
            "others."
        ),
    ] = UNSET


class SettingsChange(Struct, frozen=True):
    """A change of settings: an absent member is not changed, and a subject that is null is removed (RFC 7396)."""

    extension: dict[str, Any] | UnsetType = UNSET
    unverified: bool | UnsetType = UNSET
    blocks: list[str] | UnsetType = UNSET
    subjects: dict[str, str | None] | UnsetType = UNSET


class NewMessage(Struct, frozen=True):
    """An NLWeb message to be sent; its From is the mailbox."""

    token: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=100,
            description="An idempotency token of your choice: requests with the same token send one message.",
        ),
    ]
    to: Annotated[str, Meta(max_length=1000, description="The receiving domain.")]
    subject: Annotated[str, Meta(description="The Subject (Method@Role), such as Hello@Host.")]
    body: Annotated[Raw, Meta(description="Any JSON; absent: the message has no Body.")] = field(default_factory=Raw)
    correlation: Annotated[
        str,
        Meta(max_length=36, description="The Correlation (a UUID) of the message that you reply to; empty: a new one."),
    ] = ""
    dialect: Literal["nlweb", "pollyweb"] = "nlweb"


class Queued(Struct, frozen=True):
    """The Correlation and the current state of a message in the outbox."""

    correlation: str
    state: State


class Feedback(Struct, frozen=True):
    """The Feedback that the receiver sent later about a message."""

    code: str
    reason: str
    received_at: Time


class SentMessage(Struct, frozen=True, omit_defaults=True):
    """A message of the outbox, with its state."""

    correlation: str
    state: State
    to: str
    subject: str
    queued_at: Annotated[Time, Meta(description="Its Timestamp.")]
    ended_at: Annotated[Time | UnsetType, Meta(description="When it was delivered, refused or given up.")] = UNSET
    reason: Annotated[
        str, Meta(description="The receiver's code if it refused the message; this post office's if it gave up.")
    ] = ""
    detail: Annotated[str, Meta(description="The reason as a sentence.")] = ""
    reply: Annotated[Any, Meta(description="The receiver's response, if it is JSON and not large.")] = UNSET
    feedback: Feedback | UnsetType = UNSET


class SentQuery(Struct, frozen=True):
    """Which messages of the outbox to list."""

    after: Annotated[
        str, Meta(max_length=_MAX_CURSOR, description="The cursor of the previous page; empty: the first page.")
    ] = ""
    limit: Annotated[int, Meta(ge=1, le=MAX_SENT, description="The maximum number of messages in the page.")] = 50


class SentMessages(Struct, frozen=True):
    """Messages of the outbox, newest first."""

    messages: list[SentMessage]
    cursor: Annotated[str, Meta(description="Pass it as `after` to get the next page.")]
    more: Annotated[bool, Meta(description="Whether there may be a next page.")]


class SignedProfile(Struct, frozen=True):
    """A profile in the form of dm3's reference."""

    profile: Annotated[dict[str, Any], Meta(description="The profile that is published at the name (dm3 §2.1.1).")]
    signature: Annotated[
        str,
        Meta(
            max_length=2048,
            description="The signature by the account of the name. It is not checked: the profile must be that of the "
            "registry.",
        ),
    ]


class NewTarget(Struct, frozen=True):
    """A notification target to add."""

    kind: Literal["webhook", "sns", "email"]
    to: Annotated[
        str,
        Meta(
            max_length=MAX_TARGET,
            description="The https URL of a webhook, or the ARN of an SNS topic.",
        ),
    ]


class Target(Struct, frozen=True, omit_defaults=True):
    """A notification target, which is notified once it is verified."""

    id: str
    kind: str
    to: str
    state: TargetState
    made_at: Time
    failing_since: Annotated[
        Time | UnsetType, Meta(description="When notifications began to fail; absent: the last one succeeded.")
    ] = UNSET
    detail: Annotated[str, Meta(description="The error of the last notification.")] = ""
    secret: Annotated[
        str,
        Meta(description="The secret that webhooks are signed with (Standard Webhooks). Shown only when it is added."),
    ] = ""


class Notifications(Struct, frozen=True):
    """The notification targets."""

    targets: list[Target]


class Code(Struct, frozen=True):
    """The code that was sent to a target, which proves that the owner can read it there."""

    code: Annotated[str, Meta(max_length=20, description="The code; absent: send another one.")] = ""


Key = Annotated[str, Meta(description="0x and a SHA-256 in hex.")]


class ContainersQuery(Struct, frozen=True):
    """Which containers to list."""

    after: Annotated[
        str, Meta(max_length=_MAX_CURSOR, description="The cursor of the previous page; empty: the first page.")
    ] = ""
    limit: Annotated[
        int, Meta(ge=1, le=MAX_CONTAINERS, description="The maximum number of containers in the page.")
    ] = 100


class Container(Struct, frozen=True):
    """A stored container."""

    key: Key
    size: Annotated[int, Meta(description="The size in bytes, encrypted.")]
    etag: Annotated[str, Meta(description="The value of the header ETag, which each write changes.")]


class Containers(Struct, frozen=True):
    """Containers by key."""

    containers: list[Container]
    cursor: Annotated[str, Meta(description="Pass it as `after` to get the next page.")]
    more: Annotated[bool, Meta(description="Whether there may be a next page.")]


class NewPart(Struct, frozen=True):
    """An uploaded part, to be joined into a container."""

    part: Annotated[str, Meta(description="The ID of the part. It can be joined once, within an hour.")]
    size: Annotated[int, Meta(description="The size in bytes.")]


class Parts(Struct, frozen=True):
    """The parts of a container, in order."""

    parts: Annotated[
        list[Annotated[str, Meta(min_length=1, max_length=_MAX_ID)]],
        Meta(min_length=1, max_length=MAX_PARTS, extra_json_schema={"uniqueItems": True}),
    ]


class StorageUse(Struct, frozen=True):
    """How much a mailbox stores. A part counts as a container until it is joined."""

    containers: int
    bytes: Annotated[int, Meta(description="Their size in bytes, encrypted.")]
    most_containers: Annotated[int, Meta(description="The maximum number of containers; 0: unlimited.")]
    most_bytes: Annotated[int, Meta(description="The maximum size of all containers in bytes; 0: unlimited.")]


class Problem(Struct, frozen=True):
    """A refusal (RFC 9457)."""

    title: str
    status: int
    detail: str
    reason: Annotated[str, Meta(description="The name of a reason in docs/reference/reasons.md.")]


class ReferenceAcknowledgement(Struct, frozen=True, rename="camel"):
    """How dm3's reference identifies a message: by its hash."""

    contact_address: str
    message_hash: str


class ReferenceAcknowledgements(Struct, frozen=True):
    """Acknowledgements in the form of dm3's reference."""

    acknowledgements: Annotated[list[ReferenceAcknowledgement], Meta(max_length=MAX_ACKNOWLEDGED)]
