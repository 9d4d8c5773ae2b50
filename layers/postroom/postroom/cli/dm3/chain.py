"""`postroom dm3 chain`: the endpoints by which a deployment looks names up in ENS. Changes take effect in a minute."""

from typing import Annotated

import typer

from postroom.cli.deployment import DeploymentOptions
from postroom.cli.exits import UsageFault
from postroom.cli.inputs import AsJson, read_input
from postroom.cli.options import CommandTyper
from postroom.cli.output import print_either
from postroom.core.errors import SettingsError, TheirError
from postroom.core.ijson import parse

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
        urls = read_chain_endpoints(parse(read_input(file), max_bytes=MAX_SECRET_BYTES))
    except TheirError:
        raise UsageFault(f"{file} is not JSON, or too long") from None
    except SettingsError as error:
        raise UsageFault(f"{file}: {error}") from None
    deployment.open().storage.chain_endpoints.put(urls)
    _print(urls, as_json)


@app.command("show")
def show(deployment: DeploymentOptions, as_json: AsJson = False) -> None:
    """Print the hosts of the endpoints, in the order of use."""
    _print(deployment.open().storage.chain_endpoints.get(), as_json)


def _print(urls: tuple[str, ...], as_json: bool) -> None:
    from postroom.net.endpoint_url import read_endpoint_url

    hosts = [read_endpoint_url(url).host for url in urls]
    print_either(as_json, {"hosts": list(hosts)}, ", ".join(hosts) or "no endpoints: ENS is not used")
