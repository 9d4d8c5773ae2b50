"""`postroom audit`: compare what is stored with what was accepted. It only reads."""

import time
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated, BinaryIO, Final

import typer

from postroom.cli.deployment import DeploymentOptions
from postroom.cli.exits import Exit, UsageFault
from postroom.cli.inputs import AsJson, open_input
from postroom.cli.open_deployment import OpenDeployment
from postroom.cli.output import note, print_json, print_table
from postroom.cli.terminal import print_line
from postroom.core.ijson import JsonValue

if TYPE_CHECKING:
    from postroom.storage.audit.findings import AuditOutcome, Findings

_SHOWN: Final = 20
"""Findings shown of one problem; --json shows all."""
_MOST_HOURS: Final = 88_000
"""CloudWatch keeps logs for ten years at most."""
_MEANING: Final = {
    "filed": "live, not acknowledged yet",
    "acknowledged": "its owner has it",
    "forwarded": "forwarded to a queue or bus",
    "expired": "expired, not deleted yet",
    "discarded": "for a reason, see below",
    "copy": "a copy of a message",
    "forgotten": "too old to be remembered",
    "waiting": "in the queues of the worker",
    "lost": "nowhere",
}


def audit(
    ledger: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Compare with this log of the inbox (JSON Lines; - is standard input)."),
    ] = None,
    since: Annotated[
        float | None,
        typer.Option(metavar="HOURS", help="Compare with the inbox's log of the last HOURS.", min=0, max=_MOST_HOURS),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Only check that messages' bytes exist, without reading them.")
    ] = False,
    *,
    deployment: DeploymentOptions,
    as_json: AsJson = False,
) -> None:
    """Find accepted messages that are lost, or stored twice.

    It only reads: both tables, and each stored message. On AWS this costs some 2 cents for a million messages that
    arrived in batches of a hundred, 40 cents for single ones; --quick does not read the messages.

    Exit code 4: there are problems. docs/operate/audit.md explains each.
    """
    if ledger is not None and since is not None:
        raise UsageFault("--ledger and --since both give the log to compare with: use one of them")
    with nullcontext() if ledger is None else open_input(ledger) as file:
        opened = deployment.open()
        findings = _audit(opened, file, since, read_bytes=not quick)
    if as_json:
        print_json(_described(findings))
    else:
        _print(findings)
    if not findings.clean:
        raise typer.Exit(Exit.PROBLEMS)


def _audit(opened: OpenDeployment, ledger: BinaryIO | None, since: float | None, *, read_bytes: bool) -> "Findings":
    from postroom.storage.audit.audit import audit as judge
    from postroom.storage.audit.collection import collect_evidence
    from postroom.storage.mail.inbox_log import read_ledger

    now, retain_seconds = time.time(), int(opened.output("RetainSeconds"))
    # Up to now, not further: the queues are read after this moment, and contain every claim that waits.
    lines = ledger if since is None else _inbox_log(opened, since=now - since * 3600, until=now)
    evidence = collect_evidence(
        opened.storage.audited_store, now=int(now), retain_seconds=retain_seconds, read_bytes=read_bytes
    )
    findings = judge(evidence, None if lines is None else read_ledger(lines))
    if (since or ledger) and not any((findings.accepted or {}).values()):
        hint = "the inbox's log has no messages of that time; LogLevel must be INFO"
        if ledger:
            hint = "the ledger has no messages: it must be the inbox's log, with only JSON on each line"
        note(hint)
    return findings


def _inbox_log(opened: OpenDeployment, *, since: float, until: float) -> Iterator[str]:
    """The inboxes' log lines of the messages that they queued. `since`, `until`: epoch seconds."""
    from postroom.storage.mail.inbox_log import logged_lines

    logs, times = opened.clients("logs"), {"since_ms": int(since * 1000), "until_ms": int(until * 1000)}
    for function in ("InboxFunction", "Dm3Function"):
        yield from logged_lines(logs, f"/aws/lambda/{opened.output(function)}", **times)


def _described(findings: "Findings") -> JsonValue:
    from postroom.storage.audit.problems import AuditProblem

    evidence = findings.evidence
    return {
        "clean": findings.clean,
        "accepted": None if findings.accepted is None else _by_end(findings.accepted),
        "rows": _by_end(findings.rows),
        "discarded": dict(findings.discarded),
        "synchronous": {"answered": findings.answered, "unanswered": findings.unanswered},
        "feedback": {"settled": findings.feedback_settled, "begun": findings.feedback_begun},
        "queued": {"claims": evidence.claims_waiting, "courier_messages": evidence.courier_waiting},
        "not_in_ledger": findings.not_in_ledger,
        "orphans": {"objects": evidence.orphans, "bytes": evidence.orphan_bytes},
        "problems": {str(problem): findings.count(problem) for problem in AuditProblem},
        "findings": [
            {"problem": str(each.problem), "where": each.where, "detail": each.detail} for each in findings.problems
        ],
    }


def _by_end(counted: "Mapping[AuditOutcome, int]") -> dict[str, JsonValue]:
    from postroom.storage.audit.findings import AuditOutcome

    return {str(end): counted.get(end, 0) for end in AuditOutcome}


def _print(findings: "Findings") -> None:
    from postroom.storage.audit.findings import ENDS_OF_ROWS, AuditOutcome
    from postroom.storage.audit.problems import AuditProblem

    accepted, evidence = findings.accepted, findings.evidence
    print_table(
        ("", "accepted", "rows", ""),
        [
            (
                str(end),
                "" if accepted is None else str(accepted.get(end, 0)),
                str(findings.rows.get(end, 0)) if end in ENDS_OF_ROWS else "",
                _MEANING[end],
            )
            for end in AuditOutcome
        ],
    )
    print_line()
    for reason, count in sorted(findings.discarded.items()):
        print_line(f"discarded, {reason}: {count}")
    print_line(f"synchronous requests: {findings.answered} answered, {findings.unanswered} without a remembered reply")
    settled, begun = findings.feedback_settled, findings.feedback_begun
    print_line(f"Feedback: {settled} settled, {begun} begun")
    print_line(f"queued for the worker: at most {evidence.claims_waiting}, by SQS's approximate count")
    print_line(f"queued for the courier: {evidence.courier_waiting}")
    print_line(f"objects that no row points to: {evidence.orphans} ({evidence.orphan_bytes} bytes)")
    if accepted is not None:
        noted = findings.count(AuditProblem.NOT_IN_LEDGER)
        print_line(f"rows that are not in the ledger: {findings.not_in_ledger}, {noted} of them from its time")
    print_line()
    _print_problems(findings)
    if accepted is None:
        print_line("not compared with the inbox's log: use --since HOURS to read it, or --ledger FILE for a copy")


def _print_problems(findings: "Findings") -> None:
    from postroom.storage.audit.problems import AuditProblem

    print_table(
        ("problem", "found", ""),
        [(str(problem), str(findings.count(problem)), problem.sentence) for problem in AuditProblem],
    )
    for problem in AuditProblem:
        those = [finding for finding in findings.problems if finding.problem is problem]
        if those:
            print_line()
            print_line(f"{problem}: {problem.remedy}")
        for each in those[:_SHOWN]:
            print_line(f"  {each.where}{': ' if each.detail else ''}{each.detail}")
        if len(those) > _SHOWN:
            print_line(f"  and {len(those) - _SHOWN} more; --json shows all")
    print_line()
    print_line("nothing is wrong" if findings.clean else f"{findings.wrong} problems")
