"""Look-ups against a plain model: a contract that knows which answers are good, and gateways good and bad.

The contract's side is encoded and decoded by eth_abi.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import eth_abi
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.names.ens.vectors import REGISTRY, RESOLVER

from postroom.core.errors import NotNowError
from postroom.names.ens.calls import OFFCHAIN_LOOKUP, Call, Outcome, Returned, Reverted
from postroom.names.ens.ccip import BATCH_GATEWAY, MAX_BATCH, MAX_NESTING, MAX_REQUESTS, MAX_URLS, OffchainAnswer
from postroom.names.ens.lookup import MAX_ROUNDS, Ask, Contracts, Found, look_up_text
from postroom.names.registry import PROFILE_KEY

TEXT: Final = "the text"
CALLBACK: Final = b"back"
BATCH: Final = "(address,string[],bytes)[]"
QUERY: Final = bytes.fromhex("a780bab6")


class Gateway(StrEnum):
    """What a gateway does."""

    GOOD = "gives the good answer"
    LIES = "gives another answer"
    REFUSES = "answers 404"
    FAILS = "answers 500"
    IS_EMPTY = "answers 200 without data"
    IS_SILENT = "does not answer"
    IS_HTTP = "is not reached by https"


ENDS: Final = (Gateway.GOOD, Gateway.LIES, Gateway.REFUSES)
"""After these, no further gateway of the request is used."""


@dataclass(frozen=True)
class Request:
    """What a contract wants of gateways, one after the other."""

    gateways: tuple[Gateway, ...]


@dataclass(frozen=True)
class Batch:
    """What a contract wants of several."""

    members: "tuple[Request | Batch, ...]"


ANY_REQUEST: Final = st.lists(st.sampled_from(Gateway), max_size=5).map(lambda each: Request(tuple(each)))
OTHERS: Final = st.lists(st.sampled_from([each for each in Gateway if each not in ENDS]), max_size=2)
GOOD_REQUEST: Final = OTHERS.map(lambda each: Request((*each, Gateway.GOOD)))


def wanted(depth: int) -> st.SearchStrategy[Request | Batch]:
    """What a contract may want, more often than not what it can get."""
    if not depth:
        return GOOD_REQUEST | GOOD_REQUEST | ANY_REQUEST
    members = st.lists(GOOD_REQUEST, min_size=1, max_size=2) | st.lists(wanted(depth - 1), max_size=MAX_BATCH + 1)
    return GOOD_REQUEST | wanted(0) | members.map(lambda each: Batch(tuple(each)))


class Contract:
    """The universal resolver for one name: it sends a client to gateways `rounds` times, and then says the text."""

    def __init__(self, rounds: list[Request | Batch]) -> None:
        self._rounds = rounds
        self._gateways: dict[str, tuple[Gateway, bytes]] = {}
        self.used: list[Gateway] = []

    def run(self) -> Found:
        look_up = look_up_text("alice.eth", PROFILE_KEY, Contracts(RESOLVER, REGISTRY))
        step = next(look_up)
        try:
            while True:
                if isinstance(step, Ask):
                    step = look_up.send(tuple(self._outcome(call) for call in step.calls))
                else:
                    step = look_up.send(self._answer(step.url, step.body))
        except StopIteration as done:
            found: Found = done.value
            return found

    def _outcome(self, call: Call) -> Outcome:
        if call.to == REGISTRY:
            return Returned(bytes(32))
        if call.data[:4] != CALLBACK:
            return self._reached(0)
        answer, extra = eth_abi.decode(["bytes", "bytes"], call.data[4:])
        done = int.from_bytes(extra)
        return self._reached(done + 1) if answer == self._good(self._rounds[done], (done,)) else Reverted(b"")

    def _reached(self, done: int) -> Outcome:
        if done == len(self._rounds):
            return Returned(eth_abi.encode(["bytes", "address"], [eth_abi.encode(["string"], [TEXT]), RESOLVER]))
        _, urls, data = self._written(self._rounds[done], (done,))
        arguments = (RESOLVER, urls, data, CALLBACK, bytes([done]))
        return Reverted(
            OFFCHAIN_LOOKUP + eth_abi.encode(["address", "string[]", "bytes", "bytes4", "bytes"], arguments)
        )

    def _written(self, request: Request | Batch, place: tuple[int, ...]) -> tuple[bytes, list[str], bytes]:
        """As the contract writes it. `place`: which it is of all."""
        if isinstance(request, Batch):
            members = [self._written(each, (*place, number)) for number, each in enumerate(request.members)]
            return RESOLVER, [BATCH_GATEWAY], QUERY + eth_abi.encode([BATCH], [members])
        urls = []
        for number, gateway in enumerate(request.gateways):
            scheme = "http" if gateway == Gateway.IS_HTTP else "https"
            urls.append(f"{scheme}://{'-'.join(map(str, (*place, number)))}.example/{{sender}}")
            self._gateways[urls[-1].replace("{sender}", f"0x{RESOLVER.hex()}")] = gateway, self._good(request, place)
        return RESOLVER, urls, bytes(place)

    def _good(self, request: Request | Batch, place: tuple[int, ...]) -> bytes:
        """The one answer that the contract takes."""
        if isinstance(request, Request):
            return b"good" + bytes(place)
        answers = [self._good(each, (*place, number)) for number, each in enumerate(request.members)]
        return eth_abi.encode(["bool[]", "bytes[]"], [[False] * len(answers), answers])

    def _answer(self, url: str, body: bytes | None) -> OffchainAnswer | None:
        assert body is not None, "without {data} in the URL it is a POST"
        gateway, good = self._gateways[url]
        self.used.append(gateway)
        match gateway:
            case Gateway.IS_SILENT:
                return None
            case Gateway.REFUSES:
                return OffchainAnswer(404, b"{}", "Not Found")
            case Gateway.FAILS:
                return OffchainAnswer(500, b"{}", "Internal Server Error")
        data = {"data": f"0x{(good if gateway == Gateway.GOOD else b'another').hex()}"}
        return OffchainAnswer(200, json.dumps({} if gateway == Gateway.IS_EMPTY else data).encode())


def used_of(request: Request) -> list[Gateway]:
    """The gateways of a request that are used, in order."""
    used: list[Gateway] = []
    for gateway in request.gateways[:MAX_URLS]:
        if gateway != Gateway.IS_HTTP:
            used.append(gateway)
        if gateway in ENDS:
            break
    return used


def requests_of(request: Request | Batch) -> Iterator[Request]:
    """All requests, in order."""
    if isinstance(request, Request):
        yield request
    else:
        for each in request.members:
            yield from requests_of(each)


def is_within_bounds(request: Request | Batch, nesting: int = 0) -> bool:
    if isinstance(request, Request):
        return True
    is_small = nesting < MAX_NESTING and 0 < len(request.members) <= MAX_BATCH
    return is_small and all(is_within_bounds(each, nesting + 1) for each in request.members)


@given(st.lists(wanted(MAX_NESTING + 1), max_size=MAX_ROUNDS + 1))
def test_a_text_is_found_exactly_if_the_contract_gets_all_good_answers_within_the_bounds(
    rounds: list[Request | Batch],
) -> None:
    used = [used_of(request) for each in rounds for request in requests_of(each)]
    should_find = (
        len(rounds) <= MAX_ROUNDS
        and all(map(is_within_bounds, rounds))
        and all(each and each[-1] == Gateway.GOOD for each in used)
        and sum(map(len, used)) <= MAX_REQUESTS
    )
    contract = Contract(rounds)
    if should_find:
        found = contract.run()
        assert (found.value, found.rounds, len(found.gateways)) == (TEXT, len(rounds), sum(map(len, used)))
        assert contract.used == [gateway for each in used for gateway in each]
    else:
        with pytest.raises(NotNowError):
            contract.run()
        assert len(contract.used) <= MAX_REQUESTS
        assert Gateway.IS_HTTP not in contract.used
