"""Normalisation of names by ENSIP-15."""

import re
from typing import Final

MAX_NAME_BYTES: Final = 255
"""The longest name in UTF-8, before and after normalisation."""

# Most names are of this form. ENSIP-15 only changes their case (tests/protocols/dm3/test_names.py). Doubtful names,
# such as labels with hyphens in the third and fourth place, do not match and go to the library.
_PLAIN: Final = re.compile(r"(?!..--)[a-z0-9-]+(?:\.(?!..--)[a-z0-9-]+)*", re.ASCII)


def normalized_name(name: str) -> str:
    """The normalised form of a name. Names are the same if this is; normalising twice changes nothing.

    A name without a dot is a name. Raises ValueError: empty, or an empty label; more than `MAX_NAME_BYTES`; characters
    that are not allowed, are invisible, or mix scripts (ENSIP-15). Its sentence has nothing of the name in it.
    """
    _check_length(name)
    # ASCII only: for other characters, `lower` and ENSIP-15 may differ.
    if name.isascii() and _PLAIN.fullmatch(plain := name.lower()):
        return plain
    # "\n" because the library's own fast path overlooks one at the end.
    if not name or "\n" in name:
        raise ValueError("a name is empty or has a line break in it")
    # Rare, and its tables add 0.3 s to a cold start: imported only if a name needs them.
    from ens_normalize import DisallowedSequence, ens_normalize  # type: ignore[import-untyped]

    try:
        normalized = str(ens_normalize(name))
    except DisallowedSequence as why:
        # Its general sentence names scripts and kinds, and nothing that the sender wrote.
        raise ValueError(f"ENSIP-15 refuses a name: {why.general_info}") from None
    _check_length(normalized)
    return normalized


def _check_length(name: str) -> None:
    # Characters first, so that a long name takes no time; the library refuses lone surrogates.
    if len(name) > MAX_NAME_BYTES or len(name.encode(errors="surrogatepass")) > MAX_NAME_BYTES:
        raise ValueError(f"a name has more than {MAX_NAME_BYTES} bytes")
