"""The storage of reports: in the log, the bucket and CloudWatch; and the time of the last complete run."""

import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import orjson

from postroom.jobs.report import REPORTS, JobReport
from postroom.net.aws_errors import transient_as_not_now
from postroom.storage.aws.object_store import ObjectStore
from postroom.storage.mail.object_schedule import LastRun

if TYPE_CHECKING:
    from mypy_boto3_logs import CloudWatchLogsClient

_JSON: Final = "application/json"


@dataclass(frozen=True, slots=True)
class MetricLog:
    """A log group from which CloudWatch takes metrics. `namespace`: of the metrics."""

    logs: "CloudWatchLogsClient"
    group: str
    namespace: str

    def send(self, report: JobReport) -> None:
        """Send a report. Raises NotNowError(STORE_UNAVAILABLE)."""
        stream = f"{report.job}-{report.began}"
        event = orjson.dumps(report.as_emf(self.namespace)).decode()
        with transient_as_not_now():
            # The name may be taken, by an earlier attempt of the same request.
            with suppress(self.logs.exceptions.ResourceAlreadyExistsException):
                self.logs.create_log_stream(logGroupName=self.group, logStreamName=stream)
            self.logs.put_log_events(
                logGroupName=self.group,
                logStreamName=stream,
                logEvents=[{"timestamp": report.ended, "message": event}],
            )


def publish(report: JobReport, documents: ObjectStore, metric_log: MetricLog | None) -> None:
    """Print a report, store it, and send it to CloudWatch. Raises NotNowError(STORE_UNAVAILABLE)."""
    data = orjson.dumps(report.as_json())
    sys.stdout.write(data.decode() + "\n")
    sys.stdout.flush()
    if report.dry_run:
        return
    documents.replace(report.name, data, _JSON)
    documents.replace(latest_name(report.job), data, _JSON)
    if metric_log:
        metric_log.send(report)


def last_run(job: str, objects: ObjectStore, now: int) -> LastRun:
    """The last complete run of a job; one that began later than `now` is ignored.

    `now`: epoch milliseconds. Raises NotNowError(STORE_UNAVAILABLE).
    """
    before = last_reported(job, objects)
    # It is from a wrong clock: messages that arrived meanwhile would count as read.
    return before if before.began <= now else LastRun()


def last_reported(job: str, objects: ObjectStore) -> LastRun:
    """The run in the last report, whatever its clock was. Raises NotNowError(STORE_UNAVAILABLE)."""
    try:
        data = orjson.loads(objects.get(latest_name(job)))
        return LastRun(int(data["began_ms"]), int(data.get("settled_ms", 0)))
    except (KeyError, ValueError, TypeError, AttributeError):
        return LastRun()


def latest_name(job: str) -> str:
    """The name of the report of the last complete run."""
    return f"{REPORTS}{job}/latest.json"
