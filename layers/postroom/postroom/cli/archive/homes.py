"""The option that names an archive's home.

mail                                  a folder
s3://bucket/prefix                    a bucket
https://nlweb.shop.example/bob.eth    service storage: the post office's host, and the owner's mailbox there
service                               the same, where a command is told host and mailbox anyway
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from postroom.cli.exits import UsageFault
from postroom.cli.owner import OwnersKeyOptions
from postroom.core.errors import TheirError

if TYPE_CHECKING:
    from postroom.client.archive import Home

_S3: Final = "s3://"
_HTTPS: Final = "https://"
_SERVICE: Final = "service"
FORMS: Final = "a folder, s3://bucket/prefix, or https://HOST/NAME at a post office"
_AT_HOST: Final = re.compile(r"(https://[^/?#]+)/([^/?#]+)/?")


@dataclass(frozen=True, slots=True)
class NamedHome:
    """A home, and its absolute name, which is valid in any folder."""

    home: "Home"
    address: str


@contextmanager
def open_home(text: str, owner: OwnersKeyOptions, *, service: tuple[str, str] | None = None) -> Iterator[NamedHome]:
    """The home of this name, until the block ends. `service`: the URL and the mailbox for this word.

    A home at a post office needs the owner's key. Its errors in the block end the command. Raises UsageFault,
    SettingsError, RefusalFault, UnavailableFault.
    """
    if text == _SERVICE or text.startswith(_HTTPS):
        url, name = _read_service(text, service)
        with _at_post_office(url, name, owner) as place:
            yield place
    elif text.startswith(_S3):
        yield _in_bucket(text)
    elif "://" in text:
        raise UsageFault(f"{text!r} is not a home: use {FORMS}")
    else:
        yield _in_folder(Path(text))


def _read_service(text: str, service: tuple[str, str] | None) -> tuple[str, str]:
    """The URL of a post office, and a mailbox there."""
    from postroom.api.mailbox_names import read_mailbox_name

    if text == _SERVICE:
        if service is None:
            raise UsageFault("'service' is not enough here: use https://HOST/NAME")
        return service
    if parts := _AT_HOST.fullmatch(text):
        with suppress(TheirError):
            return parts[1], read_mailbox_name(parts[2])
    raise UsageFault(f"{text!r} is not a home at a post office: use https://HOST/NAME, where NAME is your mailbox")


@contextmanager
def _at_post_office(url: str, name: str, owner: OwnersKeyOptions) -> Iterator[NamedHome]:
    from postroom.client.archive.service import ServiceHome
    from postroom.client.mailbox.http import read_address

    with owner.open_at(url, name) as mailbox:
        yield NamedHome(ServiceHome(mailbox), f"{_HTTPS}{read_address(url, None).named}/{name}")


def _in_folder(folder: Path) -> NamedHome:
    from postroom.client.archive import FolderHome

    whole = folder.expanduser().resolve()
    if whole.exists() and not whole.is_dir():
        raise UsageFault(f"{folder} is not a folder")
    return NamedHome(FolderHome(whole), str(whole))


def _in_bucket(text: str) -> NamedHome:
    import boto3

    from postroom.client.archive.s3 import S3Home

    parts = urlsplit(text)
    if not parts.netloc or parts.query or parts.fragment:
        raise UsageFault(f"{text!r} is not a home in a bucket: use s3://bucket/prefix")
    prefix = parts.path.strip("/")
    home = S3Home(boto3.Session().client("s3"), parts.netloc, f"{prefix}/" if prefix else "")
    return NamedHome(home, f"{_S3}{parts.netloc}/{prefix}".rstrip("/"))
