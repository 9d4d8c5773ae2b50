"""The addresses that targets had before, by their URL (DCP: clearIdentityCache; Connection.connect, EADDRCHANGE)."""

import json
import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from postroom.client.files import sync_folder
from postroom.core.errors import SettingsError, TheirError
from postroom.core.ijson import JsonValue, parse
from postroom.crypto.ethereum import Address, read_address

_MAX_FILE_BYTES = 1_000_000


class IdentityCache(Protocol):
    """Remembers the address of each target."""

    def address_at(self, url: str) -> Address | None:
        """The address that the target at a URL had before; None: it is not known."""

    def remember(self, url: str, address: Address) -> None:
        """The target at a URL has this address."""

    def clear(self, address: Address | None = None) -> None:
        """Forget the targets with an address; None: all."""


class IdentityMemory:
    """The addresses of targets while a process lives."""

    def __init__(self) -> None:
        self._addresses: dict[str, Address] = {}

    def address_at(self, url: str) -> Address | None:
        """The address that the target at a URL had before."""
        return self._addresses.get(url)

    def remember(self, url: str, address: Address) -> None:
        """The target at a URL has this address."""
        self._addresses[url] = address

    def clear(self, address: Address | None = None) -> None:
        """Forget the targets with an address; None: all."""
        self._addresses = _without(self._addresses, address)


class IdentityFile:
    """The addresses of targets in a file, as the reference implementation keeps them.

    Every method raises SettingsError if the file has another form, and OSError.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path or Path.home() / ".dcp" / "identity-cache.json"

    def address_at(self, url: str) -> Address | None:
        """The address that the target at a URL had before."""
        return self._read().get(url)

    def remember(self, url: str, address: Address) -> None:
        """The target at a URL has this address. The file is written if it says something else."""
        addresses = self._read()
        if addresses.get(url) != address:
            self._write({**addresses, url: address})

    def clear(self, address: Address | None = None) -> None:
        """Forget the targets with an address; None: all, whatever is in the file."""
        if address is None:
            self._path.unlink(missing_ok=True)
            return
        self._write(_without(self._read(), address))

    def _read(self) -> dict[str, Address]:
        try:
            return _addresses(parse(self._path.read_bytes(), max_bytes=_MAX_FILE_BYTES))
        except FileNotFoundError:
            return {}
        except (TheirError, ValueError) as error:
            raise SettingsError(
                f"{self._path} is not a file of identities ({error}): delete it, or repair it"
            ) from None

    def _write(self, addresses: dict[str, Address]) -> None:
        folder = self._path.parent
        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps({url: f"0x{address}" for url, address in addresses.items()}, indent=2)
        descriptor, name = tempfile.mkstemp(dir=folder, prefix=self._path.name)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(text + "\n")
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(self._path)
        except BaseException:
            with suppress(OSError):
                Path(name).unlink()
            raise
        sync_folder(folder)


def _addresses(members: JsonValue) -> dict[str, Address]:
    if not isinstance(members, dict):
        raise ValueError("it is not an object")  # noqa: TRY004 - the form of a file
    return {url: read_address(str(address)) for url, address in members.items()}


def _without(addresses: dict[str, Address], address: Address | None) -> dict[str, Address]:
    return {} if address is None else {url: each for url, each in addresses.items() if each != address}
