"""Messages between the devices of one user: channels, contacts, devices, cleared chats and hidden messages.

All of it is a function of a log's facts, so that every device has the same. A message whose clock is too far ahead of
when it came does not count. That the user is its author has been checked before (`verify.check_own_devices`).
"""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TypeVar

from postroom.protocols.status.clock import is_ahead
from postroom.protocols.status.keys import ChatKey
from postroom.protocols.status.log import ChatLog, Fact
from postroom.protocols.status.messages import (
    PairInstallation,
    SyncClearHistory,
    SyncDeleteForMeMessage,
    SyncInstallationContact,
    SyncInstallationPublicChat,
)
from postroom.protocols.status.verify import ChatRef

M = TypeVar(
    "M",
    PairInstallation,
    SyncClearHistory,
    SyncDeleteForMeMessage,
    SyncInstallationContact,
    SyncInstallationPublicChat,
)


class OwnDevices:
    """What the user's devices say in a log, which must not be changed meanwhile."""

    def __init__(self, log: ChatLog) -> None:
        self._log = log

    @cached_property
    def channels(self) -> frozenset[str]:
        """The channels that are joined on any device. No message says that one is left."""
        return frozenset(message.id for _, message in self._said(SyncInstallationPublicChat))

    @cached_property
    def cleared(self) -> Mapping[ChatRef, int]:
        """The chats whose history is cleared; messages up to and with this clock are not shown."""
        found: dict[ChatRef, int] = {}
        for fact, message in self._said(SyncClearHistory):
            if fact.chat is not None:
                found[fact.chat] = max(found.get(fact.chat, 0), message.cleared_at)
        return found

    @cached_property
    def deleted_for_me(self) -> frozenset[str]:
        """The IDs of the messages that this user alone does not see."""
        return frozenset(message.message_id for _, message in self._said(SyncDeleteForMeMessage))

    @cached_property
    def contacts(self) -> Mapping[ChatKey, SyncInstallationContact]:
        """What was said last of each contact, by `last_updated`, clock and ID; blocked contacts are among them.

        `last_updated` decides first, so it must not be too far ahead either.
        """
        said = (
            each for each in self._said(SyncInstallationContact) if not is_ahead(each[1].last_updated, each[0].at_ms)
        )
        ordered = sorted(said, key=lambda each: (each[1].last_updated, each[1].clock, each[0].id))
        return {ChatKey(contact.id): contact for _, contact in ordered}

    @cached_property
    def devices(self) -> Mapping[str, PairInstallation]:
        """What each device said last of itself, by clock and ID. The key is its `installation_id`."""
        ordered = sorted(self._said(PairInstallation), key=lambda each: (each[1].clock, each[0].id))
        return {device.installation_id: device for _, device in ordered}

    def _said(self, kind: type[M]) -> Iterator[tuple[Fact, M]]:
        for fact in self._log.own_devices():
            if isinstance(fact.message, kind) and not is_ahead(fact.clock, fact.at_ms):
                yield fact, fact.message
