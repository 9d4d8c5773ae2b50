"""The mail that `benchmarks/mail.py` makes up: it is what a plan says, it is as inbox and worker write it, and it stays
small in memory.
"""

import statistics
import tracemalloc
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import pytest
from benchmarks.mail import (
    CROWD,
    CROWDED,
    DAMAGES,
    RETAIN_SECONDS,
    Origin,
    Plan,
    Segment,
    Written,
    item_of,
    segments,
    write,
)
from tests.aws import Deployed
from tests.aws import clients as clients
from tests.aws import deployed as deployed

from postroom.core.errors import NotNowError
from postroom.core.ijson import parse
from postroom.core.reason import Kind
from postroom.protocols.nlweb.envelope import read_envelope
from postroom.protocols.nlweb.timestamp import TimestampWindow
from postroom.protocols.nlweb.verify import check_before_lookup
from postroom.storage.audit.fingerprints import fingerprint_of
from postroom.storage.aws.object_store import Place
from postroom.storage.layout import RowKey
from postroom.storage.mail.line_state import Copy, LineState, line_state_of
from postroom.storage.mail.reader import Filed, Unreadable, runs_of
from postroom.storage.mail.register import ACKED, Row, read_row
from postroom.storage.mail.segments import Line, decode_line

ENDS_AT_MS = 1_795_253_400_000  # 2026-11-21T09:30:00Z
HOUR_MS = 3_600_000
SHARES = ("acknowledged", "discarded", "late", "redelivered", "orphans", "corrupt")
SOUND = Plan(
    messages=2_000, seed=1, mailboxes=10, ends_at_ms=ENDS_AT_MS, median_bytes=600, most_bytes=5_000, batch=10,
    **dict.fromkeys(SHARES, 0.0),
)  # fmt: skip
MIXED = replace(SOUND, **dict.fromkeys(SHARES, 0.1))


def lines_of(segment: Segment) -> list[bytes]:
    assert segment.data.endswith(b"\n")
    return segment.data[:-1].split(b"\n")


def line_in(data: bytes) -> Line | None:
    """None: it is no line."""
    try:
        line = decode_line(data)
    except (ValueError, KeyError, TypeError):
        return None
    return line if isinstance(line.row.pk, str) and isinstance(line.row.sk, str) else None


def sound_lines(segment: Segment) -> list[Line]:
    """Those that are not damaged."""
    found = [line for line in map(line_in, lines_of(segment)) if line]
    assert len(found) == segment.lines - len(segment.damaged)
    return found


def of(origin: Origin, all_: Sequence[Segment]) -> list[Segment]:
    return [segment for segment in all_ if segment.origin is origin]


def rows_of(all_: Sequence[Segment]) -> dict[RowKey, Row]:
    rows = [row for segment in all_ for row in segment.rows]
    by_key = {row.key: row for row in rows}
    assert len(by_key) == len(rows)
    return by_key


def line_at(row: Row, all_: Sequence[Segment]) -> bytes:
    assert row.place is not None
    [data] = [segment.data for segment in all_ if segment.name == row.place.object]
    return data[row.place.offset : row.place.offset + row.place.length]


def about(share: float, of_all: int) -> Any:
    """So many, as chance will have it: four standard deviations."""
    expected = share * of_all
    return pytest.approx(expected, abs=4 * (expected * (1 - share)) ** 0.5)


# ---- the same, whoever asks ------------------------------------------------------------------------------------
def test_the_same_plan_gives_the_same_bytes_and_rows() -> None:
    assert list(segments(MIXED)) == list(segments(MIXED))


def test_another_seed_gives_other_bytes() -> None:
    assert next(segments(SOUND)).data != next(segments(replace(SOUND, seed=2))).data


def test_the_bytes_are_the_same_without_rows() -> None:
    without = list(segments(MIXED, rows=False))
    assert [(segment.name, segment.data) for segment in segments(MIXED)] == [(each.name, each.data) for each in without]
    assert not any(segment.rows for segment in without)


def test_the_first_segments_can_be_made_without_the_others() -> None:
    made = list(islice(segments(replace(MIXED, messages=10**9, one_conversation=10**8)), 20))
    assert sum(segment.lines for segment in made) == 200


def test_made_segments_are_not_kept_in_memory() -> None:
    made = segments(replace(MIXED, messages=10**9))
    next(made)
    tracemalloc.start()
    try:
        peaks = []
        for _ in range(2):
            for _segment in islice(made, 100):
                pass
            peaks.append(tracemalloc.get_traced_memory()[1])
    finally:
        tracemalloc.stop()
    size = sum(len(segment.data) for segment in islice(made, 100))
    assert peaks[1] < size / 2


# ---- what a plan says ------------------------------------------------------------------------------------------
def test_a_plan_without_shares_is_messages_that_wait_in_segments_of_one_size() -> None:
    made = list(segments(replace(SOUND, messages=1_995)))
    assert [segment.lines for segment in made] == [10] * 199 + [5]
    assert all(len(lines_of(segment)) == segment.lines for segment in made)
    assert all(row.live for row in rows_of(made).values())
    assert len(rows_of(made)) == 1_995


def test_segments_have_one_size() -> None:
    made = list(segments(replace(MIXED, redelivered=0.9, batch=7)))
    # The last messages, and those of them that come again.
    assert {segment.lines for segment in made[:-4]} == {7}
    assert all(len(lines_of(segment)) == segment.lines for segment in made)


def test_every_live_row_points_to_a_line_with_a_message_that_the_inbox_accepts() -> None:
    made = list(segments(replace(MIXED, messages=300, corrupt=0)))
    live = [row for row in rows_of(made).values() if row.live]
    assert len(live) > 200
    for row in live:
        data = line_at(row, made)
        line = decode_line(data)
        assert line.row == row.key
        envelope = read_envelope(parse(line.envelope.encode(), max_bytes=len(line.envelope.encode())))
        check_before_lookup(
            envelope,
            is_ours=lambda domain, mailbox=row.key.mailbox: domain == mailbox,
            received_at_ms=row.key.received_at_ms,
            window=TimestampWindow(),
        )
        assert envelope.sender == row.conversation
        # As an audit reads it: the conversation, and the Hash, are those of the message.
        assert isinstance(fingerprint_of(row, data), bytes)


def test_some_messages_are_acknowledged_and_their_lines_are_still_there() -> None:
    made = list(segments(replace(SOUND, acknowledged=0.3)))
    rows = rows_of(made)
    gone = {key for key, row in rows.items() if not row.live}
    assert {rows[key].why for key in gone} == {ACKED}
    assert len(gone) == about(0.3, 2_000)
    assert {line.row for segment in made for line in sound_lines(segment)} == set(rows)


def test_some_messages_are_discarded_and_have_no_line() -> None:
    made = list(segments(replace(SOUND, discarded=0.3)))
    rows = rows_of(made)
    assert len(rows) == 2_000
    discarded = {key: row.discarded for key, row in rows.items() if not row.live}
    assert all(reason and reason.kind is Kind.DISCARD for reason in discarded.values())
    assert len(discarded) == about(0.3, 2_000)
    assert {line.row for segment in made for line in sound_lines(segment)} == set(rows) - set(discarded)


def test_some_messages_are_filed_hours_after_they_were_received() -> None:
    late = 0
    for segment in segments(replace(SOUND, late=0.3)):
        for line in sound_lines(segment):
            waited_ms = line.receipt["verified_at_ms"] - line.row.received_at_ms  # type: ignore[operator]
            assert 0 < waited_ms <= 1_000 or HOUR_MS < waited_ms <= 6 * HOUR_MS + 1_000
            late += waited_ms > HOUR_MS
    assert late == about(0.3, 2_000)


def test_some_lines_are_repeated_in_the_next_segment_and_their_rows_point_to_the_first() -> None:
    made = list(segments(replace(SOUND, redelivered=0.3)))
    rows, again = rows_of(made), 0
    first: dict[RowKey, int] = {}
    for number, segment in enumerate(made):
        for line in sound_lines(segment):
            if line.row in first:
                assert first.pop(line.row) < number
                again += 1
                continue
            first[line.row] = number
            place = rows[line.row].place
            assert place is not None
            assert place.object == segment.name
    assert again == about(0.3, 2_000)


def test_orphans_are_copies_of_segments_or_have_no_rows_and_are_young_or_older_than_retain() -> None:
    made = list(segments(replace(SOUND, orphans=0.3)))
    rows = rows_of(made)
    assert len(of(Origin.FILED, made)) == 200
    assert len(made) - 200 == about(0.3, 200)
    counts = [len(of(origin, made)) for origin in (Origin.COPIED, Origin.WAITING, Origin.ABANDONED)]
    assert max(counts) - min(counts) <= 1
    for segment in made:
        for line in sound_lines(segment):
            row = rows.get(line.row)
            age_ms = ENDS_AT_MS - line.row.received_at_ms
            assert (age_ms > RETAIN_SECONDS * 1_000) == (segment.origin is Origin.ABANDONED)
            assert (row is None) == (segment.origin in (Origin.WAITING, Origin.ABANDONED))
            if row is not None and row.place is not None:
                assert (row.place.object == segment.name) == (segment.origin is Origin.FILED)


def test_some_lines_are_damaged() -> None:
    made = list(segments(replace(SOUND, corrupt=0.3)))
    damaged = {row for segment in made for row in segment.damaged}
    rows = rows_of(made)
    assert {key for key in rows if line_in(line_at(rows[key], made)) is None} == damaged
    assert len(damaged) == about(0.3, 2_000)


@pytest.mark.parametrize("how", DAMAGES)
def test_a_damaged_line_is_invalid_and_has_no_newline(how: str) -> None:
    data = lines_of(next(segments(SOUND)))[0]
    assert line_in(data)
    assert line_in(DAMAGES[how](data)) is None
    assert b"\n" not in DAMAGES[how](data)


def test_a_plan_with_every_share_gives_valid_mail() -> None:
    made = list(segments(replace(MIXED, messages=100, **dict.fromkeys(SHARES, 1.0))))
    rows = rows_of(made)
    assert len(rows) == 100
    # The last is filed, so that the tombstones come with a segment.
    assert Counter(row.why == ACKED for row in rows.values()) == {False: 99, True: 1}
    assert not any(sound_lines(segment) for segment in made)


def test_all_dates_are_before_the_end_and_most_within_the_given_hours() -> None:
    for segment in segments(replace(MIXED, late=0, spans_hours=3)):
        for line in sound_lines(segment):
            assert line.row.received_at_ms < ENDS_AT_MS
            assert line.receipt["verified_at_ms"] < ENDS_AT_MS  # type: ignore[operator]
            first_ms = ENDS_AT_MS - 3 * HOUR_MS - 1_000
            assert (line.row.received_at_ms >= first_ms) == (segment.origin is not Origin.ABANDONED)


def test_most_conversations_have_one_to_three_messages_and_a_few_have_many() -> None:
    plan = replace(SOUND, messages=20_000, mailboxes=100)
    filed = rows_of(list(segments(plan))).values()
    mailboxes = Counter(row.key.mailbox for row in filed)
    conversations = Counter((row.key.mailbox, row.conversation) for row in filed)
    [(_, most)] = mailboxes.most_common(1)
    assert len(mailboxes) == 100
    assert most > 10 * statistics.median(mailboxes.values())
    few = sum(size <= 3 for size in conversations.values())
    assert few > 0.8 * len(conversations)
    assert max(conversations.values()) > 50


def test_one_conversation_has_the_given_number_of_messages_over_the_whole_time() -> None:
    made = list(segments(replace(MIXED, one_conversation=700, orphans=0, redelivered=0, corrupt=0, late=0)))
    crowd = [line.row for segment in made for line in sound_lines(segment) if line.conversation == CROWD]
    assert len(crowd) == 700
    assert {row.mailbox for row in crowd} == {CROWDED}
    hours = Counter((ENDS_AT_MS - row.received_at_ms) // HOUR_MS for row in crowd)
    assert min(hours[hour] for hour in range(24)) > 15


def test_envelopes_have_the_planned_sizes_and_some_are_much_larger() -> None:
    made = segments(replace(SOUND, median_bytes=2_000, most_bytes=50_000))
    sizes = [len(line.envelope.encode()) for segment in made for line in sound_lines(segment)]
    assert statistics.median(sizes) == pytest.approx(2_000, rel=0.1)
    assert max(sizes) > 20_000


def test_no_envelope_exceeds_the_maximum() -> None:
    made = segments(replace(SOUND, median_bytes=10**6, most_bytes=2_000, messages=100))
    sizes = [len(line.envelope.encode()) for segment in made for line in sound_lines(segment)]
    assert 1_996 <= min(sizes) <= max(sizes) <= 2_000


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"late": 1.5}, "late is 1.5; a share is 0 to 1"),
        ({"corrupt": -0.1}, "corrupt is -0.1; a share is 0 to 1"),
        ({"mailboxes": 0}, "mailboxes is 0; it must be at least 1"),
        ({"one_conversation": 2_001}, r"one_conversation is 2001; it is 0 to messages \(2000\)"),
    ],
)
def test_an_impossible_plan_is_refused_with_its_cause(changed: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        replace(SOUND, **changed)


# ---- in a store ------------------------------------------------------------------------------------------------
def put(plan: Plan, deployed: Deployed, **how: bool) -> Written:
    return write(
        plan, deployed.clients.s3, deployed.bucket, deployed.clients.dynamodb, deployed.tables["PostTable"], **how
    )


STORED = replace(MIXED, messages=800, mailboxes=4, batch=40, orphans=0.5, corrupt=0.01, one_conversation=100)
"""Of its segments, some hold nothing that is damaged, and most have more rows than one request takes."""


def test_owners_see_the_written_messages_and_no_others(deployed: Deployed) -> None:
    written = put(STORED, deployed, keep_truth=True)
    reader = deployed.storage.reader
    rows = [row for number in range(1, 5) for row in reader.list(f"shop-{number}.example", 1, now=ENDS_AT_MS // 1_000)]
    found = [each for run in runs_of(rows) for each in reader.fetch_run(run)]
    shown = [each for each in found if isinstance(each, Filed)]
    assert {each.line.row for each in shown} == written.shown
    assert len(shown) == written.live > 300
    assert sum(isinstance(each, Unreadable) for each in found) == written.unreadable > 0
    made = {line.row: line for segment in segments(STORED) for line in sound_lines(segment)}
    assert all(each.line == made[each.row.key] for each in shown)


def test_the_summary_matches_the_store(deployed: Deployed) -> None:
    written = put(STORED, deployed)
    objects, rows = deployed.objects(), {row.key: row for row in map(read_row, deployed.rows("PostTable"))}
    assert (written.segments, written.bytes) == (len(objects), sum(map(len, objects.values())))
    lines = {name: data[:-1].split(b"\n") for name, data in objects.items()}
    assert written.lines == sum(map(len, lines.values()))
    stands, corrupt = Counter[LineState](), 0
    for name in objects:
        offset = 0
        for each in lines[name]:
            line = line_in(each)
            if line is None:
                corrupt += 1
            else:
                copy = Copy(line.row, Place(name, offset, len(each)), None)
                row = rows.get(line.row)
                stands[line_state_of(copy, row, now=ENDS_AT_MS // 1_000, retain_seconds=RETAIN_SECONDS)] += 1
            offset += len(each) + 1
    assert (written.stands, written.corrupt) == (stands, corrupt)
    assert set(stands) == {LineState.HERE, LineState.ACKED, LineState.MOVED, LineState.TO_COME, LineState.FORGOTTEN}
    assert written.live + written.unreadable == sum(row.live for row in rows.values())
    assert written.acknowledged == sum(row.why == ACKED for row in rows.values())
    assert written.discarded == sum(row.discarded is not None for row in rows.values())
    assert len(rows) == STORED.messages
    assert written.shown is None


def test_held_segments_are_those_that_compaction_may_not_delete(deployed: Deployed) -> None:
    """By the rule of step 5, once every line that is live and can be read has moved."""
    written = put(STORED, deployed)
    rows = {row.key: row for row in map(read_row, deployed.rows("PostTable"))}

    def may_still_be_written(data: bytes) -> bool:
        line = line_in(data)
        return line is None or (line.row not in rows and line.row.received_at_ms > ENDS_AT_MS - RETAIN_SECONDS * 1_000)

    held = [
        name
        for name, data in deployed.objects().items()
        if any(may_still_be_written(line) for line in data[:-1].split(b"\n"))
    ]
    assert written.held == len(held)
    assert 0 < written.held < written.segments


def test_rows_are_as_the_register_writes_them(deployed: Deployed) -> None:
    register = deployed.storage.register
    rows = rows_of(list(segments(replace(MIXED, messages=100))))
    kinds: Counter[str] = Counter()
    for row in rows.values():
        filed = next(each for each in rows.values() if each.place)
        if row.discarded:
            register.discard(row.key, row.discarded, row.ttl or 0)
        else:
            place = row.place or filed.place
            assert place is not None
            register.file(row.key, place, row.conversation)
        if row.why == ACKED:
            register.acknowledge(row.key, row.ttl or 0)
        assert deployed.item("PostTable", pk=row.key.pk, sk=row.key.sk) == item_of(row)
        kinds[row.why.partition(":")[0]] += 1
    assert set(kinds) == {"", "acked", "discarded"}


def test_without_rows_there_are_the_objects_alone(deployed: Deployed) -> None:
    written = put(STORED, deployed, rows=False)
    assert len(deployed.objects()) == written.segments
    assert deployed.rows("PostTable") == []
    assert written.live == written.acknowledged == written.discarded == 0
    assert set(written.stands) == {LineState.TO_COME, LineState.FORGOTTEN}


def test_the_same_plan_is_not_written_twice(deployed: Deployed) -> None:
    put(SOUND, deployed, rows=False)
    before = deployed.objects()
    with pytest.raises(NotNowError):
        put(SOUND, deployed, rows=False)
    assert deployed.objects() == before
