"""The encoding of a wrapper in an NLWeb message, and the form of domains among dm3 names.

The message's Subject is Payload@Status, its Body `{"Status": base64}`. For the older wrapper, which does not say its
payload's type, it is `{"Status": base64, "Type": name}`. `"Names": {key: "nlweb:shop.example"}` is what the sender
knows of the domains of a group's members; `"Channel"` is what `channels` writes into a message to oneself. NLWeb proves
the domain that sent all of it, and no chat key.
"""

from base64 import b64encode
from collections.abc import Mapping
from typing import Final

from postroom.client.chat.carried_wrapper import CarriedWrapper, read_names
from postroom.core.errors import TheirError
from postroom.core.ijson import JsonValue
from postroom.crypto.encodings import decode_base64
from postroom.protocols.dm3.names import normalize
from postroom.protocols.nlweb.names import read_receiver
from postroom.protocols.status.enums import PayloadType
from postroom.protocols.status.reasons import PAYLOAD_TYPE_UNKNOWN, WRAPPER_INVALID

SUBJECT: Final = "Payload@Status"
"""The Subject of messages that carry chats."""

OF_BODIES: Final = {str(reason): reason for reason in (WRAPPER_INVALID, PAYLOAD_TYPE_UNKNOWN)}
"""Why a Body carries no wrapper, by code."""

CHANNEL: Final = "Channel"
"""The member of the Body that `channels` reads and writes."""

_WRAPPER: Final = "Status"
_TYPE: Final = "Type"
_NAMES: Final = "Names"
_MEMBERS: Final = (_WRAPPER, _TYPE, _NAMES, CHANNEL)
_PREFIX: Final = "nlweb:"
"""No dm3 name begins with it: ENSIP-15 has no colon."""


def write_body(carried: CarriedWrapper) -> dict[str, JsonValue]:
    """The Body of a message that carries a wrapper."""
    body: dict[str, JsonValue] = {_WRAPPER: b64encode(carried.wrapper).decode()}
    if carried.type is not None:
        body[_TYPE] = PayloadType(carried.type).name
    if carried.names:
        body[_NAMES] = {str(key): name for key, name in carried.names.items()}
    return body


def read_body(body: JsonValue) -> CarriedWrapper:
    """The wrapper in the Body of a message. Raises TheirError(WRAPPER_INVALID or PAYLOAD_TYPE_UNKNOWN)."""
    if not isinstance(body, Mapping) or not isinstance(text := body.get(_WRAPPER), str):
        raise TheirError(WRAPPER_INVALID, f"the Body has no string {_WRAPPER}")
    if others := body.keys() - set(_MEMBERS):
        raise TheirError(WRAPPER_INVALID, f"the Body has other members than {', '.join(_MEMBERS)}: {len(others)}")
    try:
        wrapper = decode_base64(text)
    except ValueError:
        raise TheirError(WRAPPER_INVALID, f"{_WRAPPER} in the Body is not base64") from None
    # Of domains only: dm3 names are left out.
    names = read_names(body.get(_NAMES), _read_address)
    if _TYPE not in body:
        return CarriedWrapper(wrapper, None, names)
    name = body[_TYPE]
    type_ = PayloadType.__members__.get(name) if isinstance(name, str) else None
    if not type_:
        raise TheirError(PAYLOAD_TYPE_UNKNOWN, f"{_TYPE} in the Body is no type of payloads")
    return CarriedWrapper(wrapper, type_, names)


def _read_address(name: str) -> str | None:
    domain = domain_at(name)
    return None if domain is None else address_of(domain)


def address_of(domain: str) -> str:
    """How a domain is named where dm3 names are, too: `nlweb:shop.example`."""
    return _PREFIX + domain


def domain_at(name: str) -> str | None:
    """The domain of such a name, in lower-case A-labels; None: it is a dm3 name. Raises TheirError(WRONG_SHAPE)."""
    return read_receiver(name.removeprefix(_PREFIX), "the domain") if name.startswith(_PREFIX) else None


def receiver_named(name: str) -> str:
    """A receiver's name in its one form: of a dm3 name the normalised one, of a domain `address_of`.

    Raises TheirError(NAME_INVALID or WRONG_SHAPE).
    """
    domain = domain_at(name)
    return normalize(name) if domain is None else address_of(domain)
