"""The benchmarks: each runs and prints its tables, and the page agrees with them. No test depends on a duration."""

import re
import shutil
from pathlib import Path

import pytest
from benchmarks import __main__ as program
from benchmarks import attack, attacks, bench_chat_index, bench_hostile, bench_start, bench_verify, hostile_texts
from benchmarks.bench_dnssec import HOSTILE, SIGNED_BY
from benchmarks.bench_flow import INBOX_PARTS, PARTS
from benchmarks.bench_peers import PROGRAMS
from benchmarks.bench_status import ROWS as STATUS_ROWS
from benchmarks.harness import TINY, Benchmark, Effort, KnownMiss, Table, marked, over_processes, ratios
from tests.peers import made

ROWS = {
    "verify": [
        f"{key}, {kind}"
        for key in ("RSA-2048", "Ed25519")
        for kind in (
            "text",
            "many members",
            "beyond ASCII",
            "text, spaced",
            "many members, spaced",
            "text and a price",
        )
    ],
    "peers": ["dkimpy (Python)", "signedjson (Python)", *(peer.name for peer in PROGRAMS)],
    "dm3": [f"{way}, {body}" for way in ("secp256k1", "Ed25519", "seal", "open") for body in ("20 B", "1 kB", "10 kB")],
    "dcp": [
        "verify",
        "sign",
        "an authorized request",
        "the reference with native code",
        "the reference as shipped",
        "at the local stack, by the client",
        "in the function, alone",
        "in the function, one of 10 in a batch",
        "the first `status` of a process",
        "the first connect of a process",
        "opening a session",
        "a request alone",
        "one of 10 in a batch",
        "a request of a batch of 10",
        "verify, large integers",
        "verify, millionths",
        "verify, numbers as names",
    ],
    "status": [*STATUS_ROWS],
    "chats": [
        *("1,000", "10,000", "100,000", "1,000,000"),
        *("the last 50", "the clock"),
    ],
    "chat_index": [
        "making : bare",
        "reading : making",
        "reading : using, nothing is new",
        "reading : using, after a new message",
        *(f"{size} before" for size in bench_chat_index.CONVERSATIONS),
    ],
    "flow": [
        *(f"{key}, batch {size}" for key in ("Ed25519", "RSA-2048") for size in (1, 10, 100)),
        *PARTS,
        *INBOX_PARTS,
    ],
    "throughput": ["batch 100", "batch 10"],
    "ijson": ["ijson.parse", "orjson", "jiter", "json"],
    "canonical": ["jcs", "rfc8785"],
    "key_record": ["parse_key_record", "bare", "dkimpy"],
    "dnssec": [*SIGNED_BY, *(f"{algorithm}, warm" for algorithm in SIGNED_BY), *HOSTILE],
    "names": [
        "on chain",
        "off chain",
        "off chain, over new connections",
        "an account's rules",
        "two endpoints : one, wall time",
        "bare posts to two : to one, wall time",
        "two endpoints : one, 10 ms away",
        "a text on chain : one that is kept",
        "SHA-256 of the file",
        "the file in 1 block",
        "the file in 64 blocks",
    ],
    "start": [
        "inbox",
        "dm3",
        "worker",
        "waiting",
        "dead-letters",
        "courier",
        "feedback",
        "mailbox",
        "dm3, pinned names only",
        "dm3, first look-up in ENS",
        "inbox, without Powertools",
        "inbox, every client late",
        "inbox, garbage collected",
        "inbox, nothing compiled",
    ],
    "requests": [
        *(f"{protocol}, batch {batch}" for protocol in ("nlweb", "dm3") for batch in (1, 10, 100)),
        *(f"nlweb, {kind}, batch 10" for kind in ("large", "sent again", "discarded")),
        *(f"batches of {size}" for size in (1, 10, 100)),
    ],
    "pickup": [
        "segments of 10",
        "a chunk",
        "acknowledging",
        "without the head hint",
        "with the head hint",
        "later",
        *(f"nlweb, {size} kB" for size in (2, 20)),
    ],
    "archive": ["in one message", "in every message", "two characters", "in no message", "after a new message"],
    "media": [
        "JPEG",
        "JPEG, progressive",
        "PNG",
        "PNG, 20 frames",
        "WebP",
        "WebP, lossless",
        "WebP, 20 frames",
        "GIF",
        "GIF, 20 frames",
        "AAC",
        "AMR",
    ],
    "memory": ["one sender", "all different senders"],
    "fairness": [
        "the quiet senders",
        "the forged sender",
        "the loud sender",
        "the quiet senders, with invented names",
    ],
    "hostile": [
        *(each.attack for each in attacks.ATTACKS),
        *(f"of {zones:,} zones" for zones in bench_hostile.SIMULATED_ZONES),
        *hostile_texts.TEXTS,
    ],
    "jobs": [
        "a tenth",
        "all",
        "ten times as many",
        "all, half of it one conversation",
        "messages of 5 MB",
        "all : a tenth",
        "ten times as many : all",
        "in chunks",
    ],
}
COUNTED = ("requests", "pickup")
"""Benchmarks with counts and milliseconds instead of ratios."""


def test_every_benchmark_is_run() -> None:
    assert [benchmark.name for benchmark in program.BENCHMARKS] == list(ROWS)


OF_OTHERS = {
    "peers": [peer.name for peer in PROGRAMS],
    "dcp": [
        "the reference with native code",
        "the reference as shipped",
        "opening a session",
        "a request alone",
        "one of 10 in a batch",
    ],
}
"""The rows that have no numbers without software of others."""
OTHERS = ("dm3", "dcp", "status", "names")
"""Benchmarks that also measure software of others, beside `peers`: see test_benchmarks_peers.py."""
NEEDS = {
    "dnssec": [pytest.mark.validators],
    # They ask tools of others for their versions, or pip for packages, and do without.
    "names": [pytest.mark.stack, pytest.mark.tools],
    "peers": [pytest.mark.tools],
    # Each attack takes a local stack of its own.
    "hostile": [pytest.mark.stack, pytest.mark.proof],
    # It starts a Java of its own, and other tests run the job in earlier tiers.
    "jobs": [pytest.mark.stack, pytest.mark.spark, pytest.mark.proof],
}
"""The marks of benchmarks that need more than a local stack, or less."""
EACH = [
    pytest.param(benchmark, id=benchmark.name, marks=NEEDS.get(benchmark.name, [pytest.mark.stack]))
    for benchmark in program.BENCHMARKS
]


def rows_with_a_number(benchmark: str, capsys: pytest.CaptureFixture[str]) -> set[str]:
    """Which of its rows a benchmark prints with a number at their end."""
    program.main([benchmark], TINY)
    printed = capsys.readouterr().out
    unit = "" if benchmark in COUNTED else " ×"
    return {
        row
        for row in ROWS[benchmark]
        if re.search(rf"^\| {re.escape(row)} *\|.* -?[0-9]+\.[0-9]{{2}}{unit}( \| +—)? \|$", printed, re.MULTILINE)
    }


@pytest.mark.parametrize("benchmark", EACH)
def test_a_benchmark_prints_a_number_in_every_row_without_software_of_others(
    benchmark: Benchmark, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    which, starts = shutil.which, bench_start.STARTS

    def found(tool: str, *more: str, **options: str) -> str | None:
        return None if tool in ("cargo", "go", "node", "npm") else which(tool, *more, **options)

    monkeypatch.setattr(made, "BUILD", tmp_path)
    monkeypatch.setattr(shutil, "which", found)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    # Each start is some processes, and those of the other functions differ by the name of a module.
    monkeypatch.setattr(bench_start, "STARTS", {name: starts[name] for name in ("inbox", "dm3")})
    monkeypatch.setattr(bench_start, "COMMAND_LINES", bench_start.COMMAND_LINES[:1])
    expected = set(ROWS[benchmark.name]) - set(OF_OTHERS.get(benchmark.name, ()))
    if benchmark.name == "start":
        expected -= starts.keys() - bench_start.STARTS.keys()
    assert rows_with_a_number(benchmark.name, capsys) == expected


@pytest.mark.parametrize(
    "edit",
    [edit for each in attacks.ATTACKS for edits in each.bounds.values() for edit in edits],
    ids=lambda edit: edit.new,
)
def test_the_bound_that_an_attack_needs_is_where_the_benchmark_takes_it_away(edit: attack.Edit, tmp_path: Path) -> None:
    copy = tmp_path / edit.path
    copy.parent.mkdir(parents=True)
    copy.write_text((attack.ROOT / edit.path).read_text())
    edit.apply(tmp_path)
    assert edit.new in copy.read_text()
    with pytest.raises(ValueError, match="has 0 times"):
        edit.apply(tmp_path)


def test_every_attack_has_a_broken_variant() -> None:
    names = [f"{each.attack}: without {bound}" for each in attacks.ATTACKS for bound in each.bounds]
    assert [broken.name for broken in bench_hostile.BENCHMARK.broken][: len(names)] == names
    assert all(each.bounds and all(each.bounds.values()) for each in attacks.ATTACKS)


@pytest.mark.tools
@pytest.mark.proof
@pytest.mark.parametrize("benchmark", OTHERS)
def test_a_benchmark_prints_a_number_in_every_row_with_software_of_others(
    benchmark: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert rows_with_a_number(benchmark, capsys) == set(ROWS[benchmark])


def test_the_page_names_every_benchmark_and_each_of_its_rows() -> None:
    page = program.PAGE.read_text()
    for benchmark in program.BENCHMARKS:
        assert f"## `{benchmark.name}`: {benchmark.title}\n\n{benchmark.notes}" in page
        for row in ROWS[benchmark.name]:
            assert f"\n| {row} " in page


def test_a_measurement_replaces_its_section_of_the_page(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = program.PAGE.read_text()
    monkeypatch.setattr(program, "PAGE", tmp_path / "benchmarks.md")
    program.PAGE.write_text(before)
    program.main(["key_record", "--write"], TINY)
    after = program.PAGE.read_text()
    assert capsys.readouterr().out.strip() in after
    for name in ROWS:
        section = rf"## `{name}`: .*?(?=\n## `|\n\Z)"
        [was], [then] = (re.findall(section, page, re.DOTALL) for page in (before, after))
        assert name == "key_record" or then == was


def tables_in(section: str) -> list[Table]:
    """The tables of a section of the page."""
    found = re.findall(r"^\|.*\|\n\| -.*\|\n(?:\|.*\|\n?)+", section, re.MULTILINE)
    cells = [
        [[*map(str.strip, line.strip("|").split(" | "))] for line in table.strip().splitlines()] for table in found
    ]
    return [Table("", tuple(columns), tuple(map(tuple, rows))) for columns, _, *rows in cells]


@pytest.mark.parametrize("benchmark", [pytest.param(each, id=each.name) for each in program.BENCHMARKS])
def test_every_goal_that_is_missed_on_the_page_has_its_reason_below(benchmark: Benchmark) -> None:
    page = program.PAGE.read_text()
    [section] = re.findall(rf"^## `{benchmark.name}`: .*?(?=^## `|\Z)", page, re.DOTALL | re.MULTILINE)
    tables = tables_in(section)
    assert benchmark.missed(tables) == []
    cells = [cell for table in tables for row in table.rows for cell in row]
    assert len(re.findall(r"\| +✗ ", section)) == sum(cell.startswith("✗") for cell in cells)
    for miss in benchmark.known:
        assert f"✗ in *{miss.column}*: {miss.why}" in section.replace("\n", " ")
        assert any(miss.column in table.columns and {*miss.rows} <= {row[0] for row in table.rows} for table in tables)


@pytest.mark.parametrize(
    ("known", "missed"),
    [
        ((), ["a row, ours : bare", "another row, ours : bare"]),
        ((KnownMiss("ours : bare", ("a row",), "it is so."),), ["another row, ours : bare"]),
        (
            (KnownMiss("ours", ("a row", "another row"), "it is so."),),
            ["a row, ours : bare", "another row, ours : bare"],
        ),
        ((KnownMiss("ours : bare", ("a row", "another row"), "it is so."),), []),
    ],
)
def test_a_goal_that_is_missed_without_a_known_reason_is_an_error(
    known: tuple[KnownMiss, ...], missed: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cell = marked(2, reached=False)
    table = Table(
        "", ("way", "ours", "ours : bare"), (("a row", "1", cell), ("another row", "1", cell), ("x", "1", "1"))
    )
    monkeypatch.setattr(program, "BENCHMARKS", (Benchmark("one", "One", "Notes.\n", lambda _: [table], known=known),))
    assert program.main([], Effort(rounds=1, turns=1, turn_seconds=0)) == bool(missed)
    printed = capsys.readouterr()
    assert printed.err.splitlines() == [f"one: the goal is missed: {each}" for each in missed]
    assert printed.out.count("it is so.") == len(known)
    assert program.main([], TINY) == 0


@pytest.mark.parametrize("entry", [pytest.param(each, id=each.name) for each in hostile_texts.entries()])
def test_honest_texts_come_as_far_as_the_signature_and_hostile_ones_no_further(entry: hostile_texts.Entry) -> None:
    size = min(entry.most_bytes, 80_000)
    assert len(hostile_texts.honest(size)) == size
    assert entry.read(entry.around(hostile_texts.honest(size))).startswith(entry.ends)
    for text in hostile_texts.TEXTS.values():
        hostile = text(size)
        assert len(hostile) <= size
        reason = entry.read(entry.around(hostile))
        assert reason.startswith(entry.ends) or reason not in ("", "NotQueued")


def test_ratios_are_to_the_first_way() -> None:
    def work(times: int) -> None:
        sum(range(times))

    first, second = ratios([lambda: work(1), lambda: work(1_000_000)], Effort(rounds=3, turns=3, turn_seconds=0))
    assert first == 1
    assert second > 1


@pytest.mark.stack
def test_fresh_processes_measure_the_same_rows_and_share_the_rounds() -> None:
    rows = over_processes(bench_verify.measure_here, Effort(rounds=2, turns=1, turn_seconds=0, processes=2))
    assert [len(row) for row in rows] == [4] * len(ROWS["verify"])
    assert all(ratio > 0 for row in rows for ratio in row)


def test_a_table_is_markdown_with_its_columns_aligned() -> None:
    table = Table("", ("way", "ratio"), (("ours", "1.00 ×"), ("a longer way", "12.00 ×")))
    assert list(table.lines()) == [
        "| way          |   ratio |",
        "| ------------ | ------: |",
        "| ours         |  1.00 × |",
        "| a longer way | 12.00 × |",
    ]
