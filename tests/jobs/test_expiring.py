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
from postroom.jobs.expiring import Deletion
from postroom.jobs.holds import held_mailboxes
from postroom.jobs.pace import Pace
from postroom.jobs.paced_requests import PacedRequests
from postroom.jobs.scanning import TableScanner
from postroom.jobs.tally import Counts, Tally
from postroom.storage.aws.object_store import Place
from postroom.storage.directory.domains import Dm3Mailbox
from postroom.storage.layout import RowKey, row_key
from postroom.storage.mail.expiry import FLOOR_DAYS, Periods
from postroom.storage.mail.head import Gap, Head, Heads
from postroom.storage.mail.object_schedule import DAY_MS
from postroom.storage.mail.register import CLOSED, LIVE, OVER

NOW = 1_795_253_400_000
RETAIN = 22 * 24 * 3600
SIZE = 10
SHOP, BOB = "shop.com", "bob.eth"


class ExpiryStack:
    """A store with mail in it; `clients`: what a run goes by."""

    def __init__(self, deployed: Deployed, clients: Clients | None = None) -> None:
        self.deployed = deployed
        self.clients = clients or deployed.clients
        self.register = deployed.storage.register
        self.mailboxes = deployed.storage.mailboxes
        self.usages = deployed.storage.usages
        self._filed = 0

    def by(self, clients: Clients) -> "ExpiryStack":
        """The same, seen by a run of other clients."""
        return ExpiryStack(self.deployed, clients)

    def file(self, mailbox: str, *days_ago: float, shards: int = 1) -> list[RowKey]:
        """File messages that were received this number of days before now, and count them."""
        keys = []
        for days in days_ago:
            self._filed += 1
            keys.append(row_key(mailbox, shards, round(NOW - days * DAY_MS), f"{self._filed:032x}"))
            self.register.file(keys[-1], Place("seg/one", SIZE * self._filed, SIZE), "c")
        self.usages.add(mailbox, len(days_ago), SIZE * len(days_ago))
        return keys

    def acknowledge(self, key: RowKey) -> None:
        """As the mailbox API does it."""
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
    ) -> tuple[list[Deletion], Counts]:
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
def stack(deployed: Deployed) -> ExpiryStack:
    return ExpiryStack(deployed)


def sks(keys: Iterable[RowKey]) -> set[str]:
    return {key.sk for key in keys}


# --- what goes, and what stays --------------------------------------------------------------------------------------


def test_an_expired_message_is_a_tombstone_with_its_reason(stack: ExpiryStack) -> None:
    stack.mailboxes.set_ttl(SHOP, 40)
    [old] = stack.file(SHOP, 41)
    stack.file(SHOP, 39)
    went, counts = stack.run()
    assert [str(each) for each in went] == [f"{SHOP}: 1 messages expired, {SIZE} bytes"]
    assert (counts["expired.expired"], counts["bytes.expired"]) == (1, SIZE)
    assert stack.deployed.item("PostTable", pk=old.pk, sk=old.sk) == {
        "pk": {"S": old.pk}, "sk": {"S": old.sk}, "st": {"S": "G"}, "why": {"S": "expired"},
        "ttl": {"N": str(NOW // 1000 + RETAIN)},
    }  # fmt: skip
    assert stack.gone() == {old.sk: OVER}
    stack.check_usage(SHOP)


def test_a_message_without_a_period_stays(stack: ExpiryStack) -> None:
    for name in ("no.row", "without.end", "letters.eth", "wanted.eth"):
        stack.file(name, 4000)
    stack.mailboxes.set_ttl("without.end", 0)
    stack.mailboxes.set_keys("wanted.eth", ["key"])
    stack.deployed.storage.operators.put_dm3_mailbox(Dm3Mailbox("letters.eth"))
    went, _ = stack.run()
    assert (went, stack.gone()) == ([], {})


def test_a_dm3_message_expires_when_its_sender_was_told_and_not_before_whatever_is_set(stack: ExpiryStack) -> None:
    stack.file(BOB, 91, 89, 50)
    stack.set_row(f"dm3#{BOB}", extension={"S": "{}"})
    stack.mailboxes.set_ttl(BOB, 40)
    stack.expire(Periods(0, FLOOR_DAYS))
    assert stack.gone() == {}
    stack.expire(Periods(90, FLOOR_DAYS))
    assert (stack.waiting(BOB), set(stack.gone().values())) == (2, {OVER})
    stack.check_usage(BOB)


def test_a_mailbox_removed_from_the_delivery_service_keeps_the_announced_period(
    stack: ExpiryStack,
) -> None:
    stack.file(BOB, 91, 50)
    stack.set_row(f"dm3#{BOB}", removed={"BOOL": True})
    stack.expire(Periods(0, FLOOR_DAYS))
    assert stack.gone() == {}
    stack.mailboxes.close(BOB, (NOW - 400 * DAY_MS) // 1000)
    stack.expire(Periods(90, FLOOR_DAYS))
    assert stack.waiting(BOB) == 1


def test_a_mailbox_closed_long_ago_keeps_the_messages_of_the_last_30_days(stack: ExpiryStack) -> None:
    stack.mailboxes.close(SHOP, (NOW - 61 * DAY_MS) // 1000)
    stack.mailboxes.close("lately.com", (NOW - 59 * DAY_MS) // 1000)
    old = stack.file(SHOP, 400, 31)
    stack.file(SHOP, 29)
    stack.file("lately.com", 400)
    went, counts = stack.run(Periods(0, 60))
    assert [str(each) for each in went] == [f"{SHOP}: 2 messages closed, {2 * SIZE} bytes"]
    assert stack.gone() == dict.fromkeys(sks(old), CLOSED)
    assert counts["expired.closed"] == 2
    stack.check_usage(SHOP)


def test_a_mailbox_closed_at_an_unknown_time_keeps_everything_and_is_counted(stack: ExpiryStack) -> None:
    stack.file(SHOP, 400)
    stack.set_row(f"mailbox#{SHOP}", closed={"BOOL": True})
    counts = stack.expire()
    assert stack.gone() == {}
    assert counts["mailboxes.closed at an unknown time"] == 1


def test_a_mailbox_whose_row_cannot_be_read_does_not_stop_the_run(stack: ExpiryStack) -> None:
    stack.file("broken.com", 400)
    stack.set_row("mailbox#broken.com", ttl_days={"S": "some"})
    stack.mailboxes.set_ttl(SHOP, 40)
    stack.file(SHOP, 41)
    counts = stack.expire()
    assert (counts["mailboxes.unreadable"], counts["expired.expired"], stack.waiting("broken.com")) == (1, 1, 1)


def test_a_mailbox_under_legal_hold_keeps_everything_until_it_is_released(stack: ExpiryStack) -> None:
    stack.mailboxes.set_ttl(SHOP, 40)
    stack.mailboxes.close(SHOP, 1)
    stack.file(SHOP, 400)
    stack.mailboxes.hold(SHOP)
    counts = stack.expire()
    assert (stack.gone(), counts["mailboxes.held"]) == ({}, 1)
    stack.mailboxes.release(SHOP)
    stack.expire()
    assert stack.waiting(SHOP) == 0


def test_mailboxes_are_listed_as_long_as_they_are_held(stack: ExpiryStack) -> None:
    for name in (SHOP, "a.com", BOB):
        stack.mailboxes.set_ttl(name, 40)
    stack.mailboxes.hold(BOB)
    stack.mailboxes.hold("a.com")
    table = TableScanner(
        stack.clients.dynamodb, stack.deployed.tables["DirectoryTable"], PacedRequests("read", Pace(1e9), Tally())
    )
    assert held_mailboxes(table) == {BOB, "a.com"}
    stack.mailboxes.release(BOB)
    assert held_mailboxes(table) == {"a.com"}
    assert not stack.mailboxes.find(BOB).held


def test_each_candidate_mailbox_is_found_once_whatever_the_number_of_segments(
    stack: ExpiryStack,
) -> None:
    operators = stack.deployed.storage.operators
    for number in range(20):
        stack.mailboxes.set_ttl(f"{number}.eth", 40)
        operators.put_dm3_mailbox(Dm3Mailbox(f"{number}.eth"))
        stack.mailboxes.set_ttl(f"{number}.com", 40)
        stack.mailboxes.set_keys(f"{number}.net", ["key"])
    expected = sorted(f"{number}.{end}" for number in range(20) for end in ("eth", "com"))
    for segments in (1, 4):
        assert stack.candidates(segments=segments) == expected


def test_all_shards_and_pages_are_read_except_for_what_the_head_says(
    stack: ExpiryStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs_registers, "_PAGE_ROWS", 3)
    stack.mailboxes.set_ttl(SHOP, 40)
    stack.mailboxes.raise_shards(SHOP, 3)
    before, *old = stack.file(SHOP, *(100 - number for number in range(30)), shards=3)
    stack.file(SHOP, *(number for number in range(30)), shards=3)
    heads = Heads(stack.clients.dynamodb, stack.deployed.tables["PostTable"])
    head = heads.raise_to(before.pk, Head("", 0), before.sk + "!", NOW)
    between = [key for key in old if key.pk == before.pk][3]
    heads.leave_out(before.pk, head, Gap(between.received_at_ms, between.received_at_ms + 1, 1), NOW)
    stack.expire()
    # The head says that there are only tombstones before it, and in a gap: nobody looks there.
    assert stack.gone() == dict.fromkeys(sks([key for key in old if key != between]), OVER)
    stack.check_usage(SHOP)


def test_a_mailbox_whose_head_is_past_the_expired_rows_is_left_alone(stack: ExpiryStack) -> None:
    stack.mailboxes.set_ttl(SHOP, 40)
    [young] = stack.file(SHOP, 5)
    Heads(stack.clients.dynamodb, stack.deployed.tables["PostTable"]).raise_to(young.pk, Head("", 0), young.sk, NOW)
    assert stack.run()[0] == []


def test_a_mailbox_without_a_quota_is_not_counted(stack: ExpiryStack) -> None:
    stack.mailboxes.set_ttl(SHOP, 40)
    key = row_key(SHOP, 1, NOW - 41 * DAY_MS, "f" * 32)
    stack.register.file(key, Place("seg/one", 0, SIZE), "c")
    stack.expire()
    assert stack.gone() == {key.sk: OVER}
    assert stack.deployed.rows("LimitsTable") == []


def test_a_dry_run_reports_what_would_expire_and_changes_nothing(stack: ExpiryStack) -> None:
    stack.mailboxes.set_ttl(SHOP, 40)
    stack.mailboxes.close("closed.com", 1)
    stack.file(SHOP, 41, 42, 39)
    stack.file("closed.com", 31)
    before = stack.deployed.dump()
    would, would_count = stack.run(dry_run=True)
    assert stack.deployed.dump() == before
    went, counted = stack.run()
    assert (would, would_count["bytes.expired"]) == (went, counted["bytes.expired"])
    assert {each.where: each.count for each in went} == {SHOP: 2, "closed.com": 1}


# --- others at work -------------------------------------------------------------------------------------------------


def meanwhile(stack: ExpiryStack, operation: str, do: Callable[[], object]) -> ExpiryStack:
    """A stack whose run does something else just before its first call of this kind."""
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
    return stack.by(clients)


def test_a_message_acknowledged_meanwhile_is_counted_once(stack: ExpiryStack) -> None:
    stack.mailboxes.set_ttl(SHOP, 40)
    first, second = stack.file(SHOP, 41, 42)
    counts = meanwhile(stack, "UpdateItem", lambda: stack.acknowledge(second)).expire()
    assert stack.gone() == {first.sk: OVER, second.sk: "acked"}
    assert counts["expired.expired"] == 1
    stack.check_usage(SHOP)


def test_a_message_that_two_runs_expire_at_once_is_counted_once(stack: ExpiryStack) -> None:
    stack.mailboxes.set_ttl(SHOP, 40)
    stack.file(SHOP, *range(41, 61))
    other: list[int] = []
    first = meanwhile(stack, "UpdateItem", lambda: other.append(stack.expire()["expired.expired"])).expire()
    assert (first["expired.expired"], other) == (0, [20])
    assert stack.waiting(SHOP) == 0
    stack.check_usage(SHOP)


def test_a_legal_hold_set_during_a_run_protects_what_is_still_there(
    stack: ExpiryStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs_registers, "_PAGE_ROWS", 4)
    stack.mailboxes.set_ttl(SHOP, 40)
    stack.file(SHOP, *range(41, 51))
    counts = meanwhile(stack, "UpdateItem", lambda: stack.mailboxes.hold(SHOP)).expire()
    assert (counts["expired.expired"], stack.waiting(SHOP)) == (4, 6)
    stack.check_usage(SHOP)


# --- wherever a run dies --------------------------------------------------------------------------------------------


def mailed(deployed: Deployed) -> ExpiryStack:
    stack = ExpiryStack(deployed)
    stack.mailboxes.set_ttl(SHOP, 40)
    stack.mailboxes.close("closed.com", 1)
    stack.file(SHOP, 45, 44, 43, 42, 41, 20)
    stack.file("closed.com", 400, 10)
    return stack


def ends(stack: ExpiryStack) -> list[Any]:
    return [row.get("why", row.get("st")) for row in stack.deployed.rows("PostTable")]


def test_the_next_run_completes_what_a_dead_run_began(clients: Clients, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs_registers, "_PAGE_ROWS", 2)
    victim = new_clients()
    with deployment(clients) as deployed:
        stack = mailed(deployed)
        deaths = deaths_of(victim, stack.by(victim).expire)
        expected = ends(stack)
    assert set(deaths.calls) == {"GetItem", "Query", "Scan", "UpdateItem"}
    for death in deaths.different:
        with holding(death.state):
            # What the dead run let go and did not come to count: of one page at most.
            owed = stack.usages.read(SHOP).messages - stack.waiting(SHOP)
            assert 0 <= owed <= 2, death.after
            stack.expire()
            assert ends(stack) == expected, death.after
            assert stack.usages.read(SHOP).messages - stack.waiting(SHOP) == owed
