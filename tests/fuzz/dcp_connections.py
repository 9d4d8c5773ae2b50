"""Fuzzing of both ends of a connection of DCP."""

from typing import Any, Final

from tests.fuzz.dcp_texts import BODIES, CONNECT, REQUEST, RESPONSE
from tests.fuzz.entry import Entry, fuzzed, json_of
from tests.fuzz.samples import compact
from tests.protocols.dcp.guarded import NOW, OWNER, US
from tests.protocols.dcp.paired import Pair, ask

from postroom.core.errors import TheirError
from postroom.protocols.dcp.connection_events import RequestReceived
from postroom.protocols.dcp.signed_message import read_signed_message, sign_body
from postroom.protocols.dcp.states import ConnectionState

VALIDITY: Final = {"time": NOW, "stamp": "s", "ttl": 60}
OPERATIONS: Final = ("echo", "close", "keepalive", "connect", "v3")
REQUESTS: Final[tuple[dict[str, Any], ...]] = tuple(
    {"type": "request", "id": name, "payload": {"operation": name, "data": [1], "validity": VALIDITY}}
    for name in OPERATIONS
)
SEEDS: Final = (
    *map(compact, REQUESTS),
    *(compact({"type": "request-batch", "id": "b", "payload": list(REQUESTS[at:])}) for at in range(len(REQUESTS))),
    *(compact({**body, "nonce": None}) for body in BODIES),
    *(compact({**body, "dcpsid": None}) for body in (REQUEST, RESPONSE, CONNECT)),
    compact({"type": "response-batch", "id": "b", "payload": [RESPONSE, {**RESPONSE, "id": "b", "success": True}]}),
    compact({"type": "response", "id": "asked", "time": 7, "success": True}),
    sign_body(REQUESTS[0], OWNER),
)


@fuzzed(
    "protocols.dcp.endpoint", "protocols.dcp.initiator", "protocols.dcp.target", "protocols.dcp.states",
    "protocols.dcp.payload", seeds=SEEDS, is_json=True,
)  # fmt: skip
def dcp_machines(data: bytes) -> None:
    """Any bytes at both ends, while they connect or are open: no error, what is sent is signed, and an end is final."""
    for is_open in (False, True):
        for which in (0, 1):
            for is_ours in (False, True):
                _receive(data, is_open=is_open, which=which, is_ours=is_ours)


def _receive(data: bytes, *, is_open: bool, which: int, is_ours: bool) -> None:
    pair = Pair()
    pair.start()
    if is_open:
        pair.deliver()
        ask(pair.initiator, operation="asked")
        pair.flush()
    end, key = pair.ends[which], (US, OWNER)[which]
    nonces = [message.body.get("nonce") for message in map(read_signed_message, pair.ends[1 - which].sent)]
    nonce = nonces[-1] if nonces else None
    dcpsid = end.machine.dcpsid or "x" * 65
    messages = [sign_body(body, key) for body in bodies_of(data, dcpsid, nonce)] if is_ours else [data]
    for message in messages:
        was_closed, before = end.machine.state is ConnectionState.CLOSED, len(end.events)
        end.receive(message, pair.clock)
        if was_closed:
            assert (end.machine.state, len(end.events)) == (ConnectionState.CLOSED, before)
        if not is_ours and not is_signed(data):
            assert end.machine.state is ConnectionState.CLOSED
            assert end.happened(RequestReceived) == []
        for sent in end.machine.messages(pair.clock):
            assert read_signed_message(sent).owner == (OWNER, US)[which].address


def is_signed(data: bytes) -> bool:
    """Whether it is a message that its owner signed."""
    try:
        read_signed_message(data)
    except TheirError:
        return False
    return True


def bodies_of(data: bytes, dcpsid: str, nonce: Any) -> list[dict[str, Any]]:
    """What the bytes say, as it is, and with the session's id and nonce."""
    value = json_of(data)
    if not isinstance(value, dict):
        return []
    return [value, {**value, "dcpsid": dcpsid}, {**value, "dcpsid": dcpsid, "nonce": nonce}]


ENTRIES: tuple[Entry, ...] = (dcp_machines,)
