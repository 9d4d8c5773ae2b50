"""Trust anchors and negative trust anchors: zones that are configured, not looked up."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self

import dns.exception
import dns.name
import dns.zonefile

from postroom.core.errors import SettingsError
from postroom.names.dns.records import DnskeyRecord, DsRecord

IANA_ROOT = """\
; https://data.iana.org/root-anchors/root-anchors.xml: KSK-2017 and KSK-2024
. IN DS 20326 8 2 E06D44B80B8F1D39A95C0B0D7C65D08458E880409BBC683457104237C7F8EC8D
. IN DS 38696 8 2 683D2D0ACB8C9B712A1948B27F741219298D0A450D612C483AF444A4C0FB2B16
"""


@dataclass(frozen=True)
class TrustAnchors:
    """Zones whose keys are known in advance, each by the DS records of its key-signing keys.

    `negative`: names that count as not signed, with everything below them down to the next anchor (RFC 7646).
    """

    zones: Mapping[dns.name.Name, tuple[DsRecord, ...]]
    negative: frozenset[dns.name.Name] = frozenset()

    @classmethod
    def parse(cls, text: str = IANA_ROOT, negative: str = "") -> Self:
        """Anchors from lines of DS or DNSKEY records in master format, with full names (RFC 1035 §5).

        Negative anchors are names separated by commas or spaces. Raises `SettingsError` if a line or a name is anything
        else, there is no line, or a name is both.
        """
        zones: dict[dns.name.Name, tuple[DsRecord, ...]] = {}
        try:
            rrsets = dns.zonefile.read_rrsets(text, rdclass=None, default_ttl=0)
        except (dns.exception.DNSException, ValueError) as error:
            raise SettingsError(f"the trust anchor is not DS or DNSKEY records: {error}") from error
        for rrset in rrsets:
            for record in rrset:
                if isinstance(record, DnskeyRecord):
                    # Few settings have this form, and it imports all of dnspython's zones and checks.
                    from dns.dnssec import make_ds

                    record = make_ds(rrset.name, record, "SHA256")
                if not isinstance(record, DsRecord):
                    raise SettingsError(f"the trust anchor holds {rrset.rdtype.name}, not DS or DNSKEY")
                zones[rrset.name] = (*zones.get(rrset.name, ()), record)
        if not zones:
            raise SettingsError("the trust anchor is empty; expected DS or DNSKEY records")
        names = frozenset(_name(word) for word in negative.replace(",", " ").split())
        for both in names & set(zones):
            raise SettingsError(f"{both} is both a trust anchor and a negative one; leave one of them out")
        return cls(zones, names)

    def above(self, name: dns.name.Name) -> dns.name.Name | None:
        """The nearest anchor at or above `name`, if there is one."""
        return _nearest(self.zones, name)

    def negative_above(self, name: dns.name.Name) -> dns.name.Name | None:
        """The nearest negative anchor at or above `name`, unless another anchor is nearer."""
        negative, positive = _nearest(self.negative, name), self.above(name)
        return negative if negative and (positive is None or len(negative) > len(positive)) else None


def _nearest(anchors: Iterable[dns.name.Name], name: dns.name.Name) -> dns.name.Name | None:
    return max((anchor for anchor in anchors if name.is_subdomain(anchor)), key=len, default=None)


def _name(text: str) -> dns.name.Name:
    try:
        return dns.name.from_text(text.encode("ascii"))
    except (dns.exception.DNSException, UnicodeError):
        raise SettingsError(f"the negative trust anchor {text[:80]!r} is not a DNS name in ASCII") from None
