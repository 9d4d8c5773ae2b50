"""Benchmark `dnssec`: proof of a key, compared with its bare signature checks and with delv, and in hostile zones."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Final

import dns.name
from benchmarks.bare_proof import bare
from benchmarks.delv import ZONES, must_be_secure, on_loopback
from benchmarks.harness import (
    Benchmark,
    Effort,
    KnownMiss,
    Table,
    marked,
    over_processes,
    processor_ratios,
    ratios,
    times,
)
from dns.dnssectypes import Algorithm
from dns.rdatatype import TXT
from tests.dnssec.programs import MissingError, program, version
from tests.names import costly, signing

from postroom.names.dns import Answer, Ask, Question
from postroom.names.dns.wire import check_answer, make_query, read_answer
from postroom.names.dnssec import KnownZones, validate
from postroom.names.keys import KeyDirectory

MOST_TO_BARE: Final = 1.5
LEAST_TO_WARM: Final = 100.0
MOST_TO_HONEST: Final = 20.0
SIGNED_BY: Final = {
    "Ed25519": Algorithm.ED25519,
    "ECDSA P-256": Algorithm.ECDSAP256SHA256,
    "RSA-2048": Algorithm.RSASHA256,
}
HOSTILE: Final[dict[str, Callable[[], costly.Costly]]] = {
    "KeyTrap, at a key": costly.key_trap,
    "KeyTrap, at a delegation": costly.key_trap_at_a_delegation,
    "KeyTrap, at a zone's keys": costly.key_trap_at_the_keys,
    "KeyTrap, at each of six aliases, and bogus": costly.aliases_that_end_bogus,
    "NSEC3 bomb": costly.nsec3_bomb,
    "NSEC3 bomb in a KeyTrap": costly.nsec3_bomb_in_a_key_trap,
    "a zone at every label, each a KeyTrap": costly.zones_within_zones,
    "76 denials": costly.denials_by_the_hundred,
    "keys of 7,000 bytes": costly.digests_of_keys_as_long_as_an_answer,
    "900 records in the set": costly.a_set_of_thousands,
    "a set of 16,000 bytes, in strings of one": costly.a_set_as_long_as_an_answer,
    "700 DNAMEs of 117 labels beside 8 aliases": costly.dnames_beside_aliases,
    "32 SOA records of 112 labels": costly.start_of_authority_by_the_dozen,
    "30 signers of 100 labels, and bogus": partial(costly.signatures_of_signers_that_are_deep, 30),
}

NOTES: Final = f"""\
*A cold look-up* is of a TXT record in the zone trap.example, below example, below the root, and none of them is cached:
six answers, with one key in each zone and one signature on each set. It is processor time, without sockets. In *walk*,
the answers are parsed already; *with parsing* starts with their bytes; *with queries* also writes the queries, and is
the whole look-up. *Bare* has only the six signature checks and three digests, by `cryptography` and hashlib, with keys,
signed bytes and signatures in the form that the library takes.

*Warm look-ups*: a key in memory needs no look-up. If only its zones are cached, one query is sent and one signature is
checked.

*Compared with delv*: BIND's named serves {ZONES} zones on loopback, each below the one before, each with one ECDSA
P-256 key. It is elapsed time, and for both only what the proof adds to an unproven answer: ours minus one query through
the same `Resolvers`; delv minus `delv -i`, which also sends one query. So the start of delv's process, which takes
several times as long, is not included.

*Hostile* zones are those of tests/names/costly.py, from the bytes of the answers to the verdict. For most of them, the
look-up is given up.

Goals: the whole ≤ {MOST_TO_BARE} × bare; cold ≥ {LEAST_TO_WARM:.0f} × the key in memory; a hostile zone
< {MOST_TO_HONEST:.0f} × an honest one with ECDSA P-256.
"""


def measure(effort: Effort) -> Sequence[Table]:
    """Tables of cold, warm and hostile look-ups (processor time), and of delv (elapsed time)."""
    few = replace(effort, rounds=min(effort.rounds, 9), turns=min(effort.turns, 5), processes=min(effort.processes, 3))
    *cold_and_warm, hostile = over_processes(measure_here, few)
    cold, warm = cold_and_warm[: len(SIGNED_BY)], cold_and_warm[len(SIGNED_BY) :]
    cold_rows = [
        (name, times(walk), times(reading), marked(whole, reached=whole <= MOST_TO_BARE))
        for name, (walk, reading, whole) in zip(SIGNED_BY, cold, strict=True)
    ]
    warm_rows = [
        (f"{name}, warm", times(known), marked(memory, reached=memory >= LEAST_TO_WARM))
        for name, (known, memory) in zip(SIGNED_BY, warm, strict=True)
    ]
    rows = [(name, marked(it, reached=it < MOST_TO_HONEST)) for name, it in zip(HOSTILE, hostile, strict=True)]
    signed_by = "zones signed by"
    return [
        Table("Cold look-ups", (signed_by, "walk : bare", "with parsing : bare", "with queries : bare"), (*cold_rows,)),
        Table("Warm look-ups", (signed_by, "cold : zones known", "cold : key in memory"), (*warm_rows,)),
        # More turns, because the result is the difference of two long times.
        _beside_delv(replace(effort, rounds=min(effort.rounds, 5), turns=3 * effort.turns, turn_seconds=0)),
        Table("Hostile zones", ("zone", "hostile : honest"), (*rows,)),
    ]


def measure_here(effort: Effort) -> list[list[float]]:
    """Rows of ratios: cold look-ups to bare, cold to warm, and one row of all hostile look-ups to an honest one."""
    honest = [costly.honest(algorithm) for algorithm in SIGNED_BY.values()]
    return [*(_cold(it, effort) for it in honest), *(_warm(it, effort) for it in honest), _hostile(effort)]


def _cold(made: costly.Costly, effort: Effort) -> list[float]:
    zones, name = made
    read: dict[Question, Answer] = {}

    def keep(question: Question) -> Answer:
        return read.setdefault(question, zones.ask(question))

    _proven(zones, name, keep)
    asks: tuple[Ask, ...] = (read.__getitem__, zones.ask, partial(_asked, zones))
    return processor_ratios([bare(zones, read), *(partial(_proven, zones, name, ask) for ask in asks)], effort)


def _warm(made: costly.Costly, effort: Effort) -> list[float]:
    zones, name = made
    ask, known = partial(_asked, zones), KnownZones()
    directory = _directory(zones)
    ways = [
        lambda: _directory(zones).find(str(name)),
        partial(_proven, zones, name, ask, known),
        partial(directory.find, str(name)),
    ]
    return [1 / ratio for ratio in processor_ratios(ways, effort)]


def _directory(zones: signing.Zones) -> KeyDirectory[Sequence[bytes]]:
    ask = partial(_asked, zones)
    return KeyDirectory(lambda: ask, zones.anchors, lambda records: records, clock=lambda: signing.NOW)


def _hostile(effort: Effort) -> list[float]:
    found = []
    honest = _look_up(costly.honest())
    for make in HOSTILE.values():
        found += processor_ratios([honest, _look_up(make())], effort)
    return found


def _look_up(made: costly.Costly) -> Callable[[], object]:
    zones, name = made
    look_up = partial(validate, name, TXT, zones.anchors, zones.ask, signing.NOW)
    # The first look-up creates the answers.
    look_up()
    return look_up


def _asked(zones: signing.Zones, question: Question) -> Answer:
    """An answer as through `Resolvers`, but without sockets."""
    query = make_query(question)
    wire = query.to_wire()[:2] + zones.wire(question)[2:]
    answer = read_answer(query, wire)
    if answer is None:
        raise AssertionError(f"no answer to {question}")
    return check_answer(answer)


def _proven(zones: signing.Zones, name: dns.name.Name, ask: Ask, known: KnownZones | None = None) -> None:
    must_be_secure(validate(name, TXT, zones.anchors, ask, signing.NOW, known=known))


def _beside_delv(effort: Effort) -> Table:
    columns = ("program", "delv : ours")
    with ExitStack() as stack:
        try:
            program("delv")
            ways = stack.enter_context(on_loopback())
        except MissingError as why:
            return Table("Compared with delv", columns, ((str(why).partition(";")[0], "—"),))
        _, ours_one, delv, delv_one = ratios(ways, effort)
    return Table(
        "Compared with delv", columns, ((f"delv {version('delv')}", times((delv - delv_one) / (1 - ours_one))),)
    )


KNOWN: Final = (
    KnownMiss(
        "with queries : bare",
        tuple(SIGNED_BY),
        "the walk, the parser and the signed bytes are Python, and the bare checks are not: the faster an algorithm, "
        "the larger the ratio.",
    ),
)
BENCHMARK = Benchmark("dnssec", "Proving a key", NOTES, measure, known=KNOWN)
