"""Deleting and editing: dm3 §2.2.3, by whom and in whichever order."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.protocols.dm3.stored_mail import ALICE, BOB, deletion, edit, stored_message, texts_of

from postroom.protocols.dm3.settling import merge_copies, names_of, removals_requested, settle
from postroom.protocols.dm3.stored import Entry, Removal, StoredEnvelope, Tombstone, place

BOTH = pytest.mark.parametrize("keep_history", [True, False])
HELLO = stored_message("hello")
HELLO_AGAIN = edit(HELLO, "hello again", 1)
HELLO_AT_LAST = edit(HELLO, "hello at last", 2)


def settled(*entries: Entry, keep_history: bool = True) -> list[str]:
    return texts_of(sorted(settle(entries, keep_history=keep_history).values(), key=place))


# --- copies -----------------------------------------------------------------------------------------------------


def test_the_same_message_twice_is_one() -> None:
    assert settled(HELLO, HELLO) == ["hello"]


def test_a_proven_copy_takes_the_place_of_one_that_is_not_whichever_came_first() -> None:
    unproven = replace(HELLO, unverified="SenderSignatureInvalid")
    assert merge_copies([unproven, HELLO]) == merge_copies([HELLO, unproven]) == {HELLO.message_hash: HELLO}


def test_of_two_proven_copies_the_first_stays() -> None:
    other = replace(HELLO, metadata=replace(HELLO.metadata, signature="BBBB"))
    assert merge_copies([HELLO, other])[HELLO.message_hash] is HELLO


def test_no_copy_brings_back_what_was_removed() -> None:
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


def test_a_message_that_arrives_after_the_request_to_delete_it_is_deleted_too() -> None:
    assert settled(deletion(HELLO, -1), HELLO) == ["", "† DELETE_REQUEST"]


@pytest.mark.parametrize("which", range(2))
def test_a_request_may_name_any_hash_of_a_message(which: int) -> None:
    hash_ = HELLO.hashes()[which]
    for written in (hash_, "0x" + hash_, "0X" + hash_.upper()):
        assert settled(HELLO, deletion(written)) == ["† DELETE_REQUEST", ""]


def test_the_hash_that_the_reference_writes_into_the_metadata_names_a_message() -> None:
    claimed = {"encryptedMessageHash": "0x" + "ab" * 32}
    hello = replace(HELLO, metadata=replace(HELLO.metadata, extra=claimed))
    assert settled(hello, deletion("ab" * 32)) == ["† DELETE_REQUEST", ""]


def test_a_hash_that_another_message_claims_means_the_one_that_has_it() -> None:
    claims = {"encryptedMessageHash": "0x" + HELLO.message_hash}
    liar = stored_message("liar", -1)
    liar = replace(liar, metadata=replace(liar.metadata, extra=claims))
    assert settled(liar, HELLO, deletion(HELLO)) == ["liar", "† DELETE_REQUEST", ""]


def test_a_hash_that_many_messages_claim_means_the_first() -> None:
    claims = {"encryptedMessageHash": "0x" + "ab" * 32}
    liars = [stored_message(f"{number}", number) for number in range(3)]
    liars = [replace(liar, metadata=replace(liar.metadata, extra=claims)) for liar in liars]
    assert settled(*liars, deletion("ab" * 32)) == ["† DELETE_REQUEST", "1", "2", ""]


def test_nobody_but_its_author_deletes_a_message() -> None:
    assert settled(HELLO, deletion(HELLO, sender=BOB)) == ["hello", ""]


def test_an_author_is_the_same_however_the_name_is_written() -> None:
    assert settled(HELLO, deletion(HELLO, sender="ALICE.eth")) == ["† DELETE_REQUEST", ""]


def test_whose_request_is_not_proven_deletes_nothing() -> None:
    assert settled(HELLO, deletion(HELLO, unverified=True)) == ["hello", ""]


def test_what_is_not_proven_to_be_the_authors_is_deleted_as_well() -> None:
    assert settled(stored_message("hello", unverified=True), deletion(stored_message("hello"))) == [
        "† DELETE_REQUEST",
        "",
    ]


@pytest.mark.parametrize("unverified", [True, False])
def test_a_request_cannot_be_taken_back(unverified: bool) -> None:
    request = deletion(HELLO, 1, unverified=unverified)
    assert "† DELETE_REQUEST" not in settled(request, deletion(request, 2))


def test_a_request_for_what_is_not_there_does_nothing() -> None:
    assert settled(HELLO, deletion("ab" * 32)) == ["hello", ""]


# --- EDIT ---------------------------------------------------------------------------------------------------------


def test_an_edit_leaves_older_versions_where_history_is_kept() -> None:
    assert settled(HELLO, HELLO_AGAIN, HELLO_AT_LAST) == ["hello", "hello again", "hello at last"]


def test_an_edit_takes_the_place_of_older_versions_where_it_is_not() -> None:
    assert settled(HELLO, HELLO_AGAIN, keep_history=False) == ["† EDIT", "hello again"]
    assert settled(HELLO, HELLO_AGAIN, HELLO_AT_LAST, keep_history=False) == ["† EDIT", "† EDIT", "hello at last"]


def test_an_edit_of_an_edit_takes_the_place_of_both() -> None:
    last = edit(HELLO_AGAIN, "hello at last", 2)
    assert settled(HELLO, HELLO_AGAIN, last, keep_history=False) == ["† EDIT", "† EDIT", "hello at last"]


@pytest.mark.parametrize("further", [{"sender": BOB}, {"unverified": True}])
def test_nobody_but_its_author_edits_a_message(further: dict[str, Any]) -> None:
    assert settled(HELLO, edit(HELLO, "bye", **further), keep_history=False) == ["hello", "bye"]


def test_an_edit_takes_no_request_away() -> None:
    request = deletion(HELLO, 1)
    assert settled(HELLO, request, edit(request, "bye", 2), keep_history=False) == ["† DELETE_REQUEST", "", "bye"]


@BOTH
def test_who_deletes_a_message_deletes_all_its_versions(keep_history: bool) -> None:
    last = edit(HELLO_AGAIN, "hello at last", 2)
    after = settled(HELLO, HELLO_AGAIN, last, deletion(HELLO), keep_history=keep_history)
    assert after == ["† DELETE_REQUEST"] * 3 + [""]


@BOTH
def test_a_version_that_arrives_late_is_deleted_with_the_message(keep_history: bool) -> None:
    before = settle([HELLO, deletion(HELLO)], keep_history=keep_history)
    assert settled(*before.values(), HELLO_AGAIN, keep_history=keep_history)[:2] == ["† DELETE_REQUEST"] * 2


def test_who_deletes_a_version_leaves_those_before_it() -> None:
    assert settled(HELLO, HELLO_AGAIN, deletion(HELLO_AGAIN)) == ["hello", "† DELETE_REQUEST", ""]


def test_a_version_that_was_replaced_still_leads_to_those_after_it() -> None:
    last = edit(HELLO_AGAIN, "hello at last", 2)
    before = settle([HELLO, HELLO_AGAIN, last], keep_history=False)
    assert settled(*before.values(), deletion(HELLO), keep_history=False) == ["† DELETE_REQUEST"] * 3 + [""]


# --- what has to be read -------------------------------------------------------------------------------------------


def test_what_is_asked_for_is_what_proven_requests_name_and_is_not_there() -> None:
    request = deletion("0x" + "AB" * 32)
    grave = settle([HELLO, HELLO_AGAIN, HELLO_AT_LAST], keep_history=False)[HELLO_AGAIN.message_hash]
    entries = [HELLO_AT_LAST, request, grave, deletion("cd" * 32, unverified=True)]
    assert removals_requested(entries) == {(ALICE, "ab" * 32), (ALICE, HELLO.message_hash)}
    assert removals_requested([*entries, HELLO]) == {(ALICE, "ab" * 32)}
    assert removals_requested([HELLO]) == set()


def test_what_is_asked_for_is_by_the_same_author() -> None:
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
def test_it_makes_no_difference_in_which_order_entries_come_and_whether_they_are_settled_at_once(
    keep_history: bool, data: st.DataObject, entries: list[StoredEnvelope]
) -> None:
    at_once = settled(*entries, keep_history=keep_history)
    together: dict[str, Entry] = {}
    for entry in data.draw(st.permutations(entries + entries)):
        together = settle([*together.values(), entry], keep_history=keep_history)
    assert texts_of(sorted(together.values(), key=place)) == at_once
    assert settle(together.values(), keep_history=keep_history) == together
