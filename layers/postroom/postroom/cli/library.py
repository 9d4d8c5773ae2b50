"""What the jobs on AWS load from the deployment's bucket: scripts, this library as a zip file, and packages."""

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from postroom.cli.job_wheels import fetch_wheels
from postroom.jobs.library import library, script
from postroom.local.checkout import job_scripts, layer_lock
from postroom.local.package import zip_folder


def published(*, wheels: bool) -> Iterator[tuple[str, bytes]]:
    """The objects to upload, by name below LIBRARIES, the library last; `wheels`: with the packages.

    Raises SettingsError if there is no checkout here, OurError.
    """
    if wheels:
        with TemporaryDirectory() as folder:
            yield from ((path.name, path.read_bytes()) for path in fetch_wheels(layer_lock(), Path(folder)))
    yield from ((script(path.stem), path.read_bytes()) for path in job_scripts())
    yield library(), packed()


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
