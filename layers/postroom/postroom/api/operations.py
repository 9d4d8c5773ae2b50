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
    CONTENT_UNAVAILABLE,
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
    waits: bool = False
    """Whether it may wait for a message: then a 200 may have Retry-After."""


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
        "GET", "/auth/{name}", "challenge", "Get a challenge to sign. It is valid once, for two minutes.",
        query=ChallengeQuery, authentication=Authentication.NONE, tag="sign-in",
    ),
    Operation(
        "POST", "/auth/{name}", "token",
        "Exchange a challenge signed with the mailbox's key for a token, valid for an hour.",
        body=SignedChallenge, authentication=Authentication.NONE, refusals=_OF_SIGNATURE, tag="sign-in",
    ),
    Operation(
        "POST", "/mailboxes/{name}/sign-out", "sign_out", "Revoke all tokens.",
        SignedOut, tag="sign-in",
    ),
    Operation(
        "POST", "/mailboxes/{name}", "open", "Open a mailbox for dm3 messages, if its profile names this service. The "
        "response has a token, as for signing in.",
        body=SignedChallenge, authentication=Authentication.NONE, refusals=(*_OF_SIGNATURE, *_OF_OPENING),
        tag="sign-in",
    ),
    Operation(
        "GET", "/mailboxes/{name}/messages", "messages", "List waiting messages, oldest first.",
        Page, query=PageQuery, refusals=(CURSOR_INVALID, CONTENT_UNAVAILABLE), waits=True,
    ),
    Operation(
        "GET", "/mailboxes/{name}/messages/{id}", "message", "Get a waiting message.",
        Message, refusals=(MESSAGE_UNKNOWN, MESSAGE_UNREADABLE, CONTENT_UNAVAILABLE),
    ),
    Operation(
        "GET", "/mailboxes/{name}/messages/{id}/envelope", "envelope",
        "Get the envelope of a message as it was received, or a range of it.",
        ranged=True, refusals=(MESSAGE_UNKNOWN, RANGE_UNSATISFIABLE, MESSAGE_UNREADABLE, CONTENT_UNAVAILABLE),
    ),
    Operation(
        "POST", "/mailboxes/{name}/acknowledgements", "acknowledge",
        "Acknowledge messages that are stored safely at the owner's side.",
        Acknowledged, body=Acknowledgements,
    ),
    Operation(
        "GET", "/mailboxes/{name}/conversations", "conversations", "List the conversations of waiting messages.",
        Conversations,
    ),
    Operation("GET", "/mailboxes/{name}/status", "status", "Count waiting messages and their bytes.", Status),
    Operation("GET", "/mailboxes/{name}/settings", "settings", "Get the owner's settings.", Settings),
    Operation(
        "PATCH", "/mailboxes/{name}/settings", "change_settings", "Change settings.",
        Settings, body=SettingsChange, body_type=MERGE_PATCH, matches=True,
        refusals=(
            MATCH_NEEDED, CHANGED_MEANWHILE, SETTING_INVALID, SUBJECT_OF_OPERATOR,
        ),
    ),
    Operation(
        "POST", "/mailboxes/{name}/outbox", "send", "Send an NLWeb message from the mailbox's domain.",
        Queued, body=NewMessage, refusals=_OF_SENDING, tag="outbox",
    ),
    Operation(
        "GET", "/mailboxes/{name}/outbox", "sent", "List sent messages and their states, newest first.",
        SentMessages, query=SentQuery, refusals=(CURSOR_INVALID,), tag="outbox",
    ),
    Operation(
        "GET", "/mailboxes/{name}/outbox/{id}", "sent_one", "Get the sent message with this Correlation.",
        SentMessage, refusals=(NOT_SENT,), tag="outbox",
    ),
    Operation("GET", "/storage/{name}", "storage", "Get the bytes in use and the limit.", StorageUse, tag="storage"),
    Operation(
        "GET", "/storage/{name}/containers", "containers", "List containers by key.",
        Containers, query=ContainersQuery, refusals=(CURSOR_INVALID,), tag="storage",
    ),
    Operation(
        "GET", _CONTAINER, "container", "Get a container, or a range of it.",
        bytes, ranged=True, conditions=(IF_MATCH, IF_NONE_MATCH), tag="storage",
        refusals=(
            NOT_A_REQUEST, CONTAINER_UNKNOWN, CHANGED_MEANWHILE, RANGE_UNSATISFIABLE, CONTENT_UNAVAILABLE,
        ),
    ),
    Operation(
        "PUT", _CONTAINER, "put_container", "Store a container, if If-Match or If-None-Match: * holds.",
        Container, body=bytes, body_type=BYTES, conditions=(IF_MATCH, IF_NONE_MATCH), tag="storage",
        refusals=(*_OF_WRITING, STORAGE_FULL),
    ),
    Operation(
        "DELETE", _CONTAINER, "delete_container", "Delete a container.", matches=True, tag="storage",
        refusals=(NOT_A_REQUEST, CONTAINER_UNKNOWN, MATCH_NEEDED, CHANGED_MEANWHILE),
    ),
    Operation(
        "POST", "/storage/{name}/parts", "add_part", "Upload a part of a container that is larger than a request.",
        NewPart, body=bytes, body_type=BYTES, tag="storage",
        refusals=(CONTAINER_TOO_LARGE, STORAGE_FULL),
    ),
    Operation(
        "PUT", f"{_CONTAINER}/parts", "join_parts", "Store a container made of uploaded parts.",
        Container, body=Parts, conditions=(IF_MATCH, IF_NONE_MATCH), tag="storage",
        refusals=(*_OF_WRITING, PART_UNKNOWN),
    ),
    Operation(
        "GET", "/mailboxes/{name}/notifications", "targets", "List notification targets.",
        Notifications, tag="notifications",
    ),
    Operation(
        "POST", "/mailboxes/{name}/notifications", "add_target", "Add a notification target. A code is sent to it.",
        Target, body=NewTarget, refusals=_OF_A_TARGET, tag="notifications",
    ),
    Operation(
        "DELETE", "/mailboxes/{name}/notifications/{id}", "remove_target", "Remove a notification target.",
        refusals=(TARGET_UNKNOWN,), tag="notifications",
    ),
    Operation(
        "POST", "/mailboxes/{name}/notifications/{id}/verify", "verify_target",
        "Verify a target with the code that was sent to it, or send another code.",
        Target, body=Code, refusals=(TARGET_UNKNOWN, CODE_WRONG), tag="notifications",
    ),
    Operation(
        "POST", "/mailboxes/{name}/notifications/{id}/rotate", "rotate_target",
        "Create a new secret. The old one also signs for a day.",
        Target, refusals=(TARGET_UNKNOWN, NOT_A_REQUEST), tag="notifications",
    ),
    Operation(
        "POST", "/mailboxes/{name}/notifications/{id}/resume", "resume_target",
        "Resume a target that was paused because it failed for days.",
        Target, refusals=(TARGET_UNKNOWN,), tag="notifications",
    ),
    Operation(
        "GET", "/delivery/messages/incoming/{name}", "incoming",
        "List waiting messages, as dm3's reference client does.",
        refusals=(CONTENT_UNAVAILABLE,), tag="dm3",
    ),
    Operation(
        "POST", "/delivery/messages/{name}/syncAcknowledgements", "acknowledge_by_hash",
        "Acknowledge messages, as dm3's reference client does.", body=ReferenceAcknowledgements,
        refusals=(CONTENT_UNAVAILABLE,), tag="dm3",
    ),
    Operation(
        "POST", "/profile/{name}", "submit_profile", "Open a mailbox for dm3 messages, as dm3's reference does: by the "
        "profile that is published at the name. The answer is an empty string, and no token.",
        body=SignedProfile, authentication=Authentication.NONE, refusals=_OF_OPENING, tag="dm3",
    ),
    Operation("GET", "/openapi.json", "openapi", "Get this document.", authentication=Authentication.NONE, tag="about"),
)  # fmt: skip
