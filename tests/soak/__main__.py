"""The command line of the soak test: `python -m tests.soak`."""

import argparse
import sys

from tests.soak.report import PAGE, page, show
from tests.soak.soak import Order, soak


def main() -> None:
    """Run the soak test. Exit code 0: no problems; 1: there are some."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--messages", type=int, default=20_000)
    parser.add_argument("--minutes", type=float, default=60, help="stop sending after this time")
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
