"""Where reports are stored: the log, the bucket, CloudWatch; and the time of the last complete run."""

import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import orjson

from postroom.jobs.reach import logs_client, s3_client
from postroom.jobs.report import REPORTS, JobReport
from postroom.jobs.settings import JobSettings
from postroom.net.aws import passing_faults
from postroom.storage.mail.rounds import Before
from postroom.storage.mail.segments import Objects

if TYPE_CHECKING:
    from mypy_boto3_logs import CloudWatchLogsClient

_JSON: Final = "application/json"


def publish(report: JobReport, settings: JobSettings) -> None:
    """Print a report, store it, and send it to CloudWatch. Raises NotNowError(STORE_UNAVAILABLE)."""
    told = orjson.dumps(report.as_json())
    sys.stdout.write(told.decode() + "\n")
    sys.stdout.flush()
    if report.dry_run:
        return
    objects = Objects(s3_client(settings.where), settings.bucket)
    objects.replace(report.name, told, _JSON)
    objects.replace(latest_name(report.job), told, _JSON)
    if settings.log_group:
        _send(logs_client(settings.where), settings.log_group, report, settings.namespace)


def last_run(job: str, objects: Objects, now: int) -> Before:
    """The last complete run of a job; one that began later than `now` is ignored.

    `now`: epoch milliseconds. Raises NotNowError(STORE_UNAVAILABLE).
    """
    before = last_reported(job, objects)
    # It is from a wrong clock: messages that arrived meanwhile would count as read.
    return before if before.began <= now else Before()


def last_reported(job: str, objects: Objects) -> Before:
    """The run in the last report, whatever its clock was. Raises NotNowError(STORE_UNAVAILABLE)."""
    try:
        told = orjson.loads(objects.get(latest_name(job)))
        return Before(int(told["began_ms"]), int(told.get("settled_ms", 0)))
    except (KeyError, ValueError, TypeError, AttributeError):
        return Before()


def _send(logs: "CloudWatchLogsClient", group: str, report: JobReport, namespace: str) -> None:
    stream = f"{report.job}-{report.began}"
    event = orjson.dumps(report.as_emf(namespace)).decode()
    with passing_faults():
        # The name may be taken, by an earlier attempt of the same request.
        with suppress(logs.exceptions.ResourceAlreadyExistsException):
            logs.create_log_stream(logGroupName=group, logStreamName=stream)
        logs.put_log_events(
            logGroupName=group, logStreamName=stream, logEvents=[{"timestamp": report.ended, "message": event}]
        )


def latest_name(job: str) -> str:
    """The name of the report of the last complete run."""
    return f"{REPORTS}{job}/latest.json"
