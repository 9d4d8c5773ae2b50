"""Making an envelope: header, canonical text, Hash, Signature."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass

from postroom.ijson import JsonValue
from postroom.nlweb.envelope import hash_of, signed_text_of
from postroom.nlweb.keys import PrivateKey
from postroom.nlweb.schema import HANDSHAKE, NLWEB, Dialect
from postroom.nlweb.timestamp import write_timestamp


@dataclass(frozen=True, slots=True)
class Draft:
    """What a sender decides about a message. `selector` None: the dialect's default, or none for a wallet.

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


def sign(draft: Draft, key: PrivateKey) -> dict[str, JsonValue]:
    """The signed envelope of a draft. The same draft and key give the same envelope."""
    content: dict[str, JsonValue] = {"Header": header_of(draft)}
    if draft.has_body:
        content["Body"] = draft.body
    envelope = seal(content, key)
    return {HANDSHAKE: draft.dialect.schema, **envelope} if draft.dialect is NLWEB else envelope


def seal(content: Mapping[str, JsonValue], key: PrivateKey) -> dict[str, JsonValue]:
    """`content` ({Header, Body?}) with Hash and Signature over its canonical text.

    Raises TheirError(NOT_I_JSON) where it has none.
    """
    header = content["Header"]
    if not isinstance(header, dict):
        raise TypeError("Header is not an object")
    text = signed_text_of(content, header)
    signature = base64.b64encode(key.sign(text)).decode("ascii")
    return {**content, "Hash": hash_of(text), "Signature": signature}
