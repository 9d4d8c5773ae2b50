"""`postroom dcp cheque`: what a cheque authorizes, and that nothing is written for a wrong command line."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from tests.cli.conftest import Postroom
from tests.client.dcp.keystores import PASSPHRASE, keystore_of
from tests.protocols.dcp.guarded import OWNER, US, WES, Bank, Json, Peer, code

from postroom.cli.exits import Exit
from postroom.core.explanation import Explanation
from postroom.protocols.dcp.inspection import inspect
from postroom.protocols.dcp.receiving import ReceiveLimits

HOLDER, GUARDIAN = f"0x{WES.address}", f"0x{US.address}"


@pytest.fixture
def write_cheque(postroom: Postroom, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Write a cheque of OWNER. `options`: instead of the usual ones."""
    monkeypatch.setenv("POSTROOM_KEY_PASSPHRASE", PASSPHRASE)
    Path("owner-key.json").write_text(keystore_of(OWNER))

    def run(*words: str, input: str | None = None, **options: str) -> Result:  # noqa: A002 - CliRunner calls it so
        given = {"to": HOLDER, "guardian": GUARDIAN, "ttl": "2d", "key": "owner-key.json", **options}
        arguments = [word for name, value in given.items() for word in (f"--{name}", value)]
        return postroom("dcp", "cheque", *words, *arguments, input=input)

    return run


def inspected(cheque: str) -> Explanation:
    return inspect(cheque.encode(), now=time.time(), limits=ReceiveLimits())


def test_a_cheque_authorizes_its_holder_at_its_guardian_by_the_signature_of_the_key(write_cheque: Any) -> None:
    result = write_cheque("messages", '{"query": {"limit": 1}}', "--mailbox", "Bob.Example.")
    payload = json.loads(result.stdout)["payload"]
    assert (result.exit_code, inspected(result.stdout).verdict) == (Exit.GOOD, "accepted")
    assert list(payload) == ["operation", "allow", "validity", "data"]
    assert payload["allow"] == [{"resource": OWNER.address, "guardian": US.address, "accessor": WES.address}]
    assert (payload["operation"], payload["validity"]["ttl"]) == ("messages", 172_800)
    assert payload["data"] == {"mailbox": "bob.example", "query": {"limit": 1}}


def test_for_javascript_all_its_addresses_have_0x_and_our_guardian_accepts_it_too(write_cheque: Any) -> None:
    cheque = write_cheque("withdraw", "7", "--hex-prefix").stdout
    written = json.loads(cheque)
    owner = f"0x{OWNER.address}"
    assert written["payload"]["allow"] == [{"resource": owner, "guardian": GUARDIAN, "accessor": HOLDER}]
    assert list(written["auth"]) == [owner]
    assert inspected(cheque).verdict == "accepted"
    bank = Bank(limits=ReceiveLimits())
    wes = Peer.connected(bank, WES, now=time.time())
    assert wes.send(wes.request(**written))["payload"] == {"resources": [OWNER.address]}


def test_no_two_cheques_have_the_same_stamp(write_cheque: Any) -> None:
    stamps = {json.loads(write_cheque("status").stdout)["payload"]["validity"]["stamp"] for _ in range(2)}
    assert len(stamps) == 2


@pytest.mark.parametrize(
    ("words", "stdin", "data"),
    [
        (("add",), None, {}),
        (("add", "7.50"), None, {"data": 7.5}),
        (("add", '"é\\u0000"'), None, {"data": "é\0"}),
        (("add", "-"), "[1, 2]", {"data": [1, 2]}),
        (("add", "--mailbox", "bob.eth"), None, {"data": {"mailbox": "bob.eth"}}),
    ],
    ids=str,
)
def test_the_data_is_any_json_and_the_cheque_counts_with_it_as_printed(
    write_cheque: Any, words: tuple[str, ...], stdin: str | None, data: Json
) -> None:
    cheque = write_cheque(*words, input=stdin).stdout
    payload = json.loads(cheque)["payload"]
    assert {name: payload[name] for name in payload if name == "data"} == data
    assert inspected(cheque).verdict == "accepted"


def test_a_guardian_accepts_it_once(write_cheque: Any) -> None:
    cheque = json.loads(write_cheque("withdraw", "7").stdout)
    bank = Bank(limits=ReceiveLimits())
    wes = Peer.connected(bank, WES, now=time.time())
    assert wes.send(wes.request(**cheque))["payload"] == {"resources": [OWNER.address]}
    assert code(wes.send(wes.request(**cheque))) == "EDUP"
    assert bank.done == [("withdraw", 7)]


def test_a_new_file_has_the_cheque_and_the_line_says_what_it_authorizes(write_cheque: Any, tmp_path: Path) -> None:
    result = write_cheque("messages", "--out", "cheque.json")
    cheque = (tmp_path / "cheque.json").read_text()
    assert inspected(cheque).verdict == "accepted"
    assert result.stdout.startswith(
        f"cheque.json: {HOLDER} may request messages of 0x{OWNER.address} at {GUARDIAN}, once, until 20"
    )
    again = write_cheque("status", "--out", "cheque.json")
    assert (again.exit_code, (tmp_path / "cheque.json").read_text()) == (Exit.USAGE, cheque)
    assert again.stderr == "postroom: cheque.json exists; name another with --out\n"


def test_json_tells_the_file_and_until_when_it_counts(write_cheque: Any, tmp_path: Path) -> None:
    printed = json.loads(write_cheque("messages", "--out", "cheque.json", "--json").stdout)
    validity = json.loads((tmp_path / "cheque.json").read_text())["payload"]["validity"]
    assert printed["file"] == "cheque.json"
    ends = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(validity["time"] + validity["ttl"]))
    assert printed["until"] == ends


@pytest.mark.parametrize(
    ("words", "options", "sentence"),
    [
        (("messages",), {"to": "0x12"}, "'0x12': an Ethereum address has 40 hex digits"),
        (("messages",), {"to": HOLDER.swapcase().replace("0X", "0x")}, "mistyped?"),
        (("messages",), {"guardian": "bob.eth"}, "'bob.eth': an Ethereum address has 40 hex digits"),
        (("messages",), {"ttl": "soon"}, "'soon' is not a duration"),
        (("",), {}, "'' is not the name of an operation"),
        (("a\x1b",), {}, "is not the name of an operation"),
        (("messages", "hello"), {}, "the data is not JSON"),
        (("messages", "9007199254740993"), {}, "the data is not JSON"),
        (("messages", "[]", "--mailbox", "bob.eth"), {}, "--mailbox is a member of the data"),
        (("messages", '{"mailbox": "a"}', "--mailbox", "bob.eth"), {}, "--mailbox is a member of the data"),
        (("messages", "--mailbox", "no name"), {}, "'no name' is not a name"),
        (("messages",), {"key": "absent.json"}, "absent.json: No such file"),
        (("messages",), {"key": "junk"}, "junk: the private key must be a PEM file"),
    ],
    ids=str,
)
def test_nothing_is_written_for_a_wrong_command_line(
    write_cheque: Any, tmp_path: Path, words: tuple[str, ...], options: dict[str, str], sentence: str
) -> None:
    (tmp_path / "junk").write_text("junk")
    result = write_cheque(*words, "--out", "cheque.json", **options)
    assert result.exit_code == (Exit.NOT_FOUND if "No such file" in sentence else Exit.USAGE)
    assert sentence in " ".join(result.stderr.split())
    assert not (tmp_path / "cheque.json").exists()
