"""Ethereum behind the edge of a local stack: JSON-RPC at two hosts, and the hosts of its gateways."""

from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from typing import Final

from postroom.local.chain.accounts import ChainAccount
from postroom.local.chain.ccip_gateway import CcipGateway
from postroom.local.chain.ens_names import LocalEns, ens_accounts
from postroom.local.chain.evm import LocalChain
from postroom.local.chain.ipfs_gateway import IpfsGateway
from postroom.local.chain.json_rpc import answer_json_rpc
from postroom.local.chain.transaction_file import TransactionFile
from postroom.local.edge import Edge
from postroom.local.gateway import GatewayRequest, GatewayResponse
from postroom.local.ports import HOST

ZONE: Final = "chain.example"
CCIP_HOST: Final = f"ccip.{ZONE}"
IPFS_HOST: Final = f"ipfs.{ZONE}"
CCIP_URL: Final = f"https://{CCIP_HOST}/{{sender}}/{{data}}.json"
# Endpoints are found as the machine finds hosts, not by the stack's DNS.
_RPC_HOSTS: Final = ("localhost", HOST)


class LocalEthereum:
    """A chain with ENS, and gateways. `clock`: seconds since the epoch; `kept`: the file of its transactions."""

    def __init__(self, clock: Callable[[], float], kept: Path | None = None) -> None:
        owner = ChainAccount.of_label("owner")
        self.gateway_account = ChainAccount.of_label("gateway")
        self.chain = LocalChain(ens_accounts(owner), clock, TransactionFile(kept) if kept else None)
        self.ens = LocalEns(self.chain, owner)
        self.ccip = CcipGateway(self.gateway_account, clock)
        self.ipfs = IpfsGateway()

    def serve(self, edge: Edge) -> None:
        """Answer at the edge from now on."""
        for host in _RPC_HOSTS:
            edge.serve_handler(host, self.answer_json_rpc)
        edge.serve_handler(CCIP_HOST, self.ccip)
        edge.serve_handler(IPFS_HOST, self.ipfs)

    def answer_json_rpc(self, request: GatewayRequest) -> GatewayResponse:
        """Answer a POST of JSON-RPC."""
        body = answer_json_rpc(self.chain, request.body)
        return GatewayResponse(HTTPStatus.OK, (("content-type", "application/json"),), body)

    @staticmethod
    def endpoints(port: int) -> tuple[str, ...]:
        """The URLs of JSON-RPC at an edge with this port. They lead to one chain: as two, only their hosts differ."""
        return tuple(f"https://{host}:{port}/" for host in _RPC_HOSTS)
