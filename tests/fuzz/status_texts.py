"""Fuzzing of what a chat message's text names: chat keys in their forms, and mentions."""

from typing import Final

from tests.fuzz.entry import Entry, fuzzed, text_of
from tests.protocols.status.test_keys import KNOWN, OFF_THE_CURVE
from tests.protocols.status.test_pseudonym import OF_SEED_42

from postroom.protocols.status.keys import (
    chat_key_of,
    compressed,
    multibase,
    point_of,
    read_chat_key,
    read_multibase,
)
from postroom.protocols.status.mentions import complete, find_mentions, show_mentions, write_mentions
from postroom.protocols.status.pseudonym import pseudonym, short_key
from postroom.protocols.status.white_space import is_blank

KEYS: Final = (
    KNOWN.encode(),
    multibase(KNOWN).encode(),
    point_of(OF_SEED_42),
    compressed(OF_SEED_42),
    OFF_THE_CURVE.encode(),
    b"\x07" + point_of(KNOWN)[1:],
)


@fuzzed("protocols.status.keys", "protocols.status.pseudonym", seeds=KEYS)
def chat_keys(data: bytes) -> None:
    """A key of any bytes as point, text or compressed text, or none; written it is the same, in one form of each."""
    text = text_of(data)
    found = {read_chat_key(text)}
    for read, given in ((chat_key_of, data), (read_multibase, text)):
        try:
            found.add(read(given))  # type: ignore[operator]
        except ValueError as error:
            assert len(str(error)) < 100, "nothing of what was read is shown"
    for key in found - {None}:
        assert isinstance(key, str)
        assert read_chat_key(key) == chat_key_of(point_of(key)) == chat_key_of(compressed(key)) == key
        assert read_multibase(multibase(key)) == key
        assert text in (key, multibase(key)) or data in (point_of(key), compressed(key))
        assert len(pseudonym(key).split(" ")) == 3
        assert len(short_key(key)) == 8


NAMES: Final = {"alice.eth": KNOWN, pseudonym(OF_SEED_42): OF_SEED_42, "Straße": KNOWN, "x @y": OF_SEED_42}
MOST_TEXT_BYTES: Final = 4 * 4096
"""Of the text of a chat message, in UTF-8."""
TEXTS: Final = (
    f"Hi @{KNOWN}, @{multibase(OF_SEED_42)}: @0x00001!",
    f"@{OFF_THE_CURVE} @{KNOWN}\u3000@{KNOWN}\u200b",
    f"@alice.eth. (@STRASSE @{pseudonym(OF_SEED_42)}? @x @y bob@alice.eth",
    "\u2028\u001f\u0085 @",
)


@fuzzed(
    "protocols.status.mentions",
    "protocols.status.white_space",
    seeds=tuple(text.encode() for text in TEXTS),
    max_bytes=MOST_TEXT_BYTES,
)
def mentions(data: bytes) -> None:
    """Mentions of any text, in order; showing and writing change nothing else, and what was written is found."""
    text = text_of(data)
    found = find_mentions(text)
    parts, end = [], 0
    for mention in found:
        assert end <= mention.start < mention.end <= len(text)
        parts += [text[end : mention.start], "@", mention.key or "everyone"]
        end = mention.end
    assert show_mentions(text, lambda key: key) == "".join([*parts, text[end:]])
    assert write_mentions(text, {}) == text
    sent = write_mentions(text, NAMES)
    assert write_mentions(sent, NAMES) == sent
    assert is_blank(sent) == is_blank(text)
    assert len(find_mentions(sent)) >= len(found)
    for proposed, key in complete(text[:10], NAMES.items()):
        assert NAMES.get(proposed) == key or proposed == pseudonym(key)


ENTRIES: tuple[Entry, ...] = (chat_keys, mentions)
