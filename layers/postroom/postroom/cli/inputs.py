"""The inputs of commands: files or standard input, names, keys. An invalid one is a usage error."""

import os
import re
import sys
import time
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from getpass import getpass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO, Final, TypeVar

import typer

from postroom.cli.exits import UsageFault
from postroom.core.errors import OurError, TheirError
from postroom.core.ijson import JsonValue
from postroom.core.settings import DeploymentSettings

if TYPE_CHECKING:
    from postroom.crypto.rsa_ed25519 import PrivateKey, PublicKey
    from postroom.protocols.nlweb.schema import Dialect

K = TypeVar("K")

FALLBACK_SELECTOR = "pw1"
"""For a dialect that has no default selector of its own."""

_YEAR_9999: Final = 253_370_764_800
"""Epoch seconds: a time is shown with a year of four digits."""
_HASH: Final = re.compile("[0-9a-f]{64}")

AsJson = Annotated[bool, typer.Option("--json", help="Write JSON, for programs.")]


@contextmanager
def open_input(name: str) -> Iterator[BinaryIO]:
    """A file, open to read; `-`: standard input. Raises OSError or UsageFault."""
    if name != "-":
        with Path(name).open("rb") as file:
            yield file
    elif sys.stdin is None:
        raise UsageFault("standard input is closed; name a file, or pipe one in")
    else:
        yield sys.stdin.buffer


def read_input(name: str) -> bytes:
    """The bytes of a file; `-`: of standard input. Raises OSError or UsageFault."""
    with open_input(name) as file:
        return file.read()


def shown_input(name: str) -> str:
    """The name of a file in an error; `-`: of standard input."""
    return "standard input" if name == "-" else name


def time_of_receipt(now: float | None) -> float:
    """The time of `--now` in seconds since the epoch; None: now. Raises UsageFault."""
    if now is None:
        return time.time()
    if not 0 <= now < _YEAR_9999:
        raise UsageFault(f"--now is {now}; it must be seconds since 1970, before the year 9999")
    return now


def parse_body(data: bytes, name: str) -> JsonValue:
    """The Body of a message, from the JSON that was read from `name`. Raises UsageFault with the reason."""
    from postroom.core.ijson import parse

    try:
        return parse(data, max_bytes=DeploymentSettings().nlweb_max_body_bytes)
    except TheirError as error:
        raise UsageFault(f"{shown_input(name)} is not a Body: {error}", reason=str(error.reason)) from None


def domain_name(text: str) -> str:
    """A host name, in lower case, as A-labels."""
    from postroom.protocols.nlweb.names import read_receiver

    try:
        return read_receiver(text)
    except TheirError:
        raise typer.BadParameter(f"{text!r} is not a host name such as receiver.example") from None


def mailbox_name(text: str) -> str:
    """The normalised name of a mailbox."""
    from postroom.api.mailbox_names import read_mailbox_name

    try:
        return read_mailbox_name(text)
    except TheirError:
        raise typer.BadParameter(f"{text!r} is not a name such as orders.receiver.example or bob.eth") from None


MailboxName = Annotated[
    str, typer.Argument(metavar="NAME", help="The mailbox; a domain's own is named as the domain.", parser=mailbox_name)
]


def wallet_uuid(text: str) -> str:
    """A UUID, in lower case."""
    from postroom.protocols.nlweb.names import is_uuid

    if not is_uuid(text.lower()):
        raise typer.BadParameter(f"{text!r} is not a UUID of the form 8-4-4-4-12")
    return text.lower()


def message_name(text: str) -> str:
    """A Correlation as it is written, or the message hash of a dm3 message."""
    from postroom.protocols.nlweb.names import read_uuid

    if read_uuid(text) is None and not _HASH.fullmatch(text):
        raise typer.BadParameter(f"{text!r} is neither a Correlation (a UUID) nor the hash of a dm3 message")
    return text


def dialect_called(name: str) -> "Dialect":
    """`nlweb` or `pollyweb`."""
    from postroom.protocols.nlweb.schema import BY_NAME

    if name not in BY_NAME:
        raise UsageFault(f"--dialect is {name!r}; it must be {' or '.join(BY_NAME)}")
    return BY_NAME[name]


def chosen_selector(dialect: "Dialect", selector: str | None) -> str:
    """The selector of a key: the given one, or the dialect's default. Raises UsageFault."""
    from postroom.protocols.nlweb.names import read_selector

    try:
        return read_selector(selector or dialect.default_selector or FALLBACK_SELECTOR, dialect.selector_member)
    except TheirError:
        raise UsageFault(f"--selector is {selector!r}; it must be labels of letters, digits and hyphens") from None


def read_passphrase(path: Path) -> str:
    """The passphrase of an encrypted key: from the environment, or typed at the terminal. Raises UsageFault."""
    return _passphrase(f"{path} is encrypted", f"Passphrase of {path}: ")


def choose_passphrase(path: Path) -> str:
    """The passphrase of a new keystore: from the environment, or typed twice at the terminal. Raises UsageFault."""
    need = f"{path} is to be encrypted"
    passphrase = _passphrase(need, f"Passphrase of {path}: ")
    if not passphrase:
        raise UsageFault(f"{need}: choose a passphrase that is not empty")
    if passphrase != _passphrase(need, "The same passphrase again: "):
        raise UsageFault("the second passphrase is another one; nothing was written")
    return passphrase


def _passphrase(need: str, prompt: str) -> str:
    from postroom.client.mailbox.keys import PASSPHRASE

    if (passphrase := os.environ.get(PASSPHRASE)) is not None:
        return passphrase
    if not sys.stdin.isatty():
        raise UsageFault(f"{need}: set {PASSPHRASE}, or run the command at a terminal")
    return getpass(prompt)


def load_private_key(path: Path) -> "PrivateKey":
    """A private key from a PEM file. Raises UsageFault."""
    from postroom.crypto.rsa_ed25519 import PrivateKey

    try:
        return PrivateKey.from_pem(path.read_bytes(), passphrase=lambda: read_passphrase(path))
    except OurError as error:
        raise UsageFault(f"{path}: {error}") from None


def read_public_key(text: str, source: str) -> "PublicKey":
    """A public key: a SubjectPublicKeyInfo as PEM or base64. Raises UsageFault that names `source`."""
    from postroom.crypto.rsa_ed25519 import public_key_from_spki

    return _read_spki(text, source, public_key_from_spki)


def load_public_key(path: Path) -> "PublicKey":
    """A public key from a file. Raises UsageFault."""
    return read_public_key(_text_of(path), str(path))


def load_owner_key(path: Path) -> str:
    """A key of any kind that signs in, from a file: base64 of a SubjectPublicKeyInfo. Raises UsageFault."""
    from postroom.http.owner_keys import owner_key_from_spki

    def checked(spki: bytes) -> bytes:
        owner_key_from_spki(spki)
        return spki

    return b64encode(_read_spki(_text_of(path), str(path), checked)).decode()


def _text_of(path: Path) -> str:
    return path.read_text(encoding="ascii", errors="replace")


def _read_spki(text: str, source: str, read: Callable[[bytes], K]) -> K:
    if "PRIVATE KEY-----" in text:
        raise UsageFault(f"{source} is a private key; give the public one")
    base64 = "".join(line.strip() for line in text.splitlines() if not line.startswith("-----"))
    try:
        return read(b64decode(base64, validate=True))
    except (Base64Error, ValueError):
        raise UsageFault(f"{source} is not a public key: neither PEM nor base64 of a SubjectPublicKeyInfo") from None
    except TheirError as error:
        raise UsageFault(f"{source} is not an acceptable public key: {error.detail}") from None
