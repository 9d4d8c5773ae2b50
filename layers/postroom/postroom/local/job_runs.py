"""A run of a Glue job on this machine; its arguments are the outputs of the stack."""

import json
import os
from collections.abc import Mapping
from typing import Final, Literal

from postroom.core.errors import OurError
from postroom.core.ijson import JsonValue
from postroom.local.account import LocalAccount
from postroom.local.checkout import job_path
from postroom.local.clients import REGION
from postroom.local.spark import environment_of, run_job

_ARGUMENTS: Final = {
    "BUCKET": "Bucket",
    "POST_TABLE": "PostTable",
    "DIRECTORY_TABLE": "DirectoryTable",
    "LIMITS_TABLE": "LimitsTable",
    "STORAGE_TABLE": "StorageTable",
    "RETAIN_SECONDS": "RetainSeconds",
    "LAG_HOURS": "CompactLagHours",
    "DM3_MESSAGE_TTL_DAYS": "Dm3MessageTtlDays",
    "CLOSED_DAYS": "ClosedMailboxDays",
    "READ_UNITS_PER_SECOND": "JobsReadUnitsPerSecond",
    "WRITE_UNITS_PER_SECOND": "JobsWriteUnitsPerSecond",
}
"""A job's arguments by the outputs of the stack; each job ignores those it does not need."""


def run(
    outputs: Mapping[str, str],
    local: LocalAccount | None,
    job: Literal["compact", "expire"],
    *,
    dry_run: bool = False,
    more: Mapping[str, object] | None = None,
) -> dict[str, JsonValue]:
    """Run a job; returns its report. `local`: None on AWS. `more`: arguments that differ from the deployed ones.

    Raises SettingsError if the job or Spark is missing, OurError if there is no Java, or the job failed.
    """
    said: dict[str, object] = {name: outputs[output] for name, output in _ARGUMENTS.items() if output in outputs}
    said |= {"JOB_NAME": f"postroom {job}", "DRY_RUN": str(dry_run).lower(), **(more or {})}
    environment = dict(os.environ)
    if local:
        said["ENDPOINT_URL"] = local.endpoint_url
        environment = environment_of(local, REGION)
    arguments = [str(word) for name, value in said.items() for word in (f"--{name}", value)]
    output = run_job(job_path(job), arguments, environment)
    try:
        report: dict[str, JsonValue] = json.loads(output)
    except ValueError:
        raise OurError(f"the job {job} ended without a report; the last that it said: {output[:200]!r}") from None
    return report
