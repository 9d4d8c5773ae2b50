"""Texts of dm3 in DNS: TXT records at `_dm3.<name>`, each with a key, an equals sign and a URI."""

from collections.abc import Iterable
from typing import Final

from postroom.core.errors import TheirError
from postroom.names.registry import PROFILE_KEY, SERVICE_KEY
from postroom.protocols.dm3.reasons import PROFILE_INVALID
from postroom.protocols.nlweb.names import MAX_NAME, is_host_name

_LABEL: Final = "_dm3"
_OF_ENS: Final = "eth"
_A_LABEL: Final = "xn--"


def owner_name(name: str) -> str | None:
    """The absolute name of the records of a normalised name, in A-labels; None: the name is not looked up in DNS.

    Those are names of ENS (`.eth`), names without a dot, and names that IDNA 2008 (RFC 5891) does not write so that it
    reads the same name again.
    """
    host = name if name.isascii() else _a_labels(name)
    if host is None or not is_host_name(host) or host.endswith(f".{_OF_ENS}"):
        return None
    if name.isascii() and any(label.startswith(_A_LABEL) for label in name.split(".")):
        return None
    owner = f"{_LABEL}.{host}"
    return f"{owner}." if len(owner) <= MAX_NAME else None


def name_of_host(host: str) -> str:
    """The name of which a host name has the A-labels; the host name itself, if IDNA 2008 does not read them."""
    if _A_LABEL not in host:
        return host
    import idna

    try:
        return idna.decode(host)
    except idna.IDNAError:
        return host


def read_texts(records: Iterable[bytes]) -> dict[str, str]:
    """The texts in TXT records, by their keys; each record with its strings joined. Other records are ignored.

    An empty text takes back what was there, as in ENS. Raises TheirError(PROFILE_INVALID): two records of one key, or
    one that is not UTF-8.
    """
    texts: dict[str, str] = {}
    for record in records:
        key, equals, value = record.partition(b"=")
        name = next((each for each in (PROFILE_KEY, SERVICE_KEY) if each.encode() == key), None)
        if name is None or not equals:
            continue
        if name in texts:
            raise TheirError(PROFILE_INVALID, f"there are two records {name} at {_LABEL}")
        try:
            texts[name] = value.decode()
        except UnicodeDecodeError:
            raise TheirError(PROFILE_INVALID, f"the record {name} at {_LABEL} is not UTF-8") from None
    return texts


def _a_labels(name: str) -> str | None:
    # Few names need it, and its tables take long to import.
    import idna

    try:
        host = idna.encode(name, std3_rules=True).decode("ascii")
        return host if idna.decode(host) == name else None
    except idna.IDNAError:
        return None
