"""Schema codes, and their two dialects (decisions "Schema codes" and "Two dialects")."""

import re
from dataclasses import dataclass
from typing import Final

from postroom.core.errors import TheirError
from postroom.protocols.nlweb.reasons import UNSUPPORTED_VERSION, WRONG_SHAPE

HANDSHAKE: Final = "🤝"
"""The member with the envelope's schema code; it is outside the signed text."""

_CODE = re.compile(r"([a-z0-9.-]{1,253})/MSG(?::([0-9]{1,4})(?:\.([0-9]{1,4}))?)?")


@dataclass(frozen=True, slots=True)
class Dialect:
    """A dialect: what differs between the authorities that publish the MSG schema.

    `host_prefix`: label before a domain's post office. `selector_member`: Header member with the key's selector.
    `default_selector`: used if that member is absent; None: it is required. `key_branch`: labels between `_domainkey`
    and the domain.
    """

    authority: str
    host_prefix: str
    selector_member: str
    default_selector: str | None
    key_branch: str

    @property
    def name(self) -> str:
        """The name of the dialect for people and programs."""
        return self.authority.partition(".")[0]

    @property
    def schema(self) -> str:
        """The schema code we write."""
        return f"{self.authority}/MSG:1.0"

    def host(self, domain: str) -> str:
        """The well-known host of a domain's post office."""
        return f"{self.host_prefix}.{domain}"

    def inbox_url(self, domain: str) -> str:
        """Where messages to `domain` are posted."""
        return f"https://{self.host(domain)}/inbox"

    def key_name(self, domain: str, selector: str) -> str:
        """The DNS name of the key record (RFC 6376 §3.6.2.1)."""
        return f"{selector}._domainkey.{self.key_branch}{domain}"


NLWEB: Final = Dialect("nlweb.org", "nlweb", "DKIM", "nlweb", "")
POLLYWEB: Final = Dialect("pollyweb.org", "pw", "Selector", None, "pw.")
DIALECTS: Final = (NLWEB, POLLYWEB)
BY_NAME: Final = {dialect.name: dialect for dialect in DIALECTS}
_BY_AUTHORITY: Final = {dialect.authority: dialect for dialect in DIALECTS}

# Nearly every envelope has exactly this code, which need not be parsed.
_USUAL: Final = {dialect.schema: (dialect, 1, 0) for dialect in DIALECTS}

_SUPPORTED: Final = "supported are nlweb.org/MSG and pollyweb.org/MSG of major version 1"


def read_code(code: str, member: str) -> tuple[Dialect, int, int]:
    """Dialect, major and minor version. Raises TheirError(UNSUPPORTED_VERSION)."""
    usual = _USUAL.get(code)
    if usual is not None:
        return usual
    match = _CODE.fullmatch(code)
    if match is None:
        raise TheirError(UNSUPPORTED_VERSION, f"{member} is not the schema code of a message; {_SUPPORTED}")
    authority, major, minor = match[1], int(match[2] or 1), int(match[3] or 0)
    dialect = _BY_AUTHORITY.get(authority)
    if dialect is None or major != 1:
        raise TheirError(UNSUPPORTED_VERSION, f"{member} is of another authority or major version; {_SUPPORTED}")
    return dialect, major, minor


def choose_dialect(handshake: object, header_schema: object) -> Dialect:
    """The dialect of an envelope, from its `🤝` and `Header.Schema` (None: absent).

    Raises TheirError: WRONG_SHAPE if either is not a string, or both are present and differ; UNSUPPORTED_VERSION.
    """
    outer = _read_if_there(handshake, HANDSHAKE)
    inner = _read_if_there(header_schema, "Header.Schema")
    if outer and inner and outer != inner:
        raise TheirError(WRONG_SHAPE, f"{HANDSHAKE} and Header.Schema contradict each other")
    chosen = outer or inner
    return chosen[0] if chosen else NLWEB


def _read_if_there(code: object, member: str) -> tuple[Dialect, int, int] | None:
    if code is None:
        return None
    if not isinstance(code, str):
        raise TheirError(WRONG_SHAPE, f"{member} is not a string")
    return read_code(code, member)
