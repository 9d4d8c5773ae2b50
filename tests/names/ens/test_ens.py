"""Look-ups over HTTP: endpoints that answer as the real contracts did, and a gateway over TLS."""

import json
import ssl
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import pytest
import trustme
from tests.fakes.endpoints import FakeEndpoint, fake_endpoint
from tests.names.ens.nodes import NOW, Node, recorded, reverted
from tests.names.ens.vectors import EXCHANGES, REGISTRY, RESOLVER, raw
from tests.names.patience import unhurried
from tests.patience import PATIENCE

from postroom.core.errors import NotNowError, TooSlowError
from postroom.names.ens.endpoints import ChainEndpoints
from postroom.names.ens.ens import Ens
from postroom.names.ens.lookup import Contracts
from postroom.names.ens.rpc import MAX_ANSWER_BYTES
from postroom.names.registry import PROFILE_KEY
from postroom.net.endpoint_client import EndpointClient
from postroom.net.https import HttpsClient
from postroom.protocols.dm3.reasons import PROFILE_LOOKUP_FAILED

NAME = "carol.user.eth"


class Chain:
    """Two nodes that agree, and a gateway."""

    def __init__(self, undo: ExitStack, folder: Path, row: dict[str, Any]) -> None:
        undo.enter_context(unhurried())
        self.nodes = [Node(recorded(row)) for _ in range(2)]
        self.servers = [undo.enter_context(fake_endpoint(node)) for node in self.nodes]
        authority, tls = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("gateway.example").configure_cert(tls)
        authority.cert_pem.write_to_path(str(folder / "ca.pem"))
        self.gateway: FakeEndpoint = undo.enter_context(
            fake_endpoint(lambda _: json.dumps(row["answer"]).encode(), tls)
        )
        clients = [
            EndpointClient(f"http://127.0.0.1:{server.port}/", max_response_bytes=MAX_ANSWER_BYTES)
            for server in self.servers
        ]
        for client in clients:
            undo.callback(client.close)
        gateways = HttpsClient(
            lambda _: ["127.0.0.1"], port=self.gateway.port, allow_private=True, ca_file=str(folder / "ca.pem")
        )
        pool = undo.enter_context(ThreadPoolExecutor(2))
        self.ens = Ens(
            ChainEndpoints(clients, 2, 1, pool), gateways, Contracts(RESOLVER, REGISTRY), lambda: NOW, PATIENCE
        )


@pytest.fixture(params=EXCHANGES["ccip"], ids=lambda row: row["http"]["method"])
def row(request: pytest.FixtureRequest) -> dict[str, Any]:
    return dict(request.param)


@pytest.fixture
def chain(row: dict[str, Any], tmp_path: Path) -> Iterator[Chain]:
    with ExitStack() as undo:
        yield Chain(undo, tmp_path, row)


def test_a_text_on_chain_takes_one_post_to_each_endpoint_and_one_off_chain_two(
    chain: Chain, row: dict[str, Any]
) -> None:
    answer = chain.ens.text("alice.eth", PROFILE_KEY)
    assert (answer.found.ttl, len(answer.agreed), answer.agreed[0].alike) == (300, 1, 2)
    assert [len(server.bodies) for server in chain.servers] == [1, 1]
    off_chain = chain.ens.text(NAME, PROFILE_KEY)
    assert (off_chain.found.value, off_chain.found.gateways, len(off_chain.agreed)) == (
        row["text"], (row["http"]["url"],), 2,
    )  # fmt: skip
    assert [len(server.bodies) for server in chain.servers] == [3, 3]
    [path] = chain.gateway.paths
    assert row["http"]["url"].endswith(path)
    assert [json.loads(body) for body in chain.gateway.bodies if body] == (
        [row["http"]["json"]] if "json" in row["http"] else []
    )


def test_an_address_is_found(chain: Chain) -> None:
    assert chain.ens.address("alice.eth").found.value == raw("f39fd6e51aad88f6f4ce6ab8827279cfffb92266")


def test_an_absence_is_agreed_on(chain: Chain) -> None:
    answer = chain.ens.text("nobody.eth", PROFILE_KEY)
    assert (answer.found.value, answer.found.absent, answer.agreed[0].alike) == (None, "ResolverNotFound", 2)


def test_a_gateway_that_only_one_endpoint_names_is_not_asked(chain: Chain, row: dict[str, Any]) -> None:
    chain.nodes[1].outcomes[row["data"]] = reverted("0x")
    with pytest.raises(NotNowError, match="1 of 2 endpoints"):
        chain.ens.text(NAME, PROFILE_KEY)
    assert chain.gateway.paths == []


def test_a_callback_is_agreed_on_again(chain: Chain, row: dict[str, Any]) -> None:
    chain.nodes[1].outcomes[row["callback"]] = {"result": "0x"}
    with pytest.raises(NotNowError, match="1 of 2 endpoints"):
        chain.ens.text(NAME, PROFILE_KEY)


def test_a_gateway_that_fails_is_not_known_now(chain: Chain) -> None:
    chain.gateway.answer = lambda _: (503, {}, b"")
    with pytest.raises(NotNowError) as caught:
        chain.ens.text(NAME, PROFILE_KEY)
    assert caught.value.reason == PROFILE_LOOKUP_FAILED


def test_a_look_up_ends_with_its_time(chain: Chain) -> None:
    with pytest.raises(TooSlowError, match="it took more than 0 s"):
        replace(chain.ens, seconds=0.0).text("alice.eth", PROFILE_KEY)
    assert [len(server.bodies) for server in chain.servers] == [0, 0]


@pytest.mark.parametrize("slow", ["endpoint", "gateway"])
def test_what_an_endpoint_or_a_gateway_takes_too_long_for_is_told_from_what_they_fail_at(
    chain: Chain, slow: str
) -> None:
    answered = Event()

    def answer(_: bytes) -> bytes:
        assert answered.wait(PATIENCE)
        return b""

    for server in chain.servers if slow == "endpoint" else [chain.gateway]:
        server.answer = answer
    with pytest.raises(TooSlowError) as caught:
        replace(chain.ens, seconds=0.5).text(NAME, PROFILE_KEY)
    answered.set()
    assert caught.value.reason == PROFILE_LOOKUP_FAILED
