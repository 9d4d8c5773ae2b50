"""The operations of DCP at a mailbox, and the shapes of their data and results."""

from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec import UNSET, Struct, UnsetType

from postroom.api.http import Authentication
from postroom.api.operations import OPERATIONS, Operation

OWNER_OPERATIONS: Final[Mapping[str, Operation]] = {
    each.id: each for each in OPERATIONS if each.authentication is Authentication.BEARER
}
"""The operations of the mailbox API for which an owner signs in, by id: each is an operation of DCP, too."""
REVOKE: Final = "revoke"
"""The operation that revokes what an owner of the mailbox authorized. The body in its data is the validity of that."""
WATCH: Final = "watch"
"""The operation that is answered when a mailbox has mail. Its data is the mailbox."""
PING: Final = '{"action":"ping"}'
PONG: Final = '{"action":"pong"}'
"""The texts by which a WebSocket is kept open, and their answer, which no function makes: no messages of DCP."""


class OperationData(Struct, forbid_unknown_fields=True):
    """The data of an operation of the mailbox API.

    `mailbox`: its name; `id`: of a message, target or sent message, or the key of a container; `query`: the query
    parameters; `body`: the body as JSON, or base64 where the API has bytes; `match`, `none_match`, `range`: what the
    headers If-Match, If-None-Match and Range have.
    """

    mailbox: str
    id: str = ""
    query: dict[str, str | int | float | bool] = {}
    body: msgspec.Raw | UnsetType = UNSET
    match: str = ""
    none_match: str = ""
    range: str = ""


class OperationResult(Struct, omit_defaults=True):
    """The result of an operation of the mailbox API.

    `body`: the body as JSON, or base64 where the API has ranges; none: the answer has no body. `etag`,
    `content_range`: what the headers ETag and Content-Range have; `not_modified`: `none_match` names the current
    version; `retry_after`: seconds, if too many requests wait for messages.
    """

    body: msgspec.Raw | str | UnsetType = UNSET
    etag: str = ""
    content_range: str = ""
    not_modified: bool = False
    retry_after: int = 0


class GuardianDescription(Struct, omit_defaults=True):
    """What `GET /dcp` answers.

    `identity`: the address of the guardian, with 0x; `ttl`: seconds; `slop`: the difference of clocks that is allowed,
    in seconds; `max_bytes`: of a message; `socket`: the URL for the same sessions over WebSockets. With it, `ping`: a
    text that keeps a WebSocket open; `pong`: its answer; `session_seconds`: how long a session may have no message.
    """

    identity: str
    versions: list[str]
    ttl: dict[str, int]
    slop: float
    max_messages_per_batch: int
    max_bytes: int
    socket: str = ""
    ping: str = ""
    pong: str = ""
    session_seconds: int = 0
