"""`postroom chat explain`: every check of one wrapper in order, going on after a failed one."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fuzz.entry import bit_flipped
from tests.protocols.status.known import (
    ALICE,
    BOB,
    GROUP,
    ID,
    IN_GROUP,
    MALLORY,
    NOW,
    SAMPLES,
    each_sample,
    founding,
    image,
    own_of,
    text,
    wrapped,
    wrapper_of,
)
from tests.protocols.status.made import MESSAGES
from tests.tiers import examples

from postroom.core.errors import TheirError
from postroom.protocols.status import messages as m
from postroom.protocols.status.clock import check_not_ahead
from postroom.protocols.status.codec import type_of_message, write_payload
from postroom.protocols.status.enums import ChatKind, ImageType, PayloadType
from postroom.protocols.status.explain import ExplainedWrapper, explain
from postroom.protocols.status.json_form import message_as_json
from postroom.protocols.status.keys import ChatKey
from postroom.protocols.status.messages import clock_of
from postroom.protocols.status.reasons import MEMBERSHIP_INVALID
from postroom.protocols.status.verify import verify
from postroom.protocols.status.wrapper import MAX_WRAPPER_BYTES, write_wrapper

FIRST = ["wrapper", "type", "signature", "author", "payload"]
IN_CHANNEL = {"chat_id": "status", "message_type": ChatKind.PUBLIC_GROUP}


def explained(message: m.StatusMessage, *, at_ms: int = NOW, **options: Any) -> ExplainedWrapper:
    return explain(wrapper_of(message), at_ms=at_ms, **{"named": type_of_message(message), **options})


def names(found: ExplainedWrapper) -> list[str]:
    return [check.name for check in found.checks]


def failed(found: ExplainedWrapper) -> dict[str, str]:
    return {check.name: str(check.reason) for check in found.checks if not check.ok}


# --- what is checked ----------------------------------------------------------------------------------------------


@each_sample
def test_a_valid_message_is_accepted(sample: m.StatusMessage) -> None:
    found = explained(sample, own=own_of(sample), carrier=ALICE.public)
    assert (found.verdict, found.reason, failed(found)) == ("accepted", None, {})
    assert found.message == sample
    assert found.author == found.signer == ALICE.public


def test_every_check_in_order() -> None:
    update = m.MembershipUpdateMessage(GROUP, (founding(),), image(**IN_GROUP))
    found = explained(update, own=BOB.public, carrier=ALICE.public)
    assert names(found) == [*FIRST, "carrier", "chat", "clock", "events", "media"]
    clear = explained(SAMPLES["clear"], own=ALICE.public, carrier=ALICE.public)
    assert names(clear) == [*FIRST, "carrier", "own devices", "chat", "clock"]
    assert all(check.section and check.expected for check in (*found.checks, *clear.checks))


def test_what_needs_a_key_that_is_not_given_is_not_checked() -> None:
    assert names(explained(text(chat_id=MALLORY.public))) == [*FIRST, "chat", "clock"]
    assert explained(text(chat_id=MALLORY.public)).verdict == "accepted"
    assert explained(text(chat_id=MALLORY.public), own=BOB.public).verdict == "discarded"
    assert explained(SAMPLES["pair"]).verdict == "accepted"
    assert failed(explained(SAMPLES["pair"], own=BOB.public)) == {"own devices": "NotFromOwnKey"}
    assert failed(explained(text(), carrier=MALLORY.public)) == {"carrier": "AuthorNotCarrier"}


def test_a_group_or_a_channel_that_nobody_knows_is_not_its_fault() -> None:
    for members in (IN_CHANNEL, IN_GROUP):
        assert explained(text(**members), own=BOB.public).verdict == "accepted"


# --- one failed check after another -------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [b"", b"\xff", b"\0\0", b"\x12\0", bytes(MAX_WRAPPER_BYTES + 1)])
def test_of_what_is_no_wrapper_nothing_else_is_checked(data: bytes) -> None:
    found = explain(data, at_ms=NOW)
    assert names(found) == ["wrapper"]
    assert found.verdict == "discarded" if len(data) <= MAX_WRAPPER_BYTES else str(found.reason) == "TooLarge"
    assert found.as_json()["message"] is found.as_json()["author"] is found.as_json()["id"] is None


def test_it_goes_on_after_each_failed_check() -> None:
    late = text(chat_id=MALLORY.public, clock=NOW + 200_000)
    found = explained(late, own=BOB.public, carrier=MALLORY.public)
    assert failed(found) == {"carrier": "AuthorNotCarrier", "chat": "WrittenToAnother", "clock": "ClockAhead"}
    assert str(found.reason) == "AuthorNotCarrier"
    assert found.message == late
    without_author = explain(write_wrapper(write_payload(late), b"", 1), at_ms=NOW)
    assert failed(without_author) == {"author": "AuthorUnknown", "clock": "ClockAhead"}
    bad_signature = explain(write_wrapper(write_payload(late), b"x" * 64, 1), at_ms=NOW)
    assert failed(bad_signature) == {"signature": "AuthorSignatureInvalid", "clock": "ClockAhead"}
    assert bad_signature.id is None
    assert bad_signature.message == late


def test_channels_and_groups_are_checked_whoever_the_author_is() -> None:
    for signature, failure in ((b"", {"author": "AuthorUnknown"}), (b"x", {"signature": "AuthorSignatureInvalid"})):
        for chat, kind in ((IN_CHANNEL, "public"), (IN_GROUP, "group")):
            found = explain(write_wrapper(write_payload(text(**chat)), signature, 1), at_ms=NOW, own=BOB.public)
            assert failed(found) == failure
            assert found.as_json()["chat"] == {"kind": kind, "id": chat["chat_id"]}
        strange = write_payload(text(chat_id="a b", message_type=ChatKind.PUBLIC_GROUP))
        found = explain(write_wrapper(strange, signature, 1), at_ms=NOW)
        assert failed(found) == {**failure, "chat": "ChatInvalid"}
        of_two = explain(write_wrapper(write_payload(text()), signature, 1), at_ms=NOW, own=BOB.public)
        assert (names(of_two)[-2:], of_two.chat) == (["payload", "clock"], None)


def test_without_a_type_the_author_is_checked_all_the_same() -> None:
    found = explain(wrapped(write_payload(text()), 0), at_ms=NOW)
    assert failed(found) == {"type": "PayloadTypeUnknown"}
    assert names(found) == FIRST[:-1]
    assert found.author == ALICE.public


def test_what_cannot_be_read_is_not_said_to_be_passed_on() -> None:
    # A message of a channel may be: whether it is one is not known.
    found = explain(wrapped(b"\xff"), at_ms=NOW, carrier=MALLORY.public, own=BOB.public)
    assert failed(found) == {"payload": "PayloadInvalid"}
    unread = explain(wrapped(b"\xff", PayloadType.PAIR_INSTALLATION), at_ms=NOW, own=BOB.public)
    assert failed(unread) == {"payload": "PayloadInvalid", "own devices": "NotFromOwnKey"}


def test_media_that_fails_does_not_cost_the_message() -> None:
    found = explained(image(type_=ImageType.PNG), own=BOB.public)
    assert failed(found) == {"media": "MediaInvalid"}
    assert (found.verdict, found.reason) == ("accepted", None)
    assert found.as_json()["media"] == {"kind": "image", "type": "PNG", "bytes": 42, "reason": "MediaInvalid"}
    worse = explained(image(type_=ImageType.PNG, clock=NOW + 120_001), own=BOB.public)
    assert str(worse.reason) == "ClockAhead"


def test_an_update_whose_events_do_not_count() -> None:
    ahead = founding(clock=NOW + 120_001)
    for events, says in (
        ((ahead,), "ClockAhead"), ((founding()[:65],), "more than 65 bytes"), ((b"x" * 70,), "AuthorSignature"),
        ((ahead, b""), "of which 2 do not count"), ((founding(key=MALLORY),), "not created by the key in its ID"),
    ):  # fmt: skip
        found = explained(m.MembershipUpdateMessage(GROUP, events))
        assert failed(found) == {"events": "MembershipInvalid"}
        assert says.replace("AuthorSignature", "") in found.checks[-1].saw
        assert found.reason is MEMBERSHIP_INVALID
    for good in (
        m.MembershipUpdateMessage(GROUP, (ahead, founding())),
        m.MembershipUpdateMessage(GROUP, (ahead,), text(**IN_GROUP)),
    ):
        found = explained(good)
        assert found.verdict == "accepted"
        assert "1 do not count" in found.checks[-1].saw


# --- clocks and marks ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("away", "reason", "marks"),
    [(-120_001, None, ("late",)), (-120_000, None, ()), (0, None, ()), (120_000, None, ()),
     (120_001, "ClockAhead", ())],
)  # fmt: skip
def test_clocks_are_held_against_when_it_came(away: int, reason: str | None, marks: tuple[str, ...]) -> None:
    for sample in SAMPLES.values():
        if (clock := clock_of(sample)) is not None:
            found = explained(sample, at_ms=clock - away, own=own_of(sample))
            assert failed(found).get("clock") == reason
            assert found.marks == marks


def test_marks() -> None:
    assert explain(wrapper_of(text(), None), at_ms=NOW, carrier=ALICE.public).marks == ("unsigned",)
    assert explain(wrapped(b"x", 99, None), at_ms=NOW, carrier=ALICE.public).marks == ("unsigned", "not-understood")
    assert explain(wrapper_of(text(), None), at_ms=NOW + 120_001, carrier=ALICE.public).marks == ("unsigned", "late")


# --- JSON ---------------------------------------------------------------------------------------------------------


def test_the_json_of_a_message() -> None:
    data = wrapper_of(text())
    shown = explain(data, at_ms=NOW, own=BOB.public).as_json()
    assert list(shown) == [
        "verdict", "reason", "checks", "wrapper", "type", "signed", "author", "id", "chat", "marks", "media", "message",
    ]  # fmt: skip
    assert shown["verdict"] == "accepted"
    assert shown["reason"] is shown["media"] is None
    assert shown["wrapper"] == "typed"
    assert shown["type"] == "CHAT_MESSAGE"
    assert shown["signed"] is True
    assert shown["author"] == ALICE.public
    assert shown["id"] == verify(data, own=BOB.public).id
    assert shown["chat"] == {"kind": "one-to-one", "id": ALICE.public}
    assert shown["marks"] == []
    assert shown["message"] == message_as_json(text())


def test_the_json_of_other_chats_and_wrappers() -> None:
    assert explained(text(**IN_CHANNEL)).as_json()["chat"] == {"kind": "public", "id": "status"}
    assert explained(text(**IN_GROUP)).as_json()["chat"] == {"kind": "group", "id": GROUP}
    identity = explained(SAMPLES["identity"]).as_json()
    assert (identity["wrapper"], identity["type"], identity["chat"]) == ("untyped", "CHAT_MESSAGE_IDENTITY", None)
    unknown = explain(wrapped(b"x", 99), at_ms=NOW).as_json()
    assert (unknown["verdict"], unknown["type"], unknown["message"]) == ("accepted", 99, None)
    unsigned = explain(wrapper_of(text(), None), at_ms=NOW).as_json()
    assert (unsigned["signed"], unsigned["author"], unsigned["reason"]) == (False, None, "AuthorUnknown")


# --- as the receiver does -----------------------------------------------------------------------------------------


def outcome(data: bytes, at_ms: int, named: int, carrier: ChatKey | None, own: ChatKey) -> str | None:
    """What the receiver says: the first reason of `verify`, then that of the clock and of the events' clocks."""
    try:
        found = verify(data, own=own, named=named, carrier=carrier)
        clock = None if found.message is None else clock_of(found.message)
        if clock is not None:
            check_not_ahead(clock, at_ms)
        elif found.events:
            check_not_ahead(min(event.event.clock for event in found.events), at_ms)
    except TheirError as error:
        return str(error.reason)
    return None


@given(
    MESSAGES, st.sampled_from([None, ALICE.public, MALLORY.public]), st.sampled_from([ALICE, BOB]), st.booleans(),
    st.sampled_from([NOW, 1 << 62, 1]), st.integers(0, 1 << 20) | st.none(),
)  # fmt: skip
@settings(max_examples=examples(300))
def test_the_verdict_is_that_of_the_receiver(
    message: m.StatusMessage, carrier: ChatKey | None, own: Any, signed: bool, at_ms: int, flip: int | None
) -> None:
    data, named = wrapper_of(message, ALICE if signed else None), type_of_message(message)
    if flip is not None:
        data = bit_flipped(data, flip)
    found = explain(data, at_ms=at_ms, named=named, carrier=carrier, own=own.public)
    expected = outcome(data, at_ms, named, carrier, own.public)
    assert (found.verdict == "accepted") == (expected is None)
    # Only an update all of whose events are ahead is called by the group's reason.
    assert expected in (found.as_json()["reason"], "ClockAhead")
    json.dumps(found.as_json())


@given(st.binary(max_size=100), st.sampled_from([None, *PayloadType]))
def test_any_bytes_are_explained(data: bytes, named: int | None) -> None:
    for each in (data, wrapped(data or b"x", named or 1)):
        found = explain(each, at_ms=NOW, named=named, own=BOB.public)
        assert found.verdict in ("accepted", "discarded", "refused")
        json.dumps(found.as_json())


def test_ids_in_reasons_are_short() -> None:
    found = explained(text(chat_id="x" * 500_000, message_type=ChatKind.PUBLIC_GROUP, response_to=ID))
    assert failed(found) == {"chat": "ChatInvalid"}
    assert all(len(check.saw) < 300 for check in found.checks)
