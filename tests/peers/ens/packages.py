"""Clients and contracts of ENS, and a node (npm)."""

import json
from pathlib import Path
from typing import Any, Final

from tests.peers.node import packages, required

HERE: Final = Path(__file__).parent
PACKAGES: Final = packages("peers-ens", HERE, "absent/package.json")
PROGRAM: Final = HERE / "peer.js"


def installed() -> Path:
    """The folder of the packages."""
    return required(PACKAGES, "clients and contracts of ENS")


def read_contract(folder: Path, path: str) -> dict[str, Any]:
    """A contract that somebody else compiled: `bytecode` and `deployedBytecode`."""
    contract: dict[str, Any] = json.loads((folder / "node_modules" / path).read_bytes())
    return contract
