"""The test of a mutant: it is put into a copy of the checkout, and tests run there until one fails."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory
from typing import NamedTuple, TypeVar

from tests.mutants.listed import FOLDER, ROOT, Mutant

M = TypeVar("M")
R = TypeVar("R")

LIBRARY = Path("layers", "postroom")
_ENVIRONMENTS = (".venv", ".venv-sam", ".venv-protos")
# What faulthandler prints of a test that takes too long, if it has a limit: a mutant may make it wait without end.
_ENDLESS = re.compile(r'^  File ".*?(tests/[^"]*)", line \d+ in (test_\w+)', re.MULTILINE)
_FAILED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)
_CONFTEST = re.compile(r"^ImportError while loading conftest '.*?(tests/\S+)'", re.MULTILINE)
_PASSED, _TESTS_FAILED, _INTERRUPTED, _USAGE, _NOTHING_TO_RUN = 0, 1, 2, 4, 5
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
        with self._changed(mutant.patched, lambda: self._patch(mutant)):
            found = self._first_failure([[*options, *chosen] for chosen in (first, others)])
        return self._confirmed(found, options)

    def play_code(self, path: str, code: str, runs: Sequence[Sequence[str]], options: Sequence[str]) -> Result:
        """Run tests with other code in a module, run after run, until one fails. Raises UndecidedError."""
        with self._changed([path], lambda: (self.root / path).write_text(code, encoding="utf-8")):
            found = self._first_failure([[*options, *chosen] for chosen in runs])
        return self._confirmed(found, options)

    def _first_failure(self, runs: Sequence[Sequence[str]]) -> Result:
        seconds = 0.0
        for run in runs:
            by, took = self._test(run)
            seconds += took
            if by:
                return Result(by, round(seconds, 1))
        return Result("", round(seconds, 1))

    def _confirmed(self, found: Result, options: Sequence[str]) -> Result:
        if found.by and (still := self._test([*options, found.by])[0]):
            raise UndecidedError(f"{still} fails without the mutant, too")
        return found

    @contextmanager
    def _changed(self, paths: Sequence[str], change: Callable[[], object]) -> Iterator[None]:
        before = {path: (self.root / path).read_bytes() for path in paths}
        try:
            change()
            if before == {path: (self.root / path).read_bytes() for path in paths}:
                raise RuntimeError(f"nothing changed in {', '.join(paths)}")
            self._forget(paths)
            self._check_import(paths)
            yield
        finally:
            for path, content in before.items():
                (self.root / path).write_bytes(content)
            self._forget(paths)

    def _patch(self, mutant: Mutant) -> None:
        subprocess.run(["git", "apply", mutant.patch], cwd=self.root, check=True)

    def _forget(self, paths: Sequence[str]) -> None:
        # Python compiles a module again only if its size, or the second of its modification, differs.
        for path in paths:
            for compiled in (self.root / path).parent.glob(f"__pycache__/{Path(path).stem}.*"):
                compiled.unlink()
        # Hypothesis would try the failing examples of one mutant first with the next one.
        shutil.rmtree(self.root / ".hypothesis", ignore_errors=True)

    def _check_import(self, paths: Sequence[str]) -> None:
        """Check that the modules are imported from the copy, although the environment has the library installed."""
        for path in paths:
            module = ".".join(Path(path).relative_to(LIBRARY).with_suffix("").parts)
            code = f"import importlib; print(importlib.import_module({module!r}).__file__)"
            done = subprocess.run(
                [sys.executable, "-c", code],
                cwd="/",
                env=self._environment,
                capture_output=True,
                text=True,
                check=False,
            )
            # A mutant that cannot be imported is one that tests find.
            if done.returncode == 0 and Path(done.stdout.strip()) != self.root / path:
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
        seconds = used.ru_utime + used.ru_stime
        if process.returncode in (_PASSED, _NOTHING_TO_RUN):
            return "", seconds
        if process.returncode in (_TESTS_FAILED, _INTERRUPTED, _USAGE):
            if found := _FAILED.search(text) or _CONFTEST.search(text):
                return found[1], seconds
            if "Timeout (" in text and (found := _ENDLESS.search(text)):
                return f"{found[1]}::{found[2]}", seconds
        raise UndecidedError(f"pytest ended with {process.returncode}:\n{text}")


def in_copies(checkout: Path, jobs: int, play: Callable[[Copy, M], R], mutants: Iterable[M]) -> list[R]:
    """What `play` returns for each mutant, `jobs` of them at the same time, each in a copy that no other one is in."""
    copies: SimpleQueue[Copy] = SimpleQueue()

    def play_in_a_copy(mutant: M) -> R:
        copy = copies.get()
        try:
            return play(copy, mutant)
        finally:
            copies.put(copy)

    with ExitStack() as stack:
        for _ in range(jobs):
            copies.put(stack.enter_context(copy_of(checkout)))
        pool = stack.enter_context(ThreadPoolExecutor(jobs))
        return list(pool.map(play_in_a_copy, mutants))


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
