"""The chain of the stack: its names are found by way of the stack's DNS and TLS, as they are on mainnet."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import NamedTuple

import pytest

from postroom.cli.up import describe_stack
from postroom.demo.chain_names import CAROL, ERIN
from postroom.demo.names import ALICE, profile_of
from postroom.demo.stack import DemoStack
from postroom.local.chain.hosts import CCIP_HOST, IPFS_GATEWAY, chain_endpoints
from postroom.names.dns import Resolvers
from postroom.names.ens import ens
from postroom.names.ens.endpoints import ChainEndpoints
from postroom.names.ens.ens import Ens
from postroom.names.ens.lookup import Contracts
from postroom.names.ens.rpc import MAX_ANSWER_BYTES
from postroom.names.host_addresses import addresses
from postroom.names.ipfs.gateways import IpfsGateways
from postroom.names.profile_documents import ProfileDocuments
from postroom.names.registry import PROFILE_KEY
from postroom.names.uris import ReadUri, uri_reader
from postroom.net.endpoint_client import EndpointClient
from postroom.net.https import HttpsClient


class Reader(NamedTuple):
    """Looks names up, and reads what their texts lead to."""

    ens: Ens
    read: ReadUri


@pytest.fixture
def reader(demo_stack: DemoStack, monkeypatch: pytest.MonkeyPatch) -> Iterator[Reader]:
    monkeypatch.setattr(ens, "LOOK_UP_SECONDS", 60.0)  # the machine may be busy
    stack = demo_stack.stack
    descriptor = describe_stack(stack, chain_endpoints(stack.edge.port))
    with ExitStack() as undo:
        clients = [
            EndpointClient(url, max_response_bytes=MAX_ANSWER_BYTES, ca_file=descriptor.ca_file)
            for url in descriptor.chain_endpoints
        ]
        for client in clients:
            undo.callback(client.close)
        resolvers = undo.enter_context(Resolvers(descriptor.resolvers, try_seconds=5))
        https = HttpsClient(
            lambda host: addresses(host, resolvers.asking()),
            port=descriptor.port, allow_private=True, ca_file=descriptor.ca_file, total_timeout=60,
        )  # fmt: skip
        endpoints = ChainEndpoints(clients, len(clients), 1, undo.enter_context(ThreadPoolExecutor(len(clients))))
        documents = ProfileDocuments(https, IpfsGateways((IPFS_GATEWAY,), https), time.time)
        yield Reader(Ens(endpoints, https, Contracts(), time.time), uri_reader(lambda: documents))


@pytest.mark.parametrize(("name", "scheme", "gateways"), [(ALICE, "data", 0), (CAROL, "data", 1), (ERIN, "ipfs", 0)])
def test_a_name_in_ens_leads_to_its_profile(
    demo_stack: DemoStack, reader: Reader, name: str, scheme: str, gateways: int
) -> None:
    answer = reader.ens.text(name, PROFILE_KEY)
    text = answer.found.value
    assert isinstance(text, str)
    assert text.partition(":")[0] == scheme
    assert reader.read(text).value == profile_of(demo_stack.names.keys_of(name))
    assert [CCIP_HOST in url for url in answer.found.gateways] == [True] * gateways
    assert {agreed.alike for agreed in answer.agreed} == {2}
