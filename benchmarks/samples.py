"""The messages of the benchmarks: envelopes of 2 KB of several kinds, and mails of the same size."""

import json
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import dkim
import orjson
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from postroom.core.ijson import JsonValue
from postroom.crypto.rsa_ed25519 import Algorithm, PrivateKey
from postroom.protocols.nlweb.key_record import record_text
from postroom.protocols.nlweb.sign import Draft, header_of, sign

SIZE: Final = 2048
"""The approximate size of every envelope and mail: they have whole words and members."""
NOW_MS: Final = 1_797_000_000_000
SENDER: Final = "any-sender.com"
RECEIVER: Final = "any-receiver.com"
SELECTOR: Final = "pk1"

_ENGLISH = "two pieces, and no oil please; the door is round the corner, ring twice and wait a little. "
_GERMAN = "zwei Stück, bitte ohne Öl; die Tür ist um die Ecke, läuten Sie zweimal und gedulden Sie sich — "


def body_of_text(size: int) -> JsonValue:
    """A body with mostly one text."""
    return {"Order": 4711, "Paid": True, "Note": (_ENGLISH * (size // len(_ENGLISH) + 1))[:size]}


def body_of_members(size: int) -> JsonValue:
    """A body with many small members, such as an order."""
    lines: list[JsonValue] = []
    body: JsonValue = {"Order": 4711, "Paid": True, "Lines": lines}
    while len(orjson.dumps(body)) < size:
        lines.append({"Item": f"item-{len(lines):04}", "Title": "A thing of some length", "Count": len(lines)})
    return body


def body_beyond_ascii(size: int) -> JsonValue:
    """A body with mostly one text, and a name, both beyond ASCII."""
    return {"Größe": "XL", "Note": (_GERMAN * (size // len(_GERMAN) + 1)).encode()[:size].decode(errors="ignore")}


def body_with_a_price(size: int) -> JsonValue:
    """A body with a text, and one number with a fraction."""
    return {"Price": 12.5, "Note": (_ENGLISH * (size // len(_ENGLISH) + 1))[:size]}


def compact(value: JsonValue) -> bytes:
    """JSON as orjson and JavaScript's JSON.stringify write it."""
    return orjson.dumps(value)


def spaced(value: JsonValue) -> bytes:
    """JSON as Python's json.dumps writes it: with white space, and escapes for all characters beyond ASCII."""
    return json.dumps(value).encode()


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of envelope: its body, and how its sender writes JSON."""

    name: str
    body: Callable[[int], JsonValue]
    write: Callable[[JsonValue], bytes] = compact


KINDS: Final = (
    Kind("text", body_of_text),
    Kind("many members", body_of_members),
    Kind("beyond ASCII", body_beyond_ascii),
    Kind("text, spaced", body_of_text, spaced),
    Kind("many members, spaced", body_of_members, spaced),
    Kind("text and a price", body_with_a_price),
)


@dataclass(frozen=True, slots=True)
class Keys:
    """One key, in the forms that we and dkimpy take."""

    private: PrivateKey
    for_dkimpy: bytes
    record: bytes

    @classmethod
    def generate(cls, algorithm: Algorithm) -> "Keys":
        """A new key."""
        private = PrivateKey.generate(algorithm)
        pem = private.to_pem()
        key = load_pem_private_key(pem, password=None)
        raw = b64encode(key.private_bytes_raw()) if isinstance(key, Ed25519PrivateKey) else pem
        return cls(private, raw, record_text(private.public).encode())


def draft(body: JsonValue) -> Draft:
    """The draft of an envelope with this body."""
    return Draft(
        sender=SENDER,
        receiver=RECEIVER,
        subject="Order@Seller",
        correlation="125a5c75-cb72-43d2-9695-37026dfcaa48",
        timestamp_ms=NOW_MS,
        body=body,
        selector=SELECTOR,
    )


def signed_part(body: JsonValue) -> JsonValue:
    """The Header and Body, which are hashed and signed."""
    content = draft(body)
    return {"Header": dict(header_of(content)), "Body": content.body}


def envelope(kind: Kind, key: PrivateKey) -> bytes:
    """The bytes of a signed envelope of about 2 KB, with a body of this kind."""

    def made(size: int) -> bytes:
        return kind.write(sign(draft(kind.body(size)), key))

    room = SIZE - len(made(0))
    return made(room - (len(made(room)) - SIZE))


def mail(keys: Keys) -> bytes:
    """A mail of 2 KB with seven headers, signed relaxed/relaxed by dkimpy."""
    head = (
        f"From: Any Sender <orders@{SENDER}>\r\n"
        f"To: Any Receiver <sales@{RECEIVER}>\r\n"
        "Subject: Order 4711\r\n"
        "Date: Thu, 10 Dec 2026 13:45:00 +0000\r\n"
        f"Message-ID: <125a5c75-cb72-43d2-9695-37026dfcaa48@{SENDER}>\r\n"
        "MIME-Version: 1.0\r\n"
        "Content-Type: text/plain; charset=utf-8\r\n"
    )

    def made(size: int) -> bytes:
        text = (_ENGLISH * (size // len(_ENGLISH) + 1))[:size]
        lines = [text[start : start + 76] for start in range(0, len(text), 76)]
        unsigned = "\r\n".join([head, *lines, ""]).encode()
        algorithm = keys.private.public.algorithm
        signature = dkim.sign(
            unsigned,
            SELECTOR.encode(),
            SENDER.encode(),
            keys.for_dkimpy,
            canonicalize=(b"relaxed", b"relaxed"),
            signature_algorithm=f"{algorithm}-sha256".encode(),
        )
        return bytes(signature) + unsigned

    room = SIZE - len(made(0))
    return made(room - 2 * (room // 78))
