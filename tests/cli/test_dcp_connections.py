"""`postroom dcp connect|send|present`, and cheques for the URL of a guardian: over TLS, at a guardian that records."""

import json
import logging
import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import httpx
import pytest
from click.testing import Result
from tests.cli.conftest import Postroom
from tests.cli.served_api import URL as HOST_URL
from tests.cli.served_api import ServedApi, serve
from tests.client.dcp.ends import URL as POSTED_URL
from tests.client.dcp.ends import PostedBank
from tests.client.dcp.keystores import PASSPHRASE, keystore_of
from tests.core.test_shown_text import HOSTILE
from tests.protocols.dcp.guarded import JACK, OWNER, US, WES, Bank

from postroom.cli.dcp import target
from postroom.cli.exits import Exit
from postroom.client.dcp import connection
from postroom.core.errors import NotNowError, TheirError
from postroom.core.reasons import STORE_UNAVAILABLE
from postroom.crypto.keystore import lock
from postroom.http.request import HttpRequest
from postroom.http.response import HttpResponse, problem
from postroom.protocols.dcp.error_payload import ErrorPayload
from postroom.protocols.dcp.reasons import DCP_ID_MISSING, DCP_OPERATION_UNKNOWN
from postroom.protocols.dcp.receiving import ReceiveLimits
from postroom.protocols.dcp.responses import answer_body, response_body
from postroom.protocols.dcp.signed_message import sign_body

URL = f"{HOST_URL}/dcp"
KEYS = {"owner": OWNER, "wes": WES, "jack": JACK}
RunDcp = Callable[..., Result]


@dataclass
class BankApi:
    """A guardian as what answers requests over HTTP."""

    posted: PostedBank

    @property
    def router(self) -> "BankApi":
        return self

    def respond(self, request: HttpRequest) -> HttpResponse:
        url = urljoin(POSTED_URL, request.path)
        answer = self.posted.handle(httpx.Request(request.method, url, content=request.body))
        return HttpResponse(answer.status_code, answer.headers.get("content-type", ""), answer.content)


@pytest.fixture
def bank() -> Bank:
    return Bank(limits=ReceiveLimits())


@pytest.fixture
def served(bank: Bank, tmp_path: Path) -> Iterator[ServedApi]:
    with serve(BankApi(PostedBank(bank)), tmp_path) as running:  # type: ignore[arg-type]  # it has a router
        yield running


@pytest.fixture
def keys(postroom: Postroom, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Files of keys in the folder where commands run, which is also the home."""
    monkeypatch.setenv("POSTROOM_KEY_PASSPHRASE", PASSPHRASE)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name, key in KEYS.items():
        (tmp_path / f"{name}-key.json").write_text(keystore_of(key))


@pytest.fixture
def dcp(postroom: Postroom, keys: None, served: ServedApi) -> RunDcp:
    """Run a command with the key of somebody, at the guardian."""

    def run(command: str, *words: str, key: str = "owner", input: str | None = None) -> Result:  # noqa: A002
        options = ("--key", f"{key}-key.json", "--local", str(served.local))
        return postroom("dcp", command, *words, *options, input=input)

    return run


@pytest.fixture
def cheque(dcp: RunDcp) -> str:
    """A cheque of OWNER for WES."""
    options = ("--to", WES.address, "--guardian", URL, "--ttl", "5m")
    result = dcp("cheque", "withdraw", "7", *options)
    assert result.exit_code == Exit.GOOD, result.stderr
    return result.stdout


# --- connect ---------------------------------------------------------------------------------------------------------


def test_connect_shows_the_address_and_the_version_of_the_target(dcp: RunDcp) -> None:
    result = dcp("connect", URL, "--json")
    assert (result.exit_code, json.loads(result.stdout)) == (
        Exit.GOOD,
        {"target": f"0x{US.address}", "version": "4.0.0", "you": f"0x{OWNER.address}"},
    )
    assert dcp("connect", URL).stdout.splitlines() == [
        f"target   0x{US.address}",
        "version  4.0.0",
        f"you      0x{OWNER.address}",
    ]


def test_a_target_with_another_address_than_the_expected_one_is_refused(dcp: RunDcp) -> None:
    assert dcp("connect", URL, "--expect", US.address).exit_code == Exit.GOOD
    result = dcp("connect", URL, "--expect", JACK.address, "--json")
    error = json.loads(result.stderr)["error"]
    assert (result.exit_code, error["reason"]) == (Exit.REFUSED, "EADDRCHANGE")
    assert f"the target has the address {US.address}, and {JACK.address} is expected" in error["message"]


def test_a_targets_address_is_remembered(
    postroom: Postroom, keys: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    posted = PostedBank()
    monkeypatch.setattr(connection, "HttpsTransport", lambda url, **_: posted.transport(url))
    command = ("dcp", "connect", POSTED_URL, "--key", "owner-key.json")
    assert postroom(*command).exit_code == Exit.GOOD
    assert json.loads((tmp_path / ".dcp" / "identity-cache.json").read_text()) == {POSTED_URL: f"0x{US.address}"}
    posted.bank = posted.bank.restarted(identities=(JACK,))
    result = postroom(*command)
    assert result.exit_code == Exit.REFUSED
    assert result.stderr == (
        f"postroom: EADDRCHANGE: the target has the address {JACK.address}, and {US.address} is expected; if that is "
        "right, name the new one by --expect, or delete ~/.dcp/identity-cache.json\n"
    )
    assert postroom(*command, "--expect", JACK.address).exit_code == Exit.GOOD


def test_the_identity_of_a_local_stack_is_not_remembered(dcp: RunDcp, tmp_path: Path) -> None:
    assert dcp("connect", URL).exit_code == Exit.GOOD
    assert not (tmp_path / ".dcp").exists()


def test_another_version_is_a_refusal(dcp: RunDcp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("postroom.protocols.dcp.initiator.VERSION", "5.0.0")
    result = dcp("connect", URL)
    assert (result.exit_code, result.stderr) == (Exit.REFUSED, "postroom: EVERSION: ^4.0.0\n")


@pytest.mark.parametrize(
    ("url", "exit_", "sentence"),
    [
        ("http://nlweb.shop.com/dcp", Exit.USAGE, "no transport is known for 'http://nlweb.shop.com/dcp'"),
        ("https://nlweb.shop.com/dcp?a", Exit.USAGE, "the target's URL is 'https://nlweb.shop.com/dcp?a'"),
        ("https://other.example/dcp", Exit.UNAVAILABLE, "The certificate of other.example is not accepted"),
    ],
)
def test_a_target_that_cannot_be_reached_is_one_sentence(dcp: RunDcp, url: str, exit_: Exit, sentence: str) -> None:
    result = dcp("connect", url)
    assert (result.exit_code, result.stdout) == (exit_, "")
    assert sentence in result.stderr


@pytest.mark.parametrize("option", [(), ("--json",)], ids=["people", "programs"])
def test_a_hostile_refusal_neither_controls_the_terminal_nor_begins_a_line(
    dcp: RunDcp, served: ServedApi, monkeypatch: pytest.MonkeyPatch, option: tuple[str, ...]
) -> None:
    """Also what is logged: commands configure no logging, and Python's last resort is standard error."""

    def refuse(reply: HttpResponse) -> HttpResponse:
        connect = json.loads(reply.body)["body"]
        refused = response_body(connect["id"], ErrorPayload("Error", HOSTILE * 1000, HOSTILE), now=0, dcpsid=None)
        return replace(reply, body=sign_body(answer_body([refused], dcpsid=None, nonce=None, batch_id=None), JACK))

    served.change = refuse
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    result = dcp("connect", URL, *option)
    assert (result.exit_code, result.stdout) == (Exit.REFUSED, "")
    lines = result.stderr.removesuffix("\n").split("\n")
    assert len(lines) == 2, "what is logged, and the error"
    assert all(line.isprintable() for line in lines)
    if option:
        assert [list(json.loads(line)) for line in lines] == [["note"], ["error"]]
    else:
        assert all(line.startswith("postroom: ") for line in lines)


# --- send ------------------------------------------------------------------------------------------------------------


def test_a_request_is_authorized_by_the_key_and_its_result_is_json(dcp: RunDcp, bank: Bank) -> None:
    result = dcp("send", URL, "status", '{"query": {}}', "--mailbox", "bob.example")
    assert (result.exit_code, json.loads(result.stdout)) == (Exit.GOOD, {"resources": [OWNER.address]})
    assert bank.done == [("status", {"mailbox": "bob.example", "query": {}})]


def test_other_keys_can_authorize_it(dcp: RunDcp) -> None:
    result = dcp("send", URL, "status", "--authorize", "wes-key.json", "--authorize", "jack-key.json")
    assert json.loads(result.stdout) == {"resources": sorted([WES.address, JACK.address])}


@pytest.mark.parametrize(("option", "printed"), [((), "done\n"), (("--json",), "null\n")], ids=["people", "programs"])
def test_a_request_without_a_result_is_done(dcp: RunDcp, bank: Bank, option: tuple[str, ...], printed: str) -> None:
    bank.perform_with = lambda admitted: None
    assert dcp("send", URL, "add", *option).stdout == printed


def test_half_of_a_surrogate_pair_in_a_result_is_an_escape(dcp: RunDcp, bank: Bank) -> None:
    bank.perform_with = lambda admitted: "\ud83d ☀"
    assert dcp("send", URL, "add").stdout == '"\\ud83d \\u2600"\n'


@pytest.mark.parametrize(
    ("error", "exit_", "code"),
    [
        (TheirError(DCP_OPERATION_UNKNOWN), Exit.REFUSED, "EINVAL"),
        (NotNowError(STORE_UNAVAILABLE), Exit.UNAVAILABLE, "StoreUnavailable"),
    ],
    ids=["for good", "for now"],
)
def test_a_refusal_has_the_code_of_the_target(
    dcp: RunDcp, bank: Bank, error: Exception, exit_: Exit, code: str
) -> None:
    def refuse(_admitted: object) -> Any:
        raise error

    bank.perform_with = refuse
    result = dcp("send", URL, "frobnicate", "--json")
    told = json.loads(result.stderr)["error"]
    assert (result.exit_code, result.stdout, told["reason"]) == (exit_, "", code)
    assert told["message"].startswith(f"{code}: ")


def test_a_message_that_is_refused_as_a_whole_is_a_refusal(dcp: RunDcp, served: ServedApi, bank: Bank) -> None:
    served.change = lambda reply: problem(TheirError(DCP_ID_MISSING)) if bank.done else reply
    result = dcp("send", URL, "add")
    assert (result.exit_code, result.stdout) == (Exit.REFUSED, "")
    assert result.stderr.startswith("postroom: DcpIdMissing: ")


def test_an_answer_that_is_lost_leaves_the_outcome_unknown(
    dcp: RunDcp, served: ServedApi, bank: Bank, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(target, "ATTEMPTS", 1)
    lost = HttpResponse(503, "application/json")
    served.change = lambda reply: lost if bank.done else reply
    result = dcp("send", URL, "add", "1")
    assert (result.exit_code, bank.done) == (Exit.UNAVAILABLE, [("add", 1)])
    assert "the session ended without an answer" in result.stderr
    assert result.stderr.endswith("; what was requested may have been done, or not\n")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("add", "{"), "the data is not JSON"),
        (("add", "--authorize", "absent.json"), "absent.json: No such file"),
        (("add", "--expect", "bob.eth"), "an Ethereum address has 40 hex digits"),
    ],
    ids=" ".join,
)
def test_nothing_is_sent_for_a_wrong_command_line(
    dcp: RunDcp, served: ServedApi, words: tuple[str, ...], sentence: str
) -> None:
    result = dcp("send", URL, *words)
    assert result.exit_code == (Exit.NOT_FOUND if "No such" in sentence else Exit.USAGE)
    assert sentence in " ".join(result.stderr.split())
    assert served.asked == []


def posted(served: ServedApi) -> list[Any]:
    """The messages that the guardian got."""
    assert isinstance(served.api, BankApi)
    return [json.loads(data) for data in served.api.posted.posted]


def test_a_request_for_javascript_has_0x_before_addresses_and_a_ttl(dcp: RunDcp, served: ServedApi) -> None:
    result = dcp("send", URL, "status", "--hex-prefix")
    assert (result.exit_code, json.loads(result.stdout)) == (Exit.GOOD, {"resources": [OWNER.address]})
    owner = f"0x{OWNER.address}"
    connecting, requesting, *_ = messages = posted(served)
    assert {message["owner"] for message in messages} == {owner}
    payload = requesting["body"]["payload"]
    assert connecting["body"]["payload"]["operation"] == "connect"
    assert payload["allow"] == [{"resource": owner, "guardian": f"0x{US.address}", "accessor": owner}]
    assert (list(requesting["body"]["auth"]), payload["validity"]["ttl"]) == ([owner], 60)


# --- cheques ---------------------------------------------------------------------------------------------------------


def test_the_guardian_at_a_url_proves_its_address(cheque: str) -> None:
    (entry,) = json.loads(cheque)["payload"]["allow"]
    assert entry == {"resource": OWNER.address, "guardian": US.address, "accessor": WES.address}


def test_its_holder_presents_a_cheque_once(dcp: RunDcp, bank: Bank, cheque: str, tmp_path: Path) -> None:
    (tmp_path / "cheque.json").write_text(cheque)
    first = dcp("present", URL, "cheque.json", key="wes")
    assert (first.exit_code, json.loads(first.stdout)) == (Exit.GOOD, {"resources": [OWNER.address]})
    again = dcp("present", URL, "-", key="wes", input=cheque)
    assert (again.exit_code, again.stdout) == (Exit.REFUSED, "")
    assert again.stderr == "postroom: EDUP: A request with the same stamp was received before.\n"
    assert bank.done == [("withdraw", 7)]


def test_who_carries_a_cheque_presents_it_in_vain_and_is_told_whose_it_is(dcp: RunDcp, bank: Bank, cheque: str) -> None:
    def only_resources(admitted: Any) -> Any:
        if not admitted.resources:
            raise TheirError(DCP_OPERATION_UNKNOWN, "not authorized")
        return bank.record(admitted)

    bank.perform_with = only_resources
    result = dcp("present", URL, "-", key="jack", input=cheque)
    assert result.exit_code == Exit.REFUSED
    assert result.stderr.endswith(
        f"; the cheque is for 0x{WES.address}, and your key is that of 0x{JACK.address}\n"
    )  # fmt: skip
    assert dcp("present", URL, "-", key="wes", input=cheque).exit_code == Exit.GOOD


def test_a_cheque_whose_time_is_over_is_refused(dcp: RunDcp, cheque: str) -> None:
    late = json.loads(cheque)
    late["payload"]["validity"]["time"] -= 311
    result = dcp("present", URL, "-", "--json", key="wes", input=json.dumps(late))
    assert (result.exit_code, json.loads(result.stderr)["error"]["reason"]) == (Exit.REFUSED, "EEXPIRED")


def test_a_cheque_is_presented_to_javascript_as_it_is_and_what_else_is_sent_has_a_ttl(
    dcp: RunDcp, served: ServedApi, cheque: str
) -> None:
    served.api.posted.posted.clear()  # type: ignore[attr-defined]  # it is a BankApi
    assert dcp("present", URL, "-", "--hex-prefix", key="wes", input=cheque).exit_code == Exit.GOOD
    _, presenting, closing = messages = posted(served)
    assert {message["owner"] for message in messages} == {f"0x{WES.address}"}
    assert {name: presenting["body"][name] for name in ("payload", "auth")} == json.loads(cheque)
    payload = closing["body"]["payload"]
    assert (payload["operation"], payload["validity"]["ttl"]) == ("close", 60)


@pytest.mark.parametrize("text", ["junk", "{}", '{"payload": {"operation": ""}}', "[]"])
def test_what_is_no_cheque_is_not_sent(dcp: RunDcp, served: ServedApi, text: str) -> None:
    result = dcp("present", URL, "-", key="wes", input=text)
    assert (result.exit_code, served.asked) == (Exit.USAGE, [])
    assert result.stderr.startswith("postroom: standard input is not a cheque: ")
    assert result.stderr.endswith("; `postroom dcp inspect` shows each check\n")


# --- the page --------------------------------------------------------------------------------------------------------

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "dcp.md").read_text(encoding="utf-8")


def test_the_commands_of_the_page_run_as_printed(
    postroom: Postroom, served: ServedApi, bank: Bank, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("POSTROOM_KEY_PASSPHRASE", PASSPHRASE)
    monkeypatch.setitem(lock.__kwdefaults__, "work", 2)  # keystores that open in no time
    monkeypatch.setenv("POSTROOM_LOCAL", str(served.local))
    block, *_ = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    for line in block.replace(POSTED_URL, URL).splitlines():
        wes = tmp_path / "wes-key.json"
        address = json.loads(wes.read_text())["address"] if wes.exists() else ""
        result = postroom(*shlex.split(line.replace("$WES", f"0x{address}"))[1:])
        assert result.exit_code == Exit.GOOD, (line, result.output)
    assert bank.done == [("pay", {"amount": 7})] * 2
    assert postroom(*shlex.split(line)[1:]).stderr.startswith("postroom: EDUP: ")
