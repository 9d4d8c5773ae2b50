"""Hostile texts at each entry whose text is read before its sender is known, for the benchmark `hostile`.

A stranger chooses what is parsed, written out and hashed before a signature is looked at. Each hostile text is read
beside an honest one of the same length and with as many values, as Python's json.dumps writes it: prices, and a note.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Final
from unittest.mock import patch

import orjson
from benchmarks.harness import Broken, Effort, Table, marked, processor_ratios
from benchmarks.samples import RECEIVER, SENDER
from tests.protocols.dcp.guarded import NOW, Bank, Peer

from postroom.core import canonical
from postroom.core.errors import TheirError
from postroom.core.ijson import MAX_VALUES, parse
from postroom.core.settings import DeploymentSettings
from postroom.crypto.ethereum import Address
from postroom.crypto.ethereum_keys import EthereumKey
from postroom.http.dcp_service import MAX_MESSAGE_BYTES
from postroom.pipeline.dm3_inbox import MAX_BODY_BYTES
from postroom.protocols.dcp import receiving
from postroom.protocols.dcp.authorization import payload_digest, signers_of
from postroom.protocols.dcp.messages import Request
from postroom.protocols.dcp.receiving import ReceivedRequests
from postroom.protocols.dcp.signature import write_signature
from postroom.protocols.dm3.envelope import message_hash, read_submitted
from postroom.protocols.dm3.jsonrpc import RpcRequest, first_param, read_calls
from postroom.protocols.nlweb.envelope import read_envelope
from postroom.protocols.status.fold import MAX_LINE_BYTES, read_line
from postroom.runtime.socket_events import MAX_SOCKET_BYTES

MOST: Final = 8.0
"""The most times its honest duration that a hostile text of the same length may take."""
_VALUES: Final = MAX_VALUES - 2_000
"""As many as a text may have, less those of what stands around it."""
_STRANGER: Final = EthereumKey.from_secret(b"\x0c" * 32)
_SIGNERS: Final = tuple(EthereumKey.from_secret(bytes([13 + number]) * 32) for number in range(16))


def _string(unit: bytes) -> Callable[[int], bytes]:
    return lambda size: b'"%b"' % (unit * ((size - 2) // len(unit)))


def _list(unit: bytes) -> Callable[[int], bytes]:
    return lambda size: b"[%b]" % b",".join([unit] * min(_VALUES, (size - 2) // (len(unit) + 1)))


def _members(name: bytes, value: bytes) -> Callable[[int], bytes]:
    def text(size: int) -> bytes:
        count = min(_VALUES, (size - 2) // (len(name % 99_999) + len(value) + 4))
        return b"{%b}" % b",".join(b'"%b":%b' % (name % number, value) for number in range(count))

    return text


def _deep(size: int) -> bytes:
    """About as deep as a text may be, and all of it at the bottom, behind a number of another form."""
    depth, note = 40, max(0, size - 40 * 100)
    return b"[" * depth + b'1.0,"%b"' % (b"x" * note) + b"]" * depth


TEXTS: Final[Mapping[str, Callable[[int], bytes]]] = {
    "halves of surrogate pairs": _string(rb"\ud800"),
    "halves, each in a string": _list(rb'"\ud800"'),
    "halves in names": _members(rb"\ud800%d", b"1"),
    "escapes": _string(rb"\u0001"),
    "long numbers": _list(b"1.5e300"),
    "whole numbers with a fraction": _list(b"1.0"),
    "numbers with an early exponent": _list(b"1e16"),
    "large integers": _list(b"9007199254740993000"),
    "many members": _members(b"x%d", b"1"),
    "many indices": _members(b"%d", b"1"),
    "1e22 beside a member 0": _members(b"%d", b"1e22"),
    "deep": _deep,
}
"""JSON values of about a number of bytes, or less if they would have too many values."""


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry. `most_bytes`: of its text; `around`: the text with a value in it; `read`: what is done with it."""

    name: str
    most_bytes: int
    around: Callable[[bytes], bytes]
    read: Callable[[bytes], object]


def honest(size: int, values: int) -> bytes:
    """A value as honest people send, of a number of bytes, and with as many values if there is room for them."""
    prices = json.dumps({f"p{number}": 12.5 for number in range(min(values, size // len('"p12345": 12.5, ')))}).encode()
    return b'{"Prices": %b, "Note": "%b"}' % (prices, b"x" * max(0, size - len(prices) - 24))


def entries() -> Iterator[Entry]:
    """Each entry at which a stranger's text is read."""
    yield Entry("POST /inbox", DeploymentSettings().nlweb_max_body_bytes, _nlweb, _read_nlweb)
    yield Entry("POST /rpc", min(MAX_BODY_BYTES, 4_000_000), _dm3, _read_dm3)
    yield Entry("POST /dcp", MAX_MESSAGE_BYTES, partial(_dcp, keys=()), _read_dcp)
    yield Entry("POST /dcp, 16 resources", MAX_MESSAGE_BYTES, partial(_dcp, keys=_SIGNERS), _read_dcp)
    yield Entry("DCP over a WebSocket", MAX_SOCKET_BYTES, partial(_dcp, keys=()), _read_dcp)
    yield Entry("a line of an archive", MAX_LINE_BYTES, lambda value: b'{"at":1,"wrapper":%b}' % value, _read_line)


def _nlweb(value: bytes) -> bytes:
    header = {"From": SENDER, "To": RECEIVER, "Subject": "Any@Host", "Timestamp": "2026-11-21T09:30:00Z"}
    header |= {"Correlation": "5f0d8f9e-0000-4000-8000-000000000001"}
    return b'{"Header":%b,"Body":%b,"Hash":"%b","Signature":"AAAA"}' % (orjson.dumps(header), value, b"0" * 64)


def _read_nlweb(data: bytes) -> None:
    assert read_envelope(parse(data, max_bytes=len(data))).digest


def _dm3(value: bytes) -> bytes:
    metadata = b'{"version":"1.0","encryptionScheme":"x25519-chacha20-poly1305","deliveryInformation":"","signature":""'
    envelope = b'{"message":"m","metadata":%b,"more":%b}}' % (metadata, value)
    return b'{"jsonrpc":"2.0","id":1,"method":"dm3_submitMessage","params":[%b]}' % envelope


def _read_dm3(data: bytes) -> None:
    [call] = read_calls(data, max_bytes=MAX_BODY_BYTES).items
    if isinstance(call, RpcRequest):
        param = first_param(call)
        orjson.dumps(param)
        message_hash(read_submitted(param))


def _dcp(value: bytes, *, keys: tuple[EthereumKey, ...]) -> bytes:
    """A message of a stranger, who has a session and signs it. `keys`: the resources that are said to have signed."""
    peer = Peer.connected(Bank(), _STRANGER)
    request = peer.request("x", "the value", keys=keys)
    if keys:
        request["auth"] = {key.address: write_signature(key.sign(b"something else")) for key in keys}
    text = json.dumps(request).encode()
    # What is signed is the text that JSON.stringify writes of the value, however it was sent.
    request["payload"]["data"] = parse(value, max_bytes=len(value), half_pairs=True)
    signed = json.loads(peer.signed(request))
    head = json.dumps({"owner": signed["owner"], "signature": signed["signature"]}).encode()
    return b'%b, "body": %b}' % (head.removesuffix(b"}"), text.replace(b'"the value"', value))


def _read_dcp(data: bytes) -> None:
    bank = Bank()
    # Its session has the same names each time: they are derived from the guardian's secret.
    Peer.connected(bank, _STRANGER)
    received = bank.guardian.receiver.receive(data, NOW)
    if isinstance(received, ReceivedRequests):
        bank.guardian.receiver.admit(received, 0)


def _read_line(data: bytes) -> None:
    with suppress(ValueError):
        read_line(data)


def _ratio(entry: Entry, text: Callable[[int], bytes], effort: Effort) -> float:
    value = text(entry.most_bytes - 10_000)
    hostile, usual = map(entry.around, (value, honest(len(value), value.count(b",") + 1)))

    def read(data: bytes) -> None:
        with suppress(TheirError):
            entry.read(data)

    [ratio] = processor_ratios([partial(read, usual), partial(read, hostile)], effort)
    return ratio


def table(effort: Effort) -> Table:
    """A row for each text, a column for each entry."""
    found = list(entries())
    rows = []
    for name, text in TEXTS.items():
        ratios = [_ratio(entry, text, effort) for entry in found]
        rows.append((name, *(marked(ratio, reached=ratio <= MOST) for ratio in ratios)))
    title = f"Reading a hostile text, compared with an honest one of the same length; goal: ≤ {MOST:g}"
    return Table(title, ("text", *(entry.name for entry in found)), tuple(rows))


def _is_seen(patched: AbstractContextManager[object], entry_name: str, text_name: str, effort: Effort) -> bool:
    [entry] = [entry for entry in entries() if entry.name == entry_name]
    with patched:
        return _ratio(entry, TEXTS[text_name], effort) > MOST


def _one_by_one(value: object) -> bytes:
    """Halves of surrogate pairs as they were written."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return b"".join(
        json.dumps(part).strip('"').encode() if "\ud800" <= part <= "\udfff" else part.encode() for part in text
    )


def _for_each(request: Request, resources: Iterable[Address], _: bytes) -> frozenset[Address]:
    """The signers of a request, with a text and a digest for each."""
    return frozenset().union(*(signers_of(request, [each], payload_digest(request)) for each in resources))


BROKEN: Final = (
    Broken(
        "halves of surrogate pairs are written one by one",
        lambda effort: _is_seen(
            patch.object(canonical, "_written", _one_by_one), "POST /dcp", "halves of surrogate pairs", effort
        ),
    ),
    Broken(
        "the text of a payload is made for each resource",
        lambda effort: _is_seen(
            patch.object(receiving, "signers_of", _for_each), "POST /dcp, 16 resources", "many indices", effort
        ),
    ),
)
