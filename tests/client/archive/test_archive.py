"""An archive: what came is stored in its conversation, found again by time, and kept from its home."""

from dataclasses import replace

import pytest
from tests.client.archive.mail import HELLO, SENT_AT, STORAGE_KEY, archive, delivered, in_small_chunks, sealed
from tests.protocols.dm3.known import refused
from tests.protocols.dm3.stored_mail import ALICE, BOB, deletion, edit, stored_message, texts_of

from postroom.client.archive import ConflictError, HomeObject, MemoryHome
from postroom.client.archive.filing import MAX_ROUNDS
from postroom.core.errors import NotNowError, SettingsError, TheirError
from postroom.core.reasons import STORE_UNAVAILABLE
from postroom.core.settings import DM3_SIZE_CEILING_BYTES
from postroom.protocols.dm3.chunking import DEFAULT_LIMIT_BYTES, MAX_LIMIT_BYTES, MIN_LIMIT_BYTES
from postroom.protocols.dm3.containers import Chunk, ChunkIdentifier, ContainerError, chunk_key, conversation_key
from postroom.protocols.dm3.message import MessageType
from postroom.protocols.dm3.reasons import NAME_INVALID

# --- storing and reading --------------------------------------------------------------------------------------------


def test_stored_messages_are_found_by_partner_and_by_time() -> None:
    mine = archive()
    mine.store([delivered("second", 2), delivered("from carol", 1, "carol.eth"), delivered("first", 1)])
    mine.store([delivered("mine", 3, BOB, ALICE)])
    assert mine.conversations() == (ALICE, "carol.eth")
    assert texts_of(mine.open("Alice.eth")) == ["first", "second", "mine"]
    assert texts_of(mine.open("carol.eth")) == ["from carol"]


def test_storing_nothing_writes_nothing() -> None:
    mine = archive(home := MemoryHome())
    mine.store([])
    mine.merge(ALICE, [])
    assert mine.conversations() == ()
    assert mine.open(ALICE) == []
    assert home.containers() == {}


def test_stored_messages_are_read_unchanged() -> None:
    mine = archive()
    mine.store([HELLO])
    assert mine.open(ALICE) == [HELLO]


def test_a_message_fetched_twice_is_stored_once() -> None:
    mine = archive()
    for _ in range(2):
        mine.store([HELLO])
    assert mine.open(ALICE) == [HELLO]


def test_an_edit_replaces_the_old_version_if_history_is_off() -> None:
    last = delivered("hello!", 1, kind=MessageType.EDIT, about=HELLO.message_hash)
    keeping, replacing = archive(), archive(keep_history=False)
    for mine in (keeping, replacing):
        mine.store([HELLO, last])
    assert texts_of(keeping.open(ALICE)) == ["hello", "hello!"]
    assert texts_of(replacing.open(ALICE)) == ["† EDIT", "hello!"]


def test_no_container_holds_deleted_messages() -> None:
    mine = archive(home := MemoryHome())
    mine.store([delivered("a secret")])
    [entry] = mine.open(ALICE)
    mine.store([delivered("", 1, kind=MessageType.DELETE_REQUEST, about=entry.message_hash)])
    opened = [STORAGE_KEY.open(sealed, key) for key, sealed in home.containers().items()]
    assert texts_of(mine.open(ALICE)) == ["† DELETE_REQUEST", ""]
    assert not any(b"a secret" in text for text in opened)


def test_a_deletion_dated_before_its_message_takes_effect_when_read() -> None:
    mine = in_small_chunks(archive())
    late = stored_message("late", 9)
    for entry in (deletion(late, 1), stored_message("x" * 500_000, 2), stored_message("y" * 500_000, 3), late):
        mine.store([entry])
    assert texts_of(mine.open(ALICE))[-1] == "† DELETE_REQUEST"


def test_old_versions_in_other_chunks_are_replaced() -> None:
    mine = in_small_chunks(archive(keep_history=False))
    first = stored_message("first", 1)
    filler = [stored_message(text * 500_000, 20 + at) for at, text in enumerate("xyz")]
    for entry in (edit(first, "second", 2), filler[0], first, filler[1], edit(first, "third", 30), filler[2]):
        mine.store([entry])
    assert [text[:6] for text in texts_of(mine.open(ALICE))] == [
        "† EDIT",
        "† EDIT",
        "xxxxxx",
        "yyyyyy",
        "zzzzzz",
        "third",
    ]
    assert isinstance(mine.home, MemoryHome)
    texts = [STORAGE_KEY.open(sealed, key) for key, sealed in mine.home.containers().items()]
    assert not any(b'"second"' in text for text in texts)


@pytest.mark.parametrize("pulls", [1, 20])
@pytest.mark.parametrize("size", [1, 400_000], ids=["a last chunk with room", "a full last chunk"])
def test_back_dated_messages_have_no_container_each(pulls: int, size: int) -> None:
    mine = in_small_chunks(archive(home := MemoryHome()))
    mine.store([stored_message("x" * 400_000, 1000), stored_message("y" * size, 1001)])
    before = len(home.containers())
    late = [stored_message("z" * 10_000, 500 - number) for number in range(20)]
    for first in range(0, 20, 20 // pulls):
        mine.store(late[first : first + 20 // pulls])
    assert len(home.containers()) <= before + 1
    assert len(mine.open(ALICE)) == 22


def test_a_message_with_an_invalid_sender_is_refused_before_anything_is_stored() -> None:
    mine = archive(home := MemoryHome())
    with pytest.raises(TheirError) as caught:
        mine.store([HELLO, stored_message("hello", sender="a..b", unverified=True)])
    refused(caught, NAME_INVALID)
    assert home.containers() == {}


def test_the_size_of_a_chunk_is_that_of_the_specification() -> None:
    with pytest.raises(SettingsError):
        archive(chunk_bytes=10_000)


def test_the_largest_message_that_our_delivery_service_accepts_fits_into_every_chunk() -> None:
    text = "x" * DM3_SIZE_CEILING_BYTES
    text = text[: DM3_SIZE_CEILING_BYTES**2 // len(sealed(text))]
    assert len(sealed(text)) == pytest.approx(DM3_SIZE_CEILING_BYTES, rel=0.01)
    chunk = Chunk((delivered(text),), is_full=True)
    assert len(chunk.encode()) < DM3_SIZE_CEILING_BYTES < MIN_LIMIT_BYTES <= DEFAULT_LIMIT_BYTES <= MAX_LIMIT_BYTES


def test_storing_new_messages_reads_the_last_chunk_only() -> None:
    mine = in_small_chunks(archive(home := Counting()))
    mine.store([stored_message(text * 400_000, at) for at, text in enumerate("abcdef")])
    home.got.clear()
    mine.store([stored_message("new", 10)])
    assert len(home.got) == 3  # the conversation, its last chunk, the root


class Counting(MemoryHome):
    """`got`: the keys that were asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.got: list[str] = []

    def get(self, key: str) -> HomeObject | None:
        self.got.append(key)
        return super().get(key)


# --- homes that do what they should not -----------------------------------------------------------------------------


def test_only_the_owner_can_read_a_home() -> None:
    mine = archive(home := MemoryHome())
    mine.store([delivered("a secret")])
    for key, container in home.containers().items():
        assert b"secret" not in container
        assert b"alice" not in container
        assert key.startswith("0x")


def test_the_same_content_is_sealed_differently_each_time() -> None:
    one, other = MemoryHome(), MemoryHome()
    for home in (one, other):
        archive(home).store([HELLO])
    assert one.containers().keys() == other.containers().keys()
    nonces = [sealed[:12] for home in (one, other) for sealed in home.containers().values()]
    assert len(set(nonces)) == len(nonces)


@pytest.mark.parametrize("which", [0, 1, 2])
def test_swapped_containers_are_detected(which: int) -> None:
    mine = archive(home := MemoryHome())
    mine.store([HELLO])
    keys, sealed = zip(*home.containers().items(), strict=True)
    swapped = dict(zip(keys, (*sealed[which:], *sealed[:which]), strict=True))
    elsewhere = replace(mine, home=MemoryHome(swapped))
    if which == 0:
        assert elsewhere.open(ALICE) == [HELLO]
        return
    for call in (elsewhere.conversations, lambda: elsewhere.open(ALICE), lambda: elsewhere.store([HELLO])):
        with pytest.raises(ContainerError):
            call()


def test_endless_conflicts_end_with_an_error() -> None:
    class Stubborn(MemoryHome):
        def put(self, key: str, data: bytes, *, etag: str | None) -> str:
            raise ConflictError

    with pytest.raises(NotNowError, match=str(MAX_ROUNDS)) as caught:
        archive(Stubborn()).store([HELLO])
    assert caught.value.reason is STORE_UNAVAILABLE


def test_a_missing_chunk_is_reported_by_its_key() -> None:
    mine = archive(home := MemoryHome())
    mine.store([HELLO])
    key = chunk_key(conversation_key(mine.filing.root, ALICE), ChunkIdentifier(0, SENT_AT))
    home.delete(key)
    for call in (lambda: mine.open(ALICE), lambda: mine.store([HELLO])):
        with pytest.raises(ContainerError, match=key):
            call()


def test_a_container_that_could_not_be_read_again_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("postroom.client.archive.filing.MAX_CONTAINER_BYTES", 1000)
    with pytest.raises(ContainerError, match="at most 1000"):
        archive().store([HELLO])
