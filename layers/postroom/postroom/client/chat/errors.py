"""Errors of chats that a user can do something about; each sentence says what."""

from postroom.core.errors import PostroomError


class ChatError(PostroomError):
    """The chat cannot be used in this way."""


class NoChatKeyError(ChatError):
    """A name's keys sign dm3 messages, and no chats: they are Ed25519."""


class NoOutboxError(ChatError):
    """A message to an NLWeb domain goes through the owner's post office, and none was named."""


class NoSuchChatError(ChatError):
    """There is no such chat, message or member."""
