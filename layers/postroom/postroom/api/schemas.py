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

MessageId = Annotated[str, Meta(max_length=_MAX_ID, description="Of one message, for ever.")]
Time = Annotated[str, Meta(description="RFC 3339, in UTC.", extra_json_schema={"format": "date-time"})]


class ChallengeQuery(Struct, frozen=True):
    """The purpose of a challenge."""

    purpose: Annotated[Purpose, Meta(description="What is signed for one is not signed for the other.")] = (
        Purpose.PICK_UP
    )


class SignedChallenge(Struct, frozen=True):
    """A challenge and its signature by one of the mailbox's keys."""

    challenge: Annotated[str, Meta(max_length=2048, description="As GET gave it; the whole text is signed.")]
    signature: Annotated[str, Meta(max_length=2048, description="In base64: Ed25519, secp256k1 (r ‖ s) or RSA.")]


class PageQuery(Struct, frozen=True):
    """Which messages to list."""

    after: Annotated[str, Meta(max_length=_MAX_CURSOR, description="The cursor of the page before.")] = ""
    limit: Annotated[int, Meta(ge=1, le=MAX_PAGE_MESSAGES, description="At most so many messages.")] = 100
    bytes: Annotated[
        int, Meta(ge=1, le=MAX_PAGE_BYTES, description="At most so many bytes, unless one message alone has more.")
    ] = 1_000_000
    conversation: Annotated[str, Meta(max_length=300, description="Only this conversation.")] = ""
    wait: Annotated[
        float,
        Meta(ge=0, le=MAX_WAIT_SECONDS, description="So many seconds are waited for a message, if none is there."),
    ] = 0.0


class Status(Struct, frozen=True, omit_defaults=True):
    """How many messages are in the mailbox."""

    waiting: Annotated[int, Meta(description="Messages.")]
    bytes: Annotated[int, Meta(description="As they are filed.")]
    more: Annotated[bool, Meta(description="Whether there are more than were counted.")]
    oldest: Annotated[Time | None, Meta(description="When the first of them came in.")]
    age_seconds: Annotated[int, Meta(description="For how long that one waits.")]
    max_messages: Annotated[int | None, Meta(description="How many may wait; absent: as many as come.")] = None
    max_bytes: Annotated[int | None, Meta(description="How many bytes of them; absent: as many as come.")] = None


class Message(Struct, frozen=True, omit_defaults=True):
    """A message."""

    id: MessageId
    received_at: Time
    conversation: Annotated[str, Meta(description="Whom it is exchanged with.")]
    receipt: Annotated[dict[str, Any], Meta(description="How it was verified, by us.")]
    envelope: Annotated[
        str | UnsetType,
        Meta(description="As it was received, bit for bit; absent where it is too large: …/envelope has it."),
    ] = UNSET


class Page(Struct, frozen=True, omit_defaults=True):
    """Messages, oldest first."""

    messages: list[Message]
    cursor: Annotated[str, Meta(description="Where the next page of this pass begins; empty: of the next pass.")]
    more: Annotated[bool, Meta(description="Whether there is a next page now.")]
    unreadable: Annotated[
        list[MessageId],
        Meta(description="Messages that wait here, and cannot be read until this post office has mended them."),
    ] = field(default_factory=list)
    status: Annotated[Status | UnsetType, Meta(description="On a page without messages.")] = UNSET


class Conversation(Struct, frozen=True):
    """The messages with one partner."""

    partner: str
    waiting: int
    oldest: Time
    newest: Time


class Conversations(Struct, frozen=True):
    """All partners with messages in the mailbox, the one with the oldest message first."""

    conversations: list[Conversation]
    more: Annotated[bool, Meta(description="Whether more messages wait than were looked at.")]


class Acknowledgements(Struct, frozen=True):
    """Messages that are stored safely by the client."""

    ids: Annotated[list[MessageId], Meta(max_length=MAX_ACKNOWLEDGED)]


class Acknowledged(Struct, frozen=True):
    """The result for each message: `acknowledged` never comes again, `unknown` is in no mailbox of this name, and
    `again` could not be done now."""

    acknowledged: list[str]
    unknown: list[str]
    again: list[str]


class SignedOut(Struct, frozen=True):
    """All tokens issued until then are revoked; it takes up to a minute to take effect everywhere."""

    signed_out_at: Time


class OperatorsSubject(Struct, frozen=True, omit_defaults=True):
    """The operator's rule for a Subject, or one that every domain has."""

    treatment: Treatment
    mailbox: Annotated[str, Meta(description="Where messages of it are filed, unless you say otherwise.")] = ""


class Settings(Struct, frozen=True, omit_defaults=True):
    """The settings of the owner.

    For a dm3 mailbox: what senders are told, and must follow; for an NLWeb mailbox: the rest.
    """

    extension: Annotated[
        dict[str, Any] | UnsetType, Meta(description="As dm3_getProfileExtension tells it (dm3 §2.3.3).")
    ] = UNSET
    unverified: Annotated[
        bool | UnsetType, Meta(description="Whether senders who cannot be verified are let in, and marked.")
    ] = UNSET
    blocks: Annotated[
        list[str] | UnsetType,
        Meta(description="Senders that are not let in: domains, *.domain with all below it, UUIDs of wallets."),
    ] = UNSET
    subjects: Annotated[
        dict[str, str] | UnsetType,
        Meta(description="Of a domain: which of its Subjects (Method@Role, * for a part) go into which mailbox."),
    ] = UNSET
    operators_subjects: Annotated[
        dict[str, OperatorsSubject] | UnsetType,
        Meta(description="What the operator set. Yours goes before a mailbox, and before nothing else."),
    ] = UNSET


class SettingsChange(Struct, frozen=True):
    """A change of settings: an absent member stays, a subject that is null is removed (RFC 7396)."""

    extension: dict[str, Any] | UnsetType = UNSET
    unverified: bool | UnsetType = UNSET
    blocks: list[str] | UnsetType = UNSET
    subjects: dict[str, str | None] | UnsetType = UNSET


class NewMessage(Struct, frozen=True):
    """An NLWeb message to be sent; its From is the mailbox."""

    token: Annotated[
        str, Meta(min_length=1, max_length=100, description="Your own, for this message: asked twice, it is sent once.")
    ]
    to: Annotated[str, Meta(max_length=1000, description="The receiving domain.")]
    subject: Annotated[str, Meta(description="The method, such as Hello@Host.")]
    body: Annotated[Raw, Meta(description="Any JSON; absent: the message has none.")] = field(default_factory=Raw)
    correlation: Annotated[
        str, Meta(max_length=36, description="A UUID: of what you reply to. Else the message gets one of its own.")
    ] = ""
    dialect: Literal["nlweb", "pollyweb"] = "nlweb"


class Queued(Struct, frozen=True):
    """A message of the outbox, by its Correlation, and its current state."""

    correlation: str
    state: State


class Feedback(Struct, frozen=True):
    """The receiver's later Feedback about a message."""

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
    reason: Annotated[str, Meta(description="The receiver's code for its refusal; or ours, where we gave up.")] = ""
    detail: Annotated[str, Meta(description="The same in a sentence.")] = ""
    reply: Annotated[Any, Meta(description="What it was answered with, if that is JSON and not large.")] = UNSET
    feedback: Feedback | UnsetType = UNSET


class SentQuery(Struct, frozen=True):
    """Which messages of the outbox to list."""

    after: Annotated[str, Meta(max_length=_MAX_CURSOR, description="The cursor of the page before.")] = ""
    limit: Annotated[int, Meta(ge=1, le=MAX_SENT, description="At most so many messages.")] = 50


class SentMessages(Struct, frozen=True):
    """Messages of the outbox, newest first."""

    messages: list[SentMessage]
    cursor: Annotated[str, Meta(description="Where the next page begins.")]
    more: Annotated[bool, Meta(description="Whether there may be a next page.")]


class SignedProfile(Struct, frozen=True):
    """A profile as dm3's reference submits it."""

    profile: Annotated[dict[str, Any], Meta(description="As it is published at the name (dm3 §2.1.1).")]
    signature: Annotated[
        str, Meta(max_length=2048, description="By the name's account. It is not looked at: the registry counts.")
    ]


class NewTarget(Struct, frozen=True):
    """A notification target to add."""

    kind: Literal["webhook", "sns", "email"]
    to: Annotated[str, Meta(max_length=MAX_TARGET, description="An https URL; or the ARN of a topic of SNS.")]


class Target(Struct, frozen=True, omit_defaults=True):
    """A notification target, which is notified once it is verified."""

    id: str
    kind: str
    to: str
    state: TargetState
    made_at: Time
    failing_since: Annotated[Time | UnsetType, Meta(description="If the last try failed: since when all did.")] = UNSET
    detail: Annotated[str, Meta(description="What went wrong with the last try.")] = ""
    secret: Annotated[
        str, Meta(description="What a webhook is signed by (Standard Webhooks); shown when it is made, and not again.")
    ] = ""


class Notifications(Struct, frozen=True):
    """The notification targets."""

    targets: list[Target]


class Code(Struct, frozen=True):
    """The code that was sent to a target; it shows that the owner can read it there."""

    code: Annotated[str, Meta(max_length=20, description="Absent: send another one.")] = ""


Key = Annotated[str, Meta(description="0x and the hex of a SHA-256.")]


class ContainersQuery(Struct, frozen=True):
    """Which containers to list."""

    after: Annotated[str, Meta(max_length=_MAX_CURSOR, description="The cursor of the page before.")] = ""
    limit: Annotated[int, Meta(ge=1, le=MAX_CONTAINERS, description="At most so many containers.")] = 100


class Container(Struct, frozen=True):
    """A stored container."""

    key: Key
    size: Annotated[int, Meta(description="In bytes, as it was sealed.")]
    etag: Annotated[str, Meta(description="As the header ETag has it: another one after each write.")]


class Containers(Struct, frozen=True):
    """Containers by key."""

    containers: list[Container]
    cursor: Annotated[str, Meta(description="Where the next page begins.")]
    more: Annotated[bool, Meta(description="Whether there may be a next page.")]


class NewPart(Struct, frozen=True):
    """A part of a future container."""

    part: Annotated[str, Meta(description="Counts for an hour, and once.")]
    size: Annotated[int, Meta(description="In bytes.")]


class Parts(Struct, frozen=True):
    """The parts of a container, in order."""

    parts: Annotated[
        list[Annotated[str, Meta(min_length=1, max_length=_MAX_ID)]],
        Meta(min_length=1, max_length=MAX_PARTS, extra_json_schema={"uniqueItems": True}),
    ]


class StorageUse(Struct, frozen=True):
    """How much a mailbox stores. A part counts as a container until it is joined."""

    containers: int
    bytes: Annotated[int, Meta(description="As they were sealed.")]
    most_containers: Annotated[int, Meta(description="0: no limit.")]
    most_bytes: Annotated[int, Meta(description="0: no limit.")]


class Problem(Struct, frozen=True):
    """A refusal (RFC 9457)."""

    title: str
    status: int
    detail: str
    reason: Annotated[str, Meta(description="One of docs/reference/reasons.md.")]


class ReferenceAcknowledgement(Struct, frozen=True, rename="camel"):
    """The name of a message in dm3's reference: its hash."""

    contact_address: str
    message_hash: str


class ReferenceAcknowledgements(Struct, frozen=True):
    """Acknowledgements in the form of dm3's reference."""

    acknowledgements: Annotated[list[ReferenceAcknowledgement], Meta(max_length=MAX_ACKNOWLEDGED)]
