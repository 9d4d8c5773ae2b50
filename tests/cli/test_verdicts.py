"""`postroom send --wait`: what became of the message, at the receiver's post office or at our own buffer."""

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import count

import pytest
from tests.aws import Deployed
from tests.aws import clients as clients
from tests.aws import deployed as deployed
from tests.pipeline.stack import NOW, SENDER, SHOP, PipelineStack

from postroom.cli.exits import Exit, UsageFault
from postroom.cli.message_events.event import MessageEvent
from postroom.cli.send import seconds_of, with_seconds
from postroom.cli.verdicts import (
    NO_FEEDBACK,
    MessageVerdict,
    OwnBuffer,
    SentMessageIdentity,
    find_watch,
    identity_of,
    verdict_in,
    wait_for_verdict,
)
from postroom.core.errors import NotNowError
from postroom.core.ijson import JsonValue
from postroom.core.reasons import STORE_UNAVAILABLE
from postroom.local.patience import PATIENCE_SECONDS

CORRELATION = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
MESSAGE = SentMessageIdentity("sender.example", "receiver.example", "0a-1")


def event(
    name: str, claim: str = "c1", *, sender: str = "sender.example", reason: str = "", detail: str = ""
) -> MessageEvent:
    return MessageEvent(7, "worker", name, claim, "receiver.example", sender, "", "0a-1", reason, detail)


def test_there_is_no_verdict_before_the_worker_has_one() -> None:
    assert verdict_in([], MESSAGE) == MessageVerdict("")
    assert verdict_in([event("queued")], MESSAGE) == MessageVerdict("")


@pytest.mark.parametrize("outcome", ["accepted", "duplicate", "forwarded"])
def test_a_message_that_the_post_office_has_is_good(outcome: str) -> None:
    verdict = verdict_in([event("queued"), event(outcome)], MESSAGE)
    assert (verdict.outcome, verdict.exit) == (outcome, Exit.GOOD)
    assert verdict.as_line() == outcome


def test_a_discarded_message_is_refused_with_its_reason_and_detail() -> None:
    verdict = verdict_in([event("queued"), event("discarded", reason="KeyNotFound", detail="no record")], MESSAGE)
    assert verdict.exit is Exit.REFUSED
    assert verdict.as_line() == "discarded: KeyNotFound: no record"
    assert verdict.as_json() == {
        "outcome": "discarded", "reason": "KeyNotFound", "detail": "no record", "at": "1970-01-01T00:00:00.007Z",
    }  # fmt: skip


def test_a_message_that_waits_has_no_verdict_and_says_why() -> None:
    verdict = verdict_in([event("queued"), event("retried", reason="KeyLookupFailed", detail="no answer")], MESSAGE)
    assert (verdict.outcome, verdict.exit) == ("", Exit.UNAVAILABLE)
    assert verdict.as_line() == "no verdict yet: KeyLookupFailed: no answer"


def test_the_copy_that_was_queued_last_counts() -> None:
    former = [event("queued", "c0"), event("discarded", "c0", reason="KeyNotFound")]
    assert verdict_in([*former, event("queued")], MESSAGE) == MessageVerdict("")
    assert verdict_in([*former, event("queued"), event("accepted")], MESSAGE).outcome == "accepted"


def test_a_correlation_is_searched_for_as_it_was_written_and_compared_in_any_case() -> None:
    written = "7C9e6679-7425-40de-944b-e07fc1f90AE7"
    header = {"From": "Sender.Example", "To": "receiver.example", "Correlation": written}
    message = identity_of(json.dumps({"Header": header}).encode())
    assert message == SentMessageIdentity("sender.example", "receiver.example", written)
    queued = replace(event("queued"), correlation=written.lower())
    assert verdict_in([queued, event("accepted")], message).outcome == "accepted"


def test_another_senders_message_with_the_same_correlation_is_another_message() -> None:
    theirs = [event("queued", "c9", sender="other.example"), event("discarded", "c9", sender="other.example")]
    assert verdict_in([event("queued"), *theirs], MESSAGE) == MessageVerdict("")


# --- at our own buffer ------------------------------------------------------------------------------------------------


@pytest.fixture
def stack(deployed: Deployed) -> PipelineStack:
    return PipelineStack(deployed)


def test_feedback_of_the_receiver_is_the_verdict(stack: PipelineStack) -> None:
    message = SentMessageIdentity(SHOP, SENDER, CORRELATION.upper())
    watch = OwnBuffer(stack.deployed.storage, message)
    assert watch.look() == NO_FEEDBACK
    body: JsonValue = {"Sender": SHOP, "Correlation": CORRELATION, "Code": "KeyNotFound", "Reason": "No key."}
    stack.settle(stack.queued(stack.envelope("Feedback@Buffer", body)))
    assert watch.look() == MessageVerdict("discarded", "KeyNotFound", "No key.", int(NOW * 1000))


def test_feedback_of_anybody_else_is_not(stack: PipelineStack) -> None:
    body: JsonValue = {"Sender": SHOP, "Correlation": CORRELATION, "Code": "KeyNotFound", "Reason": "No key."}
    stack.settle(stack.queued(stack.envelope("Feedback@Buffer", body)))
    watch = OwnBuffer(stack.deployed.storage, SentMessageIdentity(SHOP, "far.example", CORRELATION))
    assert watch.look() == NO_FEEDBACK


def test_without_feedback_the_message_may_have_been_accepted() -> None:
    assert NO_FEEDBACK.exit is Exit.UNAVAILABLE
    assert NO_FEEDBACK.as_line() == "no verdict yet: there is no Feedback, which only a discarded message gets"


def test_a_verdict_that_no_post_office_here_will_have_is_a_usage_error() -> None:
    with pytest.raises(
        UsageFault, match=r"needs the post office of receiver\.example, or the buffer of sender\.example"
    ):
        find_watch([], MESSAGE)


class FakeWatch:
    """A place in which the verdict appears at some look."""

    def __init__(self, *verdicts: MessageVerdict | NotNowError) -> None:
        self.verdicts: Iterator[MessageVerdict | NotNowError] = iter(verdicts)

    def look(self) -> MessageVerdict:
        verdict = next(self.verdicts)
        if isinstance(verdict, NotNowError):
            raise verdict
        return verdict


def test_the_wait_ends_with_the_verdict_or_with_the_time() -> None:
    waiting, accepted = MessageVerdict("", "KeyLookupFailed"), MessageVerdict("accepted")
    assert wait_for_verdict(FakeWatch(waiting, accepted), 60, clock=count().__next__, sleep=lambda _: None) == accepted
    never = FakeWatch(*[waiting] * 9)
    assert wait_for_verdict(never, 3, clock=count().__next__, sleep=lambda _: None) == waiting


def test_the_wait_continues_while_the_verdict_cannot_be_read() -> None:
    busy, accepted = NotNowError(STORE_UNAVAILABLE, "throttled"), MessageVerdict("accepted")
    assert wait_for_verdict(FakeWatch(busy, accepted), 60, clock=count().__next__, sleep=lambda _: None) == accepted
    verdict = wait_for_verdict(FakeWatch(*[busy] * 9), 3, clock=count().__next__, sleep=lambda _: None)
    assert (verdict.as_line(), verdict.exit) == ("no verdict yet: StoreUnavailable: throttled", Exit.UNAVAILABLE)


@pytest.mark.parametrize(
    ("given", "whole"),
    [
        (["m.json", "--wait"], ["m.json", "--wait", "inf"]),
        (["--wait", "m.json"], ["--wait", "inf", "m.json"]),
        (["--wait", "--json", "m.json"], ["--wait", "inf", "--json", "m.json"]),
        (["--wait", "5", "m.json"], ["--wait", "5", "m.json"]),
        (["--wait=5", "m.json"], ["--wait=5", "m.json"]),
        (["m.json"], ["m.json"]),
    ],
)
def test_the_seconds_may_be_left_out(given: list[str], whole: list[str]) -> None:
    assert with_seconds(given) == whole


def test_only_without_a_number_the_local_stack_is_waited_for_longer() -> None:
    assert seconds_of(float("inf"), is_local=False) == 60
    assert seconds_of(float("inf"), is_local=True) == PATIENCE_SECONDS
    assert seconds_of(60, is_local=True) == 60
