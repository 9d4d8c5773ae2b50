"""The operations of the mailbox API: one list, for the router and for the OpenAPI document."""

from dataclasses import dataclass
from typing import Final

from msgspec import Struct

from postroom.api.http import BYTES, IF_MATCH, IF_NONE_MATCH, JSON, MERGE_PATCH, Authentication
from postroom.api.reasons import (
    CHALLENGE_INVALID,
    CHANGED_MEANWHILE,
    CODE_WRONG,
    CONTAINER_TOO_LARGE,
    CONTAINER_UNKNOWN,
    CURSOR_INVALID,
    MATCH_NEEDED,
    MESSAGE_UNKNOWN,
    MESSAGE_UNREADABLE,
    NOT_A_REQUEST,
    NOT_A_SENDER,
    NOT_SENT,
    NOT_THE_OWNER,
    NOTIFICATION_NOT_OFFERED,
    OPENING_NOT_OFFERED,
    OPENING_REFUSED,
    PART_UNKNOWN,
    RANGE_UNSATISFIABLE,
    SETTING_INVALID,
    STORAGE_FULL,
    SUBJECT_OF_OPERATOR,
    TARGET_EXISTS,
    TARGET_INVALID,
    TARGET_UNKNOWN,
    TOKEN_REUSED,
    TOO_MANY_REQUESTS,
    TOO_MANY_TARGETS,
)
from postroom.api.schemas import (
    Acknowledged,
    Acknowledgements,
    ChallengeQuery,
    Code,
    Container,
    Containers,
    ContainersQuery,
    Conversations,
    Message,
    NewMessage,
    NewPart,
    NewTarget,
    Notifications,
    Page,
    PageQuery,
    Parts,
    Queued,
    ReferenceAcknowledgements,
    SentMessage,
    SentMessages,
    SentQuery,
    Settings,
    SettingsChange,
    SignedChallenge,
    SignedOut,
    SignedProfile,
    Status,
    StorageUse,
    Target,
)
from postroom.core.reason import Reason
from postroom.core.reasons import NOT_I_JSON, NOT_JSON, TOO_LARGE
from postroom.protocols.nlweb.reasons import CORRELATION_REUSED, WRONG_SHAPE


@dataclass(frozen=True, slots=True)
class Operation:
    """A method of a path. `path`: its segments; `NAME`, `ID` and `KEY` are variables. `id`: of its handler.

    `answer`: the schema of a 200; None: JSON without a schema of ours, or no body. An answer or a `body` that is
    `bytes` is not JSON. `conditions`: the conditional headers that it accepts. `ranged`: a Range is answered with a
    part.
    """

    method: str
    path: str
    id: str
    summary: str
    answer: type[Struct | bytes] | None = None
    query: type[Struct] | None = None
    body: type[Struct | bytes] | None = None
    body_type: str = JSON
    authentication: Authentication = Authentication.BEARER
    refusals: tuple[Reason, ...] = ()
    tag: str = "mailbox"
    matches: bool = False
    """Whether If-Match is required."""
    conditions: tuple[str, ...] = ()
    ranged: bool = False


_OF_SIGNATURE: Final = (CHALLENGE_INVALID, NOT_THE_OWNER)
_OF_OPENING: Final = (OPENING_NOT_OFFERED, OPENING_REFUSED, TOO_MANY_REQUESTS)
_OF_SENDING: Final = (
    NOT_A_SENDER, TOKEN_REUSED, CORRELATION_REUSED, WRONG_SHAPE, TOO_LARGE, NOT_JSON, NOT_I_JSON,
)  # fmt: skip
_OF_A_TARGET: Final = (
    NOTIFICATION_NOT_OFFERED, TARGET_INVALID, TARGET_EXISTS, TOO_MANY_TARGETS,
)  # fmt: skip
_OF_WRITING: Final = (NOT_A_REQUEST, MATCH_NEEDED, CHANGED_MEANWHILE, CONTAINER_TOO_LARGE)
_CONTAINER: Final = "/storage/{name}/containers/{key}"
OPERATIONS: Final = (
    Operation(
        "GET", "/auth/{name}", "challenge", "A challenge to sign, good for two minutes and once.",
        query=ChallengeQuery, authentication=Authentication.NONE, tag="sign-in",
    ),
    Operation(
        "POST", "/auth/{name}", "token", "A token, good for an hour, for who signed a challenge by the mailbox's key.",
        body=SignedChallenge, authentication=Authentication.NONE, refusals=_OF_SIGNATURE, tag="sign-in",
    ),
    Operation(
        "POST", "/mailboxes/{name}/sign-out", "sign_out", "Let no token count that was given before.",
        SignedOut, tag="sign-in",
    ),
    Operation(
        "POST", "/mailboxes/{name}", "open", "Open a mailbox for dm3 messages, where its profile names this service; a "
        "token, as for signing in.",
        body=SignedChallenge, authentication=Authentication.NONE, refusals=(*_OF_SIGNATURE, *_OF_OPENING),
        tag="sign-in",
    ),
    Operation(
        "GET", "/mailboxes/{name}/messages", "messages", "What waits, oldest first.",
        Page, query=PageQuery, refusals=(CURSOR_INVALID,),
    ),
    Operation(
        "GET", "/mailboxes/{name}/messages/{id}", "message", "One message that waits.",
        Message, refusals=(MESSAGE_UNKNOWN, MESSAGE_UNREADABLE),
    ),
    Operation(
        "GET", "/mailboxes/{name}/messages/{id}/envelope", "envelope", "Its envelope as it was received, or a part.",
        ranged=True, refusals=(MESSAGE_UNKNOWN, RANGE_UNSATISFIABLE, MESSAGE_UNREADABLE),
    ),
    Operation(
        "POST", "/mailboxes/{name}/acknowledgements", "acknowledge", "Say which messages are safe at home.",
        Acknowledged, body=Acknowledgements,
    ),
    Operation(
        "GET", "/mailboxes/{name}/conversations", "conversations", "Whom waiting messages are exchanged with.",
        Conversations,
    ),
    Operation("GET", "/mailboxes/{name}/status", "status", "How much waits.", Status),
    Operation("GET", "/mailboxes/{name}/settings", "settings", "What the owner set.", Settings),
    Operation(
        "PATCH", "/mailboxes/{name}/settings", "change_settings", "Change settings.",
        Settings, body=SettingsChange, body_type=MERGE_PATCH, matches=True,
        refusals=(
            MATCH_NEEDED, CHANGED_MEANWHILE, SETTING_INVALID, SUBJECT_OF_OPERATOR,
        ),
    ),
    Operation(
        "POST", "/mailboxes/{name}/outbox", "send", "Send a message of NLWeb, in the name of the mailbox's domain.",
        Queued, body=NewMessage, refusals=_OF_SENDING, tag="outbox",
    ),
    Operation(
        "GET", "/mailboxes/{name}/outbox", "sent", "What was sent, newest first, and what became of it.",
        SentMessages, query=SentQuery, refusals=(CURSOR_INVALID,), tag="outbox",
    ),
    Operation(
        "GET", "/mailboxes/{name}/outbox/{id}", "sent_one", "The message that was sent under this Correlation.",
        SentMessage, refusals=(NOT_SENT,), tag="outbox",
    ),
    Operation("GET", "/storage/{name}", "storage", "How much is kept, and may be.", StorageUse, tag="storage"),
    Operation(
        "GET", "/storage/{name}/containers", "containers", "What is kept, by key.",
        Containers, query=ContainersQuery, refusals=(CURSOR_INVALID,), tag="storage",
    ),
    Operation(
        "GET", _CONTAINER, "container", "A container, or a part of it.",
        bytes, ranged=True, conditions=(IF_MATCH, IF_NONE_MATCH), tag="storage",
        refusals=(
            NOT_A_REQUEST, CONTAINER_UNKNOWN, CHANGED_MEANWHILE, RANGE_UNSATISFIABLE,
        ),
    ),
    Operation(
        "PUT", _CONTAINER, "put_container", "Keep a container, if there is what If-Match or If-None-Match: * says.",
        Container, body=bytes, body_type=BYTES, conditions=(IF_MATCH, IF_NONE_MATCH), tag="storage",
        refusals=(*_OF_WRITING, STORAGE_FULL),
    ),
    Operation(
        "DELETE", _CONTAINER, "delete_container", "Keep a container no longer.", matches=True, tag="storage",
        refusals=(NOT_A_REQUEST, CONTAINER_UNKNOWN, MATCH_NEEDED, CHANGED_MEANWHILE),
    ),
    Operation(
        "POST", "/storage/{name}/parts", "add_part", "Bring a part of a container that is larger than a request.",
        NewPart, body=bytes, body_type=BYTES, tag="storage",
        refusals=(CONTAINER_TOO_LARGE, STORAGE_FULL),
    ),
    Operation(
        "PUT", f"{_CONTAINER}/parts", "join_parts", "Keep a container that is made of parts.",
        Container, body=Parts, conditions=(IF_MATCH, IF_NONE_MATCH), tag="storage",
        refusals=(*_OF_WRITING, PART_UNKNOWN),
    ),
    Operation(
        "GET", "/mailboxes/{name}/notifications", "targets", "Who is told that something waits.",
        Notifications, tag="notifications",
    ),
    Operation(
        "POST", "/mailboxes/{name}/notifications", "add_target", "Tell somebody else; a code is sent there.",
        Target, body=NewTarget, refusals=_OF_A_TARGET, tag="notifications",
    ),
    Operation(
        "DELETE", "/mailboxes/{name}/notifications/{id}", "remove_target", "Tell them no more.",
        refusals=(TARGET_UNKNOWN,), tag="notifications",
    ),
    Operation(
        "POST", "/mailboxes/{name}/notifications/{id}/verify", "verify_target",
        "Begin to tell, by the code that was sent; or let another one be sent.",
        Target, body=Code, refusals=(TARGET_UNKNOWN, CODE_WRONG), tag="notifications",
    ),
    Operation(
        "POST", "/mailboxes/{name}/notifications/{id}/rotate", "rotate_target",
        "A new secret; the old one signs for a day, beside it.",
        Target, refusals=(TARGET_UNKNOWN, NOT_A_REQUEST), tag="notifications",
    ),
    Operation(
        "POST", "/mailboxes/{name}/notifications/{id}/resume", "resume_target",
        "Tell again who failed for days, and was paused for it.",
        Target, refusals=(TARGET_UNKNOWN,), tag="notifications",
    ),
    Operation(
        "GET", "/delivery/messages/incoming/{name}", "incoming", "What waits, as dm3's reference asks.",
        tag="dm3",
    ),
    Operation(
        "POST", "/delivery/messages/{name}/syncAcknowledgements", "acknowledge_by_hash",
        "Acknowledge, as dm3's reference does.", body=ReferenceAcknowledgements, tag="dm3",
    ),
    Operation(
        "POST", "/profile/{name}", "submit_profile", "Open a mailbox for dm3 messages, as dm3's reference does: by the "
        "profile that is published at the name. The answer is an empty string, and no token.",
        body=SignedProfile, authentication=Authentication.NONE, refusals=_OF_OPENING, tag="dm3",
    ),
    Operation("GET", "/openapi.json", "openapi", "This document.", authentication=Authentication.NONE, tag="about"),
)  # fmt: skip
