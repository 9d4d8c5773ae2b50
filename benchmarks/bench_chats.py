"""Benchmark `chats`: the log of chats: merging, memory, and the last messages of a long chat."""

import gc
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from random import Random
from statistics import median
from typing import Final

import psutil
from benchmarks.harness import Benchmark, Effort, Table, marked, ratios
from benchmarks.status_sample import AUTHOR, NOW_MS, OWN, text

from postroom.protocols.status.chat_view import ChatView
from postroom.protocols.status.codec import read_payload, write_payload
from postroom.protocols.status.enums import ChatKind, PayloadType
from postroom.protocols.status.ids import MessageId
from postroom.protocols.status.keys import ChatKey
from postroom.protocols.status.log import ChatLog, Fact
from postroom.protocols.status.messages import StatusMessage
from postroom.protocols.status.verify import ChatRef, VerifiedPayload

MOST_TO_BARE: Final = 4.0
MOST_BYTES: Final = 1000
WITHIN: Final = 0.05
MOST_TO_SHORT: Final = 2.0
_LAST: Final = 50
_TEXT_BYTES: Final = 60
_SIZES: Final = {"1,000": 1000, "10,000": 100, "100,000": 10, "1,000,000": 1}
"""Names of sizes, each a part of the largest."""
_CHAT: Final = ChatRef(ChatKind.ONE_TO_ONE, AUTHOR.public)

NOTES: Final = f"""\
*Merging*: a log takes the facts of another one, which are in random order, and its chat is read in order. *Bare* puts
the same facts into a dict by their keys and calls `sorted` once, by clock and ID.

*Memory*: what a process needs more for each of so many messages of {_TEXT_BYTES} characters (RSS, after a garbage
collection). The tables of Python's dicts grow in steps, so it is not the same for every number.

*A long chat*: its last {_LAST} messages are shown, as after each change, and the clock of a new message is found.

Goals: merging ≤ {MOST_TO_BARE:.0f} × bare; a message ≤ 1 kB and its text, within {WITHIN:.0%} of the median; a chat of
1,000,000 messages ≤ {MOST_TO_SHORT:.0f} × one of 1,000.
"""


def measure(effort: Effort) -> Sequence[Table]:
    """Three tables: merging and memory with a row for each size, and a long chat."""
    most = effort.messages * 10
    merging = tuple((name, _merged(most // part, effort)) for name, part in _SIZES.items())
    return [
        Table("Merging", ("facts", "ours : bare"), merging),
        _memory(most),
        _long_chat(most, effort),
    ]


def _merged(size: int, effort: Effort) -> str:
    other = _log(size)
    own_effort = (
        effort if size <= effort.messages // 10 else Effort(rounds=1, turns=min(3, effort.turns), turn_seconds=0)
    )
    _, ratio = ratios((partial(_bare, other), partial(_ours, other)), own_effort)
    return marked(ratio, reached=ratio <= MOST_TO_BARE)


def _ours(other: ChatLog) -> list[Fact]:
    log = ChatLog(OWN)
    log.merge(other)
    return log.messages(_CHAT)


def _bare(other: ChatLog) -> list[Fact]:
    facts = {fact.key: fact for fact in other}
    return sorted(facts.values(), key=lambda fact: (fact.clock, fact.id))


def _memory(most: int) -> Table:
    sizes = {name: most // part for name, part in _SIZES.items() if name != "1,000"}
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
        found = list(pool.map(_bytes_of_one, sizes.values(), [max(1, most // 5 // size) for size in sizes.values()]))
    middle = median(found)
    rows = tuple(
        (
            name,
            marked(each / (MOST_BYTES + _TEXT_BYTES), reached=each <= MOST_BYTES + _TEXT_BYTES),
            marked(each / middle, reached=abs(each / middle - 1) <= WITHIN),
        )
        for name, each in zip(sizes, found, strict=True)
    )
    return Table("Memory", ("messages", "of one : 1 kB and the text", "of one : the median"), rows)


def _bytes_of_one(size: int, logs: int) -> float:
    """The bytes of a message in this process. Small logs are measured by several: memory is taken in large steps."""
    process = psutil.Process()
    _log(100, as_received=True)
    gc.collect()
    before = process.memory_info().rss
    held = [_log(size, as_received=True) for _ in range(logs)]
    gc.collect()
    return (process.memory_info().rss - before) / size / len(held)


def _long_chat(most: int, effort: Effort) -> Table:
    short, long = _log(most // 1000), _log(most)
    last = ratios([partial(_last_of, log) for log in (short, long)], effort)[1]
    clock = ratios([partial(_clock_of, log) for log in (short, long)], effort)[1]
    rows = ((f"the last {_LAST}", last), ("the clock", clock))
    return Table(
        "A long chat",
        ("what is read", "of 1,000,000 : of 1,000"),
        tuple((name, marked(ratio, reached=ratio <= MOST_TO_SHORT)) for name, ratio in rows),
    )


def _last_of(log: ChatLog) -> object:
    return ChatView(log).messages(_CHAT, _LAST)


def _clock_of(log: ChatLog) -> object:
    return ChatView(log).clock(_CHAT)


def _log(size: int, *, as_received: bool = False) -> ChatLog:
    """A log of so many messages in random order, read once. `as_received`: no two have an object in common."""
    random, log = Random(size), ChatLog(OWN)
    for clock in random.sample(range(size), size):
        message: StatusMessage | None = text(f"{clock} ".ljust(_TEXT_BYTES, "."), NOW_MS + clock)
        payload = write_payload(message) if as_received and message else b"%d" % clock
        if as_received:
            message = read_payload(PayloadType.CHAT_MESSAGE, payload)
        id_ = MessageId(f"0x{random.randbytes(32).hex()}")
        # Nothing is signed, which would take most of the time.
        author = ChatKey(AUTHOR.public)
        log.add(VerifiedPayload(id_, author, PayloadType.CHAT_MESSAGE, payload, message, _CHAT), NOW_MS + size)
    log.messages(_CHAT)
    return log


BENCHMARK = Benchmark("chats", "Chats", NOTES, measure)
