"""The texts of chats that the search of an archive finds: those that the chats show, and as they show them.

A dm3 message is found by its own text, as any. What its payload says beside that, and what an NLWeb message carries, is
found only while a chat shows it: the archive keeps messages whose text was edited or deleted since, or does not count.
What is not delivered yet is not searched.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from postroom.client.archive.index import Hit, SearchableTexts, Shown, text_of
from postroom.client.chat.dm3_carrier import CarriedWrapper, find_wrapper
from postroom.client.chat.entries import ChatEntry, ReadEntry, find_chat_content
from postroom.client.chat.memory import ChatMemory, make_memory
from postroom.client.chat.nlweb_carrier import read_body
from postroom.client.chat.reading import ConversationReader
from postroom.client.chat.unsent import read_unsent
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
        archive = self.reader.archive
        # In this order, as `read_memory` does.
        unsent, conversations = read_unsent(archive), self.reader.read()
        return _ShownTexts(make_memory(archive.owner, self.reader.own, unsent, conversations), conversations)


def _texts(text: str, carried: CarriedWrapper | None) -> SearchableTexts:
    written = carried and _written(carried)
    if not written or written.text in ("", text):
        return SearchableTexts(text)
    return SearchableTexts(text, written.text, written.clock)


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
    """What chats show; called with a hit, the hit as its chat shows it."""

    memory: ChatMemory
    conversations: Mapping[str, Sequence[ReadEntry]]
    _view: ChatView = field(init=False)
    _discarded: frozenset[str] = field(init=False)
    _entries: dict[str, dict[str, ReadEntry]] = field(init=False, default_factory=dict)
    _messages: dict[ChatRef, dict[tuple[str, ChatKey], ShownChatMessage]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._view = self.memory.view()
        self._discarded = frozenset(each.message_hash for each in self.memory.discarded)

    def __call__(self, hit: Hit) -> Hit | None:
        entry = self._entries_with(hit.partner).get(hit.message_hash)
        if not isinstance(entry, ChatEntry) or entry.payload is None or hit.message_hash in self._discarded:
            return None
        fact = self.memory.log.fact(key_of(entry.payload))
        return replace(hit, author=self._name(fact.author)) if self._shows(fact, hit.text) else None

    def _shows(self, fact: Fact, text: str) -> bool:
        """Whether a chat shows this text, which a message says. A deleted message has none."""
        if fact.chat is None:
            return False
        about = fact.message.message_id if isinstance(fact.message, EditMessage) else fact.id
        shown = self._messages_in(fact.chat).get((about, fact.author))
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

    def _messages_in(self, chat: ChatRef) -> Mapping[tuple[str, ChatKey], ShownChatMessage]:
        """The messages that are shown in a chat, by each of their IDs and their author, who alone can edit them."""
        if chat not in self._messages:
            log, shown = self.memory.log, {(each.id, each.author): each for each in self._view.messages(chat)}
            self._messages[chat] = {
                (id_, fact.author): shown[fact.id, fact.author]
                for fact in log.messages(chat)
                if (fact.id, fact.author) in shown
                for id_ in log.ids(fact)
            }
        return self._messages[chat]

    def _name(self, author: ChatKey) -> str:
        """The author as chats name it."""
        return self.memory.name_of(author) or f"{pseudonym(author)} ({short_key(author)})"
