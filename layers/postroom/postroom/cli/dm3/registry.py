"""`postroom dm3 registry`: a deployment's own document of names. Changes take effect within a minute."""

import json
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from postroom.cli.deployment import DeploymentOptions
from postroom.cli.dm3.inputs import REGISTRY_OBJECT, profiles_of, read_registry, stored_registry
from postroom.cli.exits import UsageFault
from postroom.cli.inputs import AsJson, read_input
from postroom.cli.options import CommandTyper
from postroom.cli.output import note, print_either, print_json
from postroom.core.errors import TheirError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from postroom.names.uris import PublishedJson

app = CommandTyper(help="Manage the registry of names of a deployment.", no_args_is_help=True)


@app.command("put")
def put(
    file: Annotated[
        str,
        typer.Argument(
            help="YAML or JSON: {name: {network.dm3.profile: URI, network.dm3.deliveryService: URI}}; - is standard "
            "input.",
            metavar="FILE|-",
        ),
    ],
    deployment: DeploymentOptions,
    as_json: AsJson = False,
) -> None:
    """Check a registry, and replace the stored one by it."""
    data = read_input(file)
    texts = read_registry(data, file)
    _check_profiles(texts, file)
    # The dm3 function reads it often, and JSON is read a hundred times faster than YAML.
    stored = json.dumps(texts, indent=1, ensure_ascii=False).encode()
    deployment.open().storage.objects.replace(REGISTRY_OBJECT, stored, "application/json")
    names = sorted(texts)
    print_either(as_json, {"names": list(names)}, f"{len(names)} names: {', '.join(names)}")


@app.command("show")
def show(deployment: DeploymentOptions, as_json: AsJson = False) -> None:
    """Print the registry as it is stored.

    With --json: its content as JSON.
    """
    data = stored_registry(deployment.open())
    if as_json:
        texts = read_registry(data, REGISTRY_OBJECT)
        print_json({name: dict(entry) for name, entry in texts.items()})
        return
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def _check_profiles(texts: "Mapping[str, Mapping[str, str]]", source: str) -> None:
    """Raises UsageFault if a profile is invalid. Notes those that are published elsewhere."""
    from postroom.names.registry import PROFILE_KEY, SERVICE_KEY, MemoryRegistry
    from postroom.protocols.dm3.reasons import PROFILE_URI_UNSUPPORTED

    profiles = profiles_of(MemoryRegistry(texts), _read_here)
    for name, entry in texts.items():
        for key, find in ((PROFILE_KEY, profiles.user), (SERVICE_KEY, profiles.service)):
            if key not in entry:
                continue
            try:
                find(name)
            except TheirError as error:
                if error.reason != PROFILE_URI_UNSUPPORTED:
                    raise UsageFault(f"{source}: {key} of {name} is not a profile: {error.detail}") from None
                note(f"{key} of {name} is stored, and not checked: {error.detail}")


def _read_here(uri: str) -> "PublishedJson":
    """What is under `data:`. Raises TheirError for others: PROFILE_INVALID for one that nobody could read."""
    from postroom.names.ipfs.errors import UnreadableFileError
    from postroom.names.ipfs.uri import IpfsUri
    from postroom.names.uris import read_data_uri, scheme_of
    from postroom.protocols.dm3.profile_hash import read_profile_hash
    from postroom.protocols.dm3.reasons import PROFILE_INVALID

    scheme = scheme_of(uri)
    if scheme == "https":
        read_profile_hash(uri)
    if scheme == "ipfs":
        try:
            IpfsUri.parse(uri)
        except UnreadableFileError as error:
            raise TheirError(PROFILE_INVALID, str(error)) from None
    return read_data_uri(uri)
