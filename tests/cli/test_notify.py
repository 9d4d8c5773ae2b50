"""`postroom mailbox notify`: who is told that something waits, set by an operator."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from click.testing import Result
from tests.cli.conftest import Postroom, StorageStack

from postroom.outbound.notification_messages import Notification
from postroom.outbound.queue_messages import read_queue_message
from postroom.storage.directory.notification_targets import NotificationTargets
from postroom.storage.secrets.webhook_keys import WebhookKeys

pytestmark = pytest.mark.xdist_group("cli-storage")

SHOP, URL = "notified.example", "https://hook.example/mail"
Operate = Callable[..., Result]


@pytest.fixture
def targets(storage_stack: StorageStack) -> NotificationTargets:
    return storage_stack.storage.targets


@pytest.fixture
def operate(postroom: Postroom, storage_stack: StorageStack, targets: NotificationTargets) -> Iterator[Operate]:
    yield lambda *arguments: postroom("mailbox", "notify", *arguments, *storage_stack.options)
    for target in targets.of(SHOP):
        targets.remove(SHOP, target.id)


def printed(result: Result) -> Any:
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_a_target_is_added_verified_rotated_listed_and_removed(
    operate: Operate, storage_stack: StorageStack, targets: NotificationTargets
) -> None:
    made = printed(operate("add", SHOP, URL, "--json"))
    assert (made["kind"], made["to"], made["state"]) == ("webhook", URL, "unverified")
    assert made["secret"].startswith("whsec_")
    sqs, url = storage_stack.clients("sqs"), storage_stack.outputs["CourierQueueUrl"]
    queued = [read_queue_message(each["Body"]) for each in sqs.receive_message(QueueUrl=url).get("Messages", [])]
    assert [(each.target, each.challenge) for each in queued if isinstance(each, Notification)] == [(made["id"], 1)]
    target = targets.find(SHOP, made["id"])
    assert target is not None
    keys = WebhookKeys(storage_stack.clients("secretsmanager"), storage_stack.outputs["WebhookKeysSecret"], lambda: 0.0)
    assert keys.secret(target) == made["secret"]
    assert "it will be notified" in operate("verify", SHOP, made["id"], keys.code(target)).stdout
    rotated = operate("rotate", SHOP, made["id"]).stdout
    assert "its secret, which is not shown again: whsec_" in rotated
    assert made["secret"] not in rotated
    [listed] = printed(operate("list", SHOP, "--json"))
    assert (listed["state"], "secret" in listed) == ("active", False)
    targets.pause(target, "it answered 500")
    assert "it answered 500" in operate("list", SHOP).stdout
    assert operate("resume", SHOP, made["id"]).stdout.endswith(", active\n")
    assert printed(operate("remove", SHOP, made["id"], "--json")) == {"mailbox": SHOP, "removed": made["id"]}
    assert printed(operate("list", SHOP, "--json")) == []


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("add", SHOP, "http://hook.example/"), "the URL is not of the form https://host/path"),
        (("add", SHOP, "https://10.0.0.1/"), "the URL's host is not a host name"),
        (("add", SHOP, "arn:aws:sns:eu-west-1:123456789012:mail"), "does not publish to SNS topics"),
        (("add", "a..b", URL), "'a..b' is not a name such as"),
        (("remove", SHOP, "0x"), "no such notification target"),
        (("verify", SHOP, "0x", "AAAAAAAA"), "no such notification target"),
    ],
)
def test_a_usage_error_is_one_sentence(operate: Operate, arguments: tuple[str, ...], sentence: str) -> None:
    result = operate(*arguments)
    assert (result.exit_code, sentence in result.stderr) == (2, True), result.stderr


def test_a_wrong_code_is_one_sentence(operate: Operate) -> None:
    made = printed(operate("add", SHOP, URL, "--json"))
    result = operate("verify", SHOP, made["id"], "AAAAAAAA")
    assert (result.exit_code, "The code is not the last one" in result.stderr) == (2, True)
    assert "another code was sent" in operate("verify", SHOP, made["id"]).stdout
