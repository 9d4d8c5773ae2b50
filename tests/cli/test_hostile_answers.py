"""Answers of a post office that wants to steer the terminal of the person who runs a command."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from tests.aws import Deployed
from tests.aws import clients as clients
from tests.aws import deployed as deployed
from tests.cli.conftest import FakeDns, Postroom
from tests.cli.served_api import URL, ServedApi, serve
from tests.cli.test_read_as_owner import RECEIPT
from tests.http.api_stack import SHOP, SHOP_KEY, ApiStack

from postroom.cli.descriptor import Descriptor
from postroom.http.response import HttpResponse

pytestmark = pytest.mark.usefixtures("no_pauses")

HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b31m\r\n\u202eevil\u2066\x00\x7f"
"""Sequences that change a terminal (OSC, CSI, as C1, too), a line of its own, characters that reverse the text."""
BODIES = {
    "problem": {"type": HOSTILE, "title": HOSTILE, "status": 400, "detail": HOSTILE, "reason": HOSTILE},
    "no text": {"reason": HOSTILE, "detail": 7},
    "names": {"detail": HOSTILE, HOSTILE: {HOSTILE: [HOSTILE]}},
    "JSON-RPC": {"error": {"code": -32000, "message": HOSTILE, "data": HOSTILE}},
    "string": HOSTILE,
    "list": [HOSTILE],
    "null": None,
}
COMMANDS = (
    "read", "read one", "acknowledge", "list targets", "verify a target", "rotate", "settings", "send",
    "send through the outbox",
)  # fmt: skip
Place = tuple[str | int, ...]
Command = Callable[[], Result]


@pytest.fixture
def served(deployed: Deployed, tmp_path: Path) -> Iterator[ServedApi]:
    (tmp_path / "shop.pem").write_bytes(SHOP_KEY.to_pem())
    with serve(ApiStack(deployed), tmp_path) as running:
        yield running


@pytest.fixture
def commands(postroom: Postroom, served: ServedApi, fake_dns: FakeDns, tmp_path: Path) -> Mapping[str, Command]:
    """Commands that show answers of a post office; each may be run many times."""
    signed = postroom(
        "sign", "-", "--key", str(fake_dns.key_file), "--from", "sender.example", "--to", SHOP,
        "--subject", "Hello@Host", input='{"Say": "hi"}',
    ).stdout  # fmt: skip
    (tmp_path / "message.json").write_text(signed)
    fake_dns.tree.put("shop.com", "nlweb IN A 127.0.0.1\n")
    there = tmp_path / "there.json"
    Descriptor(
        fake_dns.resolver, fake_dns.tree.anchor_text, str(served.ca_file), served.port, "http://127.0.0.1:9", "", {}
    ).write(there)
    reach = ("--local", str(there))
    [filed] = served.api.file(signed, conversation="sender.example", receipt=RECEIPT)
    owner = ("--at", URL, "--local", str(served.local), "--key", "shop.pem")
    made = json.loads(postroom("mailbox", "notify", "add", SHOP, "https://hook.example/mail", *owner, "--json").stdout)
    return {
        "read": lambda: postroom("read", SHOP, *owner),
        "read one": lambda: postroom("read", SHOP, "--id", filed, "--explain", *owner),
        "acknowledge": lambda: postroom("read", SHOP, "--ack", filed, "--ack", filed[::-1], *owner),
        "list targets": lambda: postroom("mailbox", "notify", "list", SHOP, *owner),
        "verify a target": lambda: postroom("mailbox", "notify", "verify", SHOP, made["id"], "00000000", *owner),
        "rotate": lambda: postroom("mailbox", "notify", "rotate", SHOP, made["id"], *owner),
        "settings": lambda: postroom("mailbox", "settings", SHOP, *owner),
        "send": lambda: postroom("send", "message.json", *reach),
        "send through the outbox": lambda: postroom(
            "send",
            "-",
            "--via",
            URL,
            "--as",
            SHOP,
            "--key",
            "shop.pem",
            "--to",
            "receiver.example",
            "--subject",
            "Hello@Host",
            "--token",
            "0" * 32,
            *reach,
            input="{}",
        ),
    }


def is_clean(result: Result) -> bool:
    return all(c.isprintable() or c == "\n" for c in result.stdout + result.stderr)


def strings_in(value: Any, place: Place = ()) -> Iterator[Place]:
    """The places of all strings in a JSON value."""
    if isinstance(value, str):
        yield place
    elif isinstance(value, dict | list):
        for name, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from strings_in(inner, (*place, name))


def with_hostile(value: Any, place: Place) -> Any:
    """The value with hostile characters behind the string at this place."""
    if not place:
        return value + HOSTILE
    inner = with_hostile(value[place[0]], place[1:])
    return value | {place[0]: inner} if isinstance(value, dict) else [*value[: place[0]], inner, *value[place[0] + 1 :]]


def is_json(response: HttpResponse) -> bool:
    return response.content_type.endswith("json")


@dataclass
class HostileAnswer:
    """Makes the answer of one number hostile, in the string at one place, if it has that string again."""

    number: int
    place: Place
    came: int = 0

    def __call__(self, response: HttpResponse) -> HttpResponse:
        self.came += 1
        if self.came != self.number + 1 or not is_json(response):
            return response
        value = json.loads(response.body)
        return in_json(response, with_hostile(value, self.place)) if self.place in strings_in(value) else response


def in_json(response: HttpResponse, value: Any) -> HttpResponse:
    return replace(response, body=json.dumps(value).encode())


@pytest.mark.parametrize("name", COMMANDS)
def test_no_member_of_an_answer_controls_the_terminal(
    commands: Mapping[str, Command], served: ServedApi, name: str
) -> None:
    """Each string of each answer in its turn."""
    answers: list[HttpResponse] = []
    served.change = lambda response: answers.append(response) or response
    commands[name]()
    found = [
        (number, place)
        for number, answer in enumerate(answers)
        if is_json(answer)
        for place in strings_in(json.loads(answer.body))
    ]
    assert found
    for number, place in found:
        served.change = HostileAnswer(number, place)
        assert is_clean(commands[name]()), (number, place)


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
@pytest.mark.parametrize("status", [200, 503])
def test_no_refusal_controls_the_terminal(
    commands: Mapping[str, Command], served: ServedApi, status: int, body: Any
) -> None:
    refused = HttpResponse(status, "application/problem+json", json.dumps(body).encode())
    plain = HttpResponse(status, "text/plain", HOSTILE.encode())
    for answer in (refused, plain):
        served.change = lambda _response, answer=answer: answer
        for name, command in commands.items():
            assert is_clean(command()), (name, answer)
