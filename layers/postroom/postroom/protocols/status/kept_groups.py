"""Kept events of all groups: of those that the user may be in, and, within a bound, of those that others name.

Anybody can make up groups, and send events of them. A group in which the user never was is not shown, but the event
that adds the user may still come.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator
from typing import Final, TypeAlias

from postroom.protocols.status.group_events import Came, GroupEvents, fair_share, place_of
from postroom.protocols.status.keys import ChatKey
from postroom.protocols.status.membership import Group, SignedEvent

EVENTS_ELSEWHERE: Final = 10_000
"""Events of all groups that the user was never in: ten full updates, and as many groups if each has one event."""
MAX_WAITING: Final = 100_000
"""New events that may wait for a look at the groups, which bounds them: some 100 MB of memory, and 15 MB of mail.

What adds an event's author may come later than the event. So all that an archive holds is added before it is bounded.
"""

_OfGroup: TypeAlias = tuple[str, Came]


class KeptGroups:
    """The events of the groups of one user. `own`: the user's key. `members_may_change`: as `Group.apply` has it."""

    def __init__(self, own: ChatKey, *, members_may_change: bool = False) -> None:
        self._own = own
        self._members_may_change = members_may_change
        self._groups: dict[str, GroupEvents] = {}
        self._of_user: dict[str, None] = {}
        self._elsewhere: dict[str, int] = {}
        """The numbers of events of the other groups, and below, of all of them."""
        self._count_elsewhere = 0
        self._changed: set[str] = set()
        """Groups with new events since they were bounded."""
        self._waiting = 0

    def __iter__(self) -> Iterator[tuple[str, SignedEvent, int]]:
        for group, events in self._groups.items():
            for event, at_ms in events:
                yield group, event, at_ms

    def add(self, group: str, event: SignedEvent, at_ms: int) -> None:
        """Add a copy of an event of a group, which came at a time."""
        events = self._groups.get(group)
        if events is None:
            events = self._groups[group] = GroupEvents(group, self._members_may_change)
        if events.add(event, at_ms):
            self._changed.add(group)
            self._waiting += 1
            if self._waiting > MAX_WAITING:
                self._bound_changed()

    def group(self, group: str) -> Group:
        """A group as its events make it; without members if none of them counts. No other group is looked at."""
        events = self._groups.get(group)
        return Group(group) if events is None else events.group()

    def of_user(self) -> Collection[str]:
        """The IDs of the groups in which the user may have been: no other group ever had the user as a member."""
        self._bound_changed()
        return self._of_user.keys()

    def _bound_changed(self) -> None:
        """Find the groups that may have had the user, of those that have changed, and bound the others."""
        for group in self._changed:
            events = self._groups[group]
            self._count_elsewhere -= self._elsewhere.pop(group, 0)
            if events.may_have_had(self._own):
                self._of_user[group] = None
            else:
                self._of_user.pop(group, None)
                self._elsewhere[group] = len(events)
                self._count_elsewhere += len(events)
        self._changed.clear()
        self._waiting = 0
        if self._count_elsewhere > EVENTS_ELSEWHERE:
            self._bound_elsewhere()

    def _bound_elsewhere(self) -> None:
        by_sender: defaultdict[ChatKey, list[_OfGroup]] = defaultdict(list)
        for group in self._elsewhere:
            for came in self._groups[group]:
                by_sender[came[0].author].append((group, came))
        kept: defaultdict[str, list[Came]] = defaultdict(list)
        for share in fair_share(by_sender, EVENTS_ELSEWHERE, _place_among_groups).values():
            for group, came in share:
                kept[group].append(came)
        for group in self._elsewhere.keys() - kept.keys():
            del self._groups[group]
        for group, events in kept.items():
            self._groups[group].keep(events)
        self._elsewhere = {group: len(events) for group, events in kept.items()}
        self._count_elsewhere = sum(self._elsewhere.values())


def _place_among_groups(of_group: _OfGroup) -> tuple[object, ...]:
    group, came = of_group
    return *place_of(came), group
