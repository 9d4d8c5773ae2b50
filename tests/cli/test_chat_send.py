"""`postroom chat send|react|edit|delete|pin|clear|join|part`: what a user does in a chat, over TLS on loopback."""

import json

from tests.cli.chat_commands import ChatCommands
from tests.cli.chat_commands import api as api
from tests.cli.chat_commands import chat as chat
from tests.cli.chat_commands import clients as clients
from tests.cli.chat_commands import deployed as deployed
from tests.client.chat.network import ALICE, BOB, CAROL, EDDY


def texts(chat: ChatCommands, who: str, to: str) -> list[str]:
    return [it["text"] if not it["deleted"] else "(deleted)" for it in chat.said(who, "show", to)["messages"]]


def test_a_text_is_accepted_and_its_id_is_printed(chat: ChatCommands) -> None:
    result = chat(ALICE, "send", BOB, "hello 🤝")
    [shown] = chat.said(ALICE, "show", BOB)["messages"]
    assert (result.exit_code, result.stdout) == (0, f"taken: {BOB}\nmessage {shown['id']}\n")
    assert chat(BOB, "pull").exit_code == 0
    assert texts(chat, BOB, ALICE) == ["hello 🤝"]


def test_a_text_may_come_from_standard_input(chat: ChatCommands) -> None:
    assert chat(ALICE, "send", BOB, "-", stdin="two\nlines\n").exit_code == 0
    assert texts(chat, ALICE, BOB) == ["two\nlines"]


def test_a_name_behind_an_at_is_sent_as_a_mention_and_shown_as_a_name(chat: ChatCommands) -> None:
    keys = {name: chat.network[name].key for name in (ALICE, BOB, CAROL)}
    chat(ALICE, "send", BOB, f"@{BOB} and @{EDDY}")
    chat(ALICE, "group", "create", "tea", BOB, CAROL)
    id_ = chat.said(ALICE, "send", "tea", f"@{CAROL}: you, too")["id"]
    for who in (BOB, CAROL):
        chat(who, "pull")
    assert texts(chat, BOB, ALICE) == [f"@{keys[BOB]} and @{EDDY}"]
    assert chat(BOB, "show", ALICE).stdout.endswith(f" {ALICE}: @{BOB} and @{EDDY}\n")
    assert chat(CAROL, "show", "tea").stdout.endswith(f" {ALICE}: @{CAROL}: you, too\n")
    chat(ALICE, "edit", "tea", id_, f"@{ALICE.title()} says so")
    assert texts(chat, ALICE, "tea") == [f"@{keys[ALICE]} says so"]
    assert f" @{ALICE} says so\n" in chat(ALICE, "list").stdout


def test_a_user_is_named_who_has_not_written_yet(chat: ChatCommands) -> None:
    chat(ALICE, "group", "create", "tea", BOB)
    chat(BOB, "pull")
    title = chat(BOB, "show", "tea").stdout.rstrip()
    assert sorted(title.removeprefix("group 'tea': ").split(", ")) == sorted([ALICE, BOB])


def test_programs_get_the_id_and_each_delivery(chat: ChatCommands) -> None:
    said = chat.said(ALICE, "send", BOB, "hello")
    assert said.pop("id") == chat.said(ALICE, "show", BOB)["messages"][0]["id"]
    assert said == {
        "deliveries": [{"to": BOB, "fate": "taken", "reason": None, "detail": None}],
        "unreached": [],
    }


def test_what_is_done_with_a_message_is_shown_to_both(chat: ChatCommands) -> None:
    first = chat.said(ALICE, "send", BOB, "teh")["id"]
    gone = chat.said(ALICE, "send", BOB, "regretted")["id"]
    chat(BOB, "pull")
    for who, other, words in (
        (BOB, ALICE, ("send", ALICE, "yes", "--reply-to", first[:10])),
        (BOB, ALICE, ("react", ALICE, first, "--kind", "laugh")),
        (BOB, ALICE, ("react", ALICE, first)),
        (BOB, ALICE, ("react", ALICE, first, "--take-back")),
        (BOB, ALICE, ("pin", ALICE, first)),
        (ALICE, BOB, ("edit", BOB, first, "tea")),
        (ALICE, BOB, ("delete", BOB, gone)),
    ):
        result = chat(who, *words)
        assert (result.exit_code, result.stdout.splitlines()[0]) == (0, f"taken: {other}")
    chat(ALICE, "pull")
    chat(BOB, "pull")
    here, there = chat.said(ALICE, "show", BOB)["messages"], chat.said(BOB, "show", ALICE)["messages"]
    assert here == there
    bob = here[2]["author"]
    assert [(it["text"], it["edited"], it["pinned"], it["reactions"]) for it in here] == [
        ("tea", True, True, {"LAUGH": [bob]}),
        ("", False, False, {}),
        ("yes", False, False, {}),
    ]
    assert (here[1]["deleted"], here[2]["response_to"]) == (True, first)
    chat(BOB, "pin", ALICE, first, "--unpin")
    assert not chat.said(BOB, "show", ALICE)["messages"][0]["pinned"]


def test_a_message_is_hidden_and_a_chat_is_cleared_for_oneself(chat: ChatCommands) -> None:
    hidden = chat.said(ALICE, "send", BOB, "one")["id"]
    chat(ALICE, "send", BOB, "two")
    assert chat(ALICE, "delete", BOB, hidden, "--for-me").exit_code == 0
    assert texts(chat, ALICE, BOB) == ["two"]
    assert chat(ALICE, "clear", BOB).exit_code == 0
    assert texts(chat, ALICE, BOB) == []
    chat(BOB, "pull")
    assert texts(chat, BOB, ALICE) == ["one", "two"]


def test_a_channel_is_joined_passed_on_and_left(chat: ChatCommands) -> None:
    for who, words in ((ALICE, ("--to", BOB)), (BOB, ("--to", CAROL, "--relay")), (CAROL, ())):
        assert chat(who, "join", "#tea", *words).exit_code == 0
    assert chat(ALICE, "send", "#tea", "hello").stdout.startswith(f"taken: {BOB}\n")
    assert chat(BOB, "pull").stdout.endswith(f"taken: {CAROL}\n")
    chat(CAROL, "pull")
    assert texts(chat, CAROL, "#tea") == texts(chat, BOB, "#tea") == ["hello"]
    assert chat(ALICE, "part", "tea").exit_code == 0
    assert chat(ALICE, "send", "#tea", "still here?").exit_code == 5


FAULTS = {
    "no profile": (("send", "nobody.eth", "x"), 5, "nobody.eth has no profile, and no group is called so"),
    "no name": (("send", "a..b", "x"), 2, "'a..b' is no dm3 name, and no group is called so"),
    "an Ed25519 key": (("send", EDDY, "x"), 2, "it can be sent dm3 messages (`postroom dm3 send`), no chats"),
    "a blank text": (("send", BOB, " \u3000"), 1, "TextInvalid: the text is blank"),
    "a long text": (("send", BOB, "x" * 4097), 1, "TextInvalid"),
    "no such message": (("react", BOB, "0x12345678"), 5, "`postroom chat show` lists the IDs"),
    "a short ID": (("edit", BOB, "0x12345", "x"), 2, "give at least 8 characters"),
    "no such reaction": (("react", BOB, "0x12345678", "--kind", "MEH"), 2, "must be one of LOVE, THUMBS_UP"),
    "a channel that is not joined": (("send", "#tea", "x"), 5, "`postroom chat join` joins it"),
    "no channel": (("join", "Tea"), 2, "lower-case letters, digits and hyphens"),
    "a receiver that is no name": (("join", "tea", "--to", "a..b"), 1, "NameInvalid"),
    "a channel that one is not in": (("part", "tea"), 5, "you are not in #tea"),
    "an empty chat": (("clear", BOB), 5, "there is nothing to clear"),
}


def test_what_cannot_be_done_says_what_to_do(chat: ChatCommands) -> None:
    for fault, (words, code, why) in FAULTS.items():
        result = chat(ALICE, *words)
        assert (result.exit_code, result.stdout) == (code, ""), fault
        assert why in result.stderr, fault
    error = json.loads(chat(ALICE, "send", "nobody.eth", "x", "--json").stderr)["error"]
    assert (error["code"], error["exit"]) == ("not_found", 5)
    result = chat(EDDY, "send", BOB, "x")
    assert result.exit_code == 2
    assert "`postroom dm3 keygen`" in result.stderr


def test_messages_of_others_are_neither_edited_nor_deleted(chat: ChatCommands) -> None:
    sent = chat.said(ALICE, "send", BOB, "mine")["id"]
    chat(BOB, "pull")
    for words in (("edit", ALICE, sent, "yours"), ("delete", ALICE, sent)):
        result = chat(BOB, *words)
        assert result.exit_code == 2
        assert "somebody else wrote this message" in result.stderr


def test_a_refused_message_ends_with_1_and_stays_in_the_archive(chat: ChatCommands) -> None:
    chat.network[BOB].refuse(ALICE)
    result = chat(ALICE, "send", BOB, "hello")
    assert (result.exit_code, result.stdout.splitlines()[0]) == (
        1, f"refused: {BOB}: SenderNotWanted: the receiver blocks this sender",
    )  # fmt: skip
    assert "2 messages of chats are not delivered yet" in chat.archive(ALICE, "list").stdout
    assert chat(ALICE, "pull").stdout == "0 messages were stored\n"


def test_a_message_that_cannot_be_delivered_now_ends_with_3_and_goes_with_the_next_pull(chat: ChatCommands) -> None:
    chat.network[BOB].service.is_down = True
    result = chat(ALICE, "send", BOB, "hello")
    assert (result.exit_code, result.stdout.splitlines()[0].startswith(f"not now: {BOB}: ")) == (3, True)
    assert texts(chat, ALICE, BOB) == ["hello"]
    assert chat(ALICE, "pull").exit_code == 3
    chat.network[BOB].service.is_down = False
    result = chat(ALICE, "pull")
    assert (result.exit_code, result.stdout) == (0, f"0 messages were stored\ntaken: {BOB}\ntaken: {BOB}\n")
    chat(BOB, "pull")
    assert texts(chat, BOB, ALICE) == ["hello"]
