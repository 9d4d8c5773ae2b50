"""Our look-ups in ENS and the bare work of them, timed in a process of their own: nothing else takes its time."""

import ssl
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import httpcore
import orjson
from tests.patience import PATIENCE
from tests.peers.lines import serve

from postroom.crypto.encodings import read_hex
from postroom.crypto.ethereum import keccak_256
from postroom.local.ports import HOST
from postroom.names.ens.accounts import AccountDemands
from postroom.names.ens.calls import namehash
from postroom.names.ens.endpoints import ChainEndpoint, ChainEndpoints
from postroom.names.ens.ens import Ens, HttpsRequests
from postroom.names.ens.lookup import Contracts
from postroom.names.ens.rpc import MAX_ANSWER_BYTES
from postroom.names.ens_registry import EnsRegistry
from postroom.names.registry import PROFILE_KEY
from postroom.net.endpoint_client import EndpointClient
from postroom.net.https import HttpsClient, HttpsResponse

DISTANCE_SECONDS: Final = 0.01
DEMANDS: Final = AccountDemands(nonce=1, balance=1)
CLOCKS: Final = {"processor": time.process_time, "wall": time.perf_counter}


@dataclass(frozen=True)
class Recorded:
    """What a look-up sends: bodies that are posted to its endpoint, and URLs of gateways, in their order."""

    steps: list[bytes | str] = field(default_factory=list)

    @property
    def posts(self) -> int:
        """How many bodies are posted to the endpoint."""
        return sum(isinstance(step, bytes) for step in self.steps)


class DistantEndpoint:
    """An endpoint that answers after DISTANCE_SECONDS."""

    def __init__(self, endpoint: EndpointClient) -> None:
        self.host, self._endpoint = endpoint.host, endpoint

    def post(self, body: bytes, seconds: float) -> bytes:
        """As an endpoint."""
        time.sleep(DISTANCE_SECONDS)
        return self._endpoint.post(body, seconds)


class RecordingEndpoint:
    """An endpoint whose posts are recorded."""

    def __init__(self, endpoint: EndpointClient, recorded: Recorded) -> None:
        self.host, self._endpoint, self._recorded = endpoint.host, endpoint, recorded

    def post(self, body: bytes, seconds: float) -> bytes:
        """As an endpoint."""
        self._recorded.steps.append(body)
        return self._endpoint.post(body, seconds)


class RecordingGateways:
    """Gateways whose URLs are recorded."""

    def __init__(self, gateways: HttpsClient, recorded: Recorded) -> None:
        self._gateways, self._recorded = gateways, recorded

    def get(self, url: str, accept: str, seconds: float) -> HttpsResponse:
        """As a client of gateways."""
        self._recorded.steps.append(url)
        return self._gateways.get(url, accept, seconds)

    def post(self, url: str, body: bytes, content_type: str, *, seconds: float) -> HttpsResponse:
        """Nothing here posts to a gateway."""
        raise NotImplementedError


class BareGateways:
    """Gateways over a connection that is kept for as long as they let it be."""

    def __init__(self, connect: Callable[[str], httpcore.HTTPConnection]) -> None:
        self._connect = connect
        self._connection: httpcore.HTTPConnection | None = None

    def get(self, url: str) -> bytes:
        """The body of an answer."""
        if self._connection is None or not self._connection.is_available():
            self._connection = self._connect(url)
        return self._connection.request("GET", url, headers={"Host": HOST}).content


class Always:
    """A rate that has no limit."""

    def take(self) -> bool:
        """Always."""
        return True


class EnsClient:
    """Look-ups at endpoints, all of which must agree, and at gateways at a port of this machine."""

    def __init__(self, urls: Sequence[str], ca_file: str, port: int) -> None:
        self._urls, self._ca_file = urls, ca_file
        self._tls = ssl.create_default_context(cafile=ca_file)
        self.gateways = HttpsClient(
            lambda _: [HOST], port=port, allow_private=True, ca_file=ca_file, connect_timeout=PATIENCE,
            total_timeout=PATIENCE, keep_connections=True,
        )  # fmt: skip
        self.endpoints = [EndpointClient(url, max_response_bytes=MAX_ANSWER_BYTES, ca_file=ca_file) for url in urls]
        self._pool = ThreadPoolExecutor(len(urls))
        self._ens = self._of(self.endpoints, self.gateways)
        self._distant = self._of([DistantEndpoint(each) for each in self.endpoints], self.gateways)
        self._registry = EnsRegistry(lambda: self._ens, Always(), time.time)

    def _of(self, endpoints: Sequence[ChainEndpoint], gateways: HttpsRequests) -> Ens:
        chain = ChainEndpoints(endpoints, len(endpoints), 1, self._pool)
        return Ens(chain, gateways, Contracts(), time.time, PATIENCE)

    def ways(self, name: str) -> dict[str, Callable[[], object]]:
        """What can be timed of a name."""
        return {
            "text": partial(_text, self._ens, name),
            "distant": partial(_text, self._distant, name),
            "kept": lambda: self._registry.text(name, PROFILE_KEY),
            "account": partial(_account, self._ens, name),
            "posts": self._bare_posts(name),
        }

    def bare(self, way: str, name: str) -> Callable[[], object]:
        """The bare work of a way: the same requests, JSON of them and of their answers, and the hashes of a name."""
        recorded = self.recorded(way, name)
        [url] = self._urls
        connection, gateways = self._connection(url), BareGateways(self._connection)
        steps = [orjson.loads(step) if isinstance(step, bytes) else step for step in recorded.steps]

        def bare() -> None:
            node = bytes(32)
            for label in reversed(name.split(".")):
                node = keccak_256(node + keccak_256(label.encode()))
            for step in steps:
                if isinstance(step, str):
                    read_hex(orjson.loads(gateways.get(step))["data"])
                else:
                    body = orjson.dumps(step)
                    answer = connection.request("POST", url, headers=_headers(url, body), content=body).content
                    for each in orjson.loads(answer)[2:]:
                        read_hex(each.get("result", ""))

        return bare

    def _bare_posts(self, name: str) -> Callable[[], object]:
        """The first post of a look-up to all endpoints at a time."""
        body = self.recorded("text", name).steps[0]
        posts = [
            partial(self._connection(url).request, "POST", url, headers=_headers(url, body), content=body)
            for url in self._urls
        ]
        return lambda: [posted.result() for posted in [self._pool.submit(post) for post in posts]]

    def recorded(self, way: str, name: str) -> Recorded:
        """What a way sends."""
        recorded = Recorded()
        endpoints = [RecordingEndpoint(each, recorded) for each in self.endpoints]
        ens = self._of(endpoints, RecordingGateways(self.gateways, recorded))
        (_text if way == "text" else _account)(ens, name)
        return recorded

    def _connection(self, url: str) -> httpcore.HTTPConnection:
        where = httpcore.URL(url)
        return httpcore.HTTPConnection(where.origin, self._tls if where.scheme == b"https" else None)


def _headers(url: str, body: bytes) -> dict[str, str]:
    host = httpcore.URL(url).host.decode()
    return {"Host": host, "Content-Type": "application/json", "Content-Length": str(len(body))}


def _text(ens: Ens, name: str) -> None:
    namehash.cache_clear()  # as for a name that was not looked up before
    if not ens.text(name, PROFILE_KEY).found.value:
        raise LookupError(name)


def _account(ens: Ens, name: str) -> None:
    namehash.cache_clear()
    account = ens.address(name).found.value
    assert isinstance(account, bytes)
    ens.reach(account, [DEMANDS])


class TimedLookUps:
    """The functions that this process answers."""

    def __init__(self) -> None:
        self._clients: dict[tuple[str, ...], EnsClient] = {}
        self._ways: dict[tuple[str, ...], Callable[[], object]] = {}

    def open(self, urls: Sequence[str], ca_file: str, port: int) -> None:
        """Make a client of these endpoints, which is known by their URLs from now on."""
        self._clients[tuple(urls)] = EnsClient(urls, ca_file, port)

    def posts(self, urls: Sequence[str], way: str, name: str) -> int:
        """How many bodies a way posts to the endpoint."""
        return self._clients[tuple(urls)].recorded(way, name).posts

    def seconds(self, clock: str, urls: Sequence[str], way: str, name: str, number: int) -> float:
        """How long so many look-ups take, in processor time or wall time."""
        go, read = self._way(tuple(urls), way, name), CLOCKS[clock]
        begin = read()
        for _ in range(number):
            go()
        return read() - begin

    def _way(self, urls: tuple[str, ...], way: str, name: str) -> Callable[[], object]:
        key = (*urls, way, name)
        if key not in self._ways:
            client = self._clients[urls]
            bare = way.removeprefix("bare ")
            self._ways[key] = client.bare(bare, name) if bare != way else client.ways(name)[way]
        return self._ways[key]


if __name__ == "__main__":
    timed = TimedLookUps()
    serve({"ens.open": timed.open, "ens.posts": timed.posts, "ens.seconds": timed.seconds})
