"""dm3's reference libraries (npm)."""

from pathlib import Path
from typing import Final

from tests.peers.node import packages

HERE: Final = Path(__file__).parent
PACKAGES: Final = packages("peers-dm3", HERE)
PROGRAM: Final = HERE / "peer.js"
