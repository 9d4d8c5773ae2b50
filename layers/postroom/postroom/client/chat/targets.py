"""The chats that a user names, and the receivers of messages in them."""

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field, replace

from postroom.client.chat.dm3_carrier import chat_key_at
from postroom.client.chat.domain_keys import DomainKey
from postroom.client.chat.errors import ChatError, NoChatKeyError, NoSuchChatError
from postroom.client.chat.memory import ChatMemory
from postroom.client.chat.nlweb_carrier import address_of, domain_at
from postroom.core.errors import NotNowError, TheirError
from postroom.protocols.dm3.explain import ExplainedProfiles
from postroom.protocols.dm3.names import normalize
from postroom.protocols.dm3.reasons import NAME_INVALID, PROFILE_UNKNOWN
from postroom.protocols.status.chat_view import ShownChat
from postroom.protocols.status.chats import is_group
from postroom.protocols.status.enums import ChatKind
from postroom.protocols.status.keys import ChatKey
from postroom.protocols.status.verify import ChatRef


@dataclass(frozen=True, slots=True)
class ChatTarget:
    """A chat, and whom a message in it goes to: dm3 names, and domains as `address_of` names them.

    `names`: of members, which others may need for an answer. What others have said is not among them, so that it is not
    passed on.
    """

    ref: ChatRef
    receivers: tuple[str, ...]
    unreached: tuple[ChatKey, ...] = ()
    names: Mapping[ChatKey, str] = field(default_factory=dict)


def groups_named_by_id(groups: Iterable[ShownChat]) -> set[str]:
    """The IDs of those groups that a user has to name by them: their names are those of others, or find no group."""
    by_name: dict[str, list[str]] = {}
    for chat in groups:
        by_name.setdefault(chat.name, []).append(chat.ref.id)
    return {id_ for name, ids in by_name.items() if len(ids) > 1 or not _may_name_a_group(name) for id_ in ids}


def _may_name_a_group(text: str) -> bool:
    """Whether a group is found by this name. Anybody may give a group any name: one that looks like a dm3 name, a
    channel or the ID of another group must not get the messages for those."""
    return bool(text) and "." not in text and not text.startswith("#") and not is_group(text)


@dataclass(frozen=True, slots=True)
class TargetFinder:
    """Finds chats among all of a user's, and looks profiles up. `name`: the user's own, normalised."""

    memory: ChatMemory
    profiles: ExplainedProfiles
    name: str

    def find(self, to: str) -> ChatTarget:
        """As `Chats.find`."""
        if to.startswith("#"):
            return self.channel(to[1:])
        groups = list(self.memory.view().groups())
        found = [chat for chat in groups if to == chat.ref.id]
        if not found and _may_name_a_group(to):
            found = [chat for chat in groups if to == chat.name]
        if len(found) > 1:
            raise ChatError(f"{len(found)} groups are called {to!r}: give an ID, which `chat list` shows")
        return self._group(found[0]) if found else self.person(to)

    def reachable(self, target: ChatTarget) -> ChatTarget:
        """The target as far as its receivers can be written to: of an owner who is only a domain, without dm3 names.

        In a group, the members there are not reached. Raises ChatError: nobody is left, or it is no group.
        """
        refused = [receiver for receiver in target.receivers if not self.reaches(receiver)]
        if not refused:
            return target
        left = tuple(receiver for receiver in target.receivers if receiver not in refused)
        if target.ref.kind is not ChatKind.PRIVATE_GROUP or not left:
            raise ChatError(
                f"{self.name} has no dm3 profile, so nobody at a dm3 name would take messages from there: "
                f"{', '.join(refused)}"
            )
        keys = {name: key for key, name in target.names.items()}
        unreached = tuple(keys[receiver] for receiver in refused if receiver in keys)
        return replace(target, receivers=left, unreached=(*target.unreached, *unreached))

    def reaches(self, receiver: str) -> bool:
        """Whether the owner can write to a receiver: to a domain, or to a dm3 name from one."""
        if domain_at(receiver) is not None:
            return True
        try:
            return not self.is_only_domain()
        except NotNowError:
            return True

    def is_only_domain(self) -> bool:
        """Whether the owner has no dm3 profile. It is not looked up if the owner has sent dm3 messages and no other.

        If it cannot be looked up now, it is there if dm3 messages were sent. Raises NotNowError: the owner has sent
        nothing yet.
        """
        is_domain, is_dm3_name = self.memory.is_domain, self.memory.is_dm3_name
        if is_dm3_name and not is_domain:
            return False
        try:
            self.profiles.user(self.name)
        except NotNowError:
            if not is_domain and not is_dm3_name:
                raise
            return not is_dm3_name
        except TheirError as error:
            return error.reason in (PROFILE_UNKNOWN, NAME_INVALID)
        return False

    def channel(self, channel: str) -> ChatTarget:
        """A channel that the user has joined. Raises NoSuchChatError."""
        record = self.memory.channels.get(channel)
        if record is None or not record.is_joined:
            raise NoSuchChatError(f"you are not in #{channel}: `postroom chat join` joins it")
        return ChatTarget(ChatRef(ChatKind.PUBLIC_GROUP, channel), record.receivers)

    def person(self, name: str) -> ChatTarget:
        """The chat of two with a dm3 name or a domain. Raises as `find` does."""
        try:
            domain = domain_at(name)
            normalized = normalize(name) if domain is None else ""
        except TheirError as error:
            if name in self.memory.domains:
                return self._domain(name)
            raise ChatError(f"{name!r} is no dm3 name, and no group is called so: {error.detail}") from None
        if domain is not None:
            return self._domain(domain)
        try:
            key = chat_key_at(self.profiles.user(normalized))
        except NotNowError:
            # What is there can be read, and a message waits until it can be encrypted.
            if (key := self.memory.key_at(normalized)) is None:
                raise
        except TheirError as error:
            if error.reason != PROFILE_UNKNOWN:
                raise
            if normalized in self.memory.domains and self.memory.key_at(normalized) is None:
                return self._domain(normalized)
            raise NoSuchChatError(
                f"{normalized} has no profile, and no group is called so: {error.detail}; if it is an NLWeb domain, "
                f"name it {address_of(normalized)}"
            ) from None
        if key is None:
            raise NoChatKeyError(
                f"{normalized} signs with an Ed25519 key: it can be sent dm3 messages (`postroom dm3 send`), no chats"
            )
        return ChatTarget(ChatRef(ChatKind.ONE_TO_ONE, key), (normalized,))

    def _domain(self, domain: str) -> ChatTarget:
        key = self.memory.domains.get(domain, DomainKey()).key
        if key is None:
            raise NoSuchChatError(
                f"the chat key of {domain} is not known: it has not written to you; `postroom chat trust {domain} KEY` "
                "says which one it is"
            )
        return ChatTarget(ChatRef(ChatKind.ONE_TO_ONE, key), (address_of(domain),))

    def _group(self, chat: ShownChat) -> ChatTarget:
        """A group, whether one is in it or was: its messages may still be read."""
        names: dict[ChatKey, str] = {}
        said: dict[ChatKey, str] = {}
        for member in chat.members:
            if (name := self._name_of(member)) is not None:
                names[member] = name
            elif (name := self._name_said(member, chat.members)) is not None:
                said[member] = name
        others = [member for member in chat.members if member != self.memory.log.own]
        reached = {**names, **said}
        return ChatTarget(
            chat.ref,
            tuple(dict.fromkeys(reached[member] for member in others if member in reached)),
            tuple(member for member in others if member not in reached),
            names,
        )

    def _name_of(self, key: ChatKey) -> str | None:
        """A name whose profile has a key, and which the owner can write to; None: none is known."""
        if key == self.memory.log.own:
            return self.name
        return self.name_among(key, filter(self.reaches, self.memory.names_of(key)))

    def _name_said(self, key: ChatKey, members: Container[ChatKey]) -> str | None:
        """A name that a member of a group says of another; None: none does, or none whose profile has the key."""
        return self.name_among(key, filter(self.reaches, self.memory.names_said(key, members.__contains__)))

    def name_among(self, key: ChatKey, names: Iterable[str]) -> str | None:
        """The first name whose profile has a key; None: none has it.

        If it cannot be looked up now, one from which messages of the key came is used, or to which the owner wrote, and
        none that others say: it may have any key by the time that the message is encrypted.
        """
        for name in names:
            if domain_at(name) is not None:
                return name
            try:
                if chat_key_at(self.profiles.user(name)) == key:
                    return name
            except NotNowError:
                if name in self.memory.names_of(key):
                    return name
            except TheirError:
                continue
        return None
