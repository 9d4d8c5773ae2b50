"""Every entry holds for its seeds, for what `make fuzz` kept, and for some changes of them.

`make fuzz` looks for longer, and is led by the lines that an input reaches; this finds what breaks at once.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fuzz.corpus import kept
from tests.fuzz.entries import ENTRIES
from tests.fuzz.entry import Entry
from tests.fuzz.mutate import CHANGES, REPETITIONS, changed, pumped
from tests.tiers import examples

EACH = pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES)


@EACH
def test_the_entry_holds_for_the_known_inputs(entry: Entry) -> None:
    for data in (*entry.seeds, *(path.read_bytes() for path in kept(entry.name))):
        entry.run(data)


@EACH
@settings(max_examples=examples(CHANGES))
@given(data=st.data())
def test_the_entry_holds_for_changes_of_known_inputs(entry: Entry, data: st.DataObject) -> None:
    known = data.draw(st.sampled_from(entry.seeds))
    random = data.draw(st.randoms(use_true_random=False))
    entry.run(changed(known, random, entry.seeds))


@EACH
@settings(max_examples=examples(REPETITIONS))
@given(data=st.data())
def test_the_entry_holds_for_repetitions_up_to_the_largest_input(entry: Entry, data: st.DataObject) -> None:
    known = data.draw(st.sampled_from(entry.seeds))
    entry.run(pumped(known, data.draw(st.randoms(use_true_random=False)), entry.max_bytes))
