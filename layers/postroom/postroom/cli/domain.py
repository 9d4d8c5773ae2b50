"""`postroom domain`: the domains that a deployment serves."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from postroom.cli.deployment import DeploymentOptions
from postroom.cli.exits import NotFoundFault, UsageFault
from postroom.cli.inputs import AsJson, domain_name, load_private_key
from postroom.cli.options import CommandTyper
from postroom.cli.output import print_either, print_list
from postroom.core.ijson import JsonValue

if TYPE_CHECKING:
    from postroom.storage.directory.domains import Domain

app = CommandTyper(help="Manage the domains that a deployment serves.", no_args_is_help=True)

DomainName = Annotated[str, typer.Argument(help="The domain.", metavar="NAME", parser=domain_name)]


@app.command("add")
def add(
    name: DomainName,
    inbox: Annotated[
        bool | None, typer.Option("--inbox/--no-inbox", help="Accept messages to it.", show_default="inbox")
    ] = None,
    buffer: Annotated[
        bool | None, typer.Option("--buffer/--no-buffer", help="Keep Feedback for it.", show_default="no-buffer")
    ] = None,
    feedback: Annotated[
        str | None,
        typer.Option(
            metavar="DOMAIN",
            help="The domain of its buffer, published in its manifest; '' for none.",
            parser=lambda text: text and domain_name(text),
        ),
    ] = None,
    key: Annotated[Path | None, typer.Option(help="The private key (PEM) that signs its messages.")] = None,
    selector: Annotated[str | None, typer.Option(help="The selector of the published key.")] = None,
    *,
    deployment: DeploymentOptions,
    as_json: AsJson = False,
) -> None:
    """Add a domain, or change the settings named.

    Its subjects are not changed.
    """
    from postroom.storage.directory.domains import Domain

    if (key is None) != (selector is None):
        raise UsageFault("--key and --selector go together: use both")
    private = load_private_key(key) if key else None
    opened = deployment.open()
    if opened.storage.directory.dm3_mailbox(name) is not None:
        raise UsageFault(f"{name} has a mailbox of the delivery service here, and a name has one protocol")
    before = opened.storage.directory.domain(name) or Domain(name)
    after = replace(
        before,
        inbox=before.inbox if inbox is None else inbox,
        buffer=before.buffer if buffer is None else buffer,
        feedback=before.feedback if feedback is None else feedback or None,
        # A key that is stored already was put there for this.
        signs=before.signs or private is not None or opened.storage.signing_keys.of(name) is not None,
    )
    if private is not None and selector is not None:
        # The key first, so that a domain in the directory can sign.
        opened.storage.signing_keys.put(name, selector, private)
    opened.storage.operators.put_domain(after)
    line = (
        f"inbox {_word(after.inbox)}, buffer {_word(after.buffer)}, feedback to {after.feedback or 'nobody'}, "
        f"signs {_word(after.signs)}"
    )
    print_either(as_json, _describe(after), f"{name}: {line}")


@app.command("list")
def list_domains(deployment: DeploymentOptions, as_json: AsJson = False) -> None:
    """List the domains."""
    opened = deployment.open()
    directory = opened.storage.directory
    found = [domain for domain in map(directory.domain, opened.storage.operators.domains()) if domain is not None]
    columns = ("domain", "inbox", "buffer", "signs", "subjects", "feedback to")
    rows = [
        (d.name, _word(d.inbox), _word(d.buffer), _word(d.signs), str(len(d.subjects)), d.feedback or "") for d in found
    ]
    print_list(as_json, map(_describe, found), columns, rows)


@app.command("remove")
def remove(name: DomainName, deployment: DeploymentOptions, as_json: AsJson = False) -> None:
    """Remove a domain and its subjects; its mail stays."""
    if not deployment.open().storage.operators.remove_domain(name):
        raise NotFoundFault(f"{name} is not in the directory", hint="`postroom domain list` shows what is")
    print_either(as_json, {"name": name, "removed": True}, f"{name}: removed")


def _describe(domain: "Domain") -> dict[str, JsonValue]:
    return {
        "name": domain.name,
        "inbox": domain.inbox,
        "buffer": domain.buffer,
        "feedback": domain.feedback,
        "subjects": len(domain.subjects),
        "signs": domain.signs,
    }


def _word(value: bool) -> str:
    return "yes" if value else "no"
