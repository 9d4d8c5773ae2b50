"""Installation of other software by its package manager, once for each state of its sources."""

import fcntl
import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

BUILD = Path(__file__).parents[2] / "build"


class UnavailableError(Exception):
    """The software is not available here: a tool is missing, or the package manager failed (with its output)."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """A build: the source `files` in `home`, the required `tools`, the command, and its maximum seconds."""

    name: str
    home: Path
    files: tuple[str, ...]
    tools: tuple[str, ...]
    command: tuple[str, ...]
    seconds: int


def made(recipe: Recipe) -> Path:
    """The folder below build/ with a copy of the files, in which the command has succeeded.

    Raises UnavailableError, also if the command takes too long.
    """
    missing = [tool for tool in recipe.tools if shutil.which(tool) is None]
    if missing:
        raise UnavailableError(f"{' and '.join(missing)} not found")
    build = BUILD / recipe.name
    build.mkdir(parents=True, exist_ok=True)
    folder = build / _state_of(recipe)
    with _alone(build), tempfile.TemporaryDirectory(dir=build) as scratch:
        if not folder.exists():
            new = Path(scratch, "new")
            for name in recipe.files:
                (new / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(recipe.home / name, new / name)
            _run(recipe, new)
            new.rename(folder)
    return folder


def _state_of(recipe: Recipe) -> str:
    digest = hashlib.sha256()
    for name in recipe.files:
        digest.update(f"{name}\0".encode() + (recipe.home / name).read_bytes() + b"\0")
    return digest.hexdigest()[:16]


@contextmanager
def _alone(build: Path) -> Iterator[None]:
    """A lock, because several processes of pytest-xdist may build at the same time."""
    with (build / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _run(recipe: Recipe, folder: Path) -> None:
    said = " ".join(recipe.command)
    try:
        done = subprocess.run(
            recipe.command, cwd=folder, capture_output=True, text=True, timeout=recipe.seconds, check=False
        )
    except subprocess.TimeoutExpired:
        raise UnavailableError(f"{said} took more than {recipe.seconds} s") from None
    if done.returncode:
        raise UnavailableError(f"{said}: {done.stderr.strip()}")
