"""Whether an archive is whole: every container, hash and signature."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.client.archive.mail import HELLO, KEYS, SENT_AT, STORAGE_KEY, USERS, archive, delivered, filled
from tests.dm3.stored_mail import ALICE, BOB, letter

from postroom.client.archive import Archive, Flaw, MemoryHome, SigningKeys, verify
from postroom.dm3.containers import Chunk, ChunkIdentifier, chunk_key, conversation_key
from postroom.dm3.stored import StoredEnvelope


def test_an_archive_that_is_whole_has_no_flaws() -> None:
    verified = verify(filled(), KEYS)
    assert (verified.messages, verified.tombstones, verified.unproven, verified.flaws) == (3, 1, 0, [])


def test_without_the_keys_of_a_sender_nothing_is_proven_of_them() -> None:
    verified = verify(filled(), replace(KEYS, users={ALICE: [USERS[ALICE].signing.public]}))
    assert (verified.unproven, verified.flaws) == (1, [])


def test_one_of_several_keys_that_a_sender_has_had_is_enough() -> None:
    keys = SigningKeys({ALICE: [USERS[BOB].signing.public, USERS[ALICE].signing.public]}, KEYS.services)
    mine = archive()
    mine.store([HELLO])
    assert verify(mine, keys).flaws == []


def test_what_was_stored_as_unverified_is_not_held_against_anybody() -> None:
    mine = archive()
    mine.store([letter("hello", unverified=True)])
    verified = verify(mine, KEYS)
    assert (verified.unproven, verified.flaws) == (1, [])


CHANGES: dict[str, tuple[Callable[[StoredEnvelope], StoredEnvelope], str]] = {
    "message": (
        lambda entry: replace(entry, message=replace(entry.message, message="bye")),
        "is not signed by alice.eth",
    ),
    "metadata": (
        lambda entry: replace(entry, metadata=replace(entry.metadata, extra={})),
        "has an envelope that is not signed by alice.eth",
    ),
    "postmark": (
        lambda entry: replace(entry, postmark=replace(entry.postmark, incoming_timestamp_ms=1)),  # type: ignore[type-var]
        "has a postmark that none of the delivery services has signed",
    ),
    "hash": (lambda entry: replace(entry, message_hash="ab" * 32), "has the postmark of another message"),
    "message under its hash": (
        lambda entry: replace(
            entry, metadata=replace(entry.metadata, extra={**entry.metadata.extra, "messageHash": "0x" + "ab" * 32})
        ),
        "is another message than metadata.messageHash says",
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_every_hash_and_signature_that_does_not_hold_is_told(change: str) -> None:
    changes, what = CHANGES[change]
    mine = archive()
    mine.store([entry := changes(HELLO)])
    key = chunk_key(conversation_key(mine.filing.root, ALICE), ChunkIdentifier(0, SENT_AT))
    assert Flaw(key, entry.message_hash, what) in verify(mine, KEYS).flaws


def put(mine: Archive, key: str, text: bytes) -> None:
    found = mine.home.get(key)
    mine.home.put(key, STORAGE_KEY.seal(text, key, bytes(12)), etag=found.etag if found else None)


def test_a_message_in_the_wrong_conversation_is_told() -> None:
    mine = archive()
    mine.merge("carol.eth", [HELLO])
    assert [flaw.what for flaw in verify(mine, KEYS).flaws] == ["is no message of the conversation with carol.eth"]


def test_a_chunk_under_the_wrong_key_unsorted_or_with_doubles_is_told() -> None:
    mine = archive()
    first, second = delivered("first", 1), delivered("second", 2)
    mine.store([first, second])
    at = conversation_key(mine.filing.root, ALICE)
    put(mine, chunk_key(at, ChunkIdentifier(0, SENT_AT + 1)), Chunk((second, first, first)).encode())
    assert [flaw.what for flaw in verify(mine, KEYS).flaws] == [
        f"begins at {SENT_AT + 2}, its identifier says {SENT_AT + 1}",
        "is not sorted by time",
        "is there twice",
    ]


def test_what_is_lost_or_does_not_open_is_told_and_the_rest_is_looked_at() -> None:
    mine = archive(home := MemoryHome(), chunk_bytes=500_000)
    mine.store([delivered(text * 500_000, at) for at, text in enumerate("abc")])
    mine.store([delivered("from carol", 1, "carol.eth"), HELLO])
    at = conversation_key(mine.filing.root, ALICE)
    lost, broken = (chunk_key(at, ChunkIdentifier(number, SENT_AT + number)) for number in range(2))
    home.delete(lost)
    found = home.get(broken)
    assert found
    home.put(broken, found.data[:-1], etag=found.etag)
    verified = verify(mine, KEYS)
    assert [(flaw.key, flaw.what.split(":")[0]) for flaw in verified.flaws] == [
        (lost, "is missing"),
        (broken, "is sealed with another storage key, was changed, or is another one"),
    ]
    assert verified.messages == 3


@pytest.mark.parametrize("lost", [True, False])
def test_a_conversation_that_is_lost_or_does_not_open_is_told(lost: bool) -> None:
    mine = filled(home := MemoryHome())
    at = conversation_key(mine.filing.root, ALICE)
    found = home.get(at)
    assert found
    home.delete(at) if lost else home.put(at, b"", etag=found.etag)
    verified = verify(mine, KEYS)
    assert [flaw.key for flaw in verified.flaws] == [at]
    assert verified.messages == 1


def test_an_empty_archive_has_no_flaws() -> None:
    assert verify(archive(), KEYS).flaws == []
