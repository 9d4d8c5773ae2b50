"""python -m tests.dnssec: what unbound, delv and our own validator say of every case, side by side.

The exit code is 1 where one of them does not say what the table of cases says.
"""

import argparse
import sys
from collections.abc import Sequence

from tests.dnssec.ground import judged
from tests.dnssec.page import MARK, PAGE, results
from tests.dnssec.table import CASES, RECIPES, SECTIONS


def main(arguments: Sequence[str]) -> int:
    """Judge all cases; print the tables, and what is not as it should be."""
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
