"""Two devices write to one home, are interrupted and die at any call: nothing is lost, nothing is there twice."""

from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count, pairwise, product
from typing import ClassVar, Protocol

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.protocols.dm3.stored_mail import ALICE, BOB, deletion, edit, stored_message, texts_of

from postroom.client.archive import ConflictError, Home, MemoryHome
from postroom.client.archive.filing import ArchiveFiling, Call, Put, Steps, run
from postroom.protocols.dm3.containers import Chunk, ChunkIdentifier, chunk_key, conversation_key, read_chunk, root_key
from postroom.protocols.dm3.edits import settle
from postroom.protocols.dm3.storage_key import StorageKey
from postroom.protocols.dm3.stored import Entry, StoredEnvelope, conversation_partner, place

STORAGE_KEY = StorageKey(bytes(range(32)))
CAROL = "carol.eth"
SIZE = len(stored_message("a").encode())
_NONCES = (number.to_bytes(12, "big") for number in count())


class OpenHome(Home, Protocol):
    """A home that can be looked into."""

    def containers(self) -> dict[str, bytes]: ...


def filing(messages: int, *, keep_history: bool = True) -> ArchiveFiling:
    """Bob's archive, with this number of messages in a chunk."""
    return ArchiveFiling(
        root_key(b"bob's signature"), STORAGE_KEY, lambda: next(_NONCES), messages * SIZE + 100, keep_history
    )


def by_partner(envelopes: Iterable[StoredEnvelope]) -> dict[str, list[Entry]]:
    conversations: dict[str, list[Entry]] = defaultdict(list)
    for envelope in envelopes:
        conversations[conversation_partner(envelope, BOB)].append(envelope)
    return conversations


def chunks_of(home: OpenHome, partner: str) -> dict[ChunkIdentifier, Chunk]:
    """What lies in the listed chunks of a conversation, as it lies there."""
    reading = filing(1)
    at = conversation_key(reading.root, partner)
    conversation, _ = run(reading.read_conversation(at), home)
    chunks = {}
    for identifier in conversation.chunks:
        key = chunk_key(at, identifier)
        found = home.get(key)
        assert found is not None, "a chunk is listed, and not there"
        chunks[identifier] = read_chunk(STORAGE_KEY.open(found.data, key), key)
    return chunks


def check_chunks(chunks: dict[ChunkIdentifier, Chunk]) -> None:
    """Each message once, sorted, in chunks that begin when they say."""
    entries = [entry.message_hash for chunk in chunks.values() for entry in chunk.entries]
    assert len(set(entries)) == len(entries), "a message is in two places"
    for identifier, chunk in chunks.items():
        assert chunk.entries[0].timestamp_ms == identifier.timestamp_ms
        assert all(place(one) < place(other) for one, other in pairwise(chunk.entries))


def expected(envelopes: Iterable[StoredEnvelope], *, keep_history: bool) -> dict[str, list[str]]:
    """What is to be read of all that was written, by partner."""
    return {
        partner: texts_of(sorted(settle(entries, keep_history=keep_history).values(), key=place))
        for partner, entries in by_partner(envelopes).items()
    }


def opened(home: OpenHome, reading: ArchiveFiling) -> dict[str, list[str]]:
    return {partner: texts_of(run(reading.open(partner), home)) for partner in run(reading.conversations(), home)}


def check_archive(home: OpenHome, devices: Iterable["Device"], written: Iterable[StoredEnvelope]) -> None:
    """What was acknowledged is there, and nothing that nobody wrote; each message once, in order."""
    there: set[str] = set()
    reading = filing(1)
    for partner in run(reading.conversations(), home):
        check_chunks(chunks_of(home, partner))
        there |= {entry.message_hash for entry in run(reading.open(partner), home)}
    for device in devices:
        assert device.acknowledged <= there
    assert there <= {envelope.message_hash for envelope in written}


def check_end(home: OpenHome, written: list[StoredEnvelope], *, keep_history: bool, unlisted: int) -> None:
    """All that was written is there, once, in order; what is to be removed is not only not shown: it is not there.

    `unlisted`: so many containers at most may lie there of which nothing tells.
    """
    reading = filing(1, keep_history=keep_history)
    named = {reading.root}
    for partner, texts in expected(written, keep_history=keep_history).items():
        assert texts_of(run(reading.open(partner), home)) == texts
        chunks = chunks_of(home, partner)
        check_chunks(chunks)
        assert texts_of(sorted((entry for chunk in chunks.values() for entry in chunk.entries), key=place)) == texts
        at = conversation_key(reading.root, partner)
        conversation, _ = run(reading.read_conversation(at), home)
        assert not set(conversation.discarded) & set(chunks)
        named |= {at, *(chunk_key(at, identifier) for identifier in (*chunks, *conversation.discarded))}
    assert len(home.containers().keys() - named) <= unlisted


# --- as it may happen ---------------------------------------------------------------------------------------------


@dataclass
class Device:
    """`inbox`: what it has not acknowledged yet. `storing`: what it is about to, with the next call to make."""

    filing: ArchiveFiling
    inbox: dict[str, StoredEnvelope] = field(default_factory=dict)
    acknowledged: set[str] = field(default_factory=set)
    storing: dict[str, StoredEnvelope] = field(default_factory=dict)
    steps: Steps[None] | None = None
    call: Call | None = None

    def begin(self) -> None:
        self.storing = dict(self.inbox)
        self.steps = self.filing.store(by_partner(self.storing.values()))
        self.call = next(self.steps)

    def go_on(self, home: OpenHome, *, refused: bool = False, unsure: bool = False) -> None:
        """Make the call. `refused`: the home says that it is a conflict. `unsure`: it says so, having made it."""
        assert self.steps
        assert self.call
        try:
            if isinstance(self.call, Put) and (refused or unsure):
                if unsure:
                    with suppress(ConflictError):
                        self.call.make(home)
                self.call = self.steps.throw(ConflictError())
                return
            try:
                answer = self.call.make(home)
            except ConflictError as conflict:
                self.call = self.steps.throw(conflict)
            else:
                self.call = self.steps.send(answer)
        except StopIteration:
            for message_hash in self.storing:
                del self.inbox[message_hash]
            self.acknowledged |= self.storing.keys()
            self.steps = self.call = None

    def die(self, home: OpenHome, *, after: bool) -> None:
        """Die before its call is made, or after."""
        assert self.call
        if after:
            with suppress(ConflictError):
                self.call.make(home)
        self.steps = self.call = None

    def run(self, home: OpenHome, calls: int) -> int:
        """Make so many calls, or less if it is done before; how many there were."""
        for made in range(calls):
            if self.steps is None:
                if not self.inbox:
                    return made
                self.begin()
            self.go_on(home)
        return calls

    def finish(self, home: OpenHome) -> None:
        assert self.run(home, 10_000) < 10_000


WHICH = st.integers(0, 1)
TIMES = st.integers(0, 12)


class TwoDevices(RuleBasedStateMachine):
    """Bob's two devices pull the same mail, in parts and in any order; either may stop or die between any two calls."""

    keep_history: ClassVar[bool] = True

    def __init__(self) -> None:
        super().__init__()
        self.home = self.new_home()
        self.written: list[StoredEnvelope] = []
        self.faults = 0
        self.number = count()
        self.devices: list[Device] = []

    def new_home(self) -> OpenHome:
        return MemoryHome()

    @initialize(sizes=st.tuples(st.integers(1, 4), st.integers(1, 4)))
    def two_devices(self, sizes: tuple[int, int]) -> None:
        self.devices = [Device(filing(size, keep_history=self.keep_history)) for size in sizes]

    def deliver(self, envelope: StoredEnvelope, to: tuple[bool, bool]) -> None:
        self.written.append(envelope)
        for device, here in zip(self.devices, to, strict=True):
            # What neither pulls now, the first does.
            if here or (device is self.devices[0] and not any(to)):
                device.inbox[envelope.message_hash] = envelope

    @rule(
        at=TIMES,
        to=st.tuples(st.booleans(), st.booleans()),
        sender=st.sampled_from([ALICE, BOB, CAROL]),
        longer=st.sampled_from([0, 0, 300]),
    )
    def a_message_comes(self, at: int, to: tuple[bool, bool], sender: str, longer: int) -> None:
        receiver = ALICE if sender == BOB else BOB
        self.deliver(stored_message(f"{next(self.number)}" + "x" * longer, at, sender=sender, to=receiver), to)

    @precondition(lambda self: self.written)
    @rule(data=st.data(), later=st.integers(0, 4), to=st.tuples(st.booleans(), st.booleans()), deletes=st.booleans())
    def a_request_comes(self, data: st.DataObject, later: int, to: tuple[bool, bool], deletes: bool) -> None:
        about = data.draw(st.sampled_from(self.written))
        at = about.timestamp_ms - stored_message("").timestamp_ms + later
        who = {"sender": about.author, "to": about.message.metadata.to}
        number = next(self.number)
        self.deliver(
            deletion(about, at, extra={"number": number}, **who) if deletes else edit(about, f"{number}", at, **who), to
        )

    @rule(which=WHICH, again=st.data())
    def a_message_comes_again(self, which: int, again: st.DataObject) -> None:
        if self.written:
            envelope = again.draw(st.sampled_from(self.written))
            self.devices[which].inbox[envelope.message_hash] = envelope

    @rule(which=WHICH, calls=st.integers(1, 8))
    def a_device_stores(self, which: int, calls: int) -> None:
        self.devices[which].run(self.home, calls)

    @rule(which=WHICH, unsure=st.booleans())
    def the_home_speaks_of_a_conflict(self, which: int, unsure: bool) -> None:
        device = self.devices[which]
        if device.steps:
            self.faults += 1
            device.go_on(self.home, refused=not unsure, unsure=unsure)

    @rule(which=WHICH, after=st.booleans())
    def a_device_dies(self, which: int, after: bool) -> None:
        device = self.devices[which]
        if device.steps:
            self.faults += 1
            device.die(self.home, after=after)

    @invariant()
    def what_was_acknowledged_is_there_once_and_in_order(self) -> None:
        if self.devices:
            check_archive(self.home, self.devices, self.written)

    def teardown(self) -> None:
        for device in self.devices:
            device.finish(self.home)
        for device in self.devices:
            assert opened(self.home, device.filing) == expected(self.written, keep_history=self.keep_history)
        check_end(self.home, self.written, keep_history=self.keep_history, unlisted=self.faults)


class TwoDevicesWithoutHistory(TwoDevices):
    """The same, where an EDIT takes the place of older versions."""

    keep_history = False


TestTwoDevices = TwoDevices.TestCase
TestTwoDevicesWithoutHistory = TwoDevicesWithoutHistory.TestCase
TestTwoDevices.settings = settings(stateful_step_count=40)
TestTwoDevicesWithoutHistory.settings = TestTwoDevices.settings


# --- each stopped at every call -------------------------------------------------------------------------------------

THERE = [stored_message("b", 20), stored_message("c", 30)]
SCENES: dict[str, tuple[int, list[StoredEnvelope], list[StoredEnvelope], list[StoredEnvelope]]] = {
    "both begin a conversation": (1, [], [stored_message("x", 5), stored_message("y", 5)], [stored_message("y", 5)]),
    "both begin the same chunk": (
        2,
        THERE,
        [stored_message("x", 40), stored_message("y", 50)],
        [stored_message("z", 40)],
    ),
    "both bring the same late message": (
        4,
        THERE,
        [stored_message("a", 10)],
        [stored_message("a", 10), stored_message("d", 40)],
    ),
    "both bring a late message": (4, THERE, [stored_message("a", 10)], [stored_message("A", 10, to="BOB.eth")]),
    "one moves what the other fills": (
        3,
        THERE,
        [stored_message("a", 10)],
        [stored_message("d", 40), stored_message("e", 50)],
    ),
    "one moves and fills": (
        3,
        THERE,
        [stored_message("a", 10), stored_message("d", 40)],
        [stored_message("d", 40), stored_message("e", 9)],
    ),
    "both move and fill": (
        3,
        THERE,
        [stored_message("a", 9), stored_message("d", 40)],
        [stored_message("a", 9), stored_message("e", 8)],
    ),
    "one deletes what the other brings": (
        2,
        THERE,
        [deletion(stored_message("d", 40))],
        [stored_message("d", 40), stored_message("e", 50)],
    ),
    "one deletes what the other moves": (4, THERE, [deletion(stored_message("b", 20), 60)], [stored_message("a", 10)]),
    "one edits what the other deletes": (2, THERE, [edit(THERE[0], "B", 50)], [deletion(THERE[0], 60)]),
    "both bring new partners": (
        2,
        [],
        [stored_message("a"), stored_message("c", sender=CAROL)],
        [stored_message("d", sender="dave.eth")],
    ),
}


@pytest.mark.parametrize("first_dies", [False, True])
@pytest.mark.parametrize("scene", SCENES)
def test_two_devices_may_stop_at_any_steps_and_lose_nothing(scene: str, first_dies: bool) -> None:
    """The first stops before any of its calls, the second before any of its own; each then goes on to its end."""
    size, there, *brought = SCENES[scene]
    written, last = [*there, *brought[0], *brought[1]], stored_message("last", 70)
    longest = [0, 0]
    for calls in product(range(40), repeat=2):
        if calls[0] > longest[0] + 1 or calls[1] > longest[1] + 1:
            continue
        home = MemoryHome()
        run(filing(size).store(by_partner(there)), home)
        devices = [Device(filing(size), {envelope.message_hash: envelope for envelope in each}) for each in brought]
        for number, device in enumerate(devices):
            longest[number] = max(longest[number], device.run(home, calls[number]))
            check_archive(home, devices, written)
        if first_dies and devices[0].steps:
            devices[0].die(home, after=False)
        for device in devices:
            device.finish(home)
            check_archive(home, devices, written)
        run(filing(size).store(by_partner([last])), home)
        check_end(home, [*written, last], keep_history=True, unlisted=first_dies)
    assert min(longest) > 4
