"""Feedback, as we send and as we take it: decisions "Feedback" and "Buffer"."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.core.errors import TheirError
from postroom.core.ijson import JsonValue
from postroom.core.reason import Kind, Reason
from postroom.protocols.nlweb.feedback import (
    ReceivedFeedback,
    body_of,
    is_due,
    line_of,
    read_feedback,
    read_refusal,
    summary_of,
)
from postroom.protocols.nlweb.reasons import KEY_REVOKED, SIGNATURE_INVALID, WRONG_SHAPE
from postroom.protocols.nlweb.timestamp import read_timestamp
from postroom.reasons import REASONS

UUID = "125a5c75-cb72-43d2-9695-37026dfcaa48"
HOUR_MS = 3_600_000


# --- who is notified -----------------------------------------------------------------------------------------------


def test_a_domain_gets_feedback_about_its_discarded_message() -> None:
    assert is_due("AnyMethod", "any-sender.com")


def test_there_is_no_feedback_about_feedback() -> None:
    assert not is_due("Feedback@Buffer", "any-buffer.com")


def test_a_wallet_has_no_manifest_that_names_a_buffer() -> None:
    assert not is_due("AnyMethod", UUID)


# --- what is said ------------------------------------------------------------------------------------------------


def test_the_text_of_feedback_about_one_discard() -> None:
    assert body_of("any-sender.com", UUID, SIGNATURE_INVALID) == {
        "Sender": "any-sender.com",
        "Correlation": UUID,
        "Status": "Discarded",
        "Reason": "Invalid DKIM signature.",  # the specification's example
        "Code": "SignatureInvalid",
    }


@pytest.mark.parametrize("reason", [reason for reason in REASONS if reason.kind is Kind.DISCARD], ids=str)
def test_every_discard_has_its_sentence_and_its_code(reason: Reason) -> None:
    body = body_of("any-sender.com", UUID, reason)
    assert (body["Reason"], body["Code"]) == (reason.sentence, str(reason))
    assert json.loads(json.dumps(body)) == body


def test_discards_beyond_the_hourly_limit_are_summarized() -> None:
    summary = summary_of("any-sender.com", 0, HOUR_MS, {"SignatureInvalid": 3, "KeyNotFound": 39})
    assert summary == {
        "Sender": "any-sender.com",
        "Status": "Discarded",
        "Count": 42,
        "Since": "1970-01-01T00:00:00.000Z",
        "Until": "1970-01-01T01:00:00.000Z",
        "Codes": {"KeyNotFound": 39, "SignatureInvalid": 3},
    }
    assert read_timestamp(str(summary["Until"])) == HOUR_MS


def test_the_summary_does_not_depend_on_the_order_of_discards() -> None:
    one = summary_of("any-sender.com", 0, HOUR_MS, {"A": 1, "B": 2})
    other = summary_of("any-sender.com", 0, HOUR_MS, {"B": 2, "A": 1})
    assert json.dumps(one) == json.dumps(other)


# --- what is taken -----------------------------------------------------------------------------------------------


def test_feedback_that_we_send_is_read_as_a_buffer() -> None:
    body = body_of("any-sender.com", UUID, KEY_REVOKED)
    assert read_feedback(body) == ReceivedFeedback("any-sender.com", UUID, "KeyRevoked", KEY_REVOKED.sentence)


@given(st.text(max_size=500), st.integers(0, 80))
def test_text_of_strangers_is_shown_without_control_characters(text: str, most: int) -> None:
    line = line_of(text, most)
    assert line.isprintable()
    assert len(line) <= most
    assert line_of(line, most) == line
    assert text.isprintable() is (line_of(text, 500) == text)


@pytest.mark.parametrize("value", [None, 1, True, [], ["x"], {}, {"a": "x"}])
def test_values_that_are_not_text_are_ignored(value: JsonValue) -> None:
    assert line_of(value, 9) == ""
    assert read_refusal(value) == ("", "")


@pytest.mark.parametrize(
    ("problem", "code_and_text"),
    [
        ({"reason": "HashMismatch", "title": "No", "detail": "It is wrong."}, ("HashMismatch", "It is wrong.")),
        ({"title": "No", "detail": "\x1b"}, ("", "No")),
        ({"type": "about:blank"}, ("", "")),
    ],
)
def test_a_refusal_has_its_code_and_sentence(problem: JsonValue, code_and_text: tuple[str, str]) -> None:
    assert read_refusal(problem) == code_and_text


def test_a_summary_is_about_no_single_message() -> None:
    assert read_feedback(summary_of("any-sender.com", 0, HOUR_MS, {"A": 1})) == ReceivedFeedback("any-sender.com", None)


def test_the_form_of_the_specification_names_no_sender() -> None:
    body: JsonValue = {"Correlation": UUID.upper(), "Status": "Discarded", "Reason": "Invalid DKIM signature."}
    assert read_feedback(body) == ReceivedFeedback(None, UUID, "", "Invalid DKIM signature.")


def test_a_feedback_is_filed_under_lower_case_names() -> None:
    assert read_feedback({"Sender": "Any-Sender.COM", "Correlation": UUID.upper()}) == ReceivedFeedback(
        "any-sender.com", UUID
    )


def test_unknown_members_of_feedback_are_ignored() -> None:
    body: JsonValue = {"Sender": "any-sender.com", "Correlation": UUID, "Note": 1, "Count": 2}
    assert read_feedback(body) == ReceivedFeedback("any-sender.com", UUID)


@pytest.mark.parametrize(
    "body",
    [
        None,
        "Discarded",
        [],
        7,
        {},
        {"Count": 1},  # a summary about nobody
        {"Sender": None, "Count": 1},
        {"Correlation": 1},
        {"Sender": "any-sender.com"},
        {"Sender": None, "Correlation": UUID},
        {"Sender": 1, "Correlation": UUID},
        {"Sender": UUID, "Correlation": UUID},
        {"Sender": "", "Correlation": UUID},
        {"Sender": "com", "Correlation": UUID},
        {"Sender": "any-sender.com.", "Correlation": UUID},
        {"Sender": "bücher.example", "Correlation": UUID},
        {"Sender": "\u212a.example", "Correlation": UUID},  # the Kelvin sign, of which str.lower makes a k
        {"Sender": "\u212a.example", "Count": 1},
        {"Sender": "any-sender.com/x", "Correlation": UUID},
        {"Sender": "any-sender.com\n", "Correlation": UUID},
        {"Sender": "any-sender.com", "Correlation": ""},
        {"Sender": "any-sender.com", "Correlation": 1},
        {"Sender": "any-sender.com", "Correlation": None},
        {"Sender": "any-sender.com", "Correlation": None, "Count": 1},
        {"Sender": "any-sender.com", "Correlation": UUID.replace("-", "")},
        {"Sender": "any-sender.com", "Correlation": UUID + "\n"},
        {"Sender": "any-sender.com", "Correlation": "../" + UUID[3:]},
    ],
)
def test_feedback_that_cannot_be_filed_is_a_shape_error(body: JsonValue) -> None:
    with pytest.raises(TheirError) as caught:
        read_feedback(body)
    assert caught.value.reason is WRONG_SHAPE
