"""`postroom admin`: commands for the operator of a deployment."""

from typing import TYPE_CHECKING

import typer

from postroom.cli.checks import exit_of, shown
from postroom.cli.deployment import DeploymentOptions
from postroom.cli.inputs import AsJson
from postroom.cli.network import LookupOptions, choose_network, open_resolvers
from postroom.cli.options import CommandTyper
from postroom.cli.output import print_json
from postroom.cli.terminal import print_line

if TYPE_CHECKING:
    from postroom.core.ijson import JsonValue

app = CommandTyper(help="Check a deployment.", no_args_is_help=True)


@app.command()
def status(deployment: DeploymentOptions, lookups: LookupOptions, as_json: AsJson = False) -> None:
    """Check a deployment, and suggest what to do next.

    Stack, hosts, domains, keys, functions, jobs, alarms and dead letters are checked; nothing is changed. Exit code 0:
    nothing is missing, perhaps with warnings; 1: something is missing or bad; 3: something could not be checked.
    """
    from postroom.cli.admin.findings import NamedDeployment
    from postroom.cli.admin.lookups import look
    from postroom.cli.doctor import look_from
    from postroom.doctor import overall

    opened = deployment.open()
    place = NamedDeployment(opened.name, deployment.as_shell(opened.name), is_local=opened.local is not None)
    # The hosts and keys of a deployment on AWS are looked up as senders do.
    network = choose_network(None, resolvers=lookups.resolver, trust_anchor=lookups.trust_anchor)
    with open_resolvers(network) as resolvers:
        checks = shown(look(opened, place, look_from(network, resolvers)), quietly=as_json)
    came_to = overall(checks)
    if as_json:
        listed: list[JsonValue] = [
            {name: value for name, value in check.as_json().items() if name != "reason"} for check in checks
        ]
        print_json({"stack": opened.name, "status": str(came_to), "checks": listed})
    else:
        print_line(f"{opened.name}: {came_to}")
    raise typer.Exit(exit_of(came_to))
