"""`postroom keygen`: make a signing key, and the record that publishes it."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from postroom.cli.exits import UsageFault
from postroom.cli.inputs import AsJson, chosen_selector, dialect_called, domain_name, load_private_key
from postroom.cli.output import print_json, write_private

if TYPE_CHECKING:
    from postroom.protocols.nlweb.schema import Dialect


class KeyAlgorithm(StrEnum):
    """The kinds of keys (settlement NLWeb 4)."""

    RSA = "rsa"
    ED25519 = "ed25519"


def keygen(
    algorithm: Annotated[
        KeyAlgorithm | None,
        typer.Option(help="RSA of 2048 bits (every receiver takes it), or Ed25519.", show_default="rsa"),
    ] = None,
    selector: Annotated[
        str | None, typer.Option(help="Name of the key within the domain.", show_default="the dialect's own")
    ] = None,
    domain: Annotated[str | None, typer.Option(help="The domain that will sign.", parser=domain_name)] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Where the private key goes (PEM, readable by you alone).", show_default="key.pem"),
    ] = None,
    of: Annotated[
        Path | None,
        typer.Option(
            "--of",
            metavar="KEY",
            help="Make none: print the record of this private key (PEM), for another dialect, say.",
        ),
    ] = None,
    dialect: Annotated[str, typer.Option(help="nlweb or pollyweb: where receivers look the key up.")] = "nlweb",
    force: Annotated[bool, typer.Option("--force", help="Overwrite a key that is there.")] = False,
    as_json: AsJson = False,
) -> None:
    """Make a key pair: the private key goes into a file, the DNS record to publish is printed."""
    from postroom.crypto.rsa_ed25519 import PrivateKey
    from postroom.protocols.nlweb.key_record import record_strings, record_text, zone_line

    chosen = dialect_called(dialect)
    name = _record_name(chosen, domain, selector)
    if of and (algorithm or out or force):
        raise UsageFault("--of makes no key: leave --algorithm, --out and --force away")
    file = of or out or Path("key.pem")
    key = load_private_key(of) if of else PrivateKey.generate((algorithm or KeyAlgorithm.RSA).value)
    if not of:
        write_private(file, key.to_pem(), force=force)
    text = record_text(key.public)
    line = zone_line(name, text)
    if domain is None:
        line = line.replace(f"{name}.", name, 1)  # relative to the zone's origin
    if as_json:
        print_json(
            {
                "algorithm": key.public.algorithm,
                "bits": key.public.bits,
                "fingerprint": key.public.fingerprint,
                "file": str(file),
                "name": name,
                "record": text,
                "strings": list(record_strings(text)),
                "zone_line": line,
            }
        )
        return
    print(f"private key   {file} ({key.public.algorithm}, {key.public.bits} bits, {key.public.fingerprint})")
    print(f"TXT record at {name}{'' if domain else ' (below your domain)'}")
    print(f"              {text}")
    print("zone file     the same, split as DNS wants it; the zone must be signed (DNSSEC):")
    print(line)


def _record_name(dialect: "Dialect", domain: str | None, selector: str | None) -> str:
    return dialect.key_name(domain or "", chosen_selector(dialect, selector)).removesuffix(".")
