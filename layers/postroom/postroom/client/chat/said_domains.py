"""What NLWeb domains say of the domains of a group's members, and which of it is used.

A profile proves a dm3 name's key. Nothing proves a domain's, so what is said of it is used with care: only if it was
said by the key that the carrying domain has, of a domain whose key is not known, and only in a group that the sayer is
in. Whoever is in a group gets its messages anyway, so they come to no stranger who could not have got them. What is
said pins no key.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from postroom.client.chat.domain_keys import DomainKey, first_domains
from postroom.client.chat.entries import ChatEntry
from postroom.client.chat.nlweb_carrier import domain_at
from postroom.protocols.status.keys import ChatKey


@dataclass(frozen=True, slots=True, order=True)
class SaidDomain:
    """A domain that somebody has said of a member. `at_ms`: when the first message that says so came."""

    at_ms: int
    domain: str
    sayer: ChatKey


SaidDomains: TypeAlias = Mapping[ChatKey, tuple[SaidDomain, ...]]
"""What is said of each key, what was said first being first."""


def said_domains(keys: Mapping[str, DomainKey], came: Iterable[ChatEntry], own: frozenset[str]) -> SaidDomains:
    """What is said in the messages that came from others' domains. `own`: the owner's key and name, left out.

    `keys`: those of all domains. A domain that has one is left out, too: it needs nobody's word.
    """
    # Another domain that has the sayer's key may have passed a message of its on to get it.
    speaks = first_domains(keys)
    found: defaultdict[ChatKey, dict[tuple[str, ChatKey], int]] = defaultdict(dict)
    for entry in came:
        if entry.carried is None or entry.payload is None:
            continue
        sayer = entry.payload.author
        if speaks.get(sayer) != entry.domain:
            continue
        for member, address in entry.carried.names.items():
            domain = domain_at(address)
            if domain is None or member in own or domain in own:
                continue
            if keys.get(domain, DomainKey()).key is None:
                said = found[member]
                said[domain, sayer] = min(entry.came_ms, said.get((domain, sayer), entry.came_ms))
    return {
        member: tuple(sorted(SaidDomain(at_ms, *each) for each, at_ms in said.items()))
        for member, said in found.items()
    }
