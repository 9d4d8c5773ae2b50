"""Addresses of hosts: A and AAAA records. They are not proven by DNSSEC, because TLS proves who answers there."""

import dns.exception
import dns.name
import dns.rdata
from dns.rdatatype import AAAA, CNAME, A, RdataType

from postroom.core.errors import NotNowError
from postroom.core.reasons import OUTBOUND_FAILED
from postroom.names.dns import Ask, Question
from postroom.names.dns.answer import Answer, Malformed
from postroom.names.dns.records import AaaaRecord, ARecord, CnameRecord

MAX_ALIASES = 8
"""CNAMEs followed, as for key records."""


def addresses(host: str, ask: Ask) -> list[str]:
    """The IP addresses of `host` in text form, IPv4 first, after following CNAMEs.

    An empty list: there is no such host. Raises `NotNowError(OUTBOUND_FAILED)` if they cannot be looked up now.
    """
    try:
        name = dns.name.from_text(host.encode("ascii"))
    except (dns.exception.DNSException, UnicodeError):
        raise NotNowError(OUTBOUND_FAILED, f"{host[:80]!r} is not a host name") from None
    found: list[str] = []
    failed = ""
    for rdtype in (A, AAAA):
        try:
            found += _records(Question(name, rdtype), ask)
        except NotNowError as error:
            failed = error.detail
    if failed and not found:
        raise NotNowError(OUTBOUND_FAILED, failed)
    return found


def _records(question: Question, ask: Ask) -> list[str]:
    name, rdtype = question
    answer = ask(question)
    for _ in range(MAX_ALIASES + 1):
        found = [it.address for it in _at(answer, name, rdtype) if isinstance(it, ARecord | AaaaRecord)]
        alias = next((it for it in _at(answer, name, CNAME) if isinstance(it, CnameRecord)), None)
        if found or alias is None:
            return found
        name = alias.target
        # A resolver may follow the CNAME for us, or leave that to us.
        if not answer.answer.find(name, rdtype) and not answer.answer.find(name, CNAME):
            answer = ask(Question(name, rdtype))
    return []


def _at(answer: Answer, name: dns.name.Name, rdtype: RdataType) -> list[dns.rdata.Rdata]:
    found = answer.answer.find(name, rdtype)
    try:
        return found.read() if found else []
    except Malformed as malformed:
        raise NotNowError(OUTBOUND_FAILED, f"{name}: {malformed}") from None
