"""What goes to a group has the events with which the others take it, and fits in a wrapper (7/GROUP-CHAT)."""

from bisect import bisect_left
from itertools import permutations

import pytest
from coincurve.utils import GROUP_ORDER_INT
from hypothesis import given
from hypothesis import strategies as st
from tests.protocols.status.senders import ALICE, BOB, CAROL, DAVE, NOW_MS, add

from postroom.core.errors import TheirError
from postroom.protocols.status.author import AuthorKey
from postroom.protocols.status.chat_view import ChatView
from postroom.protocols.status.chats import group_id
from postroom.protocols.status.clock import MOST_AHEAD_MS
from postroom.protocols.status.codec import write_event, write_payload
from postroom.protocols.status.enums import ChatKind, MembershipEventType, PayloadType, ReactionKind
from postroom.protocols.status.group_actions import create_group, remove_member, rename_group
from postroom.protocols.status.group_updates import group_update, present_events
from postroom.protocols.status.ids import MessageId
from postroom.protocols.status.keys import ChatKey
from postroom.protocols.status.log import ChatLog
from postroom.protocols.status.media import Cleaned, MediaType
from postroom.protocols.status.membership import Group, SignedEvent, fold_group
from postroom.protocols.status.messages import (
    MAX_EVENTS,
    ChatMessage,
    MembershipUpdateEvent,
    MembershipUpdateMessage,
)
from postroom.protocols.status.sending import audio_message, reaction, text_message
from postroom.protocols.status.verify import ChatRef
from postroom.protocols.status.wrapper import MAX_WRAPPER_BYTES, write_wrapper

A, B, C, D = (key.public for key in (ALICE, BOB, CAROL, DAVE))
UUID = "0193a1b2-0000-4000-8000-000000000001"
FRIENDS = create_group(UUID, ALICE, NOW_MS - 9, "friends", [B])
CHAT = ChatRef(ChatKind.PRIVATE_GROUP, FRIENDS.id)
HELLO = text_message(CHAT, NOW_MS, NOW_MS, "hello")
MANY = [AuthorKey.from_secret(number.to_bytes(32)).public for number in range(1000, 1099)]

CREATED, RENAMED = MembershipEventType.CHAT_CREATED, MembershipEventType.NAME_CHANGED
ADDED, REMOVED = MembershipEventType.MEMBERS_ADDED, MembershipEventType.MEMBER_REMOVED
PROMOTED, DEMOTED = MembershipEventType.ADMINS_ADDED, MembershipEventType.ADMIN_REMOVED


def event(
    clock: int, type_: MembershipEventType, *members: ChatKey, name: str = "", by: AuthorKey = ALICE
) -> SignedEvent:
    """An event of which nobody looks at the signature: to sign thousands takes long."""
    said = MembershipUpdateEvent(clock, type_, members, name)
    return SignedEvent(by.public, said, write_event(said), bytes(65))


def folded(*events: SignedEvent) -> Group:
    group = fold_group(group_id(UUID, A), events)
    assert len(group.counted) == len(events)
    return group


def state(group: Group) -> tuple[str, set[ChatKey], set[ChatKey]]:
    return group.name, group.members, group.admins


def sizes_of_wrappers(update: MembershipUpdateMessage) -> list[int]:
    """Of both forms."""
    payload, type_ = write_payload(update), PayloadType.MEMBERSHIP_UPDATE_MESSAGE
    return [len(write_wrapper(payload, ALICE.sign(payload), type_, typed=typed)) for typed in (True, False)]


# --- as long as all events fit ------------------------------------------------------------------------------------


def test_a_message_goes_with_all_events_that_count() -> None:
    update = group_update(FRIENDS, HELLO)
    assert update == MembershipUpdateMessage(FRIENDS.id, tuple(each.signed for each in FRIENDS.counted), message=HELLO)


def test_whoever_has_nothing_else_of_the_group_takes_it() -> None:
    log = ChatLog(B)
    add(log, group_update(FRIENDS, HELLO), ALICE, BOB)
    assert state(log.group(FRIENDS.id)) == state(FRIENDS)
    assert [message.text for message in ChatView(log).messages(CHAT)] == ["hello"]


def test_a_reaction_goes_in_the_same_way() -> None:
    log = ChatLog(B)
    hello = add(log, group_update(FRIENDS, HELLO), ALICE, BOB)
    love = reaction(CHAT, NOW_MS + 1, hello.id, ReactionKind.LOVE)
    update = group_update(FRIENDS, love)
    assert (update.message, update.emoji_reaction) == (None, love)
    add(log, update, ALICE, BOB)
    assert ChatView(log).messages(CHAT)[0].reactions == {ReactionKind.LOVE: (A,)}


def test_new_events_go_without_a_message_or_with_one() -> None:
    renamed = rename_group(FRIENDS, ALICE, NOW_MS, "foes")
    for message in (None, HELLO):
        update = group_update(FRIENDS, message, [renamed])
        assert update.message == message
        assert update.events == (*(each.signed for each in FRIENDS.counted), renamed.signed)
    log = ChatLog(B)
    add(log, group_update(FRIENDS, new=[renamed]), ALICE, BOB)
    assert log.group(FRIENDS.id).name == "foes"


def test_events_that_do_not_count_stay_behind() -> None:
    by_bob = event(NOW_MS, RENAMED, name="foes", by=BOB)
    group = fold_group(FRIENDS.id, [*FRIENDS.counted, by_bob])
    assert group_update(group, HELLO) == group_update(FRIENDS, HELLO)


def test_what_is_of_another_chat_is_refused() -> None:
    other = ChatRef(ChatKind.PRIVATE_GROUP, group_id(UUID.replace("1", "2"), A))
    for chat in (other, ChatRef(ChatKind.ONE_TO_ONE, B), ChatRef(ChatKind.PUBLIC_GROUP, "town")):
        with pytest.raises(TheirError, match="ChatInvalid"):
            group_update(FRIENDS, text_message(chat, NOW_MS, NOW_MS, "hello"))
        with pytest.raises(TheirError, match="ChatInvalid"):
            group_update(FRIENDS, reaction(chat, NOW_MS, MessageId("0x" + "ab" * 32), ReactionKind.LOVE))


def with_higher_s(signed: bytes) -> bytes:
    """The same event under the other form of its signature, which anybody can write."""
    high = GROUP_ORDER_INT - int.from_bytes(signed[32:64])
    return signed[:32] + high.to_bytes(32) + bytes([signed[64] ^ 1]) + signed[65:]


def test_of_two_signatures_of_one_event_the_smaller_is_sent_on_whichever_came_first() -> None:
    events = tuple(each.signed for each in FRIENDS.counted)
    copies = [
        MembershipUpdateMessage(FRIENDS.id, events),
        MembershipUpdateMessage(FRIENDS.id, tuple(map(with_higher_s, events))),
    ]
    logs = []
    for order in permutations(copies):
        log = ChatLog(B)
        for at_ms, copy in enumerate(order, NOW_MS):
            assert log.group(FRIENDS.id).members in (set(), {A, B})
            add(log, copy, ALICE, BOB, at_ms)
        logs.append(log)
    logs[0].merge(logs[1])
    for log in logs:
        assert group_update(log.group(FRIENDS.id)).events == events


def test_the_time_of_an_event_is_that_of_its_first_copy_under_any_signature() -> None:
    signed = create_group(UUID, ALICE, NOW_MS + MOST_AHEAD_MS + 1, "friends", []).counted[0].signed
    copies = [(signed, NOW_MS), (with_higher_s(signed), NOW_MS + 1)]
    for order in permutations(copies):
        log = ChatLog(B)
        for copy, at_ms in order:
            add(log, MembershipUpdateMessage(FRIENDS.id, (copy,)), ALICE, BOB, at_ms)
        assert not log.group(FRIENDS.id).is_created


# --- when they do not -----------------------------------------------------------------------------------------------


def renamed_often(times: int) -> list[SignedEvent]:
    names = [event(3 + number, RENAMED, name=f"name {number}") for number in range(times)]
    return [event(1, CREATED, name="first"), event(2, ADDED, B), *names]


def test_of_more_than_1000_events_those_go_that_make_the_present() -> None:
    all_of_them = folded(*renamed_often(MAX_EVENTS - 2))
    assert group_update(all_of_them).events == tuple(each.signed for each in all_of_them.counted)
    too_many = folded(*renamed_often(MAX_EVENTS - 1))
    founding, added, *_, last_name = too_many.counted
    assert group_update(too_many).events == (founding.signed, added.signed, last_name.signed)


def sound(size: int) -> ChatMessage:
    return audio_message(CHAT, NOW_MS, NOW_MS, Cleaned(bytes(size), {}, duration_ms=1), MediaType.AAC)


def test_up_to_the_limit_of_a_wrapper_all_events_go() -> None:
    """A sound of 1 MiB leaves some 50 kB for them; one byte more, and only those go that make the present."""

    def group_of(size: int) -> Group:
        names = [event(3 + number, RENAMED, name="c" * 100) for number in range(100)]
        return folded(event(1, CREATED, name="a"), event(2, RENAMED, name="b" * size), *names)

    def update_of(size: int) -> MembershipUpdateMessage:
        return group_update(group_of(size), sound(1 << 20))

    most = bisect_left(range(60_000), True, key=lambda size: len(update_of(size).events) == 2) - 1
    assert most > 30_000
    sizes = sizes_of_wrappers(update_of(most))
    assert max(sizes) <= MAX_WRAPPER_BYTES < min(sizes) + 100
    founding, *_, last_name = group_of(most + 1).counted
    assert update_of(most + 1).events == (founding.signed, last_name.signed)


def test_what_makes_the_present_is_all_about_members_and_whoever_acted() -> None:
    founding = event(1, CREATED, name="first")
    bob_and_dave = event(2, ADDED, B, D)
    bob_acts = event(3, PROMOTED, B)
    carol = event(4, ADDED, C, by=BOB)
    stranger_came, stranger_went = event(5, ADDED, MANY[0]), event(6, REMOVED, MANY[0])
    names = [event(7, RENAMED, name="second"), event(8, RENAMED, name="third", by=BOB)]
    joined = event(9, MembershipEventType.MEMBER_JOINED, by=BOB)
    dave_left, bob_left = event(10, REMOVED, D, by=DAVE), event(11, REMOVED, B, by=BOB)
    group = folded(
        founding, bob_and_dave, bob_acts, carol, stranger_came, stranger_went, *names, joined, dave_left, bob_left
    )
    assert present_events(group) == [founding, bob_and_dave, bob_acts, carol, names[1], dave_left, bob_left]
    assert state(folded(*present_events(group))) == state(group) == ("third", {A, C}, {A})


def test_new_events_are_among_them_with_what_they_need() -> None:
    came, went = event(3, ADDED, C), event(5, REMOVED, C)
    names = renamed_often(0)
    group = folded(*names, came, event(4, RENAMED, name="second"))
    assert present_events(folded(*group.counted, went)) == [*names, event(4, RENAMED, name="second")]
    assert present_events(group, [went]) == [*names, came, event(4, RENAMED, name="second"), went]


def test_a_removal_is_sent_from_a_group_with_too_many_events() -> None:
    group = folded(*renamed_often(MAX_EVENTS))
    removed = remove_member(group, ALICE, group.clock + 1, B)
    update = group_update(group, new=[removed])
    assert len(update.events) == 4
    assert update.events[-1] == removed.signed


def test_if_these_are_too_many_the_newest_go_with_the_founding() -> None:
    """99 members who left and came back five times each: nothing of that may be left out, and it is 1,090 events."""
    came_and_went = [event(2, ADDED, *MANY)]
    for clock in range(3, 13):
        came_and_went += [event(clock, REMOVED if clock % 2 else ADDED, member) for member in MANY]
    group = folded(*sorted([event(1, CREATED, name="first"), *came_and_went], key=lambda each: each.place))
    assert len(present_events(group)) == 992
    group = folded(*group.counted, *(event(13 + number, ADDED, member) for number, member in enumerate(MANY[:9])))
    assert len(present_events(group)) == 1001
    update = group_update(group)
    assert update.events == (group.counted[0].signed, *(each.signed for each in group.counted[2:]))


def test_as_many_of_the_newest_go_as_there_is_space_for() -> None:
    """Four events of 13 kB each beside a sound of 1 MiB; adding who is a member counts, and changes nothing."""
    group = folded(event(1, CREATED, name="first"), *(event(clock, ADDED, *MANY) for clock in range(2, 6)))
    update = group_update(group, sound(1 << 20))
    assert max(sizes_of_wrappers(update)) <= MAX_WRAPPER_BYTES
    assert update.events == tuple(group.counted[place].signed for place in (0, 2, 3, 4))


def test_an_event_for_which_there_is_no_space_does_not_keep_others_back() -> None:
    group = folded(
        event(1, CREATED, name="first"), event(2, ADDED, B), event(3, RENAMED, name="n" * 90_000), event(4, ADDED, C)
    )
    update = group_update(group, sound(1 << 20))
    assert max(sizes_of_wrappers(update)) <= MAX_WRAPPER_BYTES
    assert update.events == tuple(group.counted[place].signed for place in (0, 1, 3))


KEYS = {key.public: key for key in (ALICE, BOB, CAROL, DAVE)}
TYPES = [RENAMED, ADDED, ADDED, REMOVED, REMOVED, PROMOTED, DEMOTED, MembershipEventType.MEMBER_JOINED]
SAID = st.builds(
    event,
    st.integers(2, 30),
    st.sampled_from(TYPES),
    st.sampled_from(sorted(KEYS)),
    name=st.sampled_from(["x", "y"]),
    by=st.sampled_from([ALICE, ALICE, BOB, CAROL]),
)
OF_TWO = st.builds(event, st.integers(2, 30), st.sampled_from([ADDED, PROMOTED]), *[st.sampled_from(sorted(KEYS))] * 2)


@given(st.lists(st.one_of(SAID, OF_TWO), max_size=14), st.integers(0, 3))
def test_what_makes_the_present_makes_it_alone(said: list[SignedEvent], later: int) -> None:
    unique = {each.data + each.author.encode(): each for each in (event(1, CREATED, name="first"), *said)}
    group = fold_group(group_id(UUID, A), unique.values())
    for before, new in ((group, []), (folded(*group.counted[: max(1, len(group.counted) - later)]), group.counted)):
        new = [each for each in new if each not in before.counted]
        kept = present_events(before, new)
        assert [each for each in group.counted if each in kept] == kept
        assert set(new) <= set(kept)
        assert state(folded(*kept)) == state(group)
