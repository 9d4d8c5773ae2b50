"""Names and domains that others say a group's members have, and the rule that says which are used.

Nothing proves what is said: a profile shows that a name claims a key, and not that the key's owner has the name, and of
a domain's key there is no proof at all. So what is said is used only in a group that the sayer is in. Whoever is in a
group gets its messages anyway, so they come to no stranger who could not have got them. What was said first counts.
It is not passed on, and pins no key.

Of a domain, only what the key says that the carrying domain has counts, and only of a domain whose key is not known.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from postroom.client.chat.domain_keys import DomainKey, domains_by_key
from postroom.client.chat.entries import ChatEntry
from postroom.client.chat.nlweb_carrier import domain_at
from postroom.protocols.status.keys import ChatKey

MAX_NAMES_SAID: Final = 10
"""Names and domains that one sender says of a member: a member has few, and each is looked up until one has the key."""


@dataclass(frozen=True, slots=True)
class SaidName:
    """What somebody has said of a member. `name`: a dm3 name, or a domain as `address_of` names it.

    `at_ms`: when the message came.
    """

    member: ChatKey
    name: str
    sayer: ChatKey
    at_ms: int


def said_over_dm3(entry: ChatEntry) -> Iterator[SaidName]:
    """What a dm3 message says, whose sender's key has signed all of it."""
    if entry.carried is not None and entry.carrier:
        for member, name in entry.carried.names.items():
            yield SaidName(member, name, entry.carrier, entry.came_ms)


def said_by_domains(
    keys: Mapping[str, DomainKey], came: Iterable[ChatEntry], own: frozenset[str]
) -> Iterator[SaidName]:
    """What is said in the messages that came from others' domains. `own`: the owner's key and name, left out.

    `keys`: those of all domains. A domain that has one is left out, too: it needs nobody's word.
    """
    # Another domain that has the sayer's key may have passed a message of its on to get it.
    speaks = {key: domains[0] for key, domains in domains_by_key(keys).items()}
    for entry in came:
        if entry.carried is None or entry.payload is None or speaks.get(entry.payload.author) != entry.domain:
            continue
        for member, address in entry.carried.names.items():
            domain = domain_at(address)
            if domain is None or member in own or domain in own:
                continue
            if keys.get(domain, DomainKey()).key is None:
                yield SaidName(member, address, entry.payload.author, entry.came_ms)
