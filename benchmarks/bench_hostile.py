"""Benchmark `hostile`: how long honest users wait beside an attack, compared with their quiet time."""

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import Final

from benchmarks import hostile_texts
from benchmarks.attack import MOST, STARTING_ROUNDS, STRANGER_SECONDS
from benchmarks.attacks import ATTACKS
from benchmarks.harness import TINY, Benchmark, Broken, Effort, Table, marked, times
from benchmarks.office import USERS
from benchmarks.silent_queue import mean_wait

from postroom.core.ijson import MAX_VALUES

SIMULATED: Final = 20_000
SIMULATED_ZONES: Final = (20, SIMULATED)

NOTES: Final = f"""\
Attacks that a stranger without a key, or a single owner, can start, through the public entries of a post office on the
local stack. Meanwhile, eight honest users go on: a proven sender, a new one and a known one of dm3, whose messages are
to be filed; one whose message is discarded, and who waits for the Feedback; owners who sign in and list, who ask over
DCP, who wait for a message, and who send one. Each number is the mean time of a user beside the attack, as a multiple
of the time beside the same attack on another post office of the same local stack. The two share the machine and the
embedded AWS and nothing else, so the number shows what the queues, tables and functions of a post office add, and not
that the processors are busy. The queues of the other office are emptied between the two. Goals: ≤ {MOST:g} for proven
senders and owners; a new sender's message is filed, and Feedback arrives, within {STRANGER_SECONDS:g} s. The first
{STARTING_ROUNDS} visits of each user beside an attack are not in the mean: the attack starts instances of functions, as
on AWS, and here on the processors that all share. These visits take at most {STRANGER_SECONDS:g} s on average; those of
a new sender, and for Feedback, {MOST * STRANGER_SECONDS:g} s.

Forged mail leaves tombstones in the mailbox of the owner who lists, and a listing reads those of the last 75 seconds
(*Forged mail to one mailbox* in [SECURITY.md](../SECURITY.md)).

The second table is simulated: two days of the retries of honest senders beside {SIMULATED:,} claims whose zones do not
answer, with the concurrency, the batches and the delays of the template (`benchmarks/silent_queue.py`).

The third table is of what a stranger chooses: the texts that each entry parses, writes out and hashes before it knows
their sender (`benchmarks/hostile_texts.py`). It is processor time, of all that is done up to the check of the
signature, which every honest text reaches; many hostile ones are refused when they are parsed. *POST /rpc* has the text
in the metadata of an envelope, *sealed* in its delivery information, *too large* in an envelope that has more than is
accepted beside its message. *16 resources* are said to have signed the text, too. A line of an archive is only parsed.

Each text is compared with one honest text of the same length, whatever is in it: an order with as many lines as fit
among {MAX_VALUES:,} values, each with names, a price and tags, and a note that fills the rest, as Python's json.dumps
writes it. That is 13 bytes a value. Parsing takes its time for each value: the same order without white space takes
nine tenths of the time, and one long string a tenth. So no text of many values, such as this order, is within the goal
of a string of the same length, however it is parsed.

`python -m benchmarks hostile --broken` takes a bound away from the deployed code, one after the other, plays the attack
that the bound is for, and tells whether a goal is missed then.
"""


def measure(effort: Effort) -> Sequence[Table]:
    """A table with a row for each attack, a simulated one, and one of hostile texts."""
    played = tuple(attack.row(effort) for attack in ATTACKS)
    # The attacks leave memory in pieces, in which what makes many objects takes a third longer than in a function.
    with ProcessPoolExecutor(1, get_context("spawn")) as new_process:
        texts = new_process.submit(hostile_texts.table, effort).result()
    return [Table("", ("attack", *USERS), played), _simulated(effort), texts]


def _simulated(effort: Effort) -> Table:
    """Retries beside many waiting claims. Raises AssertionError if the waiting queue does not keep up."""
    rows = []
    for zones in SIMULATED_ZONES:
        forgeries = 100 if effort == TINY else SIMULATED
        quiet = mean_wait(0, zones, apart=True)
        together, apart = (mean_wait(forgeries, zones, apart=apart) / quiet for apart in (False, True))
        rows.append((f"of {zones:,} zones", times(together), marked(apart, reached=apart <= MOST)))
    columns = (f"{SIMULATED:,} claims", "in the retry queue", "in a queue of their own")
    return Table("A retry beside claims that wait for silent zones, simulated, mean", columns, tuple(rows))


BROKEN: Final = tuple(
    Broken(f"{attack.attack}: without {bound}", partial(attack.is_seen, bound))
    for attack in ATTACKS
    for bound in attack.bounds
)
BENCHMARK: Final = Benchmark(
    "hostile", "Waiting times beside an attack", NOTES, measure, (*BROKEN, *hostile_texts.BROKEN)
)
