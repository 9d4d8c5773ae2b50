"""The options of the commands that use an owner's chats, and the chats that they open."""

import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Annotated

import typer

from postroom.cli.archive.homes import FORMS
from postroom.cli.dm3.archive import open_own_archive
from postroom.cli.dm3.inputs import KeyFile, load_user_keys
from postroom.cli.dm3.names import NameOptions
from postroom.cli.exits import NotFoundFault, UnavailableFault, UsageFault
from postroom.cli.inputs import mailbox_name
from postroom.cli.network import ConnectionOptions, build_https, open_resolvers
from postroom.cli.options import OptionGroup
from postroom.cli.owner import ATTEMPTS, OptionalAt, OwnersKeyOptions
from postroom.cli.user_folders import cache_folder

if TYPE_CHECKING:
    from postroom.client import Mailbox
    from postroom.client.archive import Archive
    from postroom.client.chat import Chats
    from postroom.client.chat.index import ChatIndex


@dataclass(frozen=True, kw_only=True)
class ChatOptions(OptionGroup):
    """Who chats, and where the chats are kept."""

    key: KeyFile
    home: Annotated[
        str, typer.Option("--home", envvar="POSTROOM_HOME", metavar="HOME", help=f"The archive's home: {FORMS}.")
    ]
    owner: Annotated[
        str | None,
        typer.Option(
            "--as",
            metavar="NAME",
            help="Your name, or your domain in A-labels.",
            show_default="the archive's",
            parser=mailbox_name,
        ),
    ] = None
    no_index: Annotated[
        bool, typer.Option("--no-index", help="Read the whole archive instead, without an index on this machine.")
    ] = False
    names: NameOptions
    connections: ConnectionOptions

    @contextmanager
    def open(self) -> Iterator["Chats"]:
        """The chats, until the block ends. Their errors end the command."""
        from postroom.client.chat import ChatError, Chats, NoSuchChatError
        from postroom.client.dm3 import Dm3Sender

        keys = load_user_keys(self.key)
        network = self.names.network_with(self.connections)
        with (
            self.names.profiles(network) as profiles,
            self.open_archive() as archive,
            open_resolvers(network) as resolvers,
        ):
            sender = Dm3Sender(archive.owner, keys, profiles, build_https(network, resolvers))
            index = None if self.no_index else chat_index(archive)
            try:
                with chat_index_errors():
                    yield Chats(archive, sender, index)
            except NoSuchChatError as error:
                raise NotFoundFault(str(error)) from None
            except ChatError as error:
                raise UsageFault(str(error)) from None

    def open_archive(self) -> "AbstractContextManager[Archive]":
        """The archive, until the block ends. Its errors end the command."""
        return open_own_archive(self.home, self.key, self.connections, self.owner)

    def mailbox(self, at: str, chats: "Chats", *, attempts: int = ATTEMPTS) -> "AbstractContextManager[Mailbox]":
        """The mailbox of the chats' owner at a post office. `attempts`: of each request."""
        owner = OwnersKeyOptions(key=self.key, ca_file=self.connections.ca_file, local=self.connections.local)
        return owner.open_at(at, chats.name, attempts=attempts)


@dataclass(frozen=True, kw_only=True)
class SendingOptions(ChatOptions):
    """The same, and the post office that sends to NLWeb domains."""

    at: OptionalAt = None

    @contextmanager
    def open(self) -> Iterator["Chats"]:
        """The same. The post office is asked only if something is sent to a domain."""
        with super().open() as chats, ExitStack() as opened:
            if at := self.at:
                chats.send_through(cache(lambda: opened.enter_context(self.mailbox(at, chats))))
            yield chats


def chat_index(archive: "Archive") -> "ChatIndex":
    """The index of the chats in an archive."""
    from postroom.client.chat.index import ChatIndex

    return ChatIndex(archive, cache_folder("chats"))


@contextmanager
def chat_index_errors() -> Iterator[None]:
    """Turn errors of the index of chats into the end of a command."""
    try:
        yield
    except sqlite3.Error as error:
        raise UnavailableFault(
            f"the index of chats cannot be used: {error}; `postroom chat index --drop` removes it, --no-index "
            "reads the archive instead"
        ) from None
