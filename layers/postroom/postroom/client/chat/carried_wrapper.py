"""A wrapper that a message of a carrier brings, with what its sender says of others' names."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from postroom.core.errors import TheirError
from postroom.crypto.ethereum_keys import has_higher_s
from postroom.protocols.status.keys import ChatKey, read_chat_key
from postroom.protocols.status.wrapper import read_wrapper, write_wrapper

MAX_NAMES: Final = 100
"""Names of members in one message."""


@dataclass(frozen=True, slots=True)
class CarriedWrapper:
    """A wrapper that a message carries. `type`: of an untyped one.

    `names`: what the sender says of others' names: over dm3, normalised dm3 names; over NLWeb, domains as
    `nlweb_carrier.address_of` names them.
    """

    wrapper: bytes
    type: int | None
    names: Mapping[ChatKey, str] = field(default_factory=dict)


def is_canonical(carried: CarriedWrapper) -> bool:
    """Whether a wrapper is written as we write it, typed: of all that can be made of one signed payload, one is."""
    wrapper = read_wrapper(carried.wrapper)
    return (
        wrapper.is_typed
        and not has_higher_s(wrapper.signature)
        and write_wrapper(wrapper.payload, wrapper.signature, wrapper.type) == carried.wrapper
    )


def read_names(value: object, read_name: Callable[[str], str | None]) -> dict[ChatKey, str]:
    """The names in a JSON value, `{key: name}`, the first MAX_NAMES of them. What is no such thing is left out.

    `read_name`: the one form of a name. It returns None or raises TheirError if the text is none.
    """
    names: dict[ChatKey, str] = {}
    for text, written in list(value.items())[:MAX_NAMES] if isinstance(value, Mapping) else ():
        key = read_chat_key(text)
        if key is not None and isinstance(written, str):
            with suppress(TheirError):
                if (name := read_name(written)) is not None:
                    names[key] = name
    return names
