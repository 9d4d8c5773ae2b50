"""The strict parser against others, in one run: how much does refusing what must be refused cost?

Only `ijson.parse` and `json + pairs hook + checks` refuse everything they must; the others are the floor.
Run: python benchmarks/bench_ijson.py
"""

import json
import timeit
from collections.abc import Callable, Iterable

import jiter
import orjson

from postroom import ijson


def envelope() -> bytes:
    """Make an envelope of about 2 KB, as senders write them."""
    return orjson.dumps(
        {
            "🤝": "nlweb.org/MSG:1.0",
            "Header": {
                "From": "any-sender.com",
                "To": "any-receiver.com",
                "Correlation": "125a5c75-cb72-43d2-9695-37026dfcaa48",
                "Timestamp": "2026-12-10T13:45:00.000Z",
                "Subject": "Order@Seller",
                "DKIM": "pk1",
            },
            "Body": {
                "Order": 4711,
                "Paid": True,
                "Note": "Zwei Stück, bitte ohne Öl",
                "Lines": [
                    {"Item": f"item-{i:04}", "Title": "A thing of some length, as titles are", "Count": i}
                    for i in range(14)
                ],
            },
            "Hash": "ee6ca2a43ec05d" + "0" * 50,
            "Signature": "Lw7sQp6zkOGyJ+OzGn+B" + "A" * 324,
        }
    )


def _pairs(pairs: list[tuple[str, object]]) -> dict[str, object]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("duplicate")
    for name in made:
        name.encode()
    return made


def _stdlib(data: bytes) -> object:
    value = json.loads(data, object_pairs_hook=_pairs)
    ijson._check(value, 64)
    json.dumps(value, ensure_ascii=False).encode()  # lone surrogates
    return value


def measure(ways: Iterable[tuple[str, Callable[[], object]]]) -> None:
    """Print a table: microseconds of the best of nine runs, and the ratio to the first way."""
    base = 0.0
    for name, way in ways:
        number = max(1, timeit.Timer(way).autorange()[0] // 5)
        best = min(timeit.repeat(way, number=number, repeat=9)) / number * 1e6
        base = base or best
        print(f"| {name:<44} | {best:9.2f} µs | {best / base:6.2f} × |")


def main() -> None:
    """Print one table for each text."""
    small, many = envelope(), b"[" + b",".join([b'{"a":[1,2.5,{"b":"x"}]}'] * 20_000) + b"]"
    for title, data in (("envelope", small), ("60,000 small containers", many)):
        print(f"\n{title}, {len(data)} bytes\n")
        measure(
            (
                ("orjson.loads (keeps duplicates, unsafe)", lambda d=data: orjson.loads(d)),
                ("jiter, no checks (unsafe)", lambda d=data: jiter.from_json(d, cache_mode="keys")),
                ("jiter + duplicates, no walk (unsafe)",
                 lambda d=data: jiter.from_json(d, catch_duplicate_keys=True, cache_mode="keys")),
                ("ijson.parse", lambda d=data: ijson.parse(d, max_bytes=1 << 20)),
                ("json + pairs hook + checks", lambda d=data: _stdlib(d)),
                ("json.loads (keeps duplicates, unsafe)", lambda d=data: json.loads(d)),
            )
        )  # fmt: skip


if __name__ == "__main__":
    main()
