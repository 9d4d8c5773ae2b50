"""The command line of the benchmarks: `python -m benchmarks [NAME …]` prints tables, `--write` writes the page."""

import argparse
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from benchmarks import (
    bench_archive,
    bench_canonical,
    bench_chat_index,
    bench_chats,
    bench_dcp,
    bench_dm3,
    bench_dnssec,
    bench_fairness,
    bench_flow,
    bench_hostile,
    bench_ijson,
    bench_jobs,
    bench_key_record,
    bench_media,
    bench_memory,
    bench_names,
    bench_peers,
    bench_pickup,
    bench_requests,
    bench_start,
    bench_status,
    bench_throughput,
    bench_verify,
)
from benchmarks.harness import MISSED, NORMAL, TINY, Benchmark, Effort, Table
from tests.contents import with_contents

BENCHMARKS: Final = tuple(
    module.BENCHMARK
    for module in (
        bench_verify,
        bench_peers,
        bench_dm3,
        bench_dcp,
        bench_status,
        bench_chats,
        bench_chat_index,
        bench_flow,
        bench_throughput,
        bench_ijson,
        bench_canonical,
        bench_key_record,
        bench_dnssec,
        bench_names,
        bench_start,
        bench_requests,
        bench_pickup,
        bench_archive,
        bench_media,
        bench_memory,
        bench_fairness,
        bench_hostile,
        bench_jobs,
    )
)
PAGE: Final = Path(__file__).parent.parent / "docs" / "evidence" / "benchmarks.md"

NOT_SEEN: Final = "NOT SEEN"
_INTRODUCTION: Final = """\
# Benchmarks

How fast postroom is compared with the libraries that it uses and with alternatives, and how many AWS requests a message
takes, for anyone who changes the code or plans a deployment.

    make bench

measures these tables on your machine, which takes about an hour; `make bench WRITE=1` writes this page, and
`.venv/bin/python -m benchmarks verify --write` writes one section.

Every number is a ratio of two times that were measured side by side in one run. The exceptions: `requests` and `pickup`
have counts, `fairness` is simulated, and the milliseconds of `start` are calculated from its ratios. The variants of a
benchmark run in short turns, one after the other, for several rounds. Each round keeps the best turn of each variant,
and the tables show the median of the rounds. `verify`, `dm3`, `dcp`, `media` and `status` show the median of seven new
processes (`peers`, `flow` and `dnssec` of three, `throughput` of two), because such times depend on where code and data
are in memory. A round of `throughput` has one turn of each variant, and `jobs` has one round. Ratios of such small
times still differ between machines and Python versions, and by a few hundredths from run to run. ✗ marks a goal that
is not reached; below the tables stands why. If another one is missed, the command ends with an error.
"""


def report(benchmark: Benchmark, tables: Iterable[Table]) -> Iterator[str]:
    """The section of one benchmark, line by line, in Markdown."""
    yield f"## `{benchmark.name}`: {benchmark.title}"
    yield ""
    yield from benchmark.notes.splitlines()
    for table in tables:
        yield ""
        if table.title:
            yield f"**{table.title}**"
            yield ""
        yield from table.lines()
    for miss in benchmark.known:
        yield ""
        yield from textwrap.wrap(f"{MISSED} in *{miss.column}*: {miss.why}", 120)


def main(arguments: Sequence[str] | None = None, effort: Effort = NORMAL) -> int:
    """Run the named benchmarks, or all.

    Returns 1 if one misses a goal and says no reason, or does not see what is broken.
    """
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Print ratios of times, and counts of AWS requests."
    )
    names = [benchmark.name for benchmark in BENCHMARKS]
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"any of {', '.join(names)}; default: all")
    parser.add_argument(
        "--broken", action="store_true", help="break what each of them must see, and tell whether it sees it"
    )
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}; with names, only their sections")
    chosen = parser.parse_args(arguments)
    for name in chosen.names:
        if name not in names:
            parser.error(f"there is no benchmark {name!r}; there are {', '.join(names)}")
    measured = [benchmark for benchmark in BENCHMARKS if not chosen.names or benchmark.name in chosen.names]
    if chosen.broken:
        variants = (broken for benchmark in measured for broken in benchmark.broken)
        # Each as it is played: all of them take half an hour.
        seen = _printed(f"{each.name}: {'seen' if each.is_seen(effort) else NOT_SEEN}" for each in variants)
        return 1 if NOT_SEEN in seen else 0
    missed = []
    for benchmark in measured:
        tables = benchmark.measure(effort)
        section = _printed(report(benchmark, tables))
        if chosen.write:
            PAGE.write_text(_with(PAGE.read_text(), benchmark.name, section))
        missed += [f"{benchmark.name}: the goal is missed: {each}" for each in benchmark.missed(tables)]
    if not missed or effort == TINY:
        return 0
    print(*missed, sep="\n", file=sys.stderr)
    return 1


def _with(page: str, name: str, section: str) -> str:
    """The page with a section replaced or added."""
    found = re.finditer(r"^## `(\w+)`: .*?(?=^## `|\Z)", page, re.DOTALL | re.MULTILINE)
    sections = {each[1]: each[0] for each in found}
    sections[name] = section
    in_order = [sections[benchmark.name] for benchmark in BENCHMARKS if benchmark.name in sections]
    return with_contents("\n\n".join(part.strip() for part in (_INTRODUCTION, *in_order)) + "\n")


def _printed(lines: Iterable[str]) -> str:
    """The lines as one text, which is printed, too."""
    printed = []
    for line in lines:
        print(line, flush=True)
        printed.append(line)
    print()
    return "\n".join([*printed, ""])


if __name__ == "__main__":
    sys.exit(main())
