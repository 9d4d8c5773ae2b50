"""Groups: whose changes count, in which order, and who was in one when (7/GROUP-CHAT; decision "Groups")."""

from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from itertools import permutations
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.protocols.status.histories import (
    ALICE,
    BOB,
    CAROL,
    DAVE,
    GROUP,
    MALLORY,
    author,
    event,
    with_higher_s,
)

from postroom.core.errors import TheirError
from postroom.crypto.ethereum import keccak_256
from postroom.protocols.status.author import AuthorKey
from postroom.protocols.status.chats import group_id
from postroom.protocols.status.codec import write_event
from postroom.protocols.status.enums import MembershipEventType as Kind
from postroom.protocols.status.keys import ChatKey
from postroom.protocols.status.membership import (
    KNOWN_EVENTS,
    MAX_COUNTED_EVENTS,
    MAX_MEMBERS,
    Group,
    SignedEvent,
    fold_group,
    read_signed_event,
    sign_event,
)
from postroom.protocols.status.messages import MembershipUpdateEvent
from postroom.protocols.status.reasons import AUTHOR_SIGNATURE_INVALID, CLOCK_INVALID, MEMBERSHIP_INVALID

CREATED = event(Kind.CHAT_CREATED, 10, name="Choir")


def folded(*events: bytes, members_may_change: bool = False) -> Group:
    """The group that events make, in whatever order they are given."""
    signed = [read_signed_event(GROUP, each) for each in events]
    groups = [
        fold_group(GROUP, order, members_may_change=members_may_change)
        for order in (permutations(signed) if len(signed) <= 4 else (signed, signed[::-1]))
    ]
    assert all(group == groups[0] for group in groups)
    return groups[0]


def keys(*users: AuthorKey) -> set[ChatKey]:
    return {user.public for user in users}


# Reading one event


def test_an_event_is_a_signature_of_the_group_and_the_event_and_then_the_event() -> None:
    data = write_event(MembershipUpdateEvent(10, Kind.NAME_CHANGED, name="Choir"))
    read = read_signed_event(GROUP, ALICE.sign(GROUP.encode() + data) + data)
    assert (read.author, read.event.name, read.data) == (ALICE.public, "Choir", data)


def test_an_event_of_another_group_has_another_author() -> None:
    other = group_id("00000000-0000-4000-8000-000000000000", ALICE.public)
    assert read_signed_event(other, CREATED).author != ALICE.public


def test_a_clients_own_encoding_is_kept_and_is_what_is_signed() -> None:
    data = write_event(MembershipUpdateEvent(10, Kind.NAME_CHANGED, name="Choir"))
    longer = b"\x08\x8a\x00" + data[2:]  # the clock in two bytes, though one is enough
    assert read_signed_event(GROUP, ALICE.sign(GROUP.encode() + longer) + longer).data == longer


@pytest.mark.parametrize("size", [0, 1, 64, 65])
def test_an_event_has_more_bytes_than_a_signature(size: int) -> None:
    with pytest.raises(TheirError) as caught:
        read_signed_event(GROUP, bytes(size))
    assert caught.value.reason is MEMBERSHIP_INVALID


def test_a_signature_that_no_key_can_have_made_is_none() -> None:
    with pytest.raises(TheirError) as caught:
        read_signed_event(GROUP, bytes(65) + CREATED[65:])
    assert caught.value.reason is AUTHOR_SIGNATURE_INVALID


@pytest.mark.parametrize("clock", [0, 1 << 63, (1 << 64) - 1])
def test_each_event_keeps_the_clock_rule(clock: int) -> None:
    data = b"\x08" + _varint(clock) + b"\x20\x04"
    with pytest.raises(TheirError) as caught:
        read_signed_event(GROUP, ALICE.sign(GROUP.encode() + data) + data)
    assert caught.value.reason is CLOCK_INVALID


@pytest.mark.parametrize(
    "target", ["", "0xabc", ALICE.public.upper(), ALICE.public[2:], "0x04" + "0" * 128, ALICE.public + "0"]
)
def test_a_target_that_is_no_key_makes_the_event_invalid(target: str) -> None:
    signed = sign_event(GROUP, MembershipUpdateEvent(10, Kind.MEMBERS_ADDED, (BOB.public, target)), ALICE)
    with pytest.raises(TheirError) as caught:
        read_signed_event(GROUP, signed)
    assert caught.value.reason is MEMBERSHIP_INVALID


def test_an_event_concerns_no_more_users_than_a_group_has() -> None:
    read_signed_event(GROUP, event(Kind.MEMBERS_ADDED, 10, [BOB] * MAX_MEMBERS))
    with pytest.raises(TheirError) as caught:
        read_signed_event(GROUP, event(Kind.MEMBERS_ADDED, 10, [BOB] * (MAX_MEMBERS + 1)))
    assert caught.value.reason is MEMBERSHIP_INVALID


def test_an_event_that_was_read_is_not_read_again() -> None:
    again = b"".join([CREATED])
    assert read_signed_event(GROUP, again) is read_signed_event(GROUP, CREATED)
    assert read_signed_event.cache_parameters()["maxsize"] == KNOWN_EVENTS


# What the events of a group make


def test_the_founder_is_the_first_member_and_admin() -> None:
    group = folded(CREATED)
    assert (group.name, group.members, group.admins, group.clock) == ("Choir", keys(ALICE), keys(ALICE), 10)


def test_without_a_founding_there_is_no_group() -> None:
    group = folded(event(Kind.MEMBERS_ADDED, 10, [BOB]), event(Kind.MEMBER_JOINED, 11))
    assert (group.is_created, group.members, group.clock) == (False, set(), 0)


def test_a_group_is_founded_by_the_key_in_its_id() -> None:
    assert not folded(event(Kind.CHAT_CREATED, 10, name="Mine", by=MALLORY)).is_created


def test_what_is_before_the_founding_does_not_count() -> None:
    assert folded(CREATED, event(Kind.MEMBERS_ADDED, 9, [BOB])).members == keys(ALICE)


def test_at_one_clock_the_founding_is_the_first() -> None:
    assert folded(*(event(Kind.MEMBERS_ADDED, 10, [key]) for key in (BOB, CAROL)), CREATED).members == keys(
        ALICE, BOB, CAROL
    )


def test_of_two_foundings_the_first_by_clock_counts() -> None:
    second = event(Kind.CHAT_CREATED, 20, name="Again")
    assert folded(CREATED, second, event(Kind.MEMBERS_ADDED, 15, [BOB])).name == "Choir"
    assert folded(CREATED, second, event(Kind.MEMBERS_ADDED, 15, [BOB])).members == keys(ALICE, BOB)


def test_a_founding_that_is_back_dated_below_the_first_takes_its_place() -> None:
    group = folded(CREATED, event(Kind.CHAT_CREATED, 5, name="Older"), event(Kind.MEMBERS_ADDED, 7, [BOB]))
    assert (group.name, group.members, group.had_member(ALICE.public, 5)) == ("Older", keys(ALICE, BOB), True)


def test_of_two_foundings_at_one_clock_the_one_with_the_smaller_hash_counts() -> None:
    other = event(Kind.CHAT_CREATED, 10, name="Band")
    first = min(CREATED, other, key=lambda each: keccak_256(each[65:]))
    assert folded(CREATED, other).name == read_signed_event(GROUP, first).event.name


def test_events_at_one_clock_count_in_the_order_of_their_hashes() -> None:
    names = [event(Kind.NAME_CHANGED, 11, name=f"{number}") for number in range(4)]
    last = max(names, key=lambda each: keccak_256(each[65:]))
    assert folded(CREATED, *names).name == read_signed_event(GROUP, last).event.name


def test_the_same_event_of_two_authors_counts_in_the_order_of_their_keys() -> None:
    both = [CREATED, event(Kind.MEMBERS_ADDED, 11, [BOB]), event(Kind.ADMINS_ADDED, 12, [BOB])]
    bobs, alices = (event(Kind.ADMIN_REMOVED, 13, [BOB], by=by) for by in (BOB, ALICE))
    assert read_signed_event(GROUP, bobs).data == read_signed_event(GROUP, alices).data
    # Of the two, only Bob's is valid, wherever it stands.
    assert folded(*both, bobs, alices).admins == keys(ALICE)
    places = [read_signed_event(GROUP, each).place for each in (bobs, alices)]
    assert (places[0] < places[1]) == (BOB.public < ALICE.public)


def test_the_signature_is_not_part_of_an_event() -> None:
    one = read_signed_event(GROUP, CREATED)
    other = read_signed_event(GROUP, with_higher_s(CREATED[:65]) + CREATED[65:])
    assert (one.author, one.data) == (other.author, other.data)


def test_an_invalid_event_is_ignored_and_the_rest_counts() -> None:
    group = folded(
        CREATED,
        event(Kind.NAME_CHANGED, 11, name="Mallory's", by=MALLORY),
        event(Kind.MEMBERS_ADDED, 12, [BOB]),
        event(Kind.MEMBERS_ADDED, 13, [MALLORY], by=MALLORY),
    )
    assert (group.name, group.members, group.clock) == ("Choir", keys(ALICE, BOB), 12)


SETUP = (
    CREATED,
    event(Kind.MEMBERS_ADDED, 11, [BOB, CAROL, DAVE]),
    event(Kind.ADMINS_ADDED, 12, [BOB]),
)
"""Alice founded the group, Bob is an admin as well, Carol and Dave are members, Mallory is a stranger."""
ALLOWED: dict[str, tuple[int, Sequence[AuthorKey], str, str]] = {
    "founds it again": (Kind.CHAT_CREATED, [], "Again", ""),
    "changes the name": (Kind.NAME_CHANGED, [], "Band", "alice bob"),
    "takes the name away": (Kind.NAME_CHANGED, [], "", ""),
    "adds a stranger": (Kind.MEMBERS_ADDED, [MALLORY], "", "alice bob"),
    "adds a member again": (Kind.MEMBERS_ADDED, [DAVE], "", "alice bob"),
    "joins": (Kind.MEMBER_JOINED, [], "", "alice bob carol"),
    "removes a member": (Kind.MEMBER_REMOVED, [DAVE], "", "alice bob"),
    "removes the founder": (Kind.MEMBER_REMOVED, [ALICE], "", "alice"),
    "removes an admin": (Kind.MEMBER_REMOVED, [BOB], "", "bob"),
    "removes Carol": (Kind.MEMBER_REMOVED, [CAROL], "", "alice bob carol"),
    "removes a stranger": (Kind.MEMBER_REMOVED, [author("nobody")], "", ""),
    "removes Mallory": (Kind.MEMBER_REMOVED, [MALLORY], "", ""),
    "removes two": (Kind.MEMBER_REMOVED, [CAROL, DAVE], "", ""),
    "removes one twice": (Kind.MEMBER_REMOVED, [DAVE, DAVE], "", ""),
    "removes nobody": (Kind.MEMBER_REMOVED, [], "", ""),
    "makes a member an admin": (Kind.ADMINS_ADDED, [DAVE], "", "alice bob"),
    "makes Carol an admin": (Kind.ADMINS_ADDED, [CAROL], "", "alice bob"),
    "makes a stranger an admin": (Kind.ADMINS_ADDED, [MALLORY], "", ""),
    "makes a member and a stranger admins": (Kind.ADMINS_ADDED, [DAVE, MALLORY], "", ""),
    "takes Alice's rights": (Kind.ADMIN_REMOVED, [ALICE], "", "alice"),
    "takes Bob's rights": (Kind.ADMIN_REMOVED, [BOB], "", "bob"),
    "takes the rights of a member": (Kind.ADMIN_REMOVED, [CAROL], "", ""),
    "takes the rights of two": (Kind.ADMIN_REMOVED, [ALICE, BOB], "", ""),
    "does what has no number": (Kind.UNKNOWN, [], "", ""),
    "changes the colour": (8, [], "", ""),
}
"""What who may do, beside the status-go test that the cases are from: all that is in the last column, nobody else."""
ROLES = {"alice": ALICE, "bob": BOB, "carol": CAROL, "mallory": MALLORY}
BY_MEMBERS = {"changes the name", "adds a stranger", "adds a member again"}
"""What members may as well, where the policy is that of newer clients."""


@pytest.mark.parametrize("members_may_change", [False, True])
@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("what", ALLOWED)
def test_who_may_do_what(what: str, role: str, members_may_change: bool) -> None:
    kind, targets, name, allowed = ALLOWED[what]
    may = role in allowed.split() or (members_may_change and role == "carol" and what in BY_MEMBERS)
    before = fold_group(GROUP, (read_signed_event(GROUP, each) for each in SETUP))
    done = read_signed_event(GROUP, event(kind, 13, targets, name, by=ROLES[role]))
    with nullcontext() if may else pytest.raises(TheirError) as refused:
        before.apply(done, members_may_change=members_may_change)
    assert may or refused.value.reason == MEMBERSHIP_INVALID
    assert before.clock == (13 if may else 12)
    if not may:
        assert before == fold_group(GROUP, (read_signed_event(GROUP, each) for each in SETUP))


CHANGES: dict[str, tuple[bytes, str, set[ChatKey], set[ChatKey]]] = {
    "a name": (event(Kind.NAME_CHANGED, 13, name="Band"), "Band", keys(ALICE, BOB, CAROL, DAVE), keys(ALICE, BOB)),
    "a new member": (
        event(Kind.MEMBERS_ADDED, 13, [MALLORY]), "Choir", keys(ALICE, BOB, CAROL, DAVE, MALLORY), keys(ALICE, BOB),
    ),
    "one who joins": (event(Kind.MEMBER_JOINED, 13, by=BOB), "Choir", keys(ALICE, BOB, CAROL, DAVE), keys(ALICE, BOB)),
    "one who is removed": (
        event(Kind.MEMBER_REMOVED, 13, [CAROL]), "Choir", keys(ALICE, BOB, DAVE), keys(ALICE, BOB),
    ),
    "an admin who leaves": (
        event(Kind.MEMBER_REMOVED, 13, [BOB], by=BOB), "Choir", keys(ALICE, CAROL, DAVE), keys(ALICE),
    ),
    "new admins": (
        event(Kind.ADMINS_ADDED, 13, [CAROL, DAVE]),
        "Choir",
        keys(ALICE, BOB, CAROL, DAVE),
        keys(ALICE, BOB, CAROL, DAVE),
    ),
    "an admin who is one no longer": (
        event(Kind.ADMIN_REMOVED, 13, [BOB], by=BOB), "Choir", keys(ALICE, BOB, CAROL, DAVE), keys(ALICE),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("change", "name", "members", "admins"), CHANGES.values(), ids=CHANGES)
def test_what_an_event_changes(change: bytes, name: str, members: set[ChatKey], admins: set[ChatKey]) -> None:
    group = folded(*SETUP, change)
    assert (group.name, group.members, group.admins, group.clock) == (name, members, admins, 13)


def test_an_admin_who_leaves_and_is_added_again_is_a_member_only() -> None:
    group = folded(*SETUP, event(Kind.MEMBER_REMOVED, 13, [BOB], by=BOB), event(Kind.MEMBERS_ADDED, 14, [BOB]))
    assert BOB.public in group.members
    assert group.admins == keys(ALICE)


def test_a_group_without_an_admin_goes_on() -> None:
    group = folded(CREATED, event(Kind.MEMBERS_ADDED, 11, [BOB]), event(Kind.MEMBER_REMOVED, 12, [ALICE]))
    assert (group.members, group.admins) == (keys(BOB), set())


# Who was in it when


def test_one_is_a_member_from_the_clock_of_the_event_on() -> None:
    group = folded(CREATED, event(Kind.MEMBERS_ADDED, 20, [BOB]))
    assert [group.had_member(BOB.public, clock) for clock in (10, 19, 20, 21, 1 << 62)] == [
        False,
        False,
        True,
        True,
        True,
    ]


def test_one_is_no_member_from_the_clock_of_the_removal_on() -> None:
    group = folded(CREATED, event(Kind.MEMBERS_ADDED, 20, [BOB]), event(Kind.MEMBER_REMOVED, 30, [BOB]))
    assert [group.had_member(BOB.public, clock) for clock in (20, 29, 30, 31)] == [True, True, False, False]
    assert group.ever_had(BOB.public)
    assert not group.ever_had(CAROL.public)


def test_one_who_was_removed_can_be_added_again() -> None:
    group = folded(
        CREATED,
        event(Kind.MEMBERS_ADDED, 20, [BOB]),
        event(Kind.MEMBER_REMOVED, 30, [BOB]),
        event(Kind.MEMBERS_ADDED, 40, [BOB]),
    )
    assert [group.had_member(BOB.public, clock) for clock in (25, 30, 39, 40)] == [True, False, False, True]


def test_to_be_added_twice_is_to_be_added_once() -> None:
    group = folded(
        CREATED,
        event(Kind.MEMBERS_ADDED, 20, [BOB, BOB]),
        event(Kind.MEMBERS_ADDED, 25, [BOB]),
        event(Kind.MEMBER_REMOVED, 30, [BOB]),
    )
    assert [group.had_member(BOB.public, clock) for clock in (20, 27, 30)] == [True, True, False]


def test_events_at_the_clock_of_a_message_all_count_for_it() -> None:
    group = folded(CREATED, event(Kind.MEMBERS_ADDED, 20, [BOB]), event(Kind.MEMBER_REMOVED, 20, [BOB], by=BOB))
    assert group.had_member(BOB.public, 20) == (BOB.public in group.members)


def test_one_was_an_admin_only_while_one_was() -> None:
    group = folded(*SETUP, event(Kind.ADMIN_REMOVED, 20, [BOB], by=BOB))
    assert [group.had_admin(BOB.public, clock) for clock in (11, 12, 19, 20)] == [False, True, True, False]


# Bounds


def test_a_group_has_no_more_members_than_the_bound() -> None:
    users = [author(f"{number}") for number in range(MAX_MEMBERS)]
    full = event(Kind.MEMBERS_ADDED, 11, users[1:])
    assert len(folded(CREATED, full).members) == MAX_MEMBERS
    group = folded(CREATED, full, event(Kind.MEMBERS_ADDED, 12, users[:1]), event(Kind.MEMBERS_ADDED, 13, users[1:3]))
    assert len(group.members) == MAX_MEMBERS
    assert group.clock == 13


def unsigned(events: Iterable[tuple[AuthorKey, MembershipUpdateEvent]]) -> list[SignedEvent]:
    """Events as they are once their signatures have been checked."""
    return [SignedEvent(by.public, each, write_event(each), b"") for by, each in events]


def test_of_the_changes_of_a_group_so_many_count() -> None:
    names = unsigned(
        (ALICE, MembershipUpdateEvent(11 + clock, Kind.NAME_CHANGED, name=f"{clock}"))
        for clock in range(MAX_COUNTED_EVENTS)
    )
    group = fold_group(GROUP, [*names, read_signed_event(GROUP, CREATED)])
    assert group.name == f"{MAX_COUNTED_EVENTS - 2}"


@pytest.mark.parametrize("policy", [False, True])
def test_nobody_stays_in_a_group_by_filling_its_past(policy: bool) -> None:
    flood = unsigned(
        (CAROL, MembershipUpdateEvent(20, kind, name=f"{number}"))
        for number in range(MAX_COUNTED_EVENTS)
        for kind in (Kind.MEMBER_JOINED, Kind.NAME_CHANGED)
    )
    removal = event(Kind.MEMBER_REMOVED, 30, [CAROL])
    demotion = event(Kind.ADMIN_REMOVED, 30, [BOB], by=BOB)
    events = [*flood, *(read_signed_event(GROUP, each) for each in (*SETUP, removal, demotion))]
    group = fold_group(GROUP, events, members_may_change=policy)
    assert group.members == keys(ALICE, BOB, DAVE)
    assert group.admins == keys(ALICE)


def test_members_who_join_again_and_again_do_not_stop_others() -> None:
    joined = unsigned(
        (CAROL, MembershipUpdateEvent(20, Kind.MEMBER_JOINED, name=f"{number}")) for number in range(MAX_COUNTED_EVENTS)
    )
    later = event(Kind.NAME_CHANGED, 30, name="Band")
    assert fold_group(GROUP, [*joined, *(read_signed_event(GROUP, each) for each in (*SETUP, later))]).name == "Band"


# Laws

USERS = (ALICE, BOB, CAROL)
EVENTS = st.lists(
    st.tuples(
        st.sampled_from(USERS),
        st.builds(
            MembershipUpdateEvent,
            st.integers(10, 14),
            st.sampled_from(list(Kind)),
            st.lists(st.sampled_from([user.public for user in (*USERS, MALLORY)]), max_size=2).map(tuple),
            st.sampled_from(["", "A", "B"]),
        ),
    ),
    max_size=12,
)


@given(EVENTS, st.randoms(use_true_random=False), st.booleans())
def test_the_order_in_which_events_came_makes_no_difference(
    events: list[tuple[AuthorKey, MembershipUpdateEvent]], random: "Random", policy: bool
) -> None:
    signed = [read_signed_event(GROUP, CREATED), *unsigned(events)]
    shuffled = random.sample(signed, len(signed))
    assert fold_group(GROUP, signed, members_may_change=policy) == fold_group(
        GROUP, shuffled, members_may_change=policy
    )


@given(EVENTS)
def test_admins_are_members_and_who_is_in_it_now_was_so_at_its_last_clock(
    events: list[tuple[AuthorKey, MembershipUpdateEvent]],
) -> None:
    group = fold_group(GROUP, [read_signed_event(GROUP, CREATED), *unsigned(events)])
    assert group.admins <= group.members
    for user in (*USERS, MALLORY):
        assert group.had_member(user.public, group.clock) == (user.public in group.members)
        assert group.had_admin(user.public, group.clock) == (user.public in group.admins)
        assert not group.had_member(user.public, 9)


def _varint(number: int) -> bytes:
    digits = bytearray()
    while number > 0x7F:
        digits.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*digits, number])
