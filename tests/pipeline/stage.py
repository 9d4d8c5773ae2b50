"""A scheduler for several actors, which make their AWS calls one at a time, in an order that a test chooses.

One step of an actor is one AWS call, as in the model of the protocol. Before each call an actor waits for its turn. It
may also die there, or after the effect of the call, before it gets the answer.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from threading import Semaphore, Thread

from tests.aws import Gate

Choose = Callable[[int], int]
"""Chooses one of a number of options."""


class Died(BaseException):
    """Ends an actor; no code may catch it."""


class Actor:
    """A thread that makes one step at a time."""

    def __init__(self, name: str, run: Callable[[], object]) -> None:
        self.name, self._run = name, run
        self.error: BaseException | None = None
        self.ended = False
        self._may_go, self._stopped = Semaphore(0), Semaphore(0)
        self._order = ""
        self._thread = Thread(target=self._play, daemon=True)
        self.called: list[str] = []

    @property
    def died(self) -> bool:
        return isinstance(self.error, Died)

    def start(self) -> None:
        """Run up to the first call."""
        self._thread.start()
        self._stopped.acquire()

    def step(self, order: str) -> None:
        """Make the pending call (`go`, `die before` or `die after` it), and run up to the next."""
        self._order = order
        self._may_go.release()
        self._stopped.acquire()

    @contextmanager
    def gate(self, operation: str) -> Iterator[None]:
        self._stopped.release()
        self._may_go.acquire()
        if self._order == "die before":
            raise Died
        self.called.append(operation)
        yield
        if self._order == "die after":
            raise Died

    def _play(self) -> None:
        try:
            self._run()
        except BaseException as error:
            self.error = error
        self.ended = True
        self._stopped.release()


class Stage:
    """Plays actors in one schedule."""

    def __init__(self, choose: Choose, *, deaths: int = 0) -> None:
        self._choose, self._deaths = choose, deaths
        self.actors: list[Actor] = []
        self.story: list[str] = []

    def enter(self, name: str, run: Callable[[], object]) -> Actor:
        """Add an actor; the calls of its clients must pass its `gate`."""
        self.actors.append(Actor(name, run))
        return self.actors[-1]

    def play(self, after_each_step: Callable[[], object]) -> None:
        """Run all actors to the end. Raises what an actor raised, unless it died."""
        for actor in self.actors:
            actor.start()
        while waiting := [actor for actor in self.actors if not actor.ended]:
            options = [(actor, "go") for actor in waiting]
            if self._deaths:
                options += [(actor, order) for actor in waiting for order in ("die before", "die after")]
            actor, order = options[self._choose(len(options))]
            self._deaths -= order != "go"
            actor.step(order)
            self.story.append(f"{actor.name} {order} {actor.called[-1:]}")
            after_each_step()
        for actor in self.actors:
            if actor.error is not None and not actor.died:
                raise actor.error


def gate_of(find: Callable[[], Actor | None]) -> Gate:
    """The gate of the current actor; open if there is none."""

    def gate(operation: str) -> AbstractContextManager[object]:
        actor = find()
        return actor.gate(operation) if actor else _open()

    return gate


@contextmanager
def _open() -> Iterator[None]:
    yield


def all_schedules(play: Callable[[Choose], object], first: int | None = None) -> int:
    """Call `play` once for each schedule, or for each that begins with this choice; returns their number."""
    fixed = 0 if first is None else 1
    prefix: list[int] = [] if first is None else [first]
    played = 0
    while True:
        taken: list[tuple[int, int]] = []

        def choose(options: int, prefix: Sequence[int] = tuple(prefix), taken: list[tuple[int, int]] = taken) -> int:
            choice = prefix[len(taken)] if len(taken) < len(prefix) else 0
            taken.append((choice, options))
            return choice

        play(choose)
        played += 1
        while len(taken) > fixed and taken[-1][0] + 1 == taken[-1][1]:
            taken.pop()
        if len(taken) == fixed:
            return played
        prefix = [choice for choice, _ in taken[:-1]] + [taken[-1][0] + 1]
