"""Zip files of folders of the working tree, in the form for Lambda.

Third-party packages are not included: functions find them in this environment, as they find boto3 on AWS.
"""

import io
import zipfile
from pathlib import Path

_EPOCH = (1980, 1, 1, 0, 0, 0)


def zip_folder(folder: Path, *, under: str = "") -> bytes:
    """Return the folder as a zip file, below `under` (`python` for a layer that `sam build` would build).

    The same files give the same bytes, so that an unchanged function is an unchanged resource. Raises FileNotFoundError
    if there is no such folder.
    """
    if not folder.is_dir():
        raise FileNotFoundError(folder)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for path in sorted(folder.rglob("*")):
            if not path.is_file() or "__pycache__" in path.parts:
                continue
            entry = zipfile.ZipInfo((Path(under) / path.relative_to(folder)).as_posix(), _EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, path.read_bytes())
    return buffer.getvalue()
