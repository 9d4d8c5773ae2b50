"""expire_messages, without Spark: what had its time goes once, whoever else is at work, and wherever a run dies."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import RLock
from typing import Any

import pytest
from tests.aws import Clients, Deployed, deployment, gate_calls, holding, new_clients
from tests.jobs.dying import deaths_of
from tests.jobs.played import FOR_EVER, Played

from postroom.jobs import registers as jobs_registers
from postroom.jobs.expiring import Went
from postroom.jobs.holds import held_mailboxes
from postroom.jobs.pace import Pace
from postroom.jobs.patience import Patience
from postroom.jobs.scanning import Table
from postroom.jobs.tally import Counts, Tally
from postroom.storage.directory.domains import Dm3Mailbox
from postroom.storage.keys import RowKey, row_key
from postroom.storage.mail.expiry import FLOOR_DAYS, Periods
from postroom.storage.mail.head import Heads, Position
from postroom.storage.mail.register import CLOSED, LIVE, OVER
from postroom.storage.mail.rounds import DAY_MS
from postroom.storage.mail.segments import Place

NOW = 1_795_253_400_000
RETAIN = 22 * 24 * 3600
SIZE = 10
SHOP, BOB = "shop.com", "bob.eth"


class House:
    """A store with mail in it; `clients`: what a run goes by."""

    def __init__(self, deployed: Deployed, clients: Clients | None = None) -> None:
        self.deployed = deployed
        self.clients = clients or deployed.clients
        self.register = deployed.storage.register
        self.mailboxes = deployed.storage.mailboxes
        self.usages = deployed.storage.usages
        self._filed = 0

    def by(self, clients: Clients) -> "House":
        """The same, seen by a run of other clients."""
        return House(self.deployed, clients)

    def file(self, mailbox: str, *days_ago: float, shards: int = 1) -> list[RowKey]:
        """Messages that were received so many days before now; counted."""
        keys = []
        for days in days_ago:
            self._filed += 1
            keys.append(row_key(mailbox, shards, round(NOW - days * DAY_MS), f"{self._filed:032x}"))
            self.register.file(keys[-1], Place("seg/one", SIZE * self._filed, SIZE), "c")
        self.usages.add(mailbox, len(days_ago), SIZE * len(days_ago))
        return keys

    def acknowledge(self, key: RowKey) -> None:
        """As the counter does it."""
        if size := self.register.acknowledge(key, NOW // 1000 + RETAIN):
            self.usages.add(key.mailbox, -1, -size)

    def set_row(self, pk: str, **attributes: Any) -> None:
        row = {"pk": {"S": pk}, "sk": {"S": "!"}, **attributes}
        self.deployed.clients.dynamodb.put_item(TableName=self.deployed.tables["DirectoryTable"], Item=row)

    def candidates(self, periods: Periods = FOR_EVER, segments: int = 1) -> list[str]:
        found = Played(self.deployed, RETAIN).candidates(self.clients)
        return sorted(name for segment in range(segments) for name in found.names(segment, segments))

    def expire(
        self, periods: Periods = FOR_EVER, *, dry_run: bool = False, names: Iterable[str] | None = None
    ) -> Counts:
        return self.run(periods, dry_run=dry_run, names=names)[1]

    def run(
        self, periods: Periods = FOR_EVER, *, dry_run: bool = False, names: Iterable[str] | None = None
    ) -> tuple[list[Went], Counts]:
        """One run: what it says that went, and what it counted."""
        tally = Tally()
        with ThreadPoolExecutor(2) as pool:
            job = Played(self.deployed, RETAIN, pool=pool)
            expirer = job.expirer(tally, NOW, self.clients, periods=periods, dry_run=dry_run)
            went = list(expirer.expire(self.candidates(periods) if names is None else names))
        return went, tally.take()

    def gone(self) -> dict[str, str]:
        """The rows that are gone, and why."""
        rows = self.deployed.rows("PostTable")
        return {row["sk"]["S"]: row["why"]["S"] for row in rows if "st" in row and row["st"]["S"] != LIVE}

    def waiting(self, mailbox: str) -> int:
        rows = self.deployed.rows("PostTable")
        return sum(row["pk"]["S"].startswith(f"{mailbox}#") and row.get("st") == {"S": LIVE} for row in rows)

    def check_usage(self, mailbox: str) -> None:
        usage, waiting = self.usages.read(mailbox), self.waiting(mailbox)
        assert (usage.messages, usage.bytes) == (waiting, SIZE * waiting)


@pytest.fixture
def house(deployed: Deployed) -> House:
    return House(deployed)


def sks(keys: Iterable[RowKey]) -> set[str]:
    return {key.sk for key in keys}


# --- what goes, and what stays --------------------------------------------------------------------------------------


def test_what_had_its_time_is_gone_and_says_so(house: House) -> None:
    house.mailboxes.set_ttl(SHOP, 40)
    [old] = house.file(SHOP, 41)
    house.file(SHOP, 39)
    went, counts = house.run()
    assert [str(each) for each in went] == [f"{SHOP}: 1 messages expired, {SIZE} bytes"]
    assert (counts["expired.expired"], counts["bytes.expired"]) == (1, SIZE)
    assert house.deployed.item("PostTable", pk=old.pk, sk=old.sk) == {
        "pk": {"S": old.pk}, "sk": {"S": old.sk}, "st": {"S": "G"}, "why": {"S": "expired"},
        "ttl": {"N": str(NOW // 1000 + RETAIN)},
    }  # fmt: skip
    assert house.gone() == {old.sk: OVER}
    house.check_usage(SHOP)


def test_what_has_no_time_stays(house: House) -> None:
    for name in ("no.row", "without.end", "letters.eth", "wanted.eth"):
        house.file(name, 4000)
    house.mailboxes.set_ttl("without.end", 0)
    house.mailboxes.set_keys("wanted.eth", ["key"])
    house.deployed.storage.operators.put_dm3_mailbox(Dm3Mailbox("letters.eth"))
    went, _ = house.run()
    assert (went, house.gone()) == ([], {})


def test_a_letter_goes_when_its_sender_was_told_and_not_before_whatever_is_set(house: House) -> None:
    house.file(BOB, 91, 89, 50)
    house.set_row(f"dm3#{BOB}", extension={"S": "{}"})
    house.mailboxes.set_ttl(BOB, 40)
    house.expire(Periods(0, FLOOR_DAYS))
    assert house.gone() == {}
    house.expire(Periods(90, FLOOR_DAYS))
    assert (house.waiting(BOB), set(house.gone().values())) == (2, {OVER})
    house.check_usage(BOB)


def test_a_mailbox_that_was_taken_out_of_the_delivery_service_keeps_what_its_senders_were_told(house: House) -> None:
    house.file(BOB, 91, 50)
    house.set_row(f"dm3#{BOB}", removed={"BOOL": True})
    house.expire(Periods(0, FLOOR_DAYS))
    assert house.gone() == {}
    house.mailboxes.close(BOB, (NOW - 400 * DAY_MS) // 1000)
    house.expire(Periods(90, FLOOR_DAYS))
    assert house.waiting(BOB) == 1


def test_of_a_mailbox_that_was_closed_long_ago_all_goes_but_the_last_30_days(house: House) -> None:
    house.mailboxes.close(SHOP, (NOW - 61 * DAY_MS) // 1000)
    house.mailboxes.close("lately.com", (NOW - 59 * DAY_MS) // 1000)
    old = house.file(SHOP, 400, 31)
    house.file(SHOP, 29)
    house.file("lately.com", 400)
    went, counts = house.run(Periods(0, 60))
    assert [str(each) for each in went] == [f"{SHOP}: 2 messages closed, {2 * SIZE} bytes"]
    assert house.gone() == dict.fromkeys(sks(old), CLOSED)
    assert counts["expired.closed"] == 2
    house.check_usage(SHOP)


def test_of_a_mailbox_that_was_closed_nobody_knows_when_nothing_goes_and_it_is_counted(house: House) -> None:
    house.file(SHOP, 400)
    house.set_row(f"mailbox#{SHOP}", closed={"BOOL": True})
    counts = house.expire()
    assert house.gone() == {}
    assert counts["mailboxes.closed at an unknown time"] == 1


def test_a_mailbox_whose_row_cannot_be_read_stops_nobody(house: House) -> None:
    house.file("broken.com", 400)
    house.set_row("mailbox#broken.com", ttl_days={"S": "some"})
    house.mailboxes.set_ttl(SHOP, 40)
    house.file(SHOP, 41)
    counts = house.expire()
    assert (counts["mailboxes.unreadable"], counts["expired.expired"], house.waiting("broken.com")) == (1, 1, 1)


def test_of_a_mailbox_under_legal_hold_nothing_goes_until_it_is_released(house: House) -> None:
    house.mailboxes.set_ttl(SHOP, 40)
    house.mailboxes.close(SHOP, 1)
    house.file(SHOP, 400)
    house.mailboxes.hold(SHOP)
    counts = house.expire()
    assert (house.gone(), counts["mailboxes.held"]) == ({}, 1)
    house.mailboxes.release(SHOP)
    house.expire()
    assert house.waiting(SHOP) == 0


def test_mailboxes_are_listed_as_long_as_they_are_held(house: House) -> None:
    for name in (SHOP, "a.com", BOB):
        house.mailboxes.set_ttl(name, 40)
    house.mailboxes.hold(BOB)
    house.mailboxes.hold("a.com")
    table = Table(house.clients.dynamodb, house.deployed.tables["DirectoryTable"], Patience("read", Pace(1e9), Tally()))
    assert held_mailboxes(table) == {BOB, "a.com"}
    house.mailboxes.release(BOB)
    assert held_mailboxes(table) == {"a.com"}
    assert not house.mailboxes.find(BOB).held


def test_each_mailbox_that_may_have_something_is_found_once_in_whatever_parts_the_directory_is_read(
    house: House,
) -> None:
    operators = house.deployed.storage.operators
    for number in range(20):
        house.mailboxes.set_ttl(f"{number}.eth", 40)
        operators.put_dm3_mailbox(Dm3Mailbox(f"{number}.eth"))
        house.mailboxes.set_ttl(f"{number}.com", 40)
        house.mailboxes.set_keys(f"{number}.net", ["key"])
    expected = sorted(f"{number}.{end}" for number in range(20) for end in ("eth", "com"))
    for segments in (1, 4):
        assert house.candidates(segments=segments) == expected


def test_all_shards_and_all_pages_are_gone_through_from_the_head_on(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs_registers, "_PAGE_ROWS", 3)
    house.mailboxes.set_ttl(SHOP, 40)
    house.mailboxes.raise_shards(SHOP, 3)
    before, *old = house.file(SHOP, *(100 - number for number in range(30)), shards=3)
    house.file(SHOP, *(number for number in range(30)), shards=3)
    heads = Heads(house.clients.dynamodb, house.deployed.tables["PostTable"])
    heads.raise_to(before.pk, Position("", 0), before.sk + "!", NOW)
    house.expire()
    # The head says that there are tombstones only before it: nobody looks there.
    assert house.gone() == dict.fromkeys(sks(old), OVER)
    house.check_usage(SHOP)


def test_a_mailbox_whose_head_is_beyond_what_may_go_is_left_alone(house: House) -> None:
    house.mailboxes.set_ttl(SHOP, 40)
    [young] = house.file(SHOP, 5)
    Heads(house.clients.dynamodb, house.deployed.tables["PostTable"]).raise_to(young.pk, Position("", 0), young.sk, NOW)
    assert house.run()[0] == []


def test_a_mailbox_without_a_quota_is_not_counted(house: House) -> None:
    house.mailboxes.set_ttl(SHOP, 40)
    key = row_key(SHOP, 1, NOW - 41 * DAY_MS, "f" * 32)
    house.register.file(key, Place("seg/one", 0, SIZE), "c")
    house.expire()
    assert house.gone() == {key.sk: OVER}
    assert house.deployed.rows("LimitsTable") == []


def test_a_dry_run_says_what_would_go_and_changes_nothing_at_all(house: House) -> None:
    house.mailboxes.set_ttl(SHOP, 40)
    house.mailboxes.close("closed.com", 1)
    house.file(SHOP, 41, 42, 39)
    house.file("closed.com", 31)
    before = house.deployed.dump()
    would, would_count = house.run(dry_run=True)
    assert house.deployed.dump() == before
    went, counted = house.run()
    assert (would, would_count["bytes.expired"]) == (went, counted["bytes.expired"])
    assert {each.where: each.count for each in went} == {SHOP: 2, "closed.com": 1}


# --- others at work -------------------------------------------------------------------------------------------------


def meanwhile(house: House, operation: str, do: Callable[[], object]) -> House:
    """A house whose run does something else just before its first call of this kind."""
    clients, done = new_clients(), []
    lock = RLock()

    @contextmanager
    def gate(called: str) -> Iterator[None]:
        with lock:
            if called == operation and not done:
                done.append(called)
                do()
            yield

    gate_calls(clients, gate)
    return house.by(clients)


def test_what_is_acknowledged_meanwhile_is_acknowledged_and_counted_once(house: House) -> None:
    house.mailboxes.set_ttl(SHOP, 40)
    first, second = house.file(SHOP, 41, 42)
    counts = meanwhile(house, "UpdateItem", lambda: house.acknowledge(second)).expire()
    assert house.gone() == {first.sk: OVER, second.sk: "acked"}
    assert counts["expired.expired"] == 1
    house.check_usage(SHOP)


def test_what_two_runs_let_go_at_once_is_counted_once(house: House) -> None:
    house.mailboxes.set_ttl(SHOP, 40)
    house.file(SHOP, *range(41, 61))
    other: list[int] = []
    first = meanwhile(house, "UpdateItem", lambda: other.append(house.expire()["expired.expired"])).expire()
    assert (first["expired.expired"], other) == (0, [20])
    assert house.waiting(SHOP) == 0
    house.check_usage(SHOP)


def test_a_hold_that_is_set_while_a_run_is_under_way_holds_for_all_that_is_still_there(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs_registers, "_PAGE_ROWS", 4)
    house.mailboxes.set_ttl(SHOP, 40)
    house.file(SHOP, *range(41, 51))
    counts = meanwhile(house, "UpdateItem", lambda: house.mailboxes.hold(SHOP)).expire()
    assert (counts["expired.expired"], house.waiting(SHOP)) == (4, 6)
    house.check_usage(SHOP)


# --- wherever a run dies --------------------------------------------------------------------------------------------


def mailed(deployed: Deployed) -> House:
    house = House(deployed)
    house.mailboxes.set_ttl(SHOP, 40)
    house.mailboxes.close("closed.com", 1)
    house.file(SHOP, 45, 44, 43, 42, 41, 20)
    house.file("closed.com", 400, 10)
    return house


def ends(house: House) -> list[Any]:
    return [row.get("why", row.get("st")) for row in house.deployed.rows("PostTable")]


def test_wherever_a_run_dies_the_next_one_ends_what_it_began(clients: Clients, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs_registers, "_PAGE_ROWS", 2)
    victim = new_clients()
    with deployment(clients) as deployed:
        house = mailed(deployed)
        deaths = deaths_of(victim, house.by(victim).expire)
        expected = ends(house)
    assert set(deaths.calls) == {"GetItem", "Query", "Scan", "UpdateItem"}
    for death in deaths.different:
        with holding(death.state):
            # What the dead run let go and did not come to count: of one page at most.
            owed = house.usages.read(SHOP).messages - house.waiting(SHOP)
            assert 0 <= owed <= 2, death.after
            house.expire()
            assert ends(house) == expected, death.after
            assert house.usages.read(SHOP).messages - house.waiting(SHOP) == owed
