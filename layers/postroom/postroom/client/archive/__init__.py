"""What owners keep their mail in: an archive in a home of their choice (DM3MSP, dm3 §3)."""

from postroom.client.archive.archive import Archive, copy
from postroom.client.archive.folder import FolderHome
from postroom.client.archive.home import ConflictError, Found, Home
from postroom.client.archive.memory import MemoryHome

__all__ = ["Archive", "ConflictError", "FolderHome", "Found", "Home", "MemoryHome", "copy"]
