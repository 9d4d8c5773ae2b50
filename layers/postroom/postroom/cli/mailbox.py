"""`postroom mailbox`: what an operator sets for one mailbox."""

from typing import Annotated

import typer

from postroom.cli.descriptor import Local
from postroom.cli.exits import UsageFault
from postroom.cli.inputs import AsJson
from postroom.cli.office import DeploymentName, StackName, open_office
from postroom.cli.output import print_either

app = typer.Typer(help="Settings of mailboxes.", no_args_is_help=True)

_MOST_SHARDS = 1000
"""A reader asks every shard, and the count never falls: a slip of the finger would stay."""


@app.callback()
def mailbox() -> None:
    """Settings of mailboxes."""


@app.command("shards")
def shards(
    name: Annotated[str, typer.Argument(help="The mailbox.")],
    count: Annotated[int, typer.Argument(help="How many shards.", min=1, max=_MOST_SHARDS)],
    stack_name: StackName = None,
    local: Local = None,
    deployment: DeploymentName = None,
    as_json: AsJson = False,
) -> None:
    """Spread a busy mailbox over more shards (each takes some 1000 messages a second); the count never falls."""
    office = open_office(stack_name, local, deployment)
    if not office.mailboxes().raise_shards(name, count):
        stands = office.directory().shards(name)
        if stands != count:
            raise UsageFault(f"{name} has {stands} shards already; the count is only ever raised")
    print_either(as_json, {"mailbox": name, "shards": count}, f"{name}: {count} shards")
