"""`python -m tests.soak`: the whole flow through crashes and faults, and an audited ledger at the end."""

import argparse
import sys

from tests.soak.report import PAGE, page, show
from tests.soak.soak import Order, soak


def main() -> None:
    """Exit code 0: zeros everywhere; 1: not so."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--messages", type=int, default=20_000)
    parser.add_argument("--minutes", type=float, default=60, help="no message is sent after that")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    chosen = parser.parse_args()
    order = Order(chosen.messages, chosen.minutes, chosen.seed)
    with show(order) as see:
        result = soak(order, see)
    text = page(result)
    print(text)
    print(f"sending took {result.seconds[0]:.0f} s, draining {result.seconds[1]:.0f} s", file=sys.stderr)
    for example in (*result.ledger.examples, *result.findings.problems[:20]):
        print(example, file=sys.stderr)
    if chosen.write:
        PAGE.write_text(text, encoding="utf-8")
    sys.exit(not result.clean)


if __name__ == "__main__":
    main()
