"""What the costliest requests of strangers take at each public route, on the functions themselves."""

import json
import time
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

import pytest
from tests.cost.conftest import Numbers
from tests.cost.counting import RECEIVER, Counted, CountedStack
from tests.cost.strangers import ENTRIES, Entry
from tests.functions.samples import ALICE, BOB, SERVICE, dm3_submit

from postroom.api.challenges import Purpose
from postroom.crypto.rsa_ed25519 import PrivateKey
from postroom.http.request_parts import MAX_FAULT_CHARACTERS
from postroom.protocols.dm3.jsonrpc import MAX_BATCH, MAX_ID_CHARACTERS
from postroom.protocols.nlweb.names import MAX_NAME
from postroom.protocols.nlweb.sign import Draft, sign
from postroom.storage.directory.domains import Dm3Mailbox

pytestmark = [pytest.mark.xdist_group("cost"), pytest.mark.stack]
A_LITTLE = 0.02
"""Times are not always written with as many digits."""
LONGEST_ID = "\x01" * MAX_ID_CHARACTERS
"""JSON writes each of its characters with six."""


class Request(NamedTuple):
    """What a stranger sends. `what`: for the report of a failure."""

    what: str
    method: str
    path: str
    body: bytes = b""
    headers: Mapping[str, str] = {}


def long_name(number: int, most: int = MAX_NAME) -> str:
    """A domain name as long as one may be, of which `number` makes another."""
    name = ".".join(["a" * 63] * 4)
    end = f".n{number}.example"
    return name[: most - len(end)].rstrip(".") + end


def signed(stack: CountedStack, name: str, purpose: Purpose) -> bytes:
    """A challenge of this name with a signature by nobody."""
    _, answer = stack.ask_at(
        ("/auth/{name}",), "MailboxFunction", "GET", f"/auth/{name}?purpose={quote(purpose)}", b"", {}
    )
    assert answer["statusCode"] == 200, answer
    wrong = b64encode(bytes(64)).decode()
    return json.dumps({"challenge": json.loads(answer["body"]), "signature": wrong}).encode()


def nlweb(sender: str, receiver: str, subject: str = "Hello@Host") -> bytes:
    """A signed NLWeb message; only its sender's zone would tell whose the key is."""
    correlation = "5f0d8f9e-0000-4000-8000-000000000001"
    draft = Draft(sender, receiver, subject, correlation, int(time.time() * 1000), {"Text": "."})
    return json.dumps(sign(draft, PrivateKey.generate("ed25519"))).encode()


def at_the_inbox(_stack: CountedStack, number: int) -> Iterator[Request]:
    name, key_below = long_name(number), long_name(number, MAX_NAME - len("nlweb._pw.") - 20)
    yield Request("welcome", "GET", "/inbox")
    yield Request("another method", "PUT", "/inbox")
    yield Request("no envelope", "POST", "/inbox", b"{}")
    yield Request("for nobody", "POST", "/inbox", nlweb(name, name))
    yield Request("synchronous", "POST", "/inbox", nlweb(key_below, RECEIVER, "Identity@Graph"))


def elsewhere(_stack: CountedStack, number: int) -> Iterator[Request]:
    yield Request("manifest", "GET", "/manifest")
    yield Request("manifest of nobody", "GET", "/manifest", headers={"host": f"nlweb.n{number}.example"})
    yield Request("another method", "POST", "/manifest")
    yield Request("nothing there", "GET", "/x")


def call(method: str, *params: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "method": method, "params": params, "id": LONGEST_ID}


def batch(*calls: object) -> bytes:
    return json.dumps(calls).encode()


def submit(number: int, *, sender: str = ALICE, receiver: str = BOB, signature: str = "") -> dict[str, object]:
    """A call that submits a message; with a signature, it is a wrong one."""
    made: Any = dm3_submit(int(time.time()), f"{number}", sender=sender, receiver=receiver)
    if signature:
        made["params"][0]["metadata"]["signature"] = signature
    return {**made, "id": LONGEST_ID}


def at_dm3(_stack: CountedStack, number: int) -> Iterator[Request]:
    many = range(number * MAX_BATCH, (number + 1) * MAX_BATCH)
    bodies = {
        "no method": batch(*[call("x")] * MAX_BATCH),
        "properties": batch(*[call("dm3_getDeliveryServiceProperties")] * MAX_BATCH),
        "a billboard": batch(*[call("dm3_billboard_x")] * MAX_BATCH),
        "profiles of nobody": batch(*(call("dm3_getProfileExtension", long_name(each)) for each in many)),
        "no envelope": batch(*[call("dm3_submitMessage", "{")] * MAX_BATCH),
        "wrong signatures": batch(*(submit(each, signature=b64encode(bytes(64)).decode()) for each in many)),
        "unknown receivers": batch(*(submit(each, receiver=f"n{each}.example") for each in many)),
        "unknown senders": batch(*(submit(each, sender=f"n{each}.example") for each in many)),
        "accepted": batch(*map(submit, many)),
    }
    for path in ("/dm3", "/rpc", "/"):
        yield from (Request(what, "POST", path, body) for what, body in bodies.items())
    for path in ("/dm3", "/rpc"):
        yield Request("another method", "GET", path)
        yield Request("preflight", "OPTIONS", path)


def before_dm3(_stack: CountedStack, _number: int) -> Iterator[Request]:
    yield Request("preflight", "OPTIONS", "/", headers={"origin": "https://app.example"})


def at_sign_in(stack: CountedStack, number: int) -> Iterator[Request]:
    of_profile = f"mailbox{number}.example"
    stack.running.deployed.storage.operators.put_dm3_mailbox(Dm3Mailbox(of_profile))
    for name in (RECEIVER, "nobody.example", long_name(number), of_profile):
        yield Request("wrong signature", "POST", f"/auth/{name}", signed(stack, name, Purpose.PICK_UP))
    yield Request("challenge", "GET", f"/auth/{long_name(number)}?purpose={quote(Purpose.PICK_UP)}")
    yield Request("no purpose", "GET", f"/auth/nobody.example?purpose={quote(chr(1) * 3000)}")
    yield Request("another method", "PUT", "/auth/nobody.example")
    yield Request("preflight", "OPTIONS", "/auth/nobody.example")


def at_opening(stack: CountedStack, number: int) -> Iterator[Request]:
    name = f"n{number}.example"
    yield Request("wrong signature", "POST", f"/mailboxes/{name}", signed(stack, name, Purpose.OPEN))
    body = json.dumps({"profile": {}, "signature": "0x"}).encode()
    yield Request("profile", "POST", f"/profile/m{number}.example", body)
    yield Request("no profile", "POST", f"/profile/m{number}.example", b"{}")
    yield Request("no token", "GET", f"/mailboxes/{name}/messages")
    yield Request(
        "wrong token", "GET", f"/mailboxes/{name}/messages", headers={"authorization": "Bearer " + "x" * 5000}
    )
    yield Request("another method", "PUT", f"/mailboxes/{name}/settings")
    yield Request("nothing there", "GET", "/mailboxes/a/b/c/d")
    yield Request("preflight", "OPTIONS", f"/mailboxes/{name}/messages")


def without_token(_stack: CountedStack, _number: int) -> Iterator[Request]:
    for path in ("/storage/nobody.example/containers", "/delivery/messages/incoming/nobody.example"):
        yield Request("no token", "GET", path)
        yield Request("another method", "PATCH", path)
        yield Request("preflight", "OPTIONS", path)


def at_the_document(_stack: CountedStack, _number: int) -> Iterator[Request]:
    yield Request("document", "GET", "/openapi.json")
    yield Request("another method", "POST", "/openapi.json")


Requests = Callable[[CountedStack, int], Iterator[Request]]
REQUESTS: Mapping[str, Requests] = {
    "/inbox": at_the_inbox,
    "/manifest": elsewhere,
    "/dm3": at_dm3,
    "OPTIONS /": before_dm3,
    "/auth/{name}": at_sign_in,
    "/mailboxes/{proxy+}": at_opening,
    "/storage/{proxy+}": without_token,
    "/openapi.json": at_the_document,
}
"""By the first route of each entry."""


@pytest.fixture(scope="module")
def public(stack: CountedStack) -> CountedStack:
    """The deployment, with all that strangers may use."""
    stack.let_register(SERVICE)
    return stack


def most_of(entry: Entry, stack: CountedStack, number: int) -> list[tuple[Request, Counted]]:
    """What each of the requests takes. What functions keep in memory for all of them, they have from an earlier one."""
    requests = REQUESTS[entry.routes[0]]
    counts = []
    for each in (number, number + 1):
        counts = [(asked, at_route(stack, entry, asked)) for asked in requests(stack, each)]
    return counts


def at_route(stack: CountedStack, entry: Entry, asked: Request) -> Counted:
    counted, _ = stack.ask_at(entry.routes, entry.function, asked.method, asked.path, asked.body, asked.headers)
    return counted


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.routes[0])
def test_no_request_of_a_stranger_takes_more_than_the_page_says(
    public: CountedStack, numbers: Numbers, entry: Entry
) -> None:
    [number, _] = numbers(2)
    counts = most_of(entry, public, number)
    most = {
        "log lines": max(len(each.log_lines) for _, each in counts),
        "bytes of the log": max(len(each.log) for _, each in counts),
        "bytes of the answer": max(each.answer_bytes for _, each in counts),
        "read units": max(each.read_units for _, each in counts),
        "write units": max(each.write_units for _, each in counts),
    }
    assert most == pytest.approx(
        {
            "log lines": entry.log_lines,
            "bytes of the log": entry.log_bytes,
            "bytes of the answer": entry.answer_bytes,
            "read units": entry.reads,
            "write units": entry.writes,
        },
        rel=A_LITTLE,
    ), {asked.what: (each.answer_bytes, len(each.log), each.read_units, each.write_units) for asked, each in counts}


def test_every_entry_has_requests() -> None:
    assert list(REQUESTS) == [entry.routes[0] for entry in ENTRIES]


def test_a_refusal_repeats_little_of_a_query(public: CountedStack) -> None:
    long = f"/auth/nobody.example?purpose={quote(chr(1) * 3000)}"
    _, answer = public.ask_at(("/auth/{name}",), "MailboxFunction", "GET", long, b"", {})
    assert (answer["statusCode"], json.loads(answer["body"])["reason"]) == (400, "NotARequest")
    assert len(answer["body"]) < 200 + 6 * MAX_FAULT_CHARACTERS
