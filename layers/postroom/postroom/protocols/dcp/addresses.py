"""Addresses in the messages of DCP (DCP: Hexadecimal Values; Ethereum Addresses)."""

from postroom.core.errors import TheirError
from postroom.core.ijson import JsonValue
from postroom.crypto.ethereum import Address, read_address
from postroom.protocols.dcp.reasons import DCP_BODY_INVALID


def address_in(value: JsonValue, what: str) -> Address:
    """The address in a member. `what`: its name. Raises TheirError(DCP_BODY_INVALID)."""
    if not isinstance(value, str):
        raise TheirError(DCP_BODY_INVALID, f"{what} is {'missing' if value is None else 'not a string'}")
    try:
        return read_address(value)
    except ValueError as error:
        raise TheirError(DCP_BODY_INVALID, f"{what}: {error}") from None
