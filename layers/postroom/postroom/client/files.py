"""Writing to folders so that the change survives a failure of the machine."""

import os
from pathlib import Path


def sync_folder(folder: Path) -> None:
    """Sync a folder: only then is a rename or deletion in it certain to last. Raises OSError."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
