"""Chats of Status's users over dm3 and NLWeb, kept in the owner's archive."""

from postroom.client.chat.aio import AsyncChats
from postroom.client.chat.changes import ChangeKind, ChatChange
from postroom.client.chat.chats import Chats
from postroom.client.chat.errors import ChatError, NoChatKeyError, NoOutboxError, NoSuchChatError
from postroom.client.chat.owner_chats import SentChatMessage
from postroom.client.chat.sent_to import SentTo
from postroom.client.chat.targets import ChatTarget

__all__ = [
    "AsyncChats",
    "ChangeKind",
    "ChatChange",
    "ChatError",
    "ChatTarget",
    "Chats",
    "NoChatKeyError",
    "NoOutboxError",
    "NoSuchChatError",
    "SentChatMessage",
    "SentTo",
]
