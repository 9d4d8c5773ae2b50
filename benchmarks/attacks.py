"""What a stranger or an owner does in the benchmark `hostile`, and which bound of ours each attack needs."""

import json
import socket
from contextlib import ExitStack, suppress
from functools import lru_cache, partial
from threading import Lock
from typing import Final

from benchmarks.attack import Attack, Edit
from benchmarks.office import DcpPeer, GaveUpError, Office

from postroom.client.mailbox import MailboxError
from postroom.crypto.ethereum_keys import EthereumKey
from postroom.local.zones import Mode
from postroom.protocols.dm3.keys import UserKeys

# --- forged mail of one domain, each in the name of a zone that does not answer ---------------------------------------
SILENT_ZONES: Final = 250
_EVIL: Final = "evil.example"


def _zone(number: int) -> str:
    return f"s{number % SILENT_ZONES}.{_EVIL}"


def _delegate(office: Office) -> list[str]:
    """The zones of the attacker, which answer."""
    zones = [_zone(number) for number in range(SILENT_ZONES)]
    for zone in (_EVIL, *zones):
        office.stack.tree.put(zone, "@ IN A 127.0.0.1\n")
    return zones


def _fall_silent(office: Office) -> None:
    office.stack.dns.pause(*_delegate(office))


def _forge(office: Office, number: int) -> None:
    office.post("/inbox", json.dumps(office.envelope(_zone(number))).encode())


_SILENT: Final = Attack(
    "6 forged messages a second, each in the name of another silent zone below one domain",
    {
        "the passes of the worker, and the limit of look-ups below one domain": (
            Edit(
                "layers/postroom/postroom/pipeline/worker.py",
                "Source.CLAIMS: (MEMORY_ONLY, A_SECOND_SPARINGLY)",
                "Source.CLAIMS: (UNLIMITED,)",
            ),
            Edit(
                "layers/postroom/postroom/pipeline/look_ups.py", "OF_A_DOMAIN: Final = 2", "OF_A_DOMAIN: Final = 1000"
            ),
        )
    },
    _forge,
    6,
    _fall_silent,
)


_DELAY_SECONDS: Final = 0.9
"""The delay of each answer of a slow zone. A look-up takes two of them: more than the second that a batch has."""
_SPENT_AFTER_SECONDS: Final = 15.0
"""When each process has spent on the domain what it may in a minute."""


def _become_slow(office: Office) -> None:
    office.stack.dns.slow_down(_DELAY_SECONDS, *_delegate(office), *office.new_senders)


_SLOW: Final = Attack(
    "6 forged messages a second, each in the name of another slow zone below one domain; new senders are slow, too",
    {
        "what the look-ups of a domain may take": (
            Edit(
                "layers/postroom/postroom/pipeline/look_ups.py",
                "SECONDS_OF_A_DOMAIN: Final = 10.0",
                "SECONDS_OF_A_DOMAIN: Final = 1e9",
            ),
        )
    },
    _forge,
    6,
    _become_slow,
    first_seconds=_SPENT_AFTER_SECONDS,
)


# --- forged mail whose senders' hosts never answer --------------------------------------------------------------------
_HOSTS: Final = 50
_FEW_HOSTS: Final = 5
_LEARNT_AFTER_SECONDS: Final = 45.0
"""When each process of Feedback has waited for each of the few hosts once, and has sent what came meanwhile."""


def _put_hosts(office: Office) -> None:
    for number in range(_HOSTS):
        office.stack.tree.put(f"wild{number}.example", f"* IN A 127.1.0.{number + 1}\n", Mode.UNSIGNED)


def _listen(office: Office, undo: ExitStack) -> None:
    """Hosts that accept connections, and never say anything."""
    for number in range(_HOSTS):
        undo.enter_context(socket.create_server((f"127.1.0.{number + 1}", office.stack.edge.port), backlog=128))


def _forge_unsigned(office: Office, number: int, hosts: int = _HOSTS) -> None:
    sender = f"n{number}.wild{number % hosts}.example"
    office.post("/inbox", json.dumps(office.envelope(sender)).encode())


_FEEDBACK: Final = Attack(
    f"10 forged messages a second, whose senders' {_HOSTS} hosts never answer",
    {
        "the queue of Feedback": (
            Edit(
                "layers/postroom/postroom/runtime/pipeline_parts.py",
                "queue=self._storage.feedback_queue",
                "queue=self._storage.courier_queue",
            ),
            Edit(
                "functions/courier/app.py",
                "# The previous release sent Feedback to this queue.",
                "deployment.outbound.buffers.feedback_domain_of(notification.sender)",
            ),
        ),
        "that no message of a batch waits for another": (
            Edit(
                "layers/postroom/postroom/runtime/batches.py",
                "side_by_side(threads, process_group, list(groups.values()))",
                "map(process_group, groups.values())",
            ),
        ),
    },
    _forge_unsigned,
    10,
    _put_hosts,
    _listen,
)
_FAILING: Final = Attack(
    f"10 forged messages a second, whose senders' {_FEW_HOSTS} hosts have not answered for {_LEARNT_AFTER_SECONDS:g} s",
    {
        "the memory of failing names and addresses": (
            Edit(
                "layers/postroom/postroom/net/failing_addresses.py",
                "FAILING_SECONDS: Final = 300",
                "FAILING_SECONDS: Final = 0",
            ),
        ),
    },
    partial(_forge_unsigned, hosts=_FEW_HOSTS),
    10,
    _put_hosts,
    _listen,
    first_seconds=_LEARNT_AFTER_SECONDS,
)


# --- synchronous requests of domains that do not answer ---------------------------------------------------------------
_RESERVED: Final = 10


def _ask_synchronously(office: Office, number: int) -> None:
    office.post("/inbox", json.dumps(office.envelope(_zone(number), "Identity@Graph")).encode())


_SYNCHRONOUS: Final = Attack(
    f"20 synchronous requests a second of domains that do not answer, with {_RESERVED} reserved runs of the inbox",
    {
        "the share of the runs that may look up": (
            Edit(
                "layers/postroom/postroom/runtime/name_parts.py",
                "self._sender_keys(self._share(KIND, lambda: self._settings.inbox_reserved_concurrency))",
                "self._sender_keys()",
            ),
        )
    },
    _ask_synchronously,
    20,
    _fall_silent,
    parameters={"InboxReservedConcurrency": str(_RESERVED)},
    http_processes=_RESERVED,
)


# --- dm3 messages of senders in domains that do not answer ------------------------------------------------------------
_FORGER: Final = UserKeys.random()


def _submit(office: Office, number: int) -> None:
    office.post("/rpc", office.submission(_zone(number), _FORGER)[0])


_DM3: Final = Attack(
    "20 dm3 messages a second of senders in domains that do not answer",
    {
        "the share of the runs that may look up senders of dm3": (
            Edit(
                "layers/postroom/postroom/runtime/name_parts.py",
                "            senders=self._share(SENDERS_KIND, of_dm3),\n",
                "",
            ),
        )
    },
    _submit,
    20,
    _fall_silent,
)


# --- mailboxes that a stranger asks to open, of names in domains that do not answer -----------------------------------
def _ask_to_open(office: Office, number: int) -> None:
    office.post(f"/profile/{_zone(number)}", json.dumps({"profile": {}, "signature": "0x"}).encode())


_OPENING: Final = Attack(
    "20 requests a second to open mailboxes of names in domains that do not answer",
    {
        "the share of the runs of the mailbox API that may look up owners": (
            Edit(
                "layers/postroom/postroom/runtime/name_parts.py",
                "            owners=self._share(owners_kind, reserved),\n",
                "",
            ),
        )
    },
    _ask_to_open,
    20,
    _fall_silent,
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
    {"the bound of the waits of one mailbox": _OF_ALL_RUNS[:1]},
    _wait_for_nothing,
    2,
    _give_mailbox,
    at_once=_WAITS,
    parameters={"MailboxApiReservedConcurrency": str(_RESERVED)},
)
_WAITING_OVER_DCP: Final = Attack(
    f"one owner lets {_WAITS} requests wait over DCP, with {_RESERVED} reserved runs of DCP",
    {"both bounds of waits": _OF_ALL_RUNS},
    _wait_over_dcp,
    2,
    _give_mailbox,
    at_once=_WAITS,
    parameters={"DcpReservedConcurrency": str(_RESERVED)},
)


# --- strangers over DCP -----------------------------------------------------------------------------------------------
_STRANGERS: Final = 24
_REQUESTS: Final = 10


@lru_cache(2 * _STRANGERS)
def _stranger(office: Office, _number: int) -> tuple[DcpPeer, Lock]:
    return DcpPeer(office, EthereumKey.generate(), _give_up), Lock()


def _give_up(_seconds: float) -> None:
    """Strangers who insisted would measure how many runs there are: one, here."""
    raise GaveUpError


def _ask_as_a_stranger(office: Office, number: int) -> None:
    """Requests about mailboxes that nobody has."""
    peer, lock = _stranger(office, number % _STRANGERS)
    with lock:
        peer.ask_all("status", [{"mailbox": f"nobody{number}-{each}.example"} for each in range(_REQUESTS)])


_STRANGERS_OVER_DCP: Final = Attack(
    f"4 messages a second of strangers over DCP, {_REQUESTS} requests in each, with one process for each function",
    {
        "that owners are not counted among newcomers": (
            Edit(
                "layers/postroom/postroom/http/dcp_operations.py",
                "before_read = None if self.newcomers.is_known(peer, mailbox) else take",
                "before_read = take()",
            ),
        )
    },
    _ask_as_a_stranger,
    4,
    http_processes=1,
)

ATTACKS: Final = (
    _SILENT,
    _SLOW,
    _FEEDBACK,
    _FAILING,
    _SYNCHRONOUS,
    _DM3,
    _OPENING,
    _WAITING,
    _WAITING_OVER_DCP,
    _STRANGERS_OVER_DCP,
)
