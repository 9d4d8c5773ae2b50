"""Deleting and editing: dm3 §2.2.3, by whom and in whichever order."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.protocols.dm3.stored_mail import ALICE, BOB, deletion, edit, stored_message, texts_of

from postroom.protocols.dm3.edits import merge_copies, names_of, removals_requested, settle
from postroom.protocols.dm3.stored import Entry, Removal, StoredEnvelope, Tombstone, place

BOTH = pytest.mark.parametrize("keep_history", [True, False])
HELLO = stored_message("hello")
HELLO_AGAIN = edit(HELLO, "hello again", 1)
HELLO_AT_LAST = edit(HELLO, "hello at last", 2)


def settled(*entries: Entry, keep_history: bool = True) -> list[str]:
    return texts_of(sorted(settle(entries, keep_history=keep_history).values(), key=place))


# --- copies -----------------------------------------------------------------------------------------------------


def test_a_repeated_message_is_one_entry() -> None:
    assert settled(HELLO, HELLO) == ["hello"]


def test_a_proven_copy_replaces_an_unproven_one_in_any_order() -> None:
    unproven = replace(HELLO, unverified="SenderSignatureInvalid")
    assert merge_copies([unproven, HELLO]) == merge_copies([HELLO, unproven]) == {HELLO.message_hash: HELLO}


def test_the_first_of_two_proven_copies_stays() -> None:
    other = replace(HELLO, metadata=replace(HELLO.metadata, signature="BBBB"))
    assert merge_copies([HELLO, other])[HELLO.message_hash] is HELLO


def test_a_copy_does_not_restore_a_deleted_message() -> None:
    grave = settle([HELLO, deletion(HELLO)], keep_history=True)[HELLO.message_hash]
    assert merge_copies([grave, HELLO])[HELLO.message_hash] == merge_copies([HELLO, grave])[HELLO.message_hash] == grave


# --- DELETE_REQUEST -----------------------------------------------------------------------------------------------


@BOTH
def test_a_delete_request_leaves_a_tombstone_and_stays(keep_history: bool) -> None:
    request = deletion(HELLO)
    after = settle([HELLO, request], keep_history=keep_history)
    assert after == {
        request.message_hash: request,
        HELLO.message_hash: Tombstone(
            HELLO.message_hash,
            HELLO.timestamp_ms,
            ALICE,
            HELLO.hashes(),
            "",
            Removal.DELETE_REQUEST,
            request.message_hash,
        ),
    }


def test_a_message_that_arrives_after_its_delete_request_is_deleted() -> None:
    assert settled(deletion(HELLO, -1), HELLO) == ["", "† DELETE_REQUEST"]


@pytest.mark.parametrize("which", range(2))
def test_a_request_may_name_any_hash_of_a_message(which: int) -> None:
    hash_ = HELLO.hashes()[which]
    for written in (hash_, "0x" + hash_, "0X" + hash_.upper()):
        assert settled(HELLO, deletion(written)) == ["† DELETE_REQUEST", ""]


def test_the_references_hash_in_the_metadata_identifies_a_message() -> None:
    claimed = {"encryptedMessageHash": "0x" + "ab" * 32}
    hello = replace(HELLO, metadata=replace(HELLO.metadata, extra=claimed))
    assert settled(hello, deletion("ab" * 32)) == ["† DELETE_REQUEST", ""]


def test_a_claimed_hash_identifies_the_message_that_really_has_it() -> None:
    claims = {"encryptedMessageHash": "0x" + HELLO.message_hash}
    liar = stored_message("liar", -1)
    liar = replace(liar, metadata=replace(liar.metadata, extra=claims))
    assert settled(liar, HELLO, deletion(HELLO)) == ["liar", "† DELETE_REQUEST", ""]


def test_a_hash_claimed_by_many_messages_identifies_the_first() -> None:
    claims = {"encryptedMessageHash": "0x" + "ab" * 32}
    liars = [stored_message(f"{number}", number) for number in range(3)]
    liars = [replace(liar, metadata=replace(liar.metadata, extra=claims)) for liar in liars]
    assert settled(*liars, deletion("ab" * 32)) == ["† DELETE_REQUEST", "1", "2", ""]


def test_only_the_author_can_delete_a_message() -> None:
    assert settled(HELLO, deletion(HELLO, sender=BOB)) == ["hello", ""]


def test_an_authors_name_is_compared_normalized() -> None:
    assert settled(HELLO, deletion(HELLO, sender="ALICE.eth")) == ["† DELETE_REQUEST", ""]


def test_an_unproven_request_deletes_nothing() -> None:
    assert settled(HELLO, deletion(HELLO, unverified=True)) == ["hello", ""]


def test_a_proven_request_deletes_unproven_messages_too() -> None:
    assert settled(stored_message("hello", unverified=True), deletion(stored_message("hello"))) == [
        "† DELETE_REQUEST",
        "",
    ]


@pytest.mark.parametrize("unverified", [True, False])
def test_a_request_cannot_be_taken_back(unverified: bool) -> None:
    request = deletion(HELLO, 1, unverified=unverified)
    assert "† DELETE_REQUEST" not in settled(request, deletion(request, 2))


def test_a_request_for_a_missing_message_does_nothing() -> None:
    assert settled(HELLO, deletion("ab" * 32)) == ["hello", ""]


# --- EDIT ---------------------------------------------------------------------------------------------------------


def test_an_edit_keeps_older_versions_if_history_is_kept() -> None:
    assert settled(HELLO, HELLO_AGAIN, HELLO_AT_LAST) == ["hello", "hello again", "hello at last"]


def test_an_edit_replaces_older_versions_if_history_is_off() -> None:
    assert settled(HELLO, HELLO_AGAIN, keep_history=False) == ["† EDIT", "hello again"]
    assert settled(HELLO, HELLO_AGAIN, HELLO_AT_LAST, keep_history=False) == ["† EDIT", "† EDIT", "hello at last"]


def test_an_edit_of_an_edit_replaces_both() -> None:
    last = edit(HELLO_AGAIN, "hello at last", 2)
    assert settled(HELLO, HELLO_AGAIN, last, keep_history=False) == ["† EDIT", "† EDIT", "hello at last"]


@pytest.mark.parametrize("further", [{"sender": BOB}, {"unverified": True}])
def test_only_the_author_can_edit_a_message(further: dict[str, Any]) -> None:
    assert settled(HELLO, edit(HELLO, "bye", **further), keep_history=False) == ["hello", "bye"]


def test_an_edit_does_not_replace_a_request() -> None:
    request = deletion(HELLO, 1)
    assert settled(HELLO, request, edit(request, "bye", 2), keep_history=False) == ["† DELETE_REQUEST", "", "bye"]


@BOTH
def test_deleting_a_message_deletes_all_its_versions(keep_history: bool) -> None:
    last = edit(HELLO_AGAIN, "hello at last", 2)
    after = settled(HELLO, HELLO_AGAIN, last, deletion(HELLO), keep_history=keep_history)
    assert after == ["† DELETE_REQUEST"] * 3 + [""]


@BOTH
def test_a_version_that_arrives_late_is_deleted_with_the_message(keep_history: bool) -> None:
    before = settle([HELLO, deletion(HELLO)], keep_history=keep_history)
    assert settled(*before.values(), HELLO_AGAIN, keep_history=keep_history)[:2] == ["† DELETE_REQUEST"] * 2


def test_deleting_a_version_keeps_earlier_ones() -> None:
    assert settled(HELLO, HELLO_AGAIN, deletion(HELLO_AGAIN)) == ["hello", "† DELETE_REQUEST", ""]


def test_a_replaced_version_still_leads_to_later_ones() -> None:
    last = edit(HELLO_AGAIN, "hello at last", 2)
    before = settle([HELLO, HELLO_AGAIN, last], keep_history=False)
    assert settled(*before.values(), deletion(HELLO), keep_history=False) == ["† DELETE_REQUEST"] * 3 + [""]


# --- what has to be read -------------------------------------------------------------------------------------------


def test_missing_messages_are_those_named_by_proven_requests() -> None:
    request = deletion("0x" + "AB" * 32)
    grave = settle([HELLO, HELLO_AGAIN, HELLO_AT_LAST], keep_history=False)[HELLO_AGAIN.message_hash]
    entries = [HELLO_AT_LAST, request, grave, deletion("cd" * 32, unverified=True)]
    assert removals_requested(entries) == {(ALICE, "ab" * 32), (ALICE, HELLO.message_hash)}
    assert removals_requested([*entries, HELLO]) == {(ALICE, "ab" * 32)}
    assert removals_requested([HELLO]) == set()


def test_missing_messages_are_by_the_same_author() -> None:
    assert names_of(HELLO) == {(ALICE, reference) for reference in HELLO.hashes()}
    of_bob = stored_message("hello", sender=BOB)
    assert removals_requested([of_bob, deletion(of_bob)]) == {(ALICE, of_bob.message_hash)}


# --- in whichever order --------------------------------------------------------------------------------------------


@st.composite
def conversations(draw: st.DrawFn) -> list[StoredEnvelope]:
    """Messages of two, with requests about any that came before or after."""
    entries: list[StoredEnvelope] = []
    for number in range(draw(st.integers(1, 7))):
        about = draw(st.none() | st.sampled_from(entries)) if entries else None
        sender, at = draw(st.sampled_from([ALICE, BOB])), draw(st.integers(0, 3))
        further: dict[str, Any] = {"sender": sender, "unverified": draw(st.integers(0, 5)) == 0}
        if about is None:
            entries.append(stored_message(f"{number}", at, **further))
        elif draw(st.booleans()):
            entries.append(deletion(about, at, extra={"number": number}, **further))
        else:
            entries.append(edit(about, f"{number}", at, **further))
    return entries


@BOTH
@given(data=st.data(), entries=conversations())
def test_the_result_does_not_depend_on_order_or_batches(
    keep_history: bool, data: st.DataObject, entries: list[StoredEnvelope]
) -> None:
    at_once = settled(*entries, keep_history=keep_history)
    together: dict[str, Entry] = {}
    for entry in data.draw(st.permutations(entries + entries)):
        together = settle([*together.values(), entry], keep_history=keep_history)
    assert texts_of(sorted(together.values(), key=place)) == at_once
    assert settle(together.values(), keep_history=keep_history) == together
