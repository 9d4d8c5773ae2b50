"""The report of a run: as JSON, as a line for people, and to CloudWatch as EMF. Pure."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from postroom.jobs.tally import Counts

if TYPE_CHECKING:
    from postroom.core.ijson import JsonValue

REPORTS: Final = "jobs/reports/"


@dataclass(frozen=True, slots=True)
class JobReport:
    """The report of a run. `job`: `compact` or `expire`. `began`, `ended`: epoch milliseconds. `counts`: of all its
    tasks.

    `lag_ms`: the age of the oldest segment that no run had read; 0: there was none. `settled`: until when all segments
    were read (`storage.mail.object_schedule.Before`); 0: the job does not read them. `shown`: the first messages that
    were deleted, or would be, for people.
    """

    job: str
    began: int
    ended: int
    dry_run: bool
    counts: Counts
    lag_ms: int = 0
    settled: int = 0
    shown: Sequence[str] = ()

    @property
    def name(self) -> str:
        """The name of the object with the report."""
        return f"{REPORTS}{self.job}/{datetime.fromtimestamp(self.began / 1000, tz=UTC):%Y/%m/%d/%H%M%S}.json"

    def as_json(self) -> "dict[str, JsonValue]":
        """The whole report: counts by group, and the seconds of all tasks together by step."""
        groups: dict[str, dict[str, JsonValue]] = {}
        for name, count in sorted(self.counts.items()):
            group, _, rest = name.partition(".")
            if group == "us":
                groups.setdefault("task_seconds", {})[rest] = round(count / 1e6, 3)
            else:
                groups.setdefault(group, {})[rest or "all"] = count
        return {
            "job": self.job,
            "began": _iso(self.began),
            "began_ms": self.began,
            "ended": _iso(self.ended),
            "seconds": round((self.ended - self.began) / 1000, 3),
            "dry_run": self.dry_run,
            "lag_hours": round(self.lag_ms / 3_600_000, 2),
            **({"settled_ms": self.settled} if self.settled else {}),
            **({"shown": list(self.shown)} if self.shown else {}),
            **groups,
        }

    def as_emf(self, namespace: str) -> "dict[str, JsonValue]":
        """The metrics of docs/operate/metrics.md, in CloudWatch's embedded metric format."""
        values = self._metrics()
        return {
            "_aws": {
                "Timestamp": self.ended,
                "CloudWatchMetrics": [
                    {
                        "Namespace": namespace,
                        "Dimensions": [["service"]],
                        "Metrics": [{"Name": name, "Unit": _unit(name)} for name in values],
                    }
                ],
            },
            "service": self.job,
            **values,
        }

    def _metrics(self) -> "Mapping[str, JsonValue]":
        counts = self.counts
        return {
            "JobRuns": 1,
            "JobSeconds": round((self.ended - self.began) / 1000, 3),
            "JobRead": counts["lines.read"],
            "JobKept": counts["lines.kept"],
            "JobRepointed": counts["lines.repointed"],
            "JobCollected": counts["objects.collected"],
            "JobExpired": sum_of(counts, "expired"),
            "JobQuarantined": counts["quarantined.objects"],
            "JobLagHours": round(self.lag_ms / 3_600_000, 2),
        }


def sum_of(counts: Counter[str], group: str) -> int:
    """The sum of the counts of a group."""
    return sum(count for name, count in counts.items() if name.partition(".")[0] == group)


def _unit(name: str) -> str:
    return "Seconds" if name == "JobSeconds" else "Count" if name != "JobLagHours" else "None"


def _iso(at_ms: int) -> str:
    return f"{datetime.fromtimestamp(at_ms / 1000, tz=UTC):%Y-%m-%dT%H:%M:%SZ}"
