"""`postroom archive search`: full-text search, and its index."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from postroom.cli.archive.entry_text import shortened
from postroom.cli.archive.inputs import ArchiveOptions
from postroom.cli.exits import UnavailableFault, UsageFault
from postroom.cli.inputs import AsJson
from postroom.cli.output import print_either, print_json
from postroom.cli.progress import progress
from postroom.cli.terminal import print_line
from postroom.cli.user_folders import cache_folder

if TYPE_CHECKING:
    from postroom.client.archive import Archive
    from postroom.client.archive.index import ChatTexts, Hit, Index
    from postroom.crypto.rsa_ed25519 import PrivateKey
    from postroom.protocols.dm3.keys import UserKeys


def search(
    text: Annotated[str, typer.Argument(help="Words, or parts of words, that a message must contain.")],
    options: ArchiveOptions,
    limit: Annotated[int, typer.Option(min=1, help="Show at most this many messages, the newest first.")] = 50,
    no_index: Annotated[
        bool, typer.Option("--no-index", help="Read all messages instead, without an index on this machine.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Find messages by their words.

    Texts of chats are found as the chats show them. An index in your cache folder is updated first, and that of chats
    if it is needed; they are not encrypted.
    """
    from postroom.client.archive.index import scan, terms_of

    if not terms_of(text):
        raise UsageFault("the text to search for is empty")
    with options.open_with_keys() as (archive, keys):
        chats = _chats(archive, keys, has_index=not no_index)
        if no_index:
            with progress("reading", lambda: len(archive.conversations())) as met:
                hits = scan(archive, text, limit, chats, lambda _: met(1))
        else:
            with _used(archive, chats) as index:
                hits = index.search(text, limit)
    _print(hits, as_json=as_json)


def index(
    options: ArchiveOptions,
    drop: Annotated[bool, typer.Option("--drop", help="Remove the index from this machine instead.")] = False,
    as_json: AsJson = False,
) -> None:
    """Update the search index, or remove it."""
    with options.open_with_keys() as (archive, keys):
        if drop:
            there = _index_of(archive, None).drop()
            print_either(as_json, {"dropped": there}, "the index is removed" if there else "there is no index")
            return
        with _used(archive, _chats(archive, keys)) as made:
            print_either(
                as_json, {"index": str(made.path)}, f"the index {made.path} is up to date; it is not encrypted"
            )


def _chats(archive: "Archive", keys: "PrivateKey | UserKeys", *, has_index: bool = True) -> "ChatTexts | None":
    """The texts of the owner's chats; None: these keys sign no chats."""
    from postroom.protocols.dm3.keys import UserKeys

    key = keys.signing.ethereum_key if isinstance(keys, UserKeys) else None
    if key is None:
        return None
    # What chats need takes longest to import.
    from postroom.cli.archive.chat_texts import chat_texts

    return chat_texts(archive, key, has_index=has_index)


def _index_of(archive: "Archive", chats: "ChatTexts | None") -> "Index":
    from postroom.client.archive.index import Index

    return Index(archive, cache_folder("archive"), chats)


@contextmanager
def _used(archive: "Archive", chats: "ChatTexts | None") -> "Iterator[Index]":
    """The updated index."""
    index = _index_of(archive, chats)
    try:
        with progress("indexing", lambda: len(archive.conversations())) as met:
            index.update(lambda _: met(1))
        yield index
    except sqlite3.Error as error:
        advice = "`postroom archive index --drop` removes it, --no-index searches without"
        raise UnavailableFault(f"the index {index.path} cannot be used: {error}; {advice}") from None


def _print(hits: "list[Hit]", *, as_json: bool) -> None:
    from postroom.protocols.dm3.explain import shown_time

    if as_json:
        print_json([
            {"partner": hit.partner, "from": hit.author, "at": shown_time(hit.at_ms),
             "hash": hit.message_hash, "text": hit.text}
            for hit in hits
        ])  # fmt: skip
        return
    for hit in hits:
        print_line(f"{shown_time(hit.at_ms)}  {hit.author}")
        for line in shortened(hit.text).split("\n"):
            print_line(f"    {line}")
    if not hits:
        print_line("nothing was found")
