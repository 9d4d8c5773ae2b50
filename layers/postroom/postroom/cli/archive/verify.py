"""`postroom archive verify`: check every container, hash and signature again."""

from collections import defaultdict
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from postroom.cli.archive.inputs import ArchiveOptions
from postroom.cli.deployment import DeploymentName
from postroom.cli.dm3.inputs import REGISTRY_OBJECT, find_registry, profiles_of, read_registry
from postroom.cli.exits import Exit
from postroom.cli.inputs import AsJson
from postroom.cli.network import LookupOptions, build_key_directory, open_resolvers
from postroom.cli.open_deployment import open_deployment
from postroom.cli.output import print_json
from postroom.cli.progress import progress
from postroom.cli.terminal import print_line
from postroom.core.errors import NotNowError, TheirError

if TYPE_CHECKING:
    from postroom.client.archive import KnownSigningKeys, Verified
    from postroom.crypto.rsa_ed25519 import PublicKey
    from postroom.names.keys import KeyDirectory
    from postroom.protocols.dm3.keys import PublicSigningKey

PinnedDocuments = Annotated[
    list[Path] | None,
    typer.Option(
        "--pinned",
        metavar="FILE",
        help="Document of names; repeat it for older ones, which have the former keys of senders.",
    ),
]


def verify(
    options: ArchiveOptions,
    pinned: PinnedDocuments = None,
    *,
    lookups: LookupOptions,
    deployment: DeploymentName = None,
    as_json: AsJson = False,
) -> None:
    """Check every container, hash and signature of the archive.

    Exit code 0: all are good; 4: some are not.
    """
    from postroom.client.archive import verify as look

    with options.open() as archive:
        documents = [read_registry(file.read_bytes(), str(file)) for file in pinned or ()]
        stack = lookups.stack
        if stack is not None and (stored := find_registry(open_deployment(None, stack, deployment))):
            documents.append(read_registry(stored, REGISTRY_OBJECT))
        network = lookups.network()
        with (
            open_resolvers(network) as resolvers,
            progress("verifying", lambda: len(archive.conversations())) as met,
        ):
            keys = replace(_keys_in(documents), domain=partial(_key_at, build_key_directory(network, resolvers)))
            found = look(archive, keys, lambda _: met(1))
    _print(found, as_json=as_json)
    if found.flaws:
        raise typer.Exit(Exit.PROBLEMS)


def _keys_in(documents: list[dict[str, dict[str, str]]]) -> "KnownSigningKeys":
    """All keys in these registries. Profiles that are stored elsewhere are not read."""
    from postroom.client.archive import KnownSigningKeys
    from postroom.names.registry import PROFILE_KEY, SERVICE_KEY, MemoryRegistry

    users: dict[str, list[PublicSigningKey]] = defaultdict(list)
    services: list[PublicSigningKey] = []
    for texts in documents:
        profiles = profiles_of(MemoryRegistry(texts))
        for name, entry in texts.items():
            try:
                if PROFILE_KEY in entry:
                    users[name].append(profiles.user(name).signing_key)
                if SERVICE_KEY in entry:
                    services.append(profiles.service(name).signing_key)
            except TheirError:
                continue
    return KnownSigningKeys(users, services)


def _key_at(directory: "KeyDirectory[PublicKey]", name: str) -> "PublicKey | None":
    """The key under this DNS name, proven by DNSSEC; None: there is none, or it is unknown now."""
    try:
        return directory.find(name).key
    except (TheirError, NotNowError):
        return None


def _print(found: "Verified", *, as_json: bool) -> None:
    if as_json:
        print_json({
            "messages": found.messages, "tombstones": found.tombstones,
            "unproven": found.unproven, "set_aside": found.set_aside,
            "flaws": [
                {"container": flaw.key, "message_hash": flaw.message_hash or None, "what": flaw.what}
                for flaw in found.flaws
            ],
        })  # fmt: skip
        return
    for flaw in found.flaws:
        where = f"the message {flaw.message_hash} in " if flaw.message_hash else ""
        print_line(f"{where}the container {flaw.key} {flaw.what}")
    print_line(
        f"{found.messages} messages, {found.unproven} of them by senders without a known key; "
        f"{found.tombstones} removed, {found.set_aside} set aside; {len(found.flaws)} flaws"
    )
