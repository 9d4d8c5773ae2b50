"""The attacks of the benchmark `hostile`: what a stranger or an owner does through the public entries, and which bound
of ours each of them needs.
"""

import json
import shutil
import socket
import tempfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Final

from benchmarks.harness import TINY, Effort, marked
from benchmarks.lambdas import unheard
from benchmarks.office import USERS, DcpPeer, Office, open_offices, visits

from postroom.client.mailbox import MailboxError
from postroom.crypto.ethereum_keys import EthereumKey
from postroom.local.emulator import Processes
from postroom.local.zones import Mode
from postroom.protocols.dm3.keys import UserKeys

MOST: Final = 2.0
"""The most times its quiet duration that something honest may take beside an attack."""
NEW_SENDER_SECONDS: Final = 10.0
"""The longest that a new sender's message may take on average, beside an attack."""
ROUNDS: Final = 16
_FIRST_SECONDS: Final = 3.0
"""For how long an attack goes on before anything is measured."""
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
    """An attack. `act`: one request of it, with its number, `a_second` times a second, if fewer than `at_once` go on.

    `prepare`: what there is before it; `during`: what there is while it goes on. `without`: the bound that `edits` take
    away, to see whether the benchmark sees it. `parameters`: of the template; `http_processes`: of each function that
    no queue feeds.
    """

    attack: str
    without: str
    edits: tuple[Edit, ...]
    act: Callable[[Office, int], object]
    a_second: float
    prepare: Callable[[Office], object] = lambda _: None
    during: Callable[[Office, ExitStack], object] = lambda _office, _stack: None
    at_once: int = 200
    parameters: Mapping[str, str] = field(default_factory=dict)
    http_processes: int = 16

    def row(self, effort: Effort) -> tuple[str, ...]:
        """The row of the table: how many times as long each honest user waits; of the new sender, the seconds."""
        return self.attack, *(waits.cell() for waits in self.measure(effort))

    def is_seen(self, effort: Effort) -> bool:
        """Whether a user waits too long without the bound."""
        with tempfile.TemporaryDirectory(prefix="postroom-broken-") as copy:
            root = Path(copy)
            for name in _DEPLOYED:
                source = ROOT / name
                _ = shutil.copytree(source, root / name) if source.is_dir() else shutil.copy(source, root / name)
            for edit in self.edits:
                edit.apply(root)
            waits = self.measure(effort, root / "template.yaml", until_missed=True)
            return not all(each.are_short for each in waits)

    def measure(
        self, effort: Effort, template: Path = ROOT / "template.yaml", *, until_missed: bool = False
    ) -> list["Waits"]:
        """How long the honest users of an office wait, in their order: beside the same attack on another one, which
        shares the machine with it, and beside the attack on theirs. `until_missed`: only until a goal is missed."""
        rounds = 1 if effort == TINY else ROUNDS
        processes = Processes(queue=4, http=self.http_processes)
        with unheard(), open_offices(template, 2 * rounds + 1, self.parameters, processes) as (office, other):
            self.prepare(office)
            self.prepare(other)
            visits(office, 1)  # the functions start, and the proven sender is proven
            with ExitStack() as undo:
                self.during(office, undo)
                with _attacking(self, other):
                    quiet = visits(office, rounds)
                goals = {user: _goal(user, quiet[user]) for user in USERS} if until_missed else {}
                with _attacking(self, office):
                    beside = visits(office, rounds, goals)
        return [Waits(user, quiet[user], beside[user]) for user in USERS]


def _goal(user: str, quiet: float) -> float:
    """The longest that a user may wait beside an attack, in seconds."""
    return NEW_SENDER_SECONDS if user == "new sender" else MOST * quiet


@dataclass(frozen=True, slots=True)
class Waits:
    """How long a user waits, on average, in seconds: `quiet`, and `beside` the attack."""

    user: str
    quiet: float
    beside: float

    @property
    def are_short(self) -> bool:
        """Whether the goal is reached."""
        return self.beside <= _goal(self.user, self.quiet)

    def cell(self) -> str:
        """The cell of a table."""
        if self.user == "new sender":
            return f"{'' if self.are_short else '✗ '}{self.beside:.2f} s"
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
        over.wait(_FIRST_SECONDS)
        try:
            yield
        finally:
            over.set()
            attacker.join()
            pool.shutdown(cancel_futures=True)


def _suppressed(act: Callable[[Office, int], object], office: Office, number: int) -> None:
    with suppress(Exception):  # what an attacker is answered is not of interest
        act(office, number)


# --- forged mail of one domain, each in the name of a zone that does not answer ---------------------------------------
SILENT_ZONES: Final = 250
_EVIL: Final = "evil.example"


def _zone(number: int) -> str:
    return f"s{number % SILENT_ZONES}.{_EVIL}"


def _delegate(office: Office) -> None:
    office.stack.tree.put(_EVIL, "@ IN A 127.0.0.1\n")
    for number in range(SILENT_ZONES):
        office.stack.tree.put(_zone(number), "@ IN A 127.0.0.1\n")
    office.stack.dns.pause(*map(_zone, range(SILENT_ZONES)))


def _forge(office: Office, number: int) -> None:
    office.post("/inbox", json.dumps(office.envelope(_zone(number))).encode())


_SILENT: Final = Attack(
    "6 forged messages a second, each in the name of another silent zone below one domain",
    "the passes of the worker, and the limit of look-ups below one domain",
    (
        Edit(
            "layers/postroom/postroom/pipeline/worker.py",
            "Source.CLAIMS: (MEMORY_ONLY, A_SECOND_SPARINGLY)",
            "Source.CLAIMS: (UNLIMITED,)",
        ),
        Edit("layers/postroom/postroom/pipeline/look_ups.py", "OF_A_DOMAIN: Final = 2", "OF_A_DOMAIN: Final = 1000"),
    ),
    _forge,
    6,
    _delegate,
)


# --- forged mail whose senders' hosts never answer --------------------------------------------------------------------
_HOSTS: Final = 50


def _wild(number: int) -> str:
    return f"wild{number % _HOSTS}.example"


def _put_hosts(office: Office) -> None:
    for number in range(_HOSTS):
        office.stack.tree.put(_wild(number), f"* IN A 127.1.0.{number + 1}\n", Mode.UNSIGNED)


def _listen(office: Office, undo: ExitStack) -> None:
    """Hosts that accept connections, and never say anything."""
    for number in range(_HOSTS):
        undo.enter_context(socket.create_server((f"127.1.0.{number + 1}", office.stack.edge.port), backlog=128))


def _forge_unsigned(office: Office, number: int) -> None:
    office.post("/inbox", json.dumps(office.envelope(f"n{number}.{_wild(number)}")).encode())


_FEEDBACK: Final = Attack(
    f"10 forged messages a second, whose senders' {_HOSTS} hosts never answer",
    "the queue of Feedback",
    (
        Edit(
            "layers/postroom/postroom/runtime/pipeline_parts.py",
            "queue=self._storage.feedback_queue",
            "queue=self._storage.courier_queue",
        ),
        Edit(
            "functions/courier/app.py",
            "feedback_queue.send(notification.encode(), group=notification.group)",
            "deployment.outbound.buffers.feedback_domain_of(notification.sender)",
        ),
    ),
    _forge_unsigned,
    10,
    _put_hosts,
    _listen,
)


# --- synchronous requests of domains that do not answer ---------------------------------------------------------------
_RESERVED: Final = 10


def _ask_synchronously(office: Office, number: int) -> None:
    office.post("/inbox", json.dumps(office.envelope(_zone(number), "Identity@Graph")).encode())


_SYNCHRONOUS: Final = Attack(
    f"20 synchronous requests a second of domains that do not answer, with {_RESERVED} reserved runs of the inbox",
    "the share of the runs that may look up",
    (
        Edit(
            "layers/postroom/postroom/pipeline/look_ups.py",
            "return max(1, (reserved or UNRESERVED_RUNS) // ONE_OF)",
            "return 1000",
        ),
    ),
    _ask_synchronously,
    20,
    _delegate,
    parameters={"InboxReservedConcurrency": str(_RESERVED)},
)


# --- dm3 messages of senders in domains that do not answer ------------------------------------------------------------
_FORGER: Final = UserKeys.random()


def _submit(office: Office, number: int) -> None:
    office.post("/rpc", office.submission(_zone(number), _FORGER)[0])


_DM3: Final = Attack(
    "20 dm3 messages a second of senders in domains that do not answer",
    "the share of the runs that may look up senders of dm3",
    (
        Edit(
            "layers/postroom/postroom/runtime/name_parts.py",
            "            senders=self._share(SENDERS_KIND, of_dm3),\n",
            "",
        ),
    ),
    _submit,
    20,
    _delegate,
)


# --- mailboxes that a stranger asks to open, of names in domains that do not answer -----------------------------------
def _ask_to_open(office: Office, number: int) -> None:
    office.post(f"/profile/{_zone(number)}", json.dumps({"profile": {}, "signature": "0x"}).encode())


_OPENING: Final = Attack(
    "20 requests a second to open mailboxes of names in domains that do not answer",
    "the share of the runs of the mailbox API that may look up owners",
    (
        Edit(
            "layers/postroom/postroom/runtime/name_parts.py",
            "            owners=self._share(owners_kind, reserved),\n",
            "",
        ),
    ),
    _ask_to_open,
    20,
    _delegate,
    parameters={"Dm3SelfRegistration": "ds.eth"},
)


# --- one owner who lets many requests wait ----------------------------------------------------------------------------
_WAITS: Final = 14
_HELD_SECONDS: Final = 20.0
_HOSTILE: Final = "hostile.example"
_OF_ALL_RUNS: Final = (
    Edit(
        "layers/postroom/postroom/storage/limits/held_runs.py", "return min(OF_A_NAME, (most + 1) // 2)", "return most"
    ),
    Edit(
        "layers/postroom/postroom/http/waits.py", "return reserved // 2 if reserved else UNRESERVED", "return reserved"
    ),
)


def _give_mailbox(office: Office) -> None:
    office.give_mailbox(_HOSTILE)


def _wait_for_nothing(office: Office, _number: int) -> None:
    with office.open(_HOSTILE) as mailbox, suppress(MailboxError):
        mailbox._make(mailbox._core.page("", _HELD_SECONDS, ""))


def _wait_over_dcp(office: Office, _number: int) -> None:
    peer = DcpPeer(office, EthereumKey.generate())
    peer.ask("messages", {"mailbox": _HOSTILE, "query": {"wait": _HELD_SECONDS}}, office.owner_key)


_WAITING: Final = Attack(
    f"one owner lets {_WAITS} requests wait, with {_RESERVED} reserved runs of the mailbox API",
    "the bound of the waits of one mailbox",
    _OF_ALL_RUNS[:1],
    _wait_for_nothing,
    2,
    _give_mailbox,
    at_once=_WAITS,
    parameters={"MailboxApiReservedConcurrency": str(_RESERVED)},
)
_WAITING_OVER_DCP: Final = Attack(
    f"one owner lets {_WAITS} requests wait over DCP, with {_RESERVED} reserved runs of DCP",
    "both bounds of waits",
    _OF_ALL_RUNS,
    _wait_over_dcp,
    2,
    _give_mailbox,
    at_once=_WAITS,
    parameters={"DcpReservedConcurrency": str(_RESERVED)},
)


# --- strangers over DCP -----------------------------------------------------------------------------------------------
_STRANGERS: Final = 24


@lru_cache(2 * _STRANGERS)
def _stranger(office: Office, _number: int) -> tuple[DcpPeer, Lock]:
    return DcpPeer(office, EthereumKey.generate()), Lock()


def _ask_as_a_stranger(office: Office, number: int) -> None:
    """A request about a mailbox that nobody has."""
    peer, lock = _stranger(office, number % _STRANGERS)
    with lock:
        peer.ask("status", {"mailbox": f"nobody{number}.example"}, peer.key)


_STRANGERS_OVER_DCP: Final = Attack(
    "40 requests a second of strangers over DCP, with one process for each function",
    "that owners are not counted among newcomers",
    (
        Edit(
            "layers/postroom/postroom/http/dcp_operations.py",
            "before_read = None if self.newcomers.is_known(peer, mailbox) else take",
            "before_read = take()",
        ),
    ),
    _ask_as_a_stranger,
    40,
    http_processes=1,
)

ATTACKS: Final = (_SILENT, _FEEDBACK, _SYNCHRONOUS, _DM3, _OPENING, _WAITING, _WAITING_OVER_DCP, _STRANGERS_OVER_DCP)
