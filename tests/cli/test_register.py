"""`postroom mailbox register`: whom a name's profile belongs to opens its mailbox, over HTTPS."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import Result
from tests.aws import Deployed
from tests.aws import clients as clients
from tests.aws import deployed as deployed
from tests.cli.conftest import Postroom
from tests.cli.served_api import URL, ServedApi, serve
from tests.http.api_stack import BOB_KEY, ApiStack

from postroom.client.mailbox import Retries
from postroom.crypto.x25519 import EncryptionKey
from postroom.protocols.dm3.keys import UserKeys

CAROL = "carol.eth"
Register = Callable[..., Result]


@pytest.fixture
def served(deployed: Deployed, tmp_path: Path) -> Iterator[ServedApi]:
    """The mailbox API of ds.eth, which opens mailboxes; Carol has a profile that names it, and no mailbox."""
    keys = UserKeys.random()
    api = ApiStack(deployed, service="ds.eth")
    api.users.keys[CAROL] = keys.signing
    for name, its in (("carol.json", keys), ("bob.json", UserKeys(BOB_KEY, EncryptionKey.generate()))):
        (tmp_path / name).write_text(json.dumps(its.as_json()))
    with serve(api, tmp_path) as running:
        yield running


@pytest.fixture
def register(postroom: Postroom, served: ServedApi) -> Register:
    there = ("--at", URL, "--local", str(served.local))
    return lambda *more, key="carol.json": postroom("mailbox", "register", CAROL, *there, "--key", key, *more)


def is_open(served: ServedApi) -> bool:
    return CAROL in {mailbox.name for mailbox in served.api.operators.dm3_mailboxes()}


def test_a_mailbox_is_opened_and_its_owner_can_sign_in(
    register: Register, served: ServedApi, postroom: Postroom
) -> None:
    assert not is_open(served)
    opened = register()
    assert (opened.exit_code, opened.stdout, opened.stderr) == (0, f"{CAROL}: open\n", "")
    assert is_open(served)
    read = postroom("read", CAROL, "--at", URL, "--local", str(served.local), "--key", "carol.json")
    assert (read.exit_code, read.stdout) == (0, f"there are no messages in {CAROL}\n")


def test_opening_an_open_mailbox_changes_nothing(register: Register, served: ServedApi) -> None:
    register()
    before = served.api.deployed.rows("DirectoryTable")
    assert json.loads(register("--json").stdout) == {"name": CAROL, "open": True}
    assert served.api.deployed.rows("DirectoryTable") == before


def test_another_key_opens_no_mailbox(register: Register, served: ServedApi) -> None:
    refused = register(key="bob.json")
    assert (refused.exit_code, refused.stdout, is_open(served)) == (1, "", False)
    assert refused.stderr.startswith("postroom: NotTheOwner: ")


def test_a_profile_that_names_another_service_opens_no_mailbox(register: Register, served: ServedApi) -> None:
    served.api.users.services = ("other.eth",)
    refused = register()
    assert (refused.exit_code, refused.stdout, is_open(served)) == (1, "", False)
    assert refused.stderr.startswith("postroom: OpeningRefused: ")
    assert "its profile does not name ds.eth" in refused.stderr


def test_while_the_registry_is_unavailable_no_mailbox_is_opened(
    register: Register, served: ServedApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Retries, "pause", lambda *_: 0.0)
    served.api.users.away = True
    late = register()
    assert (late.exit_code, late.stdout, is_open(served)) == (3, "", False)
    assert late.stderr.startswith("postroom: ProfileLookupFailed: ")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ((CAROL, "--key", "carol.json"), "--at"),
        ((CAROL, "--at", URL), "--key"),
        (("a..b", "--at", URL, "--key", "carol.json"), "'a..b' is not a name such as"),
        ((CAROL, "--at", "dm3.receiver.example", "--key", "carol.json"), "it must be https:// and the mailbox's host"),
        ((CAROL, "--at", URL, "--key", "local.json"), "has no keys"),
    ],
)
def test_a_usage_error_is_one_sentence_without_a_request(
    postroom: Postroom, served: ServedApi, options: tuple[str, ...], sentence: str
) -> None:
    result = postroom("mailbox", "register", *options)
    assert (result.exit_code, sentence in result.stderr) == (2, True), result.stderr
    assert served.asked == []
