"""The requirements of pyproject.toml, and the distributions in the lock files."""

import re
import tomllib
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, requires
from itertools import product
from pathlib import Path
from typing import NamedTuple

from packaging.markers import Marker, default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
BASE: list[str] = PYPROJECT["project"]["dependencies"]
EXTRAS: dict[str, list[str]] = PYPROJECT["project"]["optional-dependencies"]
GROUPS: dict[str, list[str]] = PYPROJECT["dependency-groups"]
LOCK = ROOT / "requirements.lock"
LAYER_LOCK = ROOT / "layers" / "postroom" / "requirements.txt"

HERE = {key: str(value) for key, value in default_environment().items()}
# The lock files cover all supported Python versions and systems.
PYTHONS = ("3.11", "3.12", "3.13")
SYSTEMS = (
    ("linux", "Linux", "posix", "x86_64"),
    ("linux", "Linux", "posix", "aarch64"),
    ("darwin", "Darwin", "posix", "arm64"),
    ("win32", "Windows", "nt", "AMD64"),
)
ANYWHERE = [
    {
        **HERE, "python_version": python, "python_full_version": f"{python}.0", "sys_platform": system,
        "platform_system": called, "os_name": os_name, "platform_machine": machine,
    }
    for python, (system, called, os_name, machine) in product(PYTHONS, SYSTEMS)
]  # fmt: skip


class Pin(NamedTuple):
    """A line of a lock file. `marker`: its environments; empty: all."""

    name: str
    version: str
    marker: Marker | None

    @property
    def is_here(self) -> bool:
        return self.marker is None or self.marker.evaluate(HERE)


def pins(lock: Path) -> list[Pin]:
    """The lines of a lock file, in order; a distribution may have several, for different Python versions."""
    lines = re.findall(r"^(\S+)==(\S+)(?: ; (.+?))? \\$", lock.read_text(encoding="utf-8"), re.MULTILINE)
    return [Pin(name, version, Marker(marker) if marker else None) for name, version, marker in lines]


def closure(requirements: Iterable[str], environments: Iterable[dict[str, str]] = (HERE,)) -> set[str]:
    """The names of these distributions and all their dependencies, in any of the environments.

    Dependencies are read from installed metadata; a distribution that is not installed here counts as having none.
    """
    environments = list(environments)
    found: set[tuple[str, str]] = set()
    waiting = [(Requirement(text), "") for text in requirements]
    while waiting:
        requirement, extra = waiting.pop()
        if requirement.marker and not any(requirement.marker.evaluate({**e, "extra": extra}) for e in environments):
            continue
        name = canonicalize_name(requirement.name)
        for wanted in {"", *requirement.extras}:
            if (name, wanted) not in found:
                found.add((name, wanted))
                waiting += [(Requirement(text), wanted) for text in _requirements_of(name)]
    return {name for name, _ in found}


def _requirements_of(name: str) -> list[str]:
    try:
        return requires(name) or []
    except PackageNotFoundError:
        return []
