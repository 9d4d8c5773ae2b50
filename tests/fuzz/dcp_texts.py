"""Fuzzing of DCP's signed messages, and of keystores of Ethereum."""

import hashlib
import json
from typing import Any, Final

from tests.fuzz.entry import Entry, bit_flipped, fuzzed, json_of, outcome_of, place_in, text_of
from tests.fuzz.samples import VECTORS, compact

from postroom.core.canonical import json_stringify
from postroom.core.errors import TheirError
from postroom.core.ijson import MAX_DEPTH, MAX_VALUES, JsonValue, parse
from postroom.core.reasons import NOT_I_JSON, NOT_JSON
from postroom.crypto.ethereum_keys import EthereumKey
from postroom.crypto.keystore import (
    MAX_PBKDF2_ROUNDS,
    MAX_SCRYPT_BYTES,
    MAX_SCRYPT_WORK,
    KeystoreError,
    lock,
    unlock,
)
from postroom.protocols.dcp.authorization import authorize, payload_digest, signers_of
from postroom.protocols.dcp.connect import read_connect
from postroom.protocols.dcp.error_payload import read_error
from postroom.protocols.dcp.messages import (
    Allowance,
    DcpMessage,
    Request,
    RequestBatch,
    Response,
    ResponseBatch,
    read_body,
)
from postroom.protocols.dcp.reasons import (
    DCP_BODY_INVALID,
    DCP_MESSAGE_INVALID,
    DCP_SIGNATURE_INVALID,
    DCP_VALIDITY_INVALID,
    DCP_VERSION_UNSUPPORTED,
)
from postroom.protocols.dcp.signed_message import SignedMessage, read_signed_message, sign_body
from postroom.protocols.dcp.validity import read_validity

KEY: Final = EthereumKey.from_secret(b"\1" * 32)
OTHER: Final = EthereumKey.from_secret(b"\2" * 32)
ROOM: Final = 128
"""More values than a signed message has around its body."""

ALLOWED: Final = Allowance(OTHER.address, KEY.address, OTHER.address).as_json(hex_prefix=True)
PAYLOAD: Final[dict[str, JsonValue]] = {
    "operation": "messages",
    "allow": [ALLOWED],
    "data": {"mailbox": "any-receiver.com", "10": 1e21, "9": [2.5, True, None, "\u00e9\n"]},
    "validity": {"time": 1578683051, "stamp": "s-0001", "ttl": 15.5},
}
REQUEST: Final[dict[str, JsonValue]] = {
    "type": "request", "id": "r1", "payload": PAYLOAD, "auth": authorize(PAYLOAD, [OTHER], hex_prefix=True),
}  # fmt: skip
RESPONSE: Final[dict[str, JsonValue]] = {
    "type": "response", "id": "r1", "time": 1578683051.5, "success": False,
    "payload": {"type": "protocol", "name": "Error", "message": "no", "code": "EINVAL", "lineNumber": 3},
}  # fmt: skip
CONNECT: Final[dict[str, JsonValue]] = {
    "type": "request", "id": "r0",
    "payload": {"operation": "connect", "data": {"version": "4.0.0", "sid": "INITIATOR_STRING//0001"}},
}  # fmt: skip
BODIES: Final[tuple[dict[str, JsonValue], ...]] = (
    {**REQUEST, "dcpsid": "INITIATOR_STRING//0001-TARGET_STRING//000001", "nonce": "1337c0ded00d"},
    {**RESPONSE, "dcpsid": "a-b", "nonce": "1"},
    CONNECT,
    {"type": "request-batch", "id": "b1", "payload": [REQUEST, CONNECT], "dcpsid": "a-b", "nonce": "1"},
    {"type": "response-batch", "id": "b1", "payload": [RESPONSE], "dcpsid": "a-b", "nonce": "2"},
)
MESSAGES: Final = (
    *(json_stringify(body) for body in BODIES),
    *(sign_body(body, KEY) for body in BODIES),
    sign_body(BODIES[0], KEY, hex_prefix=True),
    b'{"half":"\\ud83d","n":[1180591620717411303424,9007199254740994,1e-7,1e21,-0.0,5e-324],"4294967295":1,"0":2}',
)


@fuzzed(
    "protocols.dcp.signed_message", "protocols.dcp.signature", "protocols.dcp.messages", "protocols.dcp.validity",
    "protocols.dcp.error_payload", seeds=MESSAGES, is_json=True,
)  # fmt: skip
def dcp_message(data: bytes) -> None:
    """verify(sign(x)) is true; a flipped bit is refused, or changes no value; JSON that we wrote is written alike."""
    found = outcome_of(
        lambda: read_signed_message(data), NOT_JSON, NOT_I_JSON, DCP_MESSAGE_INVALID, DCP_SIGNATURE_INVALID
    )
    if isinstance(found, SignedMessage):
        _read(found.body)
    try:
        value = parse(data, max_bytes=len(data), max_depth=MAX_DEPTH - 2, max_values=MAX_VALUES - ROOM, half_pairs=True)
    except TheirError:
        return
    text = json_stringify(value)
    assert json_stringify(parse(text, max_bytes=len(text), half_pairs=True)) == text
    assert json_stringify(json.loads(text)) == text
    body: dict[str, JsonValue] = value if isinstance(value, dict) else {"value": value}
    message, signed = sign_body(body, KEY), json_stringify(body)
    read = read_signed_message(message)
    assert read.owner == KEY.address
    assert json_stringify(dict(read.body)) == signed
    _read(read.body)
    changed = outcome_of(
        lambda: read_signed_message(bit_flipped(message, place_in(data))),
        NOT_JSON, NOT_I_JSON, DCP_MESSAGE_INVALID, DCP_SIGNATURE_INVALID,
    )  # fmt: skip
    # \u001f and \u001F are one character, and the last digit of a number may not change its double.
    if isinstance(changed, SignedMessage):
        assert (changed.owner, json_stringify(dict(changed.body))) == (KEY.address, signed)


def _read(body: Any) -> None:
    message = outcome_of(lambda: read_body(body), DCP_BODY_INVALID)
    if isinstance(message, DcpMessage):
        assert message.members == body
    match message:
        case Request():
            _read_request(message)
        case RequestBatch(requests=requests):
            for request in requests:
                if isinstance(request, Request):
                    _read_request(request)
        case Response(payload=payload):
            _read_error(payload)
        case ResponseBatch(responses=responses):
            for response in responses:
                _read_error(response.payload)


def _read_request(request: Request) -> None:
    outcome_of(lambda: read_validity(request.payload.validity), DCP_VALIDITY_INVALID)
    outcome_of(lambda: read_connect(request.payload), DCP_BODY_INVALID, DCP_VERSION_UNSUPPORTED)
    signers_of(request, request.auth, payload_digest(request))
    payload = dict(request.payload.members)
    if "auth" not in request.members:
        signed = read_body({**request.members, "auth": authorize(payload, [OTHER])})
        assert isinstance(signed, Request)
        both = (OTHER.address, KEY.address)
        assert signers_of(signed, both, payload_digest(signed)) == {OTHER.address}


def _read_error(payload: JsonValue) -> None:
    error = read_error(payload)
    assert read_error(error.as_json()) == error
    assert "stack" not in error.as_json()


PASSPHRASE: Final = "testpassword"
QUICK: Final = 2**23
"""Bytes that scrypt may mix, and rounds × 1024 of PBKDF2, for an input to be opened here."""


def _locked(passphrase: str, seed: bytes, key: EthereumKey = KEY) -> JsonValue:
    salt = hashlib.sha256(seed).digest()
    return lock(key, passphrase, salt=salt, vector=salt[:16], uuid="3198bc9c-6672-5ab3-d995-4942343ae5b6", work=2)


LOCKED: Final[Any] = _locked(PASSPHRASE, b"")
PBKDF2: Final = {"kdf": "pbkdf2", "kdfparams": {"c": 2, "dklen": 32, "prf": "hmac-sha256", "salt": "00" * 32}}
SCRYPT: Final = ((2**40, 8, 1), (2**16, 1, 1), (2, 1, 2**28), (3, 1, 1), (4, 2, 2))
KEYSTORES: Final = (
    LOCKED,
    {"version": 3, "Crypto": LOCKED["crypto"]},
    {**LOCKED, "address": KEY.address},
    {**LOCKED, "address": OTHER.address},
    {**LOCKED, "crypto": LOCKED["crypto"] | PBKDF2},
    {**LOCKED, "crypto": LOCKED["crypto"] | PBKDF2 | {"kdfparams": PBKDF2["kdfparams"] | {"c": 10**12}}},  # type: ignore[operator]
    *(
        {**LOCKED, "crypto": LOCKED["crypto"] | {"kdfparams": LOCKED["crypto"]["kdfparams"] | {"n": n, "r": r, "p": p}}}
        for n, r, p in SCRYPT
    ),
    *(case["json"] for case in json.loads((VECTORS / "dcp.json").read_bytes())["keystores"]),
)


@fuzzed("crypto.keystore", seeds=tuple(map(compact, KEYSTORES)), is_json=True)
def keystores(data: bytes) -> None:
    """A key, or KeystoreError, without work beyond the bounds; what we lock, its passphrase alone unlocks again."""
    written = _locked(text_of(data[:100]), data)
    assert unlock(written, text_of(data[:100])) == KEY
    assert _unlocked(written, text_of(data[:100]) + "x") is None
    value = json_of(data)
    if isinstance(value, TheirError) or _is_slow(value):
        return
    key = _unlocked(value, PASSPHRASE)
    if key is not None:
        assert unlock(_locked(PASSPHRASE, data, key), PASSPHRASE) == key


def _unlocked(keystore: JsonValue, passphrase: str) -> EthereumKey | None:
    try:
        return unlock(keystore, passphrase)
    except KeystoreError:
        return None


def _is_slow(keystore: JsonValue) -> bool:
    """Whether it asks for work that is allowed, but too slow for a search; work that is not allowed is refused."""
    for crypto in ("crypto", "Crypto"):
        match keystore:
            case {**members} if isinstance(inner := members.get(crypto), dict):
                pass
            case _:
                continue
        match inner.get("kdfparams"):
            case {"n": int(n), "r": int(r), "p": int(p)} if inner.get("kdf") == "scrypt":
                if (
                    128 * n * r * max(p, 1) > QUICK
                    and 128 * n * r <= MAX_SCRYPT_BYTES
                    and 128 * n * r * p <= MAX_SCRYPT_WORK
                ):
                    return True
            case {"c": int(rounds)} if inner.get("kdf") == "pbkdf2":
                if QUICK // 1024 < rounds <= MAX_PBKDF2_ROUNDS:
                    return True
    return False


ENTRIES: tuple[Entry, ...] = (dcp_message, keystores)
