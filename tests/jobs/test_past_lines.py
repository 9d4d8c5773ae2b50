"""What is known of an object only grows, and adds up in any order."""

from hypothesis import given
from hypothesis import strategies as st

from postroom.jobs.past_lines import PastLines, added_up, bits

LINES = 20
NUMBERS = st.frozensets(st.integers(0, LINES - 1))
PARTS = st.lists(st.tuples(NUMBERS, st.booleans()), max_size=8)


def part(numbers: frozenset[int], whole: bool) -> PastLines:
    """Of the survey, which knows the object as a whole; or of where rows were moved."""
    return PastLines("seg/a", LINES if whole else 0, bits(numbers), 999 if whole else 0)


@given(PARTS, st.randoms())
def test_evidence_is_merged_the_same_in_any_order_and_repeatedly(
    drawn: list[tuple[frozenset[int], bool]], random: st.DataObject
) -> None:
    parts = [part(*each) for each in drawn]
    whole = added_up("seg/a", parts)
    again = parts * 2
    random.shuffle(again)  # type: ignore[attr-defined]
    assert added_up("seg/a", again) == whole
    split = len(parts) // 2
    assert added_up("seg/a", [added_up("seg/a", parts[:split]), added_up("seg/a", parts[split:])]) == whole


@given(PARTS)
def test_an_object_is_garbage_when_each_of_its_lines_is_past(
    drawn: list[tuple[frozenset[int], bool]],
) -> None:
    past = frozenset[int]().union(*(numbers for numbers, _ in drawn))
    known = any(whole for _, whole in drawn)
    assert added_up("seg/a", [part(*each) for each in drawn]).all_past is (known and past == frozenset(range(LINES)))


@given(st.frozensets(st.integers(0, 70_000), max_size=30))
def test_lines_are_numbered_from_the_lowest_bit_of_the_first_byte(numbers: frozenset[int]) -> None:
    told = bits(numbers)
    assert {place for place in range(len(told) * 8) if told[place // 8] >> place % 8 & 1} == numbers
    assert not told.endswith(b"\0")


def test_an_object_of_unknown_length_is_never_complete() -> None:
    assert not PastLines("seg/a", 0, b"").all_past
    assert not added_up("seg/a", []).all_past
    assert not added_up("seg/a", [PastLines("seg/a", 0, bits(range(8)))]).all_past
