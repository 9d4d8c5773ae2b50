"""Fuzzing of `/dcp` of the mailbox API: the function and its guardian, on a store in memory.

`tests.fuzz.dcp_sockets` sends the same function messages of WebSockets.
"""

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, Final

from tests.fakes.pipeline import FakeDirectory, FakeProfiles
from tests.functions.samples import http
from tests.fuzz.dcp_connections import SEEDS, VALIDITY, bodies_of, is_signed
from tests.fuzz.entry import LONG, Entry, fuzzed
from tests.fuzz.functions import ENVIRONMENT, answered, started
from tests.fuzz.samples import compact
from tests.protocols.dcp.guarded import NOW, OWNER, Peer

from postroom.api.dcp import REVOKE
from postroom.api.operations import OPERATIONS
from postroom.core.errors import TheirError
from postroom.core.settings import read_settings
from postroom.crypto.ethereum import Address
from postroom.http.dcp_operations import DcpOperations, Left, OwnersOperation, PerformedOperation
from postroom.http.private_responses import respond
from postroom.http.rate_limit import NewcomerRate, Rate
from postroom.http.request import HttpRequest
from postroom.http.response import HttpResponse
from postroom.http.router import RoutedRequest
from postroom.http.sign_in import SignIn
from postroom.http.watches import Watches
from postroom.protocols.dcp.authorization import authorize
from postroom.protocols.dcp.guardian import FailedOperation
from postroom.protocols.dcp.memory_store import MemoryStore
from postroom.protocols.dcp.messages import Allowance
from postroom.protocols.dcp.receiving import Admitted
from postroom.protocols.dcp.session_store import NonceUse, RequestUse
from postroom.protocols.dcp.signed_message import read_signed_message
from postroom.runtime.deployment import Deployment
from postroom.runtime.system import System
from postroom.storage.directory.mailboxes import MailboxRecord
from postroom.storage.directory.watching_sessions import WatchingSession
from postroom.storage.secrets.dcp_identities import DcpIdentities, DcpIdentity

URL: Final = "https://nlweb.receiver.example/dcp"
MAILBOX: Final = "receiver.example"


class _Store(MemoryStore):
    """A store that may be written only after a good signature."""

    def __init__(self) -> None:
        super().__init__()
        self.is_open, self.writes = False, 0

    def check_open(self) -> None:
        """Count a write, which is allowed now."""
        self.writes += 1
        assert self.is_open, "it is written before a good signature"

    def use_nonce(self, use: NonceUse) -> None:
        self.check_open()
        super().use_nonce(use)

    def use_request(self, use: RequestUse) -> None:
        self.check_open()
        super().use_request(use)

    def give_back(self, use: RequestUse) -> None:
        self.check_open()
        super().give_back(use)

    def close(self, dcpsid: str) -> None:
        self.check_open()
        super().close(dcpsid)


class _Operations(DcpOperations):
    """The operations, which record the stamps that were used up."""

    def prepare(self, admitted: Admitted, message: HttpRequest, left: Left) -> OwnersOperation:
        prepared = super().prepare(admitted, message, left)
        use = admitted.use(prepared.mailbox)

        def perform() -> PerformedOperation:
            try:
                performed = prepared.perform()
            except TheirError:
                USED.append((use.owners, use.stamp))
                raise
            if not (isinstance(performed.result, FailedOperation) and performed.result.without_effect):
                USED.append((use.owners, use.stamp))
            return performed

        return replace(prepared, perform=perform)


@dataclass(frozen=True)
class Waiting:
    """A session that waits for mail of a mailbox, by the request of these resources."""

    mailbox: str
    resources: frozenset[Address]
    session: WatchingSession


class _Targets:
    """The sessions that wait for mail, in place of a table: what is written to it is read again."""

    def watch(self, mailbox: str, session: WatchingSession, *, random_id: str, now_ms: int) -> None:
        """Record a session."""
        STORE.check_open()
        WAITING.append(Waiting(mailbox, frozenset(), WatchingSession.decode(session.encode().encode().decode())))


class _Nowhere:
    """The courier's queue: each session has a place here, so that nobody is told that it was replaced."""

    def send(self, *_: object, **__: object) -> None:
        raise AssertionError("nobody was replaced")


class _Watches(Watches):
    """The watches, which record by whose request a session waits."""

    def add(self, mailbox: str, admitted: Admitted, connection: str) -> None:
        super().add(mailbox, admitted, connection)
        WAITING[-1] = replace(WAITING[-1], resources=admitted.resources)


class _Identities(DcpIdentities):
    """One identity, which is in no secret."""

    def __init__(self) -> None:
        self._only = self.derive("the identity of a fuzzed guardian")

    def newest_first(self) -> tuple[DcpIdentity, ...]:
        return (self._only,)


class _NobodyIsNew(NewcomerRate):
    """All requests are looked at."""

    def take(self, peer: str) -> None:
        """Count nothing."""


class _NoAws:
    """A client of AWS that nobody may use."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"{name} of AWS is used")


def _perform(call: RoutedRequest) -> HttpResponse:
    """What every operation of the mailbox API does here."""
    return respond({"path": call.request.path, "query": dict(call.request.query), "bytes": len(call.request.body)})


def _function() -> Any:
    """The function of the mailbox API, with the parts of a deployment except those that need AWS."""
    deployment = Deployment(
        read_settings(ENVIRONMENT), lambda _: _NoAws(), system=System(clock=lambda: NOW, monotonic=lambda: 0.0)
    )
    parts, keys = deployment.mailbox_api, (base64.b64encode(OWNER.spki()).decode(),)
    deployment.storage.dcp_identities = IDENTITIES
    parts.dcp_sessions = STORE  # type: ignore[assignment]  # another SessionStore
    parts.dcp_handlers = {operation.id: _perform for operation in OPERATIONS}
    parts.rate = Rate(10**9, lambda: 0.0)
    parts.dcp_sign_in = SignIn(
        tokens=parts.tokens,
        directory=FakeDirectory(mailboxes={MAILBOX: MailboxRecord(MAILBOX, keys=keys)}),
        mailboxes=deployment.storage.mailboxes,
        users=FakeProfiles(),
        answered=deployment.storage.answered_challenges,
    )
    given = parts.dcp.operations
    watches = _Watches(_Targets(), _Nowhere(), lambda: NOW, lambda: "random")  # type: ignore[arg-type]  # other targets
    members = {field.name: getattr(given, field.name) for field in fields(given)}
    members["newcomers"] = _NobodyIsNew(lambda: 0.0)
    parts.dcp = replace(
        parts.dcp,
        operations=_Operations(**{**members, "watches": watches}),
        close_socket=lambda _connection: None,
        rate=Rate(10**9, lambda: 0.0),
    )
    return started("dcp", parts.dcp_router)


STORE: Final = _Store()
WAITING: Final[list[Waiting]] = []
USED: Final[list[tuple[tuple[str, ...], str]]] = []
IDENTITIES: Final = _Identities()
GUARDIAN: Final = IDENTITIES.newest_first()[0].key.address
FUNCTION: Final = _function()


class Api:
    """The function, as what answers a peer over HTTPS. `head`: the method and headers of each request."""

    def __init__(self, head: bytes = b"") -> None:
        method, *values = (head.decode("latin-1").split("\n") + [""] * 4)[:4] if head else GOOD
        self._method = method or "POST"
        self._headers = {name: value for name, value in zip(NAMES, values, strict=True) if value}

    def answer(self, data: bytes, _now: float = NOW) -> dict[str, Any]:
        """The body of the answer to a good message."""
        body: dict[str, Any] = json.loads(self.post(data))["body"]
        return body

    def post(self, data: bytes) -> str:
        """The answer, which is signed if it is one to a message; if it is none, nothing was written."""
        STORE.is_open, before = is_signed(data), STORE.writes
        answer = answered(FUNCTION, http(self._method, URL, int(NOW), data, self._headers))
        text: str = base64.b64decode(answer["body"]).decode() if answer["isBase64Encoded"] else answer["body"]
        if self._method == "POST" and answer["statusCode"] == 200:
            assert is_signed(data)
            assert read_signed_message(text.encode()).owner == GUARDIAN
        else:
            assert STORE.writes == before
        return text


NAMES: Final = ("content-type", "content-encoding", "origin")
GOOD: Final = ("POST", "application/json", "", "")
PEER: Final = Peer.connected(Api(), OWNER, guardian=GUARDIAN)
"""A connect is not stored, so that its session can begin with each input."""


def request(operation: str, **data: Any) -> dict[str, Any]:
    """A request for an operation at MAILBOX, which OWNER allows, but does not authorize yet."""
    payload = {
        "operation": operation, "allow": [Allowance(OWNER.address, GUARDIAN, OWNER.address).as_json()],
        "data": {"mailbox": MAILBOX, **data}, "validity": {**VALIDITY, "stamp": operation},
    }  # fmt: skip
    return {"type": "request", "id": operation, "payload": payload}


OPERATED: Final = (
    request("status"),
    request("messages", query={"limit": 1, "wait": 0.5}),
    request("acknowledge", body={"ids": ["a"]}),
    request("put_container", id="k", body="QUJD", match='"1"', none_match="*"),
    request("container", id="k", range="bytes=0-3"),
    request("status", mailbox="nobody.example"),
    request("no_operation"),
    {**request(REVOKE), "payload": {**request(REVOKE)["payload"], "data": {"mailbox": MAILBOX, "body": VALIDITY}}},
)
HEADS: Final = tuple(
    "\n".join((method, *headers)).encode() + b"\n\n" + body
    for method, *headers, body in (
        (*GOOD, SEEDS[-1]),
        ("POST", "Application/JSON; charset=utf-8", "identity", "https://a.example", SEEDS[-1]),
        ("POST", "application/json", "gzip", "", b"\x1f\x8b\x08\0\xff"),
        ("POST", "application/octet-stream", "", "", SEEDS[0]),
        ("POST", "", "", "null", b"\xff\xfe"),
        ("GET", "", "", "https://a.example", b""),
        ("HEAD", "", "", "", b""),
        ("OPTIONS", "", "", "https://a.example", b""),
        ("PUT", "application/json", "", "", b"{}"),
    )
)


@fuzzed(
    "http.dcp_service", "http.dcp_operations", "protocols.dcp.guardian", "protocols.dcp.receiving",
    "protocols.dcp.memory_store", "protocols.dcp.operations", "protocols.dcp.responses", "protocols.dcp.session_names",
    seeds=(*SEEDS, *map(compact, OPERATED), *HEADS, rb'[{"\ud800":9007199254740993}]'), is_json=True,
    max_bytes=LONG // 4,
)  # fmt: skip
def dcp_guardian(data: bytes) -> None:
    """Any request at /dcp: an answer, signed if it is one to a message, and no write before a good signature."""
    head, parted, body = data.partition(b"\n\n")
    api, body = (Api(head), body) if parted else (Api(), data)
    forget()
    api.post(body)
    for form in FORMS:
        forget()
        for value in bodies_of(body, PEER.dcpsid, PEER.nonce):
            message = PEER.signed(form(value))
            api.post(message)
            api.post(message)
        check_stamps()


def forget() -> None:
    """Make the store and what is recorded as they were at first."""
    STORE.__init__()  # type: ignore[misc]
    WAITING.clear()
    USED.clear()


def check_stamps() -> None:
    """No stamp counted twice."""
    assert len(USED) == len(set(USED)), "a stamp counted twice"


def authorized(body: dict[str, Any]) -> dict[str, Any]:
    """The same; a request, and each of a batch, is authorized by OWNER's key."""
    match body.get("payload"):
        case dict() as payload:
            return {**body, "auth": authorize(payload, [OWNER])}
        case list() as requests:
            return {**body, "payload": [authorized(each) if isinstance(each, dict) else each for each in requests]}
    return body


FORMS: Final[tuple[Callable[[dict[str, Any]], dict[str, Any]], ...]] = (lambda body: body, authorized)
"""Each begins with a store of its own: a nonce and the id of a request count once in a session."""
ENTRIES: tuple[Entry, ...] = (dcp_guardian,)
