"""The page docs/evidence/fuzz.md: entries, properties, results of a search, and bugs that were fixed."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from benchmarks.harness import Table
from tests.fuzz.entries import ENTRIES
from tests.fuzz.mutate import CHANGES, REPETITIONS
from tests.fuzz.search import MEMORY_MB, TIMEOUT_SECONDS, Outcome

PAGE: Final = Path(__file__).parent.parent.parent / "docs" / "evidence" / "fuzz.md"

_INTRODUCTION: Final = f"""\
# Fuzzing

Which parsers are fuzzed, which properties hold for each, and what was found, for anyone who reviews the security of
postroom or changes a parser.

    make fuzz MINUTES=60

searches for inputs that break a parser, with [atheris](https://github.com/google/atheris), which is guided by code
coverage. `ENTRY=name` searches one entry; `KEEP=1` adds a small part of the inputs that reached new code to
`tests/fuzz/corpus`.

Every entry takes any bytes, and holds for them: an answer or a named refusal, never another exception. A search gives
each input {MEMORY_MB} MB and {TIMEOUT_SECONDS} s by the clock on the wall: under instruments, on a machine with others
on it, what takes one second takes many. And each entry holds what is listed below.

The same entries run in the tests, for what is known, and for changes and repetitions of it that a printed seed selects.
{CHANGES} changes and {REPETITIONS} repetitions are the usual numbers of an entry: `make test` tries a tenth of
them, `make test-all` a third, `make proof` ten times as many. atheris has wheels for Linux on x86-64; elsewhere, these
tests are all there is. The input of a finding is in `build/fuzz/NAME/findings`, and
`.venv/bin/python -m tests.fuzz.target NAME FILE` runs it.
"""

_COLUMNS: Final = """\
*Edges* and *features* are libFuzzer's measures of what its corpus reaches, in our modules and in the parsers in Python
that they call. *Lines* are those of the modules that the entry aims at, run by its seeds and its corpus; the others
belong to what an entry does not ask for. *Findings* ended a search each; what they were stands below. An easy parser's
search ends after a million executions. Those of all searches of an entry add up, and its parser may have changed in
between. How many a second there were is said of a machine with much else to do.
"""

_MENDED: Final = """\
## What was found and mended

- **A manifest of 16 kB took four seconds.** For each token PyYAML looks at every bracket that is open. Brackets and
  braces may now stand 16 deep in each other (`manifest_yaml`).
- **One claim with a member of another type took its whole batch along**: a list as id cannot be a key of a dict.
  A claim is now not one of ours unless its members have their types (`queued_claims`).
- **Other errors were raised than was said**: for queue messages that are not objects or nest very deeply, and for keys
  of a delivery service that are not text. A secret without any encryption key was taken (`queued_claims`,
  `queue_messages`, `stored_keys`).
- **131 kB of YAML took longer than ten seconds** under the instruments; without them 1.3 s, in proportion to its
  length. Nothing was to be mended: the registry is stored as JSON. The entry takes 32 kB now (`registry_document`).
- **NaN was `NotJson` where a name occurs twice behind it, and `NotIJson` by itself**: the whole text was tried once
  more with NaN allowed. What is looked at now is where the parser stopped (`ijson`).
- **A keystore whose n of scrypt is too large for its r was a lack of memory**: OpenSSL refuses n = 2^16 with r = 1,
  and the library says that as `MemoryError`. Now it is `KeystoreError` before any work (`keystores`).
- **A member name that is half of a surrogate pair ended the run of the mailbox API** if its value was a large integer:
  the refusal names the member, and could not be written. Anybody could send this to `/dcp` (`dcp_guardian`).
- **A message of 131 kB took longer than ten seconds** under the instruments: the entry signs it in six forms, and posts
  each twice. Without them, each took a tenth of a second. The entry takes 32 kB now (`dcp_guardian`).

A reader found what the search had not: a JSON text of 132 kB whose last string does not end took 19 s, a DNS answer of
65 kB with thousands of sets two minutes, for both took time that grew with the square. The entries had taken shorter
inputs than the parsers do. Now parts of inputs are repeated, up to many kilobytes. And `dcp_guardian` never came to
what an owner authorized: it posted each request without authorization before, which used up the nonce.
"""


def table(outcomes: Mapping[str, Outcome]) -> Iterator[str]:
    """What searches came to, in Markdown."""
    rows = [_row(name, outcome) for name, outcome in outcomes.items()]
    total = sum(outcome.executions for outcome in outcomes.values())
    found = sum(len(outcome.findings) for outcome in outcomes.values())
    rows.append(("all", f"{total:,}", "", "", "", "", str(found)))
    columns = ("entry", "executions", "a second", "edges", "features", "lines", "findings")
    return Table("", columns, tuple(rows)).lines()


def _row(name: str, outcome: Outcome) -> tuple[str, ...]:
    rate = f"{outcome.executions / outcome.seconds:,.0f}" if outcome.seconds else ""
    lines = f"{outcome.lines} of {outcome.of}" if outcome.of else ""
    return (
        f"`{name}`", f"{outcome.executions:,}", rate, f"{outcome.edges:,}", f"{outcome.features:,}", lines,
        str(len(outcome.findings)),
    )  # fmt: skip


def page(outcomes: Mapping[str, Outcome]) -> str:
    """The page, by what all searches came to."""
    held = [f"- `{entry.name}`: {entry.holds}" for entry in ENTRIES.values()]
    results = ["## What a search came to", "", _COLUMNS, *table(outcomes), ""]
    return "\n".join([_INTRODUCTION, "## What holds", "", *held, "", *results, _MENDED])
