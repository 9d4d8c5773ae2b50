"""A chain with names in ENS, and the clients that read it, each in a process of its own.

with ens_clients(effort) as clients:
    ratios([clients.ours("text", "on chain"), clients.other("viem", "on chain")], effort)
"""

import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from benchmarks.call_timer import CallTimer
from benchmarks.harness import Effort
from tests.local.chain.names import KEY, NAMES, register_names
from tests.peers.answering import AnsweringProcess
from tests.peers.ens.anvil import EnsOfOthers, anvil
from tests.peers.ens.packages import PACKAGES
from tests.peers.ens.web3_packages import PACKAGES as WEB3_PACKAGES
from tests.peers.ens.web3_packages import web3_process
from tests.peers.made import UnavailableError, made
from tests.peers.node import Reference

from postroom.local.authority import Authority
from postroom.local.chain.ccip_gateway import CcipGateway
from postroom.local.chain.hosts import chain_endpoints
from postroom.local.chain.local_ethereum import LocalEthereum
from postroom.local.edge import Edge
from postroom.local.gateway import GatewayRequest, GatewayResponse
from postroom.local.ports import HOST

_HERE: Final = Path(__file__).parent
_NAMES: Final = {"on chain": NAMES["on chain"].name, "off chain": NAMES["wildcard, GET gateway"].name}


class BenchGateway:
    """A gateway of names off chain. `keeps`: whether it lets clients use a connection again."""

    def __init__(self, ccip: CcipGateway) -> None:
        self._ccip = ccip
        self.keeps = True

    def __call__(self, request: GatewayRequest) -> GatewayResponse:
        answer = self._ccip(request)
        ends = () if self.keeps else (("connection", "close"),)
        return replace(answer, headers=(*answer.headers, *ends))


@dataclass(frozen=True)
class EnsClients:
    """Clients of one chain. `urls`: of its JSON-RPC, each of the same node; `theirs`: the others that are available;
    `missing`: why the rest are not.
    """

    urls: tuple[str, str]
    gateway: BenchGateway
    our: AnsweringProcess
    theirs: Mapping[str, AnsweringProcess]
    missing: Mapping[str, str]
    effort: Effort

    def ours(self, way: str, kind: str, *, endpoints: int = 1, clock: str = "processor") -> CallTimer:
        """Our look-up of a kind of name, or the bare work of it."""
        return CallTimer(self.our, "ens.seconds", (clock, self.urls[:endpoints], way, _NAMES[kind]))

    def other(self, client: str, kind: str) -> CallTimer:
        """The look-up of the text by another client."""
        args = (client, self.urls[0], _NAMES[kind], KEY)
        return CallTimer(self.theirs[client], "ens.seconds", args).warmed(self.effort)

    def posts(self, way: str, kind: str) -> int:
        """How many requests of ours an endpoint gets."""
        count: int = self.our.call("ens.posts", self.urls[:1], way, _NAMES[kind])
        return count


@contextmanager
def ens_clients(effort: Effort) -> Iterator[EnsClients]:
    """The clients, and the chain that they read: anvil, or without Node, which has it, the one of the local stack."""
    with ExitStack() as undo:
        authority = Authority(Path(undo.enter_context(tempfile.TemporaryDirectory())))
        ca_file = authority.pem.resolve()
        edge = undo.enter_context(Edge(authority))
        local = LocalEthereum(time.time)
        gateway = BenchGateway(local.ccip)
        local.serve(edge)
        edge.serve_handler(HOST, gateway)
        chain, url = local.ens, chain_endpoints(edge.port)[0]
        theirs: dict[str, AnsweringProcess] = {}
        missing: dict[str, str] = {}
        try:
            packages = made(PACKAGES)
        except UnavailableError as why:
            missing |= dict.fromkeys(("ethers", "viem"), _first_line(why))
        else:
            node = undo.enter_context(anvil(packages))
            chain, url = EnsOfOthers(node, packages), node.url
            process = undo.enter_context(Reference(packages, _HERE / "ens_peer.js", ca_file=ca_file))
            theirs |= dict.fromkeys(("ethers", "viem"), process)
        try:
            folder = made(WEB3_PACKAGES)
        except UnavailableError as why:
            missing["web3.py"] = _first_line(why)
        else:
            theirs["web3.py"] = undo.enter_context(web3_process(folder, ca_file, _HERE / "web3_peer.py"))
        register_names(chain, local.ccip, local.gateway_account, f"https://{HOST}:{edge.port}")
        command = (sys.executable, "-m", "benchmarks.ens_client")
        our = undo.enter_context(AnsweringProcess(command, _HERE.parent, {"PYTHONPATH": ""}))
        for urls in ((url,), (url, url)):
            our.call("ens.open", urls, str(ca_file), edge.port)
        yield EnsClients((url, url), gateway, our, theirs, missing, effort)


def _first_line(why: UnavailableError) -> str:
    return str(why).partition("\n")[0]
