"""The session of the terminal client: pulling mail, waiting for it, and doing what the user wants.

One thread uses `Chats`; another one only waits at the mailbox. None of them touches the screen: what they have is
handed to `show`, from their thread.
"""

import queue
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from postroom.cli.chat.terminal_client.chat_work import ChatWork, FinishedWork, WorkResult
from postroom.cli.chat.terminal_client.snapshot import ChatSnapshot, read_snapshot
from postroom.client.chat import Chats
from postroom.client.chat.watching import WaitingMail
from postroom.client.sending import SendOutcome
from postroom.core.errors import PostroomError
from postroom.protocols.status.verify import ChatRef

REST_SECONDS: Final = 15.0
"""After an error of the mailbox, before it is waited for again."""
PULL_SECONDS: Final = 60.0
"""Between pulls if no mail comes: what could not be sent is sent again, and what another device stored is shown."""


@dataclass(frozen=True, slots=True)
class PulledMail:
    """What is there after a pull, or without one. `status`: a sentence about what could not be done; empty: all was.

    `snapshot` None: the archive could not be read.
    """

    snapshot: ChatSnapshot | None
    status: str = ""


@dataclass(frozen=True, slots=True)
class BrokenSession:
    """An error that is none of those that a user can do something about: it ends the client."""

    error: BaseException


SessionEvent = FinishedWork | PulledMail | BrokenSession
ShowEvent = Callable[[SessionEvent], object]
ReadRequest = Callable[[], Mapping[ChatRef, int]]


class JobRunner(Protocol):
    """What runs jobs one after the other, in their order."""

    def submit(self, job: Callable[[], None]) -> None:
        """Run a job after those that were submitted before."""
        ...


class ThreadRunner:
    """Runs jobs in a thread of its own, which does not keep the process alive."""

    def __init__(self, name: str) -> None:
        self._jobs: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        threading.Thread(target=self._run, name=name, daemon=True).start()

    def submit(self, job: Callable[[], None]) -> None:
        """Run a job after those that were submitted before."""
        self._jobs.put(job)

    def _run(self) -> None:
        while True:
            self._jobs.get()()


class ChatSession:
    """The chats of one user and the mailbox, used by the jobs of `runner`; `waiter` only waits for mail.

    Each method takes `request`, which is called when a job is done and says how many messages of a chat are to be
    shown, and `show`, which is called with the event in the runner's thread.
    """

    def __init__(self, chats: Chats, mail: WaitingMail, runner: JobRunner, waiter: JobRunner) -> None:
        self._chats = chats
        self._mail = mail
        self._runner = runner
        self._waiter = waiter
        self._pulls = threading.Semaphore(1)

    def do(self, work: ChatWork, request: ReadRequest, show: ShowEvent) -> None:
        """Do something for the user."""
        self._submit(lambda: show(self._done(work, request)), show)

    def read(self, request: ReadRequest, show: ShowEvent) -> None:
        """Read what is shown."""
        self._submit(lambda: show(PulledMail(*self._snapshot(request))), show)

    def pull(self, request: ReadRequest, show: ShowEvent) -> None:
        """Bring mail, and send what waits. While a pull has not begun, another one is not needed."""
        if self._pulls.acquire(blocking=False):
            self._submit(lambda: show(self._pulled(request)), show)

    def wait_for_mail(self, request: ReadRequest, show: ShowEvent) -> None:
        """Pull whenever mail comes, for ever."""

        def wait() -> None:
            rest = threading.Event()
            while True:
                try:
                    for _ in self._mail.unread(wait=True):
                        self.pull(request, show)
                except PostroomError:
                    # A pull says what is wrong.
                    self.pull(request, show)
                rest.wait(REST_SECONDS)

        self._waiter.submit(wait)

    def _submit(self, job: Callable[[], object], show: ShowEvent) -> None:
        def run() -> None:
            try:
                job()
            except BaseException as error:
                show(BrokenSession(error))

        self._runner.submit(run)

    def _done(self, work: ChatWork, request: ReadRequest) -> FinishedWork:
        result, error = WorkResult(), ""
        try:
            result = work.run(self._chats)
        except (PostroomError, OSError, sqlite3.Error) as failure:
            error = _sentence(failure)
        return FinishedWork(work.number, result, error, *self._snapshot(request))

    def _snapshot(self, request: ReadRequest) -> tuple[ChatSnapshot | None, str]:
        """The snapshot; or None, and why the archive could not be read."""
        try:
            return read_snapshot(self._chats, request()), ""
        except (PostroomError, OSError, sqlite3.Error) as error:
            return None, str(error)

    def _pulled(self, request: ReadRequest) -> PulledMail:
        self._pulls.release()
        sentences = [*self._mail_brought(), *self._unsent_delivered()]
        snapshot, unread = self._snapshot(request)
        return PulledMail(snapshot, "; ".join([*sentences, *([unread] if unread else [])]))

    def _mail_brought(self) -> Iterator[str]:
        try:
            pulled = self._chats.pull(self._mail)
        except (PostroomError, OSError, sqlite3.Error) as error:
            yield str(error)
            return
        if pulled.left:
            yield f"{pulled.left.total()} messages wait in the mailbox: {', '.join(pulled.left)}"
        if pulled.unopened:
            yield f"{pulled.unopened} messages are encrypted to an older key"
        if pulled.damaged:
            yield "the archive is damaged: `postroom archive verify` shows all faults"

    def _unsent_delivered(self) -> Iterator[str]:
        try:
            deliveries = [*self._chats.deliver_due()]
        except (PostroomError, OSError, sqlite3.Error) as error:
            yield str(error)
            return
        waiting = dict.fromkeys(each.to for each in deliveries if each.outcome is SendOutcome.NOT_NOW)
        if waiting:
            yield f"not delivered yet: {', '.join(waiting)}"
        refused = (f"{each.to}: {each.reason}" for each in deliveries if each.outcome is SendOutcome.REFUSED)
        yield from dict.fromkeys(f"refused by {each}" for each in refused)


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error)
