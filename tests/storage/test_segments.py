import json
from itertools import pairwise

import pytest
from botocore.exceptions import ClientError
from hypothesis import example, given
from hypothesis import strategies as st
from tests.aws import Deployed

from postroom.core.errors import NotNowError
from postroom.storage.aws.object_store import GAP_BYTES, READ_BYTES, ObjectStore, Place, neighbours
from postroom.storage.layout import RowKey
from postroom.storage.mail.segments import Line, decode_line, lay_out

AWKWARD = [
    '{"a":"\ufffe\uffff"}',
    '{"a":"\u2028\u2029\u0085"}',
    '{"a":"\U0001f91d\U0010ffff"}',
    '{"a":"\\ud83e\\udd1d\\u0000\\"\\\\/"}',
    '{\r\n\t"a" : 1.0e+2\r\n}\n',
    '{"a":"\x7f"}',
]


def line(envelope: str, number: int = 0) -> Line:
    return Line(RowKey("a.com#0", f"m#{number:013d}#c{number}"), "b.com", envelope, {"received_at_ms": 1})


@given(st.lists(st.text(), max_size=6))
@example(AWKWARD)
def test_every_line_is_at_its_place_with_its_exact_bytes(envelopes: list[str]) -> None:
    lines = [line(envelope, number) for number, envelope in enumerate(envelopes)]
    data, places = lay_out(lines, "seg/x")
    assert [decode_line(data[p.offset : p.offset + p.length]) for p in places] == lines
    assert {p.object for p in places} <= {"seg/x"}


@given(st.lists(st.text(), min_size=1, max_size=6))
@example(AWKWARD)
def test_a_segment_is_json_lines(envelopes: list[str]) -> None:
    data, _ = lay_out([line(envelope) for envelope in envelopes], "seg/x")
    # Readers that split at any end of line that ASCII knows find the same lines.
    assert data.count(b"\n") == len(envelopes)
    assert b"\r" not in data
    assert [json.loads(each)["envelope"] for each in data.split(b"\n")[:-1]] == envelopes


def test_a_line_names_its_row_and_that_it_was_not_copied() -> None:
    assert json.loads(line("{}", 7).encode()) == {
        "pk": "a.com#0", "sk": "m#0000000000007#c7", "src": None, "c": "b.com",
        "receipt": {"received_at_ms": 1}, "envelope": "{}",
    }  # fmt: skip


@pytest.fixture
def objects(deployed: Deployed) -> ObjectStore:
    return deployed.storage.objects


def test_a_range_holds_exactly_one_line(objects: ObjectStore) -> None:
    lines = [line(envelope, number) for number, envelope in enumerate(AWKWARD)]
    data, places = lay_out(lines, "seg/x")
    objects.put("seg/x", data)
    assert [decode_line(objects.get_range(place)).envelope for place in places] == AWKWARD
    assert objects.get("seg/x") == data


def test_names_are_never_reused(objects: ObjectStore) -> None:
    objects.put("seg/x", b"first")
    with pytest.raises(NotNowError):
        objects.put("seg/x", b"second")
    assert objects.get("seg/x") == b"first"


def test_an_object_that_is_gone_is_a_key_error(objects: ObjectStore) -> None:
    with pytest.raises(KeyError):
        objects.get("seg/none")
    with pytest.raises(KeyError):
        objects.get_range(Place("seg/none", 0, 10))


def test_a_bucket_that_is_not_there_is_our_mistake(deployed: Deployed) -> None:
    with pytest.raises(ClientError):
        ObjectStore(deployed.clients.s3, "no-such-bucket").get("x")


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 60_000), st.integers(1, 5000)), max_size=20))
def test_neighbours_group_all_places_once_by_object_and_small_gaps(
    parts: list[tuple[str, int, int]],
) -> None:
    places = [Place(*part) for part in parts]
    runs = list(neighbours(places))
    assert sorted(place for run in runs for place in run) == sorted(places)
    for run in runs:
        assert len({place.object for place in run}) == 1
        assert all(b.offset - a.offset - a.length <= GAP_BYTES for a, b in pairwise(run))


@pytest.mark.parametrize(("more", "requests"), [(0, 1), (1, 2)])
def test_one_request_reads_a_limited_number_of_bytes(more: int, requests: int) -> None:
    half = READ_BYTES // 2
    assert len(list(neighbours([Place("o", 0, half), Place("o", half, half + more)]))) == requests


def test_one_request_reads_a_line_of_any_length_alone() -> None:
    places = [Place("o", 0, 1), Place("o", 1, 2 * READ_BYTES), Place("o", 1 + 2 * READ_BYTES, 1)]
    assert list(neighbours(places)) == [[place] for place in places]
