"""`postroom doctor`: check from outside whether a domain can send and receive."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from postroom.cli.checks import exit_of, shown
from postroom.cli.exits import UsageFault
from postroom.cli.inputs import AsJson, chosen_selector, dialect_called, domain_name, load_private_key
from postroom.cli.network import (
    ConnectionOptions,
    IpfsGatewayOption,
    LookupOptions,
    Network,
    anchors_of,
    build_https,
    choose_ipfs_gateways,
    open_resolvers,
)
from postroom.cli.options import repeatable
from postroom.cli.output import print_json
from postroom.cli.terminal import print_line

if TYPE_CHECKING:
    from postroom.doctor import ExaminerNetwork
    from postroom.names.dns import Resolvers


def doctor(
    domain: Annotated[str, typer.Argument(help="The domain.", metavar="DOMAIN", parser=domain_name)],
    selector: Annotated[
        list[str] | None,
        repeatable("Name of a key within the domain", show_default="the dialect's own, as of `postroom keygen`"),
    ] = None,
    dialect: Annotated[str, typer.Option(help="nlweb or pollyweb: decides where its host and keys are.")] = "nlweb",
    sign_with: Annotated[
        Path | None,
        typer.Option(
            metavar="KEY",
            help="The domain's private key (PEM): sign a message with it, and post it to the domain itself.",
        ),
    ] = None,
    *,
    ipfs_gateway: IpfsGatewayOption = None,
    lookups: LookupOptions,
    connections: ConnectionOptions,
    as_json: AsJson = False,
) -> None:
    """Check a domain from outside; suggest a fix for each problem.

    Its zone, keys, host, certificate, inbox and manifest are checked, and its records of dm3, if there are any. Exit
    code 0: good, perhaps with warnings; 1: something is bad; 3: nothing is bad, but something could not be checked.
    """
    from postroom.doctor import Patient, examine, overall
    from postroom.protocols.nlweb.names import MAX_NAME

    chosen = dialect_called(dialect)
    selectors = tuple(dict.fromkeys(chosen_selector(chosen, it) for it in selector or [""]))
    if too_long := next((it for it in selectors if len(chosen.key_name(domain, it)) > MAX_NAME), None):
        raise UsageFault(f"{too_long}._domainkey.{domain} is longer than the {MAX_NAME} characters of a DNS name")
    patient = Patient(domain, chosen, selectors, load_private_key(sign_with) if sign_with else None)
    network = connections.network(trust_anchor=lookups.trust_anchor)
    with open_resolvers(network) as resolvers:
        outside = look_from(network, resolvers, choose_ipfs_gateways(ipfs_gateway, network))
        checks = shown(examine(patient, outside), quietly=as_json)
    status = overall(checks)
    if as_json:
        print_json({"domain": domain, "status": str(status), "checks": [check.as_json() for check in checks]})
    else:
        print_line(f"{domain}: {status}")
    raise typer.Exit(exit_of(status))


def look_from(network: Network, resolvers: "Resolvers", ipfs_gateways: tuple[str, ...] = ()) -> "ExaminerNetwork":
    """The network of these settings. Zones that are proven once are known to all look-ups. Raises SettingsError."""
    from postroom.doctor import ExaminerNetwork
    from postroom.doctor.tls import look_at_certificate
    from postroom.names.dnssec import KnownZones, validate
    from postroom.names.host_addresses import addresses
    from postroom.names.ipfs.gateways import IpfsGateways
    from postroom.names.profile_documents import ProfileDocuments
    from postroom.names.uris import uri_reader

    anchors, known, https = anchors_of(network), KnownZones(), build_https(network, resolvers)
    documents = ProfileDocuments(https, IpfsGateways(ipfs_gateways, https) if ipfs_gateways else None, time.time)
    return ExaminerNetwork(
        look_up=lambda name, rdtype: validate(name, rdtype, anchors, resolvers.asking(), time.time(), known=known),
        addresses=lambda host: addresses(host, resolvers.asking()),
        certificate=lambda host, found: look_at_certificate(host, found, network.port, network.ca_file),
        https=https,
        clock=time.time,
        allow_private=network.allow_private,
        read_uri=uri_reader(lambda: documents),
        reads_ipfs=bool(ipfs_gateways),
    )
