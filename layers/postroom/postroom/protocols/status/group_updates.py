"""Updates of groups as they are sent: a message or a reaction, and the events that the others need to take it.

The events that made the group go with each update, so that also those know it who lost some, or were added just now.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from postroom.protocols.status.codec import write_payload
from postroom.protocols.status.enums import MembershipEventType
from postroom.protocols.status.membership import Group, SignedEvent
from postroom.protocols.status.messages import MAX_EVENTS, ChatMessage, EmojiReaction, MembershipUpdateMessage
from postroom.protocols.status.wrapper import MAX_WRAPPER_BYTES

_AROUND_PAYLOAD: Final = 100
"""More bytes than a wrapper of either form has around its payload: signature, type, and heads of fields."""
_OF_MEMBERS: Final = frozenset(
    {
        MembershipEventType.MEMBERS_ADDED,
        MembershipEventType.MEMBER_REMOVED,
        MembershipEventType.ADMINS_ADDED,
        MembershipEventType.ADMIN_REMOVED,
    }
)


def group_update(
    group: Group, message: ChatMessage | EmojiReaction | None = None, new: Sequence[SignedEvent] = ()
) -> MembershipUpdateMessage:
    """The update that sends a message or a reaction in a group, or new events, or both.

    `new`: events that are not in `group` yet (`group_actions`). Whom one of them removes needs the update, too.

    In it are all events that count, if they are 1,000 at most and the wrapper has 1,100,000 bytes at most. Otherwise
    those that make the present name, members and admins (`present_events`); and if these are too many, the founding
    and the newest of them, as many as there is space for.

    Raises TheirError, as MembershipUpdateMessage does: the message is not of this group.
    """
    chat_message = message if isinstance(message, ChatMessage) else None
    reaction = message if isinstance(message, EmojiReaction) else None
    update = MembershipUpdateMessage(group.id, (), chat_message, reaction)
    space = MAX_WRAPPER_BYTES - _AROUND_PAYLOAD - len(write_payload(update))
    events = [*group.counted, *new]
    if not _fit(events, space):
        events = present_events(group, new)
    if not _fit(events, space):
        events = _newest(events, space)
    return replace(update, events=tuple(each.signed for each in events))


def present_events(group: Group, new: Sequence[SignedEvent] = ()) -> list[SignedEvent]:
    """Of the events that count, in their order, those that by themselves make the same name, members and admins.

    They are the founding, the last change of name, those in `new`, and all that ever changed who is a member or an
    admin of a certain set of keys: of the present members, and of all that these events name or that authored one. So
    each of these events finds everybody whom it concerns as it does among all events, and counts here, too.
    """
    events = [*group.counted, *new]
    names = [place for place, each in enumerate(events) if each.event.type == MembershipEventType.NAME_CHANGED]
    always = {0, *names[-1:], *range(len(group.counted), len(events))}
    keys: set[str] = set(group.members)
    while True:
        kept = [
            each
            for place, each in enumerate(events)
            if place in always or (each.event.type in _OF_MEMBERS and not keys.isdisjoint(each.event.members))
        ]
        concerned = keys.union(*((each.author, *each.event.members) for each in kept))
        if concerned == keys:
            return kept
        keys = concerned


def _fit(events: Sequence[SignedEvent], space: int) -> bool:
    return len(events) <= MAX_EVENTS and sum(map(_size, events)) <= space


def _newest(events: Sequence[SignedEvent], space: int) -> list[SignedEvent]:
    """The first and the last events, in their order; those that are too large are left out."""
    taken: list[SignedEvent] = []
    for each in (*events[:1], *reversed(events[1:])):
        if len(taken) < MAX_EVENTS and _size(each) <= space:
            taken.append(each)
            space -= _size(each)
    return [*taken[:1], *reversed(taken[1:])]


def _size(event: SignedEvent) -> int:
    """Of an event as a field: its number, its length in groups of seven bits, and itself."""
    length = len(event.signature) + len(event.data)
    return 1 + -(-length.bit_length() // 7) + length
