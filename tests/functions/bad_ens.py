"""Senders whose names are in ENS: what endpoints of the chain, contracts and gateways say of each, well or badly.

MARK is in every URL. All profiles have the keys of SENDER.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Any, Final

from tests.fakes.endpoints import Answered, fake_endpoint
from tests.fakes.web import Answers, Page
from tests.functions.bad_dm3 import NOBODY, SENDER, envelope, profile, submit
from tests.functions.bad_requests import MARK, Sent, Then
from tests.names.ens.nodes import TextNode, reverted
from tests.names.ens.vectors import RESOLVER

from postroom.core.reason import Reason
from postroom.crypto.encodings import read_hex, write_hex
from postroom.names.ens.abi import decode, encode
from postroom.names.ens.calls import OFFCHAIN_LOOKUP, text_call
from postroom.names.ens.ccip import BATCH_GATEWAY
from postroom.names.registry import PROFILE_KEY
from postroom.protocols.dm3.profile import data_uri

Json = dict[str, Any]
Spoil = Callable[[list[Json]], Answered]
"""What an endpoint makes of the answers to a batch that an honest one gives."""

Judge = Callable[[bytes, int], Json]
"""The outcome of a callback, by a gateway's answer and the number of the round."""

ENDPOINTS: Final = 3
GATEWAY, IMPOSTOR, PRIVATE = f"gateway-{MARK}.example", f"impostor-{MARK}.example", f"private-{MARK}.example"
CERTIFICATES: Final = {IMPOSTOR: "else.example"}
PUBLIC_ADDRESS: Final = "9.9.9.9"
LOOPBACK: Final = "127.0.0.1"
STRICT: Final = {"OUTBOUND_ALLOW_PRIVATE": "false"}
HASTY: Final = {"DM3_LOOKUP_SECONDS": "2"}
SIGNED: Final = b"what the contract accepts"
"""What a good gateway answers."""
QUERY: Final = bytes.fromhex("a780bab6")
_CALLBACK: Final = b"back"
_RESOLVER_ERROR: Final = bytes.fromhex("95c0c752")
_NUMBERS = count()


def honest(answers: list[Json]) -> bytes:
    return json.dumps(answers).encode()


@dataclass(frozen=True)
class NameInEns:
    """A name. `first`: the outcome of the call for its text; `judge`: that of a callback; `spoil`: what so many
    endpoints, `spoilt`, make of their answers.

    `reached`: the addresses that are connected to for it, beside the endpoints; `settings`: of the function;
    `has_endpoints`: whether any are stored.
    """

    section: str
    what: str
    reason: Reason | None
    name: str = ""
    first: Json = field(default_factory=lambda: text(good_profile()))
    judge: Judge = lambda _answer, _round: refused()
    spoil: Spoil = honest
    spoilt: int = 0
    pages: Mapping[str, Page] = field(default_factory=dict)
    reached: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    then: Then = Then.NOTHING
    has_endpoints: bool = True

    def submitted(self) -> Sent:
        """A message from it."""
        return submit(envelope(sender=self.name, signer=SENDER))


# --- what contracts return and revert with ---------------------------------------------------------------------------


def good_profile() -> str:
    return data_uri(profile(SENDER))


def text(value: str) -> Json:
    """The universal resolver returns a text."""
    return result(encode("string", (value,)))


def result(inner: bytes) -> Json:
    """It returns what a resolver returned."""
    return returned(encode("bytes,address", (inner, bytes(20))))


def returned(data: bytes) -> Json:
    return {"result": write_hex(data)}


def refused() -> Json:
    """It reverts, as with a gateway's answer that the resolver does not accept."""
    return reverted(write_hex(_RESOLVER_ERROR))


def off_chain(urls: Sequence[str], data: bytes = b"\x01", *, sender: bytes = RESOLVER, number: int = 0) -> Json:
    """It reverts with an OffchainLookup; `number`: of the round."""
    lookup = encode("address,string[],bytes,bytes4,bytes", (sender, urls, data, _CALLBACK, bytes([number])))
    return reverted(write_hex(OFFCHAIN_LOOKUP + lookup))


def in_batch(*requests: tuple[Sequence[str], bytes]) -> tuple[Sequence[str], bytes]:
    """URLs and data of an OffchainLookup for requests in a batch, each with its own URLs and data."""
    batch = [(RESOLVER, urls, data) for urls, data in requests]
    return [BATCH_GATEWAY], QUERY + encode("(address,string[],bytes)[]", (batch,))


def accept(answer: bytes, _: int) -> Json:
    """What a contract makes of a gateway's answer."""
    return text(good_profile()) if answer == SIGNED else refused()


def accept_batch(answer: bytes, _: int) -> Json:
    """The same, of the answers to a batch of one request."""
    return text(good_profile()) if decode("bool[],bytes[]", answer) == ([False], [SIGNED]) else refused()


# --- endpoints and gateways ------------------------------------------------------------------------------------------


class Chain:
    """The endpoints of the chain with these names."""

    def __init__(self, names: Sequence[NameInEns]) -> None:
        self._names = {write_hex(text_call(RESOLVER, each.name, PROFILE_KEY).data): each for each in names}
        self._node = _Node(self._names)

    def answer(self, place: int, body: bytes) -> Answered:
        """What the endpoint at a place of their list answers."""
        answers = json.loads(self._node(body))
        about = [self._names.get(each["params"][0]["data"]) for each in json.loads(body)[2:]]
        for name in about:
            if name and place < name.spoilt:
                return name.spoil(answers)
        return honest(answers)

    @contextmanager
    def served(self) -> Iterator[list[str]]:
        """The URLs of the endpoints, in their order."""
        with ExitStack() as undo:
            servers = [undo.enter_context(fake_endpoint(partial(self.answer, place))) for place in range(ENDPOINTS)]
            yield [f"http://{LOOPBACK}:{server.port}/" for server in servers]


class _Node(TextNode):
    """An honest node. The look-up that a callback belongs to is the last one that began: there is one at a time."""

    clock = staticmethod(lambda: time.time())

    def __init__(self, names: Mapping[str, NameInEns]) -> None:
        super().__init__({})
        self._names = names
        self._begun: NameInEns | None = None

    def answer(self, method: str, param: Any) -> Json:
        data = read_hex(param["data"]) or b""
        if data.startswith(_CALLBACK):
            answer, extra = decode("bytes,bytes", data[len(_CALLBACK) :])
            assert self._begun is not None
            return self._begun.judge(answer, extra[0])
        if param["data"] in self._names:
            self._begun = self._names[param["data"]]
            return self._begun.first
        return super().answer(method, param)


def url(path: str, host: str = GATEWAY) -> str:
    """A URL of a gateway, whose page is found by the path."""
    return f"https://{host}/{path}/{{data}}"


def gateways(names: Sequence[NameInEns]) -> dict[str, Answers]:
    """The hosts of the gateways."""
    pages = {path: page for each in names for path, page in each.pages.items()}

    def answers(path: str) -> Page:
        return pages.get(path.split("/")[1], Page(b"", 404))

    return {GATEWAY: answers, IMPOSTOR: answers, PRIVATE: answers}


def says(data: object) -> Page:
    return Page(json.dumps({"data": data}).encode())


def good_page() -> Page:
    return says(write_hex(SIGNED))


# --- the next look-up ------------------------------------------------------------------------------------------------


NEXT: Final = "next"
"""The page of those."""


def next_names(number: int) -> Iterator[NameInEns]:
    """Good names on chain and off chain, so many of each; each is looked up once."""
    for place in range(number):
        yield NameInEns("", "", None, _next_name(place, off_chain=False))
        first, pages = off_chain([url(NEXT)]), {NEXT: good_page()}
        yield NameInEns("", "", None, _next_name(place, off_chain=True), first, accept, pages=pages)


def _next_name(place: int, *, off_chain: bool) -> str:
    return f"{MARK}-{'off' if off_chain else 'on'}-chain-{place}.eth"


def from_next_name(*, off_chain: bool) -> Sent:
    """A message from the next good name, which somebody else has signed: only who finds its profile can know that."""
    return submit(envelope(sender=_next_name(next(_NUMBERS), off_chain=off_chain), signer=NOBODY))
