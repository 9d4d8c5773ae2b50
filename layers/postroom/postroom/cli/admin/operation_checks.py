"""Checks of functions, queues, jobs, alarms and dead letters. Values in, checks out."""

from collections.abc import Iterator, Sequence
from typing import Final

from postroom.cli.admin.environment_check import environment_fault
from postroom.cli.admin.findings import (
    Alarm,
    EventSource,
    Function,
    Libraries,
    NamedDeployment,
    QueueLoad,
    RecentMail,
    Stack,
    Subscription,
    ago,
)
from postroom.core.settings import DAY_SECONDS
from postroom.doctor.checks import CheckStatus, DoctorCheck, bad, good, warning

FUNCTIONS: Final = (
    "InboxFunction", "Dm3Function", "WorkerFunction", "WaitingFunction", "MailboxFunction", "DcpFunction",
    "DeadLetterFunction", "CourierFunction", "FeedbackFunction",
)  # fmt: skip
BOUNDS: Final = {
    "InboxFunction": "InboxReservedConcurrency",
    "Dm3Function": "Dm3ReservedConcurrency",
    "MailboxFunction": "MailboxApiReservedConcurrency",
    "DcpFunction": "DcpReservedConcurrency",
}
"""The parameters with the reserved concurrency of each function."""
SOURCES: Final = {
    "ClaimsQueue": "WorkerFunction",
    "RetryQueue": "WorkerFunction",
    "SuspectsQueue": "WorkerFunction",
    "LookUpsQueue": "WorkerFunction",
    "WaitingQueue": "WaitingFunction",
    "NamesQueue": "WaitingFunction",
    "CourierQueue": "CourierFunction",
    "FeedbackQueue": "FeedbackFunction",
}
"""The queues, and the function that reads each."""
DEAD_LETTERS: Final = {"DeadLetterQueue": "WorkerFunction", "CourierDeadLetterQueue": "CourierFunction"}
"""The dead-letter queues, and the function that could not process the messages in each."""
JOBS: Final = {"compact": 1, "expire": 7}
"""The interval of each job in days, as in the template."""

_GRACE_DAYS: Final = 2
"""A run may begin late, and takes some hours. CompactLagAlarm of a new stack needs two days as well."""


def judge_function(place: NamedDeployment, logical: str, stack: Stack, found: Function) -> DoctorCheck:
    """The check of one function: can it run, and is its last deployment complete?"""
    name = f"function {logical}"
    if found.reserved == 0:
        return bad(
            name, None, "its reserved concurrency is 0, so that it never runs", _let_it_run(logical, found, stack)
        )
    if found.state == "Failed" or found.update == "Failed":
        detail = (
            f"its state is {found.state}, and its last update is {found.update}: "
            f"{found.why or found.why_update or 'no reason given'}"
        )
        return bad(name, None, detail, place.deploy)
    if found.state == "Pending" or found.update == "InProgress":
        return DoctorCheck(name, CheckStatus.NOT_CHECKED, "it is being updated", "try again in a minute")
    if found.state == "Inactive":
        return warning(
            name,
            "Lambda made it inactive because it was idle; the next invocation fails, and reactivates it",
            "invoke it once",
        )
    if found.environment is None:
        todo = "allow kms:Decrypt for the function's key, or use other credentials"
        return DoctorCheck(name, CheckStatus.NOT_CHECKED, "your credentials do not allow reading its settings", todo)
    stops = environment_fault(found.environment)
    if stops:
        return bad(name, None, f"it does not start: {stops}", "correct the parameter of the template, and deploy")
    bound = "" if found.reserved is None else f", reserved concurrency {found.reserved}"
    return good(name, f"{found.name} is Active{bound}")


def _let_it_run(logical: str, found: Function, stack: Stack) -> str:
    runs = stack.parameters.get(BOUNDS.get(logical, ""), "0")
    if runs == "0":
        return f"`aws lambda delete-function-concurrency --function-name {found.name}`"
    command = f"`aws lambda put-function-concurrency --function-name {found.name}"
    return f"{command} --reserved-concurrent-executions {runs}`"


def judge_source(place: NamedDeployment, queue: str, found: EventSource | None) -> DoctorCheck:
    """The check of one queue: does its function read it? `found`: the event source mapping; None: there is none."""
    name, function = f"queue {queue}", SOURCES[queue]
    if found is None:
        return bad(
            name,
            None,
            f"{function} does not read it, because the event source mapping is missing; its messages wait",
            place.deploy,
        )
    if found.state == "Enabled":
        return good(name, f"{function} processes it")
    if found.state in ("Disabled", "Disabling"):
        todo = f"`aws lambda update-event-source-mapping --uuid {found.id} --enabled`"
        return bad(name, None, f"its event source mapping is {found.state}; its messages wait", todo)
    return DoctorCheck(
        name, CheckStatus.NOT_CHECKED, f"its event source mapping is {found.state}", "try again in a minute"
    )


def judge_load(queue: str, found: QueueLoad) -> DoctorCheck:
    """The check of the messages of one queue; it only tells how many there are."""
    if not found.waiting and not found.in_work:
        return good(f"messages in {queue}", "none")
    counts = f"{found.waiting} waiting, {found.in_work} being processed or hidden"
    return good(f"messages in {queue}", f"{counts}; {_age(found)}")


def _age(load: QueueLoad) -> str:
    if load.oldest_seconds is None:
        return "the age of the oldest is unknown: no metric of it"
    return f"the oldest came {ago(load.oldest_seconds)}"


def judge_mail(found: RecentMail, now: float) -> DoctorCheck:
    """The check `mail`: the last message, and how many were discarded in the last day, by reason."""
    if found.last is None:
        return good("mail", "no message was judged in the last day")
    reasons = ", ".join(f"{reason} {count}" for reason, count in sorted(found.discarded.items()))
    detail = f"the last message was judged {ago(now - found.last)}"
    return good("mail", f"{detail}; discarded in the last day: {reasons or 'none'}")


# --- jobs --------------------------------------------------------------------------------------------------------


def judge_library(place: NamedDeployment, wanted: Sequence[str], there: Libraries) -> DoctorCheck:
    """The check `jobs library`. `wanted`: the names of what the jobs of this release load, the library first."""
    name, publish = "jobs library", f"`postroom jobs publish {place.option}`"
    missing = [each for each in wanted if each not in there.names]
    if not missing and there.is_ours:
        return good(name, f"{wanted[0]} is published")
    if not missing:
        detail = f"{wanted[0]} is published, but differs from the library here: it is from before or after an upgrade"
        return warning(name, detail, f"{publish}, if this version is the deployed one")
    others = sorted(set(there.names) - {*wanted})
    more = f" and {len(missing) - 1} more objects are" if len(missing) > 1 else " is"
    detail = f"{missing[0]}{more} not published" + (f", but {', '.join(others)}" if others else "")
    if place.is_local:
        return warning(name, f"{detail}; `postroom jobs` does not need it, but Glue would", publish)
    return bad(name, None, f"{detail}: no job can start", publish)


def judge_job(
    place: NamedDeployment, job: str, stack: Stack, aws_name: str, now: float, began: float | None
) -> DoctorCheck:
    """The check of one job. `aws_name`: its name in Glue. `began`: the start of the last completed run; None: none."""
    name, days = f"job {job}", JOBS[job] + _GRACE_DAYS
    why = f"`aws glue get-job-runs --job-name {aws_name}` shows its runs"
    if place.is_local:
        detail = "no run has completed yet" if began is None else f"its last run began {ago(now - began)}"
        return good(name, f"{detail}; here, only `postroom jobs {job} {place.option}` runs it")
    if began is not None and now - began <= days * DAY_SECONDS:
        return good(name, f"its last completed run began {ago(now - began)}")
    if began is not None:
        return warning(name, f"no run has completed since the one that began {ago(now - began)}", why)
    if now - stack.created <= days * DAY_SECONDS:
        return good(name, f"no run has completed yet; the stack was created {ago(now - stack.created)}")
    return bad(name, None, f"no run has completed yet, although the stack was created {ago(now - stack.created)}", why)


# --- alarms and dead letters -------------------------------------------------------------------------------------


def judge_subscriptions(topic: str, found: Sequence[Subscription]) -> DoctorCheck:
    """The check `alarm topic`: does it have a confirmed subscription?"""
    name = "alarm topic"
    confirmed = [it.whom for it in found if it.is_confirmed]
    if confirmed:
        return good(name, f"subscribed: {', '.join(confirmed)}")
    if found:
        whom = ", ".join(it.whom for it in found)
        return warning(
            name, f"nobody receives alarms: the subscription is not confirmed by {whom}",
            "have them follow the link in the confirmation email of SNS (valid for three days), or subscribe again: "
            f"`{_subscribe(topic)}`",
        )  # fmt: skip
    return warning(name, "nobody receives alarms", f"`{_subscribe(topic)}`")


def _subscribe(topic: str) -> str:
    return f"aws sns subscribe --topic-arn {topic} --protocol email --notification-endpoint YOU@YOUR.DOMAIN"


def judge_alarms(place: NamedDeployment, alarms: Sequence[Alarm], stack: Stack, now: float) -> Iterator[DoctorCheck]:
    """The check `alarms`, or one for each alarm that is on."""
    on = [alarm for alarm in alarms if alarm.is_on]
    if not alarms:
        yield bad("alarms", None, "there are none", place.deploy)
    elif not on:
        yield good("alarms", f"none of {len(alarms)} is on")
    for alarm in on:
        name = f"alarm {alarm.name}"
        # A missing report of compaction counts as late, so the alarm of a new stack is on.
        if alarm.name == "CompactLagAlarm" and now - stack.created <= (JOBS["compact"] + _GRACE_DAYS) * DAY_SECONDS:
            yield warning(name, "on, as for every new stack, until compaction has run", "wait for two nights")
        else:
            yield bad(name, None, f"on: {alarm.meaning or 'see its description'}", "see docs/operate/metrics.md")


def judge_dead_letters(place: NamedDeployment, queue: str, found: QueueLoad) -> DoctorCheck:
    """The check of one dead-letter queue. The dead-letter handler hides those that it looks at."""
    name, function, count = f"queue {queue}", DEAD_LETTERS[queue], found.waiting + found.in_work
    if not count:
        return good(name, "no dead letters")
    fate = (
        "the dead-letter handler discards them when they are about 7 days old"
        if queue == "DeadLetterQueue"
        else "SQS deletes them after 14 days"
    )
    return bad(
        name, None,
        f"{count} dead letter{'s' if count > 1 else ''}: {function} could not process them; {_age(found)}; {fate}",
        f"`postroom dead-letters list {place.option}` shows them; {place.log(function, '1 day ago')} says why; fix the "
        f"cause, then `postroom dead-letters redrive --all {place.option}`",
    )  # fmt: skip
