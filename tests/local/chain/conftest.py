"""A local chain with names, behind a running edge, and look-ups over real HTTPS."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest
from tests.local.chain.names import register_names
from tests.names.patience import unhurried
from tests.patience import PATIENCE

from postroom.local.authority import Authority
from postroom.local.chain.hosts import CCIP_HOST, chain_endpoints
from postroom.local.chain.local_ethereum import LocalEthereum
from postroom.local.edge import Edge
from postroom.names.ens.endpoints import ChainEndpoints
from postroom.names.ens.ens import Ens
from postroom.names.ens.lookup import Contracts
from postroom.names.ens.rpc import MAX_ANSWER_BYTES
from postroom.net.endpoint_client import EndpointClient
from postroom.net.https import HttpsClient

QUORUM = 2


class ServedChain:
    """A chain behind an edge. `look_up`: asks its endpoints."""

    def __init__(self, undo: ExitStack, authority: Authority) -> None:
        undo.enter_context(unhurried())
        self.ethereum = LocalEthereum(time.time)
        self.edge = undo.enter_context(Edge(authority))
        self.ethereum.serve(self.edge)
        ca_file = str(authority.pem)
        clients = [
            EndpointClient(url, max_response_bytes=MAX_ANSWER_BYTES, ca_file=ca_file)
            for url in chain_endpoints(self.edge.port)
        ]
        for client in clients:
            undo.callback(client.close)
        self.gateways = HttpsClient(
            lambda _: ["127.0.0.1"],
            port=self.edge.port,
            allow_private=True,
            ca_file=ca_file,
        )
        self.endpoints = ChainEndpoints(clients, QUORUM, 1, undo.enter_context(ThreadPoolExecutor(QUORUM)))
        self.look_up = Ens(self.endpoints, self.gateways, Contracts(), time.time, PATIENCE)


@pytest.fixture(scope="module")
def served_chain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedChain]:
    with ExitStack() as undo:
        chain = ServedChain(undo, Authority(tmp_path_factory.mktemp("ca")))
        ethereum = chain.ethereum
        register_names(ethereum.ens, ethereum.ccip, ethereum.gateway_account, f"https://{CCIP_HOST}")
        yield chain
