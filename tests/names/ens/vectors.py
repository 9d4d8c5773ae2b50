"""The known answers for look-ups in ENS, of tests/vectors/names.json."""

import json
from pathlib import Path
from typing import Any, Final

NAMES: Final[dict[str, Any]] = json.loads(
    (Path(__file__).parents[2] / "vectors" / "names.json").read_text(encoding="utf-8")
)
EXCHANGES: Final = NAMES["exchanges"]


def raw(text: str) -> bytes:
    """The bytes of 0x and hexadecimal digits."""
    return bytes.fromhex(text.removeprefix("0x"))


RESOLVER: Final = raw(EXCHANGES["addresses"]["universal_resolver"])
REGISTRY: Final = raw(EXCHANGES["addresses"]["registry"])
