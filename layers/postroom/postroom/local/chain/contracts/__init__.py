"""Contracts of the local chain: their sources in Vyper, written from the EIPs and ENSIPs they name, and bytecode.

`registry` and `universal_resolver` stand at their addresses on mainnet from the first block on, and `public_resolver`
does, too: theirs is the bytecode that a chain has. That of the others is what a transaction deploys them with.
`python -m tests.local.chain.test_contracts` compiles them.
"""

from importlib.resources import files


def read_bytecode(contract: str) -> bytes:
    """The bytecode of a contract."""
    return bytes.fromhex((files(__name__) / f"{contract}.hex").read_text())
