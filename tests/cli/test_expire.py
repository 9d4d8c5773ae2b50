"""`postroom jobs expire`: what a run would delete, and what it deleted."""

import json
import time
from collections.abc import Callable

import pytest
from click.testing import Result
from tests.cli.conftest import Postroom, StorageStack
from tests.sparks import ON_SPARK, run_job_here

from postroom.local import job_runs
from postroom.storage.aws.object_store import Place
from postroom.storage.layout import row_key

pytestmark = ON_SPARK

DAY_MS = 86_400_000


@pytest.fixture
def operate(postroom: Postroom, storage_stack: StorageStack) -> Callable[..., Result]:
    return lambda *arguments: postroom("jobs", *arguments, *storage_stack.options)


def test_a_dry_run_reports_what_a_run_would_delete(
    operate: Callable[..., Result], storage_stack: StorageStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_runs, "run_job", run_job_here)
    a_dry_run_and_a_run(operate, storage_stack, "expiring.example")


@pytest.mark.proof
def test_each_run_of_the_command_starts_a_process_of_its_own(
    operate: Callable[..., Result], storage_stack: StorageStack
) -> None:
    a_dry_run_and_a_run(operate, storage_stack, "another.example")


def a_dry_run_and_a_run(operate: Callable[..., Result], storage_stack: StorageStack, mailbox: str) -> None:
    register = storage_stack.storage.register
    key = row_key(mailbox, 1, round(time.time() * 1000) - 41 * DAY_MS, "f" * 32)
    register.file(key, Place("seg/one", 0, 7), "c")
    storage_stack.storage.mailboxes.set_ttl(mailbox, 40)
    would = operate("expire", "--dry-run")
    assert would.exit_code == 0, would.output
    assert f"to delete: {mailbox}: 1 messages expired, 7 bytes\n" in would.stdout
    assert would.stdout.startswith("expire, dry run: began ")
    row = register.find(key)
    assert row is not None
    assert row.live
    report = json.loads(operate("expire", "--json").stdout)
    assert report["expired"] == {"expired": 1}
    assert f"{mailbox}: 1 messages expired, 7 bytes" in report["shown"]
    row = register.find(key)
    assert row is not None
    assert (row.live, row.why) == (False, "expired")
