"""The folder of a user for what can be made again (XDG Base Directory Specification)."""

import os
from pathlib import Path


def cache_folder(what: str) -> Path:
    """Where files of this kind are kept."""
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "postroom" / what
