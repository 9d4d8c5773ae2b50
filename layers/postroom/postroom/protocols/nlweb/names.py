"""The names in `From` and `To`: host names and wallets (decisions "Senders" and "Receivers")."""

import re
from functools import lru_cache

from postroom.core.errors import TheirError
from postroom.protocols.nlweb.reasons import WRONG_SHAPE

MAX_NAME = 253
"""Characters of a host name (RFC 1035 §2.3.4: 255 bytes in DNS), or of a selector."""

_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
# RFC 1123 §2.1; the last label is never all digits, so that an IPv4 address is not a host name.
_HOST = re.compile(rf"(?=.{{1,{MAX_NAME}}}\Z)(?:{_LABEL}\.)+(?![0-9]+\Z){_LABEL}", re.ASCII)
_SELECTOR = re.compile(rf"(?:{_LABEL}\.)*{_LABEL}", re.ASCII)
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)

REMEMBERED = 256
"""Names that were read last: most mail comes from few senders, and to fewer receivers."""


def is_host_name(text: str) -> bool:
    """Whether `text` is a lower-case host name of A-labels, without a trailing dot."""
    return _HOST.fullmatch(text) is not None


def read_host_name(value: object) -> str | None:
    """A host name of A-labels without a trailing dot, in lower case; None: `value` is not one."""
    # str.lower maps some non-ASCII letters (the Kelvin sign) to ASCII, so the form is checked before.
    if isinstance(value, str) and value.isascii() and is_host_name(name := value.lower()):
        return name
    return None


def is_uuid(text: str) -> bool:
    """Whether `text` is a lower-case UUID in its 36-character form (RFC 9562 §4)."""
    return _UUID.fullmatch(text) is not None


def read_uuid(value: object) -> str | None:
    """A UUID in its 36-character form, in lower case; None: `value` is not one."""
    if isinstance(value, str) and value.isascii() and is_uuid(name := value.lower()):
        return name
    return None


@lru_cache(REMEMBERED)
def read_sender(text: str) -> str:
    """`From`: a host name of A-labels, or the UUID of a wallet; in lower case.

    Raises TheirError(WRONG_SHAPE) for anything else, including U-labels and a trailing dot.
    """
    name = read_host_name(text) or read_uuid(text)
    if name is not None:
        return name
    raise TheirError(WRONG_SHAPE, "Header.From is neither a host name (A-labels) nor the UUID of a wallet")


@lru_cache(REMEMBERED)
def read_receiver(text: str, member: str = "Header.To") -> str:
    """`To`: a host name, in lower case, as A-labels, without a trailing dot.

    `member` names the member in a refusal. Raises TheirError(WRONG_SHAPE).
    """
    name = text.removesuffix(".")
    if not name.isascii():
        name = _a_labels(name)
    name = name.lower()
    if is_host_name(name):
        return name
    raise TheirError(WRONG_SHAPE, f"{member} is not a host name")


def _a_labels(name: str) -> str:
    # Rare, and the IDNA tables would slow down every cold start: imported only for a U-label.
    import idna

    if len(name) > MAX_NAME:
        return ""
    try:
        return idna.encode(name, uts46=True).decode("ascii")
    except idna.IDNAError:
        return ""


@lru_cache(REMEMBERED)
def read_selector(text: str, member: str) -> str:
    """A DKIM selector (RFC 6376 §3.1: sub-domains joined by dots), in lower case. Raises TheirError(WRONG_SHAPE)."""
    name = text.lower()
    if text.isascii() and len(name) <= MAX_NAME and _SELECTOR.fullmatch(name):
        return name
    raise TheirError(WRONG_SHAPE, f"Header.{member} is not a DKIM selector")


def read_correlation(text: str) -> str:
    """`Correlation`: a UUID in its 36-character form, in lower case. Raises TheirError(WRONG_SHAPE)."""
    value = read_uuid(text)
    if value is not None:
        return value
    raise TheirError(WRONG_SHAPE, "Header.Correlation is not a UUID of the form 8-4-4-4-12")
