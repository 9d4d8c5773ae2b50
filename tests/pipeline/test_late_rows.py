"""Messages that are filed late are listed, wherever a pass has raised the head meanwhile (store protocol)."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.pipeline.stack import DAY, HORIZON, SENDER_KEY_NAME, PipelineStack, Record

from postroom.core.errors import NotNowError, TheirError
from postroom.core.reasons import STORE_UNAVAILABLE
from postroom.pipeline.dead_letters import DeadLetter
from postroom.pipeline.outcomes import ClaimOutcome
from postroom.protocols.nlweb.reasons import KEY_NOT_FOUND
from postroom.storage.layout import RowKey
from postroom.storage.mail.head import BEYOND_ALL, LATE_MS, SETTLED_MS, Head, Heads
from postroom.storage.mail.register import Register

MINUTE = 60.0


def raise_head(stack: PipelineStack, row: RowKey) -> None:
    """A pass that begins now finds many tombstones, and no message."""
    stack.deployed.storage.heads.raise_to(row.pk, Head("m#", 0), BEYOND_ALL, int(stack.clock.now * 1000))


@pytest.fixture
def envelope(stack: PipelineStack) -> bytes:
    return stack.envelope()


@pytest.fixture
def record(stack: PipelineStack, envelope: bytes) -> Record:
    return stack.queued(envelope)


@pytest.fixture
def filed_and_forgotten(stack: PipelineStack, record: Record, monkeypatch: pytest.MonkeyPatch) -> Record:
    """Its row was written five minutes late, and the worker died before it lowered the head, which was raised again."""
    stack.clock.now += 5 * MINUTE
    raise_head(stack, stack.claim(record).row)

    def die(*_: Any) -> None:
        raise NotNowError(STORE_UNAVAILABLE)

    with monkeypatch.context() as dead:
        dead.setattr(Heads, "include", die)
        assert stack.settle(record).fate is ClaimOutcome.RETRIED
    assert stack.listed() == []
    return record


def test_a_message_that_is_filed_late_lowers_the_head(stack: PipelineStack, record: Record) -> None:
    stack.clock.now += 5 * MINUTE
    raise_head(stack, stack.claim(record).row)
    assert stack.settle(record).fate is ClaimOutcome.ACCEPTED
    assert len(stack.listed()) == 1


def test_a_message_that_is_filed_in_time_writes_no_head(stack: PipelineStack, record: Record) -> None:
    stack.clock.now += LATE_MS / 1000
    assert stack.settle(record).fate is ClaimOutcome.ACCEPTED
    assert stack.deployed.storage.heads.read(stack.claim(record).row.pk) == Head("m#", 0)


def test_whether_a_message_is_late_is_asked_after_its_row_was_written(
    stack: PipelineStack, record: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    really, row = Register.file, stack.claim(record).row

    def file_slowly(self: Register, *what: Any) -> Any:
        stack.clock.now += (SETTLED_MS + LATE_MS) / 1000
        raise_head(stack, row)
        return really(self, *what)

    monkeypatch.setattr(Register, "file", file_slowly)
    assert stack.settle(record).fate is ClaimOutcome.ACCEPTED
    assert len(stack.listed()) == 1


def test_whoever_meets_a_row_that_was_filed_late_lowers_the_head(
    stack: PipelineStack, filed_and_forgotten: Record
) -> None:
    assert stack.settle(filed_and_forgotten).fate is ClaimOutcome.DUPLICATE
    assert len(stack.listed()) == 1


def test_copies_of_a_listed_message_do_not_keep_passes_from_learning(
    stack: PipelineStack, envelope: bytes, record: Record
) -> None:
    assert stack.settle(record).fate is ClaimOutcome.ACCEPTED
    copy = stack.queued(envelope)
    stack.clock.now += 5 * MINUTE
    assert stack.settle(copy).fate is ClaimOutcome.DUPLICATE
    assert stack.deployed.storage.heads.read(stack.claim(copy).row.pk) == Head("m#", 0)


@pytest.mark.usefixtures("filed_and_forgotten")
def test_a_copy_shows_a_message_that_is_not_listed(stack: PipelineStack, envelope: bytes) -> None:
    """Its own claim may be a dead letter for days."""
    copy = stack.queued(envelope)
    stack.clock.now += 5 * MINUTE
    assert stack.settle(copy).fate is ClaimOutcome.DUPLICATE
    assert len(stack.listed()) == 1


def withdraw_the_key(stack: PipelineStack, record: Record) -> None:
    stack.keys.published[SENDER_KEY_NAME] = TheirError(KEY_NOT_FOUND)
    assert stack.settle(record).fate is ClaimOutcome.DUPLICATE


def come_too_late(stack: PipelineStack, record: Record) -> None:
    stack.clock.now += HORIZON
    assert stack.settle(record).fate is ClaimOutcome.DUPLICATE


def become_a_dead_letter(stack: PipelineStack, record: Record) -> None:
    stack.clock.now += HORIZON - DAY
    assert stack.dead_letter_handler().keep([DeadLetter("handle", record.body)]).decided == ("handle",)


@pytest.mark.parametrize("decide", [withdraw_the_key, come_too_late, become_a_dead_letter])
def test_a_discard_that_meets_a_row_that_was_filed_late_lowers_the_head(
    stack: PipelineStack, filed_and_forgotten: Record, decide: Callable[[PipelineStack, Record], None]
) -> None:
    decide(stack, filed_and_forgotten)
    assert len(stack.listed()) == 1
    assert stack.discard_notifications() == []
