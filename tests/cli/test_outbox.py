"""`postroom send --via`: to a counter over HTTPS, with a key of the mailbox's owner."""

import json
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from tests.aws import Deployed
from tests.aws import clients as clients
from tests.aws import deployed as deployed
from tests.cli.conftest import Postroom, World
from tests.counter.counter import NOW, SHOP, SHOP_KEY, Counter

from postroom.counter.asked import Asked
from postroom.counter.reply import said as said_by_counter
from postroom.counter.tokens import Tokens
from postroom.local.authority import Authority
from postroom.post.notices import read_notice
from postroom.post.outgoing import Outgoing
from postroom.store.outbox import End, Outbox, State

HOST = "nlweb.shop.com"
URL = f"https://{HOST}"


@dataclass
class Office:
    """A counter, how to reach it, and what happens before it is asked what became of a message."""

    counter: Counter
    options: tuple[str, ...] = ()
    before_looks: list[Callable[[str], None]] = field(default_factory=list)

    @property
    def queued(self) -> list[Outgoing]:
        found = [read_notice(body) for body in self.counter.deployed.bodies("CourierQueue")]
        return [each for each in found if isinstance(each, Outgoing)]

    def ends(self, end: End) -> Callable[[str], None]:
        rows = Outbox(self.counter.deployed.clients.dynamodb, self.counter.deployed.tables["OutboxTable"])
        return lambda correlation: rows.finish(SHOP, correlation, end)


@pytest.fixture
def office(world: World, deployed: Deployed, tmp_path: Path) -> Iterator[Office]:
    found = Office(Counter(deployed))
    world.tree.put("shop.com", "nlweb IN A 127.0.0.1\n")
    (tmp_path / "owner.pem").write_bytes(SHOP_KEY.to_pem())
    (tmp_path / "other.pem").write_bytes(world.key.to_pem())

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if "/outbox/" in self.path and found.before_looks:
                found.before_looks.pop(0)(self.path.rpartition("/")[2])
            self._answer(b"")

        def do_POST(self) -> None:
            self._answer(self.rfile.read(int(self.headers["Content-Length"])))

        def _answer(self, body: bytes) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            reply = found.counter.desk.answer(Asked(self.command, self.path, HOST, {}, headers, body))
            self.send_response(reply.status)
            self.send_header("Content-Length", str(len(reply.body)))
            self.end_headers()
            self.wfile.write(reply.body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it
            """Say nothing."""

    authority = Authority(tmp_path / "ca")
    context: ssl.SSLContext = authority.server_context(HOST)
    context.set_alpn_protocols(["http/1.1"])
    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        found.options = (
            "--via", URL, "--as", SHOP, "--key", "owner.pem", "--to", "receiver.example", "--subject", "Hello@Host",
            "--resolver", world.resolver, "--ca-file", str(authority.pem), "--port", str(server.server_port),
            "--allow-private",
        )  # fmt: skip
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield found
        server.shutdown()
        thread.join()


def test_a_body_goes_into_the_outbox_of_who_signs_in(postroom: Postroom, office: Office) -> None:
    result = postroom("send", "-", "--json", *office.options, input='{"Say": "hi 🤝"}')
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    [outgoing] = office.queued
    assert (told["state"], told["correlation"]) == ("queued", outgoing.draft.correlation)
    assert (outgoing.draft.sender, outgoing.draft.receiver) == (SHOP, "receiver.example")
    assert (outgoing.draft.subject, outgoing.draft.body) == ("Hello@Host", {"Say": "hi 🤝"})


def test_said_twice_with_one_token_it_is_sent_once(postroom: Postroom, office: Office) -> None:
    first, second = (
        postroom("send", "-", "--json", "--token", "t1", *office.options, input="1").stdout for _ in range(2)
    )
    assert first == second
    assert len(office.queued) == 1
    other = postroom("send", "-", "--json", "--token", "t1", *office.options, input="2")
    assert (other.exit_code, json.loads(other.stdout)["reason"]) == (1, "TokenReused")


@pytest.mark.parametrize(("state", "code"), [(State.DELIVERED, 0), (State.REFUSED, 1), (State.GIVEN_UP, 3)])
def test_what_becomes_of_it_is_waited_for_and_is_the_exit_code(
    postroom: Postroom, office: Office, state: State, code: int
) -> None:
    office.before_looks = [lambda _: None, office.ends(End(state, int(NOW * 1000), "Why", "Because\x1b.", ""))]
    result = postroom("send", "-", "--wait", "60", *office.options, input="1")
    assert result.exit_code == code, result.output
    assert result.stdout.splitlines()[0] == str(state)
    assert "  reason: Why\n  detail: Because\\x1b.\n" in result.stdout


def test_whoever_is_not_the_owner_sends_nothing(postroom: Postroom, office: Office) -> None:
    result = postroom("send", "-", *office.options, "--key", "other.pem", input="1")
    assert (result.exit_code, office.queued) == (1, [])
    assert "  reason: NotTheOwner\n" in result.stdout


@pytest.mark.parametrize(
    "other",
    [lambda tokens: "x", lambda tokens: '{"Header":{"From":"shop.com"}}',
     lambda tokens: tokens.challenge(SHOP, "nlweb.other.com"), lambda tokens: tokens.challenge("other.com", HOST),
     lambda tokens: tokens.token(SHOP, HOST, "key")],
    ids=["no challenge", "an envelope", "another host's", "another mailbox's", "a token"],
)  # fmt: skip
def test_nothing_but_a_challenge_of_this_host_to_this_mailbox_is_signed(
    postroom: Postroom, office: Office, monkeypatch: pytest.MonkeyPatch, other: Callable[[Tokens], str]
) -> None:
    asked = other(office.counter.tokens)
    monkeypatch.setattr(office.counter.desk, "challenge", lambda _call: said_by_counter(asked))
    result = postroom("send", "-", *office.options, input="1")
    assert result.exit_code == 3
    assert "something else than its challenge to shop.com; none was made" in result.stderr
    assert office.queued == []


def test_a_post_office_that_is_not_there_leaves_the_token_to_say_it_again(
    postroom: Postroom, office: Office, world: World
) -> None:
    result = postroom("send", "-", "--token", "t1", *office.options, "--resolver", world.silent_resolver,
                      "--via", "https://nowhere.example", input="1")  # fmt: skip
    assert result.exit_code == 3
    assert "say it again with --token t1, and it is sent once" in result.stderr


@pytest.mark.parametrize("left_out", ["--as", "--key", "--to", "--subject"])
def test_what_is_needed_is_asked_for(postroom: Postroom, office: Office, left_out: str) -> None:
    at = office.options.index(left_out)
    result = postroom("send", "-", *office.options[:at], *office.options[at + 2 :], input="1")
    assert result.exit_code == 2
    assert f"say {left_out}, too" in result.stderr
    assert office.queued == []


def test_options_of_an_outbox_do_not_go_with_an_envelope(postroom: Postroom, office: Office) -> None:
    result = postroom("send", "-", "--subject", "Hello@Host", input="{}")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--via URL" in result.stderr
