"""The owner's connection to a mailbox: over HTTPS, signed in by the owner's key."""

import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from postroom.cli.deployment import DeploymentOptions
from postroom.cli.descriptor import read_descriptor
from postroom.cli.exits import NotFoundFault, RefusalFault, UnavailableFault, UsageFault
from postroom.cli.inputs import read_passphrase
from postroom.cli.local_stack import LocalOptions
from postroom.cli.network import CaFile, choose_network, open_resolvers
from postroom.cli.options import OptionGroup
from postroom.cli.output import note
from postroom.core.errors import OurError

if TYPE_CHECKING:
    from postroom.client.mailbox import Mailbox
    from postroom.crypto.rsa_ed25519 import PrivateKey
    from postroom.protocols.dm3.keys import UserKeys

_AT: Final = typer.Option(
    "--at", envvar="POSTROOM_AT", metavar="URL", help="The post office: https:// and its host.", show_default=False
)
_KEY: Final = typer.Option(
    "--key",
    envvar="POSTROOM_KEY",
    metavar="FILE",
    help="The owner's private key: PEM, or what `postroom dm3 keygen` writes.",
    show_default=False,
)
At = Annotated[str, _AT]
OptionalAt = Annotated[str | None, _AT]
OwnersKey = Annotated[Path, _KEY]
ATTEMPTS: Final = 3
"""Attempts of a request while a person waits."""
WATCHING_ATTEMPTS: Final = 6
"""Of a command that waits for messages: nobody may be there to start it again."""
_HTTPS: Final = 443


@dataclass(frozen=True, slots=True)
class Way:
    """How a post office is reached, as for `Mailbox`."""

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
    """Through the local stack, if there is one; otherwise by DNS. Each other option takes precedence.

    Raises SettingsError, UsageFault, UnavailableFault.
    """
    from postroom.client.mailbox.http import read_address

    host, way = read_address(url, None).host, way_through(local, ca_file)
    if resolvers:
        return replace(way, connect=(_look_up(host, resolvers), port or _HTTPS))
    if port:
        return replace(way, connect=(way.connect[0] if way.connect else host, port))
    return way


def way_through(local: Path | None, ca_file: Path | None) -> Way:
    """Through a local stack; None: by DNS. `ca_file` takes precedence over the stack's. Raises UsageFault."""
    there = read_descriptor(local) if local else None
    trusted = str(ca_file) if ca_file else there.ca_file if there else None
    return Way(trusted, ("127.0.0.1", there.port) if there else None)


def _look_up(host: str, resolvers: list[str]) -> str:
    from postroom.names.host_addresses import addresses

    with open_resolvers(choose_network(None, resolvers=resolvers)) as opened:
        found = addresses(host, opened.asking())
    if not found:
        raise NotFoundFault(f"the resolver says that there is no host {host}")
    return found[0]


def load_owners_key(path: Path) -> "PrivateKey | UserKeys":
    """An owner's key; a dm3 user's keys open messages, too. Raises UsageFault, which does not show it."""
    from postroom.client.mailbox.keys import read_key

    try:
        return read_key(path, lambda: read_passphrase(path))
    except OurError as error:
        raise UsageFault(str(error)) from None


@contextmanager
def open_mailbox(
    url: str, name: str, key: "PrivateKey | UserKeys", way: Way, *, attempts: int = ATTEMPTS
) -> "Iterator[Mailbox]":
    """The mailbox, until the block ends; its errors end the command.

    Raises RefusalFault, UnavailableFault, UsageFault.
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
            warnings.showwarning = lambda message, *_, **__: note(str(message))
            yield mailbox
    except RefusedError as error:
        raise RefusalFault(str(error), reason=error.reason) from None
    except MailboxError as error:
        raise UnavailableFault(str(error), reason=error.reason) from None


@dataclass(frozen=True, kw_only=True)
class OwnersKeyOptions(OptionGroup):
    """The owner's key, and how the post office is reached."""

    key: OwnersKey
    ca_file: CaFile = None
    local: LocalOptions

    def open_at(self, url: str, name: str, *, attempts: int = ATTEMPTS) -> "AbstractContextManager[Mailbox]":
        """As `open_mailbox`: through the local stack that is named or runs here; not with `--ca-file`."""
        way = find_way(url, self.local.stack(elsewhere=self.ca_file is not None), self.ca_file)
        return open_mailbox(url, name, load_owners_key(self.key), way, attempts=attempts)


@dataclass(frozen=True, kw_only=True)
class OwnerOptions(OwnersKeyOptions):
    """An owner, and the post office where the mailbox is."""

    at: At

    def open(self, name: str, *, attempts: int = ATTEMPTS) -> "AbstractContextManager[Mailbox]":
        """As `open_mailbox`."""
        return self.open_at(self.at, name, attempts=attempts)


@dataclass(frozen=True, kw_only=True)
class OptionalOwnerOptions(OptionGroup):
    """An owner, for a command that operators use, too: with --at it is the owner."""

    at: OptionalAt = None
    key: Annotated[Path | None, _KEY] = None
    ca_file: CaFile = None
    deployment: DeploymentOptions

    def owner(self) -> OwnerOptions | None:
        """The owner; None: the operator, who may name a deployment on AWS although POSTROOM_AT is set.

        Raises UsageFault.
        """
        on_aws = "stack_name" in self.deployment.given and "at" not in self.given
        if self.at is None or on_aws:
            if self.given & {"key", "ca_file"}:
                raise UsageFault("--key and --ca-file are for the owner: add --at URL")
            return None
        if self.key is None:
            raise UsageFault("--at is for the owner, who signs in: add --key FILE")
        return OwnerOptions(at=self.at, key=self.key, ca_file=self.ca_file, local=self.deployment.local)
