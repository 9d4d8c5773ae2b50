"""What becomes of a line is said by its row alone: store protocol, Compact 2 and 5."""

from itertools import product

import pytest

from postroom.core.reason import Kind
from postroom.reasons import REASONS
from postroom.storage.aws.object_store import Place
from postroom.storage.layout import RowKey, row_key
from postroom.storage.mail.line_state import PAST, Copy, LineState, line_state_of
from postroom.storage.mail.register import ACKED, CLOSED, DISCARDED, DUPLICATE, FORWARDED, OVER, Row

RECEIVED, RETAIN = 1_795_253_400, 22 * 86_400
KEY: RowKey = row_key("a.com", 1, RECEIVED * 1000, "c1")
SEGMENT, CHUNK, ELSEWHERE = "seg/s", "chk/c", "chk/e"
IN_SEGMENT, IN_CHUNK = Copy(KEY, Place(SEGMENT, 10, 5), None), Copy(KEY, Place(CHUNK, 30, 6), SEGMENT)


def stands(copy: Copy, row: Row | None, now: int = RECEIVED) -> LineState:
    return line_state_of(copy, row, now=now, retain_seconds=RETAIN)


def live(name: str, offset: int, length: int, ttl: int | None = None) -> Row:
    return Row(KEY, Place(name, offset, length), "b.com", ttl=ttl)


@pytest.mark.parametrize(
    ("copy", "row", "stand"),
    [
        (IN_SEGMENT, live(SEGMENT, 10, 5), LineState.HERE),
        (IN_CHUNK, live(CHUNK, 30, 6), LineState.HERE),
        (IN_SEGMENT, live(CHUNK, 30, 6), LineState.MOVED),
        (IN_CHUNK, live(ELSEWHERE, 30, 6), LineState.MOVED),
        # Whoever wrote the chunk may sleep, and move the row when it wakes.
        (IN_CHUNK, live(SEGMENT, 10, 5), LineState.AT_SOURCE),
        (IN_SEGMENT, live(SEGMENT, 0, 5), LineState.ASTRAY),
        (IN_SEGMENT, live(SEGMENT, 10, 4), LineState.ASTRAY),
        (IN_CHUNK, live(CHUNK, 0, 6), LineState.ASTRAY),
    ],
)
def test_a_line_of_a_live_row_is_judged_by_its_place(copy: Copy, row: Row, stand: LineState) -> None:
    assert stands(copy, row) is stand


def test_an_expired_live_row_is_live_until_its_tombstone() -> None:
    assert stands(IN_SEGMENT, live(SEGMENT, 10, 5, ttl=RECEIVED - 1)) is LineState.HERE


WHYS = {
    ACKED: LineState.ACKED,
    FORWARDED: LineState.FORWARDED,
    OVER: LineState.EXPIRED,
    CLOSED: LineState.EXPIRED,
    DUPLICATE: LineState.DUPLICATE,
    **{f"{DISCARDED}{reason}": LineState.DISCARDED for reason in REASONS if reason.kind is Kind.DISCARD},
    # Of another release: what it means is not known here.
    "archived": LineState.UNKNOWN,
    "": LineState.UNKNOWN,
}


@pytest.mark.parametrize(("copy", "why"), [*product((IN_SEGMENT, IN_CHUNK), WHYS)])
def test_a_line_of_a_tombstone_is_judged_by_its_reason(copy: Copy, why: str) -> None:
    assert stands(copy, Row(KEY, why=why)) is WHYS[why]


@pytest.mark.parametrize("copy", [IN_SEGMENT, IN_CHUNK])
@pytest.mark.parametrize(
    ("now", "stand"),
    [
        (RECEIVED - 60, LineState.TO_COME),
        (RECEIVED + RETAIN, LineState.TO_COME),
        (RECEIVED + RETAIN + 1, LineState.FORGOTTEN),
    ],
)
def test_a_line_without_a_row_is_judged_by_time_alone(copy: Copy, now: int, stand: LineState) -> None:
    assert stands(copy, None, now) is stand


def test_a_line_is_past_once_no_row_can_point_to_it() -> None:
    assert frozenset(LineState) - PAST == {
        LineState.HERE, LineState.AT_SOURCE, LineState.TO_COME, LineState.ASTRAY, LineState.UNKNOWN, LineState.HELD,
    }  # fmt: skip
