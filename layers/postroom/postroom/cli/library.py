"""The library for the jobs on AWS: a zip file in the deployment's bucket."""

import io
import zipfile
from pathlib import Path

from postroom.local.package import zip_folder


def packed() -> bytes:
    """The library of this checkout."""
    return zip_folder(Path(__file__).parents[1], under="postroom")


def is_packed(data: bytes) -> bool:
    """Whether `data` contains the files of this checkout, however they are compressed, which differs by machine."""
    try:
        return _files(data) == _files(packed())
    except (zipfile.BadZipFile, NotImplementedError, UnicodeDecodeError):
        return False


def _files(data: bytes) -> dict[str, int]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {file.filename: file.CRC for file in archive.infolist()}
