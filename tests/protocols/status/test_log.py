"""The log of chats: what is one message (decision "Wrappers"); order, doubles and grouping make no difference."""

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.protocols.status.histories import (
    ALICE,
    BOB,
    CAROL,
    GROUP,
    IN_CHANNEL,
    IN_GROUP,
    MALLORY,
    NOW,
    THE_CHANNEL,
    THE_GROUP,
    changed,
    chat_with,
    deletion,
    edit,
    event,
    everything,
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
    with_smaller_id,
)

from postroom.protocols.status import messages as m
from postroom.protocols.status.chat_view import ChatView
from postroom.protocols.status.chats import group_id
from postroom.protocols.status.enums import MembershipEventType as Kind
from postroom.protocols.status.enums import PayloadType
from postroom.protocols.status.fold import HistoryLine
from postroom.protocols.status.log import ChatLog, Fact

HELLO = sent(ALICE, text())
OTHER_GROUP = group_id("00000000-0000-4000-8000-000000000000", MALLORY.public)
UPDATE = sent(ALICE, update(*founding(), message=text(chat=IN_GROUP)))
IDENTITY = m.ChatMessageIdentity(NOW, "alice.eth", "Alice")


def only(log: ChatLog) -> Fact:
    [fact] = log
    return fact


def facts(log: ChatLog) -> dict[bytes, tuple[Fact, frozenset[str]]]:
    """All that a log knows of messages."""
    return {fact.key: (fact, frozenset(log.ids(fact))) for fact in log}


def same(one: ChatLog, other: ChatLog) -> bool:
    """Whether two logs know and show the same."""
    views = [ChatView(log, ["news"]) for log in (one, other)]
    groups = [{group: log.group(group) for group in log.groups()} for log in (one, other)]
    return facts(one) == facts(other) and groups[0] == groups[1] and everything(views[0]) == everything(views[1])


# What is one message


def test_a_message_is_added_with_its_author_its_chat_and_the_time_at_which_it_came() -> None:
    log = ChatLog(BOB.public)
    fact = log.add(verified(HELLO, BOB.public), NOW + 5)
    assert fact is only(log)
    assert (fact.id, fact.author, fact.chat) == (id_of(HELLO), ALICE.public, chat_with(ALICE))
    assert (fact.message, fact.clock, fact.at_ms, fact.marks) == (text(), NOW, NOW + 5, ())


COPIES: dict[str, HistoryLine] = {
    "the same bytes": HELLO,
    "a further field in the wrapper": changed(HELLO, note=b"1"),
    "the higher s": changed(HELLO, high_s=True),
    "an earlier time": changed(HELLO, at=NOW - 9),
    "with the carrier's proof": changed(HELLO, carrier=ALICE),
}


@pytest.mark.parametrize("copy", COPIES.values(), ids=COPIES)
def test_copies_of_a_signed_payload_are_one_message(copy: HistoryLine) -> None:
    fact, log = only(log_of([HELLO, copy])), log_of([HELLO, copy])
    assert fact == only(log_of([copy, HELLO]))
    assert set(log.ids(fact)) == {id_of(HELLO), id_of(copy)}
    assert fact.id == min(id_of(HELLO), id_of(copy))
    assert fact.at_ms == min(HELLO.at_ms, copy.at_ms)
    assert len(log) == 1


OTHERS: dict[str, HistoryLine] = {
    "another author": sent(CAROL, text()),
    "not signed": sent(ALICE, text(), signed=False),
    "another payload": sent(ALICE, text(words="hello!")),
    "another type": changed(HELLO, type_=99),
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_others_are_others(other: HistoryLine) -> None:
    assert len(log_of([HELLO, other])) == 2


def test_unsigned_messages_of_two_carriers_are_two_though_they_have_one_id() -> None:
    lines = [sent(key, text(chat=IN_CHANNEL), signed=False) for key in (ALICE, CAROL)]
    assert id_of(lines[0]) == id_of(lines[1])
    for order in (lines, lines[::-1]):
        log = log_of(order)
        assert len(log) == 2
        assert [fact.author for fact in log.messages(THE_CHANNEL)] == sorted([ALICE.public, CAROL.public])


def test_the_type_that_the_carrier_says_is_that_of_the_typed_wrapper() -> None:
    payload = verified(HELLO, BOB.public).payload
    signature = ALICE.sign(payload)
    untyped = b"\x8a\xfa\x01\x41" + signature + b"\x92\xfa\x01" + bytes([len(payload) & 127 | 128, len(payload) >> 7])
    line = HistoryLine(untyped + payload, NOW, PayloadType.CHAT_MESSAGE)
    assert len(log_of([HELLO, line])) == 1


def test_a_copy_with_the_higher_s_does_not_mark_the_message() -> None:
    copy = changed(HELLO, high_s=True)
    assert only(log_of([copy])).marks == ("high-s",)
    assert only(log_of([copy, copy])).marks == ("high-s",)
    for order in ([HELLO, copy], [copy, HELLO]):
        assert only(log_of(order)).marks == ()


def test_the_message_of_an_update_has_the_id_of_the_update() -> None:
    log = log_of([UPDATE])
    assert only(log).id == id_of(UPDATE)
    assert only(log).message == text(chat=IN_GROUP)
    assert log.messages(THE_GROUP) == [only(log)]


def test_a_fact_that_says_nothing_new_is_the_known_one() -> None:
    log = log_of([HELLO])
    fact = only(log)
    assert log.add(verified(changed(HELLO, at=NOW + 1), BOB.public), NOW + 1) is fact


# What is found


def test_messages_are_in_the_order_of_clock_and_id() -> None:
    lines = [sent(ALICE, text(clock, words)) for clock in (NOW, NOW + 1) for words in "abcdef"]
    log = log_of(Random(1).sample(lines, len(lines)))
    places = [(fact.clock, fact.id) for fact in log.messages(chat_with(ALICE))]
    assert places == sorted(places)
    assert len(places) == len(lines)


@pytest.mark.parametrize("few", [0, 2, 1000])
def test_the_order_is_kept_while_messages_come_and_change(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("postroom.protocols.status.log._FEW", few)
    lines = [sent(ALICE, text(NOW + number % 3, f"{number}")) for number in range(12)]
    lines += [with_smaller_id(line) for line in lines] + [changed(line, at=line.at_ms - 1) for line in lines]
    random = Random(few)
    random.shuffle(lines)
    log = ChatLog(BOB.public)
    for line in lines:
        log.add(verified(line, BOB.public), line.at_ms)
        if random.random() < 0.4:
            found = log.messages(chat_with(ALICE))
            assert found == sorted(log, key=lambda fact: (fact.clock, fact.id))
    assert log.messages(chat_with(ALICE)) == sorted(log, key=lambda fact: (fact.clock, fact.id))


def test_what_is_about_a_message_is_found_by_any_of_its_ids() -> None:
    copy = changed(HELLO, note=b"1")
    said = [sent(ALICE, reaction(id_of(line), NOW + number)) for number, line in enumerate((HELLO, copy))]
    log = log_of([*said, HELLO, copy])
    [fact] = log.messages(chat_with(ALICE))
    assert {each.id for each in log.about(fact)} == {id_of(line) for line in said}


def test_edits_deletions_pins_and_reactions_are_in_order_too() -> None:
    about = [
        sent(ALICE, said(id_of(HELLO), NOW - number)) for number, said in enumerate((edit, deletion, pin, reaction))
    ]
    log = log_of([HELLO, *about])
    assert [fact.id for fact in log.changes(chat_with(ALICE))] == [id_of(line) for line in reversed(about)]


def test_chats_and_groups_that_nothing_came_of_are_empty() -> None:
    log = log_of([HELLO])
    assert log.messages(THE_CHANNEL) == log.changes(THE_CHANNEL) == []
    assert log.group(GROUP).is_created is False
    assert (list(log.chats()), list(log.groups())) == ([chat_with(ALICE)], [])


def test_what_devices_of_one_user_say_is_found() -> None:
    devices = [
        sent(BOB, m.SyncClearHistory("news", NOW)),
        sent(BOB, m.SyncDeleteForMeMessage(NOW, id_of(HELLO))),
        sent(BOB, m.SyncInstallationPublicChat(NOW, "news")),
        sent(BOB, m.PairInstallation(NOW, "1", "desktop", "study")),
    ]
    log = log_of([HELLO, *devices])
    assert {fact.id for fact in log.own_devices()} == {id_of(line) for line in devices}


def test_who_says_names_is_found() -> None:
    named = [
        sent(ALICE, m.ContactUpdate(NOW, "")),
        sent(ALICE, IDENTITY),
        sent(ALICE, text(ens_name="alice.eth")),
    ]
    log = log_of([HELLO, *named])
    assert {fact.id for fact in log.names()} == {id_of(line) for line in named}


# Groups


def test_the_events_of_all_updates_are_one_set() -> None:
    first, second = founding()
    log = log_of([sent(ALICE, update(second)), sent(CAROL, update(first, second))])
    assert log.group(GROUP).members == {ALICE.public, BOB.public, CAROL.public}


def test_an_update_counts_whoever_sends_it() -> None:
    assert log_of([sent(MALLORY, update(*founding()))]).group(GROUP).is_created


def test_an_event_came_when_the_first_update_with_it_came() -> None:
    created, added = founding()
    early = event(Kind.NAME_CHANGED, NOW + 120_001, name="Early")
    before = sent(ALICE, update(created, added, early), NOW)
    for times, name in (((NOW + 9,), "Early"), ((NOW + 9, NOW), "Choir"), ((NOW, NOW + 9), "Choir")):
        log = log_of([before.__class__(before.wrapper, at) for at in times])
        assert log.group(GROUP).name == name
    # An earlier copy of the same update comes when the group was looked at already.
    log = log_of([before.__class__(before.wrapper, NOW + 9)])
    assert log.group(GROUP).name == "Early"
    log.add(verified(before, BOB.public), NOW)
    assert log.group(GROUP).name == "Choir"
    # The other copy comes in another update.
    log = log_of([sent(ALICE, update(created, early), NOW + 9)])
    assert log.group(GROUP).name == "Early"
    log.add(verified(before, BOB.public), NOW)
    assert log.group(GROUP).name == "Choir"


def test_an_event_counts_until_it_is_too_far_ahead() -> None:
    ahead = event(Kind.NAME_CHANGED, NOW + 120_000, name="Band")
    assert log_of([sent(ALICE, update(*founding(), ahead), NOW)]).group(GROUP).name == "Band"


def test_a_strangers_event_does_not_make_a_group_anew() -> None:
    log = log_of([UPDATE])
    before = log.group(GROUP)
    log.add(verified(sent(MALLORY, update(event(Kind.NAME_CHANGED, NOW, name="M", by=MALLORY))), BOB.public), NOW)
    assert log.group(GROUP) is before


def test_a_group_that_a_stranger_makes_up_is_none_of_the_users() -> None:
    line = sent(MALLORY, m.MembershipUpdateMessage(OTHER_GROUP, founding()))
    assert list(log_of([UPDATE, line]).groups()) == [GROUP]


def test_members_may_change_a_group_only_by_the_users_policy() -> None:
    line = sent(CAROL, update(*founding(), event(Kind.NAME_CHANGED, NOW + 1, name="Band", by=CAROL)), NOW)
    assert log_of([line]).group(GROUP).name == "Choir"
    assert log_of([line], members_may_change=True).group(GROUP).name == "Band"


# Laws of merging


def test_logs_of_two_users_are_not_merged() -> None:
    with pytest.raises(ValueError, match="two users"):
        log_of([], ALICE).merge(log_of([], BOB))


def test_a_message_has_the_ids_of_all_copies_in_both_logs() -> None:
    copies = [changed(HELLO, note=note) for note in (b"1", b"2")]
    one, other = log_of([HELLO, copies[0]]), log_of([HELLO, copies[1]])
    one.merge(other)
    assert set(one.ids(only(one))) == {id_of(HELLO), *map(id_of, copies)}


def test_a_log_that_is_merged_into_another_stays_as_it_is() -> None:
    lines = [HELLO, UPDATE, sent(ALICE, reaction(id_of(HELLO)))]
    copies = [changed(line, note=b"1", at=NOW - 1) for line in lines]
    one, other, alone = log_of(lines), log_of(copies), log_of(copies)
    one.merge(other)
    assert same(other, alone)
    one.add(verified(changed(HELLO, note=b"2"), BOB.public), NOW)
    assert same(other, alone)


def _copies() -> st.SearchStrategy[list[HistoryLine]]:
    """Copies of some messages of every kind that the log finds by something."""
    made = [HELLO, sent(ALICE, text(chat=IN_CHANNEL)), UPDATE, sent(CAROL, update(*founding(NOW - 1)))]
    made += [sent(ALICE, text(words=words, ens_name=f"{words}.eth")) for words in "ab"]
    made += [sent(by, text(chat=IN_CHANNEL), signed=False) for by in (ALICE, CAROL)]
    made += [sent(by, deletion(id_of(made[-1]), chat=IN_CHANNEL), signed=False) for by in (ALICE, CAROL)]
    made += [sent(CAROL, update(event(Kind.MEMBER_REMOVED, NOW, [CAROL], by=CAROL), message=text(chat=IN_GROUP)))]
    for line, chat in ((HELLO, to(BOB)), (made[1], IN_CHANNEL), (UPDATE, IN_GROUP)):
        for number, by in enumerate((ALICE, CAROL)):
            made += [sent(by, said(id_of(line), NOW + number, chat=chat)) for said in (edit, deletion, pin, reaction)]
    made += [sent(BOB, m.SyncClearHistory(ALICE.public, NOW - 1)), sent(ALICE, IDENTITY)]
    made += [sent(BOB, m.SyncDeleteForMeMessage(NOW, id_of(HELLO)))]
    changes: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
        {"at": st.sampled_from([NOW, NOW - 120_001, NOW + 120_001])},
        optional={"note": st.sampled_from([b"1", b"2"])},
    )

    def copy(line: HistoryLine, change: dict[str, Any]) -> HistoryLine:
        return (
            HistoryLine(line.wrapper, change["at"], line.type, line.carrier) if line.type else changed(line, **change)
        )

    return st.lists(st.builds(copy, st.sampled_from(made), changes), max_size=14)


COPIES_OF_SOME = _copies()


def merged(*logs: ChatLog) -> ChatLog:
    whole = ChatLog(BOB.public)
    for log in logs:
        whole.merge(log)
    return whole


@given(COPIES_OF_SOME, COPIES_OF_SOME)
def test_merging_is_commutative(one: list[HistoryLine], other: list[HistoryLine]) -> None:
    assert same(merged(log_of(one), log_of(other)), merged(log_of(other), log_of(one)))


@given(COPIES_OF_SOME, COPIES_OF_SOME, COPIES_OF_SOME)
def test_merging_is_associative(one: list[HistoryLine], two: list[HistoryLine], three: list[HistoryLine]) -> None:
    left = merged(merged(log_of(one), log_of(two)), log_of(three))
    assert same(left, merged(log_of(one), merged(log_of(two), log_of(three))))


@given(COPIES_OF_SOME)
def test_merging_is_idempotent(lines: list[HistoryLine]) -> None:
    log, alone = log_of(lines), log_of(lines)
    log.merge(log_of(lines))
    log.merge(log)
    assert same(log, alone)


@given(COPIES_OF_SOME, st.randoms(use_true_random=False))
def test_any_split_of_a_history_merged_in_any_order_is_the_history(lines: list[HistoryLine], random: Random) -> None:
    parts: list[list[HistoryLine]] = [[], [], []]
    for line in lines:
        for part in random.sample(parts, random.randint(1, 3)):
            part.insert(random.randint(0, len(part)), line)
    logs = [log_of(part) for part in parts]
    _read_some(logs, random)
    random.shuffle(logs)
    assert same(merged(*logs), log_of(lines))


def _read_some(logs: Sequence[ChatLog], random: Random) -> None:
    for log in logs:
        if random.random() < 0.5:
            everything(ChatView(log))
