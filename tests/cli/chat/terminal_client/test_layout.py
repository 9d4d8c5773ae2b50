"""Rows of messages as lines."""

from dataclasses import replace
from datetime import UTC

import pytest
from rich.cells import cell_len

from postroom.cli.chat.terminal_client.layout import (
    MOST_LINES,
    DrawnPicture,
    LaidOutLine,
    chat_line,
    lay_out,
    shown_minute,
)
from postroom.cli.chat.terminal_client.rows import MessageRow, UnreadMessages

AT = 1_795_253_400_000
ROW = MessageRow("0x1", "bob.eth", False, AT, ("hello",))


def texts(lines: list[LaidOutLine]) -> list[str]:
    return ["".join(text for text, _ in line.parts).rstrip() for line in lines]


def laid_out(*rows: MessageRow, width: int = 40) -> list[str]:
    return texts(lay_out(rows, width, zone=UTC))


def test_a_day_begins_with_its_date() -> None:
    next_day = replace(ROW, at_ms=AT + 86_400_000)
    shown = laid_out(ROW, ROW, next_day)
    assert [line for line in shown if "─" in line] == [
        " 2026-11-21 ".center(40, "─"),
        " 2026-11-22 ".center(40, "─"),
    ]


def test_a_message_is_its_head_and_its_lines() -> None:
    row = replace(
        ROW,
        text=("one", "two"),
        quote="alice.eth: what?",
        marks=("edited", "late"),
        reactions=("❤ love: you",),
        state="waits for bob.eth",
        problem="refused by carol.eth: X",
        media="(picture, 12 kB)",
    )
    assert laid_out(row, width=60)[1:] == [
        "09:30 bob.eth [edited] [late] · waits for bob.eth",
        "  ! refused by carol.eth: X",
        "  ↪ alice.eth: what?",
        "  one",
        "  two",
        "  (picture, 12 kB)",
        "  ❤ love: you",
    ]


def test_a_state_that_has_no_room_beside_the_author_stands_below_in_full() -> None:
    row = replace(ROW, marks=("pinned",), state="waits for bob.eth, carol.eth, eddy.eth", problem="refused")
    assert laid_out(row, width=64)[1:] == [
        "09:30 bob.eth [pinned]",
        "  · waits for bob.eth, carol.eth, eddy.eth",
        "  ! refused",
        "  hello",
    ]
    assert laid_out(row, width=30)[2:4] == ["  · waits for bob.eth,", "  carol.eth, eddy.eth"]


def test_what_is_pending_has_no_time_yet() -> None:
    assert laid_out(replace(ROW, at_ms=None, state="sending"))[0] == "--:-- bob.eth · sending"


def test_new_messages_begin_with_a_line() -> None:
    assert laid_out(ROW, replace(ROW, is_new=True))[3] == " new ".center(40, "─")


def test_a_text_of_many_lines_is_cut_and_says_so() -> None:
    shown = laid_out(replace(ROW, text=("x",) * (MOST_LINES + 5)))
    assert shown[-1] == "  … Enter shows all of it"
    assert shown.count("  x") == MOST_LINES


def test_a_picture_stands_under_its_message() -> None:
    cells = [((1, 2, 3), (4, 5, 6))] * 3
    lines = lay_out([replace(ROW, media="(picture, 1 kB)")], 40, {"0x1": DrawnPicture("0x1", [cells, cells])}, UTC)
    assert [line.cells for line in lines if line.cells] == [cells, cells]


@pytest.mark.parametrize("width", [20, 40, 55])
def test_no_line_is_wider_than_the_screen(width: int) -> None:
    long = "日本語 " * 20
    row = replace(
        ROW, author=long, text=(long, "x" * 200), quote=long, marks=("@you", long), state=long, problem=long,
        media=long, reactions=(long,), is_new=True,
    )  # fmt: skip
    cells = [((0, 0, 0), None)] * 100
    for line in lay_out([row], width, {"0x1": DrawnPicture("0x1", [cells], long)}, UTC):
        assert cell_len("".join(text for text, _ in line.parts)) + len(line.cells) <= width


def test_a_time_that_no_calendar_has_is_shown_as_a_number() -> None:
    assert shown_minute(AT, UTC) == "2026-11-21 09:30:00"
    assert shown_minute(1 << 62, UTC) == f"{1 << 62} ms"
    assert laid_out(replace(ROW, at_ms=1 << 62))[0].startswith("--:--")


@pytest.mark.parametrize(
    ("unread", "line"),
    [
        (UnreadMessages(), "• bob.eth"),
        (UnreadMessages(3), "• bob.eth     3 new"),
        (UnreadMessages(3, mention_user=True), "• bob.eth    @3 new"),
        (UnreadMessages(100, are_more=True), "• bob.eth  100+ new"),
    ],
)
def test_a_chat_says_how_much_is_new(unread: UnreadMessages, line: str) -> None:
    assert texts([chat_line("bob.eth", unread, 0, 19, is_open=True)]) == [line]


def test_a_long_title_is_shortened() -> None:
    assert texts([chat_line("a" * 30, UnreadMessages(1), 0, 19, is_open=False)]) == [f"  {'a' * 10}… 1 new"]
