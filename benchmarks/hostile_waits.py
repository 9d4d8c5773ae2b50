"""An attack of the benchmark `hostile`: one owner lets many requests to the mailbox API wait."""

import time
from base64 import b64encode
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Final

from benchmarks.attack import Attack, Waits, p95
from benchmarks.harness import Effort
from benchmarks.lambdas import unheard

from postroom.client import Mailbox
from postroom.client.mailbox import MailboxError, Retries
from postroom.core.settings import read_outputs
from postroom.crypto.rsa_ed25519 import PrivateKey
from postroom.local.stack import LocalStack
from postroom.protocols.nlweb.schema import NLWEB
from postroom.runtime.deployment import Deployment

RUNS: Final = 10
WAITS: Final = 14
"""The requests of one mailbox that wait at the same time."""
PAUSE_SECONDS: Final = 1.0
"""When a request whose wait was refused is sent again; the answer asks for five seconds."""
VISITS: Final = 40
"""How many times other owners sign in and list their mailbox."""
OWNER, OTHER = "hostile.example", "honest.example"
_HOST: Final = NLWEB.host(OWNER)
_TEMPLATE: Final = Path(__file__).parent.parent / "template.yaml"


def measure(effort: Effort) -> Waits:
    """The p95 of the time in which another owner signs in and lists a mailbox, in seconds."""
    visits = min(VISITS, 2 * effort.turns * effort.rounds)
    with unheard(), LocalStack(_TEMPLATE) as stack:
        owners = _open(stack)
        owners.start()
        quiet = owners.visit(visits)
        with owners.waiting():
            attacked = owners.visit(visits)
    return Waits(p95(quiet), p95(attacked))


@dataclass(frozen=True)
class Owners:
    """The owners of two mailboxes with one key."""

    stack: LocalStack
    key: PrivateKey

    def open(self, name: str) -> Mailbox:
        """The mailbox of an owner who does not try again."""
        edge = ("127.0.0.1", self.stack.edge.port)
        return Mailbox(
            f"https://{_HOST}",
            name,
            self.key,
            ca_file=self.stack.authority.pem,
            connect=edge,
            retries=Retries(attempts=1),
        )

    def start(self) -> None:
        """Let the local stack start a process for each run."""

        def wait(_: int) -> None:
            with suppress(MailboxError), self.open(OTHER) as mailbox:
                mailbox.status()

        with ThreadPoolExecutor(RUNS) as pool:
            list(pool.map(wait, range(2 * RUNS)))

    def visit(self, visits: int) -> list[float]:
        """The seconds of each visit: a new client signs in and lists. Raises MailboxError if one is refused."""
        seconds = []
        for _ in range(visits):
            with self.open(OTHER) as mailbox:
                started = time.perf_counter()
                assert list(mailbox.unread()) == []
                seconds.append(time.perf_counter() - started)
        return seconds

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Requests of the hostile owner that wait, for as long as the context."""
        over = Event()

        def wait(mailbox: Mailbox, number: int) -> None:
            over.wait(PAUSE_SECONDS * number / WAITS)
            while not over.is_set():
                with suppress(MailboxError):
                    mailbox._make(mailbox._core.page("", 20.0, ""))
                over.wait(PAUSE_SECONDS)

        with self.open(OWNER) as mailbox, ThreadPoolExecutor(WAITS) as pool:
            mailbox.status()
            for number in range(WAITS):
                pool.submit(wait, mailbox, number)
            over.wait(2 * PAUSE_SECONDS)
            try:
                yield
            finally:
                over.set()


def _open(stack: LocalStack) -> Owners:
    deployment = stack.deploy("hostile-waits", {"MailboxApiReservedConcurrency": str(RUNS)})
    deployment.serve_host(_HOST)
    owners = Owners(stack, PrivateKey.generate("ed25519"))
    mailboxes = Deployment(read_outputs(deployment.outputs), deployment.client).storage.mailboxes
    for name in (OWNER, OTHER):
        mailboxes.set_keys(name, [b64encode(owners.key.public.spki()).decode()])
    return owners


ATTACK: Final = Attack(
    f"{WAITS} requests of one mailbox that wait for messages, with {RUNS} reserved runs of the mailbox API",
    "signing in and listing another mailbox, p95",
    measure,
)
