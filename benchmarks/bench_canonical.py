"""`jcs` against the reference and against bare orjson, in one run: what do the proof and its guard cost?

Run: python benchmarks/bench_canonical.py
"""

import timeit
from collections.abc import Callable, Iterable

import orjson
import rfc8785

from postroom.canonical import jcs
from postroom.ijson import JsonValue


def signed_part(**more: JsonValue) -> JsonValue:
    """Make Header and Body of about 2 KB, as senders write them; `more` goes into the Body."""
    return {
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
            "Note": "two pieces, and no oil please",
            "Lines": [
                {"Item": f"item-{i:04}", "Title": "A thing of some length, as titles are", "Count": i}
                for i in range(22)
            ],
            **more,
        },
    }


def measure(ways: Iterable[tuple[str, Callable[[], object]]]) -> None:
    """Print a table: microseconds of the best of nine runs, and the ratio to the first way."""
    base = 0.0
    for name, way in ways:
        number = max(1, timeit.Timer(way).autorange()[0] // 5)
        best = min(timeit.repeat(way, number=number, repeat=9)) / number * 1e6
        base = base or best
        print(f"| {name:<44} | {best:9.2f} µs | {best / base:6.2f} × |")


def main() -> None:
    """Print one table for each kind of value."""
    for title, value in (
        ("ASCII", signed_part()),
        ("text beyond ASCII, names in ASCII", signed_part(Greeting="Zwei Stück, bitte ohne Öl 🤝")),
        ("a name beyond ASCII (reference)", signed_part(Größe="XL")),
        ("a float (reference)", signed_part(Price=12.5)),
    ):
        print(f"\n{title}, {len(jcs(value))} bytes\n")
        measure(
            (
                ("orjson.dumps, names sorted (unsafe)",
                 lambda v=value: orjson.dumps(v, option=orjson.OPT_SORT_KEYS)),
                ("jcs", lambda v=value: jcs(v)),
                ("rfc8785.dumps", lambda v=value: rfc8785.dumps(v)),
            )
        )  # fmt: skip


if __name__ == "__main__":
    main()
