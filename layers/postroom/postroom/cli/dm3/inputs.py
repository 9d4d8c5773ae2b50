"""The options of dm3's commands: names, key files, registries."""

import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from postroom.cli.deployment import DeploymentName
from postroom.cli.exits import NotFoundFault, UsageFault
from postroom.cli.local_stack import LocalOptions
from postroom.cli.network import ConnectionOptions, Network, build_https, open_resolvers
from postroom.cli.open_deployment import OpenDeployment, open_deployment
from postroom.cli.options import OptionGroup, repeatable
from postroom.cli.output import note
from postroom.core.errors import SettingsError, TheirError
from postroom.core.settings import DeploymentSettings

if TYPE_CHECKING:
    from postroom.names.profile_documents import ProfileDocuments
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


@dataclass(frozen=True, kw_only=True)
class RegistryOptions(OptionGroup):
    """The registry in which names are looked up."""

    registry: Annotated[
        Path | None,
        typer.Option(
            "--registry",
            metavar="FILE",
            help="Registry of names: YAML or JSON, {name: {network.dm3.profile: URI}}.",
            show_default="the local stack's",
        ),
    ] = None
    ipfs_gateway: Annotated[
        list[str] | None,
        repeatable(
            "Gateway of IPFS, for profiles under ipfs: https://HOST",
            "--ipfs-gateway",
            metavar="URL",
            show_default="the local stack's",
        ),
    ] = None
    local: LocalOptions
    deployment: DeploymentName = None

    @contextmanager
    def profiles_to_send_with(self, connections: ConnectionOptions) -> "Iterator[Profiles]":
        """The same, for a command that needs them. Raises UsageFault if there is no registry."""
        with self.profiles(connections.network, elsewhere=bool(connections.resolver)) as profiles:
            if profiles is None:
                raise UsageFault("there is no registry: use --registry FILE, or --local PATH for that of a local stack")
            yield profiles

    @contextmanager
    def profiles(self, network: Callable[[], Network], *, elsewhere: bool = False) -> "Iterator[Profiles | None]":
        """The profiles of a file, or of a local stack's registry; None: there is neither. Raises UsageFault.

        `network`: over which those are read that are published elsewhere than in the registry.
        """
        from postroom.names.registry import MemoryRegistry

        texts = self._texts(elsewhere=elsewhere)
        if texts is None:
            yield None
            return
        with ExitStack() as undo:
            yield profiles_of(MemoryRegistry(texts), self._uri_reader(network, undo))

    def _texts(self, *, elsewhere: bool) -> "dict[str, dict[str, str]] | None":
        if self.registry is not None:
            return read_registry(self.registry.read_bytes(), str(self.registry))
        stack = self.local.stack(elsewhere=elsewhere)
        if stack is None:
            return None
        return read_registry(stored_registry(open_deployment(None, stack, self.deployment)), REGISTRY_OBJECT)

    def _uri_reader(self, network: Callable[[], Network], undo: ExitStack) -> "ReadUri":
        from postroom.names.uris import read_gateways, uri_reader

        try:
            given = read_gateways(",".join(self.ipfs_gateway or ()))
        except SettingsError as error:
            raise UsageFault(f"--ipfs-gateway: {error}") from None
        made: list[ProfileDocuments] = []

        def documents() -> "ProfileDocuments":
            from postroom.names.ipfs.gateways import IpfsGateways
            from postroom.names.profile_documents import ProfileDocuments

            if not made:
                chosen = network()
                https = build_https(chosen, undo.enter_context(open_resolvers(chosen)))
                urls = given or chosen.ipfs_gateways
                made.append(ProfileDocuments(https, IpfsGateways(urls, https) if urls else None, time.time))
            return made[0]

        return uri_reader(documents)
