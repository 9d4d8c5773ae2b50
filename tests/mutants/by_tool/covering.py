"""The tests that run a line of the library, by the coverage of the quick tests."""

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Final

from coverage import CoverageData
from tests.mutants.by_tool.record import Fault
from tests.mutants.by_tool.sample import PACKAGES
from tests.mutants.listed import ROOT
from tests.schedule import durations, file_of
from tests.tiers import Tier

MEASURED: Final = ROOT / "build" / "mutants" / "coverage"
_FIRST_SECONDS: Final = 10.0
"""The tests that are played first take about so long."""
_PAGES: Final = {"tests/bounds.md": "tests/test_bounds.py"}
"""Pages with the names of constants, and the tests that write them with figures."""
_REASONS: Final = "tests/test_reasons.py"
"""The tests of all modules of this name, which name none."""
_ALL_SECONDS: Final = 60.0
"""All tests that are played for a fault; some lines are run by thousands."""


def measure() -> None:
    """Run the quick tests, and record which of them run which line, some 10 minutes. Tests may fail."""
    MEASURED.parent.mkdir(parents=True, exist_ok=True)
    MEASURED.unlink(missing_ok=True)
    command = [
        sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadgroup", "--tier", Tier.QUICK, "--tb=no",
        "--ignore=tests/mutants", "--ignore=tests/test_readme.py", "--cov-context=test", "--cov-report=",
        *(f"--cov=postroom.{package.replace('/', '.')}" for package in PACKAGES),
    ]  # fmt: skip
    subprocess.run(command, cwd=ROOT, env={**os.environ, "COVERAGE_FILE": str(MEASURED)}, check=False)


class Covering:
    """What was measured. Raises FileNotFoundError if nothing was."""

    def __init__(self) -> None:
        if not MEASURED.exists():
            raise FileNotFoundError(MEASURED)
        self._data = CoverageData(str(MEASURED))
        self._data.read()
        self._seconds = {path: seconds[0] for path, seconds in durations(Tier.QUICK).items()}

    def runs(self, fault: Fault) -> list[list[str]]:
        """The tests to play for a fault, as arguments of pytest: its module's own and short ones, then the others.

        Raises LookupError: its lines are not there any more, or no test runs them.
        """
        tests, folder = self._tests(fault), _folder_of_tests(fault)
        own = list(dict.fromkeys((*_own_tests(fault), *self._readers(fault), *_newer_than_measured(folder))))
        files = sorted(
            {file_of(test) for test in tests} - set(own),
            # pytest finds the fixtures of a folder only if nothing of a folder below comes first.
            key=lambda file: (not file.startswith(f"{folder}/"), file.count("/"), self._seconds_of(file)),
        )
        early, late = list(own), []
        for file, seconds in zip(files, accumulate(map(self._seconds_of, files)), strict=True):
            run = early if seconds <= _FIRST_SECONDS else late
            if seconds <= _ALL_SECONDS or not early + late:
                run += sorted(test for test in tests if file_of(test) == file)
        if not early + late:
            raise LookupError(f"no test runs line {self._line(fault)}")
        return [run for run in (early, late) if run]

    def _readers(self, fault: Fault) -> list[str]:
        """The test files that name a constant, or that read the page which names it."""
        lines, names = _statement(fault.path, self._line(fault))
        if self._of_lines(fault.path, lines):
            return []
        found = [
            path
            for path, text in _test_files().items()
            if fault.dotted in text and any(re.search(rf"\b{name}\b", text) for name in names)
        ]
        by_page = [_PAGES[path] for path in found if path in _PAGES]
        return sorted({*by_page, *(path for path in found if path.endswith(".py"))} - set(_own_tests(fault)))

    def _seconds_of(self, file: str) -> float:
        return self._seconds.get(file, 0.0)

    def _tests(self, fault: Fault) -> set[str]:
        """Test functions, without their parameters."""
        lines, names = _statement(fault.path, self._line(fault))
        found = self._of_lines(fault.path, lines)
        # It runs at import: the tests that run a line which uses what it defines.
        for name in [] if found else names:
            for path in self._measured():
                if path != fault.path and fault.dotted not in "\n".join(_lines(path)):
                    continue
                used = [line for line, text in enumerate(_lines(path), 1) if re.search(rf"\b{name}\b", text)]
                found |= self._of_lines(path, [line for each in used for line in _statement(path, each)[0]])
        return found

    def _line(self, fault: Fault) -> int:
        return fault.line_in("\n".join(_lines(fault.path)))

    def _of_lines(self, path: str, lines: Iterable[int]) -> set[str]:
        contexts = self._contexts(path)
        said = (context for line in lines for context in contexts.get(line, ()))
        # Without the phase of the test, the group that xdist adds, and the parameters.
        return {re.split(r"[\[@|]", context)[0] for context in said if context}

    @cache  # noqa: B019 - one object in a run
    def _contexts(self, path: str) -> dict[int, list[str]]:
        return self._data.contexts_by_lineno(str(ROOT / path))

    def _measured(self) -> Iterator[str]:
        for path in self._data.measured_files():
            yield str(Path(path).relative_to(ROOT))


@cache
def _test_files() -> dict[str, str]:
    paths = [*(ROOT / "tests").rglob("test_*.py"), *(ROOT / page for page in _PAGES)]
    return {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in paths}


def _own_tests(fault: Fault) -> list[str]:
    """The test file of the same name in the same package, if there is one."""
    name = Path(fault.module).stem
    path = _REASONS if name == "reasons" else f"{_folder_of_tests(fault)}/test_{name}.py"
    return [path] if (ROOT / path).exists() else []


def _folder_of_tests(fault: Fault) -> str:
    """The folder of the tests of its package, or of the nearest package above that has one."""
    folder = Path("tests", fault.package)
    while not (ROOT / folder).exists():
        folder = folder.parent
    return str(folder)


def _newer_than_measured(folder: str) -> list[str]:
    """The test files of a folder that changed since the measurement: their new tests are not in it."""
    since = MEASURED.stat().st_mtime
    return sorted(
        str(path.relative_to(ROOT)) for path in (ROOT / folder).glob("test_*.py") if path.stat().st_mtime > since
    )


@cache
def _lines(path: str) -> Sequence[str]:
    return (ROOT / path).read_text(encoding="utf-8").split("\n")


@cache
def _parsed(path: str) -> ast.Module:
    return ast.parse("\n".join(_lines(path)))


def _statement(path: str, line: int) -> tuple[range, list[str]]:
    """The lines of the innermost statement at a line, without those of its block; and the names that it defines."""
    around: Sequence[ast.stmt] = [
        node
        for node in ast.walk(_parsed(path))
        if isinstance(node, ast.stmt) and _first_line(node) <= line <= (node.end_lineno or 0)
    ]
    if not around:
        return range(line, line + 1), []
    inner = max(around, key=_first_line)
    block: Sequence[ast.stmt] = getattr(inner, "body", [])
    end = block[0].lineno if block and block[0].lineno > line else (inner.end_lineno or line) + 1
    return range(_first_line(inner), end), sorted(_defined(inner, around))


def _defined(inner: ast.stmt, around: Sequence[ast.stmt]) -> set[str]:
    """The names that a statement defines that runs at import; its function or, of a field, its class."""
    if any(isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) for node in around if node is not inner):
        return set()
    classes = {node.name for node in around if isinstance(node, ast.ClassDef)}
    if classes or isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
        return classes or {inner.name}
    return {node.id for node in ast.walk(inner) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}


def _first_line(node: ast.stmt) -> int:
    decorators: Sequence[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(each.lineno for each in decorators)])
