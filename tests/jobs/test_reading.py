"""The lines of an object are found however its bytes come; what is damaged is said, and stops nobody."""

import tracemalloc
from collections.abc import Iterator
from unittest.mock import patch

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.jobs import reading
from postroom.jobs.reading import LONGEST_LINE, Damage, Damaged, Read, raw_lines, read_line
from postroom.storage.aws.object_store import Place
from postroom.storage.layout import row_key
from postroom.storage.mail.line_state import Copy
from postroom.storage.mail.segments import Line, decode_line, lay_out

KEY = row_key("a.com", 4, 1_795_253_400_000, "c1")
LINE = Line(KEY, "b.com", '{"Header":{},"Body":"grüße"}', {"protocol": "nlweb"})
SOURCE = "seg/2026/11/21/09/a.jsonl"


# --- where lines begin and end ----------------------------------------------------------------------------------------


@st.composite
def pieces_of_an_object(draw: st.DrawFn) -> tuple[bytes, list[bytes]]:
    data = draw(st.lists(st.binary(max_size=12) | st.just(b"\n") | st.just(b"x" * 9)).map(b"".join))
    cuts = sorted(draw(st.lists(st.integers(0, len(data)))))
    return data, [data[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]


@given(pieces_of_an_object())
def test_lines_are_the_same_however_the_bytes_come(given_: tuple[bytes, list[bytes]]) -> None:
    data, pieces = given_
    with patch.object(reading, "LONGEST_LINE", 8):
        found = list(raw_lines(pieces))
    texts = data.split(b"\n")
    if texts[-1] == b"":  # after the last newline there is no line
        texts.pop()
    assert [line if isinstance(line, int) else len(line) for _, line in found] == [len(text) for text in texts]
    for (offset, line), text in zip(found, texts, strict=True):
        assert data[offset : offset + len(text)] == text
        assert line == (text if len(text) <= 8 else len(text))


def test_the_lines_of_a_segment_are_found_where_rows_point_to() -> None:
    data, places = lay_out([LINE, LINE, LINE], SOURCE)
    assert [Place(SOURCE, offset, len(line)) for offset, line in raw_lines([data]) if isinstance(line, bytes)] == places


def test_a_last_line_without_its_newline_is_one() -> None:
    assert list(raw_lines([b"ab\ncd"])) == [(0, b"ab"), (3, b"cd")]


def test_a_line_that_is_too_long_takes_no_more_memory_than_the_limit() -> None:
    piece = 1024 * 1024

    def endless() -> Iterator[bytes]:
        for _ in range(200):
            yield b"x" * piece
        yield b"\nshort\n"

    tracemalloc.start()
    try:
        found = list(raw_lines(endless()))
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found == [(0, 200 * piece), (200 * piece + 1, b"short")]
    assert most < 3 * LONGEST_LINE


# --- what stands in a line --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("src", [None, "seg/2026/11/20/09/before.jsonl"])
def test_a_line_has_its_row_its_place_and_its_source(src: str | None) -> None:
    data = orjson.dumps(orjson.loads(LINE.encode()) | {"src": src})
    read = read_line(SOURCE, 40, data)
    assert isinstance(read, Read)
    assert read.copy == Copy(KEY, Place(SOURCE, 40, len(data)), src)
    assert read.conversation == "b.com"


def test_a_moved_line_is_unchanged_and_names_its_source() -> None:
    read = read_line(SOURCE, 0, LINE.encode())
    assert isinstance(read, Read)
    assert decode_line(read.moved) == LINE
    assert orjson.loads(read.moved)["src"] == SOURCE
    again = read_line("chk/b", 7, read.moved)
    assert isinstance(again, Read)
    assert (again.copy.src, decode_line(again.moved)) == (SOURCE, LINE)


@given(st.text(), st.text(min_size=1), st.dictionaries(st.text(), st.text() | st.integers(0, 2**53) | st.none()))
def test_moving_a_message_does_not_change_its_contents(
    envelope: str, conversation: str, receipt: dict[str, object]
) -> None:
    line = Line(KEY, conversation, envelope, receipt)
    read = read_line(SOURCE, 0, line.encode())
    assert isinstance(read, Read)
    assert decode_line(read.moved) == line
    assert b"\n" not in read.moved


def test_members_of_a_newer_release_stay_in_a_moved_line() -> None:
    for data in (other(more={"src": None}), orjson.dumps({"more": '"src":null', **orjson.loads(LINE.encode())})):
        read = read_line(SOURCE, 0, data)
        assert isinstance(read, Read)
        assert orjson.loads(read.moved) == orjson.loads(data) | {"src": SOURCE}


def without(name: str) -> bytes:
    return orjson.dumps({key: value for key, value in orjson.loads(LINE.encode()).items() if key != name})


def other(**changed: object) -> bytes:
    return orjson.dumps(orjson.loads(LINE.encode()) | changed)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        LINE.encode()[:-1],
        LINE.encode() + b"}",
        b"\xff",
        b"\0" * 20,
        b'"\\ud800"',
        b"NaN",
        b'{"a":' + b"[" * 100_000,
    ],
)
def test_invalid_json_is_reported_as_such(data: bytes) -> None:
    assert read_line(SOURCE, 3, data) == Damaged(3, len(data), Damage.NOT_JSON, data)


@pytest.mark.parametrize(
    "data",
    [
        b"[]", b"null", b"7", b'"line"', b"{}",
        *(without(name) for name in ("pk", "sk", "src", "c", "receipt", "envelope")),
        *(other(**{name: value}) for name, value in (
            ("pk", 7), ("sk", None), ("src", 7), ("c", None), ("receipt", "x"), ("envelope", {}),
            # No table has such a key: to ask for it is an error, and would stop the run.
            ("pk", ""), ("pk", "a.com"), ("pk", "#0"), ("pk", "a.com#"), ("pk", "a.com#x"), ("pk", "a.com#01"),
            ("pk", "a" * 2048 + "#0"),
            ("sk", ""), ("sk", "!head"), ("sk", "m#"), ("sk", "m#1795253400000"), ("sk", "m#1795253400000#"),
            ("sk", "m#now#c1"), ("sk", "m#-795253400000#c1"), ("sk", "m#1795253400000#c1#2"),
            ("sk", "m#" + "9" * 5000 + "#c1"), ("sk", "m#1795253400000#" + "c" * 1024), ("sk", "m#১795253400000#c1"),
        )),
    ],
    ids=lambda data: data[:60].decode(),
)  # fmt: skip
def test_json_that_is_no_line_is_reported_as_such(data: bytes) -> None:
    assert read_line(SOURCE, 3, data) == Damaged(3, len(data), Damage.NOT_A_LINE, data)


def test_a_line_that_is_too_long_is_reported_as_such() -> None:
    assert read_line(SOURCE, 3, 99_000_000) == Damaged(3, 99_000_000, Damage.TOO_LONG)
