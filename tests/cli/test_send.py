"""`postroom send`: an envelope goes out as it is, and the answer becomes an exit code. (Answers: tests/client.)"""

import json
import ssl
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from tests.cli.conftest import FakeDns, Postroom
from tests.fakes.servers import LoopbackServer, running_server

from postroom.cli.descriptor import Descriptor
from postroom.local.authority import Authority

Envelope = Callable[..., str]
PROBLEM = b'{"title":"No","status":422,"detail":"The Hash is wrong.","reason":"HashMismatch"}'


@dataclass
class FakeInboxes:
    """Where receiver.example's post offices answer in this test, and what they answer."""

    options: tuple[str, ...] = ()
    descriptor: Descriptor | None = None
    port: int = 0
    status: int = 200
    body: bytes = b'{"Status":"Queued"}'
    came: list[tuple[str, bytes]] = field(default_factory=list)


@pytest.fixture
def fake_inboxes(fake_dns: FakeDns, tmp_path: Path) -> Iterator[FakeInboxes]:
    fake_inboxes = FakeInboxes()
    fake_dns.tree.put("receiver.example", "nlweb IN A 127.0.0.1\npw IN A 127.0.0.1\n")

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            fake_inboxes.came.append(
                (self.headers["Host"].partition(":")[0], self.rfile.read(int(self.headers["Content-Length"])))
            )
            self.send_response(fake_inboxes.status)
            self.send_header("Content-Length", str(len(fake_inboxes.body)))
            self.end_headers()
            self.wfile.write(fake_inboxes.body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it
            """Say nothing."""

    authority = Authority(tmp_path / "ca")
    context: ssl.SSLContext = authority.server_context("nlweb.receiver.example", "pw.receiver.example", "127.0.0.1")
    context.set_alpn_protocols(["http/1.1"])
    with running_server(LoopbackServer(("127.0.0.1", 0), Handler), context) as server:
        fake_inboxes.port = server.server_port
        fake_inboxes.options = (
            "--resolver", fake_dns.resolver, "--ca-file", str(authority.pem),
            "--port", str(fake_inboxes.port), "--allow-private",
        )  # fmt: skip
        here = f"http://127.0.0.1:{fake_inboxes.port}"
        fake_inboxes.descriptor = Descriptor(
            fake_dns.resolver, fake_dns.tree.anchor_text, str(authority.pem), fake_inboxes.port, here, "", {}
        )
        yield fake_inboxes


def test_the_receiver_and_the_dialect_determine_the_host(
    postroom: Postroom, envelope: Envelope, fake_inboxes: FakeInboxes
) -> None:
    ours, theirs = envelope(), envelope("--dialect", "pollyweb", "--selector", "pk1")
    assert postroom("send", "-", *fake_inboxes.options, input=ours).exit_code == 0
    assert postroom("send", "-", *fake_inboxes.options, input=theirs).exit_code == 0
    assert fake_inboxes.came == [("nlweb.receiver.example", ours.encode()), ("pw.receiver.example", theirs.encode())]


def test_the_bytes_are_sent_unchanged(
    postroom: Postroom, envelope: Envelope, fake_inboxes: FakeInboxes, tmp_path: Path
) -> None:
    data = envelope().encode() + b"\r\n \t"
    (tmp_path / "message.json").write_bytes(data)
    postroom("send", "message.json", *fake_inboxes.options)
    assert fake_inboxes.came[0][1] == data


@pytest.mark.parametrize(
    ("status", "code", "fate"),
    [(200, 0, "taken"), (422, 1, "refused"), (421, 1, "refused"), (429, 3, "not now"), (503, 3, "not now")],
)
def test_the_response_determines_the_exit_code(
    postroom: Postroom, envelope: Envelope, fake_inboxes: FakeInboxes, status: int, code: int, fate: str
) -> None:
    fake_inboxes.status = status
    result = postroom("send", "-", "--json", *fake_inboxes.options, input=envelope())
    assert (result.exit_code, json.loads(result.stdout)["fate"]) == (code, fate)


def test_json_has_the_whole_response(postroom: Postroom, envelope: Envelope, fake_inboxes: FakeInboxes) -> None:
    fake_inboxes.status, fake_inboxes.body = 422, PROBLEM
    printed = json.loads(postroom("send", "-", "--json", *fake_inboxes.options, input=envelope()).stdout)
    assert printed == {
        "url": "https://nlweb.receiver.example/inbox",
        "fate": "refused",
        "status": 422,
        "reason": "HashMismatch",
        "detail": "The Hash is wrong.",
        "reply": json.loads(PROBLEM),
    }


def test_the_text_output_shows_the_response(postroom: Postroom, envelope: Envelope, fake_inboxes: FakeInboxes) -> None:
    fake_inboxes.status, fake_inboxes.body = 422, PROBLEM.replace(b"wrong", b"\\u009bwrong")
    result = postroom("send", "-", *fake_inboxes.options, input=envelope())
    assert result.stdout.splitlines()[0] == "refused: 422 from https://nlweb.receiver.example/inbox"
    assert "  reason: HashMismatch\n" in result.stdout
    assert "\\x9bwrong" in result.stdout


def test_anything_can_be_posted_to_a_given_url(postroom: Postroom, fake_inboxes: FakeInboxes) -> None:
    url = f"https://127.0.0.1:{fake_inboxes.port}/inbox"
    result = postroom(
        "send", "-", "--to-url", url, *fake_inboxes.options[2:4], "--allow-private", input=b"\xff no envelope"
    )
    assert result.exit_code == 0
    assert fake_inboxes.came == [("127.0.0.1", b"\xff no envelope")]


def test_a_local_stack_provides_the_network_options(
    postroom: Postroom, envelope: Envelope, fake_inboxes: FakeInboxes, tmp_path: Path
) -> None:
    assert fake_inboxes.descriptor
    fake_inboxes.descriptor.write(tmp_path / "elsewhere" / "local.json")
    assert postroom("send", "-", "--local", "elsewhere", input=envelope()).exit_code == 0
    assert postroom("verify", "-", "--local", "elsewhere/local.json", input=envelope()).exit_code == 0


def test_a_private_address_needs_an_option(postroom: Postroom, envelope: Envelope, fake_inboxes: FakeInboxes) -> None:
    result = postroom("send", "-", *fake_inboxes.options[:-1], input=envelope())
    assert result.exit_code == 3
    assert result.stderr == "postroom: OutboundFailed: nlweb.receiver.example has no public address\n"
    assert fake_inboxes.came == []


def test_an_untrusted_host_gets_no_message(
    postroom: Postroom, envelope: Envelope, fake_inboxes: FakeInboxes, tmp_path: Path
) -> None:
    other = Authority(tmp_path / "other").pem
    result = postroom("send", "-", *fake_inboxes.options, "--ca-file", str(other), input=envelope())
    assert result.exit_code == 3
    assert "the certificate of nlweb.receiver.example was not accepted" in result.stderr
    assert fake_inboxes.came == []


def test_without_a_resolver_nothing_is_sent(postroom: Postroom, fake_dns: FakeDns, envelope: Envelope) -> None:
    result = postroom("send", "-", "--resolver", fake_dns.silent_resolver, input=envelope())
    assert result.exit_code == 3
    assert "nlweb.receiver.example could not be looked up" in result.stderr


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "NotJson"),
        ('{"Header": {"From": "a.example"}}', "WrongShape"),
        ('{"🤝":"x.org/MSG:1","Header":{}}', "Unsup"),
    ],
)
def test_an_envelope_without_a_receiver_is_a_bad_message(
    postroom: Postroom, fake_inboxes: FakeInboxes, text: str, reason: str
) -> None:
    result = postroom("send", "-", *fake_inboxes.options, input=text)
    assert result.exit_code == 1
    assert result.stderr.startswith(f"postroom: {reason}")
    assert fake_inboxes.came == []


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--ca-file", "missing"), "--ca-file missing has no certificates (PEM)"),
        (("--ca-file", "junk"), "--ca-file junk has no certificates (PEM)"),
        (("--to-url", "https://receiver.example:port/"), "is not a URL such as"),
        (("--to-url", "nonsense"), "--to-url 'nonsense' is not a URL such as"),
        (("--to-url", "ftp://receiver.example/inbox"), "is not a URL such as"),
        (("--to-url", "https:///inbox"), "is not a URL such as"),
        (("--port", "0"), "--port"),
        (("--local", "junk"), "junk does not describe a local stack; `postroom up` writes a new one"),
    ],
)
def test_a_wrong_option_is_one_sentence(
    postroom: Postroom, envelope: Envelope, tmp_path: Path, options: tuple[str, ...], sentence: str
) -> None:
    (tmp_path / "junk").write_text('{"resolvers": 1}')
    result = postroom("send", "-", *options, input=envelope())
    assert (result.exit_code, result.stdout) == (2, "")
    assert sentence in result.stderr


def test_a_verdict_that_nobody_here_will_know_is_not_waited_for(
    postroom: Postroom, envelope: Envelope, fake_inboxes: FakeInboxes
) -> None:
    result = postroom("send", "-", "--wait", *fake_inboxes.options, input=envelope())
    assert (result.exit_code, fake_inboxes.came) == (2, [])
    assert "no deployment is named: use --stack-name NAME" in result.stderr
