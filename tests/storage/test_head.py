"""Where a pass may begin: never behind a row that is filed, whoever did what in between (store protocol, Head hint)."""

from collections.abc import Callable, Iterator
from itertools import combinations, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.aws import Clients, Deployed, deployment
from tests.tiers import examples

from postroom.storage.aws.attributes import Value
from postroom.storage.aws.object_store import Place
from postroom.storage.layout import RowKey, arrival_of, row_key
from postroom.storage.mail import head
from postroom.storage.mail.head import BEYOND_ALL, LATE_MS, MOST_GAPS, SETTLED_MS, Gap, Head, Heads
from postroom.storage.mail.reader import PassedOver

NOW = 1_795_253_400
PK = "a.com#0"


class Mailbox:
    """One partition; `ago`: seconds before NOW."""

    def __init__(self, deployed: Deployed) -> None:
        self.deployed, storage = deployed, deployed.storage
        self.heads, self.register, self.reader = storage.heads, storage.register, storage.reader

    def key(self, ago: int, number: int = 0) -> RowKey:
        return row_key("a.com", 1, (NOW - ago) * 1000, f"c{number}")

    def file(self, ago: int, number: int = 0) -> RowKey:
        key = self.key(ago, number)
        assert self.register.file(key, Place("seg/x", 0, 1), "b.com") is None
        return key

    def bury(self, ago: int, number: int) -> None:
        self.register.acknowledge(self.file(ago, number), NOW + 10**6)

    def bury_all(self, ago: int, numbers: range) -> None:
        for number in numbers:
            self.bury(ago - number, number)

    def change_head(self, change: str, value: Value) -> None:
        """As a process of another release."""
        self.deployed.clients.dynamodb.update_item(
            TableName=self.deployed.tables["PostTable"], Key={"pk": {"S": PK}, "sk": {"S": "!head"}},
            UpdateExpression=change, ExpressionAttributeValues={":value": value},
        )  # fmt: skip

    def listed(self, now: int = NOW, conversation: str = "", cursor: str = "", wanted: int = 999) -> list[RowKey]:
        of = frozenset(conversation.split())
        walk = self.reader.walk("a.com", 1, now=now, cursor=cursor, conversations=of, wanted=wanted)
        return [row.key for row in walk if not isinstance(row, PassedOver)]


@pytest.fixture
def mailbox(deployed: Deployed) -> Mailbox:
    return Mailbox(deployed)


@pytest.fixture
def worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few tombstones are worth a head."""
    monkeypatch.setattr(head, "WORTH_LEARNING", 3)


def overtake(monkeypatch: pytest.MonkeyPatch, by: Callable[[Head], object]) -> None:
    """Whoever reads a head next is overtaken, before they write it."""
    read = Heads.read

    def overtaken(self: Heads, pk: str) -> Head:
        found = read(self, pk)
        monkeypatch.undo()
        by(found)
        return found

    monkeypatch.setattr(Heads, "read", overtaken)


def at(ago: int) -> str:
    return f"m#{(NOW - ago) * 1000:013d}"


def test_a_pass_over_many_tombstones_raises_the_head_past_them(mailbox: Mailbox, worth_it: None) -> None:
    for number in range(5):
        mailbox.bury(9000 - number, number)
    live = mailbox.file(4000, 9)
    assert mailbox.listed() == [live]
    assert mailbox.heads.read(PK) == Head(live.sk, 0)
    assert scanned(mailbox) == 1


def test_a_pass_that_is_ended_before_its_first_message_leaves_less_for_the_next_one(
    mailbox: Mailbox, worth_it: None
) -> None:
    for number in range(9):
        mailbox.bury(9000 - number, number)
    live = mailbox.file(4000, 9)
    walk = mailbox.reader.walk("a.com", 1, now=NOW, wanted=1)
    assert [next(walk), next(walk)] == [PassedOver(mailbox.key(9000 - last, last).sk) for last in (0, 4)]
    assert mailbox.heads.read(PK) == Head(mailbox.key(9000 - 4, 4).sk, 0)
    assert mailbox.listed() == [live]
    assert mailbox.heads.read(PK) == Head(live.sk, 0)


@pytest.mark.usefixtures("worth_it")
def test_a_pass_raises_the_head_no_further_once_a_late_message_was_filed(mailbox: Mailbox) -> None:
    for number in range(9):
        mailbox.bury(9000 - number, number)
    walk = mailbox.reader.walk("a.com", 1, now=NOW, wanted=1)
    next(walk), next(walk)
    raised = mailbox.heads.read(PK).sk
    late = mailbox.file(8999, 99)
    mailbox.heads.include(late)
    assert [row for row in walk if not isinstance(row, PassedOver)] == []
    assert mailbox.heads.read(PK) == Head(late.sk, 1)
    assert late.sk < raised
    assert mailbox.listed() == [late]


def test_a_head_is_as_old_as_a_message_that_is_not_late_may_be(mailbox: Mailbox, worth_it: None) -> None:
    for number in range(5):
        mailbox.bury(9000 - number, number)
    assert mailbox.listed() == []
    assert mailbox.heads.read(PK).sk == at(SETTLED_MS // 1000)


@pytest.mark.usefixtures("worth_it")
def test_few_tombstones_and_passes_over_one_conversation_raise_no_head(
    mailbox: Mailbox,
) -> None:
    mailbox.bury(9000, 1)
    mailbox.listed()
    assert mailbox.heads.read(PK) == Head("m#", 0)
    for number in range(2, 6):
        mailbox.bury(9000, number)
    mailbox.listed(conversation="d.com")
    assert mailbox.heads.read(PK) == Head("m#", 0)


def test_a_pass_from_a_cursor_before_the_head_begins_at_the_head(mailbox: Mailbox, worth_it: None) -> None:
    keys = [mailbox.file(9000 - number, number) for number in range(8)]
    for key in keys[:6]:
        mailbox.register.acknowledge(key, NOW + 10**6)
    mailbox.listed()
    assert mailbox.listed(cursor=keys[0].sk) == keys[6:]
    assert scanned(mailbox, cursor=keys[0].sk) == len(keys[6:])


def test_a_message_filed_late_lowers_the_head(mailbox: Mailbox) -> None:
    mailbox.heads.raise_to(PK, Head("m#", 0), BEYOND_ALL, NOW * 1000)
    late = mailbox.file(9000)
    assert mailbox.listed() == [], "its claim is still in the queue"
    mailbox.heads.include(late)
    assert mailbox.listed() == [late]
    assert mailbox.heads.read(PK) == Head(late.sk, 1)


def test_a_pass_that_began_before_a_late_message_was_filed_does_not_raise_the_head(mailbox: Mailbox) -> None:
    for before in ("m#", at(8000)):
        found = mailbox.heads.read(PK)
        late = mailbox.key(9000 if before == "m#" else 7000)
        mailbox.heads.include(late)
        mailbox.heads.raise_to(PK, found, BEYOND_ALL, NOW * 1000)
        assert mailbox.heads.read(PK).sk <= late.sk
        mailbox.heads.raise_to(PK, mailbox.heads.read(PK), at(8000), NOW * 1000)


def test_a_pass_never_lowers_the_head(mailbox: Mailbox) -> None:
    mailbox.heads.raise_to(PK, Head("m#", 0), at(4000), NOW * 1000)
    mailbox.heads.raise_to(PK, Head("m#", 0), at(5000), NOW * 1000)
    assert mailbox.heads.read(PK) == Head(at(4000), 0)


def test_a_message_that_is_not_late_is_never_before_a_head() -> None:
    assert LATE_MS + 60 * 1000 <= SETTLED_MS, "the clocks of a worker and of a reader may differ by so much"


@pytest.mark.usefixtures("worth_it")
def test_a_listing_of_another_than_a_function_raises_no_head(mailbox: Mailbox) -> None:
    """An operator's computer may have any time."""
    for number in range(5):
        mailbox.bury(9000 - number, number)
    assert list(mailbox.reader.list("a.com", 1, now=NOW + 10**6)) == []
    assert mailbox.heads.read(PK) == Head("m#", 0)


@pytest.mark.usefixtures("worth_it")
def test_a_head_that_another_has_changed_is_not_raised_again_in_the_same_pass(mailbox: Mailbox) -> None:
    for number in range(30):
        mailbox.bury(9000 - number, number)
    walk = mailbox.reader.walk("a.com", 1, now=NOW, wanted=1)
    next(walk)
    mailbox.heads.include(mailbox.key(9500))
    writes: list[object] = []
    events = mailbox.deployed.clients.dynamodb.meta.events
    events.register("before-call.dynamodb.UpdateItem", lambda **_: writes.append(1))
    assert [row for row in walk if not isinstance(row, PassedOver)] == []
    assert len(writes) == 1
    assert mailbox.heads.read(PK) == Head("m#", 1)


# --- behind a message that stays --------------------------------------------------------------------------------------


@pytest.fixture
def kept(mailbox: Mailbox, worth_it: None) -> list[RowKey]:
    """Two messages that stay, with many tombstones between them, which a pass has passed over."""
    first = mailbox.file(9500, 100)
    mailbox.bury_all(9000, range(40))
    second = mailbox.file(4000, 101)
    for _ in range(2):
        assert mailbox.listed() == [first, second]
    assert scanned(mailbox) < 10
    return [first, second]


def test_a_pass_does_not_read_again_what_an_earlier_one_passed_over_behind_a_message_that_stays(
    mailbox: Mailbox, kept: list[RowKey]
) -> None:
    assert mailbox.listed() == kept
    assert mailbox.listed(wanted=100) == kept
    assert mailbox.listed(conversation="b.com") == kept


def test_a_page_does_not_read_again_what_an_earlier_one_passed_over_behind_its_cursor(
    mailbox: Mailbox, kept: list[RowKey]
) -> None:
    assert mailbox.listed(cursor=kept[0].sk) == kept[1:]
    assert scanned(mailbox, cursor=kept[0].sk) < 10


def test_pages_that_end_among_tombstones_learn_what_they_passed_over(mailbox: Mailbox, worth_it: None) -> None:
    first = mailbox.file(9500, 100)
    mailbox.bury_all(9000, range(40))
    mailbox.listed(cursor=mailbox.key(9000 - 20, 20).sk)
    walk = mailbox.reader.walk("a.com", 1, now=NOW, wanted=1)
    assert next(walk) == mailbox.register.find(first)
    assert [next(walk), next(walk)] == [PassedOver(mailbox.key(9000 - last, last).sk) for last in (3, 19)]
    assert mailbox.listed(wanted=1) == [first]
    assert scanned(mailbox) < 30


@pytest.mark.usefixtures("kept")
def test_a_message_that_is_filed_late_among_what_was_passed_over_is_shown(mailbox: Mailbox) -> None:
    before = mailbox.heads.read(PK)
    late = mailbox.file(8990, 99)
    assert late not in mailbox.listed(), "its claim is still in the queue"
    mailbox.heads.include(late)
    assert late in mailbox.listed()
    after = mailbox.heads.read(PK)
    assert after.generation == before.generation + 1
    assert len(after.gaps) == len(before.gaps) + 1
    assert scanned(mailbox) < 15, "the rest is still passed over"


@pytest.mark.usefixtures("kept")
def test_what_was_passed_over_is_read_again_if_two_workers_file_late_at_once(
    mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    late, other = mailbox.file(8990, 99), mailbox.file(8980, 98)
    overtake(monkeypatch, lambda _: mailbox.heads.include(other))
    mailbox.heads.include(late)
    assert mailbox.heads.read(PK).gaps == ()
    assert {late, other} <= set(mailbox.listed())


def test_a_worker_that_knows_no_gaps_ends_them(mailbox: Mailbox, kept: list[RowKey]) -> None:
    """One of the previous release, while an upgrade goes on."""
    late = mailbox.file(8990, 99)
    mailbox.change_head("ADD gen :value", {"N": "1"})
    assert mailbox.listed() == [kept[0], late, kept[1]]


@pytest.mark.usefixtures("kept")
def test_a_pass_that_began_before_a_late_message_was_filed_learns_nothing(mailbox: Mailbox) -> None:
    found = mailbox.heads.read(PK)
    mailbox.heads.include(mailbox.file(8990, 99))
    mailbox.heads.leave_out(PK, found, Gap((NOW - 9499) * 1000, (NOW - 4000) * 1000, 40), NOW * 1000)
    assert mailbox.heads.read(PK).gaps != found.gaps
    assert len(mailbox.listed()) == 3


def test_what_was_passed_over_lately_is_read_again(mailbox: Mailbox, worth_it: None) -> None:
    first = mailbox.file(SETTLED_MS // 1000 + 1, 100)
    mailbox.bury_all(SETTLED_MS // 1000, range(40))
    assert mailbox.listed() == [first]
    assert scanned(mailbox) == 41
    assert mailbox.listed(NOW + 30) == [first]
    assert [gap.end for gap in mailbox.heads.read(PK).gaps] == [(NOW + 30) * 1000 - SETTLED_MS]


def test_a_gap_ends_as_long_ago_as_a_message_that_is_not_late_may_be(mailbox: Mailbox) -> None:
    now_ms = NOW * 1000
    for _ in range(2):
        mailbox.heads.leave_out(PK, mailbox.heads.read(PK), Gap(now_ms - 10**6, now_ms, 9), now_ms)
        assert [gap.end for gap in mailbox.heads.read(PK).gaps] == [now_ms - SETTLED_MS]
    mailbox.heads.leave_out(PK, mailbox.heads.read(PK), Gap(now_ms - SETTLED_MS + 1, now_ms, 9), now_ms)
    assert [gap.end for gap in mailbox.heads.read(PK).gaps] == [now_ms - SETTLED_MS]


def test_a_page_that_is_the_last_one_learns_what_is_behind_its_messages(mailbox: Mailbox, worth_it: None) -> None:
    first = mailbox.file(9500, 100)
    mailbox.bury_all(9000, range(8))
    assert mailbox.listed() == [first]
    assert scanned(mailbox) == 1


def test_pages_from_a_cursor_in_a_gap_do_not_count_its_rows_twice(mailbox: Mailbox, kept: list[RowKey]) -> None:
    cursor = mailbox.key(9000 - 10, 10).sk
    for number in range(10):
        mailbox.bury_all(3900 - 100 * number, range(1000 + 10 * number, 1010 + 10 * number))
        assert mailbox.listed(cursor=cursor) == kept[1:]
    assert sum(gap.rows for gap in mailbox.heads.read(PK).gaps) < 200


def test_gaps_without_a_message_between_them_become_one(mailbox: Mailbox, kept: list[RowKey]) -> None:
    late = [mailbox.file(9000 - number, 200 + number) for number in (10, 20, 30)]
    for key in late:
        mailbox.heads.include(key)
    assert len(mailbox.heads.read(PK).gaps) == 5
    assert mailbox.listed() == [kept[0], *late, kept[1]]
    for key in late:
        mailbox.register.acknowledge(key, NOW + 10**6)
    assert mailbox.listed() == kept
    assert len(mailbox.heads.read(PK).gaps) == 2


def test_once_only_tombstones_are_left_a_pass_begins_behind_the_gaps(mailbox: Mailbox, kept: list[RowKey]) -> None:
    mailbox.register.acknowledge(kept[0], NOW + 10**6)
    assert mailbox.listed() == kept[1:]
    assert mailbox.heads.read(PK).sk == kept[1].sk


def test_a_pass_that_learns_what_the_head_says_writes_nothing(mailbox: Mailbox) -> None:
    gap, writes = Gap((NOW - 9000) * 1000, (NOW - 8000) * 1000, 40), list[object]()
    mailbox.heads.leave_out(PK, mailbox.heads.read(PK), gap, NOW * 1000)
    events = mailbox.deployed.clients.dynamodb.meta.events
    events.register("before-call.dynamodb.UpdateItem", lambda **_: writes.append(1))
    mailbox.heads.leave_out(PK, mailbox.heads.read(PK), gap, NOW * 1000)
    assert writes == []


def test_gaps_that_a_later_release_writes_in_another_way_are_none(mailbox: Mailbox, kept: list[RowKey]) -> None:
    for number, gaps in enumerate(("1-2", "1-2-3-4", "a-b-c", "1-2-3,4-5-6"), 200):
        mailbox.change_head("SET gaps = :value", {"S": gaps})
        assert mailbox.listed() == kept
        late = mailbox.file(8990, number)
        mailbox.heads.include(late)
        assert mailbox.listed() == [kept[0], late, kept[1]]
        mailbox.register.acknowledge(late, NOW + 10**6)


def test_a_late_message_is_shown_although_the_head_was_raised_over_it_while_it_was_taken_out_of_a_gap(
    mailbox: Mailbox, kept: list[RowKey], monkeypatch: pytest.MonkeyPatch
) -> None:
    mailbox.register.acknowledge(kept[0], NOW + 10**6)
    late = mailbox.file(9400, 99)
    overtake(monkeypatch, lambda found: mailbox.heads.raise_to(PK, found, kept[1].sk, NOW * 1000))
    mailbox.heads.include(late)
    assert mailbox.listed() == [late, kept[1]]


def test_a_late_message_before_the_head_is_shown_and_the_gaps_stay(mailbox: Mailbox, kept: list[RowKey]) -> None:
    found = mailbox.heads.read(PK)
    mailbox.heads.raise_to(PK, found, kept[0].sk, NOW * 1000)
    late = mailbox.file(9600, 99)
    mailbox.heads.include(late)
    assert mailbox.listed() == [late, *kept]
    assert mailbox.heads.read(PK) == Head(late.sk, found.generation + 1, found.gaps)


def test_a_pass_over_one_conversation_leaves_nothing_out_for_others(mailbox: Mailbox, worth_it: None) -> None:
    keys = [mailbox.file(9500 - number, number) for number in range(30)]
    mailbox.listed(conversation="c.com", wanted=1)
    mailbox.listed(conversation="c.com", wanted=1, cursor=keys[0].sk)
    assert mailbox.listed() == keys


def test_once_the_message_is_acknowledged_a_pass_begins_behind_all(mailbox: Mailbox, kept: list[RowKey]) -> None:
    mailbox.register.acknowledge(kept[0], NOW + 10**6)
    assert mailbox.listed() == kept[1:]
    assert scanned(mailbox) < 10


def test_a_head_keeps_the_gaps_with_the_most_rows(mailbox: Mailbox) -> None:
    gaps = [Gap(number * 1000, number * 1000 + 500, number) for number in range(1, MOST_GAPS + 3)]
    for gap in gaps:
        mailbox.heads.leave_out(PK, mailbox.heads.read(PK), gap, NOW * 1000)
    assert mailbox.heads.read(PK).gaps == tuple(gaps[2:])
    [row] = mailbox.deployed.rows("PostTable")
    assert len(str(row)) < 1024, "it takes one write unit"


times = st.integers(0, 30)


@given(st.lists(st.tuples(times, times)), times)
def test_gaps_are_in_order_and_apart_and_leave_out_what_was_passed_over(pairs: list[tuple[int, int]], at: int) -> None:
    gaps: tuple[Gap, ...] = ()
    for pair in pairs:
        gaps = head._joined(gaps, Gap(min(pair), max(pair) + 1, 9), "m#")
    assert all(one.end < other.begin for one, other in pairwise(gaps))
    within = [any(min(pair) <= place <= max(pair) for pair in pairs) for place in range(31)]
    assert [any(gap.begin <= place < gap.end for gap in gaps) for place in range(31)] == within
    cut = [part for gap in gaps for part in gap.without(at)]
    assert [any(gap.begin <= place < gap.end for gap in cut) for place in range(31)] == [
        is_in and place != at for place, is_in in enumerate(within)
    ]
    assert head._decoded(head._encoded(gaps)) == gaps


# --- any order of two readers' and two workers' calls -----------------------------------------------------------------

Step = Callable[[], None]


def reader(mailbox: Mailbox, *, leaves_out: bool = False) -> Iterator[Step]:
    """A pass, call by call: head, query, raise."""
    state: dict[str, object] = {}

    def look() -> None:
        state["head"] = mailbox.heads.read(PK)

    def query() -> None:
        rows = [row.key.sk for row in mailbox.reader.list("a.com", 1, now=NOW)]
        state["first"] = rows[0] if rows else BEYOND_ALL

    def lift() -> None:
        head, first = state["head"], state["first"]
        assert isinstance(head, Head)
        assert isinstance(first, str)
        if leaves_out:
            end = NOW * 1000 if first == BEYOND_ALL else arrival_of(first)
            mailbox.heads.leave_out(PK, head, Gap((NOW - 9999) * 1000, end, 9), NOW * 1000)
        else:
            mailbox.heads.raise_to(PK, head, first, NOW * 1000)

    yield from (look, query, lift)


def worker(mailbox: Mailbox, key: RowKey, done: list[RowKey]) -> Iterator[Step]:
    """A late filing, call by call: row, head, and only then is the claim done."""
    yield lambda: mailbox.register.file(key, Place("seg/x", 0, 1), "b.com") and None
    yield lambda: mailbox.heads.include(key)
    yield lambda: done.append(key)


@settings(max_examples=examples(60))
@given(data=st.data())
def test_no_claim_that_left_the_queue_is_before_the_head(clients: Clients, data: st.DataObject) -> None:
    with deployment(clients) as deployed:
        mailbox, done = Mailbox(deployed), list[RowKey]()
        actors = [
            list(reader(mailbox)), list(reader(mailbox, leaves_out=True)), list(reader(mailbox, leaves_out=True)),
            list(worker(mailbox, mailbox.key(9000, 1), done)), list(worker(mailbox, mailbox.key(7000, 2), done)),
        ]  # fmt: skip
        while going := [number for number, steps in enumerate(actors) if steps]:
            actors[data.draw(st.sampled_from(going))].pop(0)()
            assert not any(map(mailbox.heads.read(PK).leaves_out, done))


def test_a_head_that_is_raised_without_looking_at_the_generation_would_be_noticed(
    clients: Clients, monkeypatch: pytest.MonkeyPatch
) -> None:
    blind = Heads.raise_to

    def raise_blindly(self: Heads, pk: str, found: Head, first_live: str | None, begun_ms: int) -> None:
        blind(self, pk, Head(found.sk, self.read(pk).generation), first_live, begun_ms)

    monkeypatch.setattr(head.Heads, "raise_to", raise_blindly)
    with pytest.raises(AssertionError):
        _all_orders_of_one_reader_and_one_worker(clients)


def _all_orders_of_one_reader_and_one_worker(clients: Clients) -> None:
    for places in combinations(range(6), 3):
        with deployment(clients) as deployed:
            mailbox, done = Mailbox(deployed), list[RowKey]()
            reads, files = list(reader(mailbox)), list(worker(mailbox, mailbox.key(9000, 1), done))
            for place in range(6):
                (reads if place in places else files).pop(0)()
            assert not any(map(mailbox.heads.read(PK).leaves_out, done))


def test_every_order_of_one_reader_and_one_worker_is_good(clients: Clients) -> None:
    _all_orders_of_one_reader_and_one_worker(clients)


def scanned(mailbox: Mailbox, cursor: str = "") -> int:
    """How many rows a look into the mailbox reads now."""
    counts = []
    original = mailbox.deployed.clients.dynamodb.query

    def counted(**request: object) -> object:
        page = original(**request)  # type: ignore[arg-type]
        counts.append(page["ScannedCount"])
        return page

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mailbox.deployed.clients.dynamodb, "query", counted)
        mailbox.listed(cursor=cursor)
    return sum(counts)
