"""`postroom chat send --picture|--sound|--sticker` and `chat save`: pictures, sounds and stickers by commands."""

import json
from pathlib import Path
from random import Random

import pytest
from PIL import Image
from tests.cli.chat_commands import ChatCommands
from tests.cli.chat_commands import api as api
from tests.cli.chat_commands import chat as chat
from tests.cli.chat_commands import clients as clients
from tests.cli.chat_commands import deployed as deployed
from tests.client.chat.network import ALICE, BOB
from tests.protocols.status.media.pictures import EXIF, HTML, SECRET, animated, jpeg, png, saved
from tests.protocols.status.media.sounds import adts, amr, id3v2

from postroom.core import extras
from postroom.protocols.status import sending
from postroom.protocols.status.enums import ChatKind, ContentType
from postroom.protocols.status.media import Cleaned, MediaType, clean
from postroom.protocols.status.verify import ChatRef

HOLIDAY = jpeg(exif=EXIF, comment=SECRET)
SOUND = id3v2() + adts(5)


@pytest.fixture(autouse=True)
def files(chat: ChatCommands) -> None:
    for name, data in {
        "holiday.jpg": HOLIDAY,
        "moving.gif": animated("GIF", comment=SECRET),
        "voice.aac": SOUND,
        "voice.amr": amr(),
        "page.html": HTML,
        "drawing.svg": b'<svg xmlns="http://www.w3.org/2000/svg"/>',
        "half.png": png()[:-30],
    }.items():
        Path(name).write_bytes(data)


def sent(chat: ChatCommands, *arguments: str) -> str:
    """The ID of what Alice sent to Bob, who has it."""
    id_: str = chat.said(ALICE, "send", BOB, *arguments)["id"]
    assert chat(BOB, "pull").exit_code == 0
    return id_


def saved_by_bob(chat: ChatCommands, id_: str) -> bytes:
    result = chat(BOB, "save", ALICE, id_, "--out", "saved")
    assert (result.exit_code, result.stderr) == (0, "")
    return Path("saved").read_bytes()


# --- sending ---------------------------------------------------------------------------------------------------------


def test_a_picture_leaves_its_place_behind_and_arrives_with_its_text(chat: ChatCommands) -> None:
    id_ = sent(chat, "on holiday", "--picture", "holiday.jpg")
    left = saved_by_bob(chat, id_)
    [message] = chat.said(BOB, "show", ALICE)["messages"]
    assert (message["text"], message["content_type"]) == ("on holiday", ContentType.IMAGE)
    assert message["media"] == {"kind": "image", "type": "JPEG", "bytes": len(left), "reason": None}
    assert SECRET in Path("holiday.jpg").read_bytes()
    assert b"SECRET" not in left
    with Image.open("saved") as shown:
        assert (shown.format, shown.size) == ("JPEG", (48, 32))


def test_a_picture_needs_no_text_and_may_answer_a_message(chat: ChatCommands) -> None:
    first = sent(chat, "how is it there?")
    sent(chat, "--picture", "holiday.jpg", "--reply-to", first[:10])
    assert chat.said(BOB, "show", ALICE)["messages"][-1]["response_to"] == first


def test_an_animation_stays_one_and_needs_no_pillow(chat: ChatCommands, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    id_ = sent(chat, "--picture", "moving.gif")
    assert saved_by_bob(chat, id_) == clean(Path("moving.gif").read_bytes(), MediaType.GIF).data


def test_a_picture_as_large_as_may_be_arrives(chat: ChatCommands) -> None:
    noise = Image.frombytes("RGB", (1000, 1000), Random(1).randbytes(3_000_000))
    Path("large.jpg").write_bytes(saved(noise, "JPEG", quality=95))
    assert 250_000 < len(saved_by_bob(chat, sent(chat, "--picture", "large.jpg"))) <= 350_000


@pytest.mark.parametrize(("name", "type_"), [("voice.aac", MediaType.AAC), ("voice.amr", MediaType.AMR)])
def test_a_sound_leaves_without_metadata_and_needs_no_pillow(
    chat: ChatCommands, monkeypatch: pytest.MonkeyPatch, name: str, type_: MediaType
) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    left = saved_by_bob(chat, sent(chat, "--sound", name))
    assert left == clean(Path(name).read_bytes(), type_).data
    assert SECRET not in left
    [message] = chat.said(BOB, "show", ALICE)["messages"]
    assert message["media"] == {"kind": "audio", "type": type_, "bytes": len(left), "reason": None}


def test_a_sticker_is_sent_by_its_hash_and_its_pack(chat: ChatCommands) -> None:
    sent(chat, "--sticker", "e30101701220abcd:12")
    [message] = chat.said(BOB, "show", ALICE)["messages"]
    assert message["sticker"] == {"hash": "e30101701220abcd", "pack": 12}


FAULTS = {
    "nothing": ((), 2, "give one of TEXT, --picture, --sound and --sticker"),
    "two": (("--picture", "holiday.jpg", "--sound", "voice.aac"), 2, "give one of TEXT"),
    "a text beside a sound": (("hello", "--sound", "voice.aac"), 2, "give one of TEXT"),
    "a text beside a sticker": (("hello", "--sticker", "e301:1"), 2, "give one of TEXT"),
    "no file": (("--picture", "nowhere.jpg"), 5, "nowhere.jpg"),
    "SVG": (("--picture", "drawing.svg"), 1, "MediaInvalid: it does not begin as a JPEG, PNG, WebP or GIF"),
    "HTML": (("--picture", "page.html"), 1, "MediaInvalid"),
    "a picture that is cut off": (("--picture", "half.png"), 1, "MediaInvalid: it cannot be decoded as PNG"),
    "a sound as a picture": (("--picture", "voice.aac"), 1, "MediaInvalid"),
    "a picture as a sound": (("--sound", "holiday.jpg"), 1, "MediaInvalid: it does not begin as AAC (ADTS) or AMR"),
    "a sticker without a pack": (("--sticker", "e301"), 2, "a hash, a colon and the number of a pack"),
    "a sticker without a hash": (("--sticker", ":1"), 2, "a hash, a colon and the number of a pack"),
    "a pack that is no number": (("--sticker", "e301:x"), 2, "a hash, a colon and the number of a pack"),
    "a pack beyond 31 bits": (("--sticker", "e301:2147483648"), 2, "a hash, a colon and the number of a pack"),
}


def test_what_cannot_be_sent_says_why_and_sends_nothing(chat: ChatCommands) -> None:
    for fault, (words, code, why) in FAULTS.items():
        result = chat(ALICE, "send", BOB, *words)
        assert (result.exit_code, result.stdout) == (code, ""), fault
        assert why in result.stderr, fault
    assert chat.said(ALICE, "show", BOB)["messages"] == []
    error = json.loads(chat(ALICE, "send", BOB, "--picture", "page.html", "--json").stderr)["error"]
    assert (error["exit"], error["reason"]) == (1, "MediaInvalid")


def test_without_pillow_the_extra_is_named(chat: ChatCommands, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    result = chat(ALICE, "send", BOB, "--picture", "holiday.jpg")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.endswith("`pip install 'postroom[chat]'` installs them\n")


# --- saving ----------------------------------------------------------------------------------------------------------


def test_what_is_saved_is_said_for_people_and_for_programs(chat: ChatCommands) -> None:
    id_ = sent(chat, "--sound", "voice.amr")
    size = len(amr())
    result = chat(BOB, "save", ALICE, id_[:10], "--out", "voice")
    assert result.stdout == f"voice: {size} of {size} bytes, 100 ms, 5 frames\n"
    assert chat.said(BOB, "save", ALICE, id_, "--out", "voice") == {
        "bytes_in": size,
        "bytes_out": size,
        "dropped": {},
        "width": None,
        "height": None,
        "frames": 5,
        "duration_ms": 100,
    }


def received(chat: ChatCommands, data: bytes, type_: MediaType) -> str:
    """The ID of a picture that Alice's device sent to Bob as it is."""
    alice, bob = chat.network[ALICE], chat.network[BOB]
    chat.network.services[f"ds-{BOB}.example"] = bob.service
    chat_of_two = ChatRef(ChatKind.ONE_TO_ONE, bob.key)
    now_ms = chat.network.tick()
    alice.carry(BOB, sending.image_message(chat_of_two, now_ms, now_ms, Cleaned(data, {}), type_))
    chat(BOB, "pull")
    id_: str = chat.said(BOB, "show", ALICE)["messages"][-1]["id"]
    return id_


def test_what_others_left_in_a_picture_is_not_saved(chat: ChatCommands) -> None:
    id_ = received(chat, HOLIDAY + HTML, MediaType.JPEG)
    assert saved_by_bob(chat, id_) == clean(HOLIDAY, MediaType.JPEG).data
    dropped = chat.said(BOB, "save", ALICE, id_, "--out", "saved")["dropped"]
    assert dropped == {"EXIF": len(EXIF) + 4, "comment": len(SECRET) + 4, "trailing bytes": len(HTML)}


def test_what_is_refused_is_not_saved(chat: ChatCommands) -> None:
    for data, type_, reason in (
        (HTML, MediaType.PNG, "MediaInvalid"),
        (png(), MediaType.JPEG, "MediaInvalid"),
        (jpeg() + bytes(400_000), MediaType.JPEG, "MediaTooLarge"),
    ):
        result = chat(BOB, "save", ALICE, received(chat, data, type_), "--out", "saved")
        assert (result.exit_code, result.stdout) == (1, "")
        assert reason in result.stderr
    assert not Path("saved").exists()


def test_a_message_without_a_picture_or_sound_is_not_saved(chat: ChatCommands) -> None:
    text, sticker = sent(chat, "hello"), sent(chat, "--sticker", "e301:1")
    gone, hidden = sent(chat, "--picture", "holiday.jpg"), sent(chat, "--picture", "holiday.jpg")
    chat(ALICE, "delete", BOB, gone)
    chat(BOB, "pull")
    chat(BOB, "delete", ALICE, hidden, "--for-me")
    for id_ in (text, sticker, gone, hidden, "0x12345678"):
        result = chat(BOB, "save", ALICE, id_, "--out", "saved")
        assert (result.exit_code, result.stdout) == (5, "")
    assert not Path("saved").exists()
