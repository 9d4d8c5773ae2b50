"""Kept events of one group: as many of each sender, and of all together, as the group can need.

Anybody can sign events for any group, with as many keys as they make. An event counts only if its author is the
founder, whose key is in the group's ID, or was added by those whose events count. So there are three kinds of senders:
managers, who are the founder and whomever a manager made an admin; members, whom a manager added; and strangers. A
stranger's event may count later, when the event that adds its author comes, so some are kept.

What is kept of a set of events does not depend on their order. Of a sender the oldest by clock are kept, so nobody but
the sender can displace them. Where all together are too many, the senders of most events lose theirs.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Final, TypeAlias, TypeVar

from postroom.protocols.status.chats import creator_of
from postroom.protocols.status.clock import is_ahead
from postroom.protocols.status.enums import MembershipEventType
from postroom.protocols.status.keys import ChatKey
from postroom.protocols.status.membership import (
    LIMITED_TYPES,
    MAX_COUNTED_EVENTS,
    Group,
    SignedEvent,
    fold_group,
)
from postroom.protocols.status.messages import MAX_EVENTS

EVENTS_OF_A_MANAGER: Final = MAX_COUNTED_EVENTS
"""Changes of one manager in a group, and as many other events: a group's only admin can make all that count."""
EVENTS_OF_MANAGERS: Final = 4 * MAX_COUNTED_EVENTS
"""Events of all managers of a group. Those nearest the founder have at most half of it, the next ones half of the rest,
and so on: nobody who was an admin once can displace the events of later admins, by events that do not count."""
EVENTS_OF_ANOTHER: Final = 100
"""Events of one sender who is no manager, in a group: such a member can only join and leave, 50 times here."""
EVENTS_OF_MEMBERS: Final = 10_000
"""Events of all members of a group who are no managers: a group of 100 has all of them replaced 50 times."""
EVENTS_OF_STRANGERS: Final = MAX_EVENTS
"""Events of all strangers to a group: what one update of it can hold, so all authors of one may be added later."""

T = TypeVar("T")
Came: TypeAlias = tuple[SignedEvent, int]
"""An event, and when its first copy came, in milliseconds since 1970."""


def fair_share(
    events: Mapping[ChatKey, Sequence[T]], bound: int, place: Callable[[T], Any]
) -> Mapping[ChatKey, Sequence[T]]:
    """The events of senders that are kept of all, so many of them: the largest senders lose theirs first.

    `place`: where an event stands among those of its sender, who keeps the first ones.
    """
    if sum(map(len, events.values())) <= bound:
        return events
    senders = sorted(events, key=lambda sender: (len(events[sender]), sender))
    kept: dict[ChatKey, Sequence[T]] = {}
    for number, sender in enumerate(senders):
        # Rounded up: if there are more senders than events may be kept, the smallest ones keep theirs.
        kept[sender] = _first(events[sender], -(-bound // (len(senders) - number)), place)
        bound -= len(kept[sender])
    return kept


def place_of(came: Came) -> tuple[int, bool, bytes, str]:
    """Where an event stands among those of its group."""
    return came[0].place


@dataclass(slots=True)
class GroupEvents:
    """The events of a group, each once by its author and its bytes.

    `members_may_change`: as `Group.apply` has it.
    """

    id: str
    members_may_change: bool = False
    _by_sender: dict[ChatKey, dict[bytes, Came]] = field(default_factory=dict)
    _reached: frozenset[ChatKey] = frozenset()
    """The managers and members, as of when the events were last bounded."""
    _is_reached_anew: bool = True
    """Whether events of managers or members came since."""
    _has_new_strangers: bool = False
    """Whether events of strangers came since."""
    _folded: Group | None = None

    def __len__(self) -> int:
        return sum(map(len, self._by_sender.values()))

    def __iter__(self) -> Iterator[Came]:
        for events in self._by_sender.values():
            yield from events.values()

    def add(self, event: SignedEvent, at_ms: int) -> bool:
        """Add a copy of an event. True: it is new."""
        events = self._by_sender.setdefault(event.author, {})
        known = events.get(event.data)
        if known is not None:
            # An author can sign twice, and anybody can write a signature in its other form: whichever came first,
            # the smallest is sent on.
            event, at_ms = min(known[0], event, key=lambda each: each.signature), min(known[1], at_ms)
            if known == (event, at_ms):
                return False
        events[event.data] = event, at_ms
        if event.author not in self._reached:
            # It counts for nothing in the group as it is, so the group is not made again.
            self._has_new_strangers = True
        elif known is None:
            self._is_reached_anew = True
        elif known[0] != event or is_ahead(event.event.clock, at_ms):
            self._folded = None
        return known is None

    def group(self) -> Group:
        """The group as its events make it. The events of strangers are not looked at."""
        self.bound()
        if self._folded is None:
            reached = (self._by_sender.get(sender, {}) for sender in self._reached)
            self._folded = fold_group(
                self.id,
                (
                    event
                    for events in reached
                    for event, at_ms in events.values()
                    if not is_ahead(event.event.clock, at_ms)
                ),
                members_may_change=self.members_may_change,
            )
        return self._folded

    def may_have_had(self, key: ChatKey) -> bool:
        """Whether a key may have been a member at any time: it is the founder, or an event of a manager names it."""
        self.bound()
        return key in self._reached

    def keep(self, kept: Iterable[Came]) -> None:
        """Keep these events, and no others."""
        self._by_sender = {}
        for event, at_ms in kept:
            self._by_sender.setdefault(event.author, {})[event.data] = event, at_ms
        self._is_reached_anew = True

    def bound(self) -> None:
        """Keep no more events than the bounds say."""
        if self._is_reached_anew:
            self._bound_reached()
        if self._has_new_strangers:
            self._bound_strangers()
        self._is_reached_anew = self._has_new_strangers = False

    def _bound_reached(self) -> None:
        """Find out who is reached from the founder, by the events that are kept of those who were reached before.

        Those who are nearer to the founder keep their events first: an admin cannot displace what the founder did, by
        making many keys admins.
        """
        managers, added_by = set[ChatKey](), dict[ChatKey, set[ChatKey]]()
        wave, space = {creator_of(self.id)}, EVENTS_OF_MANAGERS
        while wave:
            managers |= wave
            kept = fair_share(self._of(wave, _of_a_manager), space // 2, place_of)
            self._replace(kept)
            space -= sum(map(len, kept.values()))
            wave = set()
            for manager, events in kept.items():
                added_by[manager], promoted = self._named(event for event, _ in events)
                wave |= promoted
            wave -= managers
        self._bound_members({manager: added - managers for manager, added in added_by.items()})
        self._reached = frozenset(managers.union(*added_by.values()))
        self._folded, self._has_new_strangers = None, True

    def _bound_members(self, added_by: Mapping[ChatKey, set[ChatKey]]) -> None:
        """Share the bound of members out to the managers who added them, and then to the members of each.

        So a manager who names many keys displaces the events of those alone whom nobody else added.
        """
        of_managers = {manager: self._of(added, _of_another) for manager, added in added_by.items()}
        all_of = {manager: [*chain.from_iterable(each.values())] for manager, each in of_managers.items()}
        kept: dict[ChatKey, Sequence[Came]] = {}
        for manager, share in fair_share(all_of, EVENTS_OF_MEMBERS, place_of).items():
            for member, events in fair_share(of_managers[manager], len(share), place_of).items():
                # Each share has the first events of a member: the longest has those of the others.
                kept[member] = max(kept.get(member, ()), events, key=len)
        self._replace(kept)

    def _bound_strangers(self) -> None:
        strangers = self._by_sender.keys() - self._reached
        self._replace(fair_share(self._of(strangers, _of_another), EVENTS_OF_STRANGERS, place_of))

    def _of(
        self, senders: Iterable[ChatKey], within_bound: Callable[[Sequence[Came]], Sequence[Came]]
    ) -> dict[ChatKey, Sequence[Came]]:
        """The events of some senders, each within the bound of one sender."""
        found = ((sender, self._by_sender.get(sender)) for sender in senders)
        return {sender: within_bound([*events.values()]) for sender, events in found if events}

    def _replace(self, kept: Mapping[ChatKey, Sequence[Came]]) -> None:
        """Keep these events of some senders."""
        for sender, events in kept.items():
            if not events:
                del self._by_sender[sender]
            elif len(events) < len(self._by_sender[sender]):
                self._by_sender[sender] = {event.data: (event, at_ms) for event, at_ms in events}

    def _named(self, events: Iterable[SignedEvent]) -> tuple[set[ChatKey], set[ChatKey]]:
        """Whom events of a manager may have added, and whom of them made a manager."""
        added, promoted = set[ChatKey](), set[ChatKey]()
        for signed in events:
            if signed.event.type == MembershipEventType.ADMINS_ADDED:
                promoted.update(map(ChatKey, signed.event.members))
            elif signed.event.type == MembershipEventType.MEMBERS_ADDED:
                (promoted if self.members_may_change else added).update(map(ChatKey, signed.event.members))
        return added, promoted


def _of_a_manager(events: Sequence[Came]) -> Sequence[Came]:
    # Whoever has made all changes that one may make can still take members and admins away.
    limited = [came for came in events if came[0].event.type in LIMITED_TYPES]
    others = [came for came in events if came[0].event.type not in LIMITED_TYPES]
    return [*_first(limited, EVENTS_OF_A_MANAGER, place_of), *_first(others, EVENTS_OF_A_MANAGER, place_of)]


def _of_another(events: Sequence[Came]) -> Sequence[Came]:
    return _first(events, EVENTS_OF_ANOTHER, place_of)


def _first(events: Sequence[T], bound: int, place: Callable[[T], Any]) -> Sequence[T]:
    return events if len(events) <= bound else sorted(events, key=place)[:bound]
