"""`postroom jobs`: the Glue jobs on this machine, and their library on AWS."""

import json
from typing import Annotated, Final

import typer

from postroom.cli.deployment import DeploymentOptions
from postroom.cli.exits import UsageFault
from postroom.cli.inputs import AsJson
from postroom.cli.options import CommandTyper
from postroom.cli.output import print_either, print_json, print_table
from postroom.cli.terminal import print_line
from postroom.core.ijson import JsonValue
from postroom.local.checkout import job_path

app = CommandTyper(help="Run the compaction and expiry jobs, or prepare them on AWS.", no_args_is_help=True)

DryRun = Annotated[bool, typer.Option("--dry-run", help="Change nothing; report what would be done.")]
SHOWN: Final = (
    "mailboxes", "expired", "lines", "dropped", "left", "chunks", "objects", "parts", "uploads", "quarantined", "bytes",
    "units", "s3",
)  # fmt: skip


@app.command()
def compact(
    lag_hours: Annotated[
        int | None,
        typer.Option(
            metavar="HOURS",
            min=0,
            max=24 * 365,
            help="Skip segments that are younger; default: as deployed. 0: take all.",
            show_default=False,
        ),
    ] = None,
    dry_run: DryRun = False,
    *,
    deployment: DeploymentOptions,
    as_json: AsJson = False,
) -> None:
    """Compact segments into sorted chunks: the nightly job, run here.

    It may be interrupted at any time, and run beside others: nothing is lost, shown twice or hidden. It needs Spark and
    Java: `pip install 'postroom[glue]'` installs both.
    """
    job_path("compact")  # a missing package is reported before AWS is asked
    opened = deployment.open()
    lag = int(opened.outputs.get("CompactLagHours", "24")) if lag_hours is None else lag_hours
    # Imported when it runs: it loads boto3.
    from postroom.local.job_runs import run

    _print(run(opened.outputs, opened.local, "compact", dry_run=dry_run, more={"LAG_HOURS": lag}), as_json=as_json)


@app.command()
def expire(
    dry_run: DryRun = False,
    *,
    deployment: DeploymentOptions,
    as_json: AsJson = False,
) -> None:
    """Delete expired mail and orphans: the weekly job, run here.

    Messages of the last 30 days, and of mailboxes under legal hold, are kept. It may be interrupted at any time, and
    run beside others. It needs Spark and Java: `pip install 'postroom[glue]'` installs both.
    """
    job_path("expire")  # as above
    opened = deployment.open()
    from postroom.local.job_runs import run

    _print(run(opened.outputs, opened.local, "expire", dry_run=dry_run), as_json=as_json)


@app.command()
def publish(deployment: DeploymentOptions, as_json: AsJson = False) -> None:
    """Upload what the Glue jobs load, after each deploy.

    Their scripts, this library, and the packages that they install: these are fetched from a package index by the
    hashes of a lock file. For a local deployment, no packages are uploaded.
    """
    from postroom.cli.library import published
    from postroom.jobs.library import LIBRARIES, library

    opened = deployment.open()
    size = count = 0
    for name, data in published(wheels=not opened.local):
        opened.storage.objects.replace(LIBRARIES + name, data, "application/octet-stream")
        size, count = size + len(data), count + 1
    url = f"s3://{opened.output('Bucket')}/{LIBRARIES}{library()}"
    text = f"{url} and {count - 1} more objects: {size:,} bytes"
    print_either(as_json, {"library": url, "objects": count, "bytes": size}, text)


@app.command()
def last(
    job: Annotated[str, typer.Argument(metavar="compact|expire", help="Which job.")],
    deployment: DeploymentOptions,
    as_json: AsJson = False,
) -> None:
    """Show the report of the last completed run."""
    from postroom.jobs.report_storage import latest_name

    if job not in ("compact", "expire"):
        raise UsageFault(f"the job is {job!r}; it must be compact or expire")
    try:
        found = deployment.open().storage.objects.get(latest_name(job))
    except KeyError:
        print_either(as_json, None, f"no run of {job} has been completed yet")
        return
    _print(json.loads(found), as_json=as_json)


def _print(report: dict[str, JsonValue], *, as_json: bool) -> None:
    if as_json:
        print_json(report)
        return
    seconds, lag = report["seconds"], report["lag_hours"]
    print_line(f"{report['job']}{', dry run' if report['dry_run'] else ''}: began {report['began']}, took {seconds} s")
    if lag:
        print_line(f"the oldest segment to process was {lag} hours old")
    went = report.get("shown", [])
    if isinstance(went, list):
        for line in went:
            print_line(f"{'to delete' if report['dry_run'] else 'deleted'}: {line!s}")
    rows = []
    for group in SHOWN:
        counts = report.get(group)
        if isinstance(counts, dict):
            rows += [(group if name == "all" else f"{group}, {name}", f"{count:,}") for name, count in counts.items()]
    print_table(("", ""), rows)
