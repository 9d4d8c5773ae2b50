"""Kept events of one group: what a stranger costs, and whose events nobody else displaces (decision "Groups")."""

from collections.abc import Iterable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.protocols.status.group_floods import by, flood, kept_of, renamed, small_bounds, strangers
from tests.protocols.status.histories import ALICE, BOB, CAROL, DAVE, GROUP, MALLORY, NOW

from postroom.protocols.status.author import AuthorKey
from postroom.protocols.status.enums import MembershipEventType as Kind
from postroom.protocols.status.group_events import (
    EVENTS_OF_A_MANAGER,
    EVENTS_OF_ANOTHER,
    EVENTS_OF_MANAGERS,
    EVENTS_OF_MEMBERS,
    EVENTS_OF_STRANGERS,
    GroupEvents,
    fair_share,
)
from postroom.protocols.status.keys import ChatKey
from postroom.protocols.status.membership import Group, SignedEvent, fold_group

FOUNDING = [
    by(ALICE, Kind.CHAT_CREATED, 10, name="Choir"),
    by(ALICE, Kind.MEMBERS_ADDED, 11, [BOB, CAROL]),
    by(ALICE, Kind.ADMINS_ADDED, 12, [BOB]),
]
"""Alice founded the group, Bob is an admin as well, Carol is a member."""


def events_of(*events: SignedEvent) -> GroupEvents:
    """The events of Alice's group, which have come and been bounded."""
    group = GroupEvents(GROUP)
    for event in events:
        group.add(event, NOW)
    group.bound()
    return group


# One sender


def test_of_a_stranger_so_many_events_are_kept() -> None:
    assert EVENTS_OF_ANOTHER == 100
    assert len(events_of(*FOUNDING, *renamed(MALLORY, *range(1, 501)))) == len(FOUNDING) + EVENTS_OF_ANOTHER


def test_of_a_member_who_is_no_admin_as_many_are_kept_as_of_a_stranger() -> None:
    assert len(kept_of(events_of(*FOUNDING, *renamed(CAROL, *range(20, 220))), CAROL)) == EVENTS_OF_ANOTHER


def test_of_a_manager_all_changes_that_can_count_are_kept() -> None:
    assert (EVENTS_OF_A_MANAGER, EVENTS_OF_MANAGERS) == (10_000, 40_000)
    events = events_of(*FOUNDING, *renamed(ALICE, *range(20, 10_100)))
    assert len(kept_of(events, ALICE)) == EVENTS_OF_A_MANAGER
    assert events.group().name == f"{20 + EVENTS_OF_A_MANAGER - len(FOUNDING) - 1}"


def test_a_manager_who_has_made_all_changes_can_still_remove_members(monkeypatch: pytest.MonkeyPatch) -> None:
    small_bounds(monkeypatch, EVENTS_OF_A_MANAGER=5)
    removal = by(ALICE, Kind.MEMBER_REMOVED, 90, [CAROL])
    assert events_of(*FOUNDING, *renamed(ALICE, *range(20, 30)), removal).group().members == {ALICE.public, BOB.public}


def test_of_a_sender_the_oldest_events_are_kept_whatever_came_first(monkeypatch: pytest.MonkeyPatch) -> None:
    small_bounds(monkeypatch, EVENTS_OF_ANOTHER=3)
    events = renamed(MALLORY, *range(1, 10))
    for order in (events, events[::-1], Random(1).sample(events, len(events))):
        assert kept_of(events_of(*order)) == [1, 2, 3]


def test_what_was_not_kept_of_a_sender_is_not_kept_later_either(monkeypatch: pytest.MonkeyPatch) -> None:
    small_bounds(monkeypatch, EVENTS_OF_ANOTHER=3)
    group = events_of(*renamed(MALLORY, *range(1, 10)))
    for event in renamed(MALLORY, 2, 7, 8):
        group.add(event, NOW)
    group.bound()
    assert kept_of(group) == [1, 2, 3]


# A group


def test_of_all_strangers_to_a_group_so_many_events_are_kept() -> None:
    assert EVENTS_OF_STRANGERS == 1000
    assert len(events_of(*FOUNDING, *flood(2000))) == len(FOUNDING) + EVENTS_OF_STRANGERS


def test_the_strangers_with_most_events_lose_theirs_first(monkeypatch: pytest.MonkeyPatch) -> None:
    small_bounds(monkeypatch, EVENTS_OF_STRANGERS=10)
    events = events_of(*renamed(DAVE, 1, 2), *renamed(MALLORY, *range(1, 50)), *renamed(CAROL, *range(1, 20)))
    assert (kept_of(events, DAVE), kept_of(events, MALLORY), kept_of(events, CAROL)) == (
        [1, 2],
        [1, 2, 3, 4],
        [1, 2, 3, 4],
    )


def test_of_more_strangers_than_events_are_kept_of_those_with_fewest_keep_one(monkeypatch: pytest.MonkeyPatch) -> None:
    small_bounds(monkeypatch, EVENTS_OF_STRANGERS=5)
    events = events_of(*flood(9), *renamed(MALLORY, 1, 2))
    assert (len(events), kept_of(events)) == (5, [])


def test_of_all_members_who_are_no_admins_so_many_events_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    assert EVENTS_OF_MEMBERS == 10_000
    small_bounds(monkeypatch, EVENTS_OF_MEMBERS=6)
    added = by(ALICE, Kind.MEMBERS_ADDED, 13, [DAVE, MALLORY])
    events = events_of(
        *FOUNDING, added, *renamed(CAROL, 20), *renamed(DAVE, *range(20, 29)), *renamed(MALLORY, *range(20, 29))
    )
    assert [len(kept_of(events, user)) for user in (CAROL, DAVE, MALLORY)] in ([1, 3, 2], [1, 2, 3])


def test_strangers_displace_no_events_of_managers_and_members() -> None:
    joined = by(CAROL, Kind.MEMBER_JOINED, 13)
    renaming = by(BOB, Kind.NAME_CHANGED, 14, name="Band")
    events = events_of(joined, *flood(1500, 2), renaming, *FOUNDING)
    assert [kept_of(events, user) for user in (ALICE, BOB, CAROL)] == [[10, 11, 12], [14], [13]]
    assert events.group().name == "Band"


def test_an_admin_with_many_keys_displaces_no_events_of_the_founder(monkeypatch: pytest.MonkeyPatch) -> None:
    small_bounds(monkeypatch, EVENTS_OF_MANAGERS=10)
    keys = [*strangers(20)]
    added = [by(BOB, kind, 13, keys) for kind in (Kind.MEMBERS_ADDED, Kind.ADMINS_ADDED)]
    events = events_of(*added, *flood(20), *FOUNDING, *renamed(ALICE, 20, 21))
    assert (kept_of(events, ALICE), kept_of(events, BOB)) == ([10, 11, 12, 20, 21], [13, 13])
    assert len(events) == 8


def test_who_is_no_manager_any_more_keeps_as_many_events_as_a_stranger(monkeypatch: pytest.MonkeyPatch) -> None:
    small_bounds(monkeypatch, EVENTS_OF_A_MANAGER=4)
    adding = [by(ALICE, kind, 20, [MALLORY]) for kind in (Kind.MEMBERS_ADDED, Kind.ADMINS_ADDED)]
    small_bounds(monkeypatch, EVENTS_OF_ANOTHER=2)
    group = events_of(FOUNDING[0], *adding, *renamed(MALLORY, *range(21, 29)))
    assert kept_of(group) == [21, 22, 23, 24]
    for event in renamed(ALICE, 11, 12, 13):
        group.add(event, NOW)
    group.bound()
    assert kept_of(group) == [21, 22]


def test_a_member_makes_nobody_else_more_than_a_stranger() -> None:
    added = by(CAROL, Kind.MEMBERS_ADDED, 13, [MALLORY])
    events = events_of(*FOUNDING, added)
    assert not events.may_have_had(MALLORY.public)
    assert events.may_have_had(CAROL.public)


def test_by_the_policy_that_members_may_change_a_group_those_whom_they_add_are_managers() -> None:
    events = GroupEvents(GROUP, members_may_change=True)
    for each in (*FOUNDING, by(CAROL, Kind.MEMBERS_ADDED, 13, [DAVE]), *renamed(DAVE, *range(14, 214))):
        events.add(each, NOW)
    assert events.group().name == "213"


# Looks


def test_a_look_at_a_group_goes_through_no_events_of_strangers(monkeypatch: pytest.MonkeyPatch) -> None:
    folds: list[set[ChatKey]] = []

    def fold(group: str, events: Iterable[SignedEvent], *, members_may_change: bool) -> Group:
        events = [*events]
        folds.append({event.author for event in events})
        return fold_group(group, events, members_may_change=members_may_change)

    monkeypatch.setattr("postroom.protocols.status.group_events.fold_group", fold)
    group = events_of(*FOUNDING, *renamed(MALLORY, 1))
    before = group.group()
    for event in flood(10):
        group.add(event, NOW)
        assert group.group() is before
    assert folds == [{ALICE.public}]


def test_an_event_of_a_stranger_counts_when_its_author_was_added() -> None:
    group = events_of(*FOUNDING, by(DAVE, Kind.NAME_CHANGED, 20, name="Band"), *renamed(MALLORY, *range(21, 300)))
    assert group.group().name == "Choir"
    for kind in (Kind.MEMBERS_ADDED, Kind.ADMINS_ADDED):
        group.add(by(BOB, kind, 15, [DAVE]), NOW)
    assert group.group().name == "Band"


# Laws

SHARES = st.dictionaries(st.sampled_from([*strangers(6)]), st.lists(st.integers(), unique=True, max_size=8))


@given(SHARES, st.integers(0, 30))
def test_shares_are_as_many_as_the_bound_and_nobody_loses_to_one_who_keeps_more(
    events: dict[ChatKey, list[int]], bound: int
) -> None:
    kept = fair_share(events, bound, lambda each: each)
    assert sum(map(len, kept.values())) == min(bound, sum(map(len, events.values())))
    most = max(map(len, kept.values()), default=0)
    for sender, share in kept.items():
        assert {*share} <= {*events[sender]}
        if len(share) < len(events[sender]):
            assert len(share) >= most - 1
            assert [*share] == sorted(events[sender])[: len(share)]


KEYS = (ALICE, BOB, CAROL, DAVE, MALLORY)
ANY = st.lists(
    st.builds(
        by,
        st.sampled_from(KEYS),
        st.sampled_from([kind for kind in Kind if kind is not Kind.UNKNOWN]),
        st.integers(10, 16),
        st.lists(st.sampled_from(KEYS), max_size=2),
        st.sampled_from(["A", "B"]),
    ),
    max_size=30,
)


@given(ANY, st.randoms(use_true_random=False), st.booleans())
def test_what_is_kept_of_a_set_does_not_depend_on_the_order_and_is_kept_again(
    events: list[SignedEvent], random: Random, policy: bool
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        small_bounds(
            patch,
            EVENTS_OF_A_MANAGER=3,
            EVENTS_OF_MANAGERS=8,
            EVENTS_OF_ANOTHER=2,
            EVENTS_OF_MEMBERS=3,
            EVENTS_OF_STRANGERS=2,
        )
        kept = []
        for order in ([*FOUNDING, *events], random.sample([*FOUNDING, *events], len(events) + len(FOUNDING))):
            group = GroupEvents(GROUP, policy)
            for each in order:
                group.add(each, NOW)
            group.bound()
            again = GroupEvents(GROUP, policy)
            for each, at_ms in group:
                again.add(each, at_ms)
            again.bound()
            kept.append([sorted(came[0].place for came in found) for found in (group, again)])
    assert kept[0][0] == kept[0][1] == kept[1][0] == kept[1][1]


@given(ANY, st.booleans())
def test_below_the_bounds_the_group_is_what_all_of_its_events_make(events: list[SignedEvent], policy: bool) -> None:
    group = GroupEvents(GROUP, policy)
    for each in (*FOUNDING, *events):
        group.add(each, NOW)
    every = {(each.author, each.data): each for each in (*FOUNDING, *events)}
    assert group.group() == fold_group(GROUP, every.values(), members_may_change=policy)


# Those who were managers once


def left_by(user: AuthorKey, clock: int) -> list[SignedEvent]:
    """An admin resigns, and leaves."""
    return [by(user, Kind.ADMIN_REMOVED, clock, [user]), by(user, Kind.MEMBER_REMOVED, clock + 1, [user])]


def flood_of_a_manager(user: AuthorKey, count: int) -> list[SignedEvent]:
    """As many events of one user as are kept of a manager, none of which counts after the user left."""
    removed = (by(user, Kind.MEMBER_REMOVED, 100 + each, [MALLORY]) for each in range(count))
    return [*renamed(user, *range(100, 100 + count)), *removed]


def seen_in(*events: SignedEvent) -> tuple[frozenset[ChatKey], str]:
    """The members and the name of the group that the events make."""
    group = events_of(*events).group()
    return frozenset(group.members), group.name


def test_a_founder_who_left_displaces_nothing_by_events_that_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    small_bounds(monkeypatch, EVENTS_OF_A_MANAGER=10, EVENTS_OF_MANAGERS=20)
    honest = [
        *FOUNDING,
        *left_by(ALICE, 13),
        by(BOB, Kind.MEMBERS_ADDED, 20, [DAVE]),
        by(BOB, Kind.MEMBER_REMOVED, 21, [CAROL]),
        by(BOB, Kind.NAME_CHANGED, 22, name="Ours"),
    ]
    assert seen_in(*honest, *flood_of_a_manager(ALICE, 10)) == seen_in(*honest)
    assert seen_in(*honest)[1] == "Ours"


def test_an_admin_who_left_displaces_nothing_of_admins_that_others_made(monkeypatch: pytest.MonkeyPatch) -> None:
    small_bounds(monkeypatch, EVENTS_OF_A_MANAGER=10, EVENTS_OF_MANAGERS=20)
    honest = [
        *FOUNDING,
        by(BOB, Kind.MEMBERS_ADDED, 13, [MALLORY]),
        *(by(ALICE, kind, 14, [CAROL]) for kind in (Kind.MEMBERS_ADDED, Kind.ADMINS_ADDED)),
        *(by(CAROL, kind, 15, [DAVE]) for kind in (Kind.MEMBERS_ADDED, Kind.ADMINS_ADDED)),
        *left_by(BOB, 20),
        by(DAVE, Kind.MEMBER_REMOVED, 30, [MALLORY]),
    ]
    assert seen_in(*honest, *flood_of_a_manager(BOB, 10)) == seen_in(*honest)
    assert MALLORY.public not in seen_in(*honest)[0]


def test_an_admin_who_left_displaces_no_events_of_members_that_others_added(monkeypatch: pytest.MonkeyPatch) -> None:
    """By naming many keys, each of which signs an event, and those members, too."""
    small_bounds(monkeypatch, EVENTS_OF_MEMBERS=10)
    honest = [
        *FOUNDING,
        *left_by(BOB, 13),
        by(CAROL, Kind.MEMBER_JOINED, 20),
        by(CAROL, Kind.MEMBER_REMOVED, 21, [CAROL]),
    ]
    naming = by(BOB, Kind.MEMBERS_ADDED, 30, [*strangers(20), CAROL])
    assert seen_in(*honest, naming, *flood(20)) == seen_in(*honest)
    assert CAROL.public not in seen_in(*honest)[0]
