"""`postroom jobs expire`: what would go, and what went."""

import json
import time
from collections.abc import Callable

import pytest
from tests.cli.conftest import Postroom, Rooms
from typer.testing import Result

from postroom.store.keys import row_key
from postroom.store.mailboxes import Mailboxes
from postroom.store.register import Register
from postroom.store.segments import Place

pytestmark = pytest.mark.xdist_group("cli-rooms")

DAY_MS = 86_400_000


@pytest.fixture
def operate(postroom: Postroom, rooms: Rooms) -> Callable[..., Result]:
    return lambda *arguments: postroom("jobs", *arguments, *rooms.options)


def test_a_dry_run_says_what_would_go_and_a_run_what_went(operate: Callable[..., Result], rooms: Rooms) -> None:
    dynamodb = rooms.clients("dynamodb")
    register = Register(dynamodb, rooms.outputs["PostTable"])
    key = row_key("expiring.example", 1, round(time.time() * 1000) - 41 * DAY_MS, "f" * 32)
    register.file(key, Place("seg/one", 0, 7), "c")
    Mailboxes(dynamodb, rooms.outputs["DirectoryTable"]).set_ttl("expiring.example", 40)
    would = operate("expire", "--dry-run")
    assert would.exit_code == 0, would.output
    assert "would go: expiring.example: 1 messages expired, 7 bytes\n" in would.stdout
    assert would.stdout.startswith("expire, dry run: began ")
    row = register.find(key)
    assert row is not None
    assert row.live
    report = json.loads(operate("expire", "--json").stdout)
    assert report["expired"] == {"expired": 1}
    assert "expiring.example: 1 messages expired, 7 bytes" in report["shown"]
    row = register.find(key)
    assert row is not None
    assert (row.live, row.why) == (False, "expired")
