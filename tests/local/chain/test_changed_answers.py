"""Whatever one endpoint or a gateway changes in an answer: the same text is found, or none."""

import copy
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import pytest
from tests.local.chain.names import KEY, NAMES, register_names
from tests.patience import PATIENCE

from postroom.core.errors import NotNowError
from postroom.local.chain.json_rpc import answer_json_rpc
from postroom.local.chain.local_ethereum import LocalEthereum
from postroom.local.gateway import GatewayRequest
from postroom.names.ens.endpoints import ChainEndpoints
from postroom.names.ens.ens import Ens
from postroom.names.ens.lookup import Contracts
from postroom.net.https import HttpsResponse

NOW = 1_800_000_000
NAME = NAMES["wildcard, GET gateway"]
GONE = object()
"""In the place of a member: it is left out."""


class Change(NamedTuple):
    """A change of one answer. `source`: who gives it; `number`: which of its answers; `path`: to the changed part."""

    source: str
    number: int
    path: tuple[int | str, ...]
    value: Any


class Answers:
    """What the chain and the gateway answer, always the same to the same. `given`: what was answered, by source."""

    def __init__(self) -> None:
        self._ethereum = LocalEthereum(lambda: NOW)
        ethereum = self._ethereum
        register_names(ethereum.ens, ethereum.ccip, ethereum.gateway_account, "https://ccip.example")
        self._kept: dict[bytes | str, Any] = {}
        self.given: dict[str, list[Any]] = {}
        self.change: Change | None = None

    def of_chain(self, source: str, body: bytes) -> bytes:
        if body not in self._kept:
            self._kept[body] = json.loads(answer_json_rpc(self._ethereum.chain, body))
        return self._answer(source, self._kept[body])

    def of_gateway(self, url: str) -> bytes:
        if url not in self._kept:
            target = url.removeprefix("https://ccip.example")
            request = GatewayRequest("GET", target, (), b"", "ccip.example", "127.0.0.1", "HTTP/1.1")
            self._kept[url] = json.loads(self._ethereum.ccip(request).body)
        return self._answer("gateway", self._kept[url])

    def _answer(self, source: str, answer: Any) -> bytes:
        given = self.given.setdefault(source, [])
        given.append(answer)
        if self.change and (self.change.source, self.change.number) == (source, len(given) - 1):
            answer = changed(answer, self.change.path, self.change.value)
        return json.dumps(answer).encode()


class Endpoint(NamedTuple):
    """An endpoint, without a network."""

    host: str
    answers: Answers

    def post(self, body: bytes, seconds: float) -> bytes:
        return self.answers.of_chain(self.host, body)


class Gateways(NamedTuple):
    """Gateways, without a network."""

    answers: Answers

    def get(self, url: str, accept: str, seconds: float) -> HttpsResponse:
        return HttpsResponse(200, {}, self.answers.of_gateway(url))

    def post(self, url: str, body: bytes, content_type: str, *, seconds: float) -> HttpsResponse:
        raise AssertionError("the gateway of this name is asked by GET")


@pytest.fixture(scope="module")
def answers() -> Answers:
    return Answers()


@pytest.fixture(scope="module")
def ens(answers: Answers) -> Iterator[Ens]:
    with ThreadPoolExecutor(2) as pool:
        endpoints = [Endpoint(host, answers) for host in ("honest", "liar")]
        yield Ens(ChainEndpoints(endpoints, 2, 1, pool), Gateways(answers), Contracts(), lambda: NOW, PATIENCE)


def found(ens: Ens, answers: Answers, change: Change | None = None) -> str | bytes | None:
    """The text, with one answer changed; None: it could not be found out."""
    answers.change = change
    answers.given.clear()
    try:
        return ens.text(NAME.name, KEY).found.value
    except NotNowError:
        return None


def changed(value: Any, path: tuple[int | str, ...], new: Any) -> Any:
    value = copy.deepcopy(value)
    holder = value
    for step in path[:-1]:
        holder = holder[step]
    if new is GONE:
        del holder[path[-1]]
    else:
        holder[path[-1]] = new
    return value


def parts(value: Any, path: tuple[int | str, ...] = ()) -> Iterator[tuple[tuple[int | str, ...], Any]]:
    """Everything in a value, with the path to it."""
    if path:
        yield path, value
    if isinstance(value, dict | list):
        for step, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from parts(part, (*path, step))


def other_values(value: Any) -> Iterator[Any]:
    yield from (GONE, None, "", "0x", 0, [])
    if isinstance(value, str):
        for place in {0, 2, len(value) // 2, len(value) - 1} & set(range(len(value))):
            yield value[:place] + ("1" if value[place] == "0" else "0") + value[place + 1 :]


@pytest.mark.parametrize("source", ["liar", "gateway"])
def test_a_changed_answer_brings_the_same_text_or_none(ens: Ens, answers: Answers, source: str) -> None:
    assert found(ens, answers) == NAME.text
    given = answers.given[source][:]
    changes = [
        Change(source, number, path, other)
        for number, answer in enumerate(given)
        for path, value in parts(answer)
        for other in other_values(value)
        if other != value
    ]
    texts = [found(ens, answers, change) for change in changes]
    assert set(texts) <= {NAME.text, None}
    # Most of what there is matters.
    assert len(changes) > {"liar": 300, "gateway": 5}[source]
    assert None in texts
