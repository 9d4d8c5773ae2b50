"""A Go program that reads and makes payloads of Status, built once for each state of its sources."""

from pathlib import Path
from typing import Final

from tests.peers.answering import AnsweringProcess
from tests.peers.made import Recipe

_HERE: Final = Path(__file__).parent
_SOURCES: Final = ("main.go", "wrapper.go", "event.go", "fields.go", "payloads/payloads.pb.go")
PROGRAM: Final = Recipe(
    "peers-status",
    _HERE,
    ("go.mod", "go.sum", *_SOURCES),
    # go-ethereum recovers keys in C. Without a compiler, Go would leave that out, and the program would not build.
    ("go", "gcc"),
    ("go", "build", "-buildvcs=false", "-mod=readonly", "-trimpath", "-o", "peer", "."),
    seconds=1200,
)


def go_process(folder: Path) -> AnsweringProcess:
    """A process of the program that was built in `folder`."""
    return AnsweringProcess((str(folder / "peer"),), folder, {})
