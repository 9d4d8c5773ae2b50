"""`postroom dm3 keygen`: make keys of a user or of the delivery service, and the profile to publish."""

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from postroom.cli.deployment import DeploymentOptions
from postroom.cli.dm3.inputs import dm3_name
from postroom.cli.exits import UsageFault
from postroom.cli.inputs import AsJson, read_input
from postroom.cli.open_deployment import OpenDeployment
from postroom.cli.output import print_json, write_private
from postroom.cli.terminal import print_line
from postroom.core.errors import TheirError
from postroom.core.ijson import JsonValue

if TYPE_CHECKING:
    from postroom.protocols.dm3.keys import PublicSigningKey, UserKeys
    from postroom.protocols.dm3.profile import ServiceProfile
    from postroom.protocols.dm3.service import ServiceKeys

_RPC_PATHS = ("/rpc", "/dm3")


class SigningAlgorithm(StrEnum):
    """The kinds of signing keys (decision "Signatures")."""

    SECP256K1 = "secp256k1"
    ED25519 = "ed25519"


def keygen(
    delivery_service: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A delivery service that accepts your messages; repeat it, in the order to try them.",
            parser=dm3_name,
        ),
    ] = None,
    wallet_signature: Annotated[
        str | None,
        typer.Option(
            metavar="HEX|-",
            help="Derive the keys from a signature by your wallet (`postroom dm3 wallet-message`), which is as "
            "secret as the keys; - is standard input.",
            show_default="random keys",
        ),
    ] = None,
    algorithm: Annotated[
        SigningAlgorithm | None,
        typer.Option(
            help="The kind of the signing key; other dm3 clients know ed25519 only.", show_default="secp256k1"
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="File for the private keys, which only you can read.", show_default="dm3-key.json"
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
    service: Annotated[
        bool, typer.Option("--service", help="Make the delivery service's keys instead, in the deployment's secret.")
    ] = False,
    url: Annotated[
        str | None,
        typer.Option(metavar="URL", help="With --service: its address; messages are posted to it, or to URL/rpc."),
    ] = None,
    rotate: Annotated[
        bool, typer.Option("--rotate", help="With --service: a new encryption key; older ones still open messages.")
    ] = False,
    *,
    deployment: DeploymentOptions,
    as_json: AsJson = False,
) -> None:
    """Make dm3 keys, and print the profile to publish.

    They are a user's keys, or with --service those of a deployment's delivery service.
    """
    if service:
        if delivery_service or wallet_signature or out or force:
            raise UsageFault("--service makes the deployment's own keys: of the others it takes --url, --algorithm "
                             "and --rotate")  # fmt: skip
        _make_service(deployment.open(), url, algorithm, rotate=rotate, as_json=as_json)
        return
    if url or rotate:
        raise UsageFault("--url and --rotate are for a delivery service's keys: use --service")
    if not delivery_service:
        raise UsageFault("a profile needs a delivery service: use --delivery-service NAME")
    _make_user(delivery_service, wallet_signature, algorithm, out or Path("dm3-key.json"), force=force, as_json=as_json)


def _make_user(
    services: list[str],
    wallet_signature: str | None,
    algorithm: SigningAlgorithm | None,
    out: Path,
    *,
    force: bool,
    as_json: bool,
) -> None:
    from postroom.names.registry import PROFILE_KEY
    from postroom.protocols.dm3.profile import UserProfile

    keys = _user_keys(wallet_signature, algorithm)
    profile = UserProfile(keys.encryption.public, keys.signing.public, tuple(services))
    write_private(out, json.dumps(keys.as_json(), indent=2).encode() + b"\n", force=force)
    _print(f"private keys  {out}", keys.signing.public, PROFILE_KEY, profile.as_json(), {"file": str(out)}, as_json)


def _user_keys(wallet_signature: str | None, algorithm: SigningAlgorithm | None) -> "UserKeys":
    from postroom.protocols.dm3.keys import UserKeys

    if wallet_signature is None:
        return UserKeys.random(str(algorithm or SigningAlgorithm.SECP256K1))
    if algorithm is SigningAlgorithm.SECP256K1:
        raise UsageFault("keys derived from a wallet's signature are ed25519 keys, as in other dm3 clients")
    text = wallet_signature
    if text == "-":
        text = read_input("-").decode("ascii", "replace")
    try:
        return UserKeys.from_wallet_signature(text.strip())
    except ValueError as error:
        raise UsageFault(f"--wallet-signature: {error}") from None


def _make_service(
    opened: OpenDeployment, url: str | None, algorithm: SigningAlgorithm | None, *, rotate: bool, as_json: bool
) -> None:
    from postroom.client.dm3 import service_urls
    from postroom.names.registry import SERVICE_KEY
    from postroom.protocols.dm3.service import ServiceKeys, read_service_keys

    if url is None:
        raise UsageFault("use --url URL: the address of the delivery service, such as https://ds.example")
    if rotate and algorithm is not None:
        raise UsageFault("--rotate changes the encryption key only; the signing key stays, and so does its algorithm")
    secret = opened.storage.delivery_service_secret
    stored = secret.read()
    if rotate and not stored:
        raise UsageFault("the delivery service has no keys to rotate yet: leave --rotate out")
    if stored and algorithm is not None:
        raise UsageFault("the delivery service has keys, and its signing key stays: leave --algorithm out")
    if stored:
        try:
            keys = read_service_keys(stored)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise UsageFault("the deployment's secret for dm3 keys has another content; nothing was changed") from None
        keys = keys.rotated() if rotate else keys
    else:
        keys = ServiceKeys.generate(str(algorithm or SigningAlgorithm.SECP256K1))
    profile = _service_profile(keys, url)
    if rotate or not stored:
        secret.put(keys.as_json())
    summary: dict[str, JsonValue] = {
        "url": url,
        "rpc_url": service_urls(url)[-1],
        "encryption_keys": len(keys.encryption),
    }
    many = len(keys.encryption)
    line = f"private keys  in the deployment's secret; {many} encryption {'key is' if many == 1 else 'keys are'} live"
    _print(line, keys.signing.public, SERVICE_KEY, profile.as_json(), summary, as_json)


def _service_profile(keys: "ServiceKeys", url: str) -> "ServiceProfile":
    if not url.startswith("https://"):
        raise UsageFault(f"--url is {url!r}; it must be a URL such as https://ds.example")
    if url.rstrip("/").endswith(_RPC_PATHS):
        raise UsageFault(f"--url is {url!r}; leave the last part out: senders of other implementations add /rpc")
    try:
        return keys.profile(url)
    except TheirError as error:
        raise UsageFault(f"--url is {url!r}: {error.detail}") from None


def _print(
    where: str,
    key: "PublicSigningKey",
    record: str,
    profile: dict[str, JsonValue],
    further: dict[str, JsonValue],
    as_json: bool,
) -> None:
    from postroom.protocols.dm3.profile import data_uri

    if as_json:
        print_json({
            **further, "algorithm": key.algorithm, "fingerprint": key.fingerprint, "record": record,
            "profile": profile, "uri": data_uri(profile),
        })  # fmt: skip
        return
    print_line(where)
    print_line(f"signing key   {key.algorithm}, {key.fingerprint}")
    print_line("profile")
    for name, value in profile.items():
        print_line(f"  {name}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}")
    print_line(f"to publish    as the text {record} of your name:")
    print_line(data_uri(profile))
