"""The texts of chats in the archive of a command, and the index of chats that is used for them."""

from dataclasses import dataclass

from postroom.cli.chat.options import chat_index, chat_index_errors
from postroom.client.archive import Archive
from postroom.client.archive.index import Shown
from postroom.client.chat.reading import ConversationReader
from postroom.client.chat.search import SearchedChats
from postroom.crypto.ethereum_keys import EthereumKey
from postroom.protocols.status.author import AuthorKey


@dataclass(frozen=True)
class CommandsChats(SearchedChats):
    """The same; errors of the index of chats end the command."""

    def read_shown(self) -> Shown:
        """Read what the chats show now."""
        with chat_index_errors():
            return super().read_shown()


def chat_texts(archive: Archive, key: EthereumKey, *, has_index: bool) -> SearchedChats:
    """The texts of chats in the archive of whoever signs with this key."""
    own, index = AuthorKey.from_secret(key.secret).public, chat_index(archive) if has_index else None
    return CommandsChats(ConversationReader(archive, own, index))
