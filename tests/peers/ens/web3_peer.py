"""web3.py, as published, behind lines of JSON, as peer.js has viem and ethers. It runs in an environment of its own."""

from ens import ENS
from tests.peers.lines import serve
from web3 import Web3


def ens_at(url: str) -> ENS:
    """The names on the chain behind an endpoint."""
    return ENS.from_web3(Web3(Web3.HTTPProvider(url)))


CLIENTS = {
    "web3.text": lambda url, name, key: ens_at(url).get_text(name, key),
    "web3.address": lambda url, name: ens_at(url).address(name),
}

if __name__ == "__main__":
    serve(CLIENTS)
