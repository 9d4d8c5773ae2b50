"""Guardian, worker, courier and owner take the steps of the model of `watch`, in every schedule of its cases."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from tests.aws import Deployed
from tests.aws import clients as clients
from tests.aws import deployed as deployed
from tests.model.explore import Explored
from tests.model.test_watch import (
    AT_ONCE,
    CLOSES,
    DIES,
    DIES_LATE,
    ONE_TOO_MANY,
    ONE_TOO_MANY_CLOSES,
    OWNERS,
    RETURNS,
    STALE,
    STALE_THEN,
    TWO,
)
from tests.model.watch import Scope
from tests.model.watch_code import UNIT, Driver
from tests.tiers import amount, in_turns

from postroom.client.mailbox import dcp_waits
from postroom.client.mailbox.dcp_waits import MailWaits
from postroom.core.ijson import JsonValue
from postroom.outbound import notification_sender
from postroom.storage.aws.table import DynamoTable
from postroom.storage.directory import notification_targets
from postroom.storage.directory.notification_targets import NotificationTarget, NotificationTargets

DIES_ONCE = replace(DIES, deaths=1)
CLOSES_ONCE = replace(CLOSES, deaths=amount(quick=0, all=0, proof=1), places=3)
DIES_EARLY = replace(DIES_LATE, last=1, places=3)
AT_ONCE_ONLY = replace(AT_ONCE, deaths=amount(quick=0, all=0, proof=1), places=3)
CASES = (
    STALE, STALE_THEN, TWO, DIES_ONCE, AT_ONCE_ONLY, CLOSES_ONCE, OWNERS, ONE_TOO_MANY,
    *amount(quick=(), all=(DIES_EARLY, RETURNS), proof=(DIES_EARLY, RETURNS, ONE_TOO_MANY_CLOSES)),
)  # fmt: skip


@pytest.fixture
def table(deployed: Deployed, monkeypatch: pytest.MonkeyPatch) -> DynamoTable:
    monkeypatch.setattr(notification_sender, "NOTIFYING_SECONDS", UNIT)
    monkeypatch.setattr(dcp_waits, "_ANSWER_SECONDS", 1e9)
    return DynamoTable(deployed.clients.dynamodb, deployed.tables["DirectoryTable"])


def explored(monkeypatch: pytest.MonkeyPatch, scope: Scope, table: DynamoTable, **broken: Any) -> Explored:
    monkeypatch.setattr(notification_targets, "MAX_SESSIONS", scope.places)
    return Driver(scope, table, **broken).explore()


@pytest.mark.parametrize("scope", in_turns(CASES, quick=4, all=3), ids=lambda scope: scope.name)
def test_the_code_takes_the_models_steps_in_every_schedule_of(
    scope: Scope, table: DynamoTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = explored(monkeypatch, scope, table)
    assert found.fault == "", "\n".join((found.fault, *found.story))
    assert found.states > 100


# --- code that does not is noticed; as the model's variants, each lacks one of its rules ----------------------------


class LookingInTheFirstWait(MailWaits):
    """A wait that did not begin the watch does not list once more."""

    async def page(self, *arguments: Any) -> JsonValue:
        if self._look_again_at is not None:
            self._look_again_at = 0.0
        return await super().page(*arguments)


class WithoutLeases(NotificationTargets):
    def begin_notifying(self, *_: Any, **__: Any) -> bool:
        return True


class PuttingAlways(NotificationTargets):
    def _put(self, target: NotificationTarget, *, instead_of: str) -> bool:
        table = self._table
        self._table = SimpleNamespace(put=lambda row, *_: table.put(row, "", {}))  # type: ignore[assignment]
        return super()._put(target, instead_of=instead_of)


class RemovingByPlace(NotificationTargets):
    def remove(self, mailbox: str, target_id: str) -> bool:
        return self._table.delete(notification_targets._key(mailbox, target_id[:1]), "", {})


class FindingByPlace(NotificationTargets):
    def find(self, mailbox: str, target_id: str) -> NotificationTarget | None:
        row = self._table.get(notification_targets._key(mailbox, target_id[:1]))
        return notification_targets._target(row) if row else None


class TellingNobody(NotificationTargets):
    """Nobody is told that another session took their place."""

    def watch(self, *arguments: Any, **members: Any) -> None:
        super().watch(*arguments, **members)


@pytest.mark.parametrize(
    ("scope", "broken", "fault"),
    [
        (STALE, {"waits": LookingInTheFirstWait}, "OWNER 0: ('watch',) is unanswered, not ('watch', 'messages')"),
        (TWO, {"targets": WithoutLeases}, "CALL: not update, but Call(name='send'"),
        (OWNERS, {"targets": PuttingAlways}, "ROWS"),
        (TWO, {"targets": RemovingByPlace}, "ROWS"),
        (TWO, {"targets": FindingByPlace}, "DONE: Call(name='update'"),
        (ONE_TOO_MANY, {"targets": TellingNobody}, "CALL: not queue, but Call(name='list'"),
    ],
    ids=lambda value: "-".join(each.__name__ for each in value.values()) if isinstance(value, dict) else "",
)
def test_code_without_one_of_the_rules_is_noticed(
    scope: Scope, broken: dict[str, Any], fault: str, table: DynamoTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = explored(monkeypatch, scope, table, **broken)
    assert found.fault.startswith(fault), found.fault
