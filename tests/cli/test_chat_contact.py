"""`postroom chat contact|profile|device`: what one says of oneself, and to whom, over TLS on loopback."""

import json
from pathlib import Path

import pytest
from tests.cli.chat_commands import ChatCommands
from tests.cli.chat_commands import api as api
from tests.cli.chat_commands import chat as chat
from tests.cli.chat_commands import clients as clients
from tests.cli.chat_commands import deployed as deployed
from tests.client.chat.network import ALICE, BOB, CAROL, EDDY
from tests.protocols.status.media.pictures import EXIF, SECRET, jpeg

from postroom.protocols.status.checks import picture_of


def test_a_contact_is_added_listed_and_removed(chat: ChatCommands) -> None:
    added = chat(ALICE, "contact", "add", BOB)
    assert (added.exit_code, added.stdout.splitlines()[:2]) == (0, [f"taken: {ALICE}", f"taken: {BOB}"])
    chat(BOB, "pull")
    alice, bob = chat.network[ALICE].key, chat.network[BOB].key
    assert chat.said(ALICE, "contact", "list") == {
        bob: {"name": BOB, "added": True, "added_you": False, "tags": [":contact/added"]}
    }
    assert chat.said(BOB, "contact", "list") == {alice: {"name": ALICE, "added": False, "added_you": True, "tags": []}}
    head, line = chat(BOB, "contact", "list").stdout.splitlines()
    assert head.split() == ["name", "your", "contact", "you", "are", "theirs", "key"]
    assert line.split()[:3] == [ALICE, "no", "yes"]
    removed = chat(ALICE, "contact", "remove", BOB)
    assert (removed.exit_code, removed.stdout.splitlines()[0]) == (0, f"taken: {ALICE}")
    assert chat.said(ALICE, "contact", "list")[bob]["added"] is False


def test_a_pull_says_who_got_an_update(chat: ChatCommands) -> None:
    chat.network[BOB].service.is_down = True
    assert chat(ALICE, "contact", "add", BOB).exit_code == 3
    assert chat(ALICE, "pull").exit_code == 3
    chat.network[BOB].service.is_down = False
    assert chat(ALICE, "pull").stdout.splitlines()[-1] == f"taken: {BOB}"


@pytest.mark.parametrize(
    ("words", "code", "why"),
    [
        (("contact", "add", EDDY), 2, "no chats"),
        (("contact", "add", "nobody.eth"), 5, "nobody.eth has no profile"),
        (("contact", "add", ALICE), 2, "a contact is somebody else"),
        (("contact", "remove", CAROL), 5, "`postroom chat contact list` lists them"),
        (("profile", "--picture", "x.jpg", "--no-picture"), 2, "one of --picture and --no-picture"),
        (("device", "name", " "), 1, "name is blank"),
    ],
)
def test_what_cannot_be_done_says_why(chat: ChatCommands, words: tuple[str, ...], code: int, why: str) -> None:
    result = chat(ALICE, *words)
    assert (result.exit_code, result.stdout) == (code, "")
    assert why in result.stderr


def test_a_profile_is_shown_and_changed_and_contacts_get_the_picture(chat: ChatCommands) -> None:
    Path("me.jpg").write_bytes(jpeg(exif=EXIF, comment=SECRET))
    assert chat.said(ALICE, "profile") == {"ens_name": ALICE, "display_name": "", "picture": None}
    chat(ALICE, "contact", "add", BOB)
    changed = chat(ALICE, "profile", "--display-name", "Alice L.", "--picture", "me.jpg")
    assert (changed.exit_code, changed.stdout.splitlines()[:2]) == (0, [f"taken: {ALICE}", f"taken: {BOB}"])
    said = chat.said(ALICE, "profile")
    assert said["display_name"] == "Alice L."
    picture = picture_of(said["picture"])
    assert picture.startswith(b"\xff\xd8\xff")
    assert SECRET not in picture
    lines = [line.split(maxsplit=1) for line in chat(ALICE, "profile").stdout.splitlines()]
    assert lines == [["name", ALICE], ["display", "name  Alice L."], ["picture", f"{len(picture)} bytes"]]
    chat(ALICE, "profile", "--no-picture")
    assert chat.said(ALICE, "profile") == {"ens_name": ALICE, "display_name": "Alice L.", "picture": None}


def test_a_device_is_named_and_listed_on_the_other_one(chat: ChatCommands, monkeypatch: pytest.MonkeyPatch) -> None:
    assert chat(ALICE, "device", "name", "desk").exit_code == 0
    [device] = chat.said(ALICE, "device", "list")["devices"]
    assert len(device.pop("id")) == 32
    assert device == {"name": "desk", "type": "desktop", "this": True}
    chat(ALICE, "device", "name", "laptop")
    monkeypatch.setenv("XDG_STATE_HOME", str(Path("other").absolute()))
    chat(ALICE, "pull", home="other.home")
    head, line = chat(ALICE, "device", "list", home="other.home").stdout.splitlines()
    assert head.split() == ["name", "type", "this", "one", "ID"]
    assert line.split()[:3] == ["laptop", "desktop", "no"]
    chat(ALICE, "device", "name", "phone", home="other.home")
    listed = json.loads(chat(ALICE, "device", "list", "--json", home="other.home").stdout)["devices"]
    assert {each["name"]: each["this"] for each in listed} == {"laptop": False, "phone": True}


def test_a_file_that_holds_no_id_is_replaced(chat: ChatCommands) -> None:
    chat(ALICE, "device", "name", "desk")
    [file] = Path("state").rglob("chat/*")
    file.write_text("\u20ac")
    assert [each["this"] for each in chat.said(ALICE, "device", "list")["devices"]] == [False]
    chat(ALICE, "device", "name", "desk again")
    assert sorted(each["this"] for each in chat.said(ALICE, "device", "list")["devices"]) == [False, True]
    assert file.stat().st_mode & 0o077 == 0
