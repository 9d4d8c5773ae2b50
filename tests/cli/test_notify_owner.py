"""`postroom mailbox notify --at`: the owner says over HTTPS who is told, and sees what an operator sees."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from tests.aws import Deployed
from tests.aws import clients as clients
from tests.aws import deployed as deployed
from tests.cli.conftest import Postroom
from tests.cli.served_api import URL, ServedApi, serve
from tests.http.api_stack import SHOP, SHOP_KEY, ApiStack

from postroom.crypto.rsa_ed25519 import PrivateKey

HOOK = "https://hook.example/mail"
Notify = Callable[..., Result]


@pytest.fixture
def served(deployed: Deployed, tmp_path: Path) -> Iterator[ServedApi]:
    (tmp_path / "shop.pem").write_bytes(SHOP_KEY.to_pem())
    (tmp_path / "eve.pem").write_bytes(PrivateKey.generate("ed25519").to_pem())
    with serve(ApiStack(deployed), tmp_path) as running:
        yield running


@pytest.fixture
def notify(postroom: Postroom, served: ServedApi) -> Notify:
    """`postroom mailbox notify` of shop.com's owner."""
    there = ("--at", URL, "--local", str(served.local))
    return lambda *arguments, key="shop.pem": postroom("mailbox", "notify", *arguments, *there, "--key", key)


def printed(result: Result) -> Any:
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_a_target_is_added_verified_rotated_listed_resumed_and_removed(notify: Notify, served: ServedApi) -> None:
    targets = served.api.targets
    made = printed(notify("add", SHOP, HOOK, "--json"))
    assert (made["kind"], made["to"], made["state"]) == ("webhook", HOOK, "unverified")
    target = targets.find(SHOP, made["id"])
    assert target is not None
    assert served.api.webhook_keys.secret(target) == made["secret"]
    assert notify("verify", SHOP, made["id"]).stdout.endswith(", another code was sent to it\n")
    target = targets.find(SHOP, made["id"])
    assert target is not None
    code = served.api.webhook_keys.code(target)
    assert notify("verify", SHOP, made["id"], code).stdout == (
        f"{made['id']}: webhook {HOOK}, it will be notified\n"
    )  # fmt: skip
    rotated = notify("rotate", SHOP, made["id"]).stdout
    assert "    its secret, which is not shown again: whsec_" in rotated
    assert made["secret"] not in rotated
    [listed] = printed(notify("list", SHOP, "--json"))
    assert (listed["id"], listed["state"], "secret" in listed) == (made["id"], "active", False)
    targets.pause(target, "it answered 500")
    assert f"{made['id']}  webhook  {HOOK}  paused  it answered 500" in notify("list", SHOP).stdout
    assert notify("resume", SHOP, made["id"]).stdout.endswith(", active\n")
    assert printed(notify("remove", SHOP, made["id"], "--json")) == {"mailbox": SHOP, "removed": made["id"]}
    assert printed(notify("list", SHOP, "--json")) == []


def test_a_topic_is_named_by_its_arn(notify: Notify) -> None:
    made = printed(notify("add", SHOP, "arn:aws:sns:eu-west-1:123456789012:mail-shop", "--json"))
    assert (made["kind"], "secret" in made) == ("sns", False)
    refused = notify("rotate", SHOP, made["id"])
    assert (refused.exit_code, "a topic has no secret of ours" in refused.stderr) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (("add", SHOP, "http://hook.example/"), "TargetInvalid", "the URL is not of the form https://host/path"),
        (
            ("add", SHOP, "arn:aws:sns:eu-west-1:123456789012:other"),
            "NotificationNotOffered",
            "may not publish to this topic",
        ),
        (("remove", SHOP, "0x"), "TargetUnknown", "no such notification target"),
        (("remove", SHOP, "../status"), "TargetUnknown", "'../status' is not the id of a target"),
        (("verify", SHOP, "0x", "AAAAAAAA"), "TargetUnknown", "no such notification target"),
    ],
)
def test_a_refusal_is_one_sentence(notify: Notify, arguments: tuple[str, ...], code: str, sentence: str) -> None:
    result = notify(*arguments)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(f"postroom: {code}: "), result.stderr
    assert sentence in result.stderr


def test_only_the_owner_sets_notification_targets(notify: Notify, served: ServedApi) -> None:
    for arguments in (("list", SHOP), ("add", SHOP, HOOK)):
        refused = notify(*arguments, key="eve.pem")
        assert (refused.exit_code, refused.stdout) == (1, "")
        assert refused.stderr.startswith("postroom: NotTheOwner: ")
    assert served.api.targets.of(SHOP) == []


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--at", URL), "add --key FILE"),
        (("--key", "shop.pem"), "add --at URL"),
        (("--ca-file", "ca.pem"), "add --at URL"),
        (("--at", "http://nlweb.shop.com", "--key", "shop.pem"), "it must be https:// and the mailbox's host"),
    ],
)
def test_an_incomplete_address_of_the_post_office_is_a_usage_error(
    postroom: Postroom, served: ServedApi, options: tuple[str, ...], sentence: str
) -> None:
    result = postroom("mailbox", "notify", "list", SHOP, *options)
    assert (result.exit_code, sentence in result.stderr) == (2, True), result.stderr
    assert served.asked == []
