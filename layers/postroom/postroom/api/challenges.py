"""Challenges of the mailbox API, as far as who signs them must know them."""

from enum import StrEnum
from typing import Final

CHALLENGE_TYPE: Final = "challenge+jwt"
"""The header `typ` of a challenge."""
MAX_TOKEN_CHARACTERS: Final = 2048
"""Of a token or a challenge; ours have some 500."""


class Purpose(StrEnum):
    """What a challenge is signed for: who signs for one has not signed for the other."""

    PICK_UP = "pick up mail"
    OPEN = "open"
