"""Who needs a user's name and picture: what was sent last to each is compared (6/PAYLOADS: Identity Update)."""

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.protocols.status.senders import NOW_MS, PNG

from postroom.protocols.status.checks import picture_of
from postroom.protocols.status.contacts import own_contact_update
from postroom.protocols.status.enums import ProfileImageSource, ProfileImageType
from postroom.protocols.status.identity import own_identity
from postroom.protocols.status.messages import ChatMessageIdentity, ContactUpdate, ProfileImage
from postroom.protocols.status.sent_profile import SentProfile, profile_digest, profile_receivers_due, write_picture

IDENTITY = own_identity(5, "alice.eth", "Alice", PNG)
UPDATE = own_contact_update(5, "alice.eth", PNG)
OLD, NEW = profile_digest(IDENTITY), profile_digest(replace(IDENTITY, display_name="Alice B."))
BOTH = frozenset({"bob", "carol"})
HOUR_MS = 60 * 60 * 1000


def due(*sent: SentProfile, digest: bytes = NEW, interval_ms: int | None = None) -> frozenset[str]:
    return profile_receivers_due(BOTH, sent, digest, NOW_MS, interval_ms=interval_ms)


# --- what is in a profile -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("profile", [IDENTITY, UPDATE])
def test_the_clock_alone_changes_no_digest(profile: ChatMessageIdentity | ContactUpdate) -> None:
    assert profile_digest(replace(profile, clock=6)) == profile_digest(profile)


@pytest.mark.parametrize(
    "other",
    [
        replace(IDENTITY, ens_name="bob.eth"),
        replace(IDENTITY, ens_name=""),
        replace(IDENTITY, display_name="alice"),
        replace(IDENTITY, profile_image=None),
        own_identity(5, "alice.eth", "Alice", PNG + b"."),
        replace(IDENTITY, unknown=b"\x98\x06\x01"),
    ],
)
def test_any_other_member_of_an_identity_changes_it(other: ChatMessageIdentity) -> None:
    assert profile_digest(other) != profile_digest(IDENTITY)


@pytest.mark.parametrize(
    "other",
    [replace(UPDATE, ens_name=""), replace(UPDATE, profile_image=""), own_contact_update(5, "alice.eth", PNG + b".")],
)
def test_any_other_member_of_a_contact_update_changes_it(other: ContactUpdate) -> None:
    assert profile_digest(other) != profile_digest(UPDATE)


def test_names_do_not_run_into_each_other() -> None:
    one, two = own_identity(1, "a.eth", "b", None), own_identity(1, "", "a.ethb", None)
    assert profile_digest(one) != profile_digest(two)


def test_a_picture_is_bare_base64() -> None:
    assert write_picture(PNG) == "iVBORw0KGgogYW5kIHRoZSByZXN0"
    assert picture_of(write_picture(PNG)) == PNG
    assert (
        ProfileImage(write_picture(PNG), ProfileImageSource.RAW_PAYLOAD, ProfileImageType.RASTER_IMAGE_FILE)
        == own_identity(1, "", "", PNG).profile_image
    )


# --- who needs it ---------------------------------------------------------------------------------------------------


def test_those_to_whom_nothing_was_sent_need_it() -> None:
    assert due() == BOTH
    assert due(SentProfile(NOW_MS - 1, NEW, frozenset({"bob"}))) == {"carol"}


def test_what_was_sent_last_is_compared_and_nothing_before() -> None:
    there_and_back = [SentProfile(NOW_MS - 3, NEW, BOTH), SentProfile(NOW_MS - 2, OLD, BOTH)]
    assert due(*there_and_back) == due(*reversed(there_and_back)) == BOTH
    assert due(*there_and_back, digest=OLD) == due(*reversed(there_and_back), digest=OLD) == frozenset()
    assert due(*there_and_back, SentProfile(NOW_MS - 1, NEW, frozenset({"carol"}))) == {"bob"}


def test_without_an_interval_the_same_is_never_sent_again() -> None:
    assert due(SentProfile(0, NEW, BOTH)) == frozenset()


@pytest.mark.parametrize(("ago_ms", "expected"), [(HOUR_MS - 1, frozenset()), (HOUR_MS, BOTH), (HOUR_MS + 1, BOTH)])
def test_with_an_interval_it_is_sent_again_when_it_is_over(ago_ms: int, expected: frozenset[str]) -> None:
    assert due(SentProfile(NOW_MS - ago_ms, NEW, BOTH), interval_ms=HOUR_MS) == expected


def test_a_time_that_is_still_to_come_holds_nothing_up() -> None:
    wrong = SentProfile(NOW_MS + 1000 * HOUR_MS, NEW, BOTH)
    assert due(wrong) == BOTH
    assert due(wrong, SentProfile(NOW_MS, NEW, BOTH)) == frozenset()


NAMES = st.frozensets(st.sampled_from("abcde"))
SENT = st.lists(st.builds(SentProfile, st.integers(0, 2 * HOUR_MS), st.sampled_from([OLD, NEW]), NAMES), max_size=6)
INTERVALS = st.one_of(st.none(), st.integers(1, HOUR_MS))


@given(NAMES, SENT, st.randoms(use_true_random=False), INTERVALS)
def test_the_order_of_what_was_sent_makes_no_difference(
    receivers: frozenset[str], sent: list[SentProfile], order: random.Random, interval_ms: int | None
) -> None:
    shuffled = sorted(sent, key=lambda _: order.random())
    results = {
        profile_receivers_due(receivers, each, NEW, HOUR_MS, interval_ms=interval_ms) for each in (sent, shuffled)
    }
    assert len(results) == 1
    assert results.pop() <= receivers


@given(NAMES, SENT, INTERVALS)
def test_once_it_is_sent_nobody_needs_it(
    receivers: frozenset[str], sent: list[SentProfile], interval_ms: int | None
) -> None:
    now_ms = HOUR_MS
    before = [each for each in sent if each.at_ms != now_ms]
    needy = profile_receivers_due(receivers, before, NEW, now_ms, interval_ms=interval_ms)
    after = [*before, SentProfile(now_ms, NEW, needy)]
    assert not profile_receivers_due(receivers, after, NEW, now_ms, interval_ms=interval_ms)


def test_of_two_at_one_time_none_is_the_last() -> None:
    both = [SentProfile(NOW_MS - 1, NEW, BOTH), SentProfile(NOW_MS - 1, OLD, BOTH)]
    assert due(*both) == due(*both, digest=OLD) == due(*reversed(both)) == BOTH
    assert due(*both, SentProfile(NOW_MS, NEW, BOTH)) == frozenset()
