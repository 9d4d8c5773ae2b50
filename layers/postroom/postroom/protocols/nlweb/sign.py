"""Making an envelope: header, canonical text, Hash, Signature."""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, Protocol

from postroom.core.ijson import JsonValue, parse
from postroom.core.timestamps import write_timestamp
from postroom.protocols.nlweb.envelope import MAX_SIGNATURE, hash_of, read_envelope, signed_text_of
from postroom.protocols.nlweb.names import MAX_NAME
from postroom.protocols.nlweb.schema import HANDSHAKE, NLWEB, Dialect

_LONGEST_SELECTOR: Final = ".".join(["s" * 63] * 4)[:MAX_NAME]


class Signs(Protocol):
    """A key that signs; `postroom.crypto.rsa_ed25519.PrivateKey` is one."""

    def sign(self, text: bytes) -> bytes:
        """The signature of a text."""
        ...


class _NoKey:
    """Makes a signature of the greatest possible length, which proves nothing."""

    def sign(self, _text: bytes) -> bytes:
        return bytes(MAX_SIGNATURE // 4 * 3)


@dataclass(frozen=True, slots=True)
class Draft:
    """A message before it is signed. `selector` None: the dialect's default, or none for a wallet.

    `has_body` False leaves the member Body out (it is optional).
    """

    sender: str
    receiver: str
    subject: str
    correlation: str
    timestamp_ms: int
    body: JsonValue = None
    has_body: bool = True
    selector: str | None = None
    dialect: Dialect = NLWEB


def header_of(draft: Draft) -> dict[str, JsonValue]:
    """The Header of a draft, as its dialect writes it."""
    header: dict[str, JsonValue] = {
        "From": draft.sender,
        "To": draft.receiver,
        "Subject": draft.subject,
        "Correlation": draft.correlation,
        "Timestamp": write_timestamp(draft.timestamp_ms),
    }
    if draft.dialect is not NLWEB:
        header["Schema"] = draft.dialect.schema
    if draft.selector is not None:
        header[draft.dialect.selector_member] = draft.selector
    return header


def content_of(draft: Draft) -> dict[str, JsonValue]:
    """The parts of a draft that are hashed and signed."""
    body: dict[str, JsonValue] = {"Body": draft.body} if draft.has_body else {}
    return {"Header": header_of(draft), **body}


def sign(draft: Draft, key: Signs) -> dict[str, JsonValue]:
    """The signed envelope of a draft. The same draft and key give the same envelope."""
    envelope = seal(content_of(draft), key)
    return {HANDSHAKE: draft.dialect.schema, **envelope} if draft.dialect is NLWEB else envelope


def write(envelope: Mapping[str, JsonValue]) -> bytes:
    """An envelope in the form in which it is posted."""
    return json.dumps(envelope, ensure_ascii=False).encode()


def check_draft(draft: Draft, max_bytes: int) -> None:
    """Check that a receiver's inbox would accept the draft, once it is signed with any key under any selector.

    Raises TheirError as the inbox does: TOO_LARGE, NOT_I_JSON, WRONG_SHAPE.
    """
    signed = sign(replace(draft, selector=_LONGEST_SELECTOR), _NoKey())
    read_envelope(parse(write(signed), max_bytes=max_bytes))


def seal(content: Mapping[str, JsonValue], key: Signs) -> dict[str, JsonValue]:
    """`content` ({Header, Body?}) with the Hash and Signature of its canonical text.

    Raises TheirError(NOT_I_JSON) if it has none.
    """
    header = content["Header"]
    if not isinstance(header, dict):
        raise TypeError("Header is not an object")
    text = signed_text_of(content, header)
    signature = base64.b64encode(key.sign(text)).decode("ascii")
    return {**content, "Hash": hash_of(text), "Signature": signature}
