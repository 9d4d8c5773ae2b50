"""The owner's connection to a mailbox: over HTTPS, signed in by the owner's key."""

import sys
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from postroom.cli.descriptor import read_descriptor, stack_of_this_folder
from postroom.cli.exits import NotFoundOut, Refusal, UsageFault
from postroom.cli.network import choose_network, open_resolvers
from postroom.core.errors import OurError

if TYPE_CHECKING:
    from postroom.client.mailbox import Mailbox
    from postroom.crypto.rsa_ed25519 import PrivateKey
    from postroom.protocols.dm3.keys import UserKeys

OwnersKey = Annotated[
    Path | None,
    typer.Option("--key", metavar="FILE", help="The owner's private key: PEM, or what `postroom dm3 keygen` writes."),
]
NeededAt = Annotated[str, typer.Option("--at", metavar="URL", help="The post office: https:// and its host.")]
NeededKey = Annotated[
    Path,
    typer.Option("--key", metavar="FILE", help="The owner's private key: PEM, or what `postroom dm3 keygen` writes."),
]
At = Annotated[str | None, typer.Option(metavar="URL", help="As the owner, over HTTPS, at this post office.")]
ATTEMPTS: Final = 3
"""Of a request, where somebody sits before it."""
_HTTPS: Final = 443


@dataclass(frozen=True, slots=True)
class Way:
    """How a post office is reached: as `Mailbox` has it."""

    ca_file: str | None = None
    connect: tuple[str, int] | None = None


def find_way(
    url: str,
    local: Path | None,
    ca_file: Path | None,
    *,
    resolvers: list[str] | None = None,
    port: int | None = None,
) -> Way:
    """Within a local stack, if one is named; else where DNS says. Each of the others goes before that.

    Raises SettingsError, UsageFault, NotFoundOut.
    """
    from postroom.client.mailbox.http import read_address

    host = read_address(url, None).host
    there = read_descriptor(local) if local else None
    trusted = str(ca_file) if ca_file else there.ca_file if there else None
    if resolvers:
        return Way(trusted, (_look_up(host, resolvers), port or _HTTPS))
    if there:
        return Way(trusted, ("127.0.0.1", port or there.port))
    return Way(trusted, (host, port) if port else None)


def _look_up(host: str, resolvers: list[str]) -> str:
    from postroom.names.addresses import addresses

    with open_resolvers(choose_network(None, resolvers=resolvers)) as opened:
        found = addresses(host, opened.asking())
    if not found:
        raise NotFoundOut(f"there is no host {host}, says the resolver")
    return found[0]


def load_owners_key(path: Path) -> "PrivateKey | UserKeys":
    """An owner's key; that of a user of dm3 opens letters, too. Raises UsageFault, which does not show it."""
    from postroom.client.mailbox.keys import read_key

    try:
        return read_key(path)
    except OurError as error:
        raise UsageFault(str(error)) from None


def open_owners_mailbox(
    url: str, name: str, key: Path, local: Path | None, ca_file: Path | None
) -> "AbstractContextManager[Mailbox]":
    """As `open_mailbox`, with what the options say; of this folder's local stack, if none of them says which."""
    way = find_way(url, local or (None if ca_file else stack_of_this_folder("asking")), ca_file)
    return open_mailbox(url, name, load_owners_key(key), way)


@contextmanager
def open_mailbox(
    url: str, name: str, key: "PrivateKey | UserKeys", way: Way, *, attempts: int = ATTEMPTS
) -> "Iterator[Mailbox]":
    """The mailbox, until the block ends; what it refuses or cannot do becomes the end of a command.

    Raises Refusal, NotFoundOut, UsageFault.
    """
    from postroom.client.mailbox import Mailbox, MailboxError, RefusedError, Retries, UnreadableMessageWarning

    try:
        mailbox = Mailbox(url, name, key, ca_file=way.ca_file, connect=way.connect, retries=Retries(attempts))
    except OurError as error:
        raise UsageFault(str(error)) from None
    try:
        with mailbox, warnings.catch_warnings():
            # For people: a sentence, without the place in our code.
            warnings.simplefilter("always", UnreadableMessageWarning)
            warnings.showwarning = lambda message, *_, **__: print(f"postroom: {message}", file=sys.stderr)
            yield mailbox
    except RefusedError as error:
        raise Refusal(str(error)) from None
    except MailboxError as error:
        raise NotFoundOut(str(error)) from None
