"""The form of the mailbox API's challenges, as far as a client must know it."""

from enum import StrEnum
from typing import Final

CHALLENGE_TYPE: Final = "challenge+jwt"
"""The header `typ` of a challenge."""
MAX_TOKEN_CHARACTERS: Final = 2048
"""The longest token or challenge; ours have some 500 characters."""


class Purpose(StrEnum):
    """The purpose of a challenge: a signature for one purpose is not valid for the other."""

    PICK_UP = "pick up mail"
    OPEN = "open"
