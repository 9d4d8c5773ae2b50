"""Whose fault it is: theirs, nobody's yet, or ours."""

import pickle
import traceback

import pytest
from tests.core.test_shown_text import HOSTILE

from postroom.client.chat.errors import ChatError
from postroom.client.dcp.errors import RequestFailedError
from postroom.client.mailbox.errors import UnavailableError
from postroom.core.errors import NotNowError, OurError, PostroomError, SettingsError, TheirError
from postroom.core.reason import Kind, Reason
from postroom.core.reasons import NOT_QUEUED, STORE_UNAVAILABLE
from postroom.protocols.dcp.error_payload import ErrorPayload
from postroom.protocols.nlweb.reasons import NOT_OURS, WRONG_SHAPE
from postroom.reasons import REASONS

FINAL = [reason for reason in REASONS if reason.kind is not Kind.RETRY]
PASSING = [reason for reason in REASONS if reason.kind is Kind.RETRY]


@pytest.mark.parametrize("kind", [TheirError, NotNowError, OurError, SettingsError])
def test_all_errors_have_one_base_class(kind: type[Exception]) -> None:
    assert issubclass(kind, PostroomError)


def test_errors_of_senders_of_ours_and_temporary_ones_are_different_classes() -> None:
    classes = [TheirError, NotNowError, OurError]
    assert not any(a is not b and issubclass(a, b) for a in classes for b in classes)


def test_a_wrong_setting_is_our_fault() -> None:
    assert issubclass(SettingsError, OurError)
    assert OurError("x").status_hint == SettingsError("x").status_hint == 500


def refused(kind: type[TheirError | NotNowError], reason: Reason) -> str:
    """What is said to whoever would raise an error of this kind for a reason; empty: it can be raised."""
    try:
        kind(reason)
    except ValueError as error:
        return str(error)
    return ""


def test_a_senders_error_has_the_status_of_its_reason() -> None:
    hints = {reason: TheirError(reason).status_hint for reason in FINAL}
    assert hints == {reason: reason.status for reason in FINAL}


def test_a_temporary_error_says_that_it_may_be_retried() -> None:
    assert [reason for reason in PASSING if NotNowError(reason).status_hint not in (429, 503)] == []


def test_a_temporary_error_is_never_the_senders() -> None:
    assert [reason for reason in PASSING if str(reason) not in refused(TheirError, reason)] == []


def test_a_final_error_is_never_temporary() -> None:
    assert [reason for reason in FINAL if str(reason) not in refused(NotNowError, reason)] == []


def test_an_error_says_its_code_and_the_detail() -> None:
    error = TheirError(WRONG_SHAPE, "Header is missing")
    assert (error.reason, error.detail) == (WRONG_SHAPE, "Header is missing")
    assert str(error) == "WrongShape: Header is missing"


def test_an_error_without_a_detail_says_the_sentence_of_its_reason() -> None:
    error = NotNowError(NOT_QUEUED)
    assert error.detail == ""
    assert str(error) == f"NotQueued: {NOT_QUEUED.sentence}"


@pytest.mark.parametrize(
    "error",
    [
        TheirError(WRONG_SHAPE, HOSTILE * 10_000),
        NotNowError(NOT_QUEUED, HOSTILE * 10_000),
        SettingsError(HOSTILE * 10_000),
        RequestFailedError(ErrorPayload("Error", HOSTILE * 10_000, HOSTILE)),
        UnavailableError(HOSTILE * 10_000, reason=HOSTILE),
        ChatError(HOSTILE * 10_000),
    ],
    ids=lambda error: type(error).__name__,
)
def test_no_error_that_repeats_what_a_stranger_wrote_controls_the_terminal_that_shows_it(error: PostroomError) -> None:
    """Python shows an error that nobody handles, asyncio logs one that nobody waits for, and programs print them."""
    assert str(error).isprintable()
    assert "\\x1b[2J" in f"{error}"
    assert len(str(error)) < 25_000
    [*_, line] = traceback.format_exception_only(error)
    assert line.removesuffix("\n").isprintable()


def test_an_error_keeps_what_it_was_made_of() -> None:
    error = RequestFailedError(ErrorPayload("Error", HOSTILE * 10_000, "E"))
    assert (error.error.message, error.code) == (HOSTILE * 10_000, "E")
    assert TheirError(WRONG_SHAPE, HOSTILE).detail == HOSTILE


@pytest.mark.parametrize("error", [TheirError(NOT_OURS, "x"), NotNowError(STORE_UNAVAILABLE)])
def test_an_error_can_be_pickled(error: TheirError | NotNowError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert (again.reason, again.detail, str(again)) == (error.reason, error.detail, str(error))
