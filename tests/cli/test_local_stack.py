"""The local stack of this folder: found by every command that could use it, unless something else is named."""

import json
import socket
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.aws import clients as clients
from tests.aws import deployed as deployed
from tests.cli.conftest import FakeDns, Postroom
from tests.cli.served_api import URL, ServedApi, serve
from tests.http.api_stack import SHOP, SHOP_KEY, ApiStack
from tests.http.conftest import api as api

from postroom.cli.descriptor import DEFAULT_PATH, Descriptor
from postroom.cli.local_stack import LocalOptions
from postroom.local.ports import free_port

NOTE = "postroom: using the local stack of .postroom/local.json\n"
KEY_NAME = "nlweb._domainkey.sender.example"


@pytest.fixture
def here(fake_dns: FakeDns, tmp_path: Path) -> Iterator[Descriptor]:
    """A stack runs in this folder: its DNS is the fake DNS, and its AWS is a port where somebody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        endpoint = f"http://127.0.0.1:{listening.getsockname()[1]}"
        descriptor = Descriptor(fake_dns.resolver, fake_dns.tree.anchor_text, "", 1, endpoint, "", {})
        descriptor.write(tmp_path / DEFAULT_PATH)
        yield descriptor


def test_verify_and_lookup_use_the_local_stack_and_say_so(
    postroom: Postroom, envelope: Callable[..., str], here: Descriptor
) -> None:
    for result in (postroom("verify", "-", input=envelope()), postroom("dns", "lookup", KEY_NAME)):
        assert (result.exit_code, result.stderr) == (0, NOTE), result.output


def test_the_doctor_uses_the_local_stack(postroom: Postroom, here: Descriptor) -> None:
    checks = json.loads(postroom("doctor", "sender.example", "--json").stdout)["checks"]
    assert next(check for check in checks if check["name"].startswith("key"))["status"] == "good"


def test_another_resolver_overrides_the_local_stack(postroom: Postroom, fake_dns: FakeDns, here: Descriptor) -> None:
    result = postroom("dns", "lookup", KEY_NAME, "--resolver", fake_dns.silent_resolver)
    assert (result.exit_code, NOTE in result.stderr) == (3, False)


def test_aws_settings_in_the_environment_override_the_local_stack(
    here: Descriptor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("POSTROOM_STACK", raising=False)
    assert LocalOptions().stack() == DEFAULT_PATH
    monkeypatch.setenv("POSTROOM_STACK", "shop")
    assert LocalOptions().stack() is None
    assert LocalOptions(local=Path("other")).stack() == Path("other")


def test_a_stack_that_was_killed_is_ignored(here: Descriptor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("POSTROOM_STACK", raising=False)
    replace(here, endpoint=f"http://127.0.0.1:{free_port()}").write(DEFAULT_PATH)
    assert LocalOptions().stack() is None


def test_the_local_stack_is_named_once_for_a_command(
    here: Descriptor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("POSTROOM_STACK", raising=False)
    options = LocalOptions()
    assert [options.stack(), options.stack()] == [DEFAULT_PATH] * 2
    assert capsys.readouterr().err == NOTE


@pytest.fixture
def served(api: ApiStack, tmp_path: Path) -> Iterator[ServedApi]:
    """A post office that the stack of this folder leads to."""
    with serve(api, tmp_path) as served:
        printed = json.loads(served.local.read_text()) | {"endpoint": f"http://127.0.0.1:{served.port}"}
        (tmp_path / DEFAULT_PATH).parent.mkdir()
        (tmp_path / DEFAULT_PATH).write_text(json.dumps(printed))
        (tmp_path / "owner.pem").write_bytes(SHOP_KEY.to_pem())
        yield served


def test_environment_variables_name_an_owners_post_office_key_and_archive(
    postroom: Postroom, served: ServedApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"AT": URL, "KEY": "owner.pem", "HOME": "mail"}.items():
        monkeypatch.setenv(f"POSTROOM_{name}", value)
    for command in (
        ("read", SHOP), ("mailbox", "settings", SHOP), ("mailbox", "notify", "list", SHOP), ("archive", "pull", SHOP),
        ("archive", "list"),
    ):  # fmt: skip
        result = postroom(*command)
        assert result.exit_code == 0, (command, result.output)
        # An archive in a folder needs no post office.
        assert result.stderr == ("" if command == ("archive", "list") else NOTE)


def test_an_option_for_a_stack_overrides_the_environments_post_office(
    postroom: Postroom, served: ServedApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSTROOM_AT", URL)
    monkeypatch.setenv("POSTROOM_KEY", "owner.pem")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "nobody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "nothing")
    result = postroom("read", SHOP, "--stack-name", "shop")
    assert (result.exit_code, "the request to AWS failed" in result.stderr, served.asked) == (3, True, [])


def test_the_environments_key_does_not_turn_an_envelope_into_a_draft(
    postroom: Postroom, envelope: Callable[..., str], here: Descriptor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSTROOM_KEY", "owner.pem")
    result = postroom("send", "-", input=envelope())
    assert "leave these out" not in result.stderr
