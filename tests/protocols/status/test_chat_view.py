"""What is shown of a log, one rule a test, in whatever order the copies come (decisions "Chats" and "Groups")."""

from collections.abc import Callable, Sequence

import pytest
from tests.protocols.status.histories import (
    AHEAD,
    ALICE,
    BOB,
    CAROL,
    DAVE,
    GROUP,
    IN_CHANNEL,
    IN_GROUP,
    MALLORY,
    NOW,
    THE_CHANNEL,
    THE_GROUP,
    Chat,
    author,
    changed,
    chat_with,
    deletion,
    edit,
    event,
    founding,
    id_of,
    log_of,
    pin,
    reaction,
    sent,
    text,
    to,
    update,
    verified,
    view,
    with_smaller_id,
)

from postroom.core.reason import Reason
from postroom.protocols.status import messages as m
from postroom.protocols.status.author import AuthorKey
from postroom.protocols.status.chat_view import ChatView, ShownChatMessage, ShownNames
from postroom.protocols.status.clock import next_clock
from postroom.protocols.status.enums import MembershipEventType as Kind
from postroom.protocols.status.fold import HistoryLine
from postroom.protocols.status.log import ChatLog
from postroom.protocols.status.reasons import CHAT_UNKNOWN, CLOCK_AHEAD
from postroom.protocols.status.verify import ChatRef

WITH_ALICE = chat_with(ALICE)
HELLO = sent(ALICE, text())
TO_CHANNEL = sent(ALICE, text(chat=IN_CHANNEL))
GROUP_BEGINS = sent(ALICE, update(*founding(NOW - 10, [BOB, CAROL, DAVE])))
TO_GROUP = sent(CAROL, text(chat=IN_GROUP))


def messages(lines: Sequence[HistoryLine], ref: ChatRef = WITH_ALICE) -> list[ShownChatMessage]:
    return view(lines).messages(ref)


def only(lines: Sequence[HistoryLine], ref: ChatRef = WITH_ALICE) -> ShownChatMessage:
    [message] = messages(lines, ref)
    return message


def not_shown(lines: Sequence[HistoryLine]) -> dict[str, Reason]:
    return {fact.id: reason for fact, reason in view(lines).not_shown()}


# Messages


def test_a_message_is_shown_as_its_author_sent_it() -> None:
    line = sent(ALICE, text(response_to="0x" + "ab" * 32))
    shown = only([line])
    assert (shown.id, shown.author, shown.clock, shown.timestamp) == (id_of(line), ALICE.public, NOW, NOW)
    assert (shown.text, shown.content_type, shown.response_to) == ("hello", 1, "0x" + "ab" * 32)
    assert (shown.is_edited, shown.is_pinned, shown.is_late, shown.reactions, shown.marks) == (False,) * 3 + ({}, ())
    assert (shown.deleted_by, shown.message) == (None, text(response_to="0x" + "ab" * 32))


def test_ones_own_message_is_in_the_chat_with_its_receiver() -> None:
    assert only([sent(BOB, text(chat=to(ALICE)))]).author == BOB.public


def test_messages_are_shown_by_clock_and_then_by_id() -> None:
    lines = [sent(ALICE, text(NOW + clock, words)) for clock in (0, 1) for words in "abc"]
    ordered = sorted(lines, key=lambda line: (verified(line, BOB.public).message.clock, id_of(line)))  # type: ignore[union-attr]
    assert [message.id for message in messages(lines)] == [id_of(line) for line in ordered]


def test_a_copy_with_a_smaller_id_gives_the_message_its_id_and_its_place() -> None:
    others = [sent(ALICE, text(words=words)) for words in "abc"]
    last = max(others, key=id_of)
    smaller = with_smaller_id(last)
    shown = messages([*others, smaller])
    assert id_of(smaller) in {message.id for message in shown}
    assert id_of(last) not in {message.id for message in shown}
    assert [message.id for message in shown] == sorted(message.id for message in shown)


@pytest.mark.parametrize("words", "abcdef")
def test_unsigned_messages_with_one_clock_and_id_are_shown_by_author(words: str) -> None:
    lines = [sent(key, text(words=words, chat=IN_CHANNEL), signed=False) for key in (ALICE, CAROL, DAVE)]
    shown = messages(lines, THE_CHANNEL)
    assert len({message.id for message in shown}) == 1
    assert [message.author for message in shown] == sorted(key.public for key in (ALICE, CAROL, DAVE))


@pytest.mark.parametrize("words", "abcdef")
def test_what_is_not_shown_is_listed_by_id_and_then_by_author(words: str) -> None:
    ahead = text(NOW + AHEAD + 1, words, IN_CHANNEL)
    found = view([sent(key, ahead, signed=False) for key in (ALICE, CAROL, DAVE)]).not_shown()
    assert [fact.author for fact, _ in found] == sorted(key.public for key in (ALICE, CAROL, DAVE))


def test_only_the_last_messages_may_be_wanted() -> None:
    found = view([sent(ALICE, text(NOW + number, f"{number}")) for number in range(5)])
    assert [message.text for message in found.messages(chat_with(ALICE), 2)] == ["3", "4"]
    assert found.messages(chat_with(ALICE), 0) == []
    assert len(found.messages(chat_with(ALICE), 9)) == 5


# Clocks


def test_a_clock_is_not_too_far_ahead_of_the_time_at_which_the_message_came() -> None:
    at_most, beyond = sent(ALICE, text(NOW + AHEAD)), sent(ALICE, text(NOW + AHEAD + 1))
    assert only([at_most, beyond]).id == id_of(at_most)
    assert not_shown([at_most, beyond]) == {id_of(beyond): CLOCK_AHEAD}


def test_the_time_of_a_message_is_that_of_its_first_copy() -> None:
    beyond = sent(ALICE, text(NOW + AHEAD + 1))
    assert messages([beyond, changed(beyond, at=NOW + 1)]) == []
    assert not_shown([beyond, changed(beyond, at=NOW + 1, note=b"1")]) == {
        min(id_of(beyond), id_of(changed(beyond, note=b"1"))): CLOCK_AHEAD
    }


def test_a_message_that_is_too_far_behind_is_late() -> None:
    line = sent(ALICE, text(), NOW + AHEAD)
    assert not only([line]).is_late
    late = changed(line, at=NOW + AHEAD + 1)
    assert only([late]).is_late
    assert not only([late, line]).is_late


ABOUT_AHEAD = {
    "an edit": edit(id_of(HELLO), NOW + AHEAD + 1),
    "a deletion": deletion(id_of(HELLO), NOW + AHEAD + 1),
    "a pin": pin(id_of(HELLO), NOW + AHEAD + 1),
    "a reaction": reaction(id_of(HELLO), NOW + AHEAD + 1),
}


@pytest.mark.parametrize("said", ABOUT_AHEAD.values(), ids=ABOUT_AHEAD)
def test_the_clock_rule_is_one_for_every_type(said: m.StatusMessage) -> None:
    line = sent(ALICE, said)
    assert only([HELLO, line]) == only([HELLO])
    assert not_shown([HELLO, line]) == {id_of(line): CLOCK_AHEAD}


def test_the_clock_of_a_chat_is_the_largest_of_all_that_counts_in_it() -> None:
    counts = [HELLO, sent(ALICE, reaction(id_of(HELLO), NOW + 7)), sent(BOB, text(NOW + 5, chat=to(ALICE)))]
    others = [sent(ALICE, text(NOW + AHEAD + 1)), sent(ALICE, text(NOW + 9, chat=IN_CHANNEL))]
    assert view([*counts, *others]).clock(chat_with(ALICE)) == NOW + 7


def test_what_names_a_message_that_is_not_there_counts_for_the_clock_too() -> None:
    assert view([sent(ALICE, reaction(id_of(HELLO), NOW + 7))]).clock(chat_with(ALICE)) == NOW + 7


def test_messages_that_are_deleted_or_cleared_count_for_the_clock_too() -> None:
    lines = [
        sent(ALICE, text(NOW + 3)),
        sent(BOB, m.SyncClearHistory(ALICE.public, NOW + 3)),
        sent(BOB, m.SyncDeleteForMeMessage(NOW, id_of(sent(ALICE, text(NOW + 3))))),
    ]
    assert view(lines).clock(chat_with(ALICE)) == NOW + 3


def test_the_events_of_a_group_count_for_its_clock_if_they_are_valid() -> None:
    valid = event(Kind.MEMBER_JOINED, NOW + 5, by=BOB)
    ignored = event(Kind.NAME_CHANGED, NOW + 6, name="Mine", by=MALLORY)
    assert view([GROUP_BEGINS, sent(BOB, update(valid, ignored))]).clock(THE_GROUP) == NOW + 5


def test_a_chat_in_which_nothing_counts_has_the_clock_0() -> None:
    assert view([]).clock(THE_CHANNEL) == view([TO_GROUP]).clock(THE_GROUP) == 0


@pytest.mark.parametrize("last", [0, NOW - 1, NOW, NOW + AHEAD])
def test_a_message_with_the_next_clock_is_the_last_of_its_chat(last: int) -> None:
    before = [sent(ALICE, text(last))] if last else []
    cleared = sent(BOB, m.SyncClearHistory(ALICE.public, NOW + 50))
    clock = next_clock(NOW, view([*before, cleared]).clock(chat_with(ALICE)))
    mine = sent(BOB, text(clock, chat=to(ALICE)), NOW + 60)
    assert messages([*before, cleared, mine])[-1].id == id_of(mine)


# Chats


def test_chats_are_in_the_order_of_their_ids() -> None:
    lines = [HELLO, sent(CAROL, text()), GROUP_BEGINS, sent(BOB, m.SyncInstallationPublicChat(NOW, "zoo"))]
    refs = [chat.ref for chat in view(lines).chats()]
    assert refs == sorted(refs, key=lambda ref: ref.id)
    expected = {chat_with(ALICE), chat_with(CAROL), THE_GROUP, THE_CHANNEL, THE_CHANNEL._replace(id="zoo")}
    assert set(refs) == expected


def test_a_chat_of_two_is_shown_if_it_has_a_message() -> None:
    assert view([sent(ALICE, reaction(id_of(HELLO)))], channels=()).chats() == []
    assert view([sent(ALICE, text(NOW + AHEAD + 1))], channels=()).chats() == []


def test_a_message_to_a_channel_counts_once_one_is_in_it() -> None:
    assert messages([TO_CHANNEL], THE_CHANNEL) != []
    outside = view([TO_CHANNEL], channels=())
    assert (outside.chats(), outside.messages(THE_CHANNEL)) == ([], [])
    assert [(fact.id, reason) for fact, reason in outside.not_shown()] == [(id_of(TO_CHANNEL), CHAT_UNKNOWN)]


def test_a_channel_that_another_device_has_joined_is_joined() -> None:
    joined = sent(BOB, m.SyncInstallationPublicChat(NOW, "news"))
    assert view([TO_CHANNEL, joined], channels=()).messages(THE_CHANNEL) == messages([TO_CHANNEL], THE_CHANNEL)


def test_a_channel_that_was_joined_too_far_ahead_is_not() -> None:
    joined = sent(BOB, m.SyncInstallationPublicChat(NOW + AHEAD + 1, "news"))
    assert view([TO_CHANNEL, joined], channels=()).chats() == []


def test_a_group_is_shown_if_one_was_ever_a_member() -> None:
    left = sent(BOB, update(event(Kind.MEMBER_REMOVED, NOW + 1, [BOB], by=BOB)))
    [group] = view([GROUP_BEGINS, left], channels=()).chats()
    assert (group.name, BOB.public in group.members) == ("Choir", False)
    others = sent(ALICE, update(*founding(NOW, [CAROL])))
    assert view([others], channels=()).chats() == []


def test_a_group_has_its_name_members_and_admins() -> None:
    [group] = view([GROUP_BEGINS], channels=()).chats()
    assert (group.ref, group.name, group.admins) == (THE_GROUP, "Choir", (ALICE.public,))
    assert group.members == tuple(sorted(key.public for key in (ALICE, BOB, CAROL, DAVE)))
    assert group.clock == NOW - 10


# Who may write in a group


def test_a_message_to_a_group_counts_once_the_founding_comes() -> None:
    assert not_shown([TO_GROUP]) == {id_of(TO_GROUP): CHAT_UNKNOWN}
    assert only([TO_GROUP, GROUP_BEGINS], THE_GROUP).id == id_of(TO_GROUP)


def test_a_message_to_a_group_that_is_not_known_is_held() -> None:
    found = view([TO_GROUP, TO_CHANNEL], channels=())
    assert {fact.id: found.is_held(fact) for fact, _ in found.not_shown()} == {
        id_of(TO_GROUP): True,
        id_of(TO_CHANNEL): False,
    }
    known = view([sent(MALLORY, text(chat=IN_GROUP)), GROUP_BEGINS])
    [(fact, _)] = known.not_shown()
    assert not known.is_held(fact)


def test_only_members_write() -> None:
    line = sent(MALLORY, text(chat=IN_GROUP))
    assert messages([GROUP_BEGINS, line], THE_GROUP) == []
    assert not_shown([GROUP_BEGINS, line]) == {id_of(line): CHAT_UNKNOWN}


def test_one_reads_only_what_was_written_while_one_was_a_member() -> None:
    begins = sent(ALICE, update(*founding(NOW, [CAROL]), event(Kind.MEMBERS_ADDED, NOW + 10, [BOB])))
    lines = [sent(CAROL, text(NOW + clock, f"{clock}", IN_GROUP)) for clock in (9, 10, 19, 20)]
    left = sent(BOB, update(event(Kind.MEMBER_REMOVED, NOW + 20, [BOB], by=BOB)))
    assert [message.text for message in messages([begins, *lines, left], THE_GROUP)] == ["10", "19"]


def test_at_the_clock_of_an_event_the_event_counts_first() -> None:
    removed = sent(ALICE, update(event(Kind.MEMBER_REMOVED, NOW, [CAROL])))
    assert messages([GROUP_BEGINS, TO_GROUP, removed], THE_GROUP) == []
    added = sent(ALICE, update(event(Kind.CHAT_CREATED, NOW), event(Kind.MEMBERS_ADDED, NOW, [BOB, CAROL])))
    assert len(messages([added, TO_GROUP], THE_GROUP)) == 1


REMOVAL = NOW + 1_000_000
REMOVED = sent(ALICE, update(event(Kind.MEMBER_REMOVED, REMOVAL, [CAROL])), REMOVAL)
BACK_DATED: dict[str, Callable[[int], m.StatusMessage]] = {
    "a message": lambda clock: text(clock, chat=IN_GROUP),
    "an edit": lambda clock: edit(id_of(TO_GROUP), clock, chat=IN_GROUP),
    "a deletion": lambda clock: deletion(id_of(TO_GROUP), clock, IN_GROUP),
    "a pin": lambda clock: pin(id_of(TO_GROUP), clock, IN_GROUP),
    "a reaction": lambda clock: reaction(id_of(TO_GROUP), clock, IN_GROUP),
}


@pytest.mark.parametrize("what", BACK_DATED)
def test_who_was_removed_does_not_write_into_the_past(what: str) -> None:
    clock = REMOVAL - AHEAD
    said = BACK_DATED[what](clock)
    before = [GROUP_BEGINS, TO_GROUP, REMOVED]
    as_it_was = messages(before, THE_GROUP)
    in_time = sent(CAROL, said, REMOVAL)  # not late: it may have been on its way
    assert messages([*before, in_time], THE_GROUP) != as_it_was
    late = changed(in_time, at=REMOVAL + 1)
    assert messages([*before, late], THE_GROUP) == as_it_was
    assert not_shown([*before, late]) == {id_of(late): CHAT_UNKNOWN}
    # The first copy says when it came.
    assert messages([*before, late, in_time], THE_GROUP) != as_it_was


def test_who_was_removed_and_added_again_may_be_late() -> None:
    again = sent(ALICE, update(event(Kind.MEMBERS_ADDED, REMOVAL + 10, [CAROL])), REMOVAL + 10)
    late = sent(CAROL, text(chat=IN_GROUP), REMOVAL + 10)
    assert only([GROUP_BEGINS, REMOVED, again, late], THE_GROUP).is_late


def test_ones_own_removal_does_not_take_away_what_came_late_from_others() -> None:
    out = sent(ALICE, update(event(Kind.MEMBER_REMOVED, REMOVAL, [BOB])), REMOVAL)
    assert len(messages([GROUP_BEGINS, out, sent(CAROL, text(chat=IN_GROUP), REMOVAL + 1)], THE_GROUP)) == 1


# Edits


def test_of_several_edits_the_largest_by_clock_and_id_counts() -> None:
    edits = [sent(ALICE, edit(id_of(HELLO), NOW + clock, words)) for clock, words in ((1, "a"), (2, "b"), (2, "c"))]
    last = max(edits[1:], key=id_of)
    shown = only([HELLO, *edits])
    assert shown.is_edited
    assert shown.text == verified(last, BOB.public).message.text  # type: ignore[union-attr]
    assert shown.message == text()


def test_an_edit_with_a_smaller_id_of_a_copy_has_the_place_of_that_id() -> None:
    edits = [sent(ALICE, edit(id_of(HELLO), NOW, words)) for words in "ab"]
    larger, smaller = max(edits, key=id_of), min(edits, key=id_of)
    copy = larger
    while id_of(copy) > id_of(smaller):
        copy = with_smaller_id(copy)
    assert only([HELLO, larger, smaller]).text == verified(larger, BOB.public).message.text  # type: ignore[union-attr]
    assert only([HELLO, larger, smaller, copy]).text == verified(smaller, BOB.public).message.text  # type: ignore[union-attr]


def test_an_edit_is_not_older_than_its_message() -> None:
    assert only([HELLO, sent(ALICE, edit(id_of(HELLO), NOW))]).is_edited
    assert not only([HELLO, sent(ALICE, edit(id_of(HELLO), NOW - 1))]).is_edited


@pytest.mark.parametrize("by", [BOB, CAROL])
def test_only_the_author_edits(by: AuthorKey) -> None:
    line = sent(by, edit(id_of(HELLO), chat=to(ALICE) if by is BOB else None))
    assert only([HELLO, line]) == only([HELLO])
    admins = sent(ALICE, edit(id_of(TO_GROUP), chat=IN_GROUP))
    assert not only([GROUP_BEGINS, TO_GROUP, admins], THE_GROUP).is_edited


def test_an_edit_names_the_message_and_no_other_edit() -> None:
    first = sent(ALICE, edit(id_of(HELLO), NOW + 1, "first"))
    assert only([HELLO, first, sent(ALICE, edit(id_of(first), NOW + 2, "second"))]).text == "first"


# Deletions


def test_the_author_deletes_a_message_for_good() -> None:
    lines = [
        HELLO,
        sent(ALICE, deletion(id_of(HELLO), NOW - 1)),
        sent(ALICE, edit(id_of(HELLO), NOW + 5)),
        sent(ALICE, pin(id_of(HELLO), NOW + 5)),
        sent(BOB, reaction(id_of(HELLO), NOW + 5, to(ALICE))),
    ]
    shown = only(lines)
    assert (shown.id, shown.clock, shown.deleted_by) == (id_of(HELLO), NOW, ALICE.public)
    assert (shown.text, shown.message, shown.reactions) == ("", None, {})
    assert (shown.is_edited, shown.is_pinned) == (False, False)


@pytest.mark.parametrize("by", [BOB, CAROL])
def test_others_do_not_delete(by: AuthorKey) -> None:
    line = sent(by, deletion(id_of(HELLO), chat=to(ALICE) if by is BOB else None))
    assert only([HELLO, line]) == only([HELLO])
    channel = sent(by, deletion(id_of(TO_CHANNEL), chat=IN_CHANNEL))
    assert only([TO_CHANNEL, channel], THE_CHANNEL).message is not None


def test_who_deleted_is_the_author_of_the_deletion() -> None:
    line = sent(DAVE, deletion(id_of(TO_GROUP), chat=IN_GROUP, deleted_by=CAROL.public))
    assert only([GROUP_BEGINS, TO_GROUP, line], THE_GROUP).deleted_by is None
    line = sent(ALICE, deletion(id_of(TO_GROUP), chat=IN_GROUP, deleted_by=CAROL.public))
    assert only([GROUP_BEGINS, TO_GROUP, line], THE_GROUP).deleted_by == ALICE.public


def test_admins_of_a_group_delete_what_others_wrote() -> None:
    admin = sent(ALICE, update(event(Kind.ADMINS_ADDED, NOW + 10, [DAVE])))
    demoted = sent(DAVE, update(event(Kind.ADMIN_REMOVED, NOW + 20, [DAVE], by=DAVE)))
    for clock, counts in ((9, False), (10, True), (19, True), (20, False)):
        line = sent(DAVE, deletion(id_of(TO_GROUP), NOW + clock, IN_GROUP))
        shown = only([GROUP_BEGINS, TO_GROUP, admin, demoted, line], THE_GROUP)
        assert shown.deleted_by == (DAVE.public if counts else None)


def test_what_is_deleted_is_also_known_of_a_message_that_is_not_shown() -> None:
    gone = sent(ALICE, deletion(id_of(HELLO)))
    cleared = sent(BOB, m.SyncClearHistory(WITH_ALICE.id, NOW + 50))
    for lines, is_deleted in (([HELLO], False), ([HELLO, cleared], False), ([HELLO, gone, cleared], True)):
        log = log_of(lines)
        [fact] = log.messages(WITH_ALICE)
        assert ChatView(log).is_deleted(fact) is is_deleted
    assert messages([HELLO, cleared]) == []


def test_of_two_deletions_the_first_says_who_deleted() -> None:
    lines = [
        sent(CAROL, deletion(id_of(TO_GROUP), NOW + 2, IN_GROUP)),
        sent(ALICE, deletion(id_of(TO_GROUP), NOW + 1, IN_GROUP)),
    ]
    assert only([GROUP_BEGINS, TO_GROUP, *lines], THE_GROUP).deleted_by == ALICE.public


@pytest.mark.parametrize("later", range(6))
def test_of_unsigned_deletions_with_one_clock_and_id_the_smaller_author_says_who_deleted(later: int) -> None:
    lines = [sent(by, deletion(id_of(TO_GROUP), NOW + later, IN_GROUP), signed=False) for by in (ALICE, CAROL)]
    update_ = sent(ALICE, update(event(Kind.ADMINS_ADDED, NOW, [CAROL])))
    assert id_of(lines[0]) == id_of(lines[1])
    shown = only([GROUP_BEGINS, update_, TO_GROUP, *lines], THE_GROUP)
    assert shown.deleted_by == min(ALICE.public, CAROL.public)


def test_a_message_with_two_copies_is_deleted_by_either_id() -> None:
    copy = changed(HELLO, note=b"1")
    for line in (HELLO, copy):
        assert only([HELLO, copy, sent(ALICE, deletion(id_of(line)))]).message is None


# Pins


def test_the_last_pin_says_whether_a_message_is_pinned() -> None:
    first, second = (
        sent(ALICE, pin(id_of(HELLO), NOW + 1)),
        sent(BOB, pin(id_of(HELLO), NOW + 2, to(ALICE), pinned=False)),
    )
    assert only([HELLO, first]).is_pinned
    assert not only([HELLO, first, second]).is_pinned
    assert only([HELLO, first, second, sent(ALICE, pin(id_of(HELLO), NOW + 3))]).is_pinned


def test_any_member_of_a_group_pins() -> None:
    line = sent(DAVE, pin(id_of(TO_GROUP), chat=IN_GROUP))
    assert only([GROUP_BEGINS, TO_GROUP, line], THE_GROUP).is_pinned
    line = sent(MALLORY, pin(id_of(TO_GROUP), chat=IN_GROUP))
    assert not only([GROUP_BEGINS, TO_GROUP, line], THE_GROUP).is_pinned


# Reactions


def test_a_reaction_stands_until_its_author_takes_it_back() -> None:
    love = sent(BOB, reaction(id_of(HELLO), NOW + 1, to(ALICE)))
    back = sent(BOB, reaction(id_of(HELLO), NOW + 2, to(ALICE), retracted=True))
    again = sent(BOB, reaction(id_of(HELLO), NOW + 3, to(ALICE)))
    assert only([HELLO, love]).reactions == {1: (BOB.public,)}
    assert only([HELLO, love, back]).reactions == {}
    assert only([HELLO, love, back, again]).reactions == {1: (BOB.public,)}


def test_each_author_and_kind_has_a_reaction_of_its_own() -> None:
    lines = [
        sent(by, reaction(id_of(TO_CHANNEL), NOW, IN_CHANNEL, kind)) for by in (ALICE, BOB, CAROL) for kind in (1, 6)
    ]
    back = sent(BOB, reaction(id_of(TO_CHANNEL), NOW + 1, IN_CHANNEL, 6, retracted=True))
    shown = only([TO_CHANNEL, *lines, back], THE_CHANNEL)
    assert shown.reactions == {
        1: tuple(sorted(key.public for key in (ALICE, BOB, CAROL))),
        6: tuple(sorted(key.public for key in (ALICE, CAROL))),
    }


def test_a_reaction_takes_back_no_other_users() -> None:
    love = sent(BOB, reaction(id_of(HELLO), chat=to(ALICE)))
    back = sent(ALICE, reaction(id_of(HELLO), NOW + 1, retracted=True))
    assert only([HELLO, love, back]).reactions == {1: (BOB.public,)}


def test_a_reaction_to_one_id_of_a_message_is_taken_back_by_another() -> None:
    copy = changed(HELLO, note=b"1")
    lines = [sent(ALICE, reaction(id_of(HELLO))), sent(ALICE, reaction(id_of(copy), NOW + 1, retracted=True))]
    assert only([HELLO, copy, *lines]).reactions == {}


def test_an_unsigned_reaction_and_a_signed_one_are_of_one_author() -> None:
    lines = [
        sent(ALICE, reaction(id_of(HELLO))),
        sent(ALICE, reaction(id_of(HELLO), NOW + 1, retracted=True), signed=False),
    ]
    assert only([HELLO, *lines]).reactions == {}


def test_reactions_of_unknown_kinds_count_by_the_thousand() -> None:
    log = log_of([HELLO, *(sent(ALICE, reaction(id_of(HELLO), kind=kind)) for kind in range(7, 1007))])
    [shown] = ChatView(log).messages(chat_with(ALICE))
    assert shown.reactions == dict.fromkeys(range(7, 1007), (ALICE.public,))
    assert list(shown.reactions) == sorted(shown.reactions)


# What refers to a message


def test_what_refers_to_a_message_waits_for_it() -> None:
    about = [sent(ALICE, edit(id_of(HELLO))), sent(ALICE, pin(id_of(HELLO))), sent(ALICE, reaction(id_of(HELLO)))]
    assert messages(about) == []
    shown = only([*about, HELLO])
    assert shown.is_edited
    assert shown.is_pinned
    assert shown.reactions == {1: (ALICE.public,)}


@pytest.mark.parametrize("what", sorted(BACK_DATED.keys() - {"a message"}))
@pytest.mark.parametrize("chat", [IN_CHANNEL, to(BOB), {**IN_GROUP, "chat_id": GROUP.replace("6f96", "7f96")}])
def test_what_refers_across_chats_never_counts(what: str, chat: Chat) -> None:
    said = BACK_DATED[what](NOW)
    moved = type(said)(
        **{name: getattr(said, name) for name in type(said).__dataclass_fields__ if name not in chat}, **chat
    )
    line = sent(CAROL, moved)
    before = [GROUP_BEGINS, TO_GROUP]
    assert messages([*before, line], THE_GROUP) == messages(before, THE_GROUP)


def test_what_the_other_of_two_says_is_about_that_chat_alone() -> None:
    carols = sent(CAROL, text())
    line = sent(ALICE, reaction(id_of(carols)))
    assert only([carols, line], chat_with(CAROL)).reactions == {}


# One's own devices


def test_history_is_cleared_up_to_a_clock() -> None:
    lines = [sent(ALICE, text(NOW + number, f"{number}")) for number in range(4)]
    cleared = [sent(BOB, m.SyncClearHistory(ALICE.public, NOW + clock)) for clock in (2, 0)]
    assert [message.text for message in messages([*lines, *cleared])] == ["3"]


def test_a_chat_of_two_that_is_cleared_is_not_shown_until_something_new_comes() -> None:
    cleared = sent(BOB, m.SyncClearHistory(ALICE.public, NOW))
    assert view([HELLO, cleared], channels=()).chats() == []
    assert len(view([HELLO, cleared, sent(ALICE, text(NOW + 1))], channels=()).chats()) == 1


def test_history_is_cleared_in_one_chat() -> None:
    for chat_id, ref in ((ALICE.public, chat_with(ALICE)), ("news", THE_CHANNEL), (GROUP, THE_GROUP)):
        found = view([HELLO, TO_CHANNEL, GROUP_BEGINS, TO_GROUP, sent(BOB, m.SyncClearHistory(chat_id, NOW))])
        assert {each: len(found.messages(each)) for each in (chat_with(ALICE), THE_CHANNEL, THE_GROUP)} == {
            each: 0 if each == ref else 1 for each in (chat_with(ALICE), THE_CHANNEL, THE_GROUP)
        }
        assert found.not_shown() == []


def test_history_is_not_cleared_in_the_future() -> None:
    cleared = sent(BOB, m.SyncClearHistory(ALICE.public, NOW + AHEAD + 1))
    assert len(messages([HELLO, cleared])) == 1


def test_a_clearing_of_a_chat_that_is_not_joined_yet_is_no_fault() -> None:
    cleared = sent(BOB, m.SyncClearHistory("news", NOW))
    found = view([TO_CHANNEL, cleared], channels=())
    assert [fact.id for fact, _ in found.not_shown()] == [id_of(TO_CHANNEL)]
    assert messages([TO_CHANNEL, cleared], THE_CHANNEL) == []


def test_a_message_is_deleted_for_oneself_by_any_of_its_ids() -> None:
    copy = changed(HELLO, note=b"1")
    for line in (HELLO, copy):
        assert messages([HELLO, copy, sent(BOB, m.SyncDeleteForMeMessage(NOW, id_of(line)))]) == []


# What does not count


def test_updates_of_groups_and_invitations_are_no_messages_that_do_not_count() -> None:
    invitation = sent(MALLORY, m.GroupChatInvitation(NOW, GROUP, "May I?", 1))
    strangers = sent(MALLORY, update(event(Kind.NAME_CHANGED, NOW, name="Mine", by=MALLORY)))
    assert not_shown([GROUP_BEGINS, invitation, strangers, changed(HELLO, type_=99)]) == {}


def test_what_does_not_count_is_in_the_order_of_its_ids() -> None:
    lines = [sent(key, text(chat=IN_CHANNEL), signed=False) for key in (ALICE, CAROL, DAVE)]
    lines += [sent(ALICE, text(words=words, chat=IN_CHANNEL)) for words in "abc"]
    facts = [fact for fact, _ in view(lines, channels=()).not_shown()]
    assert [fact.id for fact in facts] == sorted(id_of(line) for line in lines)


# Names


def named(lines: Sequence[HistoryLine], key: AuthorKey = ALICE) -> ShownNames | None:
    return view(lines).names().get(key.public)


def identity(clock: int, ens_name: str = "", display_name: str = "") -> m.ChatMessageIdentity:
    return m.ChatMessageIdentity(clock, ens_name, display_name)


def test_a_name_is_the_newest_of_all_that_say_one() -> None:
    lines = [
        sent(ALICE, text(ens_name="first.eth")),
        sent(ALICE, m.ContactUpdate(NOW + 1, "second.eth")),
        sent(ALICE, identity(NOW + 2, "Third.eth", "Alice")),
    ]
    assert [named(lines[:count]) for count in (1, 2, 3)] == [
        ShownNames("first.eth"),
        ShownNames("second.eth"),
        ShownNames("third.eth", "Alice"),
    ]
    assert named([*lines, sent(ALICE, text(NOW + 3, ens_name="fourth.eth"))]) == ShownNames("fourth.eth", "Alice")


def test_an_empty_name_says_nothing_in_a_message_and_none_elsewhere() -> None:
    first = sent(ALICE, text(ens_name="first.eth"))
    assert named([first, sent(ALICE, text(NOW + 1))]) == ShownNames("first.eth")
    assert named([first, sent(ALICE, m.ContactUpdate(NOW + 1))]) == ShownNames()
    assert named([first, sent(ALICE, identity(NOW + 1))]) == ShownNames()
    assert named([HELLO]) is None


@pytest.mark.parametrize("name", ["alice", "a lice.eth", "\u202ealice.eth", "x" * 300 + ".eth", "a..eth"])
def test_what_is_no_name_is_shown_as_none(name: str) -> None:
    assert named([sent(ALICE, text(ens_name=name))]) == ShownNames()


def test_what_does_not_count_says_no_name() -> None:
    lines = [
        sent(ALICE, text(NOW + AHEAD + 1, ens_name="ahead.eth")),
        sent(ALICE, m.ContactUpdate(NOW + AHEAD + 1, "ahead.eth")),
        sent(ALICE, text(chat={**IN_CHANNEL, "chat_id": "other"}, ens_name="outside.eth")),
        sent(ALICE, text(chat=IN_GROUP, ens_name="group.eth")),
    ]
    assert named(lines) is None


def test_names_are_in_the_order_of_their_keys() -> None:
    found = view([sent(author(name), m.ContactUpdate(NOW, f"{name}.eth")) for name in "abcdef"]).names()
    assert list(found) == sorted(found)


# Strangers


def test_what_a_stranger_does_with_ones_messages_changes_nothing() -> None:
    """Under another label, with a further copy, or back-dated."""
    before = [HELLO, GROUP_BEGINS, TO_GROUP, sent(BOB, reaction(id_of(HELLO), NOW + 1, to(ALICE)))]
    strange = [
        sent(MALLORY, deletion(id_of(before[3]), NOW + 2)),
        sent(MALLORY, reaction(id_of(HELLO), NOW + 2, retracted=True)),
        sent(MALLORY, edit(id_of(HELLO), NOW + 2)),
        sent(MALLORY, update(event(Kind.MEMBER_REMOVED, NOW - 5, [CAROL], by=MALLORY))),
        changed(HELLO, at=NOW + 500_000, high_s=True),
        changed(HELLO, type_=98),
    ]
    as_it_was, found = view(before), view([*before, *strange])
    for ref in (chat_with(ALICE), THE_GROUP):
        [was], [is_] = as_it_was.messages(ref), found.messages(ref)
        # Another wrapper may give a message a smaller ID, and nothing else.
        assert (is_.text, is_.reactions, is_.marks, is_.is_late) == (was.text, was.reactions, was.marks, was.is_late)
        assert found.chat(ref) == as_it_was.chat(ref)


def test_a_view_of_nothing_is_empty() -> None:
    found = ChatView(ChatLog(BOB.public))
    assert (found.chats(), found.names(), found.not_shown()) == ([], {}, [])
    assert found.chat(THE_GROUP).members == ()
