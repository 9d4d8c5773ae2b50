"""The output of a build below build/, which is made again only if one of its inputs has changed."""

import fcntl
import hashlib
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

_INPUTS = ("template.yaml", "samconfig.toml", "functions", "glue_jobs", "layers", "requirements-sam.lock")
_OF_TOOLS = ("__pycache__", ".egg-info")
"""The endings of folders that are made beside the sources, and that the build leaves out."""


def inputs_of(root: Path, *more: str) -> str:
    """A digest of what `sam build` reads in a checkout, and of more texts."""
    digest = hashlib.sha256(repr(more).encode())
    for path in sorted(path for name in _INPUTS for path in _files(root / name)):
        digest.update(f"{path.relative_to(root)}\0{path.stat().st_size}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def _files(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
    elif not path.name.endswith(_OF_TOOLS):
        for each in path.iterdir():
            yield from _files(each)


@contextmanager
def kept(folder: Path, inputs: str, make: Callable[[Path], object]) -> Iterator[Path]:
    """A folder that `make` has filled with the output for these inputs, now or in an earlier run.

    Within the block, no other process makes it again.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    made_from = folder.with_name(f"{folder.name}.inputs")
    with folder.with_name(f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made_from.exists() or made_from.read_text(encoding="utf-8") != inputs:
            made_from.unlink(missing_ok=True)
            shutil.rmtree(folder, ignore_errors=True)
            make(folder)
            made_from.write_text(inputs, encoding="utf-8")
        yield folder
