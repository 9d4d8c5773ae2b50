"""A key has the same three words for ever, by Status's rule (2/ACCOUNT)."""

import hashlib
import re
from itertools import islice
from math import gcd

import pytest
from hypothesis import given
from tests.protocols.status.test_keys import keys

from postroom.protocols.status.keys import ChatKey, chat_key_of, multibase
from postroom.protocols.status.pseudonym import OURS, Words, _outputs, _seed, pseudonym, short_key
from postroom.protocols.status.pseudonym_words import ADJECTIVES, ANIMALS

PUBLISHED = ChatKey(
    "0x04eedbaafd6adf4a9233a13e7b1c3c14461fffeba2e9054b8d456ce5f6ebeafadc"
    "bf3dce3716253fbc391277fa5a086b60b283daf61fb5b1f26895f456c2f31ae3"
)
OF_SEED_42 = chat_key_of(b"\x02" + (42 + (4 << 64)).to_bytes(32))
"""A point whose x ends in 42; what stands before the last 64 bits makes no difference."""
NUMBERED = Words([f"a{number}" for number in range(1389)], [f"b{number}" for number in range(1704)])
"""Lists as long as Status's own, whose words are their places."""


@pytest.mark.parametrize(
    ("seed", "outputs"),
    [
        (42, [84, 169, 339]),
        (0x456CE5F6EBEAFADC, [10005252269569078713, 1563760465428605810, 3127520930857211620]),
        (0, [0, 0, 0]),
    ],
)
def test_the_known_outputs_of_the_shift_register(seed: int, outputs: list[int]) -> None:
    assert list(islice(_outputs(seed), 3)) == outputs


@pytest.mark.parametrize(
    ("key", "seed", "name"),
    [(OF_SEED_42, 42, "A84 A169 B339"), (PUBLISHED, 0x456CE5F6EBEAFADC, "A1266 A419 B340")],
)
def test_the_known_places_in_lists_of_statuss_length(key: ChatKey, seed: int, name: str) -> None:
    assert _seed(key) == seed
    assert pseudonym(key, NUMBERED) == name


@given(keys())
def test_a_key_has_two_adjectives_and_an_animal(key: ChatKey) -> None:
    first, second, animal = pseudonym(key).split(" ")
    assert {first.lower(), second.lower()} <= set(OURS.adjectives)
    assert animal.lower() in OURS.animals
    assert all(word[0].isupper() for word in (first, second, animal))


def test_our_words_of_known_keys() -> None:
    assert pseudonym(OF_SEED_42) == "Curious Friendly Wolverine"
    assert pseudonym(PUBLISHED) == "Discreet Mystical Tuna"


@given(keys())
def test_the_short_key_is_the_end_of_what_people_copy(key: ChatKey) -> None:
    assert len(short_key(key)) == 8
    assert multibase(key).endswith(short_key(key))


def test_the_lists_never_change() -> None:
    text = "\n".join((*ADJECTIVES, "", *ANIMALS))
    assert hashlib.sha256(text.encode()).hexdigest() == (
        "86fa9ebdbdd9c6b3be90aff0d53260caef5abe9a40a9870169aa9eed3ea281ce"
    ), "with another list most keys have another pseudonym"


@pytest.mark.parametrize("words", [ADJECTIVES, ANIMALS], ids=["adjectives", "animals"])
def test_a_list_is_sorted_and_each_word_is_in_it_once(words: tuple[str, ...]) -> None:
    assert list(words) == sorted(set(words))
    assert all(re.fullmatch("[a-z]{2,13}", word) for word in words)


def test_the_lengths_have_no_common_factor_with_each_other_or_with_two() -> None:
    # The second output is twice the first, or one more, but for its highest bit. In a list whose length is a power of
    # two the second adjective would say one bit more than the first; in two lists of one length the animal neither.
    assert gcd(len(ADJECTIVES), 2) == gcd(len(ANIMALS), 2) == gcd(len(ADJECTIVES), len(ANIMALS)) == 1
