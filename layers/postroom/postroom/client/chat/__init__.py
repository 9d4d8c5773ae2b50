"""Chats of Status's users over dm3, kept in the owner's archive."""

from postroom.client.chat.aio import AsyncChats
from postroom.client.chat.changes import ChangeKind, ChatChange
from postroom.client.chat.chats import Chats, ChatTarget, SentChatMessage
from postroom.client.chat.delivery import SentTo
from postroom.client.chat.errors import ChatError, NoChatKeyError, NoSuchChatError

__all__ = [
    "AsyncChats",
    "ChangeKind",
    "ChatChange",
    "ChatError",
    "ChatTarget",
    "Chats",
    "NoChatKeyError",
    "NoSuchChatError",
    "SentChatMessage",
    "SentTo",
]
