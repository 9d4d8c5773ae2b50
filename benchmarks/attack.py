"""An attack of the benchmark `hostile`, and how long honest users wait beside it, with all bounds or without one."""

import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread
from typing import Final

from benchmarks.harness import MISSED, TINY, Effort, marked
from benchmarks.lambdas import unheard
from benchmarks.office import DISCARD, USERS, Office, open_offices, visits

from postroom.local.emulator import Processes

MOST: Final = 2.0
"""The most times its quiet duration that something honest may take beside an attack."""
STRANGER_SECONDS: Final = 10.0
"""The longest that honest strangers may wait on average, beside an attack; and others, in the starting rounds, in
which strangers may wait twice as long."""
STRANGERS: Final = ("new sender", DISCARD)
"""The honest users of whom a post office knows no more than of those who attack it."""
ROUNDS: Final = 16
STARTING_ROUNDS: Final = 2
"""The first rounds beside an attack, in which the office's functions start."""
ROOT: Final = Path(__file__).parent.parent
_DEPLOYED: Final = ("template.yaml", "functions", "layers", "glue_jobs")


@dataclass(frozen=True, slots=True)
class Edit:
    """A change of deployed code that takes a bound away. Raises ValueError where the code is another."""

    path: str
    old: str
    new: str

    def apply(self, root: Path) -> None:
        """Change the copy at `root`."""
        file = root / self.path
        text = file.read_text(encoding="utf-8")
        if text.count(self.old) != 1:
            raise ValueError(f"{self.path} has {text.count(self.old)} times {self.old!r}")
        file.write_text(text.replace(self.old, self.new), encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Attack:
    """An attack. `act`: one request of it, with its number, `a_second` times a second, and at most `at_once` at
    the same time.

    `prepare`: what there is before it; `during`: what there is while it goes on. `bounds`: those of ours that are taken
    away, each by its edits, to see whether the benchmark sees it. `parameters`: of the template; `http_processes`: of
    each function that no queue feeds; `first_seconds`: for how long it goes on before honest users come.
    """

    attack: str
    bounds: Mapping[str, tuple[Edit, ...]]
    act: Callable[[Office, int], object]
    a_second: float
    prepare: Callable[[Office], object] = lambda _: None
    during: Callable[[Office, ExitStack], object] = lambda _office, _stack: None
    at_once: int = 24
    parameters: Mapping[str, str] = field(default_factory=dict)
    http_processes: int = 16
    first_seconds: float = 3.0

    def row(self, effort: Effort) -> tuple[str, ...]:
        """The row of the table: how many times as long each honest user waits; of strangers, the seconds."""
        return self.attack, *(waits.cell() for waits in self.measure(effort))

    def is_seen(self, bound: str, effort: Effort) -> bool:
        """Whether a user waits too long without a bound, and only while the office of this user is attacked."""
        with tempfile.TemporaryDirectory(prefix="postroom-broken-") as copy:
            root = Path(copy)
            for name in _DEPLOYED:
                source = ROOT / name
                _ = shutil.copytree(source, root / name) if source.is_dir() else shutil.copy(source, root / name)
            for edit in self.bounds[bound]:
                edit.apply(root)
            waits = self.measure(effort, root / "template.yaml", until_missed=True)
            return all(each.are_short_in_quiet for each in waits) and not all(each.are_short for each in waits)

    def measure(
        self, effort: Effort, template: Path = ROOT / "template.yaml", *, until_missed: bool = False
    ) -> list["Waits"]:
        """How long the honest users of an office wait, in their order: beside the same attack on another one, which
        shares the machine with it, and beside the attack on theirs, when the queues of the other one have been emptied.
        `until_missed`: only until a goal is missed."""
        processes = Processes(queue=4, http=self.http_processes)
        starting, rounds = (0, 1) if effort == TINY else (STARTING_ROUNDS, ROUNDS)
        newcomers = 2 * (starting + rounds) + 1
        with unheard(), open_offices(template, newcomers, self.parameters, processes) as (office, other):
            self.prepare(office)
            self.prepare(other)
            visits(office, 1)  # the functions start, and the proven sender is proven
            with ExitStack() as undo:
                self.during(office, undo)
                with _attacking(self, other):
                    _ = visits(office, starting)
                    quiet = visits(office, rounds)
                goals = {user: _goal(user, quiet[user]) for user in USERS if until_missed}
                other.forget_queued()  # or the machine would go on with what two attacks sent
                goals_at_first = {user: _goal_at_first(user) for user in goals}
                with _attacking(self, office):
                    first = visits(office, starting, goals_at_first)
                    is_missed = any(first[user] > most for user, most in goals_at_first.items())
                    beside = first if is_missed else visits(office, rounds, goals)
        return [Waits(user, quiet[user], beside[user], first[user]) for user in USERS]


def _goal(user: str, quiet: float) -> float:
    """The longest that a user may wait beside an attack, in seconds."""
    return STRANGER_SECONDS if user in STRANGERS else MOST * quiet


def _goal_at_first(user: str) -> float:
    """The longest that a user may wait in the starting rounds, in seconds."""
    return MOST * STRANGER_SECONDS if user in STRANGERS else STRANGER_SECONDS


@dataclass(frozen=True, slots=True)
class Waits:
    """How long a user waits, on average, in seconds: `quiet`, `beside` the attack, and `first`, when it begins."""

    user: str
    quiet: float
    beside: float
    first: float

    @property
    def are_short(self) -> bool:
        """Whether the goals are reached."""
        return self.beside <= _goal(self.user, self.quiet) and self._is_short_at_first

    @property
    def are_short_in_quiet(self) -> bool:
        """Whether the user waits for no longer than a stranger may while another office is attacked."""
        return self.quiet <= STRANGER_SECONDS

    @property
    def _is_short_at_first(self) -> bool:
        return self.first <= _goal_at_first(self.user)

    def cell(self) -> str:
        """The cell of a table."""
        if not self._is_short_at_first:
            return f"{MISSED} {self.first:.2f} s at first"
        if self.user in STRANGERS:
            return f"{'' if self.are_short else f'{MISSED} '}{self.beside:.2f} s"
        return marked(self.beside / self.quiet, reached=self.are_short)


@contextmanager
def _attacking(attack: Attack, office: Office) -> Iterator[None]:
    """The attack goes on for as long as the context."""
    over = Event()
    with ThreadPoolExecutor(attack.at_once) as pool:

        def go_on() -> None:
            number = 0
            while not over.wait(1 / attack.a_second):
                number += 1
                pool.submit(_suppressed, attack.act, office, number)

        attacker = Thread(target=go_on)
        attacker.start()
        over.wait(attack.first_seconds)
        try:
            yield
        finally:
            over.set()
            attacker.join()
            pool.shutdown(cancel_futures=True)


def _suppressed(act: Callable[[Office, int], object], office: Office, number: int) -> None:
    with suppress(Exception):  # what an attacker is answered is not of interest
        act(office, number)
