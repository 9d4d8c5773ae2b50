"""`postroom wallet`: senders without a domain, with registered keys (decision "Senders")."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from postroom.cli.deployment import DeploymentOptions
from postroom.cli.exits import NotFoundFault, UsageFault
from postroom.cli.inputs import AsJson, load_public_key, read_public_key, wallet_uuid
from postroom.cli.options import CommandTyper
from postroom.cli.output import print_either, print_list
from postroom.core.ijson import JsonValue

if TYPE_CHECKING:
    from postroom.crypto.rsa_ed25519 import PublicKey

app = CommandTyper(help="Manage wallets: senders without a domain.", no_args_is_help=True)

WalletUuid = Annotated[str, typer.Argument(help="The wallet's UUID, as in From.", metavar="UUID", parser=wallet_uuid)]


@app.command("add")
def add(
    uuid: WalletUuid,
    public_key: Annotated[Path | None, typer.Option(metavar="FILE", help="Its public key, as PEM.")] = None,
    public_key_base64: Annotated[
        str | None, typer.Option(metavar="BASE64", help="Its public key, as base64 of a SubjectPublicKeyInfo.")
    ] = None,
    *,
    deployment: DeploymentOptions,
    as_json: AsJson = False,
) -> None:
    """Register a wallet's public key, or replace it."""
    if public_key is not None and public_key_base64 is None:
        public = load_public_key(public_key)
    elif public_key_base64 is not None and public_key is None:
        public = read_public_key(public_key_base64, "--public-key-base64")
    else:
        raise UsageFault("give the wallet's public key: one of --public-key FILE and --public-key-base64 BASE64")
    deployment.open().storage.operators.put_wallet(uuid, public.spki())
    line = f"{uuid}: {public.algorithm}, {public.bits} bits, {public.fingerprint}"
    print_either(as_json, _describe(uuid, public), line)


@app.command("list")
def list_wallets(deployment: DeploymentOptions, as_json: AsJson = False) -> None:
    """List the wallets."""
    from postroom.crypto.rsa_ed25519 import public_key_from_spki

    opened = deployment.open()
    directory = opened.storage.directory
    found = [
        (uuid, public_key_from_spki(spki))
        for uuid in opened.storage.operators.wallets()
        if (spki := directory.wallet(uuid)) is not None
    ]
    described = [_describe(uuid, key) for uuid, key in found]
    rows = [(uuid, key.algorithm, str(key.bits), key.fingerprint) for uuid, key in found]
    print_list(as_json, described, ("wallet", "algorithm", "bits", "fingerprint"), rows)


@app.command("remove")
def remove(uuid: WalletUuid, deployment: DeploymentOptions, as_json: AsJson = False) -> None:
    """Remove a wallet: its future messages are discarded."""
    if not deployment.open().storage.operators.remove_wallet(uuid):
        raise NotFoundFault(f"{uuid} is not registered", hint="`postroom wallet list` shows what is")
    print_either(as_json, {"wallet": uuid, "removed": True}, f"{uuid}: removed")


def _describe(uuid: str, key: "PublicKey") -> dict[str, JsonValue]:
    return {"wallet": uuid, "algorithm": key.algorithm, "bits": key.bits, "fingerprint": key.fingerprint}
