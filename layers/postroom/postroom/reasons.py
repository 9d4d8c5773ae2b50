"""The index of the reasons that a deployment gives, for look-ups by code and for the docs.

Each package declares the reasons of its rules in its own module `reasons.py`. Whoever gives a reason imports it from
there. Reasons of chats are given by clients only: they are not looked up by code, and no function loads them.
"""

from collections.abc import Iterator
from types import ModuleType
from typing import Final

from postroom.api import reasons as api
from postroom.core import reasons as core
from postroom.core.reason import Reason
from postroom.crypto import reasons as crypto
from postroom.protocols.dcp import reasons as dcp
from postroom.protocols.dm3 import reasons as dm3
from postroom.protocols.nlweb import reasons as nlweb


def _declared(module: ModuleType) -> Iterator[Reason]:
    return (value for value in vars(module).values() if isinstance(value, Reason))


REASONS: Final = tuple(reason for module in (core, crypto, nlweb, dm3, dcp, api) for reason in _declared(module))
_BY_CODE: Final = {reason.code: reason for reason in REASONS}


def reason_of(code: str) -> Reason:
    """The reason with this machine code. Raises ValueError if this release has none."""
    if code not in _BY_CODE:
        raise ValueError(f"this release has no reason with the code {code[:80]!r}")
    return _BY_CODE[code]
