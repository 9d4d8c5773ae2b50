"""The texts of chats that the search of an archive finds: those that the chats show, and as they show them.

A dm3 message is found by its own text, as any, unless a chat shows it as deleted. What its payload says beside that,
and what an NLWeb message carries, is found only while a chat shows it: the archive keeps messages whose text was edited
or deleted since, or does not count. What is not delivered yet is not searched.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from postroom.client.archive.index import Hit, SearchableTexts, Shown, ShownHit, text_of
from postroom.client.chat.carried_wrapper import CarriedWrapper
from postroom.client.chat.dm3_carrier import find_wrapper
from postroom.client.chat.entries import ChatEntry, ReadEntry, find_chat_content
from postroom.client.chat.memory import ChatMemory
from postroom.client.chat.memory_reading import read_memory_and_entries
from postroom.client.chat.nlweb_carrier import read_body
from postroom.client.chat.plain_text import differs
from postroom.client.chat.reading import ConversationReader
from postroom.core.errors import TheirError
from postroom.protocols.dm3.stored import Received, StoredEnvelope
from postroom.protocols.status.chat_view import ChatView, ShownChatMessage
from postroom.protocols.status.codec import read_payload
from postroom.protocols.status.keys import ChatKey
from postroom.protocols.status.log import Fact, key_of
from postroom.protocols.status.messages import ChatMessage, EditMessage, MembershipUpdateMessage
from postroom.protocols.status.pseudonym import pseudonym, short_key
from postroom.protocols.status.verify import ChatRef
from postroom.protocols.status.wrapper import read_wrapper, type_of


@dataclass(frozen=True)
class SearchedChats:
    """The chats of an archive as `client.archive.index.Index` searches them. `reader`: reads them when it must be known
    what they show."""

    reader: ConversationReader

    def texts_of(self, entry: StoredEnvelope | Received) -> SearchableTexts:
        """What a message is found by: of an NLWeb message of a chat only what it carries, not its JSON."""
        if isinstance(entry, StoredEnvelope):
            return _texts(text_of(entry), find_wrapper(entry.message))
        content = None if entry.set_aside else find_chat_content(entry)
        if content is None:
            return SearchableTexts(text_of(entry))
        try:
            return _texts("", read_body(content.body))
        except TheirError:
            return SearchableTexts("")

    def read_shown(self) -> Shown:
        """Read what the chats show now. Raises as `ConversationReader.read` does."""
        return _ShownTexts(*read_memory_and_entries(self.reader))


def _texts(text: str, carried: CarriedWrapper | None) -> SearchableTexts:
    written = carried and _written(carried)
    if not written:
        return SearchableTexts(text)
    if written.text in ("", text):
        return SearchableTexts(text, is_of_chat=True)
    return SearchableTexts(text, written.text, written.clock, is_of_chat=True)


def _written(carried: CarriedWrapper) -> ChatMessage | EditMessage | None:
    """What a wrapper says that has a text, whether it counts or not."""
    try:
        wrapper = read_wrapper(carried.wrapper)
        message = read_payload(type_of(wrapper, carried.type), wrapper.payload)
    except TheirError:
        return None
    if isinstance(message, MembershipUpdateMessage):
        message = message.carried
    return message if isinstance(message, ChatMessage | EditMessage) else None


@dataclass(slots=True)
class _ShownTexts:
    """What chats show; called with a hit of a message of a chat, the hit as the chat shows it."""

    memory: ChatMemory
    conversations: Mapping[str, Sequence[ReadEntry]]
    _view: ChatView = field(init=False)
    _discarded: frozenset[str] = field(init=False)
    _entries: dict[str, dict[str, ReadEntry]] = field(init=False, default_factory=dict)
    _messages: dict[ChatRef, dict[tuple[str, ChatKey], Fact]] = field(init=False, default_factory=dict)
    _shown: dict[ChatRef, dict[bytes, ShownChatMessage]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._view = self.memory.view()
        self._discarded = frozenset(each.message_hash for each in self.memory.discarded)

    def __call__(self, hit: Hit) -> ShownHit | None:
        entry = self._entries_with(hit.partner).get(hit.message_hash)
        if not isinstance(entry, ChatEntry) or entry.payload is None or hit.message_hash in self._discarded:
            return None if hit.in_chat else ShownHit(hit, hit)
        fact = self.memory.log.fact(key_of(entry.payload))
        message = self._message_of(fact)
        named = replace(hit, author=self._name(fact.author))
        if hit.in_chat:
            is_shown = message is not None and self._shows(fact, message, hit.text)
            return ShownHit(named, (message or fact).key) if is_shown else None
        if message is not None and self._view.is_deleted(message):
            return None
        if entry.payload.message is not None and differs(hit.text, entry.payload.message):
            # Anybody can put a text of their own beside a payload that they got.
            return ShownHit(hit, hit)
        return ShownHit(hit if entry.carrier == fact.author else named, (message or fact).key)

    def _message_of(self, fact: Fact) -> Fact | None:
        """The message that a fact is, or edits; None: it did not come from the editor."""
        if fact.chat is None or not isinstance(fact.message, EditMessage):
            return fact
        return self._messages_in(fact.chat).get((fact.message.message_id, fact.author))

    def _shows(self, fact: Fact, message: Fact, text: str) -> bool:
        """Whether a chat shows this text of a message, which a fact says. A deleted message has none."""
        if message.chat is None:
            return False
        shown = self._shown_in(message.chat).get(message.key)
        return (
            shown is not None
            and shown.text == text
            and fact.clock >= shown.clock
            and self._view.reason_against(fact) is None
        )

    def _entries_with(self, partner: str) -> Mapping[str, ReadEntry]:
        if partner not in self._entries:
            self._entries[partner] = {each.message_hash: each for each in self.conversations.get(partner, ())}
        return self._entries[partner]

    def _messages_in(self, chat: ChatRef) -> Mapping[tuple[str, ChatKey], Fact]:
        """The messages of a chat, by each of their IDs and their author, who alone can edit them."""
        if chat not in self._messages:
            log = self.memory.log
            self._messages[chat] = {(id_, fact.author): fact for fact in log.messages(chat) for id_ in log.ids(fact)}
        return self._messages[chat]

    def _shown_in(self, chat: ChatRef) -> Mapping[bytes, ShownChatMessage]:
        """The messages that are shown in a chat, by the keys of their facts."""
        if chat not in self._shown:
            messages = self._messages_in(chat)
            self._shown[chat] = {messages[each.id, each.author].key: each for each in self._view.messages(chat)}
        return self._shown[chat]

    def _name(self, author: ChatKey) -> str:
        """The author as chats name it."""
        return self.memory.name_of(author) or f"{pseudonym(author)} ({short_key(author)})"
