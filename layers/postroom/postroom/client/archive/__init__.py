"""Archives of mail, in a home of the owner's choice (DM3MSP, dm3 §3)."""

from postroom.client.archive.archive import Archive, copy
from postroom.client.archive.folder import FolderHome
from postroom.client.archive.home import ConflictError, Home, HomeObject
from postroom.client.archive.memory import MemoryHome
from postroom.client.archive.single_file import RecordError, export_record, import_record
from postroom.client.archive.verify import Flaw, KnownSigningKeys, Verified, verify

__all__ = [
    "Archive",
    "ConflictError",
    "Flaw",
    "FolderHome",
    "Home",
    "HomeObject",
    "KnownSigningKeys",
    "MemoryHome",
    "RecordError",
    "Verified",
    "copy",
    "export_record",
    "import_record",
    "verify",
]
