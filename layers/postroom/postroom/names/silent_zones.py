"""The zone whose servers do not answer, for a domain whose look-up failed."""

from typing import TYPE_CHECKING, Final

import dns.name
from dns.rdatatype import DS, SOA, RdataType

from postroom.core.errors import NotNowError
from postroom.core.steps import drive
from postroom.names.dns import Ask, Question
from postroom.names.dns.answer import Answer
from postroom.names.registrable_domains import registrable_domain
from postroom.protocols.nlweb.reasons import KEY_LOOKUP_FAILED

if TYPE_CHECKING:
    from postroom.names.dnssec.proofs import Steps

MAX_ZONE_LABELS: Final = 6
"""Zones of more labels are not told apart: a stranger can nest them without limit, and each takes a question."""


def silent_zone(domain: str, ask: Ask) -> str | None:
    """The zone that is silent about `domain` (a host name in lower case); None: our own resolvers do not answer.

    Asks for DS records from the top level down: the parent of a zone answers for it (RFC 4035 §3.1.4.1), so the first
    name without an answer is in the silent zone. If that is a top level, only `domain` counts as silent: a top level
    has too many domains to wait for together.
    """
    return drive(_search(domain), ask)


def is_silent(domain: str, ask: Ask) -> bool:
    """Whether the servers of `domain` do not answer, and our own resolvers do."""
    # In this order: the second question may use up the time.
    return drive(_is_answered(".", SOA), ask) and not drive(_is_answered(domain, SOA), ask)


def zones_of(domain: str) -> list[str]:
    """The zones of which `silent_zone` can answer for a domain, from the top down: its registrable domain is first."""
    labels = domain.split(".")
    least = registrable_domain(domain).count(".") + 1
    most = max(least, min(len(labels), MAX_ZONE_LABELS))
    return [".".join(labels[-number:]) for number in range(least, most + 1)]


def _search(domain: str) -> "Steps[str | None]":
    top = domain.rpartition(".")[2]
    zones = zones_of(domain)
    if not (yield from _is_answered(top, DS)):
        return zones[-1] if (yield from _is_answered(".", SOA)) else None
    parent = zones[-1]
    for zone in zones:
        if not (yield from _is_answered(zone, DS)):
            return parent
        parent = zone
    return parent


def _is_answered(name: str, rdtype: RdataType) -> "Steps[bool]":
    try:
        _: Answer = yield Question(dns.name.from_text(name), rdtype)
    except NotNowError as error:
        return error.reason != KEY_LOOKUP_FAILED
    return True
