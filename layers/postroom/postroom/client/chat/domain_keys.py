"""The chat keys of NLWeb domains: which key is pinned for a domain, and which one the owner trusts.

NLWeb proves the domain that sent a message, and no chat key. The author of the first message from a domain that is
written to the owner is pinned: its key is the domain's. Another author is shown, with a mark, and becomes the domain's
only if the owner says so. The owner says it to their own devices, in a tag of Status's SyncInstallationContact: the
newest record of a domain counts, with the time that is in the tag.

Messages of channels and groups and what a user says of itself pin nothing: whoever has got them can pass them on.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from postroom.client.chat.entries import ChatEntry
from postroom.core.errors import TheirError
from postroom.protocols.nlweb.names import is_host_name
from postroom.protocols.status.clock import is_ahead
from postroom.protocols.status.enums import ChatKind
from postroom.protocols.status.ids import MessageId
from postroom.protocols.status.keys import ChatKey
from postroom.protocols.status.log import WRITTEN, ChatLog
from postroom.protocols.status.messages import SyncInstallationContact
from postroom.protocols.status.reasons import AUTHOR_NOT_CARRIER
from postroom.protocols.status.verify import VerifiedPayload

OTHER_KEY: Final = "other-key"
"""A mark: the author is not the chat key of the NLWeb domain that the message came from."""

_TAG: Final = re.compile(r"nlweb:([a-z0-9.-]+):([0-9]{1,19})", re.ASCII)


@dataclass(frozen=True, slots=True)
class DomainKey:
    """The chat key of a domain. `pinned`: the author of its first message. `trusted`: what the owner says.

    `authors`: of all messages that came from the domain and may not be passed on, sorted. `pinned_ms`: when the first
    message came.
    """

    pinned: ChatKey | None = None
    trusted: ChatKey | None = None
    authors: tuple[ChatKey, ...] = ()
    pinned_ms: int = field(default=0, compare=False)

    @property
    def key(self) -> ChatKey | None:
        """The key that counts; None: there is none yet."""
        return self.trusted or self.pinned

    @property
    def all_keys(self) -> frozenset[ChatKey]:
        """All keys that are known of it."""
        return frozenset(key for key in (self.pinned, self.trusted, *self.authors) if key is not None)

    def standing_of(self, key: ChatKey) -> str:
        """`trusted` or `pinned`: it is the domain's key; `other`."""
        return "other" if key != self.key else "trusted" if key == self.trusted else "pinned"


def keys_of_domains(log: ChatLog, came: Iterable[ChatEntry]) -> dict[str, DomainKey]:
    """The keys of all domains: of those that a message came from, and those whose key the owner has said.

    `log`: what the owner's devices said is in it.
    """
    first: dict[str, tuple[int, MessageId, ChatKey]] = {}
    authors: defaultdict[str, set[ChatKey]] = defaultdict(set)
    for entry in came:
        payload = entry.payload
        if payload is None or _may_be_passed_on(payload) or payload.author == log.own:
            continue
        # A wallet's UUID is no domain: nothing can be sent to it.
        if not is_host_name(entry.domain):
            continue
        authors[entry.domain].add(payload.author)
        if _is_written_to(payload, log.own, entry.came_ms):
            found = (entry.came_ms, payload.id, payload.author)
            first[entry.domain] = min(first.get(entry.domain, found), found)
    trusted = trusted_keys(log)
    return {
        domain: DomainKey(
            first[domain][2] if domain in first else None,
            trusted[domain][1] if domain in trusted else None,
            tuple(sorted(authors[domain])),
            first[domain][0] if domain in first else 0,
        )
        for domain in sorted(authors.keys() | trusted.keys())
    }


def trusted_keys(log: ChatLog) -> dict[str, tuple[int, ChatKey]]:
    """The keys that the owner has said are those of domains, with the clock of each."""
    found: dict[str, tuple[int, ChatKey]] = {}
    for fact in log.own_devices():
        if isinstance(fact.message, SyncInstallationContact):
            for tag in fact.message.system_tags:
                if (record := _read_tag(tag)) is not None and not is_ahead(record[1], fact.at_ms):
                    domain, clock = record
                    said = (clock, ChatKey(fact.message.id))
                    found[domain] = max(found.get(domain, said), said)
    return found


def trust(
    key: ChatKey, domain: str, clock: int, known: SyncInstallationContact | None = None
) -> SyncInstallationContact:
    """What the owner says to their own devices: this is the key of a domain. `known`: what they said of the key.

    Whether the key is a contact's is what was said last by `last_updated`, which stays as it is: this device may not
    have got that yet.
    """
    known = known or SyncInstallationContact(clock, key)
    others = (tag for tag in known.system_tags if (_read_tag(tag) or ("", 0))[0] != domain)
    return replace(known, clock=clock, system_tags=(*others, f"nlweb:{domain}:{clock}"))


def check_author(payload: VerifiedPayload, own: ChatKey) -> None:
    """Check that a message that came from another's domain is not one's own. Raises TheirError(AUTHOR_NOT_CARRIER)."""
    if payload.author == own and not _may_be_passed_on(payload):
        raise TheirError(AUTHOR_NOT_CARRIER, "the author is the receiver, and it came from another's domain")


def marked(payload: VerifiedPayload, key: ChatKey | None) -> VerifiedPayload:
    """A message that came from a domain with this key, with a mark if somebody else is its author."""
    if payload.author == key or _may_be_passed_on(payload):
        return payload
    return payload._replace(marks=(*payload.marks, OTHER_KEY))


def domains_by_key(keys: Mapping[str, DomainKey]) -> dict[ChatKey, list[str]]:
    """The domains that have each key: those of which the owner has said so, then those that had it first.

    Whoever can pass a message of its author on can have the key pinned for another domain, but only later.
    """
    found: defaultdict[ChatKey, list[str]] = defaultdict(list)
    for domain in sorted(keys, key=lambda domain: (not keys[domain].trusted, keys[domain].pinned_ms, domain)):
        if (key := keys[domain].key) is not None:
            found[key].append(domain)
    return dict(found)


def standing_of(keys: Mapping[str, DomainKey], key: ChatKey) -> dict[str, str]:
    """What a key is for each domain that it is known of (`DomainKey.standing_of`), by domain."""
    return {domain: each.standing_of(key) for domain, each in sorted(keys.items()) if key in each.all_keys}


def _may_be_passed_on(payload: VerifiedPayload) -> bool:
    return isinstance(payload.message, WRITTEN) and payload.message.message_type == ChatKind.PUBLIC_GROUP


def _is_written_to(payload: VerifiedPayload, own: ChatKey, came_ms: int) -> bool:
    message = payload.message
    return (
        isinstance(message, WRITTEN)
        and (message.message_type, message.chat_id) == (ChatKind.ONE_TO_ONE, own)
        and not is_ahead(message.clock, came_ms)
    )


def _read_tag(tag: str) -> tuple[str, int] | None:
    """The domain and the clock in a tag; None: it is another tag."""
    found = _TAG.fullmatch(tag)
    return (found[1], int(found[2])) if found and is_host_name(found[1]) else None
