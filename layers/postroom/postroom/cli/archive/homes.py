"""The home of an archive, as it is told: a folder, `s3://bucket/prefix`, or `service`. Told here, and nowhere else."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from postroom.cli.exits import UsageFault

if TYPE_CHECKING:
    from postroom.client.archive import Home

_S3: Final = "s3://"
_SERVICE: Final = "service"


@dataclass(frozen=True, slots=True)
class Place:
    """A home, and how it is told from whatever folder: absolute."""

    home: "Home"
    told: str


def open_home(text: str) -> Place:
    """The home that is told so. Raises UsageFault."""
    if text == _SERVICE:
        # Here the home at our own service is opened, once there is one (client/archive/service.py).
        raise UsageFault("an archive cannot be kept at the post office yet: say a folder, or s3://bucket/prefix")
    if text.startswith(_S3):
        return _in_bucket(text)
    if "://" in text:
        raise UsageFault(f"{text!r} is no home: say a folder, or s3://bucket/prefix")
    return _in_folder(Path(text))


def _in_folder(folder: Path) -> Place:
    from postroom.client.archive import FolderHome

    whole = folder.expanduser().resolve()
    if whole.exists() and not whole.is_dir():
        raise UsageFault(f"{folder} is no folder")
    return Place(FolderHome(whole), str(whole))


def _in_bucket(text: str) -> Place:
    import boto3

    from postroom.client.archive.s3 import S3Home

    parts = urlsplit(text)
    if not parts.netloc or parts.query or parts.fragment:
        raise UsageFault(f"{text!r} is no home in a bucket: say s3://bucket/prefix")
    prefix = parts.path.strip("/")
    home = S3Home(boto3.Session().client("s3"), parts.netloc, f"{prefix}/" if prefix else "")
    return Place(home, f"{_S3}{parts.netloc}/{prefix}".rstrip("/"))
