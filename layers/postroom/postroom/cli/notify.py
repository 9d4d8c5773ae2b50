"""`postroom mailbox notify`: who is told that something waits in a mailbox, set by an operator in its owner's place.

As the counter does it: a target is sent a code, and told nothing else before that came back.
"""

from typing import TYPE_CHECKING, Annotated, Literal, TypeVar, cast

import msgspec
import typer

from postroom.cli.descriptor import Local
from postroom.cli.exits import UsageFault
from postroom.cli.inputs import AsJson, MailboxName
from postroom.cli.office import DeploymentName, StackName, open_office
from postroom.cli.output import print_either, print_json, print_table
from postroom.errors import TheirError
from postroom.ijson import JsonValue

if TYPE_CHECKING:
    from collections.abc import Callable

    from postroom.counter.shapes import Target

T = TypeVar("T")

app = typer.Typer(help="Who is told that something waits in a mailbox.", no_args_is_help=True)

_TargetId = Annotated[str, typer.Argument(metavar="TARGET", help="The target's id, as `list` shows it.")]


@app.command("list")
def list_targets(
    name: MailboxName,
    stack_name: StackName = None,
    local: Local = None,
    deployment: DeploymentName = None,
    as_json: AsJson = False,
) -> None:
    """List the targets of a mailbox, and what is wrong with them."""
    found = open_office(stack_name, local, deployment).targets().all(name).targets
    if as_json:
        print_json([_described(target) for target in found])
        return
    rows = [(it.id, it.kind, it.to, str(it.state), it.detail) for it in found]
    print_table(("target", "kind", "to", "", "last failure"), rows)


@app.command("add")
def add(
    name: MailboxName,
    to: Annotated[str, typer.Argument(help="An https URL, or the ARN of a topic of SNS.")],
    stack_name: StackName = None,
    local: Local = None,
    deployment: DeploymentName = None,
    as_json: AsJson = False,
) -> None:
    """Add a target, and send it a code; the secret that webhooks are signed by is shown here, and not again."""
    from postroom.counter.shapes import NewTarget

    kind: Literal["webhook", "sns"] = "sns" if to.startswith("arn:") else "webhook"
    targets = open_office(stack_name, local, deployment).targets()
    made = _tried(lambda: targets.add(name, NewTarget(kind, to)))
    _print_one(made, "a code is on its way there; `verify` takes it", as_json=as_json)


@app.command("verify")
def verify(
    name: MailboxName,
    target: _TargetId,
    code: Annotated[str, typer.Argument(help="What was sent there; without it another code is sent.")] = "",
    stack_name: StackName = None,
    local: Local = None,
    deployment: DeploymentName = None,
    as_json: AsJson = False,
) -> None:
    """Begin to tell a target, by the code that was sent there."""
    targets = open_office(stack_name, local, deployment).targets()
    shown = _tried(lambda: targets.verify(name, target, code))
    _print_one(shown, "it is told from now on" if code else "another code is on its way there", as_json=as_json)


@app.command("rotate")
def rotate(
    name: MailboxName,
    target: _TargetId,
    stack_name: StackName = None,
    local: Local = None,
    deployment: DeploymentName = None,
    as_json: AsJson = False,
) -> None:
    """Give a webhook a new secret; the old one signs for a day, beside it."""
    targets = open_office(stack_name, local, deployment).targets()
    _print_one(_tried(lambda: targets.rotate(name, target)), "the old secret signs for a day more", as_json=as_json)


@app.command("resume")
def resume(
    name: MailboxName,
    target: _TargetId,
    stack_name: StackName = None,
    local: Local = None,
    deployment: DeploymentName = None,
    as_json: AsJson = False,
) -> None:
    """Tell a target again that failed for days, and was paused for it."""
    targets = open_office(stack_name, local, deployment).targets()
    shown = _tried(lambda: targets.resume(name, target))
    _print_one(shown, str(shown.state), as_json=as_json)


@app.command("remove")
def remove(
    name: MailboxName,
    target: _TargetId,
    stack_name: StackName = None,
    local: Local = None,
    deployment: DeploymentName = None,
    as_json: AsJson = False,
) -> None:
    """Tell a target no more."""
    targets = open_office(stack_name, local, deployment).targets()
    _tried(lambda: targets.remove(name, target))
    print_either(as_json, {"mailbox": name, "removed": target}, f"{name}: {target} is told no more")


def _tried(step: "Callable[[], T]") -> T:
    """What the counter would answer; its refusal is a wrong use."""
    try:
        return step()
    except TheirError as error:
        raise UsageFault(error.detail or error.reason.sentence) from None


def _print_one(target: "Target", became: str, *, as_json: bool) -> None:
    if as_json:
        print_json(_described(target))
        return
    print(f"{target.id}: {target.kind} {target.to}, {became}")
    if target.secret:
        print(f"    its secret, shown once: {target.secret}")


def _described(target: "Target") -> JsonValue:
    return cast("JsonValue", msgspec.to_builtins(target))
