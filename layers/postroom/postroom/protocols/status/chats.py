"""IDs of chats: of users, of channels and of groups (6/PAYLOADS: Chats)."""

import re
from typing import Final

from postroom.core.errors import TheirError
from postroom.protocols.status.enums import ChatKind
from postroom.protocols.status.ids import is_message_id
from postroom.protocols.status.keys import KEY_PATTERN, ChatKey, read_chat_key
from postroom.protocols.status.reasons import CHAT_INVALID

# An enum looks its members up by a function of Python's, before Python 3.12.
_ONE_TO_ONE: Final = ChatKind.ONE_TO_ONE
_CHANNELS: Final = ChatKind.PUBLIC_GROUP
_GROUPS: Final = ChatKind.PRIVATE_GROUP

LONGEST_CHANNEL: Final = 255
"""Letters of a channel's name."""
_CHANNEL: Final = re.compile(f"[a-z0-9-]{{1,{LONGEST_CHANNEL}}}", re.ASCII)
_KEY_LIKE: Final = re.compile(KEY_PATTERN, re.ASCII)
_GROUP: Final = re.compile(f"[0-9a-f]{{8}}(?:-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}}-({KEY_PATTERN})", re.ASCII)


def is_channel(text: str) -> bool:
    """Whether a text is the name of a channel: lower-case letters, digits and hyphens, and no key or other ID."""
    is_other = _KEY_LIKE.fullmatch(text) or _GROUP.fullmatch(text) or is_message_id(text)
    return _CHANNEL.fullmatch(text) is not None and not is_other


def creator_of(group: str) -> ChatKey:
    """The key of whoever created a group, from the group's ID: a UUID, a hyphen and the key.

    Raises TheirError(CHAT_INVALID).
    """
    creator = _creator(group)
    if creator is None:
        raise TheirError(CHAT_INVALID, "the ID of a group is a UUID, a hyphen and its creator's key")
    return creator


def is_group(text: str) -> bool:
    """Whether a text is the ID of a group."""
    return _creator(text) is not None


def _creator(group: str) -> ChatKey | None:
    found = _GROUP.fullmatch(group)
    return read_chat_key(found[1]) if found else None


def group_id(uuid: str, creator: ChatKey) -> str:
    """The ID of a new group. `uuid`: in lower case with its hyphens."""
    group = f"{uuid}-{creator}"
    creator_of(group)
    return group


def check_chat(kind: int, chat_id: str) -> None:
    """Check that an ID is one of a channel or of a group, if the message is in such a chat.

    Of a chat of two, the receiver does not use the ID. Raises TheirError(CHAT_INVALID), also for other kinds.
    """
    if kind == _ONE_TO_ONE:
        return
    if kind == _CHANNELS:
        if not is_channel(chat_id):
            raise TheirError(CHAT_INVALID, "the name of a channel is lower-case letters, digits and hyphens")
    elif kind == _GROUPS:
        creator_of(chat_id)
    else:
        raise TheirError(CHAT_INVALID, f"there are no chats of kind {kind}")
