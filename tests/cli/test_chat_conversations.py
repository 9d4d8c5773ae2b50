"""`postroom chat list|show|who|discarded` and what commands of the archive show of chats, over TLS on loopback."""

import json
from pathlib import Path

from tests.cli.chat_commands import ChatCommands
from tests.cli.chat_commands import api as api
from tests.cli.chat_commands import chat as chat
from tests.cli.chat_commands import clients as clients
from tests.cli.chat_commands import deployed as deployed
from tests.client.chat.network import ALICE, BOB, CAROL

from postroom.client.archive import FolderHome
from postroom.client.chat.memory_reading import read_memory
from postroom.client.chat.reading import ConversationReader
from postroom.protocols.status.enums import PayloadType
from postroom.protocols.status.log import ChatLog


def test_list_shows_each_chat_with_its_newest_message(chat: ChatCommands) -> None:
    chat(ALICE, "send", BOB, "hello")
    chat(ALICE, "send", BOB, "there")
    chat(ALICE, "join", "tea", "--to", CAROL)
    chat(BOB, "send", ALICE, "hi")
    chat(ALICE, "pull")
    lines = chat(ALICE, "list").stdout.splitlines()
    assert sorted(line.rsplit(" ", 1)[-1] for line in lines) == ["#tea", "hi"]
    assert any(line.startswith(f"with {BOB}: ") for line in lines)
    said = chat.said(ALICE, "list")
    assert {it["kind"]: [each["text"] for each in it["messages"]] for it in said["chats"]} == {
        "one-to-one": ["hi"], "public": [],
    }  # fmt: skip
    assert {person["name"] for person in said["people"].values()} == {BOB}


def test_list_shows_the_id_of_a_group_that_its_name_does_not_find(chat: ChatCommands) -> None:
    for name in ("tea", "tea", "v1.0", "#tea", "lunch"):
        chat(ALICE, "group", "create", name, BOB)
    ids = {it["id"]: it["name"] for it in chat.said(ALICE, "list")["chats"]}
    lines = chat(ALICE, "list").stdout.splitlines()
    listed = [line.removeprefix("  ID ") for line in lines if line.startswith("  ID ")]
    assert sorted(ids[id_] for id_ in listed) == ["#tea", "tea", "tea", "v1.0"]
    assert chat(ALICE, "send", "tea", "which one?").exit_code == 2
    for id_ in listed:
        assert lines[lines.index(f"  ID {id_}") - 1].startswith(f"group {ids[id_]!r}")
        assert chat(ALICE, "send", id_, "this one").exit_code == 0


def test_show_prints_messages_with_replies_and_reactions(chat: ChatCommands) -> None:
    first = chat.said(ALICE, "send", BOB, "tea?")["id"]
    chat(BOB, "pull")
    chat(BOB, "react", ALICE, first)
    reply = chat.said(BOB, "send", ALICE, "yes\nplease", "--reply-to", first)["id"]
    chat(ALICE, "pull")
    title, *lines = chat(ALICE, "show", BOB).stdout.splitlines()
    assert title == f"with {BOB}"
    assert [line.split() for line in lines] == [
        [first[:10], lines[0].split()[1], f"{ALICE}:", "tea?"],
        ["LOVE:", BOB],
        [reply[:10], lines[2].split()[1], f"{BOB}:", "yes", "⏎", "please"],
        ["in", "reply", "to:", "tea?"],
    ]
    assert [it["id"] for it in chat.said(ALICE, "show", BOB, "--last", "1")["messages"]] == [reply]


def test_a_strangers_text_shows_no_escapes(chat: ChatCommands) -> None:
    chat(ALICE, "send", BOB, "\x1b[31mred\u202egnp.exe")
    chat(BOB, "pull")
    for words in (("show", ALICE), ("list",)):
        shown = chat(BOB, *words).stdout
        assert "red" in shown
        assert "\x1b" not in shown
        assert "\u202e" not in shown


def test_who_lists_names_pseudonyms_and_keys(chat: ChatCommands) -> None:
    chat(ALICE, "send", BOB, "hello")
    chat(BOB, "pull")
    key = chat.network[ALICE].key
    head, line = chat(BOB, "who").stdout.splitlines()
    assert head.split() == ["name", "pseudonym", "says", "key"]
    assert line.startswith(ALICE)
    assert line.endswith(key)
    said = chat.said(BOB, "who")
    assert (said[key]["name"], said[key]["names"]) == (ALICE, [ALICE])


def test_the_archive_finds_what_the_chat_shows_and_nothing_of_how_it_is_sent(chat: ChatCommands) -> None:
    sent = chat.said(ALICE, "send", BOB, "good morning")["id"]
    gone = chat.said(ALICE, "send", BOB, "regretted")["id"]
    chat(ALICE, "edit", BOB, sent, "good evening")
    chat(ALICE, "delete", BOB, gone)
    chat.network[BOB].service.is_down = True
    chat(ALICE, "send", BOB, "not delivered")
    for more in ((), ("--no-index",)):
        found = [
            json.loads(chat.archive(ALICE, "search", word, *more, "--json").stdout)
            for word in ("evening", "regretted", "attachments", "sealed", "protobuf")
        ]
        assert [len(hits) for hits in found] == [1, 0, 0, 0, 0]
    done = chat.archive(ALICE, "verify", "--pinned", "names.json", "--resolver", "tcp://127.0.0.1:9", "--json")
    verified = json.loads(done.stdout)
    assert (done.exit_code, verified["flaws"], verified["set_aside"], verified["unproven"]) == (0, [], 1, 0)
    listed = chat.archive(ALICE, "list").stdout.splitlines()
    assert [line.split()[0] for line in listed] == ["partner", BOB, "1"]
    assert listed[-1] == "1 messages of chats are not delivered yet; `postroom chat pull` sends them again"


def test_the_index_is_made_by_every_command_and_can_be_removed(chat: ChatCommands) -> None:
    chat(ALICE, "send", BOB, "good morning")
    chat(BOB, "pull")
    [line] = chat(BOB, "index").stdout.splitlines()
    made = chat.said(BOB, "index")
    path = Path(made["index"])
    assert str(path) in line
    assert "not encrypted" in line
    assert made["messages"] == len(facts(chat, BOB))
    assert b"good morning" in path.read_bytes()
    assert chat.said(BOB, "index", "--drop") == {"dropped": True}
    assert not path.exists()
    assert chat.said(BOB, "show", ALICE, "--no-index") == chat.said(BOB, "show", ALICE)
    assert path.exists()
    assert chat(BOB, "index", "--drop").stdout == "the index is removed\n"
    assert chat(BOB, "index", "--drop").stdout == "there is no index\n"
    chat(BOB, "show", ALICE, "--no-index")
    assert not path.exists()


def facts(chat: ChatCommands, who: str) -> ChatLog:
    """What somebody's archive says, read without an index."""
    person = chat.network[who]
    archive = person.archive(FolderHome(chat.folder / f"{who}.home"))
    return read_memory(ConversationReader(archive, person.key)).log


def test_an_index_that_cannot_be_used_is_named_with_what_helps(chat: ChatCommands) -> None:
    chat(ALICE, "send", BOB, "good morning")
    path = Path(chat.said(ALICE, "index")["index"])
    path.unlink()
    path.mkdir()
    done = chat(ALICE, "list")
    assert done.exit_code == 3
    assert "postroom chat index --drop" in done.stderr
    assert chat(ALICE, "index", "--no-index").exit_code == 2
    assert chat(ALICE, "list", "--no-index").exit_code == 0


def test_who_has_not_got_a_message_is_shown_beside_it(chat: ChatCommands) -> None:
    sent = chat.said(ALICE, "send", BOB, "one")["id"]
    chat.network[BOB].service.is_down = True
    chat(ALICE, "edit", BOB, sent, "two")
    chat(ALICE, "send", BOB, "three")
    assert [line.partition(": ")[2] for line in chat(ALICE, "show", BOB).stdout.splitlines()[1:]] == [
        f"two [edited] [edit waits for {BOB}]", f"three [waits for {BOB}]",
    ]  # fmt: skip
    chat.network[BOB].service.is_down = False
    chat.network[BOB].refuse(ALICE)
    chat(ALICE, "pull")
    assert chat(ALICE, "list").stdout.endswith(f" three [refused by {BOB}: SenderNotWanted]\n")
    refused = {"to": BOB, "reason": "SenderNotWanted"}
    assert [(it["unsent"], it["unreached"]) for it in chat.said(ALICE, "show", BOB)["messages"]] == [
        ([{"what": "edit", **refused}], []), ([{"what": "message", **refused}], []),
    ]  # fmt: skip
    assert chat.said(ALICE, "list")["chats"][0]["messages"][0]["unsent"] == [{"what": "message", **refused}]


def test_what_is_discarded_or_not_shown_is_listed_with_the_reason(chat: ChatCommands) -> None:
    bob = chat.network[BOB]
    chat(BOB, "join", "tea", "--to", ALICE)
    unknown = chat.said(BOB, "send", "#tea", "you are not in here")["id"]
    chat.network.services[f"ds-{ALICE}.example"] = chat.network[ALICE].service
    hash_ = bob.pass_on(ALICE, b"no wrapper", PayloadType.CHAT_MESSAGE)
    chat(ALICE, "pull")
    lines = sorted(chat(ALICE, "discarded").stdout.splitlines())
    assert lines[0].startswith(f"discarded: {hash_[:10]} with {BOB}: WrapperInvalid")
    assert lines[1] == f"not shown: {unknown} by {BOB}: ChatUnknown"
    said = chat.said(ALICE, "discarded")
    [discarded] = said["discarded"]
    assert discarded.pop("detail")
    assert discarded == {"partner": BOB, "message_hash": hash_, "reason": "WrapperInvalid"}
    assert said["not_shown"] == [
        {
            "id": unknown, "author": bob.key, "chat": {"kind": "public", "id": "tea"}, "reason": "ChatUnknown",
            "marks": [],
        }
    ]  # fmt: skip
    assert said["people"].keys() == {bob.key}
    chat(ALICE, "join", "tea")
    assert chat.said(ALICE, "discarded")["not_shown"] == []
