"""The inputs of tests: every file of the checkout that they can reach, and a digest of these.

A module reaches the modules that it imports, anywhere in it, and those that it names in a string. It reaches the files
beside it that are not Python, and the entries of the checkout's root, or of `tests`, that it names in a string, with
all that is below them. Tests that start a process reach the whole library, the functions and the jobs: what the process
imports is not followed. This reaches too much rather than too little, and a missed file only delays a new proof.
"""

import hashlib
import re
import subprocess
from collections.abc import Callable, Iterable, Iterator
from functools import cache, cached_property
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[2]
RECORD = "tests/proof.json"
"""The record of the proof."""
_NO_INPUTS = {RECORD, "tests/durations.json"}
"""The second one decides in which order tests run, and nothing else."""
LIBRARY = "layers/postroom/"
_UNTRACKED = re.compile(r"\.|__pycache__$|build$")
_ALWAYS = re.compile(r"pyproject\.toml|requirements[^/]*\.lock")
_STARTED = ("layers", "functions", "glue_jobs", "events", "template.yaml")
_IMPORTED = re.compile(r"^\s*from\s+([\w.]+)\s+import\s+(\([^)]*\)|.*)|^\s*import\s+([\w., ]+)", re.MULTILINE)
_NAMED = re.compile(r"[\"']([\w./-]+)[\"']")
_STARTS = re.compile(r"^(?:import|from) subprocess\b", re.MULTILINE)


class Checkout:
    """A checkout, as it is in its working tree. Files are named by their paths from its root."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._reached = cache(self._reached_by)

    def commit(self) -> str:
        """The hash of the commit that is checked out."""
        return self._git("rev-parse", "HEAD").strip()

    def changes(self) -> list[str]:
        """The files that differ from the commit, and new modules; without the record."""
        said = self._git("status", "--porcelain", "--untracked-files=all", "--no-renames").splitlines()
        changed = [line[3:] for line in said if not line.startswith("??") or line.endswith(".py")]
        return [path for path in changed if path != RECORD]

    def changed_since(self, commit: str) -> set[str] | None:
        """The files that differ from those of a commit, or None if its history is not here."""
        try:
            return set(self._git("diff", "--name-only", "--no-renames", commit).splitlines()) - {RECORD}
        except (subprocess.CalledProcessError, FileNotFoundError):
            return None

    @cached_property
    def files(self) -> frozenset[str]:
        """The tracked files that can be inputs; without git, all files that are not hidden or compiled."""
        try:
            files = set(filter(None, self._git("ls-files", "-z").split("\0")))
        except (subprocess.CalledProcessError, FileNotFoundError):
            found = (path.relative_to(self.root) for path in self.root.rglob("*") if path.is_file())
            files = {str(path) for path in found if not any(_UNTRACKED.match(part) for part in path.parts)}
        return frozenset(files) - _NO_INPUTS

    def reached(self, starts: Iterable[str], *, through: Callable[[str], bool] = lambda _: True) -> set[str]:
        """The files that these files and folders can reach, with themselves; nothing: all files.

        `through`: whether what a file reaches is followed.
        """
        found: set[str] = set()
        left = [path for start in starts for path in self._below(start)] or list(self.files)
        left += [path for path in self.files if _ALWAYS.fullmatch(path)]
        while left:
            path = left.pop()
            if path not in found:
                found.add(path)
                left += self._reached(path) if through(path) else ()
        return found

    def digest(self, starts: Iterable[str]) -> str:
        """A digest of the names and contents of what these files and folders can reach."""
        hashed = hashlib.sha256()
        for path in sorted(self.reached(starts)):
            if (self.root / path).is_file():
                hashed.update(f"{path} {hashlib.sha256((self.root / path).read_bytes()).hexdigest()}\n".encode())
        return hashed.hexdigest()[:16]

    def _reached_by(self, path: str) -> frozenset[str]:
        """The files that one file reaches itself."""
        if not path.endswith(".py") or not (self.root / path).is_file():
            return frozenset()
        text = (self.root / path).read_text(encoding="utf-8")
        found = {file for name in _modules(text) for file in self._module(name)}
        named = set(_NAMED.findall(text)) - {"tests"}
        if not path.startswith(LIBRARY):
            named |= set(_STARTED) if _STARTS.search(text) else set()
            found |= {f"{folder}/conftest.py" for folder in PurePosixPath(path).parents} & self.files
            found |= {file for file in self._below(str(PurePosixPath(path).parent)) if not file.endswith(".py")}
        found |= {file for name in named for entry in (name, f"tests/{name}") for file in self._entry(entry)}
        return frozenset(found)

    def _entry(self, entry: str) -> list[str]:
        """What is below an entry of the root, or of `tests` if there is no Python in it."""
        below = self._below(entry) if entry.count("/") == entry.startswith("tests/") else []
        return [] if entry.startswith("tests/") and any(file.endswith(".py") for file in below) else below

    def _module(self, name: str) -> Iterator[str]:
        """The files of a module, and of the packages that it is in."""
        parts = name.split(".")
        for end in range(1, len(parts) + 1):
            for folder in ("", LIBRARY):
                path = folder + "/".join(parts[:end])
                yield from {f"{path}.py", f"{path}/__init__.py"} & self.files

    def _below(self, entry: str) -> list[str]:
        if entry in self.files:
            return [entry]
        return self._by_folder.get(entry, [])

    @cached_property
    def _by_folder(self) -> dict[str, list[str]]:
        """The files below each folder; of `tests` only its own ones, or each of its modules would reach all tests."""
        below: dict[str, list[str]] = {}
        for path in map(PurePosixPath, self.files):
            for folder in path.parents[:-1]:
                if str(folder) != "tests" or folder == path.parent:
                    below.setdefault(str(folder), []).append(str(path))
        return below

    def _git(self, *arguments: str) -> str:
        return subprocess.run(
            ["git", *arguments], cwd=self.root, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True
        ).stdout


def _modules(text: str) -> Iterator[str]:
    """The names of modules in a Python file, and some that are none."""
    for module, names, modules in _IMPORTED.findall(text):
        if module:
            yield from (f"{module}.{name}" for name in re.findall(r"\w+", names.partition("#")[0] or names))
        yield from re.findall(r"[\w.]+", modules)
    yield from (name for name in _NAMED.findall(text) if "." in name and "/" not in name)
