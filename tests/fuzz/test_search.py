"""`make fuzz`: what libFuzzer says is read, told and kept."""

import json
import re
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
from tests.fuzz import __main__ as program
from tests.fuzz import corpus, search
from tests.fuzz.entries import ENTRIES
from tests.fuzz.mutate import changed
from tests.fuzz.page import PAGE, page, table
from tests.fuzz.search import Outcome, command, read_log

QUIET = """\
#2\tINITED cov: 3 ft: 3 corp: 1/1b exec/s: 0 rss: 54Mb
#524288\tpulse  cov: 64 ft: 214 corp: 11/99b lim: 4096 exec/s: 174762 rss: 54Mb
#1270182\tDONE   cov: 65 ft: 216 corp: 12/101b lim: 4096 exec/s: 141131 rss: 54Mb
Done 1270182 runs in 9 second(s)
stat::number_of_executed_units: 1270182
stat::average_exec_per_sec:     141131
"""
RAISED = """\
#300\tNEW    cov: 4 ft: 5 corp: 1/1b exec/s: 0 rss: 54Mb

 === Uncaught Python exception: ===
KeyError: 'b\\nc'
Traceback (most recent call last):
KeyError: 'b\\nc'

==25542== ERROR: libFuzzer: fuzz target exited
SUMMARY: libFuzzer: fuzz target exited
stat::number_of_executed_units: 306
"""
SLOW = """\
ALARM: working on the last Unit for 4 seconds
==25550== ERROR: libFuzzer: timeout after 4 seconds
SUMMARY: libFuzzer: timeout
stat::number_of_executed_units: 44
"""
LARGE = """\
==25636== ERROR: libFuzzer: out-of-memory (used: 376Mb; limit: 300Mb)
SUMMARY: libFuzzer: out-of-memory
"""


@pytest.mark.parametrize(
    ("log", "outcome"),
    [
        (QUIET, Outcome(1_270_182, 9, 65, 216)),
        (RAISED, Outcome(306, 9, 4, 5, findings=("KeyError: 'b\\nc'",))),
        (SLOW, Outcome(44, 9, findings=("timeout",))),
        (LARGE, Outcome(0, 9, findings=("out-of-memory",))),
        ("Traceback (most recent call last):\nImportError: none", Outcome(0, 9)),
    ],
    ids=["quiet", "raised", "slow", "large", "broken"],
)
def test_the_outcome_of_a_search_is_read_from_its_log(log: str, outcome: Outcome) -> None:
    assert read_log(log, 9) == outcome


def test_searches_of_one_entry_add_up() -> None:
    first, later = Outcome(10, 1, 5, 6, 7, 8, ("a",)), Outcome(20, 2, 6, 7, findings=("b",))
    assert first.then(later) == Outcome(30, 3, 6, 7, 7, 8, ("a", "b"))


def test_time_memory_and_length_are_bounded_and_known_inputs_are_begun_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "corpus").mkdir()
    (tmp_path / "kept" / "timestamps").mkdir(parents=True)
    monkeypatch.setattr(search, "CORPUS", tmp_path / "kept")
    said = command(ENTRIES["timestamps"], tmp_path, 60)
    assert {"-max_total_time=60", "-timeout=10", "-rss_limit_mb=1024", "-max_len=64"} <= set(said)
    assert said[-2:] == (str(tmp_path / "corpus"), str(tmp_path / "kept" / "timestamps"))


def test_an_unknown_entry_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        program.main(["nothing", "--minutes", "1"])
    assert "there is no entry 'nothing'; there are ijson," in capsys.readouterr().err


def test_nothing_is_searched_without_atheris(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(program, "find_spec", lambda _name: None)
    with pytest.raises(SystemExit):
        program.main(["--minutes", "1"])
    assert "`make fuzz` installs it, on Linux on x86-64" in capsys.readouterr().err


def test_a_finding_sets_the_exit_code_and_is_added_to_the_outcome(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(program, "find_spec", lambda _name: object())
    monkeypatch.setattr(program, "BUILD", tmp_path)
    monkeypatch.setattr(program, "search", lambda *_: read_log(RAISED, 1))
    assert program.main(["timestamps", "--minutes", "1"]) == 1
    assert "FOUND: KeyError" in capsys.readouterr().out
    monkeypatch.setattr(program, "search", lambda *_: read_log(QUIET, 9))
    assert program.main(["timestamps", "--minutes", "1"]) == 0
    assert "| `timestamps` |  1,270,488 |  127,049 |    65 |      216 |       |        1 |" in capsys.readouterr().out


# --- the corpus -------------------------------------------------------------------------------------------------


def test_kept_inputs_belong_to_an_entry_and_are_small() -> None:
    assert {path.name for path in corpus.CORPUS.iterdir()} <= set(ENTRIES)
    for name, entry in ENTRIES.items():
        sizes = [path.stat().st_size for path in corpus.kept(name)]
        assert len(sizes) <= corpus.MOST_FILES
        assert sum(sizes) <= corpus.MOST_BYTES
        assert max(sizes, default=0) <= entry.max_bytes


@pytest.mark.proof
def test_the_smallest_of_inputs_with_the_same_coverage_is_kept(tmp_path: Path) -> None:
    for name, data in {"a": b"no time", "b": b"nor this", "c": b"2026-02-30T09:30:00Z"}.items():
        (tmp_path / name).write_bytes(data)
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.corpus", "schema_codes", str(tmp_path)], stdout=subprocess.PIPE, check=True
    )
    reached: corpus.Reached = json.loads(done.stdout)
    assert 0 < reached["lines"] <= reached["of"]
    assert reached["files"] == []


def test_newly_kept_inputs_replace_the_old_ones(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(corpus, "CORPUS", tmp_path / "corpus")
    for data in (b"one", b"two"):
        (tmp_path / "found").write_bytes(data)
        corpus.keep("entry", [str(tmp_path / "found")])
        assert [path.read_bytes() for path in corpus.kept("entry")] == [data]


def test_changes_depend_on_the_random_source_alone() -> None:
    for entry in ENTRIES.values():
        first, again = ([changed(entry.seeds[0], Random(seed), entry.seeds) for seed in range(20)] for _ in range(2))
        assert first == again
        assert len(set(first)) > 1


# --- the page ---------------------------------------------------------------------------------------------------


def test_the_page_says_what_each_entry_holds_and_what_its_search_came_to() -> None:
    written = PAGE.read_text()
    for entry in ENTRIES.values():
        assert f"\n- `{entry.name}`: {entry.holds}\n" in written
        assert written.count(f"\n| `{entry.name}` ") == 1
    heads = [line for line in page({}).splitlines() if line.startswith("#")]
    assert heads == [line for line in written.splitlines() if line.startswith("#")]
    searched = re.findall(r"^\| `?(\w+)`? +\| +([0-9,]+) \|", written, re.MULTILINE)
    executions = {name: int(number.replace(",", "")) for name, number in searched}
    assert executions.keys() == {*ENTRIES, "all"}
    assert executions.pop("all") == sum(executions.values()) >= 10_000_000
    assert all(executions.values())


def test_the_table_ends_with_all_entries_together() -> None:
    outcomes = {"one": Outcome(1000, 2, 3, 4, 5, 6), "two": Outcome(2000, 0, findings=("x",))}
    assert [line.split("|")[1:3] for line in table(outcomes)][2:] == [
        [" `one` ", "      1,000 "],
        [" `two` ", "      2,000 "],
        [" all   ", "      3,000 "],
    ]
