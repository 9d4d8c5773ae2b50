"""The test of a mutant: its patch is applied to a copy of the checkout, and tests run there until one fails."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tests.mutants.listed import FOLDER, ROOT, Mutant

LIBRARY = Path("layers", "postroom")
_ENVIRONMENTS = (".venv", ".venv-sam", ".venv-protos")
_FAILED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)
_PASSED, _TESTS_FAILED, _INTERRUPTED, _NOTHING_TO_RUN = 0, 1, 2, 5
"""Exit codes of pytest; it is interrupted where a file of tests cannot even be imported."""


class Result(NamedTuple):
    """The result of a mutant. `by`: the test that found it; empty: none. `seconds`: of processor time until then."""

    by: str
    seconds: float


class UndecidedError(Exception):
    """It cannot be determined whether the tests find a mutant; the text has the reason."""


class Copy:
    """A copy of a checkout's tracked files, as they are in its working tree, with the same environment."""

    def __init__(self, root: Path) -> None:
        self.root = root
        path = os.pathsep.join([str(root / LIBRARY), *filter(None, [os.environ.get("PYTHONPATH")])])
        self._environment = {**os.environ, "PYTHONPATH": path}

    def play(self, mutant: Mutant, options: Sequence[str]) -> Result:
        """Run its module's tests, then all others, with these options of pytest. Raises UndecidedError."""
        first = [test for test in mutant.tests if (self.root / test).exists()]
        others = [f"--ignore={test}" for test in first]
        seconds = 0.0
        with self._applied(mutant):
            for chosen in (first, others):
                by, took = self._test([*options, *chosen])
                seconds += took
                if by:
                    break
        if by and (still := self._test([*options, by])[0]):
            raise UndecidedError(f"{still} fails without {mutant.name}, too")
        return Result(by, round(seconds, 1))

    @contextmanager
    def _applied(self, mutant: Mutant) -> Iterator[None]:
        self._patch(mutant)
        try:
            self._check_import(mutant)
            yield
        finally:
            self._patch(mutant, "--reverse")

    def _patch(self, mutant: Mutant, *options: str) -> None:
        before = [(self.root / path).read_bytes() for path in mutant.patched]
        subprocess.run(["git", "apply", *options, mutant.patch], cwd=self.root, check=True)
        if before == [(self.root / path).read_bytes() for path in mutant.patched]:
            raise RuntimeError(f"{mutant.name} changed nothing")
        # Python compiles a module again only if its size, or the second of its modification, differs.
        for path in mutant.patched:
            for compiled in (self.root / path).parent.glob(f"__pycache__/{Path(path).stem}.*"):
                compiled.unlink()
        # Hypothesis would try the failing examples of one mutant first with the next one.
        shutil.rmtree(self.root / ".hypothesis", ignore_errors=True)

    def _check_import(self, mutant: Mutant) -> None:
        """Check that the modules are imported from the copy, although the environment has the library installed."""
        for path in mutant.patched:
            module = ".".join(Path(path).relative_to(LIBRARY).with_suffix("").parts)
            code = f"import importlib; print(importlib.import_module({module!r}).__file__)"
            done = subprocess.run(
                [sys.executable, "-c", code], cwd="/", env=self._environment, capture_output=True, text=True, check=True
            )
            if Path(done.stdout.strip()) != self.root / path:
                raise RuntimeError(f"{done.stdout.strip()} is imported, not the mutant's {path}")

    def _test(self, arguments: Sequence[str]) -> tuple[str, float]:
        """The first test that fails, and the seconds of processor time that it took."""
        command = [
            sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-rfE", "--tb=no", "--color=no",
            f"--ignore={FOLDER.relative_to(ROOT)}", *arguments,
        ]  # fmt: skip
        with (
            TemporaryDirectory() as temporary,
            (Path(temporary) / "said").open("w+", encoding="utf-8") as said,
            subprocess.Popen(
                command, cwd=self.root, env=self._environment, stdout=said, stderr=subprocess.STDOUT
            ) as process,
        ):
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            said.seek(0)
            text = said.read()
        found = _FAILED.search(text)
        if process.returncode in (_TESTS_FAILED, _INTERRUPTED) and found:
            return found[1], used.ru_utime + used.ru_stime
        if process.returncode in (_PASSED, _NOTHING_TO_RUN):
            return "", used.ru_utime + used.ru_stime
        raise UndecidedError(f"pytest ended with {process.returncode}:\n{text}")


@contextmanager
def copy_of(checkout: Path) -> Iterator[Copy]:
    """A copy of a checkout within the context."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=checkout, capture_output=True, text=True, check=True)
    with TemporaryDirectory(prefix="mutants-") as temporary:
        root = Path(temporary).resolve()
        for name in filter(None, listed.stdout.split("\0")):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(checkout / name, root / name, follow_symlinks=False)
        for name in _ENVIRONMENTS:
            if (checkout / name).exists():
                (root / name).symlink_to((checkout / name).resolve())
        yield Copy(root)
