"""`postroom chat wrap|explain|fold`: messages of Status's chats, from a shell."""

import json
import sys
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from tests.cli.conftest import Postroom
from tests.protocols.status.known import (
    ALICE,
    AMR,
    BOB,
    GROUP,
    ID,
    MALLORY,
    NOW,
    OFF_THE_CURVE,
    VECTORS,
    each_sample,
    founding,
    image,
    own_of,
    text,
    wrapped,
    wrapper_of,
)

from postroom.crypto.x25519 import EncryptionKey
from postroom.protocols.dm3.keys import PrivateSigningKey, UserKeys
from postroom.protocols.status import messages as m
from postroom.protocols.status.codec import type_of_message
from postroom.protocols.status.enums import AudioType, ContentType
from postroom.protocols.status.fold import MAX_LINE_BYTES
from postroom.protocols.status.json_form import message_as_json
from postroom.protocols.status.keys import multibase
from postroom.protocols.status.membership import sign_event
from postroom.protocols.status.wrapper import MAX_WRAPPER_BYTES

HELLO: dict[str, Any] = {"clock": NOW, "timestamp": NOW, "text": "Hello", "chat_id": BOB.public,
                         "message_type": "ONE_TO_ONE", "content_type": "TEXT_PLAIN"}  # fmt: skip
HOSTILE = "\x1b[2J\x1b]0;title\x07\u202eevil\u2066\u200b\r\x9b31m\x00"
AT = ("--at", str(NOW))


@pytest.fixture
def key(tmp_path: Path) -> str:
    """Alice's keys in a file: the secp256k1 key of the known answers signs."""
    secret = bytes.fromhex(VECTORS["text one-to-one"]["author_private_key"])
    signing = PrivateSigningKey.decode(f"secp256k1:{b64encode(secret).decode()}")
    path = tmp_path / "alice.json"
    path.write_text(json.dumps(UserKeys(signing, EncryptionKey.generate()).as_json()))
    return str(path)


def shown(result: Result) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def line(wrapper: bytes, at: int = NOW, **members: Any) -> str:
    return json.dumps({"wrapper": b64encode(wrapper).decode(), "at": at, **members})


def history(*lines: str) -> str:
    return "".join(f"{each}\n" for each in lines)


# --- wrap ---------------------------------------------------------------------------------------------------------


def test_a_message_is_wrapped_as_the_known_answer(postroom: Postroom, key: str) -> None:
    known = VECTORS["text one-to-one"]
    message = {**HELLO, "text": "hello"}
    for options, wrapper, id_ in (
        ((), "application_metadata_message", "application_metadata_message_id"),
        (("--untyped",), "status_protocol_message", "message_id"),
    ):
        result = postroom("chat", "wrap", "--type", "CHAT_MESSAGE", "--key", key, "--json", *options,
                          input=json.dumps(message))  # fmt: skip
        assert result.exit_code == 0
        assert b64decode(shown(result)["wrapper"]).hex() == known[wrapper]
        assert (shown(result)["id"], shown(result)["author"]) == (known[id_], ALICE.public)
        bare = postroom("chat", "wrap", "--type", "chat_message", "--key", key, *options, input=json.dumps(message))
        assert bare.stdout_bytes.hex() == known[wrapper]


@each_sample
def test_what_is_wrapped_is_explained(postroom: Postroom, key: str, sample: m.StatusMessage) -> None:
    name = type_of_message(sample).name
    Path("message.json").write_text(json.dumps(message_as_json(sample)))
    options = ("--untyped",) if name == "CHAT_MESSAGE_IDENTITY" else ()
    wrap = postroom("chat", "wrap", "--type", name, "--key", key, *options, "message.json")
    Path("wrapper.bin").write_bytes(wrap.stdout_bytes)
    result = postroom("chat", "explain", "wrapper.bin", "--type", name, *AT, "--own", own_of(sample), "--json")
    assert result.exit_code == 0
    assert shown(result)["message"] == message_as_json(sample)
    assert shown(result)["author"] == ALICE.public


@pytest.mark.parametrize(
    ("message", "says"),
    [
        ({**HELLO, "color": "red"}, "no member 'color'"),
        ({**HELLO, "clock": 0}, "clock is 0"),
        ({**HELLO, "clock": "1"}, "must be an integer"),
        ({**HELLO, "text": " "}, "blank"),
        ({**HELLO, "text": "x" * 4097}, "4096"),
        ({**HELLO, "message_type": "ONE"}, "PRIVATE_GROUP"),
        ({**HELLO, "chat_id": ""}, "chat_id is empty"),
        ({**HELLO, "response_to": ID.upper()}, "response_to"),
        ({**HELLO, "content_type": "IMAGE"}, "there is none"),
        ({**HELLO, "image": {"payload": "*", "type": "GIF"}}, "base64"),
        ({**HELLO, "unknown": "/w=="}, "cannot be written"),
        ({**HELLO, "unknown": "CAE="}, "a known one"),
        ([HELLO], "JSON object"),
    ],
)
def test_a_message_that_is_none_is_a_usage_error(postroom: Postroom, key: str, message: Any, says: str) -> None:
    result = postroom("chat", "wrap", "--type", "CHAT_MESSAGE", "--key", key, "--json", input=json.dumps(message))
    assert (result.exit_code, result.stdout) == (2, "")
    assert says in json.loads(result.stderr)["error"]["message"]


@pytest.mark.parametrize("data", ["", "{", "null", '{"clock": NaN}', '{"text": "\\ud800"}', '{"a":1,"a":2}', "\0"])
def test_what_is_not_json_is_a_usage_error(postroom: Postroom, key: str, data: str) -> None:
    result = postroom("chat", "wrap", "--type", "CHAT_MESSAGE", "--key", key, input=data)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("postroom: standard input: ")


def test_a_refusal_has_its_reason(postroom: Postroom, key: str) -> None:
    result = postroom("chat", "wrap", "--type", "CHAT_MESSAGE", "--key", key, "--json",
                      input=json.dumps({**HELLO, "text": "\n"}))  # fmt: skip
    assert json.loads(result.stderr)["error"]["reason"] == "TextInvalid"


@pytest.mark.parametrize("number", [2**53, 2**53 + 1, 2**63 - 1])
def test_numbers_of_64_bits_are_wrapped_as_they_are(postroom: Postroom, key: str, number: int) -> None:
    sound = {"payload": b64encode(AMR).decode(), "type": "AMR", "duration_ms": 2 * number}
    message = {**HELLO, "clock": number, "timestamp": 2 * number + 1, "content_type": "AUDIO", "audio": sound}
    wrap = postroom("chat", "wrap", "--type", "CHAT_MESSAGE", "--key", key, input=json.dumps(message))
    assert wrap.exit_code == 0
    found = shown(postroom("chat", "explain", "-", *AT, "--json", input=wrap.stdout_bytes))
    assert found["reason"] == "ClockAhead"
    assert found["message"]["clock"] == number
    assert found["message"]["timestamp"] == 2 * number + 1
    assert found["message"]["audio"]["duration_ms"] == 2 * number


@pytest.mark.parametrize("clock", [2**63, 2**64 - 1])
def test_a_clock_of_2_63_or_more_is_invalid(postroom: Postroom, key: str, clock: int) -> None:
    message = json.dumps({**HELLO, "clock": clock})
    result = postroom("chat", "wrap", "--type", "CHAT_MESSAGE", "--key", key, "--json", input=message)
    assert (result.exit_code, json.loads(result.stderr)["error"]["reason"]) == (2, "ClockInvalid")


@pytest.mark.parametrize("number", [2**64, 10**30, -1])
def test_a_number_of_more_than_64_bits_is_a_usage_error(postroom: Postroom, key: str, number: int) -> None:
    message = json.dumps({**HELLO, "timestamp": number})
    result = postroom("chat", "wrap", "--type", "CHAT_MESSAGE", "--key", key, "--json", input=message)
    assert result.exit_code == 2
    assert "an integer from 0 to 18446744073709551615" in json.loads(result.stderr)["error"]["message"]


def test_a_wrapper_is_not_written_to_a_terminal(postroom: Postroom, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["postroom.cli.chat.wrap"], "is_terminal", lambda: True)
    result = postroom("chat", "wrap", "--type", "CHAT_MESSAGE", "--key", key, input=json.dumps(HELLO))
    assert result.exit_code == 2
    assert "> wrapper.bin" in result.stderr
    assert postroom(
        "chat", "wrap", "--type", "CHAT_MESSAGE", "--key", key, "--json", input=json.dumps(HELLO)
    ).exit_code == 0  # fmt: skip


def test_an_identity_needs_the_older_wrapper(postroom: Postroom, key: str) -> None:
    command = ("chat", "wrap", "--type", "CHAT_MESSAGE_IDENTITY", "--key", key, "--json")
    result = postroom(*command, input=json.dumps({"clock": NOW, "display_name": "Alice"}))
    assert result.exit_code == 2
    assert "--untyped" in result.stderr
    assert postroom(*command, "--untyped", input=json.dumps({"clock": NOW})).exit_code == 0


def test_nothing_that_nobody_would_take_is_wrapped(postroom: Postroom, key: str) -> None:
    sound = {"payload": b64encode(bytes(MAX_WRAPPER_BYTES)).decode(), "type": AudioType.AAC.name}
    message = {**HELLO, "content_type": ContentType.AUDIO.name, "audio": sound}
    result = postroom("chat", "wrap", "--type", "CHAT_MESSAGE", "--key", key, "--json", input=json.dumps(message))
    assert result.exit_code == 2
    assert json.loads(result.stderr)["error"]["reason"] == "TooLarge"


@pytest.mark.parametrize("type_", ["", "CHAT", "1", "UNKNOWN", "chat message"])
def test_a_type_is_one_of_the_names(postroom: Postroom, key: str, type_: str) -> None:
    for command in (("wrap", "--key", key), ("explain", "-")):
        if type_ or command[0] == "wrap":
            result = postroom("chat", *command, "--type", type_, input="")
            assert result.exit_code == 2
            assert "CHAT_MESSAGE_IDENTITY" in result.stderr


def test_a_key_is_one_that_can_sign_chats(postroom: Postroom, tmp_path: Path) -> None:
    (tmp_path / "ed.json").write_text(json.dumps(UserKeys.random("ed25519").as_json()))
    (tmp_path / "none.json").write_text("{}")
    command = ("chat", "wrap", "--type", "CHAT_MESSAGE", "--json", "--key")
    ed = postroom(*command, "ed.json", input=json.dumps(HELLO))
    assert (ed.exit_code, "secp256k1" in ed.stderr) == (2, True)
    assert postroom(*command, "none.json", input=json.dumps(HELLO)).exit_code == 2
    assert postroom(*command, "absent.json", input=json.dumps(HELLO)).exit_code == 5


def test_keygen_makes_such_a_key(postroom: Postroom) -> None:
    postroom("dm3", "keygen", "--delivery-service", "ds.eth", "--out", "key.json")
    result = postroom("chat", "wrap", "--type", "CHAT_MESSAGE", "--key", "key.json", "--json", input=json.dumps(HELLO))
    wrapper = b64decode(shown(result)["wrapper"])
    explained = postroom("chat", "explain", "-", *AT, "--carrier", shown(result)["author"], "--json", input=wrapper)
    assert shown(explained)["id"] == shown(result)["id"]


# --- explain ------------------------------------------------------------------------------------------------------


def test_an_explanation_for_people(postroom: Postroom) -> None:
    Path("wrapper.bin").write_bytes(wrapper_of(text()))
    result = postroom("chat", "explain", "wrapper.bin", *AT, "--own", BOB.public, "--carrier", ALICE.public)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == "type     CHAT_MESSAGE"
    assert lines[1] == f"author   {ALICE.public}"
    assert '  text          "Hello"' in lines
    assert [line.split(":")[0] for line in lines if line.startswith("ok ")] == [
        f"ok    {name}" for name in ("wrapper", "type", "signature", "author", "payload", "carrier", "chat", "clock")
    ]
    assert lines[-1] == "accepted"


def test_a_discarded_one_has_exit_code_1(postroom: Postroom) -> None:
    result = postroom("chat", "explain", "-", *AT, "--own", MALLORY.public, input=wrapper_of(text()))
    assert result.exit_code == 1
    assert "discarded: WrittenToAnother." in result.stdout
    assert "FAIL  chat" in result.stdout
    as_json = postroom("chat", "explain", "-", *AT, "--own", MALLORY.public, "--json", input=wrapper_of(text()))
    assert (as_json.exit_code, shown(as_json)["verdict"]) == (1, "discarded")
    assert shown(as_json)["reason"] == "WrittenToAnother"


def test_media_that_fails_is_shown_and_does_not_cost_the_message(postroom: Postroom) -> None:
    data = wrapper_of(image(b"<svg/>"))
    result = postroom("chat", "explain", "-", *AT, "--json", input=data)
    assert (result.exit_code, shown(result)["reason"]) == (0, None)
    assert shown(result)["media"] == {"kind": "image", "type": "GIF", "bytes": 6, "reason": "MediaInvalid"}


def test_when_it_came_is_said_or_now(postroom: Postroom) -> None:
    def verdict(*options: str) -> str:
        return str(shown(postroom("chat", "explain", "-", *options, "--json", input=wrapper_of(text())))["reason"])

    early, ahead = str(NOW - 120_000), str(NOW - 120_001)
    assert verdict("--at", early) == verdict("--now", early) == verdict("--at", early, "--now", "1") == "None"
    assert verdict("--at", ahead) == verdict("--now", ahead) == "ClockAhead"
    assert verdict() == "None"  # it is long ago
    late = postroom("chat", "explain", "-", "--json", input=wrapper_of(text()))
    assert shown(late)["marks"] == ["late"]


@pytest.mark.parametrize(
    "options",
    [("--at", "-1"), ("--at", str(1 << 53)), ("--at", "x"), ("--at", "1.5"), ("--now", str(1 << 64)),
     ("--own", "alice.eth"), ("--own", OFF_THE_CURVE), ("--own", ALICE.public.upper()), ("--own", "zQ3sh"),
     ("--carrier", ALICE.public[2:]), ("--carrier", "z\u00e9"), ("--own", HOSTILE), ("--type", HOSTILE)],
)  # fmt: skip
def test_a_bad_option_is_a_usage_error(postroom: Postroom, options: tuple[str, ...]) -> None:
    result = postroom("chat", "explain", "-", *options, input=wrapper_of(text()))
    assert (result.exit_code, result.stdout) == (2, "")
    assert is_safe(result.stderr)
    assert set(json.loads(postroom("chat", "explain", "-", *options, "--json", input=b"").stderr)) == {"error"}


def test_keys_are_given_in_either_form(postroom: Postroom) -> None:
    for key_ in (BOB.public, multibase(BOB.public)):
        for data, expected in ((wrapper_of(text()), 0), (wrapper_of(text(chat_id=MALLORY.public)), 1)):
            assert postroom("chat", "explain", "-", *AT, "--own", key_, input=data).exit_code == expected


def test_a_file_that_is_not_there(postroom: Postroom) -> None:
    for command in (("explain", "absent.bin"), ("fold", "absent.jsonl", "--own", BOB.public)):
        assert postroom("chat", *command).exit_code == 5


FILES = {
    "nothing": b"",
    "text": b"hello",
    "zeros": bytes(1000),
    "all bytes": bytes(range(256)),
    "a deep group": b"\x0b" * 100_000,
    "a payload alone": wrapper_of(text())[70:],
    "too large": bytes(MAX_WRAPPER_BYTES + 1),
    "a wrapper cut": wrapper_of(text())[:-40],
}


@pytest.mark.parametrize("data", FILES.values(), ids=FILES)
def test_any_file_is_explained(postroom: Postroom, data: bytes) -> None:
    Path("file").write_bytes(data)
    for options in ((), ("--json",), ("--type", "CHAT_MESSAGE", "--own", BOB.public)):
        assert postroom("chat", "explain", "file", *AT, *options).exit_code == 1
    # Nor is it a history, or a message.
    assert postroom("chat", "fold", "file", "--own", BOB.public).exit_code == (2 if data else 0)


# --- fold ---------------------------------------------------------------------------------------------------------


def test_a_history_for_people(postroom: Postroom) -> None:
    hello = text("Hello\nBob")
    answer = text("Hello", chat_id=ALICE.public, clock=NOW + 1)
    lines = (
        line(wrapper_of(hello)),
        line(wrapper_of(answer, BOB)),
        line(wrapper_of(image(b"<svg/>", clock=NOW + 2))),
        line(wrapper_of(text("To the town", chat_id="town", message_type=2, clock=NOW + 3))),
        line(wrapper_of(text("unread", chat_id="other", message_type=2, clock=NOW + 4))),
        line(b"\xff"),
    )
    result = postroom("chat", "fold", "-", "--own", BOB.public, "--joined", "town", input=history(*lines))
    assert result.exit_code == 0
    assert "channel #town" in result.stdout
    assert "Hello ⏎ Bob" in result.stdout
    assert "(image, MediaInvalid)" in result.stdout
    assert "not shown: 0x" in result.stdout
    assert "line 6 discarded: WrapperInvalid" in result.stdout
    as_json = shown(postroom("chat", "fold", "-", "--own", BOB.public, "--joined", "town", "--json",
                             input=history(*reversed(lines))))  # fmt: skip
    assert [chat["kind"] for chat in as_json["chats"]] == ["one-to-one", "public"]
    assert [message["text"] for message in as_json["chats"][0]["messages"]] == ["Hello\nBob", "Hello", ""]
    assert [fact["reason"] for fact in as_json["not_shown"]] == ["ChatUnknown"]
    assert as_json["discarded"] == [
        {"line": 1, "reason": "WrapperInvalid", "detail": "the bytes are not protobuf"}
    ]  # fmt: skip


def test_a_line_may_say_type_and_carrier(postroom: Postroom) -> None:
    unsigned = wrapper_of(text(), None)
    identity = wrapper_of(m.ChatMessageIdentity(NOW, display_name="Alice"))
    lines = history(
        line(unsigned, carrier=multibase(ALICE.public)),
        line(identity, type="CHAT_MESSAGE_IDENTITY"),
        line(unsigned),
        line(wrapper_of(text()), carrier=MALLORY.public),
    )
    found = shown(postroom("chat", "fold", "-", "--own", BOB.public, "--json", input=lines))
    assert [message["marks"] for message in found["chats"][0]["messages"]] == [["unsigned"]]
    assert found["people"][ALICE.public]["display_name"] == "Alice"
    assert [(each["line"], each["reason"]) for each in found["discarded"]] == [
        (3, "AuthorUnknown"),
        (4, "AuthorNotCarrier"),
    ]


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ("{", "line 2"),
        ("[]", "JSON object"),
        ("{}", "at"),
        ('{"wrapper": "", "at": 1, "more": 2}', "no member 'more'"),
        ('{"wrapper": "*", "at": 1}', "base64"),
        ('{"wrapper": 5, "at": 1}', "wrapper"),
        ('{"wrapper": "", "at": -1}', "2^53"),
        ('{"wrapper": "", "at": 1.5}', "at"),
        ('{"wrapper": "", "at": "1"}', "at"),
        ('{"wrapper": "", "at": 9007199254740992}', "at"),
        ('{"wrapper": "", "at": 18446744073709551616}', "at"),
        ('{"wrapper": "", "at": 1, "type": "CHAT"}', "CHAT_MESSAGE"),
        ('{"wrapper": "", "at": 1, "type": "LETTER"}', "CHAT_MESSAGE"),
        ('{"wrapper": "", "at": 1, "type": null}', "CHAT_MESSAGE"),
        ('{"wrapper": "", "at": 1, "carrier": "alice.eth"}', "chat key"),
        ('{"wrapper": "", "at": 1, "carrier": 5}', "carrier"),
        ('{"wrapper": "", "at": 1, "at": 2}', "at"),
        ("", "line 2"),
        ("\x00", "line 2"),
        ("\x1b[2J\u202e", "line 2"),
    ],
)
def test_a_line_that_is_none_is_a_usage_error(postroom: Postroom, bad: str, says: str) -> None:
    lines = history(line(wrapper_of(text())), bad)
    for options in ((), ("--json",)):
        result = postroom("chat", "fold", "-", "--own", BOB.public, *options, input=lines)
        assert (result.exit_code, result.stdout) == (2, "")
        assert "standard input, line 2: " in result.stderr
        assert says in result.stderr
        assert is_safe(result.stderr)


def test_a_line_has_at_most_twice_the_bytes_of_a_wrapper(postroom: Postroom) -> None:
    assert MAX_LINE_BYTES == 2 * MAX_WRAPPER_BYTES == 2_200_000
    longest = line(bytes(MAX_WRAPPER_BYTES)).ljust(MAX_LINE_BYTES - 1)
    for spaces, code in (("", 0), (" ", 2)):
        lines = f"{longest}{spaces}\n"
        assert postroom("chat", "fold", "-", "--own", BOB.public, input=lines).exit_code == code


@pytest.mark.parametrize("name", ["", "Town", "#town", "a b", BOB.public, ID, HOSTILE])
def test_a_channel_is_joined_by_its_name(postroom: Postroom, name: str) -> None:
    result = postroom("chat", "fold", "-", "--own", BOB.public, "--joined", name, input="")
    assert result.exit_code == 2
    assert is_safe(result.stderr)


def test_an_empty_history_shows_nothing(postroom: Postroom) -> None:
    found = shown(postroom("chat", "fold", "-", "--own", BOB.public, "--json", input=""))
    assert found == {"chats": [], "people": {}, "not_shown": [], "discarded": []}
    assert postroom("chat", "fold", "-", "--own", BOB.public, input="").stdout == ""


# --- strangers' texts ---------------------------------------------------------------------------------------------


def is_safe(output: str) -> bool:
    """Whether an output has no character that controls a terminal or reverses its order."""
    return all(character.isprintable() or character == "\n" for character in output)


HOSTILE_MESSAGES = {
    "text": text(HOSTILE, ens_name=HOSTILE),
    "chat": text("x", chat_id=HOSTILE),
    "channel": text("x", chat_id=HOSTILE, message_type=2),
    "sticker": text("", content_type=ContentType.STICKER, sticker=m.StickerMessage(HOSTILE)),
    "names": m.ChatMessageIdentity(NOW, display_name=HOSTILE),
    "introduction": m.GroupChatInvitation(NOW, GROUP, HOSTILE, 1),
    "edit": m.EditMessage(NOW, HOSTILE, HOSTILE, ID, 1),
    "deletion": m.DeleteMessage(NOW, HOSTILE, ID, 1, deleted_by=HOSTILE),
    "device": m.PairInstallation(NOW, HOSTILE, HOSTILE, HOSTILE),
    "group": m.MembershipUpdateMessage(GROUP, (HOSTILE.encode(), founding())),
}


@pytest.mark.parametrize("message", HOSTILE_MESSAGES.values(), ids=HOSTILE_MESSAGES)
def test_a_strangers_text_never_controls_the_terminal(postroom: Postroom, message: m.StatusMessage) -> None:
    data, type_ = wrapper_of(message), type_of_message(message)
    for terminal in (False, True):
        with pytest.MonkeyPatch.context() as patch:
            for module in ("postroom.cli.output", "postroom.cli.explanation"):
                patch.setattr(f"{module}.is_terminal", lambda terminal=terminal: terminal)
            explained = postroom("chat", "explain", "-", "--type", type_.name, "--own", BOB.public, input=data)
            lines = history(line(data, type=type_.name), line(wrapper_of(text("Hello", clock=NOW + 9))))
            folded = postroom("chat", "fold", "-", "--own", BOB.public, "--joined", "town", input=lines)
            assert is_safe(folded.stdout)
            assert is_safe(folded.stderr)
            # Rich's own styles are of the terminal's making; the text that came has none of its characters.
            assert is_safe(explained.stdout)
            if terminal:
                as_json = postroom("chat", "explain", "-", "--type", type_.name, "--json", input=data)
                assert is_safe(as_json.stdout)


def test_a_group_with_a_hostile_name(postroom: Postroom) -> None:
    event = m.MembershipUpdateEvent(NOW, 1, name=HOSTILE)
    update = m.MembershipUpdateMessage(GROUP, (sign_event(GROUP, event, ALICE),))
    result = postroom("chat", "fold", "-", "--own", ALICE.public, input=history(line(wrapper_of(update))))
    assert result.exit_code == 0
    assert "group " in result.stdout
    assert is_safe(result.stdout)


def test_what_is_not_understood_is_kept(postroom: Postroom) -> None:
    data = wrapped(b"later", 99)
    result = postroom("chat", "explain", "-", "--json", input=data)
    assert (result.exit_code, shown(result)["type"], shown(result)["marks"]) == (0, 99, ["not-understood"])
    assert postroom("chat", "explain", "-", input=data).exit_code == 0
    folded = shown(postroom("chat", "fold", "-", "--own", BOB.public, "--json", input=history(line(data))))
    assert folded["discarded"] == []
