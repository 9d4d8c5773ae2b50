"""The sample by a tool: the committed record reaches its goal, and a fault is put where it belongs."""

from dataclasses import replace

import pytest
from tests.mutants import page
from tests.mutants.by_tool import record
from tests.mutants.by_tool.record import Fault, Record
from tests.mutants.listed import ROOT

FAULT = Fault("layers/postroom/postroom/net/x.py", 5, "ReplaceEqual", ("if a == b:",), ("if a != b:",))


def test_at_least_nineteen_of_twenty_faults_of_the_sample_were_found() -> None:
    sample = record.read()
    assert len(sample.faults) >= 400
    assert sample.found >= len(sample.faults) * record.SHARE


def test_a_fault_that_no_test_finds_has_a_reason() -> None:
    assert record.read().open == []


def test_a_fault_that_no_test_finds_can_still_be_put_into_its_module() -> None:
    for fault in record.read().faults:
        if not fault.is_found:
            assert fault.apply((ROOT / fault.path).read_text(encoding="utf-8"))


def test_a_fault_is_put_at_the_nearest_of_equal_lines() -> None:
    lines = ["if a == b:", "    c", "", "", "", "if a == b:", "    d"]
    assert FAULT.apply("\n".join(lines)).split("\n") == [*lines[:5], "if a != b:", "    d"]


def test_a_fault_of_several_lines_replaces_all_of_them() -> None:
    fault = Fault("layers/postroom/postroom/net/x.py", 1, "ExchangeChecks", ("a", "b"), ("b", "a"))
    assert fault.apply("0\na\nb\nc") == "0\nb\na\nc"


def test_a_fault_whose_lines_are_gone_is_refused() -> None:
    with pytest.raises(LookupError, match="if a == b"):
        FAULT.apply("if a == c:\n")


def test_the_page_lists_what_was_found_and_what_was_not_with_the_reason() -> None:
    found = Fault(
        "layers/postroom/postroom/net/y.py", 7, "AddNot", ("if a:",), ("if not a:",), by="tests/net/test_y.py"
    )
    missed = replace(FAULT, by="", reason="Both are the same.")
    said = page.by_tool(Record(45, "0123abcd", 2_000, [found, missed]))
    assert "2 faults at 2,000 places, seed 45, drawn at `0123abcd`; 1 found, which are 50.0%." in said
    assert "| `net` | 2 | 1 |" in said
    assert "| `AddNot` | 1 | 1 |\n| `ReplaceEqual` | 1 | 0 |" in said
    assert "`if a == b:` → `if a != b:` | Both are the same. |" in said
