"""The reader of the memory of chats, which is made of what an owner's archive holds.

All dm3 messages are read, and the NLWeb messages that carry a wrapper. Wrappers become facts of the log, at the time of
the postmark or the receipt.
"""

from collections.abc import Iterable, Mapping, Sequence

from postroom.client.chat.dm3_memory import add_conversation, add_removed, add_unsent
from postroom.client.chat.entries import ReadEntry, is_of_domain
from postroom.client.chat.memory import ChatMemory
from postroom.client.chat.nlweb_memory import add_from_domains, add_unsent_to_domain
from postroom.client.chat.reading import ConversationReader
from postroom.client.chat.unsent import Unsent, read_unsent
from postroom.client.chat.unsent_to_domain import UnsentToDomain
from postroom.protocols.status.keys import ChatKey
from postroom.protocols.status.log import ChatLog


def read_memory(reader: ConversationReader) -> ChatMemory:
    """Read all chats of an archive. Raises as `ConversationReader.read` does."""
    memory, _ = read_memory_and_entries(reader)
    return memory


def read_memory_and_entries(reader: ConversationReader) -> tuple[ChatMemory, Mapping[str, Sequence[ReadEntry]]]:
    """Read the same, and the entries that it is made of, by the partner's name."""
    # First, because another device may deliver them meanwhile: better found twice than not at all.
    unsent = read_unsent(reader.archive)
    conversations = reader.read()
    return make_memory(reader.archive.owner, reader.own, unsent, conversations), conversations


def make_memory(
    owner: str, own: ChatKey, unsent: Iterable[Unsent], conversations: Mapping[str, Sequence[ReadEntry]]
) -> ChatMemory:
    """The memory of what is not delivered yet, and of the entries of conversations, by the partner's name.

    `owner`: the owner's normalised name. `own`: the owner's chat key.
    """
    memory = ChatMemory(ChatLog(own))
    for message in unsent:
        if isinstance(message, UnsentToDomain):
            add_unsent_to_domain(memory, owner, message)
        else:
            add_unsent(memory, message)
    for partner, entries in conversations.items():
        add_conversation(memory, owner, partner, [entry for entry in entries if not is_of_domain(entry)])
    add_from_domains(memory, owner, [entry for each in conversations.values() for entry in each if is_of_domain(entry)])
    add_removed(memory)
    return memory
