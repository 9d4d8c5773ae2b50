"""`postroom send --via`: to a mailbox API over HTTPS, with a key of the mailbox's owner."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.aws import Deployed
from tests.aws import clients as clients
from tests.aws import deployed as deployed
from tests.cli.conftest import FakeDns, Postroom
from tests.cli.served_api import HOST, URL, serve
from tests.http.api_stack import NOW, SHOP, SHOP_KEY, ApiStack

from postroom.api.challenges import Purpose
from postroom.api.states import State
from postroom.http.sign_in import SignIn
from postroom.http.tokens import Tokens
from postroom.outbound.outbox_messages import Outgoing
from postroom.outbound.queue_messages import read_queue_message
from postroom.storage.mail.outbox import DeliveryEnd

pytestmark = pytest.mark.usefixtures("no_pauses")


@dataclass
class OutboxStack:
    """A mailbox API, how to reach it, and what happens before each look at a message's state. `away`: it accepts
    no message."""

    api: ApiStack
    options: tuple[str, ...] = ()
    before_looks: list[Callable[[str], None]] = field(default_factory=list)
    away: bool = False

    @property
    def queued(self) -> list[Outgoing]:
        found = [read_queue_message(body) for body in self.api.deployed.bodies("CourierQueue")]
        return [each for each in found if isinstance(each, Outgoing)]

    def ends(self, end: DeliveryEnd) -> Callable[[str], None]:
        rows = self.api.deployed.storage.outbox
        return lambda correlation: rows.finish(SHOP, correlation, end)


@pytest.fixture
def outbox_stack(fake_dns: FakeDns, deployed: Deployed, tmp_path: Path) -> Iterator[OutboxStack]:
    found = OutboxStack(ApiStack(deployed))
    fake_dns.tree.put("shop.com", "nlweb IN A 127.0.0.1\n")
    (tmp_path / "owner.pem").write_bytes(SHOP_KEY.to_pem())
    (tmp_path / "other.pem").write_bytes(fake_dns.key.to_pem())

    def before(asked: str) -> int | None:
        if "/outbox/" in asked and found.before_looks:
            found.before_looks.pop(0)(asked.rpartition("/")[2])
        return 503 if found.away and asked.startswith("POST") else None

    with serve(found.api, tmp_path) as served:
        served.before = before
        found.options = (
            "--via", URL, "--as", SHOP, "--key", "owner.pem", "--to", "receiver.example", "--subject", "Hello@Host",
            "--resolver", fake_dns.resolver, "--ca-file", str(served.ca_file), "--port", str(served.port),
        )  # fmt: skip
        yield found


def test_a_body_is_sent_through_the_outbox_of_the_owner_who_signs_in(
    postroom: Postroom, outbox_stack: OutboxStack
) -> None:
    result = postroom("send", "-", "--json", *outbox_stack.options, input='{"Say": "hi 🤝"}')
    assert result.exit_code == 0, result.output
    printed = json.loads(result.stdout)
    [outgoing] = outbox_stack.queued
    assert (printed["state"], printed["correlation"]) == ("queued", outgoing.draft.correlation)
    assert (outgoing.draft.sender, outgoing.draft.receiver) == (SHOP, "receiver.example")
    assert (outgoing.draft.subject, outgoing.draft.body) == ("Hello@Host", {"Say": "hi 🤝"})


def test_a_message_repeated_with_one_token_is_sent_once(postroom: Postroom, outbox_stack: OutboxStack) -> None:
    first, second = (
        postroom("send", "-", "--json", "--token", "t1", *outbox_stack.options, input="1").stdout for _ in range(2)
    )
    assert first == second
    assert len(outbox_stack.queued) == 1
    other = postroom("send", "-", "--json", "--token", "t1", *outbox_stack.options, input="2")
    assert (other.exit_code, other.stdout) == (1, "")
    assert json.loads(other.stderr)["error"]["reason"] == "TokenReused"


@pytest.mark.parametrize(("state", "code"), [(State.DELIVERED, 0), (State.REFUSED, 1), (State.GIVEN_UP, 3)])
def test_the_command_waits_for_the_result_and_returns_it_as_exit_code(
    postroom: Postroom, outbox_stack: OutboxStack, state: State, code: int
) -> None:
    outbox_stack.before_looks = [
        lambda _: None,
        outbox_stack.ends(DeliveryEnd(state, int(NOW * 1000), "Why", "Because\x1b.", "")),
    ]
    result = postroom("send", "-", "--wait", "60", *outbox_stack.options, input="1")
    assert result.exit_code == code, result.output
    assert result.stdout.splitlines()[0] == str(state)
    assert "  reason: Why\n  detail: Because\\x1b.\n" in result.stdout


def test_a_body_that_is_not_json_is_a_usage_error(postroom: Postroom, outbox_stack: OutboxStack) -> None:
    result = postroom("send", "-", "--json", *outbox_stack.options, input="{")
    said = json.loads(result.stderr)["error"]
    assert (result.exit_code, said["code"], said["reason"]) == (2, "usage", "NotJson")
    assert outbox_stack.queued == []


def test_only_the_owner_can_send(postroom: Postroom, outbox_stack: OutboxStack) -> None:
    result = postroom("send", "-", *outbox_stack.options, "--key", "other.pem", input="1")
    assert (result.exit_code, result.stdout, outbox_stack.queued) == (1, "", [])
    assert result.stderr.startswith("postroom: NotTheOwner: ")


@pytest.mark.parametrize(
    "other",
    [lambda tokens: "x", lambda tokens: '{"Header":{"From":"shop.com"}}',
     lambda tokens: tokens.challenge(SHOP, "nlweb.other.com", Purpose.PICK_UP),
     lambda tokens: tokens.challenge("other.com", HOST, Purpose.PICK_UP),
     lambda tokens: tokens.challenge(SHOP, HOST, Purpose.OPEN), lambda tokens: tokens.token(SHOP, HOST, "key", 0)],
    ids=["no challenge", "an envelope", "another host's", "another mailbox's", "for opening", "a token"],
)  # fmt: skip
def test_only_a_challenge_of_this_host_for_this_mailbox_is_signed(
    postroom: Postroom, outbox_stack: OutboxStack, monkeypatch: pytest.MonkeyPatch, other: Callable[[Tokens], str]
) -> None:
    asked = other(outbox_stack.api.tokens)
    monkeypatch.setattr(SignIn, "challenge", lambda *_: asked)
    result = postroom("send", "-", *outbox_stack.options, input="1")
    assert result.exit_code == 3
    assert "did not send a valid challenge for shop.com; nothing was signed" in result.stderr
    assert outbox_stack.queued == []


def test_an_unavailable_post_office_prints_the_token_for_a_retry(postroom: Postroom, outbox_stack: OutboxStack) -> None:
    outbox_stack.away = True
    result = postroom("send", "-", "--token", "t1", *outbox_stack.options, input="1")
    assert result.exit_code == 3
    assert "repeat it with --token t1; it will be sent only once" in result.stderr
    outbox_stack.away = False
    assert postroom("send", "-", "--token", "t1", *outbox_stack.options, input="1").exit_code == 0
    assert len(outbox_stack.queued) == 1


def test_a_missing_host_is_reported(postroom: Postroom, outbox_stack: OutboxStack) -> None:
    result = postroom("send", "-", *outbox_stack.options, "--via", "https://nowhere.example", input="1")
    assert (result.exit_code, result.stderr) == (
        5,
        "postroom: the resolver says that there is no host nowhere.example\n",
    )


@pytest.mark.parametrize("left_out", ["--as", "--key", "--to", "--subject"])
def test_missing_options_are_named(postroom: Postroom, outbox_stack: OutboxStack, left_out: str) -> None:
    at = outbox_stack.options.index(left_out)
    result = postroom("send", "-", *outbox_stack.options[:at], *outbox_stack.options[at + 2 :], input="1")
    assert result.exit_code == 2
    assert f"use {left_out}, too" in result.stderr
    assert outbox_stack.queued == []


def test_outbox_options_cannot_be_used_with_an_envelope(postroom: Postroom, outbox_stack: OutboxStack) -> None:
    result = postroom("send", "-", "--subject", "Hello@Host", input="{}")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--via URL" in result.stderr
