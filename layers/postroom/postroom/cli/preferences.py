"""`postroom mailbox settings`: the owner's settings, over HTTPS. Changes take effect within a minute."""

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from postroom.cli.exits import UsageFault
from postroom.cli.inputs import AsJson
from postroom.cli.output import print_json
from postroom.cli.owner import OwnerOptions
from postroom.cli.terminal import print_line
from postroom.core.ijson import JsonValue

if TYPE_CHECKING:
    from postroom.client.mailbox import OwnerSettings


def settings(
    name: Annotated[str, typer.Argument(help="The mailbox; a domain's own is named as the domain.")],
    owner: OwnerOptions,
    change: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="MEMBER=JSON",
            help="Change this member, by the name that is shown; null removes it. Repeat it for more.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show the owner's settings, or change some."""
    wanted = read_changes(change or [])
    with owner.open(name) as mailbox:
        found = mailbox.settings()
        if wanted:
            found = mailbox.change_settings(found, **wanted)
    if as_json:
        print_json(_members(found))
        return
    members = _members(found)
    operators = members.pop("operators_subjects", None)
    for line in _lines("", members):
        print_line(line)
    for line in _lines("operators_subjects", operators) if operators else ():
        # --set does not accept it.
        print_line(f"# {line}")


def read_changes(texts: list[str]) -> dict[str, Any]:
    """The changes of `--set`, as one merge patch (RFC 7396). Raises UsageFault."""
    from postroom.api.schemas import SettingsChange

    changes: dict[str, Any] = {}
    for text in texts:
        path, equals, value = text.partition("=")
        first, *within = path.split(".")
        if not equals or first not in SettingsChange.__struct_fields__:
            known = ", ".join(SettingsChange.__struct_fields__)
            raise UsageFault(f"--set {text!r} is not MEMBER=JSON with a member of these: {known}")
        try:
            patch: JsonValue = json.loads(value)
        except ValueError:
            raise UsageFault(f"--set {text!r}: {value!r} is not JSON; a text needs quotation marks") from None
        if patch is None and not within:
            raise UsageFault(f"--set {text!r}: {first} cannot be removed; give it another value")
        for member in reversed(within):
            patch = {member: patch}
        changes[first] = _joined(changes[first], patch, text) if first in changes else patch
    return changes


def _joined(one: JsonValue, other: JsonValue, text: str) -> JsonValue:
    """Two patches as one. Raises UsageFault if they change the same member."""
    if not isinstance(one, dict) or not isinstance(other, dict):
        raise UsageFault(f"--set {text!r} changes what another --set changes")
    return {
        **one,
        **{name: _joined(one[name], value, text) if name in one else value for name, value in other.items()},
    }


def _members(found: "OwnerSettings") -> dict[str, JsonValue]:
    from msgspec import to_builtins

    return {name: value for name, value in to_builtins(found).items() if name != "etag" and value is not None}


def _lines(path: str, value: JsonValue) -> list[str]:
    """A line for each member, in the form of --set."""
    if isinstance(value, dict) and (value or not path) and not any("." in name or "=" in name for name in value):
        return [line for name, member in value.items() for line in _lines(f"{path}.{name}" if path else name, member)]
    return [f"{path}={json.dumps(value, ensure_ascii=False)}"]
