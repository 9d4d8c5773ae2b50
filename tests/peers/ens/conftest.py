"""The same names on two chains, py-evm with our contracts and anvil with those of others, and clients."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.local.chain.names import register_names
from tests.names.patience import unhurried
from tests.patience import PATIENCE
from tests.peers.answering import AnsweringProcess
from tests.peers.ens.anvil import AnvilChain, EnsOfOthers, anvil
from tests.peers.ens.packages import PROGRAM, installed
from tests.peers.ens.web3_packages import web3_installed, web3_process
from tests.peers.node import Reference

from postroom.local.authority import Authority
from postroom.local.chain.ens_names import LocalEns
from postroom.local.chain.hosts import chain_endpoints
from postroom.local.chain.local_ethereum import LocalEthereum
from postroom.local.edge import Edge
from postroom.local.ports import HOST
from postroom.names.ens.endpoints import ChainEndpoints
from postroom.names.ens.ens import Ens
from postroom.names.ens.lookup import Contracts
from postroom.names.ens.rpc import MAX_ANSWER_BYTES
from postroom.net.endpoint_client import EndpointClient
from postroom.net.https import HttpsClient

KINDS = ("py-evm", "anvil")


@dataclass(frozen=True)
class ReadChain:
    """A chain. `url`: of its JSON-RPC; `ens`: changes its names; `look_up`: ours, over that URL alone."""

    url: str
    ens: LocalEns
    look_up: Ens


class Chains:
    """Both chains, whose gateway is the same one, at an address that Node finds."""

    def __init__(self, undo: ExitStack, authority: Authority, packages: Path) -> None:
        self._undo = undo
        undo.enter_context(unhurried())
        ethereum = LocalEthereum(time.time)
        edge = undo.enter_context(Edge(authority))
        ethereum.serve(edge)
        edge.serve_handler(HOST, ethereum.ccip)
        self._gateways = HttpsClient(
            lambda _: [HOST],
            port=edge.port,
            allow_private=True,
            ca_file=str(authority.pem),
        )
        self._ca_file = str(authority.pem)
        other: AnvilChain = undo.enter_context(anvil(packages))
        self.by_kind = {
            "py-evm": self._read(chain_endpoints(edge.port)[0], ethereum.ens),
            "anvil": self._read(other.url, EnsOfOthers(other, packages)),
        }
        for chain in self.by_kind.values():
            register_names(chain.ens, ethereum.ccip, ethereum.gateway_account, f"https://{HOST}:{edge.port}")

    def _read(self, url: str, names: LocalEns) -> ReadChain:
        endpoint = EndpointClient(url, max_response_bytes=MAX_ANSWER_BYTES, ca_file=self._ca_file)
        self._undo.callback(endpoint.close)
        endpoints = ChainEndpoints([endpoint], 1, 1, self._undo.enter_context(ThreadPoolExecutor(1)))
        return ReadChain(url, names, Ens(endpoints, self._gateways, Contracts(), time.time, PATIENCE))


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("ca"))


@pytest.fixture(scope="module")
def chains(authority: Authority) -> Iterator[Chains]:
    with ExitStack() as undo:
        yield Chains(undo, authority, installed())


@pytest.fixture(params=KINDS)
def chain(chains: Chains, request: pytest.FixtureRequest) -> ReadChain:
    return chains.by_kind[request.param]


@dataclass(frozen=True)
class Clients:
    """viem and ethers, and web3.py."""

    node: AnsweringProcess
    web3: AnsweringProcess

    def call(self, client: str, function: str, *args: Any) -> Any:
        """Call a function of a client."""
        process = self.web3 if client == "web3" else self.node
        return process.call(f"{client}.{function}", *args)


@pytest.fixture(scope="module")
def clients(authority: Authority) -> Iterator[Clients]:
    ca_file = authority.pem.resolve()
    with (
        Reference(installed(), PROGRAM, ca_file=ca_file) as node,
        web3_process(web3_installed(), ca_file) as web3,
    ):
        yield Clients(node, web3)
