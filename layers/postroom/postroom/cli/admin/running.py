"""Checks of what runs by itself: functions, queues, jobs, alarms, dead letters. Values in, checks out."""

from collections.abc import Iterator, Sequence
from typing import Final

from postroom.cli.admin.found import Alarm, EventSource, Function, Libraries, NamedDeployment, Stack, Subscription, ago
from postroom.cli.admin.starting import what_stops
from postroom.core.settings import DAY_SECONDS
from postroom.doctor.checks import CheckStatus, DoctorCheck, bad, good, warning

FUNCTIONS: Final = ("InboxFunction", "WorkerFunction", "MailboxFunction", "DeadLetterFunction", "CourierFunction")
BOUNDS: Final = {"InboxFunction": "InboxReservedConcurrency", "MailboxFunction": "MailboxApiReservedConcurrency"}
"""The parameters that say how many runs are set apart."""
SOURCES: Final = {
    "ClaimsQueue": "WorkerFunction",
    "RetryQueue": "WorkerFunction",
    "SuspectsQueue": "WorkerFunction",
    "CourierQueue": "CourierFunction",
}
"""The queues, and who processes each."""
DEAD_LETTERS: Final = {"DeadLetterQueue": "WorkerFunction", "CourierDeadLetterQueue": "CourierFunction"}
"""The queues of dead letters, and who could not process them."""
JOBS: Final = {"compact": 1, "expire": 7}
"""After how many days each job runs again, as the template has it."""

_GRACE_DAYS: Final = 2
"""A run may begin late, and takes some hours. CompactLagAlarm, with which each stack begins, wants two days as well."""


def judge_function(place: NamedDeployment, logical: str, stack: Stack, found: Function) -> DoctorCheck:
    """The check of one function: can it run, and is it what was deployed last?"""
    name = f"function {logical}"
    if found.reserved == 0:
        return bad(name, None, "its reserved concurrency is 0: it never runs", _let_it_run(logical, found, stack))
    if found.state == "Failed" or found.update == "Failed":
        told = (
            f"it is {found.state}, its last update {found.update}: {found.why or found.why_update or 'no reason given'}"
        )
        return bad(name, None, told, place.deploy)
    if found.state == "Pending" or found.update == "InProgress":
        return DoctorCheck(name, CheckStatus.NOT_CHECKED, "it changes just now", "ask again in a minute")
    if found.state == "Inactive":
        return warning(
            name, "it was idle for so long that Lambda put it away; the first run wakes it, and fails", "ask it once"
        )
    if found.environment is None:
        todo = "allow them kms:Decrypt of the function's key, or ask with others"
        return DoctorCheck(
            name, CheckStatus.NOT_CHECKED, "its settings could not be found out: AWS shows them not to you", todo
        )
    stops = what_stops(found.environment)
    if stops:
        return bad(name, None, f"it does not start: {stops}", "set the template's parameter right, and deploy it")
    bound = "" if found.reserved is None else f", {found.reserved} runs set apart"
    return good(name, f"{found.name} is Active{bound}")


def _let_it_run(logical: str, found: Function, stack: Stack) -> str:
    runs = stack.parameters.get(BOUNDS.get(logical, ""), "0")
    if runs == "0":
        return f"`aws lambda delete-function-concurrency --function-name {found.name}`"
    command = f"`aws lambda put-function-concurrency --function-name {found.name}"
    return f"{command} --reserved-concurrent-executions {runs}`"


def judge_source(place: NamedDeployment, queue: str, found: EventSource | None) -> DoctorCheck:
    """The check of one queue: is it handed over to its function? None: it is not."""
    name, function = f"queue {queue}", SOURCES[queue]
    if found is None:
        return bad(name, None, f"it is not handed over to {function}: what lies in it waits", place.deploy)
    if found.state == "Enabled":
        return good(name, f"{function} works it off")
    if found.state in ("Disabled", "Disabling"):
        todo = f"`aws lambda update-event-source-mapping --uuid {found.id} --enabled`"
        return bad(name, None, f"its event source mapping is {found.state}: what lies in it waits", todo)
    return DoctorCheck(
        name, CheckStatus.NOT_CHECKED, f"its event source mapping is {found.state}", "ask again in a minute"
    )


# --- jobs --------------------------------------------------------------------------------------------------------


def judge_library(place: NamedDeployment, wanted: str, there: Libraries) -> DoctorCheck:
    """The check `jobs library`. `wanted`: that of this release."""
    name, publish = "jobs library", f"`postroom jobs publish {place.option}`"
    if there.is_ours:
        return good(name, f"{wanted} is published")
    if wanted in there.names:
        told = f"{wanted} is published, but does not hold what is here: it is of before an upgrade, or after it"
        return warning(name, told, f"{publish}, if what is here is what was deployed")
    told = f"{wanted} is not published" + (f", but {', '.join(sorted(there.names))}" if there.names else "")
    if place.is_local:
        return warning(name, f"{told}; `postroom jobs` does without it, Glue would not", publish)
    return bad(name, None, f"{told}: no run of a job can begin", publish)


def judge_job(
    place: NamedDeployment, job: str, stack: Stack, aws_name: str, now: float, began: float | None
) -> DoctorCheck:
    """The check of one job. `aws_name`: its own in AWS. `began`: the last run that came to its end; None: none did."""
    name, days = f"job {job}", JOBS[job] + _GRACE_DAYS
    why = f"`aws glue get-job-runs --job-name {aws_name}` says what became of its runs"
    if place.is_local:
        told = "no run has come to its end yet" if began is None else f"its last run began {ago(now - began)}"
        return good(name, f"{told}; here `postroom jobs {job} {place.option}` alone runs it")
    if began is not None and now - began <= days * DAY_SECONDS:
        return good(name, f"its last run that came to its end began {ago(now - began)}")
    if began is not None:
        return warning(name, f"no run has come to its end since one that began {ago(now - began)}", why)
    if now - stack.created <= days * DAY_SECONDS:
        return good(name, f"no run has come to its end yet, and the stack was made {ago(now - stack.created)}")
    return bad(name, None, f"no run has ever come to its end; the stack was made {ago(now - stack.created)}", why)


# --- alarms and dead letters -------------------------------------------------------------------------------------


def judge_subscriptions(topic: str, found: Sequence[Subscription]) -> DoctorCheck:
    """The check `alarm topic`: is anybody told?"""
    name = "alarm topic"
    confirmed = [it.whom for it in found if it.is_confirmed]
    if confirmed:
        return good(name, f"told are {', '.join(confirmed)}")
    if found:
        whom = ", ".join(it.whom for it in found)
        return warning(
            name, f"nobody is told of alarms: not confirmed by {whom}",
            "have them follow the link in the confirmation email of SNS (valid for three days), or subscribe anew: "
            f"`{_subscribe(topic)}`",
        )  # fmt: skip
    return warning(name, "nobody is told of alarms", f"`{_subscribe(topic)}`")


def _subscribe(topic: str) -> str:
    return f"aws sns subscribe --topic-arn {topic} --protocol email --notification-endpoint YOU@YOUR.DOMAIN"


def judge_alarms(place: NamedDeployment, alarms: Sequence[Alarm], stack: Stack, now: float) -> Iterator[DoctorCheck]:
    """The check `alarms`, or one of each alarm that is on."""
    on = [alarm for alarm in alarms if alarm.is_on]
    if not alarms:
        yield bad("alarms", None, "there are none", place.deploy)
    elif not on:
        yield good("alarms", f"none of {len(alarms)} is on")
    for alarm in on:
        name = f"alarm {alarm.name}"
        # Of compaction no report counts as a late one: each stack begins so.
        if alarm.name == "CompactLagAlarm" and now - stack.created <= (JOBS["compact"] + _GRACE_DAYS) * DAY_SECONDS:
            yield warning(name, "on, as of every new stack, until compaction has run", "wait for two nights")
        else:
            yield bad(
                name, None, f"on: {alarm.meaning or 'see its description'}", "docs/operate/metrics.md says when it is"
            )


def judge_dead_letters(place: NamedDeployment, queue: str, letters: int) -> DoctorCheck:
    """The check of one queue of dead letters."""
    name, function = f"queue {queue}", DEAD_LETTERS[queue]
    if not letters:
        return good(name, "no dead letters")
    fate = (
        "the dead-letter handler discards them when they are about 7 days old"
        if queue == "DeadLetterQueue"
        else "SQS drops them after 14 days"
    )
    return bad(
        name, None, f"{letters} dead letter{'s' if letters > 1 else ''}: {function} could not process them; {fate}",
        f"{place.log(function, '1 day ago')} says why; once that is mended, have SQS redrive them",
    )  # fmt: skip
