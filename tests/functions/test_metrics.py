"""docs/operate/metrics.md names every metric that functions and jobs can write, which of them does, and every alarm."""

import re
from collections import Counter, defaultdict
from pathlib import Path

from tests.aws import TEMPLATE, resources

from postroom.jobs.report import JobReport
from postroom.outbound.delivery import Delivery
from postroom.outbound.notification_sender import NotificationOutcome
from postroom.pipeline.outcomes import ClaimOutcome
from postroom.runtime import mailbox_log_lines

ROOT = TEMPLATE.parent
DOCUMENT = (ROOT / "docs" / "operate" / "metrics.md").read_text(encoding="utf-8")
FUNCTIONS = {
    "inbox": "inbox/app.py", "dm3": "dm3/app.py", "worker": "worker/app.py", "dead-letters": "worker/dead_letters.py",
    "courier": "courier/app.py", "feedback": "courier/feedback.py", "mailbox": "mailbox/app.py", "dcp": "dcp/app.py",
    "waiting": "waiting/app.py",
}  # fmt: skip
FATES = {fate.title() for fate in ClaimOutcome}
CALLS = {
    r'"(\w+)",': lambda name: {name},
    r'"(\w+)" if (?:response|message)\.reason else "(\w+)",': lambda one, other: {one, other},
    r'f"(Refused|MailboxApiRefused|DcpRefused)\{response\.reason\}",': lambda name: {f"{name}…"},
    r"fate\.title\(\),": lambda: FATES,
    # Of the fates only these two have a reason that varies.
    r'f"\{fate\.title\(\)\}\{reason\}",': lambda: {"Discarded…", "Retried…"},
    r"""f"Feedback\{delivery\.name\.title\(\)\.replace\('_', ''\)\}",""": lambda: {
        f"Feedback{delivery.name.title().replace('_', '')}" for delivery in Delivery
    },
    r"""f"Outbox\{delivery\.name\.title\(\)\.replace\('_', ''\)\}",""": lambda: {
        f"Outbox{name}" for name in ("Delivered", "Refused", "GivenUp", "Waiting", "Silent")
    },
    r"""f"Notify\{became\.name\.title\(\)\.replace\('_', ''\)\}",""": lambda: {
        f"Notify{became.name.title().replace('_', '')}" for became in NotificationOutcome
    },
}
"""What may follow `add_metric(` in the functions, and the names it writes: a new form needs a new line here."""

ASK_A_CHAIN = {
    one["Environment"]["Variables"]["POWERTOOLS_SERVICE_NAME"]
    for one in resources("AWS::Serverless::Function").values()
    if "CHAIN_ENDPOINTS_SECRET" in one["Environment"]["Variables"]
}


def written(function: str) -> set[str]:
    code = (ROOT / "functions" / FUNCTIONS[function]).read_text(encoding="utf-8")
    if function in ("mailbox", "dcp"):
        code += Path(mailbox_log_lines.__file__).read_text(encoding="utf-8")
    # Written in one place for all of them.
    names = {"OwnFault", "QuotaExhausted"} if "@reporting_own_faults(" in code else set()
    names |= {"EndpointFailed", "EndpointDisagreed"} if function in ASK_A_CHAIN else set()
    names |= {"Answered", "Refused", "Refused…"} if "log_response(" in code else set()
    for call in re.findall(r"add_metric\((.*)", code):
        [(form, match)] = [(form, match) for form in CALLS if (match := re.match(form, call))]
        names |= CALLS[form](*match.groups())
    return names


def test_every_metric_is_documented_with_who_writes_it_and_no_other() -> None:
    by: dict[str, set[str]] = defaultdict(set)
    for function in FUNCTIONS:
        for name in written(function):
            # DCP is a part of the mailbox API, and so are its metrics.
            by[name].add("mailbox" if function == "dcp" else function)
    for job in ("compact", "expire"):
        told = JobReport(job, 0, 0, dry_run=False, counts=Counter()).as_emf("postroom")
        for name in told.keys() - {"_aws", "service"}:
            by[name].add(job)
    # Some that are written together have one row.
    row = re.compile(r"^\| (`[A-Z]\w+…?`(?:, `[A-Z]\w+`)*) \| ([a-z0-9, -]+) \|", re.MULTILINE)
    rows = [(name, who) for names, who in row.findall(DOCUMENT) for name in re.findall(r"`(\w+…?)`", names)]
    assert {name: set(who.split(", ")) for name, who in rows if not name.endswith("Alarm")} == by


def test_every_function_file_is_looked_at() -> None:
    said = {path.relative_to(ROOT / "functions") for path in (ROOT / "functions").rglob("*.py")}
    assert {str(path) for path in said if "@metrics.log_metrics" in (ROOT / "functions" / path).read_text()} == set(
        FUNCTIONS.values()
    )


def test_every_alarm_is_documented_and_no_other() -> None:
    assert set(re.findall(r"^\| `(\w+Alarm)`", DOCUMENT, re.MULTILINE)) == set(resources("AWS::CloudWatch::Alarm"))
