"""The demo's scene of DCP: Bob writes cheques for Wes, which Jack carries."""

import secrets
import time
from collections.abc import Callable

from postroom.api.dcp import REVOKE
from postroom.client.dcp import Connection, EthereumKey, IdentityMemory, RequestFailedError
from postroom.core.ijson import JsonValue
from postroom.demo.checks import DemoRow, Say, expect
from postroom.demo.names import BOB
from postroom.demo.stack import DM3_HOST, DemoStack
from postroom.local.patience import PATIENCE_SECONDS
from postroom.protocols.dcp.cheques import read_cheque, request_of, write_cheque
from postroom.protocols.dcp.messages import Allowance
from postroom.protocols.dcp.payload import new_payload, with_validity

_TTL_SECONDS = 3600


def cheques_for_wes(demo: DemoStack, write: Callable[[str], None], say: Say) -> list[DemoRow]:
    """A cheque counts once, for its holder, unless it was revoked. `write`: sends a text from alice.eth to Bob."""
    write("Wes may know of this")
    owner = demo.names.users[BOB].signing.ethereum_key
    wes_key, jack_key = EthereumKey.generate(), EthereumKey.generate()
    expect(owner is not None, "Bob's key is one of secp256k1", owner)
    assert owner is not None  # noqa: S101 - for the type checker
    with _session(demo, owner) as bob, _session(demo, wes_key) as wes, _session(demo, jack_key) as jack:
        guardian = bob.connect()
        first, second = (_cheque(owner, Allowance(owner.address, guardian, wes_key.address)) for _ in range(2))
        say(f"{BOB} writes a cheque: Wes lists one message at https://{DM3_HOST}/dcp, once, within an hour")
        stolen = _refusal(lambda: _present(jack, first))
        expect(stolen == "NotTheOwner", "Jack is nobody here", stolen)
        say(f"Jack, who carries it, presents it himself: {stolen}")
        forged = _refusal(lambda: _present(wes, _with_limit(second, 100)))
        expect(forged == "NotTheOwner", "a forged cheque is nobody's", forged)
        say(f"A cheque whose limit was forged: {forged}")
        listed = _present(wes, first)
        expect(isinstance(listed, dict) and _messages(listed) == 1, "Wes lists one message", listed)
        say("Wes presents it, for whom Jack has not used it up, and lists one message")
        bob.request(REVOKE, {"mailbox": BOB, "body": read_cheque(second).payload.validity}).send(owner)
        revoked = _refusal(lambda: _present(wes, second))
        expect(revoked == "EDUP", "a revoked cheque counts no more", revoked)
    demo.receiver.end_instances("DcpFunction")
    with _session(demo, wes_key) as later:
        again = _refusal(lambda: _present(later, first))
        expect(again == "EDUP", "a cheque counts once", again)
    say(
        f"All instances of the function end. Wes presents it again, in another session: {again}; "
        f"one that {BOB} has revoked: {revoked}"
    )
    return [
        DemoRow("13", "a keepalive of Jack with the stamp of a cheque for Wes", "answered", "it is not used up"),
        DemoRow("13", "the cheque, presented by Jack", stolen, "nothing done, and it is not used up for Wes"),
        DemoRow("13", "the same, presented by Wes", "one message", f"performed once ({again} after a restart)"),
        DemoRow("13", "a revoked cheque", revoked, "nothing done"),
    ]


def _session(demo: DemoStack, key: EthereumKey) -> Connection:
    edge = ("127.0.0.1", demo.stack.edge.port)
    return Connection(
        f"https://{DM3_HOST}/dcp",
        key,
        ca_file=demo.stack.authority.pem,
        connect=edge,
        timeout=PATIENCE_SECONDS,
        identities=IdentityMemory(),
    )


def _cheque(owner: EthereumKey, allowance: Allowance) -> dict[str, JsonValue]:
    payload = new_payload("messages", {"mailbox": BOB, "query": {"limit": 1}}, allow=[allowance])
    complete = with_validity(payload, time=int(time.time()), ttl=_TTL_SECONDS, stamp=secrets.token_urlsafe(16))
    return write_cheque(complete, owner)


def _with_limit(cheque: dict[str, JsonValue], limit: int) -> dict[str, JsonValue]:
    payload = cheque["payload"]
    assert isinstance(payload, dict)  # noqa: S101 - for the type checker
    return {**cheque, "payload": {**payload, "data": {"mailbox": BOB, "query": {"limit": limit}}}}


def _present(session: Connection, cheque: dict[str, JsonValue]) -> JsonValue:
    return session.present(request_of(read_cheque(cheque)))


def _messages(result: dict[str, JsonValue]) -> int:
    body = result["body"]
    messages = body["messages"] if isinstance(body, dict) else None
    return len(messages) if isinstance(messages, list) else 0


def _refusal(request: Callable[[], object]) -> str:
    """The code of the refusal; empty: it was performed."""
    try:
        request()
    except RequestFailedError as error:
        return error.code or "an error without a code"
    return ""
