"""The list of mutants: patches in this folder, with what each breaks, who is affected, and the tests to run first."""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]
AREAS = (
    "inbox", "worker", "register", "dnssec", "acknowledge", "compact", "dcp", "endpoints", "chats", "media",
    "connections",
)  # fmt: skip
_TABLE = FOLDER / "mutants.toml"
_PATCHED = re.compile(r"^\+\+\+ b/(.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Mutant:
    """A mutant. `name`: of its patch. `tests`: the paths of its module's tests, from the root of the checkout."""

    name: str
    area: str
    tests: tuple[str, ...]

    @property
    def patch(self) -> Path:
        """A unified diff against the root of the checkout, after some lines of text."""
        return FOLDER / f"{self.name}.patch"

    @property
    def breaks(self) -> str:
        """What the patch breaks."""
        return self._said[0]

    @property
    def hurt(self) -> str:
        """Who is affected, and how."""
        return self._said[1].removeprefix("Hurt: ")

    @property
    def patched(self) -> list[str]:
        """The files that the patch changes."""
        return _PATCHED.findall(self.patch.read_text(encoding="utf-8"))

    @property
    def _said(self) -> list[str]:
        return self.patch.read_text(encoding="utf-8").partition("\n\n")[0].split("\n")


def mutants() -> list[Mutant]:
    """All mutants of the table, in its order."""
    table = tomllib.loads(_TABLE.read_text(encoding="utf-8"))
    return [Mutant(name, row["area"], tuple(row["tests"])) for name, row in table.items()]
