"""What a user does to a group: signed events, or a refusal of what the other members would ignore (7/GROUP-CHAT).

`clock`: `next_clock` of the group's chat, so that the event is the group's last. Events are sent by
`group_updates.group_update`, one's own devices included. All raise ValueError that says why not.
"""

from collections.abc import Collection

from postroom.core.errors import TheirError
from postroom.protocols.status.author import AuthorKey
from postroom.protocols.status.chats import group_id
from postroom.protocols.status.enums import MembershipEventType
from postroom.protocols.status.keys import ChatKey
from postroom.protocols.status.membership import (
    MAX_COUNTED_EVENTS,
    Group,
    SignedEvent,
    read_signed_event,
    sign_event,
)
from postroom.protocols.status.messages import MembershipUpdateEvent


def create_group(uuid: str, key: AuthorKey, clock: int, name: str, members: Collection[ChatKey]) -> Group:
    """A new group, as its first events make it (`Group.counted`); the second one's clock is `clock` + 1.

    `uuid`: random, in lower case. `members`: the others. The user is the group's admin.
    """
    if not name:
        raise ValueError("a group needs a name")
    group = Group(_id(uuid, key))
    _apply(group, key, MembershipUpdateEvent(clock, MembershipEventType.CHAT_CREATED, name=name))
    if others := set(members) - {key.public}:
        _apply(group, key, _event(clock + 1, MembershipEventType.MEMBERS_ADDED, others))
    return group


def add_members(group: Group, key: AuthorKey, clock: int, members: Collection[ChatKey]) -> SignedEvent:
    """Members are added, by an admin. Those who are members already are left out."""
    new = set(members) - group.members
    if not new:
        raise ValueError("all of them are members already")
    return _signed(group, key, _event(clock, MembershipEventType.MEMBERS_ADDED, new))


def remove_member(group: Group, key: AuthorKey, clock: int, member: ChatKey) -> SignedEvent:
    """A member is removed, by an admin; no admin can be removed by another."""
    return _signed(group, key, _event(clock, MembershipEventType.MEMBER_REMOVED, [member]))


def leave_group(group: Group, key: AuthorKey, clock: int) -> SignedEvent:
    """The user leaves."""
    return remove_member(group, key, clock, key.public)


def rename_group(group: Group, key: AuthorKey, clock: int, name: str) -> SignedEvent:
    """The group has another name, from an admin."""
    return _signed(group, key, MembershipUpdateEvent(clock, MembershipEventType.NAME_CHANGED, name=name))


def make_admins(group: Group, key: AuthorKey, clock: int, members: Collection[ChatKey]) -> SignedEvent:
    """Members are made admins, by an admin. Those who are admins already are left out."""
    new = set(members) - group.admins
    if not new:
        raise ValueError("all of them are admins already")
    return _signed(group, key, _event(clock, MembershipEventType.ADMINS_ADDED, new))


def _event(clock: int, type_: MembershipEventType, members: Collection[ChatKey]) -> MembershipUpdateEvent:
    return MembershipUpdateEvent(clock, type_, tuple(sorted(members)))


def _apply(group: Group, key: AuthorKey, event: MembershipUpdateEvent) -> None:
    group.apply(_signed(group, key, event), members_may_change=False)


def _signed(group: Group, key: AuthorKey, event: MembershipUpdateEvent) -> SignedEvent:
    """Sign an event that the others let count, whatever policy they have."""
    if event.clock <= group.clock:
        raise ValueError(f"the event's clock must be above {group.clock}, the group's")
    if len(group.counted) >= MAX_COUNTED_EVENTS:
        raise ValueError(f"the group has {MAX_COUNTED_EVENTS:,} events, and further ones do not count")
    try:
        signed = read_signed_event(group.id, sign_event(group.id, event, key))
        group.check(signed, members_may_change=False)
    except TheirError as error:
        raise ValueError(f"the other members would ignore it: {error.detail}") from None
    return signed


def _id(uuid: str, key: AuthorKey) -> str:
    try:
        return group_id(uuid, key.public)
    except TheirError as error:
        raise ValueError(error.detail) from None
