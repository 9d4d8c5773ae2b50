"""Where reports go: the log, the bucket, CloudWatch. And when the last run was that came to its end."""

import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import orjson

from postroom.jobs.reach import logs_client, s3_client
from postroom.jobs.report import REPORTS, Report
from postroom.jobs.settings import JobSettings
from postroom.store.aws import passing_faults
from postroom.store.segments import Objects

if TYPE_CHECKING:
    from mypy_boto3_logs import CloudWatchLogsClient

_JSON: Final = "application/json"


def tell(report: Report, settings: JobSettings) -> None:
    """Print a report, store it, and send it to CloudWatch. Raises NotNowError(STORE_UNAVAILABLE)."""
    told = orjson.dumps(report.as_json())
    sys.stdout.write(told.decode() + "\n")
    sys.stdout.flush()
    if report.dry_run:
        return
    objects = Objects(s3_client(settings.endpoint_url), settings.bucket)
    objects.replace(report.name, told, _JSON)
    objects.replace(latest(report.job), told, _JSON)
    if settings.log_group:
        _send(logs_client(settings.endpoint_url), settings.log_group, report)


def last_began(job: str, objects: Objects) -> int:
    """When the last run of a job began that came to its end, epoch milliseconds; 0: nobody knows.

    Raises NotNowError(STORE_UNAVAILABLE).
    """
    try:
        return int(orjson.loads(objects.get(latest(job)))["began_ms"])
    except (KeyError, ValueError, TypeError):
        return 0


def _send(logs: "CloudWatchLogsClient", group: str, report: Report) -> None:
    stream = f"{report.job}-{report.began}"
    event = orjson.dumps(report.as_emf()).decode()
    with passing_faults():
        # There may be one: of an earlier try of the same request.
        with suppress(logs.exceptions.ResourceAlreadyExistsException):
            logs.create_log_stream(logGroupName=group, logStreamName=stream)
        logs.put_log_events(
            logGroupName=group, logStreamName=stream, logEvents=[{"timestamp": report.ended, "message": event}]
        )


def latest(job: str) -> str:
    """The name of the report of the last run that came to its end."""
    return f"{REPORTS}{job}/latest.json"
