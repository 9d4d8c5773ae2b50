"""Where a pass may begin: never behind a row that is filed, whoever did what in between (store protocol, Head hint)."""

from collections.abc import Callable, Iterator
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.aws import Clients, Deployed, deployment
from tests.tiers import examples

from postroom.storage.aws.object_store import Place
from postroom.storage.layout import RowKey, row_key
from postroom.storage.mail import head
from postroom.storage.mail.head import LATE_MS, SETTLED_MS, Heads, Position
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

    def listed(self, now: int = NOW, conversation: str = "") -> list[RowKey]:
        walk = self.reader.walk("a.com", 1, now=now, conversations=frozenset(conversation.split()))
        return [row.key for row in walk if not isinstance(row, PassedOver)]


@pytest.fixture
def mailbox(deployed: Deployed) -> Mailbox:
    return Mailbox(deployed)


@pytest.fixture
def worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few tombstones are worth a head."""
    monkeypatch.setattr("postroom.storage.mail.reader.WORTH_RAISING", 3)


def at(ago: int) -> str:
    return f"m#{(NOW - ago) * 1000:013d}"


def test_a_pass_over_many_tombstones_raises_the_head_past_them(mailbox: Mailbox, worth_it: None) -> None:
    for number in range(5):
        mailbox.bury(9000 - number, number)
    live = mailbox.file(4000, 9)
    assert mailbox.listed() == [live]
    assert mailbox.heads.read(PK) == Position(live.sk, 0)
    assert scanned(mailbox) == 1


def test_a_pass_that_is_ended_before_its_first_message_leaves_less_for_the_next_one(
    mailbox: Mailbox, worth_it: None
) -> None:
    for number in range(9):
        mailbox.bury(9000 - number, number)
    live = mailbox.file(4000, 9)
    walk = mailbox.reader.walk("a.com", 1, now=NOW, wanted=1)
    assert [next(walk), next(walk)] == [PassedOver(mailbox.key(9000 - last, last).sk) for last in (0, 4)]
    assert mailbox.heads.read(PK) == Position(mailbox.key(9000 - 4, 4).sk, 0)
    assert mailbox.listed() == [live]
    assert mailbox.heads.read(PK) == Position(live.sk, 0)


@pytest.mark.usefixtures("worth_it")
def test_a_pass_raises_the_head_no_further_once_a_late_message_was_filed(mailbox: Mailbox) -> None:
    for number in range(9):
        mailbox.bury(9000 - number, number)
    walk = mailbox.reader.walk("a.com", 1, now=NOW, wanted=1)
    next(walk), next(walk)
    raised = mailbox.heads.read(PK).sk
    late = mailbox.file(8999, 99)
    mailbox.heads.lower_to(late)
    assert [row for row in walk if not isinstance(row, PassedOver)] == []
    assert mailbox.heads.read(PK) == Position(late.sk, 1)
    assert late.sk < raised
    assert mailbox.listed() == [late]


def test_a_head_is_at_least_four_minutes_old(mailbox: Mailbox, worth_it: None) -> None:
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
    assert mailbox.heads.read(PK) == Position("m#", 0)
    for number in range(2, 6):
        mailbox.bury(9000, number)
    mailbox.listed(conversation="d.com")
    assert mailbox.heads.read(PK) == Position("m#", 0)


@pytest.mark.usefixtures("worth_it")
def test_a_pass_from_a_cursor_neither_begins_at_the_head_nor_raises_it(mailbox: Mailbox) -> None:
    keys = [mailbox.file(9000 - number, number) for number in range(8)]
    for key in keys[1:6]:
        mailbox.register.acknowledge(key, NOW + 10**6)
    rows = mailbox.reader.list("a.com", 1, now=NOW, cursor=keys[0].sk)
    assert [row.key for row in rows] == keys[6:]
    assert mailbox.heads.read(PK) == Position("m#", 0)


def test_a_message_filed_late_lowers_the_head(mailbox: Mailbox) -> None:
    mailbox.heads.raise_to(PK, Position("m#", 0), None, NOW * 1000)
    late = mailbox.file(9000)
    assert mailbox.listed() == [], "its claim is still in the queue"
    mailbox.heads.lower_to(late)
    assert mailbox.listed() == [late]
    assert mailbox.heads.read(PK) == Position(late.sk, 1)


def test_a_pass_that_began_before_a_late_message_was_filed_does_not_raise_the_head(mailbox: Mailbox) -> None:
    for before in ("m#", at(8000)):
        found = mailbox.heads.read(PK)
        late = mailbox.key(9000 if before == "m#" else 7000)
        mailbox.heads.lower_to(late)
        mailbox.heads.raise_to(PK, found, None, NOW * 1000)
        assert mailbox.heads.read(PK).sk <= late.sk
        mailbox.heads.raise_to(PK, mailbox.heads.read(PK), at(8000), NOW * 1000)


def test_a_pass_never_lowers_the_head(mailbox: Mailbox) -> None:
    mailbox.heads.raise_to(PK, Position("m#", 0), at(4000), NOW * 1000)
    mailbox.heads.raise_to(PK, Position("m#", 0), at(5000), NOW * 1000)
    assert mailbox.heads.read(PK) == Position(at(4000), 0)


def test_a_message_that_is_not_late_is_never_before_a_head() -> None:
    assert LATE_MS + 3 * 60 * 1000 <= SETTLED_MS, "the clocks of a worker and of a reader may differ by so much"


@pytest.mark.usefixtures("worth_it")
def test_a_listing_of_another_than_a_function_raises_no_head(mailbox: Mailbox) -> None:
    """An operator's computer may have any time."""
    for number in range(5):
        mailbox.bury(9000 - number, number)
    assert list(mailbox.reader.list("a.com", 1, now=NOW + 10**6)) == []
    assert mailbox.heads.read(PK) == Position("m#", 0)


@pytest.mark.usefixtures("worth_it")
def test_a_head_that_another_has_changed_is_not_raised_again_in_the_same_pass(mailbox: Mailbox) -> None:
    for number in range(30):
        mailbox.bury(9000 - number, number)
    walk = mailbox.reader.walk("a.com", 1, now=NOW, wanted=1)
    next(walk)
    mailbox.heads.lower_to(mailbox.key(9500))
    writes: list[object] = []
    events = mailbox.deployed.clients.dynamodb.meta.events
    events.register("before-call.dynamodb.UpdateItem", lambda **_: writes.append(1))
    assert [row for row in walk if not isinstance(row, PassedOver)] == []
    assert len(writes) == 1
    assert mailbox.heads.read(PK) == Position("m#", 1)


# --- any order of two readers' and two workers' calls -----------------------------------------------------------------

Step = Callable[[], None]


def reader(mailbox: Mailbox) -> Iterator[Step]:
    """A pass, call by call: head, query, raise."""
    state: dict[str, object] = {}

    def look() -> None:
        state["head"] = mailbox.heads.read(PK)

    def query() -> None:
        found = state["head"]
        assert isinstance(found, Position)
        rows = [row.key.sk for row in mailbox.reader.list("a.com", 1, now=NOW, cursor=found.sk[:-1] + " ")]
        state["first"] = rows[0] if rows else None

    def lift() -> None:
        mailbox.heads.raise_to(PK, state["head"], state["first"], NOW * 1000)  # type: ignore[arg-type]

    yield from (look, query, lift)


def worker(mailbox: Mailbox, key: RowKey, done: list[RowKey]) -> Iterator[Step]:
    """A late filing, call by call: row, head, and only then is the claim done."""
    yield lambda: mailbox.register.file(key, Place("seg/x", 0, 1), "b.com") and None
    yield lambda: mailbox.heads.lower_to(key)
    yield lambda: done.append(key)


@settings(max_examples=examples(60))
@given(data=st.data())
def test_no_claim_that_left_the_queue_is_before_the_head(clients: Clients, data: st.DataObject) -> None:
    with deployment(clients) as deployed:
        mailbox, done = Mailbox(deployed), list[RowKey]()
        actors = [
            list(reader(mailbox)), list(reader(mailbox)),
            list(worker(mailbox, mailbox.key(9000, 1), done)), list(worker(mailbox, mailbox.key(7000, 2), done)),
        ]  # fmt: skip
        while going := [number for number, steps in enumerate(actors) if steps]:
            actors[data.draw(st.sampled_from(going))].pop(0)()
            low = mailbox.heads.read(PK).sk
            assert all(low <= key.sk for key in done)


def test_a_head_that_is_raised_without_looking_at_the_generation_would_be_noticed(
    clients: Clients, monkeypatch: pytest.MonkeyPatch
) -> None:
    blind = Heads.raise_to

    def raise_blindly(self: Heads, pk: str, found: Position, first_live: str | None, begun_ms: int) -> None:
        blind(self, pk, Position(found.sk, self.read(pk).generation), first_live, begun_ms)

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
            assert all(mailbox.heads.read(PK).sk <= key.sk for key in done)


def test_every_order_of_one_reader_and_one_worker_is_good(clients: Clients) -> None:
    _all_orders_of_one_reader_and_one_worker(clients)


def scanned(mailbox: Mailbox) -> int:
    """How many rows a look into the mailbox reads now."""
    counts = []
    original = mailbox.deployed.clients.dynamodb.query

    def counted(**request: object) -> object:
        page = original(**request)  # type: ignore[arg-type]
        counts.append(page["ScannedCount"])
        return page

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mailbox.deployed.clients.dynamodb, "query", counted)
        mailbox.listed()
    return sum(counts)
