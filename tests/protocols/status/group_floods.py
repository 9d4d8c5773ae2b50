"""Events of groups as they are once their signatures have been checked, and floods of them by strangers."""

from collections.abc import Iterator, Sequence

import pytest
from tests.protocols.status.histories import GROUP, MALLORY

from postroom.protocols.status import group_events, kept_groups
from postroom.protocols.status.author import AuthorKey
from postroom.protocols.status.codec import write_event
from postroom.protocols.status.enums import MembershipEventType as Kind
from postroom.protocols.status.group_events import GroupEvents
from postroom.protocols.status.kept_groups import KeptGroups
from postroom.protocols.status.keys import ChatKey
from postroom.protocols.status.membership import SignedEvent
from postroom.protocols.status.messages import MembershipUpdateEvent


def by(
    user: AuthorKey | ChatKey, kind: int, clock: int, members: Sequence[AuthorKey | ChatKey] = (), name: str = ""
) -> SignedEvent:
    """An event of a user, or of a key that nobody needs the secret of."""
    made = MembershipUpdateEvent(clock, kind, tuple(map(_key, members)), name)
    return SignedEvent(_key(user), made, write_event(made), b"")


def renamed(user: AuthorKey | ChatKey, *clocks: int) -> list[SignedEvent]:
    """Changes of the name by one user."""
    return [by(user, Kind.NAME_CHANGED, clock, name=f"{clock}") for clock in clocks]


def strangers(count: int) -> Iterator[ChatKey]:
    """Keys that a stranger has made up."""
    return (ChatKey(f"0x04{number:0128x}") for number in range(count))


def flood(count: int, of_each: int = 1) -> list[SignedEvent]:
    """Events of as many made-up keys."""
    return [each for key in strangers(count) for each in renamed(key, *range(1, of_each + 1))]


def kept_of(groups: KeptGroups | GroupEvents, user: AuthorKey | ChatKey = MALLORY, group: str = GROUP) -> list[int]:
    """The clocks of the events that are kept of a user."""
    found = (
        [event for event, _ in groups]
        if isinstance(groups, GroupEvents)
        else [event for name, event, _ in groups if name == group]
    )
    return sorted(event.event.clock for event in found if event.author == _key(user))


def small_bounds(patch: pytest.MonkeyPatch, **bounds: int) -> None:
    """Make bounds small, by their names."""
    for name, bound in bounds.items():
        patch.setattr(kept_groups if name in ("EVENTS_ELSEWHERE", "MAX_WAITING") else group_events, name, bound)


def _key(user: AuthorKey | ChatKey) -> ChatKey:
    return user.public if isinstance(user, AuthorKey) else user
