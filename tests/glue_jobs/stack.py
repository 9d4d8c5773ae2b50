"""A deployment in the embedded AWS with generated mail for the jobs, and the mail that its owners see."""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, fields

from benchmarks.mail import Plan, Written, write
from tests.aws import Deployed

from postroom.core.settings import DeploymentSettings
from postroom.jobs.settings import CompactSettings, JobSettings
from postroom.jobs.tally import Counts
from postroom.local.account import LocalAccount
from postroom.storage.audit.audit import audit
from postroom.storage.audit.collection import collect_evidence
from postroom.storage.audit.findings import Findings
from postroom.storage.mail.reader import Filed, Reader, runs_of
from postroom.storage.mail.register import Row

RETAIN_SECONDS = DeploymentSettings().retain_seconds
DAY_MS = 86_400_000


@dataclass(frozen=True)
class JobStack:
    """A deployment in one account of an embedded AWS."""

    deployed: Deployed
    at: LocalAccount

    def fill(self, *, messages: int, seed: int, mailboxes: int = 20, days: int = 1, **more: float) -> Written:
        """Write mail of yesterday, or of some days ago; records which rows must be shown."""
        ends_at_ms = now_ms() - days * DAY_MS - 3_600_000
        plan = Plan(messages=messages, seed=seed, mailboxes=mailboxes, ends_at_ms=ends_at_ms, **more)  # type: ignore[arg-type]
        aws, table = self.deployed.clients, self.deployed.tables["PostTable"]
        return write(plan, aws.s3, self.deployed.bucket, aws.dynamodb, table, keep_truth=True)

    def settings(self, **other: object) -> CompactSettings:
        """The settings of a job for this deployment."""
        said = {
            "job_name": "test", "bucket": self.deployed.bucket, "post_table": self.deployed.tables["PostTable"],
            "directory_table": self.deployed.tables["DirectoryTable"], "retain_seconds": RETAIN_SECONDS,
            "read_units_per_second": 100_000, "write_units_per_second": 100_000, "endpoint_url": self.at.endpoint_url,
        }  # fmt: skip
        return CompactSettings(**{**said, **other})  # type: ignore[arg-type]

    def arguments(self, **other: object) -> list[str]:
        """The same settings as arguments of a job."""
        return arguments_of(self.settings(**other))

    def mailboxes(self) -> list[str]:
        """The mailboxes that have rows."""
        return sorted({item["pk"]["S"].rpartition("#")[0] for item in self.deployed.rows("PostTable")})

    def shown(self) -> dict[str, list[tuple[str, str]]]:
        """The rows and envelopes that each owner sees, in order."""
        return {mailbox: list(self._shown(mailbox)) for mailbox in self.mailboxes()}

    def stored(self) -> object:
        """Everything in tables and bucket."""
        return {name: self.deployed.rows(name) for name in self.deployed.tables}, self.deployed.objects()

    def rows(self, mailbox: str) -> list[Row]:
        """The reader for an owner's list."""
        return list(self._reader().list(mailbox, 1, now=int(time.time())))

    def requests(self) -> int:
        """The number of S3 requests for reading all mail, mailbox by mailbox."""
        return sum(len(runs_of(self.rows(mailbox))) for mailbox in self.mailboxes())

    def names(self, prefix: str) -> list[str]:
        """The objects below a prefix."""
        pages = self.deployed.clients.s3.get_paginator("list_objects_v2").paginate(
            Bucket=self.deployed.bucket, Prefix=prefix
        )
        return [entry["Key"] for page in pages for entry in page.get("Contents", [])]

    def pointed(self) -> set[str]:
        """The objects that rows point to."""
        return {item["o"]["S"] for item in self.deployed.rows("PostTable") if "o" in item}

    def audit(self) -> Findings:
        """The findings of an audit, without identities (`seen`), which generated mail does not have."""
        return audit(collect_evidence(self.deployed.audited_store, now=int(time.time()), retain_seconds=RETAIN_SECONDS))

    def empty(self) -> None:
        """Delete everything, for the next test."""
        clients = self.deployed.clients
        names = self.names("")
        for start in range(0, len(names), 1000):
            clients.s3.delete_objects(
                Bucket=self.deployed.bucket, Delete={"Objects": [{"Key": name} for name in names[start : start + 1000]]}
            )
        for name in ("PostTable", "DirectoryTable"):
            keys = [{key: item[key] for key in ("pk", "sk")} for item in self.deployed.rows(name)]
            for start in range(0, len(keys), 25):
                deletions = [{"DeleteRequest": {"Key": key}} for key in keys[start : start + 25]]
                clients.dynamodb.batch_write_item(RequestItems={self.deployed.tables[name]: deletions})

    def _shown(self, mailbox: str) -> Iterator[tuple[str, str]]:
        reader, rows = self._reader(), self.rows(mailbox)
        found = {each.row.key: each for run in runs_of(rows) for each in reader.fetch_run(run) if each is not None}
        for row in rows:
            filed = found.get(row.key)
            if isinstance(filed, Filed):
                yield row.key.sk, json.dumps([filed.line.envelope, filed.line.conversation, filed.line.receipt])

    def _reader(self) -> Reader:
        return self.deployed.storage.reader


def arguments_of(settings: JobSettings) -> list[str]:
    """Settings as Glue passes them to a job."""
    return [word for each in fields(settings) for word in (f"--{each.name.upper()}", str(getattr(settings, each.name)))]


def now_ms() -> int:
    """The current time in epoch milliseconds."""
    return round(time.time() * 1000)


def of(counts: Counts, group: str) -> dict[str, int]:
    """The counts of a group, by the rest of their names."""
    return {name.partition(".")[2]: count for name, count in counts.items() if name.partition(".")[0] == group}
