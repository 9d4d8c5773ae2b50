"""A view as JSON: what `postroom chat fold --json` prints."""

import json
from typing import Any

from tests.protocols.status.histories import (
    ALICE,
    BOB,
    CAROL,
    DAVE,
    GROUP,
    IN_CHANNEL,
    IN_GROUP,
    MALLORY,
    NOW,
    changed,
    deletion,
    edit,
    event,
    founding,
    id_of,
    pin,
    reaction,
    sent,
    text,
    to,
    update,
    view,
)

from postroom.protocols.status import messages as m
from postroom.protocols.status.enums import MembershipEventType as Kind
from postroom.protocols.status.fold import HistoryLine
from postroom.protocols.status.pseudonym import pseudonym, short_key
from postroom.protocols.status.view_json import view_as_json

HELLO = sent(ALICE, text())
GIF = b"GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff!\xf9\x04\x01\x00\x00\x00\x00,"
GIF += b"\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x01D\x00;"


def shown(*lines: HistoryLine, channels: tuple[str, ...] = ()) -> dict[str, Any]:
    found = view_as_json(view(lines, channels=channels))
    assert json.loads(json.dumps(found)) == found
    return found


def test_nothing_is_three_empty_members() -> None:
    assert shown() == {"chats": [], "people": {}, "not_shown": []}


def test_a_chat_and_a_message_in_it() -> None:
    assert shown(HELLO)["chats"] == [
        {
            "kind": "one-to-one",
            "id": ALICE.public,
            "name": "",
            "members": [],
            "admins": [],
            "clock": NOW,
            "messages": [
                {
                    "id": id_of(HELLO),
                    "author": ALICE.public,
                    "clock": NOW,
                    "timestamp": NOW,
                    "content_type": 1,
                    "text": "hello",
                    "response_to": "",
                    "edited": False,
                    "deleted": False,
                    "deleted_by": None,
                    "pinned": False,
                    "reactions": {},
                    "late": False,
                    "marks": [],
                    "media": None,
                    "sticker": None,
                }
            ],
        }
    ]


def message(*lines: HistoryLine) -> dict[str, Any]:
    [chat] = shown(*lines)["chats"]
    [found] = chat["messages"]
    assert isinstance(found, dict)
    return found


def test_a_message_that_was_edited_and_pinned() -> None:
    found = message(HELLO, sent(ALICE, edit(id_of(HELLO))), sent(ALICE, pin(id_of(HELLO))))
    assert (found["text"], found["edited"], found["pinned"], found["deleted"]) == ("edited", True, True, False)


def test_a_message_that_was_deleted() -> None:
    found = message(HELLO, sent(ALICE, deletion(id_of(HELLO))))
    assert (found["text"], found["deleted"], found["deleted_by"], found["media"]) == ("", True, ALICE.public, None)


def test_reactions_are_by_name_or_by_number() -> None:
    lines = [sent(ALICE, reaction(id_of(HELLO), kind=kind)) for kind in (6, 1, 99, -1)]
    assert list(message(HELLO, *lines)["reactions"].items()) == [
        ("-1", [ALICE.public]),
        ("LOVE", [ALICE.public]),
        ("ANGRY", [ALICE.public]),
        ("99", [ALICE.public]),
    ]


def test_late_is_a_mark_as_well() -> None:
    found = message(changed(HELLO, at=NOW + 120_001, high_s=True))
    assert (found["late"], found["marks"]) == (True, ["high-s", "late"])


def test_a_picture_is_shown_by_what_it_is_and_whether_it_can_be_drawn() -> None:
    image = m.ChatMessage(NOW, NOW, "", **to(BOB), content_type=7, image=m.ImageMessage(GIF, 4))
    found = message(sent(ALICE, image))
    assert found["media"] == {"kind": "image", "type": "GIF", "bytes": len(GIF), "reason": None}
    damaged = m.ChatMessage(NOW, NOW, "", **to(BOB), content_type=7, image=m.ImageMessage(b"GIF", 4))
    assert message(sent(ALICE, damaged))["media"]["reason"] == "MediaInvalid"


def test_a_sticker_is_its_hash_and_its_pack() -> None:
    sticker = m.ChatMessage(NOW, NOW, "", **to(BOB), content_type=2, sticker=m.StickerMessage("e301", 7))
    assert message(sent(ALICE, sticker))["sticker"] == {"hash": "e301", "pack": 7}


def test_a_group_has_its_name_members_and_admins() -> None:
    [group] = shown(sent(ALICE, update(*founding())))["chats"]
    assert (group["kind"], group["id"], group["name"]) == ("group", GROUP, "Choir")
    assert group["members"] == sorted(key.public for key in (ALICE, BOB, CAROL))
    assert group["admins"] == [ALICE.public]


def test_people_are_all_whose_key_is_shown() -> None:
    begins = sent(ALICE, update(*founding(NOW - 9)))
    in_channel = sent(CAROL, text(chat=IN_CHANNEL))
    lines = [
        *(begins, in_channel),
        sent(DAVE, reaction(id_of(in_channel), chat=IN_CHANNEL)),
        sent(MALLORY, text(chat=IN_GROUP)),
        sent(BOB, text(chat=to(MALLORY))),
    ]
    people = shown(*lines, channels=("news",))["people"]
    assert list(people) == sorted(key.public for key in (ALICE, BOB, CAROL, DAVE, MALLORY))


def test_who_deleted_is_among_them_though_no_longer_in_the_group() -> None:
    begins = sent(ALICE, update(*founding(NOW - 9), event(Kind.MEMBERS_ADDED, NOW - 8, [DAVE])))
    admin = sent(ALICE, update(event(Kind.ADMINS_ADDED, NOW - 7, [DAVE])))
    line = sent(CAROL, text(chat=IN_GROUP))
    lines = [begins, admin, line, sent(DAVE, deletion(id_of(line), NOW, IN_GROUP))]
    left = sent(DAVE, update(event(Kind.MEMBER_REMOVED, NOW + 1, [DAVE], by=DAVE)))
    assert DAVE.public in shown(*lines, left)["people"]


def test_a_user_has_a_pseudonym_a_short_key_and_the_names_it_says() -> None:
    assert shown(HELLO)["people"][ALICE.public] == {
        "name": "",
        "pseudonym": pseudonym(ALICE.public),
        "short_key": short_key(ALICE.public),
        "ens_name": "",
        "display_name": "",
    }
    named = shown(HELLO, sent(ALICE, m.ChatMessageIdentity(NOW, "Alice.eth", "Alice")))["people"][ALICE.public]
    assert (named["ens_name"], named["display_name"]) == ("alice.eth", "Alice")


def test_what_does_not_count_is_shown_with_the_reason() -> None:
    group, channel = sent(CAROL, text(chat=IN_GROUP)), sent(CAROL, text(chat=IN_CHANNEL))
    ahead = sent(CAROL, m.ContactUpdate(NOW + 120_001))
    found = shown(group, channel, ahead)
    assert found["not_shown"] == sorted(
        (
            {"id": id_of(line), "author": CAROL.public, "chat": chat, "reason": reason, "marks": marks}
            for line, chat, reason, marks in (
                (group, {"kind": "group", "id": GROUP}, "ChatUnknown", ["held"]),
                (channel, {"kind": "public", "id": "news"}, "ChatUnknown", []),
                (ahead, None, "ClockAhead", []),
            )
        ),
        key=lambda each: str(each["id"]),
    )
    assert list(found["people"]) == [CAROL.public]
