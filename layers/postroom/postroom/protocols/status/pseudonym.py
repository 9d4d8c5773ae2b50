"""Pseudonyms of chat keys: three words that a key always has, for users whose name nobody knows (2/ACCOUNT).

A pseudonym is no proof: whoever tries enough keys finds one with the same words. It is to be shown with `short_key`
beside it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from postroom.protocols.status.keys import ChatKey, multibase, point_of
from postroom.protocols.status.pseudonym_words import ADJECTIVES, ANIMALS

_SEED_BITS: Final = 64
_TAPS: Final = 0xB8
_X_END: Final = 33
_SHORT_CHARACTERS: Final = 8


@dataclass(frozen=True, slots=True)
class Words:
    """What pseudonyms are made of; no list is empty."""

    adjectives: Sequence[str]
    animals: Sequence[str]


OURS: Final = Words(ADJECTIVES, ANIMALS)


def pseudonym(key: ChatKey, words: Words = OURS) -> str:
    """The three words of a key, "Adjective Adjective Animal", with these lists of words.

    With Status's own lists of words it is the name that Status's clients show.
    """
    first, second, third = islice(_outputs(_seed(key)), 3)
    chosen = (
        words.adjectives[first % len(words.adjectives)],
        words.adjectives[second % len(words.adjectives)],
        words.animals[third % len(words.animals)],
    )
    return " ".join(word.capitalize() for word in chosen)


def short_key(key: ChatKey) -> str:
    """What stands beside a pseudonym: the last eight characters of the compressed key as people copy it ("zQ3sh…")."""
    return multibase(key)[-_SHORT_CHARACTERS:]


def _seed(key: ChatKey) -> int:
    """The lowest 64 bits of the point's x."""
    return int.from_bytes(point_of(key)[1:_X_END]) % (1 << _SEED_BITS)


def _outputs(state: int) -> Iterator[int]:
    """What a linear feedback shift register of 64 bits gives, each state in its order."""
    while True:
        state = (state << 1 | (state & _TAPS).bit_count() & 1) % (1 << _SEED_BITS)
        yield state
