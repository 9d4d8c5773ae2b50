"""`postroom mailbox notify`: notification targets of a mailbox, set by its owner or an operator.

The owner asks over HTTPS. The operator does through AWS what the mailbox API does: a target is sent a code, and is
notified of nothing before it is confirmed.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal, Protocol, TypeAlias, TypeVar, cast

import msgspec
import typer

from postroom.cli.exits import UsageFault
from postroom.cli.inputs import AsJson, MailboxName
from postroom.cli.options import CommandTyper
from postroom.cli.output import print_either, print_json, print_table
from postroom.cli.owner import OptionalOwnerOptions
from postroom.core.errors import TheirError
from postroom.core.ijson import JsonValue

if TYPE_CHECKING:
    from collections.abc import Callable

    from postroom.api.schemas import Target
    from postroom.http.notifications import NotificationTargetSettings

T = TypeVar("T")
KindName: TypeAlias = Literal["webhook", "sns"]


class TargetActions(Protocol):
    """Where targets are set: the client's `Mailbox`, or the operator's way. Raises what ends a command."""

    def targets(self) -> "list[Target]":
        """Each of them."""
        ...

    def add_target(self, kind: KindName, to: str, /) -> "Target":
        """One more; a code is sent there."""
        ...

    def verify_target(self, target_id: str, code: str, /) -> "Target":
        """Hand the code back; empty: let another one be sent."""
        ...

    def rotate_target(self, target_id: str, /) -> "Target":
        """A new secret."""
        ...

    def resume_target(self, target_id: str, /) -> "Target":
        """Notify again a target that was paused."""
        ...

    def remove_target(self, target_id: str, /) -> None:
        """Remove it."""
        ...


@dataclass(frozen=True, slots=True)
class _OperatorsActions:
    """The mailbox API's own, for one mailbox; what it refuses is a wrong use."""

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


app = CommandTyper(help="Manage who is notified that mail is waiting.", no_args_is_help=True)

_TargetId = Annotated[str, typer.Argument(metavar="TARGET", help="The target's id, as `list` shows it.")]


@app.command("list")
def list_targets(
    name: MailboxName,
    owner: OptionalOwnerOptions,
    as_json: AsJson = False,
) -> None:
    """List the notification targets of a mailbox."""
    with _open(name, owner) as actions:
        found = actions.targets()
    if as_json:
        print_json([_described(target) for target in found])
        return
    rows = [(it.id, it.kind, it.to, str(it.state), it.detail) for it in found]
    print_table(("target", "kind", "to", "", "last failure"), rows)


@app.command("add")
def add(
    name: MailboxName,
    to: Annotated[str, typer.Argument(help="An https URL, or the ARN of a topic of SNS.")],
    owner: OptionalOwnerOptions,
    as_json: AsJson = False,
) -> None:
    """Add a notification target, and send it a code.

    The secret that signs webhooks is shown here, and not again.
    """
    with _open(name, owner) as actions:
        made = actions.add_target("sns" if to.startswith("arn:") else "webhook", to)
    _print_one(made, "a code is on its way there; `verify` takes it", as_json=as_json)


@app.command("verify")
def verify(
    name: MailboxName,
    target: _TargetId,
    code: Annotated[str, typer.Argument(help="What was sent there; without it another code is sent.")] = "",
    *,
    owner: OptionalOwnerOptions,
    as_json: AsJson = False,
) -> None:
    """Confirm a target by the code that was sent to it."""
    with _open(name, owner) as actions:
        shown = actions.verify_target(target, code)
    _print_one(shown, "it is notified from now on" if code else "another code is on its way there", as_json=as_json)


@app.command("rotate")
def rotate(
    name: MailboxName,
    target: _TargetId,
    owner: OptionalOwnerOptions,
    as_json: AsJson = False,
) -> None:
    """Give a webhook a new secret; the old one signs one more day."""
    with _open(name, owner) as actions:
        shown = actions.rotate_target(target)
    _print_one(shown, "the old secret signs for a day more", as_json=as_json)


@app.command("resume")
def resume(
    name: MailboxName,
    target: _TargetId,
    owner: OptionalOwnerOptions,
    as_json: AsJson = False,
) -> None:
    """Resume a target that was paused after failures."""
    with _open(name, owner) as actions:
        shown = actions.resume_target(target)
    _print_one(shown, str(shown.state), as_json=as_json)


@app.command("remove")
def remove(
    name: MailboxName,
    target: _TargetId,
    owner: OptionalOwnerOptions,
    as_json: AsJson = False,
) -> None:
    """Remove a notification target."""
    with _open(name, owner) as actions:
        actions.remove_target(target)
    print_either(as_json, {"mailbox": name, "removed": target}, f"{name}: {target} is removed")


@contextmanager
def _open(name: str, options: OptionalOwnerOptions) -> Iterator[TargetActions]:
    """The owner's way, if a post office is named; else the operator's."""
    owner = options.owner()
    if owner is None:
        yield _OperatorsActions(options.deployment.open().deployment.mailbox_api.targets, name)
        return
    with owner.open(name) as mailbox:
        yield mailbox


def _tried(step: "Callable[[], T]") -> T:
    """What the mailbox API would answer; what it refuses is a wrong use."""
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
