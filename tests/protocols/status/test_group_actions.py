"""What a user does to a group counts for all others, or is refused (7/GROUP-CHAT)."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.protocols.status.senders import ALICE, BOB, CAROL, DAVE, NOW_MS

from postroom.core.errors import TheirError
from postroom.protocols.status import group_actions
from postroom.protocols.status.author import AuthorKey
from postroom.protocols.status.chats import group_id
from postroom.protocols.status.enums import MembershipEventType
from postroom.protocols.status.group_actions import (
    add_members,
    create_group,
    leave_group,
    make_admins,
    remove_member,
    rename_group,
)
from postroom.protocols.status.keys import ChatKey
from postroom.protocols.status.membership import Group, SignedEvent, fold_group, read_signed_event, sign_event
from postroom.protocols.status.messages import MembershipUpdateEvent

UUID = "0193a1b2-0000-4000-8000-000000000001"
A, B, C, D = (key.public for key in (ALICE, BOB, CAROL, DAVE))
STRANGERS = [AuthorKey.from_secret(number.to_bytes(32)).public for number in range(1000, 1101)]


def friends(*members: ChatKey) -> Group:
    return create_group(UUID, ALICE, NOW_MS, "friends", members)


def after(group: Group, *events: SignedEvent) -> Group:
    """The group as another one folds it from the bytes that were sent."""
    sent = [each.signed for each in (*group.counted, *events)]
    return fold_group(group.id, [read_signed_event(group.id, each) for each in sent])


# --- what is done -----------------------------------------------------------------------------------------------------


def test_a_group_is_created_with_its_members() -> None:
    group = friends(C, B)
    assert group.id == group_id(UUID, A) == f"{UUID}-{A}"
    assert [each.event for each in group.counted] == [
        MembershipUpdateEvent(NOW_MS, MembershipEventType.CHAT_CREATED, name="friends"),
        MembershipUpdateEvent(NOW_MS + 1, MembershipEventType.MEMBERS_ADDED, tuple(sorted([B, C]))),
    ]
    assert after(group) == group
    assert (group.name, group.members, group.admins, group.clock) == ("friends", {A, B, C}, {A}, NOW_MS + 1)


def test_a_group_may_be_created_without_others() -> None:
    assert len(friends().counted) == len(friends(A).counted) == 1
    assert friends().members == {A}


def test_an_admin_adds_members() -> None:
    group = friends(B)
    event = add_members(group, ALICE, NOW_MS + 2, [B, D, C])
    assert event.event.members == tuple(sorted([C, D]))
    assert after(group, event).members == {A, B, C, D}


def test_an_admin_removes_a_member() -> None:
    group = friends(B, C)
    assert after(group, remove_member(group, ALICE, NOW_MS + 2, B)).members == {A, C}


def test_an_admin_gives_it_another_name() -> None:
    group = friends(B)
    assert after(group, rename_group(group, ALICE, NOW_MS + 2, "foes")).name == "foes"


@pytest.mark.parametrize("who", [ALICE, BOB])
def test_anybody_leaves_admins_too(who: AuthorKey) -> None:
    group = friends(B)
    left = after(group, leave_group(group, who, NOW_MS + 2))
    assert left.members == {A, B} - {who.public}
    assert left.admins == {A} - {who.public}


def test_an_admin_makes_admins_who_may_do_the_same() -> None:
    group = friends(B, C)
    group = after(group, make_admins(group, ALICE, NOW_MS + 2, [A, B]))
    assert group.counted[-1].event.members == (B,)
    assert group.admins == {A, B}
    group = after(group, add_members(group, BOB, NOW_MS + 3, [D]))
    assert group.members == {A, B, C, D}


def test_nothing_changes_until_the_event_is_added() -> None:
    group = friends(B)
    remove_member(group, ALICE, NOW_MS + 2, B)
    assert group == friends(B)


# --- what is refused --------------------------------------------------------------------------------------------------

GROUP = friends(B, C)
BOB_TOO = after(GROUP, make_admins(GROUP, ALICE, NOW_MS + 2, [B]))
NEXT = NOW_MS + 3


@pytest.mark.parametrize(
    ("action", "why"),
    [
        (lambda: add_members(GROUP, BOB, NEXT, [D]), "who added members was no admin"),
        (lambda: add_members(GROUP, DAVE, NEXT, [D]), "who added members was no admin"),
        (lambda: add_members(GROUP, ALICE, NEXT, [A, B, C]), "all of them are members already"),
        (lambda: add_members(GROUP, ALICE, NEXT, []), "all of them are members already"),
        (lambda: add_members(GROUP, ALICE, NEXT, STRANGERS[:98]), "a group has at most 100 members"),
        (lambda: add_members(GROUP, ALICE, NEXT, STRANGERS[:101]), "a group has at most 100 members"),
        (lambda: add_members(GROUP, ALICE, NEXT, [ChatKey("0x04")]), "no chat key"),
        (lambda: remove_member(GROUP, ALICE, NEXT, D), "who was removed was no member"),
        (lambda: remove_member(GROUP, BOB, NEXT, C), "only admins remove others"),
        (lambda: remove_member(GROUP, BOB, NEXT, A), "only admins remove others"),
        (lambda: remove_member(BOB_TOO, BOB, NEXT, A), "and no admins"),
        (lambda: leave_group(GROUP, DAVE, NEXT), "who was removed was no member"),
        (lambda: rename_group(GROUP, BOB, NEXT, "foes"), "who changed the name was no admin"),
        (lambda: rename_group(GROUP, ALICE, NEXT, ""), "the new name is empty"),
        (lambda: make_admins(GROUP, BOB, NEXT, [B]), "who added admins was none"),
        (lambda: make_admins(GROUP, ALICE, NEXT, [B, D]), "an admin must be a member"),
        (lambda: make_admins(GROUP, ALICE, NEXT, [A]), "all of them are admins already"),
        (lambda: rename_group(Group(GROUP.id), ALICE, NEXT, "foes"), "the group did not exist yet"),
        (lambda: rename_group(GROUP, ALICE, NOW_MS + 1, "foes"), f"must be above {NOW_MS + 1}"),
        (lambda: create_group(UUID, ALICE, NOW_MS, "", [B]), "a group needs a name"),
        (lambda: create_group("no uuid", ALICE, NOW_MS, "friends", [B]), "a UUID, a hyphen"),
        (lambda: create_group(UUID, ALICE, NOW_MS, "friends", STRANGERS[:100]), "a group has at most 100 members"),
    ],
)
def test_what_the_others_would_ignore_is_refused(action: Callable[[], object], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        action()


def test_a_group_has_100_members_with_its_creator() -> None:
    assert len(friends(*STRANGERS[:99]).members) == 100
    assert len(after(GROUP, add_members(GROUP, ALICE, NEXT, STRANGERS[:97])).members) == 100


def test_members_do_nothing_that_only_newer_clients_let_count() -> None:
    # A log may let members add others; whoever has the text's rules would ignore what they add.
    group = fold_group(GROUP.id, GROUP.counted, members_may_change=True)
    with pytest.raises(ValueError, match="no admin"):
        add_members(group, BOB, NEXT, [D])


def test_after_10_000_events_nothing_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    assert group_actions.MAX_COUNTED_EVENTS == 10_000
    monkeypatch.setattr(group_actions, "MAX_COUNTED_EVENTS", 2)
    with pytest.raises(ValueError, match="further ones do not count"):
        rename_group(GROUP, ALICE, NEXT, "foes")


ACTORS = st.sampled_from([ALICE, BOB, CAROL, DAVE])
SOME = st.lists(st.sampled_from([A, B, C, D]), min_size=1, max_size=3, unique=True)
STEPS = st.lists(st.tuples(st.integers(0, 4), ACTORS, SOME), max_size=8)


def act(group: Group, which: int, key: AuthorKey, clock: int, some: list[ChatKey]) -> SignedEvent:
    match which:
        case 0:
            return add_members(group, key, clock, some)
        case 1:
            return remove_member(group, key, clock, some[0])
        case 2:
            return make_admins(group, key, clock, some)
        case 3:
            return rename_group(group, key, clock, f"{len(some)}")
        case _:
            return leave_group(group, key, clock)


def signed_anyway(group: Group, which: int, key: AuthorKey, clock: int, some: list[ChatKey]) -> SignedEvent:
    types = [
        MembershipEventType.MEMBERS_ADDED,
        MembershipEventType.MEMBER_REMOVED,
        MembershipEventType.ADMINS_ADDED,
        MembershipEventType.NAME_CHANGED,
        MembershipEventType.MEMBER_REMOVED,
    ]
    members = [tuple(some), (some[0],), tuple(some), (), (key.public,)][which]
    event = MembershipUpdateEvent(clock, types[which], members, f"{len(some)}" if which == 3 else "")
    return read_signed_event(group.id, sign_event(group.id, event, key))


@given(STEPS)
def test_what_is_not_refused_counts_and_what_is_refused_would_change_nothing(
    steps: list[tuple[int, AuthorKey, list[ChatKey]]],
) -> None:
    group = friends(B)
    for number, (which, key, some) in enumerate(steps):
        clock = NOW_MS + 2 + number
        try:
            event = act(group, which, key, clock, some)
        except ValueError:
            forced = after(group, signed_anyway(group, which, key, clock, some))
            assert (forced.name, forced.members, forced.admins) == (group.name, group.members, group.admins)
        else:
            group = after(group, event)
            assert group.counted[-1] == event
            assert group.clock == clock


def test_errors_of_the_rules_do_not_leave_as_theirs() -> None:
    with pytest.raises(ValueError, match="the other members would ignore it") as refused:
        rename_group(GROUP, BOB, NEXT, "foes")
    assert not isinstance(refused.value, TheirError)
