"""Kept events of all groups: what a stranger costs who makes up groups, and what no stranger changes."""

from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.protocols.status.group_floods import by, flood, kept_of, renamed, small_bounds
from tests.protocols.status.histories import (
    ALICE,
    BOB,
    CAROL,
    DAVE,
    GROUP,
    IN_GROUP,
    MALLORY,
    NOW,
    THE_GROUP,
    author,
    event,
    founding,
    log_of,
    sent,
    text,
    update,
)

from postroom.protocols.status.chat_view import ChatView
from postroom.protocols.status.chats import group_id
from postroom.protocols.status.enums import MembershipEventType as Kind
from postroom.protocols.status.kept_groups import EVENTS_ELSEWHERE, MAX_WAITING, KeptGroups
from postroom.protocols.status.keys import ChatKey
from postroom.protocols.status.membership import Group, SignedEvent, fold_group


def made_up(number: int, founder: ChatKey = MALLORY.public) -> str:
    """The ID of a group that a stranger has made up."""
    return group_id(f"00000000-0000-4000-8000-{number:012x}", founder)


def added(groups: KeptGroups, events: Sequence[SignedEvent], group: str = GROUP) -> KeptGroups:
    for each in events:
        groups.add(group, each, NOW)
    return groups


FOUNDING = [by(ALICE, Kind.CHAT_CREATED, 10, name="Choir"), by(ALICE, Kind.MEMBERS_ADDED, 11, [BOB, CAROL])]


# Groups in which the user never was


def test_of_all_groups_that_the_user_was_never_in_so_many_events_are_kept() -> None:
    assert EVENTS_ELSEWHERE == 10_000
    groups = KeptGroups(BOB.public)
    for number in range(EVENTS_ELSEWHERE + 500):
        added(groups, renamed(MALLORY, 1), made_up(number))
    assert list(groups.of_user()) == []
    assert len([*groups]) == EVENTS_ELSEWHERE


def test_a_group_of_which_no_event_is_kept_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    small_bounds(monkeypatch, EVENTS_ELSEWHERE=3)
    groups = KeptGroups(BOB.public)
    for number in range(9):
        added(groups, renamed(MALLORY, number + 1), made_up(number))
    groups.of_user()
    assert {group for group, _, _ in groups} == {made_up(number) for number in range(3)}
    assert groups.group(made_up(8)) == Group(made_up(8))
    added(groups, renamed(DAVE, 1), made_up(8))
    groups.of_user()
    assert len([*groups]) == 3
    assert kept_of(groups, DAVE, made_up(8)) == [1]


def test_which_groups_are_forgotten_does_not_depend_on_the_order(monkeypatch: pytest.MonkeyPatch) -> None:
    small_bounds(monkeypatch, EVENTS_ELSEWHERE=3)
    kept = set[frozenset[str]]()
    for order in (range(9), reversed(range(9))):
        groups = KeptGroups(BOB.public)
        for number in order:
            added(groups, renamed(MALLORY, 1), made_up(number))
        groups.of_user()
        kept.add(frozenset(group for group, _, _ in groups))
    assert kept == {frozenset(map(made_up, range(3)))}


def test_the_sender_of_most_events_elsewhere_loses_them_first(monkeypatch: pytest.MonkeyPatch) -> None:
    small_bounds(monkeypatch, EVENTS_ELSEWHERE=10)
    groups = added(KeptGroups(DAVE.public), FOUNDING)
    for number in range(50):
        added(groups, renamed(MALLORY, 1), made_up(number))
    groups.of_user()
    assert kept_of(groups, ALICE) == [10, 11]
    assert len([*groups]) == 10


def test_groups_that_a_stranger_makes_up_displace_none_of_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    small_bounds(monkeypatch, EVENTS_ELSEWHERE=1)
    groups = added(KeptGroups(BOB.public), FOUNDING)
    for number in range(20):
        added(groups, renamed(MALLORY, 1), made_up(number))
        added(groups, [by(MALLORY, Kind.MEMBERS_ADDED, 1, [BOB])], GROUP)
        assert list(groups.of_user()) == [GROUP]
    assert groups.group(GROUP).members == {ALICE.public, BOB.public, CAROL.public}


def test_a_group_is_the_users_from_when_a_manager_has_added_the_user() -> None:
    groups = added(KeptGroups(DAVE.public), [*FOUNDING, by(CAROL, Kind.MEMBERS_ADDED, 12, [DAVE])])
    assert list(groups.of_user()) == []
    added(groups, [by(ALICE, Kind.MEMBERS_ADDED, 13, [DAVE])])
    assert list(groups.of_user()) == [GROUP]


def test_a_group_is_not_the_users_any_more_if_what_added_the_user_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    small_bounds(monkeypatch, EVENTS_OF_A_MANAGER=2)
    groups = added(KeptGroups(BOB.public), FOUNDING)
    assert list(groups.of_user()) == [GROUP]
    added(groups, renamed(ALICE, 1, 2))
    assert list(groups.of_user()) == []


def test_the_founder_is_in_a_group_of_which_the_founding_has_not_come() -> None:
    assert list(added(KeptGroups(ALICE.public), renamed(MALLORY, 1)).of_user()) == [GROUP]


# Looks


def test_a_look_at_one_group_goes_through_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at = []
    bound = KeptGroups.group.__globals__["GroupEvents"].bound
    monkeypatch.setattr(
        "postroom.protocols.status.group_events.GroupEvents.bound",
        lambda events: (looked_at.append(events.id), bound(events))[1],
    )
    groups = added(KeptGroups(BOB.public), FOUNDING)
    for number in range(20):
        added(groups, flood(3), made_up(number))
    groups.group(GROUP)
    assert looked_at == [GROUP]
    groups.of_user()
    looked_at.clear()
    added(groups, renamed(MALLORY, 1), made_up(3))
    groups.of_user()
    assert looked_at == [made_up(3)]


def test_groups_elsewhere_are_not_made_anew_while_they_are_few_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    small_bounds(monkeypatch, EVENTS_ELSEWHERE=20)
    groups = added(KeptGroups(DAVE.public), FOUNDING)
    before = groups.group(GROUP)
    for clock in range(1, 18):
        added(groups, renamed(MALLORY, clock), made_up(1))
        groups.of_user()
        assert groups.group(GROUP) is before


def test_events_that_wait_for_a_look_are_bounded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    assert MAX_WAITING == 100_000
    small_bounds(monkeypatch, MAX_WAITING=50, EVENTS_ELSEWHERE=10, EVENTS_OF_STRANGERS=10)
    groups = added(KeptGroups(BOB.public), FOUNDING)
    for number in range(20):
        added(groups, flood(20), made_up(number))
        added(groups, flood(20))
        assert len([*groups]) <= len(FOUNDING) + 50 + 10 + 10


# What a user sees


def test_a_stranger_changes_nothing_that_a_user_sees_of_a_group() -> None:
    honest = [
        sent(ALICE, update(*founding())),
        sent(CAROL, update(message=text(chat=IN_GROUP))),
    ]
    hostile = [sent(MALLORY, update(*(event(Kind.NAME_CHANGED, NOW, name=f"{n}", by=MALLORY) for n in range(200))))]
    for lines in ([*hostile, *honest], [*honest, *hostile]):
        view = ChatView(log_of(lines))
        assert view.chat(THE_GROUP).name == "Choir"
        assert [message.text for message in view.messages(THE_GROUP)] == ["hello"]


# Laws

HONEST = [
    *FOUNDING,
    by(ALICE, Kind.ADMINS_ADDED, 12, [BOB]),
    by(BOB, Kind.MEMBER_JOINED, 13),
    by(BOB, Kind.MEMBERS_ADDED, 14, [DAVE]),
    by(DAVE, Kind.MEMBER_JOINED, 15),
    by(CAROL, Kind.MEMBER_REMOVED, 16, [CAROL]),
    by(BOB, Kind.NAME_CHANGED, 17, name="Band"),
]
MOST_HONEST = 3
"""Events of one of them."""
HOSTILE_KEYS = (MALLORY, *map(author, ("eve", "oscar", "trudy")))
HOSTILE = st.lists(
    st.tuples(
        st.sampled_from([GROUP, GROUP, *map(made_up, range(3)), made_up(9, ALICE.public)]),
        st.builds(
            by,
            st.sampled_from(HOSTILE_KEYS),
            st.sampled_from(list(Kind)),
            st.integers(1, 30),
            st.lists(st.sampled_from([ALICE, BOB, *HOSTILE_KEYS]), max_size=2),
            st.sampled_from(["", "M", "N"]),
        ),
    ),
    max_size=60,
)


@given(HOSTILE, st.randoms(use_true_random=False), st.booleans())
def test_no_order_of_a_strangers_events_changes_what_an_honest_group_ends_with(
    hostile: list[tuple[str, SignedEvent]], random: Random, policy: bool
) -> None:
    # Enough for what each of all senders has, if no sender had more than an honest one.
    all_senders = (4 + len(HOSTILE_KEYS)) * MOST_HONEST
    with pytest.MonkeyPatch.context() as patch:
        small_bounds(
            patch,
            EVENTS_OF_A_MANAGER=MOST_HONEST,
            EVENTS_OF_MANAGERS=4 * MOST_HONEST,
            EVENTS_OF_ANOTHER=MOST_HONEST,
            EVENTS_OF_MEMBERS=4 * MOST_HONEST,
            EVENTS_OF_STRANGERS=all_senders,
            EVENTS_ELSEWHERE=all_senders,
        )
        groups = KeptGroups(DAVE.public, members_may_change=policy)
        events = [*hostile, *((GROUP, each) for each in HONEST)]
        for group, each in random.sample(events, len(events)):
            groups.add(group, each, NOW)
            if random.random() < 0.3:
                random.choice((groups.of_user, lambda: groups.group(GROUP)))()
        assert groups.group(GROUP) == fold_group(GROUP, HONEST, members_may_change=policy)
        assert GROUP in groups.of_user()


@given(st.integers(0, 300), st.randoms(use_true_random=False))
def test_with_any_number_of_keys_a_stranger_changes_nothing_before_the_first_look(count: int, random: Random) -> None:
    with pytest.MonkeyPatch.context() as patch:
        small_bounds(patch, EVENTS_OF_STRANGERS=1, EVENTS_ELSEWHERE=1)
        events = [*flood(count), *HONEST]
        groups = added(KeptGroups(DAVE.public), random.sample(events, len(events)))
        assert list(groups.of_user()) == [GROUP]
        assert groups.group(GROUP) == fold_group(GROUP, HONEST)


@given(st.integers(0, 300), st.randoms(use_true_random=False))
def test_with_any_number_of_keys_a_stranger_changes_nothing_in_a_group_that_is_known(
    count: int, random: Random
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        small_bounds(patch, EVENTS_OF_STRANGERS=1, EVENTS_ELSEWHERE=1)
        groups = added(KeptGroups(BOB.public), HONEST)
        for each in flood(count):
            added(groups, [each])
            if random.random() < 0.1:
                groups.of_user()
        assert groups.group(GROUP) == fold_group(GROUP, HONEST)
