"""Names as ENSIP-15 normalises them (decision "Profiles")."""

import re

from postroom.core.errors import TheirError
from postroom.protocols.dm3.reasons import NAME_INVALID

MAX_NAME_BYTES = 255
"""Of a name in UTF-8, as it is written and as it is normalised."""

# Most names are these. ENSIP-15 leaves them as they are, but for their case
# (tests/protocols/dm3/test_names.py); what is in doubt, such as a label with hyphens in its third and
# fourth place, is none of them and goes to the library.
_PLAIN = re.compile(r"(?!..--)[a-z0-9-]+(?:\.(?!..--)[a-z0-9-]+)*", re.ASCII)


def normalize(name: str) -> str:
    """The one spelling of a name. Two names are the same if this is; to normalise twice changes nothing.

    A name without a dot is a name. Raises TheirError(NAME_INVALID): empty, or an empty label; more than
    `MAX_NAME_BYTES`; characters that are not allowed, cannot be seen, or mix scripts (ENSIP-15).
    """
    _check_length(name)
    # ASCII first: beyond it, `lower` and ENSIP-15 need not agree.
    if name.isascii() and _PLAIN.fullmatch(plain := name.lower()):
        return plain
    # "\n" because the library's own fast way overlooks one at the end.
    if not name or "\n" in name:
        raise TheirError(NAME_INVALID, "a name is empty or has a line break in it")
    # Rare, and its tables cost a cold start 0.3 s: imported only where a name needs them.
    from ens_normalize import DisallowedSequence, ens_normalize  # type: ignore[import-untyped]

    try:
        normalized = str(ens_normalize(name))
    except DisallowedSequence as why:
        # Its general sentence names scripts and kinds, and nothing of what the sender wrote.
        raise TheirError(NAME_INVALID, f"ENSIP-15 refuses a name: {why.general_info}") from None
    _check_length(normalized)
    return normalized


def _check_length(name: str) -> None:
    # Characters first, that no time is spent on a long one; lone surrogates are for the library to refuse.
    if len(name) > MAX_NAME_BYTES or len(name.encode(errors="surrogatepass")) > MAX_NAME_BYTES:
        raise TheirError(NAME_INVALID, f"a name has more than {MAX_NAME_BYTES} bytes")
