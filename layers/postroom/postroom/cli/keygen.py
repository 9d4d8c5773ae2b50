"""`postroom keygen`: make a signing key, and the record that publishes it."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from postroom.cli.exits import UsageFault
from postroom.cli.inputs import AsJson, chosen_selector, dialect_called, domain_name, load_private_key
from postroom.cli.output import print_json, write_private
from postroom.cli.terminal import print_line

if TYPE_CHECKING:
    from postroom.protocols.nlweb.schema import Dialect


class KeyAlgorithm(StrEnum):
    """The kinds of keys (decision "Key records")."""

    RSA = "rsa"
    ED25519 = "ed25519"


def keygen(
    algorithm: Annotated[
        KeyAlgorithm | None,
        typer.Option(help="RSA of 2048 bits (accepted by every receiver), or Ed25519.", show_default="rsa"),
    ] = None,
    selector: Annotated[
        str | None, typer.Option(help="Name of the key within the domain.", show_default="the dialect's own")
    ] = None,
    domain: Annotated[str | None, typer.Option(help="The domain that will sign.", parser=domain_name)] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="File for the private key (PEM), which only you can read.", show_default="key.pem"),
    ] = None,
    key: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Print the record of this private key (PEM) instead of making one."),
    ] = None,
    dialect: Annotated[str, typer.Option(help="nlweb or pollyweb: decides where receivers look up the key.")] = "nlweb",
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
    as_json: AsJson = False,
) -> None:
    """Make a key pair, and print the DNS record to publish.

    The private key goes into a file that only you can read.
    """
    from postroom.crypto.rsa_ed25519 import PrivateKey
    from postroom.protocols.nlweb.key_record import record_strings, record_text, zone_line

    chosen = dialect_called(dialect)
    name = _record_name(chosen, domain, selector)
    if key and (algorithm or out or force):
        raise UsageFault("with --key, no key is made: leave --algorithm, --out and --force out")
    file = key or out or Path("key.pem")
    private = load_private_key(key) if key else PrivateKey.generate((algorithm or KeyAlgorithm.RSA).value)
    if not key:
        write_private(file, private.to_pem(), force=force)
    public = private.public
    text = record_text(public)
    line = zone_line(name, text)
    if domain is None:
        line = line.replace(f"{name}.", name, 1)  # relative to the zone's origin
    if as_json:
        print_json(
            {
                "algorithm": public.algorithm,
                "bits": public.bits,
                "fingerprint": public.fingerprint,
                "file": str(file),
                "name": name,
                "record": text,
                "strings": list(record_strings(text)),
                "zone_line": line,
            }
        )
        return
    print_line(f"private key   {file} ({public.algorithm}, {public.bits} bits, {public.fingerprint})")
    print_line(f"TXT record at {name}{'' if domain else ' (below your domain)'}")
    print_line(f"              {text}")
    print_line("zone file     the same, split as DNS requires; the zone must be signed (DNSSEC):")
    print_line(line)


def _record_name(dialect: "Dialect", domain: str | None, selector: str | None) -> str:
    return dialect.key_name(domain or "", chosen_selector(dialect, selector)).removesuffix(".")
