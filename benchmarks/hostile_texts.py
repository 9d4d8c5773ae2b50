"""Hostile texts at each entry whose text is read before its sender is known, for the benchmark `hostile`.

A stranger chooses what is parsed, written out and hashed before a signature is looked at. Each hostile text is read
beside an honest one of the same length: an order, as Python's json.dumps writes it.
"""

import json
import re
import time
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from functools import partial
from types import SimpleNamespace
from typing import Any, Final
from unittest.mock import patch

import orjson
from benchmarks.harness import Broken, Effort, Table, marked, processor_ratios
from benchmarks.samples import NOW_MS, RECEIVER, SENDER
from tests.fakes.names import FakeRegistry
from tests.fakes.pipeline import FakeServiceKeys
from tests.protocols.dcp.guarded import NOW, Bank, Peer

from postroom.core import canonical
from postroom.core.errors import TheirError
from postroom.core.ijson import MAX_VALUES, JsonValue, parse
from postroom.core.leaky_bucket import LeakyBucket
from postroom.core.settings import DeploymentSettings
from postroom.crypto.ethereum import Address
from postroom.crypto.ethereum_keys import EthereumKey
from postroom.crypto.rsa_ed25519 import PrivateKey, PublicKey
from postroom.http.dcp_service import MAX_MESSAGE_BYTES
from postroom.names.profiles import Profiles
from postroom.names.registry import PROFILE_KEY
from postroom.net.timebox import TimeBox
from postroom.pipeline.dm3_inbox import MAX_BESIDE_BYTES, Dm3Inbox
from postroom.protocols.dcp import receiving
from postroom.protocols.dcp.authorization import payload_digest, signers_of
from postroom.protocols.dcp.memory_store import MemoryStore
from postroom.protocols.dcp.messages import Request
from postroom.protocols.dcp.receiving import ReceivedRequests, Refused
from postroom.protocols.dcp.session_store import NonceUse
from postroom.protocols.dcp.signature import write_signature
from postroom.protocols.dm3.envelope import DeliveryInformation
from postroom.protocols.dm3.extension import Properties
from postroom.protocols.dm3.keys import UserKeys
from postroom.protocols.dm3.profile import UserProfile, data_uri
from postroom.protocols.dm3.sealing import SCHEME, seal
from postroom.protocols.nlweb.envelope import hash_of, read_envelope, read_frame, signed_text_of
from postroom.protocols.nlweb.timestamp import TimestampWindow
from postroom.protocols.nlweb.verify import check_before_lookup, check_signature
from postroom.protocols.status.fold import MAX_LINE_BYTES, read_line
from postroom.runtime.socket_events import MAX_SOCKET_BYTES
from postroom.storage.directory.domains import Dm3Mailbox

MOST: Final = 8.0
"""The most times its honest duration that a hostile text of the same length may take."""
_ROUNDS: Final = 3
"""Fewer than of other ratios: a text takes up to half a second, and the goal is far from most of them."""
_VALUES: Final = MAX_VALUES - 2_000
"""As many as a text may have, less those of what stands around it."""
_AROUND: Final = 10_000
"""Bytes: more than what stands around a value."""
_STRING: Final = re.compile(rb'"(?:[^"\\]|\\.)*"')
_STRANGER: Final = EthereumKey.from_secret(b"\x0c" * 32)
_SIGNERS: Final = tuple(EthereumKey.from_secret(bytes([13 + number]) * 32) for number in range(16))


def _string(unit: bytes) -> Callable[[int], bytes]:
    return lambda size: b'"%b"' % (unit * ((size - 2) // len(unit)))


def _count(unit: bytes, size: int) -> int:
    """How often a unit may stand in a list of a number of bytes."""
    beside = _STRING.sub(b"", unit)
    values = 1 + sum(map(beside.count, (b",", b"[", b"{")))
    return min(_VALUES // values, (size - 2) // (len(unit) + 1))


def _list(unit: bytes) -> Callable[[int], bytes]:
    return lambda size: b"[%b]" % b",".join([unit] * _count(unit, size))


def _numbers(exponent: int) -> Callable[[int], bytes]:
    """A list of numbers, all different."""
    return lambda size: (
        b"[%b]" % b",".join(b"%de%d" % (number, exponent) for number in range(_count(b"12345e%d" % exponent, size)))
    )


def _members(unit: bytes) -> Callable[[int], bytes]:
    """An object. `unit`: some of its members, with %d for a number in their names, which descends."""

    def text(size: int) -> bytes:
        count = _count(unit.replace(b"%d", b"12345"), size)
        return b"{%b}" % b",".join(unit.replace(b"%d", b"%d" % number) for number in reversed(range(count)))

    return text


def _deep(size: int) -> bytes:
    """About as deep as a text may be, and all of it at the bottom, behind a number of another form."""
    depth, note = 40, max(0, size - 40 * 100)
    return b"[" * depth + b'1.0,"%b"' % (b"x" * note) + b"]" * depth


def _behind_many(size: int) -> bytes:
    """Many values, the last of which is refused, and with what leads to it."""
    return b"[%b9007199254740993]" % (b"[]," * min(_VALUES // 2, size // 3 - 20))


def _below_a_long_name(size: int) -> bytes:
    behind = _behind_many(min(size, 3 * _VALUES // 2))
    return b'{"%b":%b}' % (b"x" * max(0, size - len(behind) - 6), behind)


def _before_a_half(unit: bytes) -> Callable[[int], bytes]:
    """A list whose last item is half of a surrogate pair: what stops there has done all its work in vain."""
    return lambda size: b'%b,"\\ud800"]' % _list(unit)(size - 20)[:-1]


TEXTS: Final[Mapping[str, Callable[[int], bytes]]] = {
    "halves of surrogate pairs": _string(rb"\ud800"),
    "halves, each in a string": _list(rb'"\ud800"'),
    "halves, each in a list": _list(rb'["\ud800"]'),
    "halves in names": _members(rb'"\ud800%d":1'),
    "lists of an empty object, before a half": _before_a_half(b"[[{}]]"),
    "early exponents, each in five lists, before a half": _before_a_half(b"[[[[[1e16]]]]]"),
    "indices, two in an object in two lists, before a half": _before_a_half(b'[[{"1":1e16,"0":{}}]]'),
    "escapes": _string(rb"\u0001"),
    "commas, each in a string": _list(b'","'),
    "long numbers": _list(b"1.5e300"),
    "whole numbers with a fraction": _list(b"1.0"),
    "negative zeros": _list(b"-0.0"),
    "numbers with an early exponent": _list(b"1e16"),
    "numbers with an early exponent, all different": _numbers(15),
    "millionths": _list(b"4.5e-6"),
    "large integers": _list(b"9007199254740993000"),
    "an integer that nobody reads, behind many": _behind_many,
    "an integer that nobody reads, below a long name": _below_a_long_name,
    "whole numbers between quotation marks": _list(rb'"\"1.0,\"",1.0'),
    "many members": _members(b'"x%d":1'),
    "many indices": _members(b'"%d":1'),
    "1e22 beside a member 0": _members(b'"%d":1e22'),
    "names in the order of UTF-16": _members('"🤝%d":1,"\uffff%d":1'.encode()),
    "empty lists": _list(b"[]"),
    "empty objects": _list(b"{}"),
    "whole numbers, each in a list": _list(b"[1.0]"),
    "early exponents, each in a list": _list(b"[1e16]"),
    "early exponents, each in two lists": _list(b"[[1e16]]"),
    "empty lists, each in two lists": _list(b"[[[]]]"),
    "early exponents, each in an object": _list(b'{"0":1e16}'),
    "indices, two in an object": _list(b'{"1":1,"0":1}'),
    "indices of empty lists, two in an object": _list(b'{"1":[],"0":[]}'),
    "names in the order of UTF-16, two in an object": _list('{"🤝":1,"\uffff":1}'.encode()),
    "all of these in small objects": _list('{"🤝":1.0,"\uffff":[1e16],"1":{"0":-0.0},"0":4e-6}'.encode()),
    "all of these, and halves": _list(rb'{"1":"\ud800","0":[1e16,{}],"\ud800":-0.0}'),
    "deep": _deep,
}
"""JSON values of about a number of bytes, or less if they would have too many values."""


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry. `most_bytes`: of a value; `around`: the text with a value in it; `read`: does with it all that is done
    up to the signature, and returns the reason why it is refused, or ""; `ends`: that of an honest text.
    """

    name: str
    most_bytes: int
    ends: str
    around: Callable[[bytes], bytes]
    read: Callable[[bytes], str]


def honest(size: int) -> bytes:
    """A value of a number of bytes, as honest programs write it: an order, with as many lines as it may have."""
    order: dict[str, JsonValue] = {"Order": 4711, "Lines": (lines := []), "Note": ""}
    left = size - len(json.dumps(order))
    for number in range(_VALUES // 11):
        price = {"Amount": number % 90 + 0.95, "Currency": "EUR"}
        name = {"Sku": f"K-{number:05}", "Name": "Coffee, 1 kg", "Quantity": number % 9}
        line: JsonValue = {**name, "Price": price, "Tags": ["new", "fair"]}
        left -= len(json.dumps(line)) + 2
        if left < 0:
            break
        lines.append(line)
    text = json.dumps(order)
    return f'{text[:-2]}{"x" * (size - len(text))}"}}'.encode()


def entries() -> Iterator[Entry]:
    """Each entry at which a stranger's text is read."""
    key = PrivateKey.generate("ed25519").public
    most = DeploymentSettings().nlweb_max_body_bytes - _AROUND
    yield Entry("POST /inbox", most, "SignatureInvalid", _nlweb, partial(_read_nlweb, key))
    dm3 = _Dm3()
    # `orjson` writes 1e16 as 1e+16, and what it writes is measured.
    most = MAX_BESIDE_BYTES * 3 // 4
    yield Entry("POST /rpc", most, "SenderSignatureInvalid", dm3.envelope, dm3.read)
    # Base64 makes a third more of it.
    yield Entry("POST /rpc, sealed", most * 3 // 4, "SenderSignatureInvalid", dm3.sealed, dm3.read)
    most = DeploymentSettings().dm3_size_limit_bytes - _AROUND
    yield Entry("POST /rpc, too large", most, "EnvelopeInvalid", dm3.envelope, dm3.read)
    most = MAX_MESSAGE_BYTES - _AROUND
    dcp = _Dcp()
    yield Entry("POST /dcp", most, "", partial(dcp.message, keys=()), dcp.read)
    # What stands around it are two Buffers of 32 bytes for each resource.
    most -= _AROUND
    yield Entry("POST /dcp, 16 resources", most, "", partial(dcp.message, keys=_SIGNERS), dcp.read)
    yield Entry("DCP over a WebSocket", MAX_SOCKET_BYTES - _AROUND, "", partial(dcp.message, keys=()), dcp.read)
    yield Entry("a line of an archive", MAX_LINE_BYTES - _AROUND, _NO_TYPE, _line, _read_line)


def _nlweb(value: bytes) -> bytes:
    """A message whose Hash is right, if it has one."""
    header = {"From": SENDER, "To": RECEIVER, "Subject": "Any@Host", "Timestamp": "2026-12-11T14:40:00Z"}
    header |= {"Correlation": "5f0d8f9e-0000-4000-8000-000000000001"}
    text = b'{"Header":%b,"Body":%b,"Hash":"%b","Signature":"%b"}'
    parts = orjson.dumps(header), value, b"0" * 64, b64encode(b"junk" * 16)
    try:
        envelope, read = read_frame(parse(text % parts, max_bytes=2 * len(value) + _AROUND))
    except TheirError:
        return text % parts
    return text % (*parts[:2], hash_of(signed_text_of(envelope, read)).encode(), parts[3])


def _read_nlweb(key: PublicKey, data: bytes) -> str:
    try:
        envelope = read_envelope(parse(data, max_bytes=len(data)))
        check_before_lookup(envelope, is_ours=RECEIVER.__eq__, received_at_ms=NOW_MS, window=TimestampWindow())
        check_signature(envelope, key)
    except TheirError as error:
        return str(error.reason)
    return ""


class _Dm3:
    """A dm3 inbox with its look-ups in memory, and envelopes of somebody who has not the sender's key."""

    def __init__(self) -> None:
        keys, registry, users = FakeServiceKeys(), FakeRegistry(), UserKeys.random()
        profile = UserProfile(users.encryption.public, users.signing.public, ("ds.eth",))
        for name in ("alice.eth", "bob.eth"):
            registry.put(name, PROFILE_KEY, data_uri(profile.as_json()))
        unused: Any = None
        pool = ThreadPoolExecutor(2)
        directory: Any = SimpleNamespace(dm3_mailbox=lambda name, before_read: Dm3Mailbox(name))  # noqa: ARG005
        self._service_key = keys.get().encryption[0].public
        self._inbox = Dm3Inbox(
            properties=Properties(0, DeploymentSettings().dm3_size_limit_bytes),
            directory=directory,
            keys=keys,
            profiles=Profiles(registry, time.time),
            accounts=unused,
            slow_names=unused,
            new_timebox=lambda: TimeBox(pool, 60, time.monotonic),
            reads=LeakyBucket(1, 1, time.monotonic),
            intake=unused,
            clock=time.time,
        )

    def envelope(self, value: bytes) -> bytes:
        """A call that submits it, with a value in its metadata."""
        delivery = DeliveryInformation("bob.eth", "alice.eth").as_json()
        return self._call(orjson.dumps(delivery), value)

    def sealed(self, value: bytes) -> bytes:
        """The same, with the value in the delivery information."""
        return self._call(b'{"to":"bob.eth","from":"alice.eth","more":%b}' % value, b"1")

    def _call(self, delivery: bytes, value: bytes) -> bytes:
        metadata = {
            "version": "1.0",
            "encryptionScheme": SCHEME,
            "deliveryInformation": seal(delivery, self._service_key),
        }
        signed = orjson.dumps(metadata | {"signature": b64encode(b"junk" * 16).decode()}).removesuffix(b"}")
        envelope = b'{"message":"m","metadata":%b,"more":%b}}' % (signed, value)
        return b'{"jsonrpc":"2.0","id":1,"method":"dm3_submitMessage","params":[%b]}' % envelope

    def read(self, data: bytes) -> str:
        """Post a call. Raises AssertionError for a fault of ours."""
        answer = self._inbox.post(data, "192.0.2.1")
        assert answer.status == 200, answer.body
        return "".join(str(part.reason or "") for part in answer.parts)


class _AnyNonce(MemoryStore):
    """A store in which a message can be received again and again."""

    def use_nonce(self, use: NonceUse) -> None:
        """Take any nonce."""


class _Dcp:
    """A guardian, and messages of a stranger, who has a session and signs them."""

    def __init__(self) -> None:
        bank = Bank(_AnyNonce())
        self._peer = Peer.connected(bank, _STRANGER)
        self._receiver = bank.guardian.receiver

    def message(self, value: bytes, *, keys: tuple[EthereumKey, ...]) -> bytes:
        """A message. `keys`: the resources that are said to have signed."""
        request = self._peer.request("x", "the value", keys=keys)
        if keys:
            request["auth"] = {key.address: write_signature(key.sign(b"something else")) for key in keys}
        text = json.dumps(request, separators=(",", ":")).encode()
        # What is signed is the text that JSON.stringify writes of the value, however it was sent.
        with suppress(TheirError):
            request["payload"]["data"] = parse(value, max_bytes=len(value), half_pairs=True)
        signed = json.loads(self._peer.signed(request))
        head = json.dumps({"owner": signed["owner"], "signature": signed["signature"]}, separators=(",", ":")).encode()
        return b'%b,"body":%b}' % (head.removesuffix(b"}"), text.replace(b'"the value"', value))

    def read(self, data: bytes) -> str:
        """Receive a message, and check its request."""
        try:
            received = self._receiver.receive(data, NOW)
            if isinstance(received, Refused):
                return str(received.error.reason)
            assert isinstance(received, ReceivedRequests)
            self._receiver.admit(received, 0)
        except TheirError as error:
            return str(error.reason)
        return ""


_NO_TYPE: Final = "the type must be one of"


def _line(value: bytes) -> bytes:
    """A line with a value where it has room for one: nothing in it is written out or hashed."""
    return b'{"at":1,"wrapper":"","type":%b}' % value


def _read_line(data: bytes) -> str:
    try:
        read_line(data)
    except ValueError as error:
        return str(error)
    return ""


def _ratio(entry: Entry, text: Callable[[int], bytes], effort: Effort) -> float:
    value = text(entry.most_bytes)
    hostile, usual = entry.around(value), entry.around(honest(len(value)))
    # Only an honest text is known to come as far as the signature.
    assert entry.read(usual).startswith(entry.ends), (entry.name, entry.read(usual))
    entry.read(hostile)
    few = replace(effort, rounds=min(_ROUNDS, effort.rounds), turns=min(_ROUNDS, effort.turns))
    [ratio] = processor_ratios([partial(entry.read, usual), partial(entry.read, hostile)], few)
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


def _for_each(request: Request, resources: Iterable[Address], _: bytes) -> frozenset[Address]:
    """The signers of a request, with a text and a digest for each."""
    return frozenset().union(*(signers_of(request, [each], payload_digest(request)) for each in resources))


def _in_parts(value: JsonValue, _: bytes = b"") -> bytes:
    """A text that is joined of a text for each list, object and number in it."""
    if isinstance(value, dict):
        return orjson.dumps({name: orjson.Fragment(_in_parts(each)) for name, each in sorted(value.items())})
    if isinstance(value, list):
        return orjson.dumps([orjson.Fragment(_in_parts(each)) for each in value])
    return canonical._with_other_numbers(orjson.dumps(value))


BROKEN: Final = (
    Broken(
        "each list, object and number is written by itself",
        lambda effort: _is_seen(
            patch.object(canonical, "_as_rfc_8785", _in_parts), "POST /inbox", "whole numbers, each in a list", effort
        ),
    ),
    Broken(
        "the text of a payload is made for each resource",
        lambda effort: _is_seen(
            patch.object(receiving, "signers_of", _for_each), "POST /dcp, 16 resources", "many indices", effort
        ),
    ),
)
