"""The metrics in CloudWatch that `admin status` shows: the age of queues, and the mail of the last day."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from postroom.cli.admin.findings import RecentMail

_DISCARDED: Final = "Discarded"
_JUDGED: Final = "AgeMilliseconds"
"""A value for each message that the worker judged."""
_WORKER: Final = [{"Name": "service", "Value": "worker"}]
_HOUR_SECONDS: Final = 3600
_FINE_SECONDS: Final = 300
_LATE: Final = timedelta(minutes=15)
"""SQS writes its metrics some minutes late."""
_MOST_QUERIES: Final = 500


class QueueMetrics:
    """The metrics of SQS. `now`: epoch seconds."""

    def __init__(self, cloudwatch: Any, now: float) -> None:
        self._cloudwatch = cloudwatch
        self._now = datetime.fromtimestamp(now, UTC)

    def oldest(self, url: str) -> float | None:
        """The age of a queue's oldest message in seconds; None: SQS did not write it of late."""
        found = self._cloudwatch.get_metric_statistics(
            Namespace="AWS/SQS",
            MetricName="ApproximateAgeOfOldestMessage",
            Dimensions=[{"Name": "QueueName", "Value": url.rpartition("/")[2]}],
            StartTime=self._now - _LATE,
            EndTime=self._now,
            Period=60,
            Statistics=["Maximum"],
        )["Datapoints"]
        return max(found, key=lambda each: each["Timestamp"])["Maximum"] if found else None


class MailMetrics:
    """The worker's metrics. `namespace`: the stack's name; `now`: epoch seconds."""

    def __init__(self, cloudwatch: Any, namespace: str, now: float) -> None:
        self._cloudwatch = cloudwatch
        self._namespace = namespace
        self._now = datetime.fromtimestamp(now, UTC)

    def of_last_day(self) -> RecentMail:
        """The last message, to five minutes, and the discards by reason."""
        judged = self._cloudwatch.get_metric_statistics(
            Namespace=self._namespace,
            MetricName=_JUDGED,
            Dimensions=_WORKER,
            StartTime=self._now - timedelta(days=1),
            EndTime=self._now,
            Period=_FINE_SECONDS,
            Statistics=["SampleCount"],
        )["Datapoints"]
        last = max((each["Timestamp"].timestamp() for each in judged if each["SampleCount"]), default=None)
        return RecentMail(last, self._discarded() if last else {})

    def _discarded(self) -> dict[str, int]:
        pages = self._cloudwatch.get_paginator("list_metrics").paginate(Namespace=self._namespace, Dimensions=_WORKER)
        names = [
            metric["MetricName"]
            for page in pages
            for metric in page["Metrics"]
            if metric["MetricName"].startswith(_DISCARDED) and metric["MetricName"] != _DISCARDED
        ]
        by_id = {f"m{number}": name for number, name in enumerate(names[:_MOST_QUERIES])}
        if not by_id:
            return {}
        results = self._cloudwatch.get_paginator("get_metric_data").paginate(
            MetricDataQueries=[self._sum(query, name) for query, name in by_id.items()],
            StartTime=self._now - timedelta(days=1),
            EndTime=self._now,
        )
        # A page may have a part of a query's values, and the results in any order.
        found: Counter[str] = Counter()
        for page in results:
            for result in page["MetricDataResults"]:
                found[by_id[result["Id"]].removeprefix(_DISCARDED)] += int(sum(result["Values"]))
        return dict(+found)

    def _sum(self, query: str, name: str) -> dict[str, Any]:
        metric = {"Namespace": self._namespace, "MetricName": name, "Dimensions": _WORKER}
        return {"Id": query, "MetricStat": {"Metric": metric, "Period": _HOUR_SECONDS, "Stat": "Sum"}}
