"""The inputs of dm3's commands: names, key files, pinned documents."""

import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from postroom.cli.exits import NotFoundFault, UsageFault
from postroom.cli.open_deployment import OpenDeployment
from postroom.cli.output import note
from postroom.core.errors import SettingsError, TheirError
from postroom.core.settings import DeploymentSettings

if TYPE_CHECKING:
    from postroom.names.profiles import Profiles
    from postroom.names.registry import Registry
    from postroom.names.uris import ReadUri
    from postroom.protocols.dm3.keys import UserKeys
    from postroom.protocols.dm3.message import MessageType

REGISTRY_OBJECT = DeploymentSettings().dm3_registry
"""The registry object in a deployment's bucket."""
MAX_KEY_FILE_BYTES = 4096

KeyFile = Annotated[
    Path,
    typer.Option(
        "--key", envvar="POSTROOM_KEY", metavar="FILE", help="Your private keys, as `postroom dm3 keygen` makes them."
    ),
]


def dm3_name(text: str) -> str:
    """A name, normalised (ENSIP-15)."""
    from postroom.protocols.dm3.names import normalize

    try:
        return normalize(text)
    except TheirError as error:
        raise typer.BadParameter(f"{text!r} is not a valid name: {error.detail}") from None


def message_hash(text: str) -> str:
    """The hash of a message, in the text's form or the reference's.

    It is checked, because it cannot be corrected later.
    """
    if not re.fullmatch(r"(?:0x)?[0-9a-fA-F]{64}", text):
        raise typer.BadParameter(
            f"{text!r} is not the hash of a message: 64 hex digits, as `postroom dm3 open` shows it"
        )
    return text


def message_type(name: str) -> "MessageType":
    """The message type with this name, in any case. Raises UsageFault."""
    from postroom.protocols.dm3.message import MessageType

    found = next((each for each in MessageType if str(each) == name.upper()), None)
    if found is None:
        raise UsageFault(f"--type is {name!r}; it must be one of {', '.join(MessageType)}")
    return found


def offered_types(names: Sequence[str]) -> tuple[str, ...]:
    """The message types that a mailbox offers: those of dm3 in any case, others as they are, with a note."""
    from postroom.protocols.dm3.message import MessageType

    known = {str(each) for each in MessageType}
    for name in names:
        if name.upper() not in known:
            note(f"type {name} is none of dm3 ({', '.join(MessageType)}): such messages are handled as NEW")
    return tuple(name.upper() if name.upper() in known else name for name in names)


def load_user_keys(path: Path) -> "UserKeys":
    """A user's keys from their file. Raises UsageFault, which does not show them."""
    from postroom.core.ijson import parse
    from postroom.protocols.dm3.keys import read_user_keys

    try:
        return read_user_keys(parse(path.read_bytes(), max_bytes=MAX_KEY_FILE_BYTES))
    except TheirError:
        raise UsageFault(f"{path} has no keys: it is not JSON; `postroom dm3 keygen` makes such a file") from None
    except ValueError as error:
        raise UsageFault(f"{path} has no keys: {error}") from None


def read_registry(data: bytes, source: str) -> "dict[str, dict[str, str]]":
    """The texts of a registry document. Raises UsageFault that names `source`."""
    from postroom.names.registry import parse_registry

    try:
        return parse_registry(data)
    except SettingsError as error:
        raise UsageFault(f"{source}: {error}") from None


def find_registry(opened: OpenDeployment) -> bytes | None:
    """The registry document of a deployment; None: it has none."""
    try:
        return opened.storage.objects.get(REGISTRY_OBJECT)
    except KeyError:
        return None


def stored_registry(opened: OpenDeployment) -> bytes:
    """The same. Raises NotFoundFault if there is none."""
    found = find_registry(opened)
    if found is None:
        raise NotFoundFault("this deployment has no registry yet", hint="`postroom dm3 registry put FILE` stores one")
    return found


def profiles_of(registry: "Registry", read_uri: "ReadUri | None" = None) -> "Profiles":
    """The profiles of any registry. `read_uri` None: only what the registry itself has, under `data:`."""
    from postroom.names.profiles import Profiles
    from postroom.names.uris import read_data_uri

    return Profiles(registry, time.time, read_uri or read_data_uri)
