"""Nodes of a chain that answer what the real contracts did, and what accounts hold."""

import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any, Final

from tests.fakes.endpoints import FakeEndpoint
from tests.names.ens.vectors import EXCHANGES, NAMES, REGISTRY, RESOLVER
from tests.names.patience import unhurried
from tests.patience import PATIENCE

from postroom.crypto.encodings import write_hex
from postroom.names.ens.abi import encode
from postroom.names.ens.calls import OFFCHAIN_LOOKUP, text_call, ttl_call
from postroom.names.ens.ccip import OffchainLookup
from postroom.names.ens.endpoints import ChainEndpoints
from postroom.names.ens.ens import Ens
from postroom.names.ens.lookup import Contracts
from postroom.names.ens.rpc import MAX_ANSWER_BYTES
from postroom.net.endpoint_client import EndpointClient
from postroom.net.https import HttpsClient, HttpsResponse

NOW: Final = 1_800_000_000
_NOT_FOUND: Final = "0x77209fe8"
_BALANCE_OF: Final = "0x70a08231"


def recorded(row: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """By the data of a call, what a node answered, with one of the known answers off chain."""
    found = {
        each["data"]: {"result": each["result"]} if "result" in each else reverted(each["revert"])
        for each in EXCHANGES["on_chain"]
    }
    return found | {row["data"]: reverted(row["revert"]), row["callback"]: {"result": row["result"]}}


def texts_on_chain(
    texts: Mapping[str, Mapping[str, str]], ttls: Mapping[str, int] | None = None
) -> dict[str, dict[str, Any]]:
    """By the data of a call, what a node answers if these texts (name → key → text) and TTLs are on chain."""
    found = {
        write_hex(text_call(RESOLVER, name, key).data): _returned(
            encode("bytes,address", (encode("string", (text,)), bytes(20)))
        )
        for name, entry in texts.items()
        for key, text in entry.items()
    }
    return found | {
        write_hex(ttl_call(REGISTRY, name).data): _returned(ttl.to_bytes(32)) for name, ttl in (ttls or {}).items()
    }


def off_chain_answers(name: str, key: str, text: str, url: str) -> dict[str, dict[str, Any]]:
    """By the data of a call, what a node answers if a gateway has a text: it must answer what it was asked."""
    call = write_hex(text_call(RESOLVER, name, key).data)
    [result] = texts_on_chain({name: {key: text}}).values()
    lookup = OffchainLookup(RESOLVER, (url,), name.encode(), b"back", b"")
    reverts = OFFCHAIN_LOOKUP + encode(
        "address,string[],bytes,bytes4,bytes",
        (lookup.sender, lookup.urls, lookup.data, lookup.callback, lookup.extra),
    )
    answered = write_hex(lookup.callback_call(lookup.data).data)
    return {call: reverted(write_hex(reverts)), answered: result}


class EchoGateways:
    """Gateways that give back what they were asked. `urls`: of the requests."""

    def __init__(self) -> None:
        self.urls: list[str] = []

    def get(self, url: str, accept: str, seconds: float) -> HttpsResponse:
        raise AssertionError(f"no GET of {url} as {accept} within {seconds} s: it has no {{data}}")

    def post(self, url: str, body: bytes, content_type: str, *, seconds: float) -> HttpsResponse:
        assert (content_type, seconds > 0) == ("application/json", True)
        self.urls.append(url)
        return HttpsResponse(200, {}, json.dumps({"data": json.loads(body)["data"]}).encode())


def _returned(data: bytes) -> dict[str, Any]:
    return {"result": write_hex(data)}


def ens_of(undo: ExitStack, servers: Sequence[FakeEndpoint]) -> Ens:
    """What asks some endpoints, all of which must agree, and finds no gateway."""
    undo.enter_context(unhurried())
    clients = [
        EndpointClient(f"http://127.0.0.1:{each.port}/", max_response_bytes=MAX_ANSWER_BYTES) for each in servers
    ]
    for client in clients:
        undo.callback(client.close)
    pool = undo.enter_context(ThreadPoolExecutor(len(servers)))
    endpoints = ChainEndpoints(clients, len(servers), 1, pool)
    return Ens(endpoints, HttpsClient(lambda _: []), Contracts(RESOLVER, REGISTRY), lambda: NOW, PATIENCE)


def reverted(data: str) -> dict[str, Any]:
    return {"error": {"code": 3, "message": "execution reverted", "data": data}}


class Node:
    """A node of the chain. `calls`: what was called; `block`, `clock`: the number and the time of its newest block."""

    block: int = 16
    clock: Callable[[], float] = staticmethod(lambda: NOW)

    def __init__(self, outcomes: dict[str, dict[str, Any]]) -> None:
        self.outcomes, self.calls = outcomes, []  # type: ignore[var-annotated]

    def __call__(self, body: bytes) -> bytes:
        return json.dumps(
            [{"jsonrpc": "2.0", "id": each["id"], **self._one(each)} for each in json.loads(body)]
        ).encode()

    def _one(self, request: dict[str, Any]) -> dict[str, Any]:
        if request["method"] == "eth_chainId":
            return {"result": "0x1"}
        if request["method"] == "eth_getBlockByNumber":
            return {"result": {"number": hex(self.block), "timestamp": hex(int(self.clock()))}}
        return self.answer(request["method"], request["params"][0])

    def answer(self, method: str, param: Any) -> dict[str, Any]:
        """The result or error of a request, by its first parameter."""
        assert method == "eth_call"
        self.calls.append(param["data"])
        return self.outcomes.get(param["data"], reverted("0x"))


class TextNode(Node):
    """A node of a chain with some texts (name → key → text) and TTLs, which may be changed; other names are not on
    it."""

    def __init__(self, texts: Mapping[str, Mapping[str, str]], ttls: Mapping[str, int] | None = None) -> None:
        super().__init__(texts_on_chain(texts, ttls))

    def answer(self, method: str, param: Any) -> dict[str, Any]:
        known = param["data"] in self.outcomes
        return super().answer(method, param) if known else reverted(_NOT_FOUND)


class AccountNode(Node):
    """A node with one account, that of alice.eth. `looked_up`: which of its numbers were."""

    def __init__(self, nonce: int, balance: int, token: int) -> None:
        super().__init__(recorded(EXCHANGES["ccip"][0]))
        self.nonce, self.balance, self.token = nonce, balance, token
        self.looked_up: list[str] = []

    def answer(self, method: str, param: Any) -> dict[str, Any]:
        if method == "eth_getTransactionCount":
            return self._number("nonce", self.nonce)
        if method == "eth_getBalance":
            return self._number("balance", self.balance)
        if param["data"].startswith(_BALANCE_OF):
            assert param["to"] == NAMES["filter"]["token"]
            return self._number("token", self.token)
        known = param["data"] in self.outcomes
        return super().answer(method, param) if known else reverted(_NOT_FOUND)

    def _number(self, what: str, number: int) -> dict[str, Any]:
        self.looked_up.append(what)
        return {"result": f"0x{number:064x}" if what == "token" else hex(number)}
