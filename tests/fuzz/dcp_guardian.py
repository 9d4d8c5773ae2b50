"""Fuzzing of `/dcp` of the mailbox API: the function and its guardian, on a store in memory."""

import base64
import json
from dataclasses import fields, replace
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
from postroom.http.dcp_operations import DcpOperations, Left, PerformedOperation
from postroom.http.private_responses import respond
from postroom.http.rate_limit import Rate
from postroom.http.response import HttpResponse
from postroom.http.router import RoutedRequest
from postroom.http.sign_in import SignIn
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
from postroom.storage.secrets.dcp_identities import DcpIdentities, DcpIdentity

URL: Final = "https://nlweb.receiver.example/dcp"
MAILBOX: Final = "receiver.example"


class _Store(MemoryStore):
    """A store that may be written only after a good signature."""

    def __init__(self) -> None:
        super().__init__()
        self.is_open, self.writes = False, 0

    def _write(self) -> None:
        self.writes += 1
        assert self.is_open, "it is written before a good signature"

    def use_nonce(self, use: NonceUse) -> None:
        self._write()
        super().use_nonce(use)

    def use_request(self, use: RequestUse) -> None:
        self._write()
        super().use_request(use)

    def give_back(self, use: RequestUse) -> None:
        self._write()
        super().give_back(use)

    def close(self, dcpsid: str) -> None:
        self._write()
        super().close(dcpsid)


class _Operations(DcpOperations):
    """The operations, which record the stamps that were used up."""

    def perform(self, admitted: Admitted, host: str, left: Left) -> PerformedOperation:
        used = (admitted.use.resources, admitted.use.stamp)
        try:
            performed = super().perform(admitted, host, left)
        except TheirError:
            USED.append(used)
            raise
        if not (isinstance(performed.result, FailedOperation) and performed.result.without_effect):
            USED.append(used)
        return performed


class _Identities(DcpIdentities):
    """One identity, which is in no secret."""

    def __init__(self) -> None:
        self._only = self.derive("the identity of a fuzzed guardian")

    def newest_first(self) -> tuple[DcpIdentity, ...]:
        return (self._only,)


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
    parts.handlers = {operation.id: _perform for operation in OPERATIONS}
    parts.rate = Rate(10**9, lambda: 0.0)
    parts.sign_in = SignIn(
        tokens=parts.tokens,
        directory=FakeDirectory(mailboxes={MAILBOX: MailboxRecord(MAILBOX, keys=keys)}),
        mailboxes=deployment.storage.mailboxes,
        users=FakeProfiles(),
        answered=deployment.storage.answered_challenges,
    )
    given = parts.dcp.operations
    operations = _Operations(**{field.name: getattr(given, field.name) for field in fields(given)})
    parts.dcp = replace(parts.dcp, operations=operations)
    return started("mailbox", parts.router)


STORE: Final = _Store()
USED: Final[list[tuple[tuple[str, ...], str]]] = []
IDENTITIES: Final = _Identities()
GUARDIAN: Final = IDENTITIES.newest_first()[0].key.address
FUNCTION: Final = _function()


class _Api:
    """The function, as what answers a peer. `head`: the method and headers of each request."""

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
PEER: Final = Peer.connected(_Api(), OWNER, guardian=GUARDIAN)
"""A connect is not stored, so that its session can begin with each input."""


def _request(operation: str, **data: Any) -> dict[str, Any]:
    payload = {
        "operation": operation, "allow": [Allowance(OWNER.address, GUARDIAN, OWNER.address).as_json()],
        "data": {"mailbox": MAILBOX, **data}, "validity": {**VALIDITY, "stamp": operation},
    }  # fmt: skip
    return {"type": "request", "id": operation, "payload": payload}


OPERATED: Final = (
    _request("status"),
    _request("messages", query={"limit": 1, "wait": 0.5}),
    _request("acknowledge", body={"ids": ["a"]}),
    _request("put_container", id="k", body="QUJD", match='"1"', none_match="*"),
    _request("container", id="k", range="bytes=0-3"),
    _request("status", mailbox="nobody.example"),
    _request("no_operation"),
    {**_request(REVOKE), "payload": {**_request(REVOKE)["payload"], "data": VALIDITY}},
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
    api, body = (_Api(head), body) if parted else (_Api(), data)
    STORE.__init__()  # type: ignore[misc]  # as it was at first
    USED.clear()
    api.post(body)
    for value in bodies_of(body, PEER.dcpsid, PEER.nonce):
        for each in (value, _authorized(value)):
            message = PEER.signed(each)
            api.post(message)
            api.post(message)
    assert len(USED) == len(set(USED)), "a stamp counted twice"


def _authorized(body: dict[str, Any]) -> dict[str, Any]:
    """The same, authorized by OWNER's key if it is a request."""
    payload = body.get("payload")
    return {**body, "auth": authorize(payload, [OWNER])} if isinstance(payload, dict) else body


ENTRIES: tuple[Entry, ...] = (dcp_guardian,)
