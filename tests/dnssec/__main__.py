"""The command line of the DNSSEC cases (`python -m tests.dnssec`): verdicts of unbound, delv and our own validator.

The exit code is 1 if a verdict differs from the expected one.
"""

import argparse
import sys
from collections.abc import Sequence

from tests.dnssec.ground import judged
from tests.dnssec.page import MARK, PAGE, results
from tests.dnssec.table import CASES, RECIPES, SECTIONS


def main(arguments: Sequence[str]) -> int:
    """Run all cases; print the tables, and the unexpected verdicts."""
    parser = argparse.ArgumentParser(prog="python -m tests.dnssec")
    parser.add_argument("--write", action="store_true", help=f"write the tables to {PAGE.name}")
    given = parser.parse_args(arguments)
    with judged(RECIPES, CASES) as judging:
        verdicts = {label: found.result() for label, found in judging.items()}
    text = results(SECTIONS, verdicts)
    print(text)
    if given.write:
        introduction = PAGE.read_text(encoding="utf-8").partition(MARK)[0]
        PAGE.write_text(introduction + MARK + text, encoding="utf-8")
    wrong = [f"{label}: {what}" for label, said in verdicts.items() for what in said.unlike(CASES[label])]
    print(*wrong, sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
