"""web3.py (PyPI), in a folder of its own: its packages are of other versions than ours."""

import os
import sys
from pathlib import Path
from typing import Final

from tests.peers.answering import AnsweringProcess
from tests.peers.made import Recipe
from tests.peers.node import required

ROOT: Final = Path(__file__).parents[3]
PROGRAM: Final = Path(__file__).parent / "web3_peer.py"
_LOCK: Final = "requirements-web3.lock"
_FOLDER: Final = "packages"
_PYTHON: Final = "{}.{}".format(*sys.version_info)
_OPTIONS: Final = ("--quiet", "--disable-pip-version-check", "--require-hashes", "--no-deps", "--no-compile")
PACKAGES: Final = Recipe(
    f"peers-web3-{_PYTHON}",
    ROOT,
    (_LOCK,),
    (),
    (sys.executable, "-m", "pip", "install", *_OPTIONS, "--target", _FOLDER, "--requirement", _LOCK),
    seconds=1200,
)


def web3_installed() -> Path:
    """The folder of the packages."""
    return required(PACKAGES, "web3.py")


def web3_process(folder: Path, ca_file: Path, program: Path = PROGRAM) -> AnsweringProcess:
    """A process with the packages in `folder`, and with nothing of this environment's. `ca_file`: PEM."""
    path = os.pathsep.join([str(folder / _FOLDER), str(ROOT)])
    environment = {"PYTHONPATH": path, "REQUESTS_CA_BUNDLE": str(ca_file)}
    return AnsweringProcess((sys.executable, "-S", str(program)), folder, environment)
