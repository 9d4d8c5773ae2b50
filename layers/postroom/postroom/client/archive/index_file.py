"""A SQLite file with what was read of an archive, on this machine: if it is lost or damaged, it is made again."""

import hashlib
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from postroom.client.archive.archive import Archive

_WAIT_SECONDS: Final = 60.0
"""How long to wait for another process that writes to it."""


@dataclass(frozen=True, slots=True)
class IndexFile:
    """A file in a folder that only its owner can read. `version`, `schema`: a file of another version is made anew."""

    path: Path
    version: int
    schema: str

    @classmethod
    def of(cls, archive: Archive, folder: Path, what: str, version: int, schema: str) -> "IndexFile":
        """The file of an archive. `what`: what the file is, which makes its name."""
        # Not the key of the root itself: whoever sees it could find the archive in its home.
        name = hashlib.sha256(f"{what} of {archive.filing.root}".encode()).hexdigest()
        return cls(folder / f"{name[:32]}.sqlite", version, schema)

    def drop(self) -> bool:
        """Delete the file; True: there was one."""
        there = self.path.exists()
        for suffix in ("", "-journal"):
            Path(f"{self.path}{suffix}").unlink(missing_ok=True)
        return there

    @contextmanager
    def open(self) -> Iterator[sqlite3.Connection]:
        """The database, until the block ends; it is made if there is none, or a damaged one.

        If damage is found within the block, the file is removed. Raises sqlite3.Error (`is_damage`).
        """
        try:
            database = self._connect()
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise
            # No index, or a damaged one; all of it is in the archive.
            self.drop()
            database = self._connect()
        try:
            with closing(database):
                yield database
        except sqlite3.DatabaseError as error:
            if is_damage(error):
                self.drop()
            raise

    def _connect(self) -> sqlite3.Connection:
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.path.touch(mode=0o600)
        except OSError as error:
            raise sqlite3.OperationalError(str(error)) from error
        database = sqlite3.connect(self.path, timeout=_WAIT_SECONDS)
        try:
            # Deleted texts must be removed from the file, too.
            database.execute("PRAGMA secure_delete = ON")
            with database:
                database.execute("BEGIN IMMEDIATE")
                [version] = database.execute("PRAGMA user_version").fetchone()
                if version != self.version:
                    self._make(database)
        except BaseException:
            database.close()
            raise
        return database

    def _make(self, database: sqlite3.Connection) -> None:
        """Create the tables, in place of whatever was there."""
        # Virtual ones first: they remove tables of their own.
        rows = database.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT NULL "
            "ORDER BY sql NOT LIKE 'CREATE VIRTUAL%'"
        ).fetchall()
        for (name,) in rows:
            database.execute(f"DROP TABLE IF EXISTS {name}")
        for statement in self.schema.split(";\n"):
            database.execute(statement)
        database.execute(f"PRAGMA user_version = {self.version}")


def is_damage(error: sqlite3.DatabaseError) -> bool:
    """Whether an error means that the file is no database or a damaged one; not that it cannot be used just now."""
    # Python's module has no class of its own for either.
    return type(error) is sqlite3.DatabaseError or (type(error) is sqlite3.OperationalError and "UTF-8" in str(error))
