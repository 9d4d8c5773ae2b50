"""The process of libFuzzer: `python -m tests.fuzz.target NAME [libFuzzer's flags and directories]`.

Our modules and the parsers in Python that they call tell libFuzzer where an input leads. Half of all changes are
made by `tests.fuzz.mutate`, where an entry takes JSON; of the others one in a hundred, and the rest by libFuzzer.
"""

import logging
import sys
from random import Random
from typing import Final

import atheris

_PUMPED: Final = 0.01
INSTRUMENTED: Final = ["postroom", "functions", "yaml", "dns", "idna", "ens_normalize"]

with atheris.instrument_imports(include=INSTRUMENTED):
    from tests.fuzz.entries import ENTRIES
    from tests.fuzz.mutate import changed, pumped


def main() -> None:
    """Search, until libFuzzer ends the process: with 0, or because of a finding."""
    program, name, *flags = sys.argv
    entry = ENTRIES[name]
    # What is wrong with an input is told in logs, too; millions of them.
    logging.disable()

    def change(data: bytes, most: int, seed: int) -> bytes:
        random = Random(seed)
        if random.random() < _PUMPED:
            return pumped(data, random, most)
        if entry.is_json and random.random() < 0.5:
            return changed(data, random, entry.seeds)[:most]
        return bytes(atheris.Mutate(data, most))

    atheris.Setup([program, *flags], entry.run, custom_mutator=change)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
