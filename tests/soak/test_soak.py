"""A small soak, as CI runs it; and the ledger itself: whatever it must find, it finds."""

import os
import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from math import inf
from random import Random

import pytest
from tests.soak.dcp_ledger import DcpProblem
from tests.soak.faults import Fault
from tests.soak.ledger import Discard, Evidence, Ledger, Problem
from tests.soak.memory import emulator_pid
from tests.soak.messages import SoakMessage
from tests.soak.mix import DcpKind, Kind, deaths, over_dcp, plan
from tests.soak.posting import Answer, read_answer
from tests.soak.report import INTRODUCTION, PAGE, name_of, page
from tests.soak.soak import Order, soak
from tests.tiers import amount

from postroom.protocols.nlweb.reasons import KEY_NOT_FOUND, SIGNATURE_INVALID, TIMESTAMP_TOO_OLD
from postroom.storage.audit.problems import AuditProblem as StoreProblem

MESSAGES = amount(quick=1_000, all=1_000, proof=2_000)
"""Of a thousand, some ten are handed out twice: with fewer, there might be none."""
TAKEN = Answer(200)
GOOD = Evidence(
    filed={"valid": [b"text"]},
    unreadable=0,
    discards={"claim": Discard(str(SIGNATURE_INVALID), sent=True)},
    claims={"valid": ["another"], "forged": ["claim"]},
    replies=frozenset({"sync"}),
    feedback={"forged": 1},
)


@pytest.mark.xdist_group("soak")
@pytest.mark.stack
def test_a_soak_finds_no_problems() -> None:
    result = soak(Order(MESSAGES, minutes=inf, seed=5), lambda _sight: None)
    assert +result.ledger.problems == Counter(), result.ledger.examples
    assert result.clean, result.findings.problems
    assert result.ledger.kinds.total() == MESSAGES
    assert all(result.ledger.kinds[kind] for kind in Kind)
    assert +result.over_dcp.problems == Counter(), result.over_dcp.examples
    assert all(result.over_dcp.kinds[kind] for kind in DcpKind)
    assert all(result.killed.values()), result.killed
    assert all(result.counts[fault] for fault in Fault)
    assert result.counts["redelivered"]
    assert result.counts["handed out twice by the queue"]
    assert all(f"| {problem} " in page(result) for problem in (*Problem, *DcpProblem))


def test_the_page_shows_a_large_soak_with_all_of_todays_checks() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text.startswith(INTRODUCTION)
    # The large run was made before requests over DCP were a part of the test, and both before the audit looked for
    # messages that listings leave out.
    text, _, newest = text.partition("\n## A run whose audit looks for hidden messages\n")
    large, _, with_dcp = text.partition("\n## A run with requests over DCP\n")
    figures, over_dcp = read_rows(large), read_rows(with_dcp or large)
    assert [it for it in (*Problem, *DcpProblem) if over_dcp[it] != 0] == []
    assert [it for it in DcpKind if over_dcp[it] == 0] == []
    assert over_dcp["mailbox: killed (SIGKILL)"] > 0
    assert figures["messages with a final answer"] >= 200_000
    assert figures["accepted: lost"] == 0
    assert [it for it in Problem if figures[it] != 0] == []
    grave = [it for it in StoreProblem if it.grave]
    assert [it for it in grave if it is not StoreProblem.HIDDEN and figures[name_of(it)] != 0] == []
    audited = read_rows(newest or large)
    assert audited["messages with a final answer"] >= 2_000
    assert [it for it in grave if audited[name_of(it)] != 0] == []
    no_final_answer = figures["inbox: died before it answered; resent"] + figures["inbox: answered 503; resent"]
    assert sum(figures[name_of(it)] for it in StoreProblem if not it.grave) <= no_final_answer
    assert [it for it in Kind if figures[it] == 0] == []
    assert [it for it in Fault if figures[f"AWS calls: {it}"] == 0] == []
    assert figures["worker: killed (SIGKILL)"] >= 100


def read_rows(text: str) -> dict[str, int]:
    """The first figure of each row of a page's tables."""
    rows = re.findall(r"^\| (.*?) +\| +([0-9,]+) \|", text, re.MULTILINE)
    return {name: int(figure.replace(",", "")) for name, figure in rows}


def ledger() -> Ledger:
    """What `GOOD` is the evidence of."""
    made = Ledger(reply="reply")
    for kind, identity, answer in (
        (Kind.VALID, "valid", TAKEN),
        (Kind.REPLAYED, "valid", TAKEN),
        (Kind.FORGED, "forged", TAKEN),
        (Kind.STALE, "stale", Answer(400, str(TIMESTAMP_TOO_OLD))),
        (Kind.SYNCHRONOUS, "sync", Answer(200, body="reply")),
    ):
        made.answered(SoakMessage(kind, identity, b"text", b""), answer)
    return made


def test_correct_evidence_is_no_problem() -> None:
    found = ledger()
    found.audit(GOOD)
    assert +found.problems == Counter()


def test_a_reply_that_the_store_did_not_take_is_no_problem_if_the_inbox_said_so() -> None:
    found = ledger()
    found.audit(replace(GOOD, replies=frozenset(), given_up=frozenset({"sync"})))
    assert +found.problems == Counter()


OTHER = Discard(str(KEY_NOT_FOUND), sent=True)


@pytest.mark.parametrize(
    ("problem", "evidence"),
    [
        (Problem.LOST, replace(GOOD, filed={})),
        (Problem.LOST, replace(GOOD, discards={})),
        (Problem.LOST, replace(GOOD, claims={})),
        (Problem.TWICE, replace(GOOD, filed={"valid": [b"text", b"text"]})),
        (Problem.ALTERED, replace(GOOD, filed={"valid": [b"another"]})),
        (Problem.UNREADABLE, replace(GOOD, unreadable=1)),
        (Problem.UNEXPECTED, replace(GOOD, filed={**GOOD.filed, "forged": [b"text"]})),
        (Problem.UNEXPECTED, replace(GOOD, filed={**GOOD.filed, "sync": [b"text"]})),
        (Problem.UNKNOWN, replace(GOOD, filed={**GOOD.filed, "stale": [b"text"]})),
        (Problem.WRONG_REASON, replace(GOOD, discards={"claim": OTHER})),
        (Problem.WRONGLY_DISCARDED, replace(GOOD, discards={**GOOD.discards, "another": OTHER})),
        (Problem.NO_FEEDBACK, replace(GOOD, discards={"claim": Discard(str(SIGNATURE_INVALID), sent=False)})),
        (Problem.FEEDBACK_TWICE, replace(GOOD, feedback={"forged": 2})),
        (Problem.WRONG_FEEDBACK, replace(GOOD, feedback={"forged": 1, "valid": 1})),
        (Problem.WRONG_FEEDBACK, replace(GOOD, feedback={"forged": 1, "nobody's": 1})),
        (Problem.NOT_REMEMBERED, replace(GOOD, replies=frozenset())),
        (Problem.UNANSWERED, replace(GOOD, unanswered=1)),
        (Problem.WAITING, replace(GOOD, waiting=1)),
        (Problem.DIED, replace(GOOD, died=1)),
    ],
)
def test_wrong_evidence_is_found(problem: Problem, evidence: Evidence) -> None:
    found = ledger()
    found.audit(evidence)
    assert found.problems[problem] == 1


@pytest.mark.parametrize(
    ("kind", "answer", "problem"),
    [
        (Kind.VALID, Answer(401, str(SIGNATURE_INVALID)), Problem.WRONGLY_REFUSED),
        (Kind.STALE, TAKEN, Problem.WRONGLY_TAKEN),
        (Kind.TOO_LARGE, Answer(400, str(TIMESTAMP_TOO_OLD)), Problem.WRONG_ANSWER),
        (Kind.SYNCHRONOUS, Answer(200, body="another"), Problem.WRONG_ANSWER),
    ],
)
def test_a_wrong_answer_is_found(kind: Kind, answer: Answer, problem: Problem) -> None:
    found = Ledger(reply="reply")
    found.answered(SoakMessage(kind, "it", b"text", b""), answer)
    assert found.problems == Counter({problem: 1})


def test_every_problem_is_found_by_a_test_above() -> None:
    marks = [test_wrong_evidence_is_found, test_a_wrong_answer_is_found]
    named = {
        value
        for test in marks
        for mark in test.pytestmark  # type: ignore[attr-defined]
        for case in mark.args[1]
        for value in case
        if isinstance(value, Problem)
    }
    assert named == set(Problem)


def test_a_message_answered_not_now_is_posted_again() -> None:
    assert read_answer(Kind.VALID, {"statusCode": 503, "body": "{}"}) is None
    assert read_answer(Kind.DM3, {"statusCode": 200, "body": '{"error": {"code": -32002}}'}) is None
    refused = '{"error": {"code": -32003, "data": {"reason": "SenderNotWanted"}}}'
    assert read_answer(Kind.DM3, {"statusCode": 200, "body": refused}) == Answer(200, "SenderNotWanted")
    assert read_answer(Kind.DM3, {"statusCode": 200, "body": '{"result": "accepted"}'}) == TAKEN
    assert read_answer(Kind.STALE, {"statusCode": 400, "body": '{"reason": "X"}'}) == Answer(400, "X")


def test_a_seed_decides_what_is_sent_and_who_dies() -> None:
    assert plan(1000, Random(1)) == plan(1000, Random(1)) != plan(1000, Random(2))
    assert deaths(1000, 4, Random(1)) == deaths(1000, 4, Random(1))
    assert over_dcp(1000, Random(1)) == over_dcp(1000, Random(1)) != over_dcp(1000, Random(2))
    assert {kind for _, kind in over_dcp(20, Random(1))} == set(DcpKind)
    assert {planned.kind for planned in plan(20, Random(1))} == set(Kind)


# What stands for it here is cheap.
@pytest.mark.stack(tier="quick")
def test_the_emulator_is_found_among_zombie_processes() -> None:
    with (
        subprocess.Popen([sys.executable, "-c", ""]) as dead,
        subprocess.Popen([sys.executable, "-c", "input()", "local/ministack.py"], stdin=subprocess.PIPE) as emulator,
    ):
        os.waitid(os.P_PID, dead.pid, os.WEXITED | os.WNOWAIT)
        assert emulator_pid() == emulator.pid
