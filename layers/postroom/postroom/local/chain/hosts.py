"""The hosts of the local chain at the edge: of its JSON-RPC, and of its gateways, which a zone of the stack has."""

from typing import Final

from postroom.local.ports import HOST

ZONE: Final = "chain.example"
CCIP_HOST: Final = f"ccip.{ZONE}"
IPFS_HOST: Final = f"ipfs.{ZONE}"
IPFS_GATEWAY: Final = f"https://{IPFS_HOST}"
CCIP_URL: Final = f"https://{CCIP_HOST}/{{sender}}/{{data}}.json"
"""The gateway of off-chain names, as a contract has it."""
ZONE_TEXT: Final = f"ccip IN A {HOST}\nipfs IN A {HOST}\n"
RPC_HOSTS: Final = ("localhost", HOST)
"""Endpoints are found as a machine finds hosts, not by the stack's DNS."""


def chain_endpoints(port: int) -> tuple[str, ...]:
    """The URLs of JSON-RPC at an edge with this port. They lead to one chain: only their hosts differ."""
    return tuple(f"https://{host}:{port}/" for host in RPC_HOSTS)
