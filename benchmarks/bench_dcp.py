"""Benchmark `dcp`: verifying and signing messages of DCP, and authorized requests, compared with bare primitives."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import coincurve
import orjson
from benchmarks import dcp_ends, dcp_verifying
from benchmarks.cold_guardian import first_compared
from benchmarks.guardian import BATCH, status_compared
from benchmarks.harness import Benchmark, Effort, Table, marked, over_processes, ratios, times
from benchmarks.local_mailbox import local_status_compared
from benchmarks.samples import NOW_MS, RECEIVER
from Crypto.Hash import keccak

from postroom.core.canonical import json_stringify
from postroom.core.ijson import JsonValue
from postroom.crypto.ethereum_keys import EthereumKey
from postroom.protocols.dcp.authorization import authorize, does_authorize
from postroom.protocols.dcp.messages import Allowance, Request, read_body
from postroom.protocols.dcp.signature import read_signature
from postroom.protocols.dcp.signed_message import read_signed_message, sign_body
from postroom.protocols.dcp.validity import TtlLimits, check_validity, read_validity

SIZE: Final = 1000
"""The approximate bytes of each body."""
REQUESTS: Final = 100
ROUNDS: Final = 5
MOST: Final = 1.5
MOST_SLOW: Final = 3.0
LEAST: Final = 5.0
LEAST_VERIFYING: Final = 1.2
MOST_IN_BATCH: Final = 1 / 3
MOST_AT_THE_STACK: Final = 1.5
MOST_COLD: Final = 1.2
NOW: Final = NOW_MS // 1000

NOTES: Final = f"""\
*Ours*, in verifying, is everything from the bytes of a signed message to its owner and body: strict JSON, the form of
owner and signature, the text that JavaScript's `JSON.stringify` writes of the body, the recovery of the signer, and its
address. Signing is everything from a body to the bytes of its message. The body is a request of {SIZE:,} bytes; the
same message is verified again and again, so the case of its owner's address is cached. *An authorized request* has a
second signature, by the key of a resource, in addition to these bytes; its form and validity are checked, too.

*Bare* has only the library calls that cannot be avoided, with the same libraries (coincurve, pycryptodome):
`orjson.loads` of the message, Keccak-256 of the text, the recovery of the key, and Keccak-256 of the key. For signing,
it is `orjson.dumps` of the body, Keccak-256 of the text, and the signature. In verifying, the text is given, and it
makes no address. For an authorized request, it has two recoveries with their Keccak-256.

The last rows have bodies that `orjson` does not write as JavaScript does, so the slow writer of `json_stringify` writes
them: ten integers beyond 2^53, ten numbers of a few millionths, or twenty names that are array indices. Bodies with
halves of surrogate pairs have no row, because `orjson` does not read them.

*Parsing and verifying a message* is the same work, by the reference: npm's dcp-client 3.1.13, measured inside Node,
does what its connection does with each message that it receives. *With native code* it has the package `bindings`, so
that it uses `ethereumjs-util` with the native code that npm's `secp256k1` and `keccak` bring. *As shipped*, without
that package, it verifies by JavaScript of its own; this row has no goal. Both compare processor times.

*The status of a mailbox* is compared with that of the same request over HTTP with a token: once as a `Mailbox` in
another process than the local stack has it, over TLS, the fastest of 20 requests of each kind in a round; and once as
the time that the function of the mailbox API takes, with an AWS in another process. Over HTTP it makes two requests of
DynamoDB, one after the other; over DCP three more: one for the nonce, and two at the same time for id and stamp. In a
batch, all requests share the nonce.

*A cold start* is the time from the start of a new process of that function to its answer to the first request: its
imports, its AWS clients, and the request. It is compared with that of `status` over HTTP with a token. `status` over
DCP is a message of a session that another process opened; *connect* opens one. The first message of DCP imports Keccak
and the modules of DCP, which the start of the function does not.

*Both ends in one process*: a session is opened; requests of a few bytes are sent one after the other, each when the
last was answered; and ten at once, which go in a batch. The reference is the same with native code; it writes the
address of each target into a file. Ours are `AsyncConnection` and `accept`. If the reference cannot be installed, it
has no ratios.

Goals: ours ≤ {MOST} × bare, and ≤ {MOST_SLOW} × bare where the slow writer is needed;
the reference ≥ {LEAST:.0f} × ours, and ≥ {LEAST_VERIFYING} × ours in verifying with native code;
one of a batch of {BATCH} ≤ ⅓ × one that is alone; `status` over DCP at the local stack ≤
{MOST_AT_THE_STACK} × over HTTP; a first `status` over DCP ≤ {MOST_COLD} × over HTTP.
"""

_PLAIN: Final[Mapping[str, JsonValue]] = {"Order": 4711, "Paid": True}
_DCPSID: Final = "dd3c1c8a0f6c4e3f9a5b2-7a60d1b2c9e84f5f8e1c4"
_LINE: Final = "two pieces, and no oil please; the door is round the corner, ring twice. "


@dataclass(frozen=True, slots=True)
class Row:
    """A row. `ways`: bare, and ours; `most`: its goal."""

    name: str
    ways: Callable[[], tuple[Callable[[], object], Callable[[], object]]]
    most: float


def measure(effort: Effort) -> Sequence[Table]:
    """A table with a row for each operation and kind of body, and one of requests at the mailbox API."""
    found = over_processes(measure_here, effort)
    rows = [(row.name, marked(ours, reached=ours <= row.most)) for row, (ours,) in zip(ROWS, found, strict=True)]
    full = effort.rounds > 1
    at_the_stack = local_status_compared(ROUNDS if full else 1)
    alone, in_batch = status_compared(REQUESTS if full else 1)
    of_a_mailbox = (
        ("at the local stack, by the client", marked(at_the_stack, reached=at_the_stack <= MOST_AT_THE_STACK)),
        ("in the function, alone", times(alone)),
        (f"in the function, one of {BATCH} in a batch", times(in_batch)),
    )
    return [
        Table("Messages", ("operation, body", "ours : bare"), tuple(rows)),
        _verifying_compared(effort),
        Table("The status of a mailbox", ("request", "over DCP : over HTTP"), of_a_mailbox),
        _first_compared(effort),
        *_ends_compared(effort),
    ]


def _verifying_compared(effort: Effort) -> Table:
    native, shipped = dcp_verifying.compared(sign_body(_body(_PLAIN), _key(1)), effort)
    rows = (
        ("the reference with native code", _times_ours(native, LEAST_VERIFYING)),
        ("the reference as shipped", _times_ours(shipped, 0)),
    )
    return Table("Parsing and verifying a message", ("way", "reference : ours"), rows)


def _first_compared(effort: Effort) -> Table:
    # Each turn is one process, which takes far longer than the minimum.
    fewer = Effort(rounds=min(effort.rounds, 5), turns=min(effort.turns, 3), turn_seconds=0)
    status, connect = first_compared(fewer)
    rows = (
        ("the first `status` of a process", marked(status, reached=status <= MOST_COLD)),
        ("the first connect of a process", times(connect)),
    )
    return Table("A cold start", ("request", "over DCP : `status` over HTTP"), rows)


def _ends_compared(effort: Effort) -> Iterator[Table]:
    full = effort.rounds > 1
    ours, theirs = dcp_ends.compared(ROUNDS if full else 1, REQUESTS if full else 1)
    rows = (
        ("opening a session", _times_ours(theirs and theirs.opening / ours.opening, LEAST)),
        ("a request alone", _times_ours(theirs and theirs.alone / ours.alone, LEAST)),
        (f"one of {BATCH} in a batch", _times_ours(theirs and theirs.in_batch / ours.in_batch, LEAST)),
    )
    yield Table("Both ends in one process", ("work", "reference : ours"), rows)
    share = ours.in_batch / ours.alone
    in_batch = (f"a request of a batch of {BATCH}", marked(share, reached=share <= MOST_IN_BATCH))
    yield Table("A batch, ours", ("request", "in a batch : alone"), (in_batch,))


def _times_ours(ratio: float | None, least: float) -> str:
    return "—" if ratio is None else marked(ratio, reached=ratio >= least)


def measure_here(effort: Effort) -> list[list[float]]:
    """For each row: ours to bare."""
    return [ratios(row.ways(), effort)[1:] for row in ROWS]


def _verifying(data: Mapping[str, JsonValue]) -> tuple[Callable[[], object], Callable[[], object]]:
    body = _body(data)
    message = sign_body(body, _key(1))
    recover = _recovery(json_stringify(body), orjson.loads(message)["signature"])

    def bare() -> None:
        orjson.loads(message)
        recover()

    return bare, lambda: read_signed_message(message)


def _signing() -> tuple[Callable[[], object], Callable[[], object]]:
    body, key = _body(_PLAIN), _key(1)
    sign = coincurve.PrivateKey(key.secret).sign_recoverable

    def bare() -> None:
        sign(_digest(orjson.dumps(body)), hasher=None)

    return bare, lambda: sign_body(body, key)


def _authorized() -> tuple[Callable[[], object], Callable[[], object]]:
    accessor, resource, guardian = _key(1), _key(2), _key(3)
    allowance = Allowance(resource.address, guardian.address, accessor.address)
    body = _body(_PLAIN, [allowance.as_json()])
    auth = authorize(body["payload"], [resource])
    message = sign_body({**body, "auth": auth}, accessor)
    members = orjson.loads(message)
    recoveries = (
        _recovery(json_stringify(members["body"]), members["signature"]),
        _recovery(json_stringify(body["payload"]), auth[resource.address]),
    )
    limits = TtlLimits(min=15, max=7 * 86_400)

    def bare() -> None:
        orjson.loads(message)
        for recover in recoveries:
            recover()

    def ours() -> None:
        request = read_body(read_signed_message(message).body)
        assert isinstance(request, Request)
        check_validity(read_validity(request.payload.validity), limits, 10, NOW)
        assert does_authorize(request, allowance)

    return bare, ours


def _recovery(text: bytes, signature: JsonValue) -> Callable[[], object]:
    """The bare work of finding the signer of a text."""
    raw, recover = read_signature(signature), coincurve.PublicKey.from_signature_and_message
    assert raw is not None

    def found() -> None:
        _keccak(recover(raw, _digest(text), hasher=None).format(compressed=False)[1:])

    return found


def _digest(text: bytes) -> bytes:
    return _keccak(b"\x19Ethereum Signed Message:\n%d" % len(text) + text)


def _keccak(data: bytes) -> bytes:
    return keccak.new(digest_bits=256, data=data).digest()


def _key(number: int) -> EthereumKey:
    return EthereumKey.from_secret(number.to_bytes(32))


def _body(data: Mapping[str, JsonValue], allow: Sequence[JsonValue] = ()) -> dict[str, Any]:
    """A request of SIZE bytes with this data, which a note fills up."""

    def made(note: str) -> dict[str, Any]:
        payload = {
            "operation": "put_message",
            "allow": list(allow),
            "data": {"mailbox": RECEIVER, **data, "Note": note},
            "validity": {"time": NOW, "stamp": "125a5c75-cb72-43d2-9695-37026dfcaa48", "ttl": 15.5},
        }
        return {"type": "request", "id": "r1", "payload": payload, "dcpsid": _DCPSID, "nonce": "1337c0ded00d"}

    room = SIZE - len(json_stringify(made("")))
    return made((_LINE * (room // len(_LINE) + 1))[:room])


_SLOW: Final[Mapping[str, Mapping[str, JsonValue]]] = {
    "large integers": {"Numbers": [2**60 + place * 2**10 for place in range(10)]},
    "millionths": {"Numbers": [place / 1_000_000 for place in range(1, 11)]},
    "numbers as names": {"Lines": {str(place): place for place in range(20)}},
}
ROWS: Final = (
    Row("verify", partial(_verifying, _PLAIN), MOST),
    Row("sign", _signing, MOST),
    Row("an authorized request", _authorized, MOST),
    *(Row(f"verify, {kind}", partial(_verifying, data), MOST_SLOW) for kind, data in _SLOW.items()),
)
BENCHMARK = Benchmark("dcp", "A signed message of DCP, and an authorized request", NOTES, measure)
