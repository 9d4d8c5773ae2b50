"""docs/receive/client.md: every block is run as printed, against the real mailbox API; only the network is missing."""

import asyncio
import json
import re
import threading
import time
from base64 import b64encode
from pathlib import Path

import httpx
import pytest
import trustme
from tests.client.mailbox_net import Host, busy, dm3_message
from tests.http.api_stack import BOB, BOB_KEY, ApiStack

from postroom.client import Mailbox
from postroom.client.mailbox import __all__ as public
from postroom.crypto.rsa_ed25519 import PrivateKey
from postroom.protocols.dm3.keys import UserKeys
from postroom.storage.directory.domains import Domain
from postroom.storage.directory.mailboxes import read_own_settings

PAGE = (Path(__file__).parents[2] / "docs" / "receive" / "client.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
SIX_LINES, WAITING, ASYNC, MANY, DM3, SETTING, SENDING, ERRORS, KEYS, NOTEBOOK = BLOCKS
NAME = "receiver.example"
BOBS_KEYS = UserKeys(BOB_KEY, UserKeys.random().encryption)


@pytest.fixture(autouse=True)
def at_home(tmp_path: Path, api: ApiStack, host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with the page's keys, which own the mailboxes; httpx reaches the API."""
    monkeypatch.chdir(tmp_path)
    key = PrivateKey.generate("rsa")
    keys = tmp_path / ".postroom" / "keys"
    keys.mkdir(parents=True)
    (keys / f"{NAME}.pem").write_bytes(key.to_pem())
    authority = tmp_path / "ca.pem"
    trustme.CA().cert_pem.write_to_path(authority)
    (keys.parent / "local.json").write_text(json.dumps({"ca_file": str(authority), "port": 8443}))
    (keys / "bob.eth.json").write_text(json.dumps(BOBS_KEYS.as_json()))
    api.mailboxes.set_keys(NAME, [b64encode(key.public.spki()).decode()])

    async def answered(_: object, request: httpx.Request) -> httpx.Response:
        await asyncio.sleep(0)
        return host(request)

    monkeypatch.setattr(httpx.HTTPTransport, "handle_request", lambda _, request: host(request))
    monkeypatch.setattr(httpx.AsyncHTTPTransport, "handle_async_request", answered)


@pytest.fixture
def filed(api: ApiStack) -> list[str]:
    """Three messages wait."""
    return [api.file(f'{{"Body":{number}}}', mailbox=NAME, at=number)[0] for number in range(3)]


def run(code: str) -> dict[str, object]:
    names: dict[str, object] = {"__name__": "__main__"}
    # Every block may use what the first one imports and names, as the page's readers do.
    exec(SIX_LINES.partition("with ")[0], names)
    exec(compile(code, "docs/receive/client.md", "exec"), names)
    return names


def waiting(api: ApiStack) -> int:
    return len(list(api.mail.listing.all_filed(NAME, api.clock() + 10)))


READ = "".join(f"b.com {{'Body': {number}}}\n" for number in range(3))


@pytest.mark.parametrize("code", [SIX_LINES, ASYNC], ids=["sync", "async"])
def test_mail_is_read_and_acknowledged(
    code: str, api: ApiStack, filed: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    run(code)
    assert capsys.readouterr().out == READ
    assert waiting(api) == 0


def test_the_first_example_has_six_lines() -> None:
    assert len([line for line in SIX_LINES.splitlines() if line]) == 6


def test_waiting_continues_until_it_is_stopped(
    api: ApiStack, filed: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    late: list[str] = []

    def sleep(seconds: float) -> None:
        api.clock.now += seconds
        if late:
            raise KeyboardInterrupt
        late.extend(api.file("{}", mailbox=NAME, at=-1000))

    api.sleep = sleep
    with pytest.raises(KeyboardInterrupt):
        run(WAITING)
    assert capsys.readouterr().out == "".join(f"new: {each}\n" for each in [*filed, *late])
    assert waiting(api) == 0


def test_many_messages_are_stored_and_then_acknowledged_in_one_request(
    host: Host, api: ApiStack, filed: list[str]
) -> None:
    run(MANY)
    assert [json.loads(line)[0] for line in Path("mail.jsonl").read_text().splitlines()] == filed
    assert len([it for it in host.requests if it.url.path.endswith("/acknowledgements")]) == 1
    assert waiting(api) == 0


def test_a_dm3_message_is_opened(api: ApiStack, capsys: pytest.CaptureFixture[str]) -> None:
    api.file(dm3_message(BOBS_KEYS.encryption, "See you at noon"), mailbox=BOB, conversation="alice.eth")
    run(DM3)
    assert capsys.readouterr().out == "alice.eth NEW See you at noon 0\n"


def test_an_owner_blocks_a_sender(api: ApiStack) -> None:
    run(SETTING)
    assert read_own_settings(api.mailboxes.own_settings(NAME)).blocks == ("spam.example",)


def test_a_domain_sends_a_message_and_follows_its_state(api: ApiStack, capsys: pytest.CaptureFixture[str]) -> None:
    api.operators.put_domain(Domain(NAME, signs=True))
    for _ in range(2):
        run(SENDING)
        assert capsys.readouterr().out == f"{NAME} Hello@Host queued\n"


def test_after_a_temporary_error_the_iterator_can_be_continued(
    host: Host, api: ApiStack, filed: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []
    really, here = time.sleep, threading.get_ident()

    def sleep(seconds: float) -> None:
        # Threads that other tests left behind sleep as they would.
        slept.append(seconds) if threading.get_ident() == here else really(seconds)

    monkeypatch.setattr("time.sleep", sleep)
    monkeypatch.setitem(Mailbox.__init__.__kwdefaults__, "sleep", slept.append)
    host.faults = [busy(503, retry_after="40")] * 6
    run(ERRORS)
    assert len(slept) == 6
    assert slept[-1] == 40
    assert capsys.readouterr().out == "".join(f"kept: {each}\n" for each in filed)
    assert waiting(api) == 0


def test_keys_are_objects_or_files(filed: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    run(KEYS)
    assert capsys.readouterr().out == (
        f"<Mailbox {NAME} at nlweb.{NAME}> 3\n<Mailbox {BOB} at nlweb.{NAME}> 0\n"
    )  # fmt: skip


def test_the_local_stack_of_the_folder_is_reached(
    host: Host, filed: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    run(SIX_LINES)
    assert {(it.url.host, it.url.port, it.headers["host"]) for it in host.requests} == {
        ("127.0.0.1", 8443, f"nlweb.{NAME}")
    }


def test_a_message_has_a_notebook_representation(filed: list[str]) -> None:
    names = run(NOTEBOOK)
    told = names["message"]._repr_html_()  # type: ignore[attr-defined]
    names["mailbox"].close()  # type: ignore[attr-defined]
    assert told.startswith("<table>")
    assert filed[0] in told


def test_every_error_is_documented() -> None:
    told = set(re.findall(r"^\| `(\w+Error)`", PAGE, re.MULTILINE))
    assert told | {"MailboxError"} == {name for name in public if name.endswith("Error")}
