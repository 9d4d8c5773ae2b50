"""The user's folders for files of the command line (XDG Base Directory Specification)."""

import os
from pathlib import Path


def cache_folder(what: str) -> Path:
    """Where files of this kind are kept that can be made again."""
    return _folder("XDG_CACHE_HOME", "~/.cache", what)


def state_folder(what: str) -> Path:
    """Where files of this kind are kept that are to outlast the cache."""
    return _folder("XDG_STATE_HOME", "~/.local/state", what)


def _folder(variable: str, otherwise: str, what: str) -> Path:
    return Path(os.environ.get(variable) or otherwise).expanduser() / "postroom" / what
