"""`postroom wallet`: senders without a domain, whose keys are registered beforehand (settlement NLWeb 12)."""

from pathlib import Path
from typing import Annotated

import typer

from postroom.cli.descriptor import Local
from postroom.cli.exits import UsageFault
from postroom.cli.inputs import load_public_key, read_public_key, wallet_uuid
from postroom.cli.office import DeploymentName, StackName, open_office

app = typer.Typer(help="Wallets: senders without a domain.", no_args_is_help=True)


@app.callback()
def wallet() -> None:
    """Wallets: senders without a domain, whose public keys are registered beforehand."""


@app.command("add")
def add(
    uuid: Annotated[str, typer.Argument(help="What the wallet writes into From.", parser=wallet_uuid)],
    key: Annotated[Path | None, typer.Option(metavar="FILE", help="Its public key, as PEM.")] = None,
    spki: Annotated[
        str | None, typer.Option(metavar="BASE64", help="Its public key, as base64 of a SubjectPublicKeyInfo.")
    ] = None,
    stack_name: StackName = None,
    local: Local = None,
    deployment: DeploymentName = None,
) -> None:
    """Register a wallet's public key, or replace it."""
    if key is not None and spki is None:
        public = load_public_key(key)
    elif spki is not None and key is None:
        public = read_public_key(spki, "--spki")
    else:
        raise UsageFault("say one of --key FILE and --spki BASE64: the wallet's public key")
    open_office(stack_name, local, deployment).operators().put_wallet(uuid, public.spki())
    print(f"{uuid}: {public.algorithm}, {public.bits} bits, {public.fingerprint}")
