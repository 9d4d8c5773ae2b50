"""Ethereum behind the edge of a local stack: JSON-RPC at two hosts, and the hosts of its gateways."""

from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from typing import Final

from postroom.local.chain.accounts import ChainAccount
from postroom.local.chain.ccip_gateway import CcipGateway
from postroom.local.chain.ens_names import OWNER, LocalEns, ens_accounts
from postroom.local.chain.evm import LocalChain
from postroom.local.chain.hosts import CCIP_HOST, IPFS_HOST, RPC_HOSTS
from postroom.local.chain.ipfs_gateway import IpfsGateway
from postroom.local.chain.json_rpc import answer_json_rpc
from postroom.local.chain.transaction_file import TransactionFile
from postroom.local.edge import Edge
from postroom.local.gateway import GatewayRequest, GatewayResponse

_TRANSACTIONS: Final = "chain.jsonl"
_FILES: Final = "ipfs"


class LocalEthereum:
    """A chain with ENS, and gateways.

    `clock`: seconds since the epoch; `folder`: where its transactions and the files of IPFS are kept.
    """

    def __init__(self, clock: Callable[[], float], folder: Path | None = None) -> None:
        owner = ChainAccount.of_label(OWNER)
        self.gateway_account = ChainAccount.of_label("gateway")
        self.chain = LocalChain(ens_accounts(owner), clock, TransactionFile(folder / _TRANSACTIONS) if folder else None)
        self.ens = LocalEns(self.chain, owner)
        self.ccip = CcipGateway(self.gateway_account, clock)
        self.ipfs = IpfsGateway(folder / _FILES if folder else None)

    def serve(self, edge: Edge) -> None:
        """Answer at the edge from now on."""
        for host in RPC_HOSTS:
            edge.serve_handler(host, self.answer_json_rpc)
        edge.serve_handler(CCIP_HOST, self.ccip)
        edge.serve_handler(IPFS_HOST, self.ipfs)

    def answer_json_rpc(self, request: GatewayRequest) -> GatewayResponse:
        """Answer a POST of JSON-RPC."""
        body = answer_json_rpc(self.chain, request.body)
        return GatewayResponse(HTTPStatus.OK, (("content-type", "application/json"),), body)
