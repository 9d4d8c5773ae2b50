"""Mentions in a chat message's text: finding, writing, showing and completing them (6/PAYLOADS: Mentions).

In a text that is sent, a mention is "@" and a chat key. Status's parser looks at the form alone, and at what follows:
the end, white space or one of . , : ; ! ?, so that a key within a longer word is none. Nothing need stand before it.
We read "@" and a compressed key and the tag of everyone as well, which later clients write. A text of this form whose
key is no chat key mentions nobody: it is no mention here, and is shown as it is.

What follows a mention is the same when it is written: "(@alice.eth)" stays as it was typed, for no client would see a
mention in "(@0x04…)".
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from postroom.protocols.status.keys import ChatKey, read_chat_key, read_multibase
from postroom.protocols.status.pseudonym import pseudonym
from postroom.protocols.status.white_space import WHITE_SPACE

_EVERYONE: Final = "0x00001"
_EVERYONE_SHOWN: Final = "everyone"
_END: Final = f"(?![^{WHITE_SPACE}.,:;!?])"
# Each form has one length: the search takes time in proportion to the text's length, whatever is in it.
_MENTION: Final = re.compile(f"@(0x[0-9a-f]{{130}}|zQ3sh[1-9A-HJ-NP-Za-km-z]{{44}}|{_EVERYONE}){_END}")
_AT: Final = re.compile(r"(?<![\w.+/@-])@")
# "@alice.eth" does not name alice, even if nobody knows alice.eth.
_NAME_ENDS: Final = re.compile(rf"{_END}(?!\.\w)")


@dataclass(frozen=True, slots=True)
class Mention:
    """A mention in a text. `start` is the place of its "@", `end` that behind its last character, in code points."""

    start: int
    end: int
    key: ChatKey | None
    """Who is mentioned; None: everyone in the chat."""


def find_mentions(text: str) -> list[Mention]:
    """The mentions in a text, in its order. They do not overlap."""
    return list(_mentions(text))


def write_mentions(text: str, names: Mapping[str, ChatKey]) -> str:
    """The text to send for one that a user typed: where "@" and one of these names stand, "@" and the key.

    The longest name counts. What follows it is what may follow a mention, but not a dot and a letter or digit, as in a
    longer name. Before the "@" stands no letter, no digit and none of _ . + - / @, as in mail addresses and URLs. Names
    are compared without regard to case, as those of ENS are; if two are the same then and have different keys, nobody
    is mentioned. Mentions that the text has already stay as they are.
    """
    tree = _tree(names)
    mentions = {mention.start for mention in _mentions(text)}
    parts = []
    written = 0
    for at in _AT.finditer(text):
        if at.start() < written or at.start() in mentions:
            continue
        end, key = _longest_name(text, at.end(), tree)
        if key is not None:
            parts += [text[written : at.end()], key]
            written = end
    return "".join([*parts, text[written:]])


def show_mentions(text: str, name_of: Callable[[ChatKey], str]) -> str:
    """The text to show for one that came: each mention as "@" and the name, or "@everyone".

    A name may hold anything: what it brings into the text is not searched for mentions.
    """
    parts = []
    shown = 0
    for mention in _mentions(text):
        name = _EVERYONE_SHOWN if mention.key is None else name_of(mention.key)
        parts += [text[shown : mention.start], "@", name]
        shown = mention.end
    return "".join([*parts, text[shown:]])


def complete(prefix: str, known: Iterable[tuple[str, ChatKey]]) -> list[tuple[str, ChatKey]]:
    """What a user may mean who typed "@" and `prefix`: texts to put in its place, and whom they name.

    `known`: names and their keys. Each of these is proposed by its name if one of its words begins with the prefix,
    otherwise by its key's pseudonym if one of that's does, without regard to case. First those that begin with the
    prefix themselves; then in the order of the alphabet.
    """
    start = prefix.casefold()
    found = set()
    for name, key in known:
        for text in (name, pseudonym(key)):
            folded = text.casefold()
            if f" {start}" in f" {folded}":
                found.add((not folded.startswith(start), folded, text, key))
                break
    return [(text, key) for _, _, text, key in sorted(found)]


def _mentions(text: str) -> Iterator[Mention]:
    for match in _MENTION.finditer(text):
        written = match[1]
        if written == _EVERYONE:
            yield Mention(match.start(), match.end(), None)
        elif (key := _key(written)) is not None:
            yield Mention(match.start(), match.end(), key)


def _key(written: str) -> ChatKey | None:
    if written.startswith("0x"):
        return read_chat_key(written)
    try:
        return read_multibase(written)
    except ValueError:
        return None


@dataclass(slots=True)
class _NameTree:
    """Names by their characters in one case. `keys`: of the names that end here; several: the name says too little."""

    keys: set[ChatKey] = field(default_factory=set)
    following: "dict[str, _NameTree]" = field(default_factory=dict)


def _tree(names: Mapping[str, ChatKey]) -> _NameTree:
    root = _NameTree()
    for name, key in names.items():
        node = root
        for character in name.casefold():
            node = node.following.setdefault(character, _NameTree())
        node.keys.add(key)
    return root


def _longest_name(text: str, start: int, tree: _NameTree) -> tuple[int, ChatKey | None]:
    """Where the longest name from `start` on ends, and whose it is; None: nobody's, or several keys have it."""
    node: _NameTree | None = tree
    found: tuple[int, ChatKey | None] = start, None
    for place in range(start, len(text)):
        # Some characters are several in one case: all of them, so that a name ends where a character of the text does.
        for character in text[place].casefold():
            node = node and node.following.get(character)
        if node is None:
            break
        if node.keys and _NAME_ENDS.match(text, place + 1):
            found = place + 1, next(iter(node.keys)) if len(node.keys) == 1 else None
    return found
