"""`postroom dm3 chain`: the endpoints by which a deployment looks names up in ENS. Changes take effect in a minute."""

import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated

import typer

from postroom.cli.checks import exit_of, shown
from postroom.cli.deployment import DeploymentOptions
from postroom.cli.dm3.inputs import dm3_name
from postroom.cli.dm3.names import LOOK_UP_SECONDS, open_endpoints
from postroom.cli.exits import UsageFault
from postroom.cli.inputs import AsJson, read_input, shown_input
from postroom.cli.options import CommandTyper
from postroom.cli.output import print_either, print_json
from postroom.core.errors import SettingsError, TheirError
from postroom.core.ijson import parse
from postroom.core.settings import read_outputs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from postroom.core.settings import OutputSettings
    from postroom.doctor import DoctorCheck

app = CommandTyper(help="Manage the endpoints of the chain of ENS.", no_args_is_help=True)


@app.command("put")
def put(
    file: Annotated[
        str,
        typer.Argument(
            help='JSON: {"endpoints": ["https://…", …]}, the first ones are used first; - is standard input.',
            metavar="FILE|-",
        ),
    ],
    deployment: DeploymentOptions,
    as_json: AsJson = False,
) -> None:
    """Store endpoints in the deployment's secret, in place of others.

    Their URLs may hold API keys: only their hosts are shown.
    """
    from postroom.storage.secrets.chain_endpoints import read_chain_endpoints
    from postroom.storage.secrets.secret import MAX_SECRET_BYTES

    try:
        value = parse(read_input(file), max_bytes=MAX_SECRET_BYTES)
        urls = read_chain_endpoints(value)
    except TheirError as error:
        raise UsageFault(f"{shown_input(file)}: {error.detail}") from None
    except SettingsError as error:
        raise UsageFault(f"{shown_input(file)}: {error}") from None
    if not value:
        raise UsageFault(f'{shown_input(file)}: it names no endpoints; {{"endpoints": []}} takes all of them back')
    deployment.open().storage.chain_endpoints.put(urls)
    _print(urls, as_json)


@app.command("show")
def show(deployment: DeploymentOptions, as_json: AsJson = False) -> None:
    """Print the hosts of the endpoints, in the order of use."""
    _print(deployment.open().storage.chain_endpoints.get(), as_json)


@app.command("check")
def check(
    deployment: DeploymentOptions,
    name: Annotated[
        str, typer.Option(metavar="NAME", help="The name that they must agree on.", parser=dm3_name)
    ] = "ens.eth",
    as_json: AsJson = False,
) -> None:
    """Check each endpoint, and whether they agree.

    Of each: its chain, the age of its newest block, whether it takes batches, and whether the universal resolver is
    there. Exit code 0: good, perhaps with warnings; 1: something is bad.
    """
    from postroom.doctor import overall

    if "." not in name:
        raise UsageFault(f"--name {name}: names without a dot are not looked up in ENS")
    opened = deployment.open()
    urls = opened.storage.chain_endpoints.get()
    options, ca_file = deployment.as_shell(opened.name), deployment.ca_file(opened)
    checks = shown(_checks(urls, name, read_outputs(opened.outputs), options, ca_file), quietly=as_json)
    status = overall(checks)
    if as_json:
        print_json({"status": str(status), "checks": [each.as_json() for each in checks]})
    raise typer.Exit(exit_of(status))


def _checks(
    urls: tuple[str, ...], name: str, settings: "OutputSettings", options: str, ca_file: str | None
) -> "Iterator[DoctorCheck]":
    from postroom.cli.dm3.endpoint_checks import examine, judge_agreement, judge_endpoint
    from postroom.doctor.checks import good

    if not urls:
        yield good("endpoints", "none: ENS is not used")
        return
    resolver, chain = bytes.fromhex(settings.ens_universal_resolver[2:]), settings.ens_chain_id
    findings = []
    with ExitStack() as undo:
        endpoints = open_endpoints(urls, settings.ens_quorum, chain, ca_file, undo)
        for finding in examine(endpoints, resolver, name, seconds=LOOK_UP_SECONDS, clock=time.time):
            findings.append(finding)
            yield judge_endpoint(finding, chain, resolver, options)
    yield judge_agreement(findings, name, settings.ens_quorum, options)


def _print(urls: tuple[str, ...], as_json: bool) -> None:
    from postroom.net.endpoint_url import read_endpoint_url

    hosts = [read_endpoint_url(url).host for url in urls]
    print_either(as_json, {"hosts": list(hosts)}, ", ".join(hosts) or "no endpoints: ENS is not used")
