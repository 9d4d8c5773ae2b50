"""`postroom mailbox notify`: notification targets of a mailbox, set by its owner or an operator.

The owner uses HTTPS. The operator does through AWS what the mailbox API does: a target is sent a code, and gets no
notifications before it is confirmed.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal, Protocol, TypeAlias, TypeVar, cast

import msgspec
import typer

from postroom.cli.exits import UsageFault
from postroom.cli.inputs import AsJson, MailboxName
from postroom.cli.options import CommandTyper, OptionGroup
from postroom.cli.output import print_either, print_json, print_list
from postroom.cli.owner import OptionalOwnerOptions
from postroom.cli.terminal import print_line
from postroom.core.errors import TheirError
from postroom.core.ijson import JsonValue

if TYPE_CHECKING:
    from collections.abc import Callable

    from postroom.api.schemas import Target
    from postroom.http.notification_targets import NotificationTargetSettings

T = TypeVar("T")
KindName: TypeAlias = Literal["webhook", "sns"]


class TargetActions(Protocol):
    """Where targets are set: the client's `Mailbox`, or the operator's access. Raises the errors that end a command."""

    def targets(self) -> "list[Target]":
        """All targets."""
        ...

    def add_target(self, kind: KindName, to: str, /) -> "Target":
        """Add a target; a code is sent to it."""
        ...

    def verify_target(self, target_id: str, code: str, /) -> "Target":
        """Confirm a target with the code; empty: have another one sent."""
        ...

    def rotate_target(self, target_id: str, /) -> "Target":
        """Give a target a new secret."""
        ...

    def resume_target(self, target_id: str, /) -> "Target":
        """Resume a paused target."""
        ...

    def remove_target(self, target_id: str, /) -> None:
        """Remove a target."""
        ...


@dataclass(frozen=True, slots=True)
class _OperatorsActions:
    """The mailbox API's own operations, for one mailbox; a refusal is a usage error."""

    targets_of: "NotificationTargetSettings"
    mailbox: str

    def targets(self) -> "list[Target]":
        return self.targets_of.all(self.mailbox).targets

    def add_target(self, kind: KindName, to: str) -> "Target":
        from postroom.api.schemas import NewTarget

        return _tried(lambda: self.targets_of.add(self.mailbox, NewTarget(kind, to)))

    def verify_target(self, target_id: str, code: str) -> "Target":
        return _tried(lambda: self.targets_of.verify(self.mailbox, target_id, code))

    def rotate_target(self, target_id: str) -> "Target":
        return _tried(lambda: self.targets_of.rotate(self.mailbox, target_id))

    def resume_target(self, target_id: str) -> "Target":
        return _tried(lambda: self.targets_of.resume(self.mailbox, target_id))

    def remove_target(self, target_id: str) -> None:
        _tried(lambda: self.targets_of.remove(self.mailbox, target_id))


app = CommandTyper(help="Manage notifications of new mail.", no_args_is_help=True)


@dataclass(frozen=True, kw_only=True)
class TargetsOptions(OptionGroup):
    """The mailbox whose targets a command works on, and who asks: its owner or an operator."""

    name: MailboxName
    owner: OptionalOwnerOptions
    as_json: AsJson = False

    @contextmanager
    def open(self) -> Iterator[TargetActions]:
        """The owner's way, if a post office is named; else the operator's."""
        owner = self.owner.owner()
        if owner is None:
            yield _OperatorsActions(self.owner.deployment.open().deployment.mailbox_api.targets, self.name)
            return
        with owner.open(self.name) as mailbox:
            yield mailbox

    def print_one(self, target: "Target", became: str) -> None:
        """The target, its secret if that is shown now, and in words what was done."""
        if self.as_json:
            print_json(_described(target))
            return
        print_line(f"{target.id}: {target.kind} {target.to}, {became}")
        if target.secret:
            print_line(f"    its secret, which is not shown again: {target.secret}")


@dataclass(frozen=True, kw_only=True)
class OneTargetOptions(TargetsOptions):
    """The same, and the target."""

    target: Annotated[str, typer.Argument(metavar="TARGET", help="The target's id, as `list` shows it.")]


@app.command("list")
def list_targets(targets: TargetsOptions) -> None:
    """List the notification targets of a mailbox."""
    with targets.open() as actions:
        found = actions.targets()
    rows = [(it.id, it.kind, it.to, str(it.state), it.detail) for it in found]
    print_list(targets.as_json, map(_described, found), ("target", "kind", "to", "", "last failure"), rows)


@app.command("add")
def add(
    targets: TargetsOptions, to: Annotated[str, typer.Argument(help="An https URL, or the ARN of an SNS topic.")]
) -> None:
    """Add a notification target, and send it a code.

    The secret that signs webhooks is shown only now.
    """
    with targets.open() as actions:
        made = actions.add_target("sns" if to.startswith("arn:") else "webhook", to)
    targets.print_one(made, "a code was sent to it; confirm it with `verify`")


@app.command("verify")
def verify(
    one: OneTargetOptions,
    code: Annotated[
        str, typer.Argument(help="The code that the target received; without it, another code is sent.")
    ] = "",
) -> None:
    """Confirm a target by the code that was sent to it."""
    with one.open() as actions:
        verified = actions.verify_target(one.target, code)
    one.print_one(verified, "it will be notified" if code else "another code was sent to it")


@app.command("rotate")
def rotate(one: OneTargetOptions) -> None:
    """Give a webhook a new secret; the old one works one more day."""
    with one.open() as actions:
        rotated = actions.rotate_target(one.target)
    one.print_one(rotated, "the old secret also signs for one more day")


@app.command("resume")
def resume(one: OneTargetOptions) -> None:
    """Resume a target that was paused after failures."""
    with one.open() as actions:
        resumed = actions.resume_target(one.target)
    one.print_one(resumed, str(resumed.state))


@app.command("remove")
def remove(one: OneTargetOptions) -> None:
    """Remove a notification target."""
    with one.open() as actions:
        actions.remove_target(one.target)
    print_either(one.as_json, {"mailbox": one.name, "removed": one.target}, f"{one.name}: {one.target} is removed")


def _tried(step: "Callable[[], T]") -> T:
    """The result of the mailbox API; a refusal is a usage error."""
    try:
        return step()
    except TheirError as error:
        raise UsageFault(error.detail or error.reason.sentence) from None


def _described(target: "Target") -> JsonValue:
    return cast("JsonValue", msgspec.to_builtins(target))
