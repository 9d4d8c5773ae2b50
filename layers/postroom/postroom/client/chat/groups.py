"""The groups of an owner's chats: they are created, changed and left."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from uuid import uuid4

from postroom.client.chat.errors import ChatError
from postroom.client.chat.owner_chats import OwnerChats, SentChatMessage
from postroom.client.chat.targets import ChatTarget
from postroom.protocols.status.enums import ChatKind
from postroom.protocols.status.group_actions import (
    add_members,
    create_group,
    leave_group,
    make_admins,
    remove_member,
    rename_group,
)
from postroom.protocols.status.group_updates import group_update
from postroom.protocols.status.keys import ChatKey
from postroom.protocols.status.membership import Group, SignedEvent
from postroom.protocols.status.verify import ChatRef


class GroupChats(OwnerChats):
    """An owner's chats, with what changes groups."""

    def create_group(self, name: str, members: Sequence[str]) -> SentChatMessage:
        """Create a group of these names and the owner, its admin. Raises ChatError; as `find` does."""
        found = self._members(members)
        with _explained():
            group = create_group(str(uuid4()), self._key, self._now_ms(), name, found.values())
        names = {key: member for member, key in found.items()}
        return self._send_update(group, (), tuple(found), names)

    def add_members(self, to: str, members: Sequence[str]) -> SentChatMessage:
        """Add names to a group, as its admin. Raises ChatError; as `find` does."""
        found = {key: receiver for receiver, key in self._members(members).items()}
        return self._change_group(to, lambda group, clock: add_members(group, self._key, clock, found.keys()), found)

    def remove_member(self, to: str, member: str) -> SentChatMessage:
        """Remove a name from a group, as its admin. Raises ChatError; as `find` does."""
        key = self._key_at(member)
        return self._change_group(to, lambda group, clock: remove_member(group, self._key, clock, key))

    def make_admins(self, to: str, members: Sequence[str]) -> SentChatMessage:
        """Make members of a group admins, as its admin. Raises ChatError; as `find` does."""
        keys = [self._key_at(member) for member in members]
        return self._change_group(to, lambda group, clock: make_admins(group, self._key, clock, keys))

    def rename_group(self, to: str, name: str) -> SentChatMessage:
        """Give a group another name, as its admin. Raises ChatError; as `find` does."""
        return self._change_group(to, lambda group, clock: rename_group(group, self._key, clock, name))

    def leave_group(self, to: str) -> SentChatMessage:
        """Leave a group. Raises ChatError; as `find` does."""
        return self._change_group(to, lambda group, clock: leave_group(group, self._key, clock))

    def _change_group(
        self, to: str, change: Callable[[Group, int], SignedEvent], added: Mapping[ChatKey, str] | None = None
    ) -> SentChatMessage:
        """Change a group, and send that to all members, to those who are added, and to those who are removed."""
        target = self.find(to)
        if target.ref.kind is not ChatKind.PRIVATE_GROUP:
            raise ChatError(f"{to} is no group")
        group = self.memory.log.group(target.ref.id)
        clock, _ = self._next(target.ref)
        with _explained():
            event = change(group, clock)
        names = {**target.names, **(added or {})}
        receivers = dict.fromkeys((*target.receivers, *(added or {}).values()))
        return self._send_update(group, (event,), tuple(receivers), names, target.unreached)

    def _send_update(
        self,
        group: Group,
        new: Sequence[SignedEvent],
        receivers: tuple[str, ...],
        names: Mapping[ChatKey, str],
        unreached: tuple[ChatKey, ...] = (),
    ) -> SentChatMessage:
        ref = ChatRef(ChatKind.PRIVATE_GROUP, group.id)
        names = {**names, self.own: self.name}
        # Who is alone in a group can still change and leave it: the archive has to know.
        target = ChatTarget(ref, receivers if receivers or unreached else (self._own_address(),), unreached, names)
        return self._send(target, group_update(group, new=new))

    def _members(self, names: Sequence[str]) -> dict[str, ChatKey]:
        """The chat keys of names, by receiver. Raises as `_key_at` does."""
        targets = [self._targets().person(name) for name in names]
        return {target.receivers[0]: ChatKey(target.ref.id) for target in targets}

    def _key_at(self, name: str) -> ChatKey:
        """The chat key of a name. Raises NoChatKeyError; TheirError and NotNowError as its profile is looked up."""
        return ChatKey(self._targets().person(name).ref.id)


@contextmanager
def _explained() -> Iterator[None]:
    """What the members of a group would ignore is a ChatError."""
    try:
        yield
    except ValueError as error:
        raise ChatError(str(error)) from None
