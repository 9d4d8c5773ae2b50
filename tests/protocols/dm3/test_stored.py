"""What is kept of a message: dm3 §3.2.1, chunk container; decision "Postmarks"."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.protocols.dm3.known import BUILDS, changed, each_build, encryption_key, public_signing_key, refused
from tests.protocols.dm3.stored_mail import ALICE, AT, BOB, KEYS, deletion, stored_message

from postroom.core.errors import TheirError
from postroom.protocols.dm3.dialect import verify_struct
from postroom.protocols.dm3.edits import settle
from postroom.protocols.dm3.envelope import message_hash, open_message, read_envelope
from postroom.protocols.dm3.names import normalize
from postroom.protocols.dm3.postmark import is_signed_by, read_postmark
from postroom.protocols.dm3.reasons import ENVELOPE_INVALID, NAME_INVALID
from postroom.protocols.dm3.sealing import open_sealed
from postroom.protocols.dm3.stored import (
    SET_ASIDE,
    Entry,
    Received,
    Removal,
    StoredEnvelope,
    Tombstone,
    conversation_partner,
    place,
    read_entry,
    store_envelope,
)
from postroom.protocols.dm3.verify import check_message

HASH = "ab" * 32
TOMBSTONE = Tombstone(HASH, AT, ALICE, (HASH, "cd" * 32), "ef" * 32, Removal.DELETE_REQUEST, "01" * 32)

RECEIVED = Received("id", AT, "sender.example", '{"protocol":"nlweb"}', '{"Body":{"Text":"🤝"}}')
ASIDE = replace(RECEIVED, set_aside="NotJson")


def stored(build: dict[str, Any]) -> StoredEnvelope:
    """The reference's envelope with the reference's postmark, as Bob keeps it."""
    keys = [encryption_key(build["profiles"]["bob"]["encryptionKeyPair"])]
    envelope = read_envelope({**build["envelope"]["encryptedEnvelop"], "further": 1})
    postmark = read_postmark(open_sealed(build["postmark"]["encrypted"], keys))
    return store_envelope(envelope, open_message(envelope, keys), postmark)


def reread(entry: Entry) -> Entry:
    return read_entry(json.loads(entry.encode()))


@each_build
def test_the_message_is_stored_opened_with_unchanged_metadata(build: dict[str, Any]) -> None:
    members = json.loads(stored(build).encode())
    assert members["message"] == build["message"]["message"]
    assert members["metadata"] == build["envelope"]["encryptedEnvelop"]["metadata"]
    assert members["postmark"] == build["postmark"]["plain"]
    assert members["messageHash"] == build["postmark"]["messageHashAsSpecified"][2:]
    assert members.keys() == {"message", "metadata", "postmark", "messageHash"}


@each_build
def test_every_signature_can_be_checked_again(build: dict[str, Any]) -> None:
    entry = reread(stored(build))
    assert isinstance(entry, StoredEnvelope)
    assert entry.postmark is not None
    sender = public_signing_key(build["profiles"]["alice"]["signingKeyPair"])
    check_message(entry.message, sender)
    assert verify_struct(entry.metadata.unsigned(), entry.metadata.signature, sender)
    assert is_signed_by(entry.postmark, public_signing_key(build["deliveryService"]["keys"]["signingKeyPair"]))


@each_build
def test_a_message_is_referred_to_by_the_specifications_or_the_references_hash(build: dict[str, Any]) -> None:
    entry = stored(build)
    envelope = read_envelope(build["envelope"]["encryptedEnvelop"])
    hashes = [message_hash(envelope), build["message"]["sha256OfStringifiedMessage"][2:]]
    claimed = build["envelope"]["encryptedEnvelop"]["metadata"].get("encryptedMessageHash")
    assert list(entry.hashes()) == hashes + ([claimed[2:]] if claimed else [])


@pytest.mark.parametrize(
    "entry",
    [
        stored_message("hello"),
        stored_message("hello", unverified=True),
        deletion(HASH),
        TOMBSTONE,
        RECEIVED,
        ASIDE,
        replace(stored_message("hello"), signing_key=KEYS[ALICE].public.encode()),
    ],
)
def test_a_stored_message_is_read_back(entry: Entry) -> None:
    assert reread(entry) == entry


def test_the_mark_of_an_unproven_sender_is_stored() -> None:
    assert stored_message("hello").unverified == ""
    assert stored_message("hello", unverified=True).unverified == "SenderSignatureInvalid"


def test_messages_are_ordered_by_time_and_then_by_hash() -> None:
    early, late = stored_message("hello", 1), stored_message("hello", 2)
    one, two = replace(early, message_hash="0" * 64), replace(early, message_hash="1" * 64)
    assert sorted([late, two, one], key=place) == [one, two, late]


@pytest.mark.parametrize(
    ("sender", "to", "partner"),
    [
        (ALICE, BOB, ALICE),
        ("Alice.eth", BOB, ALICE),
        (BOB, ALICE, ALICE),
        ("BOB.eth", "ALICE.eth", ALICE),
        (BOB, BOB, BOB),
        (ALICE, "alias.bob.eth", ALICE),
    ],
)
def test_a_conversation_is_named_after_the_other_party(sender: str, to: str, partner: str) -> None:
    assert conversation_partner(stored_message("hello", sender=sender, to=to), "Bob.eth") == partner


def test_a_sender_without_a_valid_name_has_no_conversation() -> None:
    with pytest.raises(TheirError) as caught:
        conversation_partner(stored_message("hello", sender="a..b"), BOB)
    refused(caught, NAME_INVALID)
    assert stored_message("hello", sender="a..b").author == "a..b"


@pytest.mark.parametrize("hash_", ["", "ab", "AB" * 32, "0x" + "ab" * 31, "ab" * 32 + "\n", None, 1])
def test_a_hash_is_lower_case_hex(hash_: Any) -> None:
    with pytest.raises(TheirError):
        replace(stored_message("hello"), message_hash=hash_)
    with pytest.raises(TheirError):
        replace(TOMBSTONE, removed_by=hash_)


@pytest.mark.parametrize("member", ["messageHash", "timestamp", "from", "hashes", "edited", "cause", "removedBy"])
def test_no_member_of_a_tombstone_may_be_missing_or_of_another_type(member: str) -> None:
    value: Any = TOMBSTONE.as_json()["tombstone"]
    for other in (None, [1], {}, 1.5):
        with pytest.raises(TheirError):
            read_entry({"tombstone": {**value, member: other}})
    del value[member]
    with pytest.raises(TheirError):
        read_entry({"tombstone": value})


@pytest.mark.parametrize("member", ["id", "at", "from", "receipt", "envelope"])
def test_no_member_of_an_unopened_entry_may_be_missing_or_of_another_type(member: str) -> None:
    members = RECEIVED.as_json()["received"]
    assert isinstance(members, dict)
    for changed_members in ({k: v for k, v in members.items() if k != member}, {**members, member: ["?"]}):
        with pytest.raises(TheirError) as caught:
            read_entry({"received": changed_members})
        refused(caught, ENVELOPE_INVALID)


def test_an_unopened_entry_is_identified_by_its_id_in_its_conversation_or_set_aside() -> None:
    assert RECEIVED.message_hash == ASIDE.message_hash != replace(RECEIVED, id="other").message_hash
    assert conversation_partner(RECEIVED, BOB) == "sender.example"
    assert conversation_partner(ASIDE, BOB) == SET_ASIDE
    with pytest.raises(TheirError):
        normalize(SET_ASIDE)


def test_no_request_deletes_an_unopened_entry() -> None:
    request = deletion(RECEIVED.message_hash, sender="sender.example")
    settled = settle([RECEIVED, request], keep_history=True)
    assert settled[RECEIVED.message_hash] == RECEIVED


def test_a_tombstone_reveals_nothing_of_the_text() -> None:
    assert TOMBSTONE.as_json()["tombstone"].keys() == {  # type: ignore[union-attr]
        "messageHash", "timestamp", "from", "hashes", "edited", "cause", "removedBy",
    }  # fmt: skip


NAMES = st.text() | st.sampled_from(["message", "metadata", "tombstone"])
SCALARS = st.none() | st.booleans() | st.integers() | st.text()


@given(st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(NAMES, inner)))
def test_any_other_value_is_refused_and_nothing_else_happens(value: Any) -> None:
    with pytest.raises(TheirError):
        read_entry(value)


@pytest.mark.parametrize("member", ["message", "metadata", "messageHash", "postmark", "unverified", "signingKey"])
def test_a_member_of_another_form_is_refused(member: str) -> None:
    whole: Any = replace(stored(next(iter(BUILDS.values()))), unverified="SenderSignatureInvalid").as_json()
    for other in (None, [], 1, {}):
        with pytest.raises(TheirError):
            read_entry({**whole, member: other})


def test_a_changed_message_is_another_entry() -> None:
    entry = stored_message("hello")
    members: Any = entry.as_json()
    assert read_entry({**members, "message": {**members["message"], "message": changed("hello")}}) != entry
