"""`postroom verify`: every check of a message, in order, with what was found and what was expected."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from postroom.cli.explanation import exit_of, print_explanation
from postroom.cli.inputs import AsJson, domain_name, load_public_key, read_input, time_of_receipt
from postroom.cli.network import LookupOptions, build_key_directory, open_resolvers
from postroom.cli.open_deployment import open_deployment
from postroom.cli.output import print_json
from postroom.core.settings import DeploymentSettings

if TYPE_CHECKING:
    from postroom.crypto.rsa_ed25519 import PublicKey
    from postroom.names.keys import KeyDirectory
    from postroom.protocols.nlweb.explain import FindKey


def verify(
    file: Annotated[str, typer.Argument(help="The envelope; - is standard input.", metavar="FILE|-")],
    to: Annotated[
        list[str] | None,
        typer.Option(
            metavar="DOMAIN",
            help="A domain of the receiver; repeat it for more [default: any domain].",
            parser=domain_name,
        ),
    ] = None,
    *,
    lookups: LookupOptions,
    now: Annotated[
        float | None,
        typer.Option(
            metavar="EPOCH",
            help="When the message was received, in seconds since 1970; its key is always looked up now.",
            show_default="now",
        ),
    ] = None,
    public_key: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The public key (PEM) of the wallet that sent it.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check a message as its receiver would, and show each check.

    Exit code 0: accepted; 1: not accepted; 3: unknown. Only the receiver knows which subjects it accepts, and which
    messages it has seen before.
    """
    from postroom.protocols.nlweb.explain import explain
    from postroom.protocols.nlweb.timestamp import TimestampWindow

    received = time_of_receipt(now)
    rules = DeploymentSettings()
    data = read_input(file)
    preshared = load_public_key(public_key) if public_key else None
    network = lookups.network()
    with open_resolvers(network) as resolvers:
        explanation = explain(
            data,
            ours=to or (),
            now_ms=int(received * 1000),
            window=TimestampWindow(rules.nlweb_max_age_seconds, rules.nlweb_max_skew_seconds),
            max_bytes=rules.nlweb_max_body_bytes,
            find_key=_finder(build_key_directory(network, resolvers), preshared, lookups.stack),
        )
    if as_json:
        print_json(explanation.as_json())
    else:
        print_explanation(explanation)
    raise typer.Exit(exit_of(explanation))


def _finder(keys: "KeyDirectory[PublicKey]", preshared: "PublicKey | None", local: Path | None) -> "FindKey":
    from postroom.core.errors import NotNowError
    from postroom.protocols.nlweb.names import is_uuid
    from postroom.protocols.nlweb.reasons import KEY_LOOKUP_FAILED

    def find_key(name: str) -> "tuple[PublicKey, str]":
        if not is_uuid(name):
            found = keys.find(name)
            return found.key, str(found.evidence)
        if preshared is not None:
            return preshared, "pre-shared"
        if local is not None:
            return _registered(local, name), "registered"
        raise NotNowError(KEY_LOOKUP_FAILED, "give the wallet's registered key with --public-key")

    return find_key


def _registered(local: Path, wallet: str) -> "PublicKey":
    """The wallet's key in the local stack's directory. Raises TheirError, NotNowError or UnavailableFault."""
    from postroom.core.errors import TheirError
    from postroom.crypto.rsa_ed25519 import public_key_from_spki
    from postroom.protocols.nlweb.reasons import WALLET_UNKNOWN

    spki = open_deployment(None, local, None).storage.directory.wallet(wallet)
    if spki is None:
        raise TheirError(WALLET_UNKNOWN, "`postroom wallet add` registers it")
    return public_key_from_spki(spki)
