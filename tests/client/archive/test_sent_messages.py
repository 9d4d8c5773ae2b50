"""What the owner sent is kept, and sent once more to its receiver alone: dm3 §2.2.3, RESEND_REQUEST."""

from dataclasses import replace

import pytest
from tests.client.archive.mail import archive
from tests.protocols.dm3.stored_mail import ALICE, BOB, KEYS, deletion, stored_message, texts_of

from postroom.client.archive import Archive
from postroom.client.archive.ownership import NotThisHomeError, Ownership, put_ownership
from postroom.client.archive.sent_messages import NotKeptError, NotToBeResentError, find_requested, keep_sent
from postroom.protocols.dm3.envelope import Dm3Envelope
from postroom.protocols.dm3.message import MessageMetadata, MessageType
from postroom.protocols.dm3.sign import sign_message
from postroom.protocols.dm3.stored import StoredEnvelope

CAROL = "carol.eth"
SENT = stored_message("hello", 1, sender=BOB, to=ALICE)


def request(about: str = SENT.message_hash, sender: str = ALICE, **further: bool) -> StoredEnvelope:
    """Somebody asks Bob for a message."""
    return stored_message("", 9, sender=sender, kind=MessageType.RESEND_REQUEST, about=about, **further)


def holding(*entries: StoredEnvelope) -> Archive:
    mine = archive()
    mine.store([stored_message("other", 0), SENT, *entries])
    return mine


def test_a_sent_message_is_kept_in_the_conversation_with_its_receiver() -> None:
    mine = holding()
    keep_sent(mine, [(SENT.message, Dm3Envelope(f"sealed {SENT.message.signature}", SENT.metadata))], KEYS[BOB].public)
    assert texts_of(mine.open(ALICE)) == ["other", "hello"]
    assert mine.conversations() == (ALICE,)


def test_a_message_that_is_kept_while_the_archive_moves_is_an_error() -> None:
    mine = holding()
    put_ownership(mine, Ownership(BOB, moved_to="elsewhere"), None)
    with pytest.raises(NotThisHomeError, match="elsewhere"):
        keep_sent(mine, [(SENT.message, Dm3Envelope("sealed", SENT.metadata))], KEYS[BOB].public)


@pytest.mark.parametrize("prefix", ["", "0x"])
def test_the_receiver_gets_what_was_sent_to_them(prefix: str) -> None:
    asked = request(prefix + SENT.message_hash.upper())
    assert find_requested(holding(asked), prefix + asked.message_hash).message == SENT.message


@pytest.mark.parametrize("number", range(2))
def test_a_message_is_found_by_each_of_its_hashes(number: int) -> None:
    assert find_requested(holding(), SENT.hashes()[number]).message == SENT.message


def test_nobody_else_gets_it() -> None:
    mine = holding(asked := request(sender=CAROL))
    with pytest.raises(NotToBeResentError, match=r"was sent to alice\.eth, and carol\.eth asks for it"):
        find_requested(mine, asked.message_hash)


def test_a_request_of_an_unverified_sender_is_not_answered() -> None:
    mine = holding(asked := request(unverified=True))
    with pytest.raises(NotToBeResentError, match="SenderSignatureInvalid"):
        find_requested(mine, asked.message_hash)


def test_another_message_than_a_request_asks_for_nothing() -> None:
    mine = holding(reply := stored_message("?", 9, kind=MessageType.REPLY, about=SENT.message_hash))
    with pytest.raises(NotToBeResentError, match=r"is a REPLY of alice\.eth"):
        find_requested(mine, reply.message_hash)


@pytest.mark.parametrize("about", ["ab" * 32, stored_message("other", 0).message_hash])
def test_only_the_owners_messages_are_sent_again(about: str) -> None:
    mine = holding(asked := request(about))
    with pytest.raises(NotKeptError, match=f"no message {about} that {BOB} sent"):
        find_requested(mine, asked.message_hash)


def test_a_message_whose_author_nobody_proved_is_not_the_owners() -> None:
    claimed = stored_message("pay mallory", 2, sender=BOB, to=ALICE, unverified=True)
    with pytest.raises(NotKeptError):
        find_requested(holding(claimed), claimed.message_hash)


def test_a_deleted_message_is_not_sent_again() -> None:
    mine = holding(deletion(SENT, sender=BOB, to=ALICE))
    with pytest.raises(NotKeptError, match="was removed from the archive, by a message of type DELETE_REQUEST"):
        find_requested(mine, SENT.message_hash)


def test_an_answer_returns_the_instruction_of_what_it_answers() -> None:
    metadata = MessageMetadata(BOB, ALICE, 3, reply_delivery_instruction="topic 7")
    question = replace(stored_message("which?"), message=sign_message("which?", metadata, KEYS[ALICE]))
    answer = stored_message("this", 5, sender=BOB, to=ALICE, kind=MessageType.REPLY, about=question.message_hash)
    mine = holding(question, answer)
    assert find_requested(mine, answer.message_hash).delivery_instruction == "topic 7"
    assert find_requested(mine, SENT.message_hash).delivery_instruction is None
