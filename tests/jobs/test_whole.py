"""A whole run of compaction, its stages one after the other."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from random import Random
from unittest.mock import patch

import pytest
from tests.aws import Deployed, gate_calls, new_clients
from tests.jobs.mail import NOW, RETAIN, SHOP, Mail
from tests.jobs.played import Played
from tests.tiers import amount

from postroom.storage.mail import chunks
from postroom.storage.mail.object_schedule import DAY_MS, HOUR_MS
from postroom.storage.mail.segments import decode_line

THEN = NOW - 2 * DAY_MS


@pytest.fixture
def mail(deployed: Deployed) -> Mail:
    return Mail(deployed)


def test_messages_acknowledged_within_a_day_cost_only_their_deletion(mail: Mail) -> None:
    lines = [mail.message(THEN) for _ in range(5)]
    mail.deliver(THEN, *lines)
    for line in lines:
        mail.acknowledge(line.row)
    counts = Played(mail.deployed, RETAIN).compact(NOW)
    assert mail.sizes() == {}
    assert (counts["s3.put"], counts["dynamodb.write"], counts["s3.delete"]) == (0, 0, 1)


def test_a_run_makes_no_other_requests(mail: Mail) -> None:
    asked: Counter[str] = Counter()

    def gate(operation: str) -> AbstractContextManager[None]:
        asked[operation] += 1
        return nullcontext()

    for _ in range(3):
        mail.deliver(THEN, *(mail.message(THEN) for _ in range(5)))
    clients = new_clients()
    gate_calls(clients, gate)
    Played(mail.deployed, RETAIN).compact(NOW, clients)
    assert asked.pop("ListObjectsV2") <= 10
    assert asked == {"GetObject": 3, "BatchGetItem": 1, "PutObject": 1, "UpdateItem": 15, "DeleteObjects": 1}


def test_a_segment_that_must_stay_is_left_alone_until_its_age_has_doubled(mail: Mail) -> None:
    late = mail.message(THEN)
    [place] = mail.segment(THEN, late)
    job, looked = Played(mail.deployed, RETAIN), []
    for night in range(14):
        now = NOW + night * DAY_MS
        if night == 2:
            mail.file(late, place)
        looked += [night] if job.compact(now)["s3.get"] else []
        mail.check(now)
        assert (place.object in mail.sizes()) == (night < 3), "four days old, it moves"
    # Its hour was over 1 d 23 h before the first night, and that of its chunk is so in the second night after it.
    assert looked == [0, 1, 3, 5, 6, 8, 12]
    assert set(mail.sizes()) == mail.needed()


def test_a_second_run_on_the_same_day_finds_nothing_to_do(mail: Mail) -> None:
    mail.deliver(THEN, *(mail.message(THEN) for _ in range(5)))
    job = Played(mail.deployed, RETAIN)
    job.compact(NOW)
    before = mail.deployed.dump()
    counts = job.compact(NOW + HOUR_MS)
    assert mail.deployed.dump() == before
    assert (counts["s3.get"], counts["units.read"], counts["lines.read"]) == (0, 0, 0)


def test_chunks_are_sorted_by_mailbox_conversation_and_time(mail: Mail) -> None:
    lines = [mail.message(THEN - n * HOUR_MS, f"{c}.com", f"{m}.org") for n in range(3) for c in "ba" for m in "zy"]
    for line in Random("mixed").sample(lines, len(lines)):
        mail.deliver(THEN, line)
    Played(mail.deployed, RETAIN).compact(NOW)
    [data] = (data for name, data in mail.deployed.objects().items() if name in mail.needed())
    found = [decode_line(each) for each in data.splitlines()]
    assert found == sorted(lines, key=lambda line: (line.row.mailbox, line.conversation, line.row.sk))


def test_many_threads_give_the_same_result_as_one(mail: Mail) -> None:
    random, segments = Random("threads"), amount(quick=12, all=30, proof=30)
    lines, read = 8 * segments, 3 * segments
    for _ in range(segments):
        mail.deliver(THEN, *(mail.message(THEN, random.choice(["a.com", "b.com", "c.com"])) for _ in range(8)))
    for row in random.sample(sorted(mail.waits), read):
        mail.acknowledge(row)
    with ThreadPoolExecutor(16) as pool, patch.multiple(chunks, FULL_BYTES=10_000, ENOUGH_BYTES=8_000):
        counts = Played(mail.deployed, RETAIN, pool=pool).compact(NOW)
    assert (counts["lines.read"], counts["lines.repointed"], counts["dropped.acked"]) == (lines, lines - read, read)
    assert counts["objects.collected"] == segments
    assert counts["chunks"] > 3
    assert set(mail.sizes()) == mail.needed()
    assert sum(mail.sizes().values()) == mail.live_bytes()
    mail.check(NOW)
    assert mail.problems(NOW) == ()


def test_messages_under_legal_hold_stay_until_the_hold_ends(mail: Mail) -> None:
    read, waits, others = mail.message(THEN), mail.message(THEN), mail.message(THEN, mailbox="other.com")
    held, free = mail.deliver(THEN, read, waits, others), mail.deliver(THEN, mail.message(THEN, mailbox="other.com"))
    mail.acknowledge(read.row)
    Played(mail.deployed, RETAIN, held={SHOP}).compact(NOW)
    assert held in mail.sizes()
    assert free not in mail.sizes()
    mail.check(NOW)
    assert held not in mail.needed(), "it is there for the hold alone"
    Played(mail.deployed, RETAIN, new_id=lambda: "later").compact(NOW + HOUR_MS)
    assert set(mail.sizes()) == mail.needed()


def test_a_dry_run_changes_nothing(mail: Mail) -> None:
    torn, place = mail.message(THEN), mail.segment(THEN, b"{torn")[0]
    mail.deliver(THEN, torn, *(mail.message(THEN) for _ in range(3)))
    mail.acknowledge(torn.row)
    before = mail.deployed.dump()
    counts = Played(mail.deployed, RETAIN).compact(NOW, dry_run=True)
    assert mail.deployed.dump() == before
    assert place.object in mail.sizes()
    assert (counts["lines.kept"], counts["chunks"], counts["quarantined.objects"]) == (3, 1, 1)
    assert not any(counts[name] for name in ("s3.put", "s3.delete", "dynamodb.write", "lines.repointed"))
