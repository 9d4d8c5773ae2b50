"""Whether an archive is whole: every container, hash and signature."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.client.archive.mail import (
    HELLO,
    KEYS,
    SENT_AT,
    STORAGE_KEY,
    USERS,
    archive,
    delivered,
    filled,
    in_small_chunks,
)
from tests.protocols.dm3.stored_mail import ALICE, BOB, stored_message

from postroom.client.archive import Archive, Flaw, KnownSigningKeys, MemoryHome, verify
from postroom.core.errors import TheirError
from postroom.crypto.rsa_ed25519 import PrivateKey
from postroom.protocols.dm3.containers import Chunk, ChunkIdentifier, chunk_key, conversation_key
from postroom.protocols.dm3.stored import Received, StoredEnvelope
from postroom.protocols.nlweb.reasons import HASH_MISMATCH, SIGNATURE_INVALID
from postroom.protocols.nlweb.sign import Draft, sign, write


def test_a_complete_archive_has_no_flaws() -> None:
    verified = verify(filled(), KEYS)
    assert (verified.messages, verified.tombstones, verified.unproven, verified.flaws) == (3, 1, 0, [])


def test_messages_of_a_sender_without_keys_are_unproven() -> None:
    verified = verify(filled(), replace(KEYS, users={ALICE: [USERS[ALICE].signing.public]}))
    assert (verified.unproven, verified.flaws) == (1, [])


def test_any_of_a_senders_keys_may_prove_a_message() -> None:
    keys = KnownSigningKeys({ALICE: [USERS[BOB].signing.public, USERS[ALICE].signing.public]}, KEYS.services)
    mine = archive()
    mine.store([HELLO])
    assert verify(mine, keys).flaws == []


def test_messages_stored_as_unverified_are_not_flaws() -> None:
    mine = archive()
    mine.store([stored_message("hello", unverified=True)])
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
def test_every_wrong_hash_and_signature_is_a_flaw(change: str) -> None:
    changes, what = CHANGES[change]
    mine = archive()
    mine.store([entry := changes(HELLO)])
    key = chunk_key(conversation_key(mine.filing.root, ALICE), ChunkIdentifier(0, SENT_AT))
    assert Flaw(key, entry.message_hash, what) in verify(mine, KEYS).flaws


def put(mine: Archive, key: str, text: bytes) -> None:
    found = mine.home.get(key)
    mine.home.put(key, STORAGE_KEY.seal(text, key, bytes(12)), etag=found.etag if found else None)


def test_a_message_in_the_wrong_conversation_is_a_flaw() -> None:
    mine = archive()
    mine.merge("carol.eth", [HELLO])
    assert [flaw.what for flaw in verify(mine, KEYS).flaws] == ["is not a message of the conversation with carol.eth"]


def test_a_chunk_with_a_wrong_key_order_or_duplicates_is_a_flaw() -> None:
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


def test_missing_and_unreadable_chunks_are_flaws_and_the_rest_is_checked() -> None:
    mine = in_small_chunks(archive(home := MemoryHome()))
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
def test_a_missing_or_unreadable_conversation_is_a_flaw(lost: bool) -> None:
    mine = filled(home := MemoryHome())
    at = conversation_key(mine.filing.root, ALICE)
    found = home.get(at)
    assert found
    home.delete(at) if lost else home.put(at, b"", etag=found.etag)
    verified = verify(mine, KEYS)
    assert [flaw.key for flaw in verified.flaws] == [at]
    assert verified.messages == 1


DOMAIN, OTHER = PrivateKey.generate("ed25519"), PrivateKey.generate("ed25519")


def received(change: str = "", signer: PrivateKey = DOMAIN, **more: Any) -> Received:
    draft = Draft(
        "b.com", "shop.com", "Hello@Host", "8b51b6b2-2f5f-4a0e-9a0b-3c1d5e7f9a1b", SENT_AT, {"Text": "hi"},
        selector="pk1",
    )  # fmt: skip
    text = write(sign(draft, signer)).decode().replace('"hi"', f'"hi{change}"')
    receipt = json.dumps({"protocol": "nlweb", "key_fingerprint": DOMAIN.public.fingerprint})
    return replace(Received("id", SENT_AT, "b.com", receipt, text), **more)


def test_mail_of_a_domain_is_verified_with_its_receipts_key_while_dns_has_it() -> None:
    mine = archive()
    mine.store([received(), received(signer=OTHER, id="forged")])
    asked: list[str] = []

    def looked_up(key: PrivateKey | None) -> KnownSigningKeys:
        return KnownSigningKeys(domain=lambda name: asked.append(name) or (key.public if key else None))  # type: ignore[func-returns-value]

    verified = verify(mine, looked_up(DOMAIN))
    assert verified.unproven == 0
    [flaw] = verified.flaws
    assert flaw.what.startswith(f"is not what it says: {SIGNATURE_INVALID}: not by the sender's ")
    assert set(asked) == {"pk1._domainkey.b.com"}
    for key in (OTHER, None):
        verified = verify(mine, looked_up(key))
        assert (verified.unproven, verified.flaws) == (2, [])


def test_the_hash_of_a_domains_mail_is_verified() -> None:
    mine = archive()
    mine.store([received(), received(" there", id="other")])
    verified = verify(mine, KEYS)
    assert (verified.messages, verified.unproven) == (2, 2)
    assert [flaw.what for flaw in verified.flaws] == [f"is not what it says: {TheirError(HASH_MISMATCH)}"]


def test_messages_set_aside_are_counted_separately() -> None:
    mine = archive()
    mine.store([aside := received(set_aside="NotJson")])
    assert (verify(mine, KEYS).set_aside, verify(mine, KEYS).flaws) == (1, [])
    mine.merge("b.com", [aside])
    mine.merge("c.com", [received(id="third")])
    assert [flaw.what for flaw in verify(mine, KEYS).flaws] == [
        "was set aside, and is in the conversation with b.com",
        "is not a message of the conversation with c.com",
    ]


def test_an_empty_archive_has_no_flaws() -> None:
    assert verify(archive(), KEYS).flaws == []
