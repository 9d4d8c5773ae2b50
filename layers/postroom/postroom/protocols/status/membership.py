"""Groups: signed changes of name, members and admins, and who was in a group when (7/GROUP-CHAT).

All events of a group that ever came are one set. The order in which they count is made from the events themselves, so
that every device has the same group, whatever reached it first. Events that are not valid at their place do not count,
and the others do.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Final

from postroom.core.errors import TheirError
from postroom.crypto.ethereum import keccak_256
from postroom.crypto.ethereum_keys import SIGNATURE_BYTES
from postroom.protocols.status.author import AuthorKey, author_of
from postroom.protocols.status.chats import creator_of
from postroom.protocols.status.codec import read_event, write_event
from postroom.protocols.status.enums import MembershipEventType
from postroom.protocols.status.keys import ChatKey, read_chat_key
from postroom.protocols.status.messages import MembershipUpdateEvent
from postroom.protocols.status.reasons import MEMBERSHIP_INVALID

MAX_MEMBERS: Final = 100
MAX_COUNTED_EVENTS: Final = 10_000
"""Changes of one group that count, beside those that take members or admins away. Later ones do not."""
KNOWN_EVENTS: Final = 2000
"""Signed events that are kept as read: clients send those of a group again with each message in it."""

_CREATED: Final = MembershipEventType.CHAT_CREATED
LIMITED_TYPES: Final = frozenset(
    {
        MembershipEventType.CHAT_CREATED,
        MembershipEventType.NAME_CHANGED,
        MembershipEventType.MEMBERS_ADDED,
        MembershipEventType.ADMINS_ADDED,
    }
)
"""Types of changes of which MAX_COUNTED_EVENTS count."""


@dataclass(frozen=True)
class SignedEvent:
    """An event and its author. `data`: the event as received, without the signature; it is the event's identity."""

    author: ChatKey
    event: MembershipUpdateEvent
    data: bytes
    signature: bytes

    @property
    def signed(self) -> bytes:
        """The event as it stands in an update."""
        return self.signature + self.data

    @cached_property
    def place(self) -> tuple[int, bool, bytes, str]:
        """Where the event stands among those of its group."""
        return self.event.clock, self.event.type != _CREATED, keccak_256(self.data), self.author


@lru_cache(KNOWN_EVENTS)
def read_signed_event(group: str, signed: bytes, author: ChatKey | None = None) -> SignedEvent:
    """Read an event of a group's update: 65 bytes of signature, and the event.

    The signature is of the group's ID and the event as received. `author`: the key that made it, if that was found out
    before. Raises TheirError(MEMBERSHIP_INVALID), or as `MembershipUpdateEvent` and `author_of` do.
    """
    signature, data = signed[:SIGNATURE_BYTES], signed[SIGNATURE_BYTES:]
    if not data:
        raise TheirError(MEMBERSHIP_INVALID, f"an event has more than {SIGNATURE_BYTES} bytes, this one {len(signed)}")
    event = read_event(data)
    for member in event.members:
        if read_chat_key(member) is None:
            raise TheirError(MEMBERSHIP_INVALID, "one of the event's members is no chat key")
    if len(event.members) > MAX_MEMBERS:
        raise TheirError(MEMBERSHIP_INVALID, f"a group has at most {MAX_MEMBERS} members")
    return SignedEvent(author or author_of(signature, group.encode() + data), event, data, signature)


def check_founder(group: str, signed: SignedEvent) -> None:
    """Check that an event, if it is a founding, is by the key in the group's ID: another counts nowhere.

    Raises TheirError(MEMBERSHIP_INVALID).
    """
    is_founder = signed.event.type != _CREATED or signed.author == creator_of(group)
    _require(is_founder, "the group was not created by the key in its ID")


def sign_event(group: str, event: MembershipUpdateEvent, key: AuthorKey) -> bytes:
    """Sign an event for an update of a group."""
    data = write_event(event)
    return key.sign(group.encode() + data) + data


@dataclass(slots=True)
class Group:
    """A group as its events make it, and the times at which members and admins came and went, by clock."""

    id: str
    name: str = ""
    members: set[ChatKey] = field(default_factory=set)
    admins: set[ChatKey] = field(default_factory=set)
    clock: int = 0
    """The largest clock of the events that count."""
    is_created: bool = False
    counted: list[SignedEvent] = field(default_factory=list)
    """The events that count, in their order."""
    _member_since: dict[ChatKey, list[int]] = field(default_factory=lambda: defaultdict(list))
    _admin_since: dict[ChatKey, list[int]] = field(default_factory=lambda: defaultdict(list))

    def had_member(self, key: ChatKey, clock: int) -> bool:
        """Whether a key was a member at a clock: after all events with that clock or a smaller one."""
        return _is_inside(self._member_since, key, clock)

    def had_admin(self, key: ChatKey, clock: int) -> bool:
        """Whether a key was an admin at a clock."""
        return _is_inside(self._admin_since, key, clock)

    def ever_had(self, key: ChatKey) -> bool:
        """Whether a key was a member at any time."""
        return key in self._member_since

    def apply(self, signed: SignedEvent, *, members_may_change: bool = False) -> None:
        """Let an event count, after those before it. Raises TheirError(MEMBERSHIP_INVALID): it is not valid here.

        `members_may_change`: members may add others and change the name, as newer clients of Status have it.
        """
        author, event = signed.author, signed.event
        targets = [ChatKey(member) for member in event.members]
        self.check(signed, members_may_change=members_may_change)
        match event.type:
            case MembershipEventType.CHAT_CREATED:
                self.is_created, self.name = True, event.name
                self._add([author], event.clock)
                self._promote([author], event.clock)
            case MembershipEventType.NAME_CHANGED:
                self.name = event.name
            case MembershipEventType.MEMBERS_ADDED:
                self._add(targets, event.clock)
            case MembershipEventType.MEMBER_REMOVED:
                self._demote(targets, event.clock)
                self._remove(targets, event.clock)
            case MembershipEventType.ADMINS_ADDED:
                self._promote(targets, event.clock)
            case MembershipEventType.ADMIN_REMOVED:
                self._demote(targets, event.clock)
        self.clock = max(self.clock, event.clock)
        self.counted.append(signed)

    def check(self, signed: SignedEvent, *, members_may_change: bool = False) -> None:
        """Check that an event is valid after those before it. Raises TheirError(MEMBERSHIP_INVALID)."""
        author, event = signed.author, signed.event
        targets = [ChatKey(member) for member in event.members]
        if event.type == _CREATED:
            _require(not self.is_created, "the group exists")
            check_founder(self.id, signed)
            return
        _require(self.is_created, "the group did not exist yet")
        is_admin, is_member = author in self.admins, author in self.members
        may_change = is_admin or (members_may_change and is_member)
        match event.type:
            case MembershipEventType.NAME_CHANGED:
                _require(may_change, "who changed the name was no admin")
                _require(bool(event.name), "the new name is empty")
            case MembershipEventType.MEMBERS_ADDED:
                _require(may_change, "who added members was no admin")
                _require(len(self.members.union(targets)) <= MAX_MEMBERS, f"a group has at most {MAX_MEMBERS} members")
            case MembershipEventType.MEMBER_JOINED:
                _require(is_member, "who joined had not been added")
            case MembershipEventType.MEMBER_REMOVED:
                _require(len(targets) == 1, "an event removes one member")
                _require(targets[0] in self.members, "who was removed was no member")
                may_remove = targets == [author] or (is_admin and self.admins.isdisjoint(targets))
                _require(may_remove, "only admins remove others, and no admins")
            case MembershipEventType.ADMINS_ADDED:
                _require(is_admin, "who added admins was none")
                _require(self.members.issuperset(targets), "an admin must be a member")
            case MembershipEventType.ADMIN_REMOVED:
                _require(is_admin and targets == [author], "admins remove themselves only")
            case _:
                raise TheirError(MEMBERSHIP_INVALID, f"there are no events of type {event.type}")

    def _add(self, keys: Iterable[ChatKey], clock: int) -> None:
        _note(self.members, self._member_since, keys, clock, inside=True)

    def _remove(self, keys: Iterable[ChatKey], clock: int) -> None:
        _note(self.members, self._member_since, keys, clock, inside=False)

    def _promote(self, keys: Iterable[ChatKey], clock: int) -> None:
        _note(self.admins, self._admin_since, keys, clock, inside=True)

    def _demote(self, keys: Iterable[ChatKey], clock: int) -> None:
        _note(self.admins, self._admin_since, keys, clock, inside=False)


def fold_group(group: str, events: Iterable[SignedEvent], *, members_may_change: bool = False) -> Group:
    """The group that a set of events makes; an event that is twice among them must not be.

    `members_may_change`: as `Group.apply` has it.
    """
    folded, limited = Group(group), 0
    for event in sorted(events, key=lambda each: each.place):
        is_limited = event.event.type in LIMITED_TYPES
        # Whoever fills a group with events must not be able to stay in it by that.
        if is_limited and limited >= MAX_COUNTED_EVENTS:
            continue
        with suppress(TheirError):
            folded.apply(event, members_may_change=members_may_change)
            limited += is_limited
    return folded


def _require(is_so: bool, otherwise: str) -> None:
    if not is_so:
        raise TheirError(MEMBERSHIP_INVALID, otherwise)


def _note(
    inside_now: set[ChatKey], since: dict[ChatKey, list[int]], keys: Iterable[ChatKey], clock: int, *, inside: bool
) -> None:
    """Note when keys came in or went out: the clocks at which that changed, the first of them when they came in."""
    for key in keys:
        if (key in inside_now) != inside:
            (inside_now.add if inside else inside_now.remove)(key)
            since[key].append(clock)


def _is_inside(since: dict[ChatKey, list[int]], key: ChatKey, clock: int) -> bool:
    return bisect_right(since.get(key, ()), clock) % 2 == 1
