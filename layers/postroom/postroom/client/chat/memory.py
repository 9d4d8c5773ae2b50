"""The memory of a user's chats: all that an owner's archive says of them, on every device."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from operator import itemgetter

from postroom.client.chat.carried_wrapper import CarriedWrapper
from postroom.client.chat.channels import ChannelRecord
from postroom.client.chat.domain_keys import DomainKey
from postroom.client.chat.entries import ChatEntry
from postroom.client.chat.nlweb_carrier import address_of
from postroom.client.chat.profiles_sent import SentContactUpdate
from postroom.client.chat.unsent import Unsent
from postroom.core.errors import TheirError
from postroom.protocols.dm3.stored import Tombstone
from postroom.protocols.status.chat_view import ChatView
from postroom.protocols.status.ids import MessageId, message_id
from postroom.protocols.status.keys import ChatKey
from postroom.protocols.status.log import ChatLog, Fact
from postroom.protocols.status.sent_profile import SentProfile


@dataclass(frozen=True, slots=True)
class DiscardedMessage:
    """A message whose wrapper was discarded. `message_hash`: of the dm3 message, or of the NLWeb message's ID."""

    partner: str
    message_hash: str
    error: TheirError


@dataclass(slots=True)
class ChatMemory:
    """The chats of one user.

    `hashes`: of the dm3 message that carried a message, by the key of its fact and the partner's name; empty: it is not
    encrypted yet. `wrappers`: of signed messages in channels, which may be passed on, by the same key. `buried`:
    requests to delete messages, with what the archive has left of them.

    `proven`: the names that a key's messages came from, by the key; `looked_up`: those whose profile had it when the
    owner wrote to them or named them to a group, with the time; `said`: what others say of names and domains, by who
    said it, and when first. `names_used`: of the members of a group, in a message of the owner, by the key of its fact.
    `channels`: the newest record of each channel. `identities`, `contact_updates`: those that the owner sent.
    `profile`: the newest identity that the owner's devices sent to each other; None: none did. `unsent`: what is not
    delivered yet, by the key of its fact.

    `domains`: the keys of NLWeb domains, which stand beside names as `address_of` names them; `domains_by_key`: those
    that have a key, in order. `is_domain`: the owner has sent messages as one, which a post office has accepted;
    `is_dm3_name`: messages of chats over dm3. `sent_to_domains`: those that a post office has accepted, by their
    Correlations.
    """

    log: ChatLog
    hashes: dict[bytes, dict[str, str]] = field(default_factory=dict)
    wrappers: dict[bytes, CarriedWrapper] = field(default_factory=dict)
    buried: list[tuple[Fact, Tombstone]] = field(default_factory=list)
    proven: dict[ChatKey, set[str]] = field(default_factory=dict)
    looked_up: dict[ChatKey, dict[str, int]] = field(default_factory=dict)
    said: dict[ChatKey, dict[ChatKey, dict[str, int]]] = field(default_factory=dict)
    channels: dict[str, ChannelRecord] = field(default_factory=dict)
    identities: list[SentProfile] = field(default_factory=list)
    names_used: dict[bytes, Mapping[ChatKey, str]] = field(default_factory=dict)
    contact_updates: list[SentContactUpdate] = field(default_factory=list)
    profile: Fact | None = None
    unsent: dict[bytes, list[Unsent]] = field(default_factory=dict)
    domains: dict[str, DomainKey] = field(default_factory=dict)
    domains_by_key: dict[ChatKey, list[str]] = field(default_factory=dict)
    is_domain: bool = False
    is_dm3_name: bool = False
    sent_to_domains: dict[str, ChatEntry] = field(default_factory=dict)
    discarded: list[DiscardedMessage] = field(default_factory=list)

    def view(self) -> ChatView:
        """What is shown of the chats."""
        return ChatView(
            self.log,
            (name for name, record in self.channels.items() if record.is_joined),
            parted=(name for name, record in self.channels.items() if not record.is_joined),
        )

    def id_of(self, fact: Fact) -> MessageId:
        """The ID by which others know a message, too: whoever passes a channel's message on can give it further IDs."""
        carried = self.wrappers.get(fact.key)
        return message_id(fact.author, carried.wrapper) if carried and len(self.log.ids(fact)) > 1 else fact.id

    def key_at(self, name: str) -> ChatKey | None:
        """A key whose messages came from a name; None: none did."""
        return next((key for key, names in self.proven.items() if name in names), None)

    def name_of(self, key: ChatKey) -> str:
        """A name from which messages of a key came, otherwise one that was looked up, or a domain that has it; empty:
        there is none."""
        return next(iter(self.names_of(key)), "")

    def names_proven(self, key: ChatKey) -> list[str]:
        """The names and domains of `names_of` that others have not only said."""
        return [*sorted(self.proven.get(key, ())), *self.addresses_of(key)]

    def names_of(self, key: ChatKey) -> list[str]:
        """The names at which a key may be reached: those proven first, then those that were looked up, the first
        first, then domains."""
        looked_up = self.looked_up.get(key, {})
        names = (*sorted(self.proven.get(key, ())), *sorted(looked_up, key=lambda name: (looked_up[name], name)))
        return [*dict.fromkeys(names), *self.addresses_of(key)]

    def addresses_of(self, key: ChatKey) -> list[str]:
        """The domains that have a key, as `address_of` names them."""
        return [address_of(domain) for domain in self.domains_by_key.get(key, ())]

    def names_said(self, key: ChatKey, may_say: Callable[[ChatKey], bool]) -> list[str]:
        """The names and domains that those who may have said of a key, the first said first: who is in the group that
        is written to."""
        # Any number of strangers may say names of a key: they are left out before their names are looked at.
        said = (names.items() for sayer, names in self.said.get(key, {}).items() if may_say(sayer))
        return list(dict.fromkeys(name for name, _ in sorted(chain.from_iterable(said), key=itemgetter(1, 0))))
