"""Benchmark `ijson`: the strict JSON parser, compared with other parsers."""

import json
from collections.abc import Sequence
from functools import partial

import jiter
import orjson
from benchmarks.harness import Benchmark, Effort, Table, compare
from benchmarks.samples import KINDS, envelope

from postroom.core.ijson import parse
from postroom.crypto.rsa_ed25519 import PrivateKey

NOTES = """\
`parse` refuses everything that is not I-JSON. The others show what parsing costs without that: of these, only jiter
with `catch_duplicate_keys` and the standard library with a hook refuse duplicate names, and none refuses integers that
a double cannot represent exactly.
"""

_MANY = b"[" + b",".join([b'{"a":[1,2.5,{"b":"x"}]}'] * 15_000) + b"]"


def measure(effort: Effort) -> Sequence[Table]:
    """A table for each text: the envelopes, and 45,000 small containers."""
    key = PrivateKey.generate("ed25519")
    texts = {f"Envelope: {kind.name}": envelope(kind, key) for kind in KINDS}
    texts[f"45,000 small containers, {len(_MANY):,} bytes"] = _MANY
    return [_compared(title, data, effort) for title, data in texts.items()]


def _compared(title: str, data: bytes, effort: Effort) -> Table:
    ways = (
        ("ijson.parse", partial(parse, data, max_bytes=1 << 20)),
        ("orjson", partial(orjson.loads, data)),
        ("jiter", partial(jiter.from_json, data)),
        ("jiter, catch_duplicate_keys", partial(jiter.from_json, data, catch_duplicate_keys=True)),
        ("json", partial(json.loads, data)),
        ("json, hook for duplicate names", partial(json.loads, data, object_pairs_hook=_unique)),
    )
    return compare(title, ways, effort)


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a name occurs twice")
    return made


BENCHMARK = Benchmark("ijson", "Strict parsing", NOTES, measure)
