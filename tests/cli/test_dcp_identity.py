"""`postroom dcp identity`: the identities of a deployment's guardian."""

import json
from typing import Any

import pytest
from tests.cli.conftest import Postroom, StorageStack

from postroom.cli.exits import Exit

pytestmark = pytest.mark.xdist_group("cli-storage")


def identities(postroom: Postroom, storage_stack: StorageStack, *given: str) -> list[dict[str, Any]]:
    result = postroom("dcp", "identity", *given, *storage_stack.options, "--json")
    assert result.exit_code == 0, result.output
    found: list[dict[str, Any]] = json.loads(result.stdout)
    return found


def test_a_rotation_adds_an_identity_and_the_earlier_ones_stay(postroom: Postroom, storage_stack: StorageStack) -> None:
    before = identities(postroom, storage_stack)
    *same, added = identities(postroom, storage_stack, "rotate")
    assert same == before
    assert not added["newest"], "instances may not know it yet"
    assert [each["newest"] for each in before][-1]
    shown = postroom("dcp", "identity", *storage_stack.options).stdout
    assert all(each["address"] in shown for each in (*before, added))
    assert "opens sessions" in shown


def test_the_earlier_ones_can_be_dropped(postroom: Postroom, storage_stack: StorageStack) -> None:
    before = identities(postroom, storage_stack)
    [only] = identities(postroom, storage_stack, "rotate", "--drop-earlier")
    assert only["newest"]
    assert only["address"] not in {each["address"] for each in before}
    assert identities(postroom, storage_stack) == [only]


def test_dropping_goes_with_rotating(postroom: Postroom, storage_stack: StorageStack) -> None:
    result = postroom("dcp", "identity", "--drop-earlier", *storage_stack.options)
    assert result.exit_code == Exit.USAGE
    assert "goes with rotate" in result.stderr
