"""The terminal client, used as a person uses it: keys are pressed, and the screen is read."""

import re
from pathlib import Path
from typing import NoReturn

import pytest
from PIL import Image
from rich.cells import cell_len
from tests.cli.chat.client_screen import HEIGHT, WIDTH, ClientScreen, show_client
from tests.cli.conftest import Postroom
from tests.client.chat.nameless_member import add_without_name
from tests.client.chat.network import ALICE, BOB, CAROL, EDDY, MALLORY, ChatNetwork, Device
from textual import events

from postroom.cli.chat.terminal_client.drawing import draw_half_blocks
from postroom.cli.chat.terminal_client.layout import SELECTED
from postroom.client.chat.pictures import prepare_picture
from postroom.core.errors import TheirError
from postroom.protocols.status.enums import ReactionKind
from postroom.protocols.status.media import Cleaned, MediaType
from postroom.protocols.status.pseudonym import pseudonym
from postroom.protocols.status.reasons import MEDIA_INVALID


def meet(first: Device, second: Device) -> None:
    """Two people have a chat."""
    first.send(second.person.name, "hello")
    second.pull()
    second.send(first.person.name, "hi yourself")
    first.pull()


# --- chats and unread messages -----------------------------------------------------------------------------------


def test_new_messages_are_counted_until_their_chat_is_opened(alice: Device, bob: Device) -> None:
    meet(alice, bob)

    async def scenario(client: ClientScreen) -> None:
        assert client.chats == [f"{SELECTED}  bob.eth"]
        bob.send(ALICE, "one")
        bob.send(ALICE, "two")
        await client.pull()
        assert client.chats == [f"{SELECTED}  bob.eth         2 new"]
        await client.press("enter")
        assert client.chats == [f"{SELECTED}• bob.eth"]
        _, _, news = client.messages.partition(" new ")
        assert "hi yourself" not in news
        assert news.index("one") < news.index("two")

    show_client(alice, scenario)


def test_a_chat_that_nobody_answered_has_the_name_that_it_was_begun_with_and_goes_on(
    network: ChatNetwork, alice: Device, bob: Device
) -> None:
    alice.send(BOB, "hello")

    async def scenario(client: ClientScreen) -> None:
        assert client.chats == [f"{SELECTED}  bob.eth"]
        await client.press("enter")
        await client.type("are you there")
        await client.press("enter")
        await client.work()

    show_client(network.device(ALICE), scenario)
    bob.pull()
    assert bob.texts(ALICE) == ["hello", "are you there"]


def test_what_was_read_is_kept_for_the_next_start(alice: Device, bob: Device) -> None:
    meet(alice, bob)
    kept = []

    async def first(client: ClientScreen) -> None:
        bob.send(ALICE, "one")
        await client.pull()
        await client.press("enter")
        kept.extend(client.kept)

    show_client(alice, first)
    bob.send(ALICE, "two")

    async def second(client: ClientScreen) -> None:
        assert client.chats == [f"{SELECTED}  bob.eth         1 new"]

    show_client(alice, second, marks=kept[-1])


def test_what_comes_into_the_open_chat_is_read(alice: Device, bob: Device) -> None:
    meet(alice, bob)

    async def scenario(client: ClientScreen) -> None:
        await client.press("enter")
        bob.send(ALICE, "one")
        await client.pull()
        assert "one" in client.messages
        assert client.chats == [f"{SELECTED}• bob.eth"]

    show_client(alice, scenario)


def test_a_mention_is_seen_in_the_list_and_at_the_message(alice: Device, bob: Device) -> None:
    meet(alice, bob)

    async def scenario(client: ClientScreen) -> None:
        bob.send(ALICE, f"@{alice.person.key} look")
        await client.pull()
        assert client.chats == [f"{SELECTED}  bob.eth        @1 new"]
        await client.press("ctrl+n")
        assert re.search(r"bob\.eth \[@you\]\n +@alice\.eth look", client.messages)

    show_client(alice, scenario)


def test_a_chat_is_opened_without_waiting_for_the_network(alice: Device, bob: Device) -> None:
    meet(alice, bob)

    async def scenario(client: ClientScreen) -> None:
        await client.press("ctrl+r")  # the pull does not end
        await client.press("enter")
        assert "hi yourself" in client.messages
        assert client.runner.jobs

    show_client(alice, scenario)


def test_older_messages_come_when_the_first_one_is_passed(
    alice: Device, bob: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("model", "snapshot"):
        monkeypatch.setattr(f"postroom.cli.chat.terminal_client.{module}.FIRST_MESSAGES", 2)
    for text in ("one", "two", "three", "four"):
        alice.send(BOB, text)

    async def scenario(client: ClientScreen) -> None:
        await client.press("enter", "escape")
        assert "two" not in client.messages
        await client.press("up", "up")
        await client.work()
        assert "two" in client.messages

    show_client(alice, scenario)


def test_a_chat_is_opened_at_its_end_wherever_another_one_was_scrolled_to(
    alice: Device, bob: Device, carol: Device
) -> None:
    for text in map(str, range(10)):
        alice.send(BOB, text)
    alice.send(CAROL, "hello")
    carol.pull()

    async def scenario(client: ClientScreen) -> None:
        await client.press("down", "enter")
        client.app.query_one("#messages").scroll_home(animate=False, immediate=True)
        for text in ("ten", *map(str, range(11, 20)), "twenty"):
            carol.send(ALICE, text)
        await client.pull()
        await client.press("ctrl+n")
        await client.pilot.pause()
        assert "twenty" in client.messages
        assert "  ten\n" not in client.messages

    show_client(alice, scenario)


# --- sending -------------------------------------------------------------------------------------------------------


def test_a_message_appears_at_once_as_sending_and_then_as_sent(alice: Device, bob: Device) -> None:
    meet(alice, bob)

    async def scenario(client: ClientScreen) -> None:
        await client.press("enter")
        await client.type("good day")
        await client.press("enter")
        assert re.search(r"alice\.eth · sending\n +good day", client.messages)
        assert bob.person.service.waiting == []
        await client.work()
        assert re.search(r"alice\.eth · sent\n +good day", client.messages)
        assert "sending" not in client.text

    show_client(alice, scenario)
    bob.pull()
    assert bob.texts(ALICE)[-1] == "good day"


def test_a_message_that_cannot_be_delivered_now_waits_and_is_sent_later(
    network: ChatNetwork, alice: Device, bob: Device
) -> None:
    meet(alice, bob)

    async def scenario(client: ClientScreen) -> None:
        await client.press("enter")
        network[BOB].service.is_down = True
        await client.type("later")
        await client.press("enter")
        await client.work()
        assert re.search(r"alice\.eth · waits for bob\.eth\n +later", client.messages)
        assert "1 not delivered yet" in client.lines[0]
        await client.pull()
        assert client.status == "not delivered yet: bob.eth"
        network[BOB].service.is_down = False
        await client.pull()
        assert re.search(r"alice\.eth · sent\n +later", client.messages)
        assert client.status == ""

    show_client(alice, scenario)


def test_a_message_that_is_refused_says_why(network: ChatNetwork, alice: Device, bob: Device) -> None:
    meet(alice, bob)
    network[BOB].refuse(ALICE)

    async def scenario(client: ClientScreen) -> None:
        await client.press("enter")
        await client.type("please")
        await client.press("enter")
        await client.work()
        assert re.search(r"! refused by bob\.eth: \w+\n +please", client.messages)

    show_client(alice, scenario)


def test_a_member_whose_name_nobody_knows_is_named_after_sending_and_beside_the_message(
    network: ChatNetwork, alice: Device, bob: Device
) -> None:
    alice.chats.create_group("friends", [BOB])
    bob.pull()
    add_without_name(alice, network[MALLORY].key)
    stranger = pseudonym(network[MALLORY].key)

    async def scenario(client: ClientScreen) -> None:
        await client.press("enter")
        await client.type("who is there")
        await client.press("enter")
        await client.work()
        assert client.status.startswith(f"not reached, as no name to write to is known: {stranger}")
        head, *problem = client.messages.split("who is there")[0].splitlines()[-4:]
        assert head.endswith("alice.eth")
        assert " ".join("".join(problem).split()).startswith(
            f"! not reached, as no name to write to is known: {stranger}"
        )
        assert {cell_len(line) for line in client.lines} == {WIDTH}

    show_client(alice, scenario)
    bob.pull()
    assert bob.texts("friends") == ["who is there"]


def test_who_refused_a_message_does_not_hide_who_was_not_reached(
    network: ChatNetwork, alice: Device, bob: Device
) -> None:
    alice.chats.create_group("friends", [BOB, CAROL])
    add_without_name(alice, network[MALLORY].key)
    network[BOB].refuse(ALICE)
    network[CAROL].service.is_down = True

    async def scenario(client: ClientScreen) -> None:
        await client.press("enter")
        await client.type("hi")
        await client.press("enter")
        await client.work()
        said = client.app.model.status
        assert re.fullmatch(r"not reached, as .*; refused by bob\.eth: SenderNotWanted.*", said)
        assert re.search(
            r"alice\.eth · waits for carol\.eth\n +! refused by bob\.eth: SenderNotWanted", client.messages
        )

    show_client(alice, scenario)


def test_what_is_done_with_another_s_message_waits_beside_it(network: ChatNetwork, alice: Device, bob: Device) -> None:
    meet(alice, bob)

    async def scenario(client: ClientScreen) -> None:
        network[BOB].service.is_down = True
        await client.press("enter", "escape", "1", "p")
        await client.work()
        words = " ".join(client.messages.replace(SELECTED, " ").split())
        assert "bob.eth [pinned] · pin waits for bob.eth, reaction waits for bob.eth hi yourself" in words
        network[BOB].service.is_down = False
        await client.pull()
        assert "waits" not in client.text
        network[BOB].refuse(ALICE)
        await client.press("1")
        await client.work()
        assert re.search(r"! reaction refused by bob\.eth: SenderNotWanted\n▌ +hi yourself", client.messages)

    show_client(alice, scenario)


def test_a_text_that_cannot_be_sent_stays_with_the_reason_and_is_written_anew(alice: Device, bob: Device) -> None:
    meet(alice, bob)

    async def scenario(client: ClientScreen) -> None:
        await client.press("enter")
        client.app.query_one("#composer").text = "x" * 4097
        await client.press("enter")
        await client.work()
        await client.press("escape")
        assert "! not sent: TextInvalid" in client.messages
        await client.press("e")
        assert "not sent" not in client.messages
        assert client.app.query_one("#composer").text == "x" * 4097

    show_client(alice, scenario)


def test_leaving_waits_for_what_is_being_sent(alice: Device, bob: Device) -> None:
    meet(alice, bob)

    async def scenario(client: ClientScreen) -> None:
        await client.press("enter")
        await client.type("wait")
        await client.press("enter", "ctrl+q")
        assert client.app.is_running
        assert "leaving when all is sent" in client.status
        await client.work()
        assert not client.app.is_running

    show_client(alice, scenario)
    bob.pull()
    assert bob.texts(ALICE)[-1] == "wait"


def test_keys_pressed_in_haste_are_not_lost(alice: Device, bob: Device) -> None:
    meet(alice, bob)

    async def scenario(client: ClientScreen) -> None:
        for key in ("enter", "h", "i", "enter", "y", "o"):
            client.app.post_message(events.Key(key, key if len(key) == 1 else None))
        await client.pilot.pause()
        await client.pilot.pause()
        await client.work()
        assert client.app.query_one("#composer").text == "yo"

    show_client(alice, scenario)
    assert alice.texts(BOB)[-1] == "hi"


# --- what is done with a message -------------------------------------------------------------------------------


def test_a_reaction_is_one_key_and_the_same_key_takes_it_back(alice: Device, bob: Device) -> None:
    meet(alice, bob)

    async def scenario(client: ClientScreen) -> None:
        await client.press("enter", "escape", "1")
        assert "❤ love: you" in client.messages
        await client.work()
        bob.pull()
        assert bob.last(ALICE).reactions == {ReactionKind.LOVE: (alice.person.key,)}
        await client.press("1")
        assert "❤" not in client.messages
        await client.work()
        bob.pull()
        assert bob.last(ALICE).reactions == {}

    show_client(alice, scenario)


def test_a_reaction_is_taken_back_though_it_is_still_on_its_way(alice: Device, bob: Device) -> None:
    meet(alice, bob)

    async def scenario(client: ClientScreen) -> None:
        await client.press("enter", "escape", "3", "3", "4")
        assert "👎" not in client.messages
        await client.work()
        assert "👎" not in client.messages
        assert "😂 laugh: you" in client.messages

    show_client(alice, scenario)
    assert alice.last(BOB).reactions == {ReactionKind.LAUGH: (alice.person.key,)}


def test_a_reply_shows_what_it_answers(alice: Device, bob: Device) -> None:
    meet(alice, bob)

    async def scenario(client: ClientScreen) -> None:
        await client.press("enter", "escape", "r")
        assert "↪ reply to bob.eth: hi yourself" in client.messages
        await client.type("oh")
        await client.press("enter")
        await client.work()
        assert re.search(r"sent\n +↪ bob\.eth: hi yourself\n +oh", client.messages)
        assert "reply to" not in client.messages

    show_client(alice, scenario)
    assert alice.last(BOB).response_to == alice.shown(BOB)[-2].id


def test_one_s_own_message_is_changed_and_no_other(alice: Device, bob: Device) -> None:
    meet(alice, bob)

    async def scenario(client: ClientScreen) -> None:
        await client.press("enter", "escape", "e")
        assert "only your own" in client.status
        await client.press("up", "e")
        await client.type(" all")
        await client.press("enter")
        await client.work()
        assert re.search(r"alice\.eth \[edited\] · sent\n +hello all", client.messages)

    show_client(alice, scenario)
    assert alice.texts(BOB) == ["hello all", "hi yourself"]


def test_a_message_is_deleted_by_a_second_press_only(alice: Device, bob: Device) -> None:
    meet(alice, bob)

    async def scenario(client: ClientScreen) -> None:
        await client.press("enter", "escape", "up", "d")
        assert "d again deletes it" in client.status
        await client.press("escape", "d", "down", "up", "d")
        await client.work()
        assert "hello" in client.messages
        await client.press("d")
        await client.work()
        assert "(deleted)" in client.messages

    show_client(alice, scenario)
    assert alice.texts(BOB) == ["(deleted)", "hi yourself"]


def test_a_message_is_pinned_and_unpinned(alice: Device, bob: Device) -> None:
    meet(alice, bob)

    async def scenario(client: ClientScreen) -> None:
        await client.press("enter", "escape", "p")
        await client.work()
        assert "[pinned]" in client.messages
        await client.press("p")
        await client.work()
        assert "[pinned]" not in client.messages

    show_client(alice, scenario)


def test_enter_shows_all_about_a_message(alice: Device, bob: Device) -> None:
    meet(alice, bob)
    id_ = alice.last(BOB).id

    async def scenario(client: ClientScreen) -> None:
        await client.press("enter", "escape", "enter")
        assert id_ in client.text.replace("\n ", "")
        await client.press("escape")
        assert id_ not in client.text

    show_client(alice, scenario)


# --- mentions ------------------------------------------------------------------------------------------------------


def test_tab_completes_a_mention_and_its_key_is_sent(alice: Device, bob: Device) -> None:
    meet(alice, bob)

    async def scenario(client: ClientScreen) -> None:
        await client.press("enter")
        await client.type("see @b")
        await client.press("tab")
        assert client.app.query_one("#composer").text == "see @bob.eth"
        await client.press("enter")
        await client.work()
        assert "see @bob.eth" in client.messages

    show_client(alice, scenario)
    assert alice.texts(BOB)[-1] == f"see @{bob.person.key}"


def test_tab_again_takes_the_next_name(alice: Device, bob: Device, carol: Device) -> None:
    alice.chats.create_group("friends", [BOB, CAROL])
    for each in (bob, carol):
        each.pull()
        each.send("friends", "here")
    alice.pull()

    async def scenario(client: ClientScreen) -> None:
        await client.press("enter")
        await client.type("@")
        names = []
        for _ in range(4):
            await client.press("tab")
            names.append(client.app.query_one("#composer").text)
        assert names == ["@alice.eth", "@bob.eth", "@carol.eth", "@alice.eth"]

    show_client(alice, scenario)


# --- chats by commands ---------------------------------------------------------------------------------------------


def test_a_chat_is_opened_by_a_name(alice: Device, bob: Device) -> None:
    async def scenario(client: ClientScreen) -> None:
        await client.press("slash")
        await client.type("chat bob.eth")
        await client.press("enter")
        await client.work()
        assert client.chats == [f"{SELECTED}• bob.eth"]
        await client.type("first")
        await client.press("enter")
        await client.work()
        assert re.search(r"sent\n +first", client.messages)

    show_client(alice, scenario)
    bob.pull()
    assert bob.texts(ALICE) == ["first"]


def test_a_name_that_cannot_chat_says_why(alice: Device) -> None:
    async def scenario(client: ClientScreen) -> None:
        await client.press("slash")
        await client.type(f"chat {EDDY}")
        await client.press("enter")
        await client.work()
        assert "Ed25519" in client.status

    show_client(alice, scenario)


def test_a_group_is_created_used_and_left(alice: Device, bob: Device, carol: Device) -> None:
    async def scenario(client: ClientScreen) -> None:
        await client.press("slash")
        await client.type("group friends bob.eth")
        await client.press("enter")
        await client.work()
        assert client.chats == [f"{SELECTED}• friends"]
        assert "friends, 2 people" in client.messages
        await client.type("/add carol.eth")
        await client.press("enter")
        await client.work()
        assert "friends, 3 people" in client.messages
        await client.type("welcome")
        await client.press("enter")
        await client.work()
        await client.press("escape", "w")
        assert "alice.eth  (you, admin)" in client.text
        assert len(re.findall(r"\(member\)", client.text)) == 2

    show_client(alice, scenario)
    for each in (bob, carol):
        each.pull()
        assert each.texts("friends") == ["welcome"]


def test_a_channel_is_joined_and_left(alice: Device, bob: Device) -> None:
    async def scenario(client: ClientScreen) -> None:
        await client.press("slash")
        await client.type("join #park bob.eth")
        await client.press("enter")
        await client.work()
        assert client.chats == [f"{SELECTED}• #park"]
        await client.type("anyone?")
        await client.press("enter")
        await client.work()
        assert re.search(r"sent\n +anyone\?", client.messages)
        await client.type("/part")
        await client.press("enter")
        await client.work()
        assert client.chats == []

    show_client(alice, scenario)


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("/nothing", "there is no command /nothing"),
        ("/add bob.eth", "no chat is open"),
        ("/chat", "/chat NAME: open the chat with a dm3 name"),
    ],
)
def test_a_command_that_is_none_says_so_and_sends_nothing(alice: Device, line: str, sentence: str) -> None:
    async def scenario(client: ClientScreen) -> None:
        await client.press("slash")
        await client.type(line[1:])
        await client.press("enter")
        assert sentence in client.status
        assert client.runner.jobs == []

    show_client(alice, scenario)


# --- strangers' text -------------------------------------------------------------------------------------------------

TRICKS = {
    "\x1b[31mred\x1b[0m": "\\x1b[31mred",
    "a\u202etxt.exe": "a\\u202etxt.exe",
    "pay\u200bpal": "pay\\u200bpal",
    "[bold]no markup[/bold]": "[bold]no markup[/bold]",
    "\x07\x9b2J": "\\x07\\x9b2J",
    "one\rtwo": "one\\rtwo",
}


@pytest.mark.parametrize("text", TRICKS)
def test_a_stranger_s_text_controls_nothing(alice: Device, bob: Device, text: str) -> None:
    meet(alice, bob)
    bob.send(ALICE, text)

    async def scenario(client: ClientScreen) -> None:
        await client.press("enter")
        assert TRICKS[text] in client.messages
        for line in client.lines:
            assert line.isprintable()
        await client.press("escape", "r")
        assert TRICKS[text] in client.messages.rpartition("reply to")[2]
        await client.press("escape", "escape", "enter")
        assert TRICKS[text] in client.text
        assert all(line.isprintable() for line in client.lines)

    show_client(alice, scenario)


def test_the_name_of_a_group_controls_nothing(alice: Device, bob: Device) -> None:
    bob.chats.create_group("g\u202e\x1b[2J", [ALICE])

    async def scenario(client: ClientScreen) -> None:
        await client.press("enter")
        assert "g\\u202e\\x1b[2J" in client.messages
        assert all(line.isprintable() for line in client.lines)

    show_client(alice, scenario)


def test_what_is_pasted_controls_nothing(alice: Device, bob: Device) -> None:
    meet(alice, bob)

    async def scenario(client: ClientScreen) -> None:
        await client.press("enter")
        composer = client.app.query_one("#composer")
        await composer._on_paste(events.Paste("a\x1b[2Jb\u202ec\r\nd\te"))
        assert composer.text == "a[2Jbc\nd    e"

    show_client(alice, scenario)


# --- pictures ------------------------------------------------------------------------------------------------------


def prepared(file: Path) -> tuple[Cleaned, MediaType]:
    picture = prepare_picture(file.read_bytes())
    return picture.cleaned, picture.type


def png(folder: Path) -> Path:
    """A picture that is red above and blue below, with the place it was taken at."""
    picture = Image.new("RGB", (8, 8), (255, 0, 0))
    picture.paste((0, 0, 255), (0, 4, 8, 8))
    exif = Image.Exif()
    exif[0x8825] = {1: "N", 2: (47.0, 22.0, 0.0)}
    file = folder / "holiday.png"
    picture.save(file, exif=exif)
    return file


def test_a_picture_is_sent_and_shown_as_half_blocks(alice: Device, bob: Device, tmp_path: Path) -> None:
    meet(alice, bob)
    file = png(tmp_path)

    async def scenario(client: ClientScreen) -> None:
        await client.press("enter")
        await client.type(f"/picture {file} look")
        await client.press("enter")
        await client.work()
        await client.work()
        assert re.search(
            r"sent\n +look\n +\(picture, \d+ bytes\)\n   ▀{8}\n   ▀{8}\n   ▀{8}\n   ▀{8}\n", client.messages
        )
        strips = client.app.screen._compositor.render_strips()
        colours = {
            (segment.style.color.triplet, segment.style.bgcolor.triplet)
            for strip in strips
            for segment in strip
            if "▀" in segment.text
        }
        assert colours == {((255, 0, 0), (255, 0, 0)), ((0, 0, 255), (0, 0, 255))}

    show_client(alice, scenario, draw=draw_half_blocks)


def test_without_colours_a_picture_is_shown_by_its_shades(
    alice: Device, bob: Device, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    meet(alice, bob)
    alice.chats.send_picture(BOB, *prepared(png(tmp_path)))
    cells = [((0, 0, 0), None), ((255, 255, 255), (255, 255, 255)), ((128, 128, 128), (128, 128, 128))]

    async def scenario(client: ClientScreen) -> None:
        await client.press("enter")
        await client.work()
        assert "\n    █▒\n" in client.messages

    show_client(alice, scenario, draw=lambda _: [cells])


def test_a_picture_that_cannot_be_shown_says_why(alice: Device, bob: Device, tmp_path: Path) -> None:
    meet(alice, bob)
    alice.chats.send_picture(BOB, *prepared(png(tmp_path)))

    def draw(_: object) -> NoReturn:
        raise TheirError(MEDIA_INVALID, "it is \x1b[31mno picture")

    async def scenario(client: ClientScreen) -> None:
        await client.press("enter")
        await client.work()
        assert re.search(r"bytes\) MediaInvalid: it is\n +\\x1b\[31mno picture", client.messages)

    show_client(alice, scenario, draw=draw)


# --- the screen ----------------------------------------------------------------------------------------------------


def test_everything_fits_80_by_24(alice: Device, bob: Device) -> None:
    meet(alice, bob)
    bob.send(ALICE, "long " * 200)
    bob.send(ALICE, "日本語" * 60)

    async def scenario(client: ClientScreen) -> None:
        def fits() -> None:
            lines = client.lines
            assert len(lines) == HEIGHT
            assert {cell_len(line) for line in lines} == {WIDTH}

        assert client.keys.endswith("^Q quit")
        fits()
        await client.press("enter")
        assert client.keys.endswith("^Q quit")
        fits()
        await client.press("escape")
        assert client.keys.endswith("F1 help")
        fits()
        await client.press("f1")
        fits()
        for key in ("pagedown", "pagedown"):
            await client.press(key)
        assert "written out" in client.text

    show_client(alice, scenario)


def test_lines_are_wrapped_anew_when_the_terminal_gets_another_size(alice: Device, bob: Device) -> None:
    meet(alice, bob)
    bob.send(ALICE, "quite a long line of text")

    async def scenario(client: ClientScreen) -> None:
        await client.press("enter")
        await client.pilot.resize_terminal(46, 12)
        await client.until_shown(r"  quite a long\n +line of text\n")
        assert len(client.lines) == 12
        await client.pilot.resize_terminal(WIDTH, HEIGHT)
        await client.until_shown("  quite a long line of text\n")

    show_client(alice, scenario)


def test_nothing_is_said_by_colour_alone(alice: Device, bob: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    meet(alice, bob)

    async def scenario(client: ClientScreen) -> None:
        await client.press("enter", "escape")
        assert re.search(rf"{SELECTED}\d\d:\d\d bob\.eth\n{SELECTED}  hi yourself", client.messages)
        assert "▶ bob.eth" in client.messages  # the part that has the keys
        assert "  Chats" in client.text
        for strip in client.app.screen._compositor.render_strips():
            for segment in strip:
                style = segment.style
                colours = (style.color, style.bgcolor) if style else ()
                assert all(colour is None or colour.is_default for colour in colours), segment

    show_client(alice, scenario)


def test_an_error_of_ours_ends_the_client_with_it(alice: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    error = AssertionError("ours")

    def fail() -> None:
        raise error

    async def scenario(client: ClientScreen) -> None:
        monkeypatch.setattr(alice.chats, "refresh", fail)
        await client.pull()

    assert show_client(alice, scenario).return_value is error


# --- the command -------------------------------------------------------------------------------------------------


def test_chat_without_a_command_is_the_terminal_client(postroom: Postroom) -> None:
    assert "Usage: postroom chat terminal" in postroom("chat").stderr
    result = postroom("chat", "--key", "key", "--home", "home", "--at", "https://dm3.example")
    assert (result.exit_code, "needs a terminal" in result.stderr) == (2, True)


def test_without_textual_it_says_what_to_install(postroom: Postroom, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    result = postroom("chat", "--key", "key", "--home", "home", "--at", "https://dm3.example")
    assert (result.exit_code, "pip install 'postroom[chat]'" in result.stderr) == (2, True)


def test_the_help_of_chat_lists_the_commands(postroom: Postroom) -> None:
    assert "terminal" in postroom("chat", "--help").stdout
