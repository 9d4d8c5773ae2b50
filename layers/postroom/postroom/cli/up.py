"""`postroom up`: the local stack, kept running; its addresses, and what to try next."""

import shlex
import shutil
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from postroom.cli.descriptor import DEFAULT_PATH, FILE_NAME, Deployment, Descriptor, read_descriptor
from postroom.cli.exits import UsageFault
from postroom.cli.office import is_running

if TYPE_CHECKING:
    from postroom.cli.story.town import Town
    from postroom.local.stack import LocalStack

_LOOK_SECONDS = 2.0


def up(
    state: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Keep everything here, and go on from it.", show_default="nothing is kept"),
    ] = None,
    zones: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Serve these zone files, too: <origin>.zone (signed on the fly), .unsigned or .bogus.",
            exists=True,
            file_okay=False,
        ),
    ] = None,
    port: Annotated[
        int | None, typer.Option(help="Where the post offices answer.", min=1, max=65535, show_default="a free one")
    ] = None,
) -> None:
    """Run the post office on this machine, with a few domains to play with, until Ctrl-C."""
    from postroom.cli.checkout import template_path
    from postroom.cli.story.town import Town
    from postroom.local.stack import LocalStack

    if state is not None:
        _check_folder(state)
    folder = state or DEFAULT_PATH.parent
    file = folder / FILE_NAME
    _check_alone(file)
    print("the template is being deployed, in an AWS that runs on this machine …", flush=True)
    try:
        with LocalStack(
            template_path(), state_dir=state.resolve() if state else None, zones_dir=zones, door_port=port
        ) as stack:
            town = Town(stack, folder / "keys")
            descriptor = _describe(stack)
            descriptor.write(file)
            _print(descriptor, town, file)
            _keep(stack)
    except KeyboardInterrupt:
        print("\nended")
    finally:
        file.unlink(missing_ok=True)
        if state is None:
            # Without a state the keys' zones are gone, and so are the keys.
            shutil.rmtree(folder / "keys", ignore_errors=True)
            with suppress(OSError):
                folder.rmdir()  # if nobody else put anything there


def _check_folder(state: Path) -> None:
    there = next(path for path in (state, *state.parents) if path.exists())
    if not there.is_dir():
        raise UsageFault(f"--state (STATE of make) is {state}; it must be a folder, and {there} is none")


def _check_alone(file: Path) -> None:
    if file.exists() and is_running(read_descriptor(file).endpoint):
        raise UsageFault(f"the local stack of {file} runs already; --state DIR starts another beside it")


def _describe(stack: "LocalStack") -> Descriptor:
    return Descriptor(
        resolvers=stack.dns.address,
        trust_anchors=stack.tree.anchor_text,
        ca_file=str(stack.authority.pem.resolve()),
        port=stack.door.port,
        endpoint=stack.emulator.endpoint,
        deployments={d.name: Deployment(d.account, d.outputs) for d in stack.deployments.values()},
    )


def _keep(stack: "LocalStack") -> None:
    """Stay up. A domain that an operator adds gets its hosts at the door, as on AWS its DNS would lead there."""
    from postroom.nlweb.schema import DIALECTS
    from postroom.store.operators import Operators

    served: set[str] = set()
    while True:
        for deployment in stack.deployments.values():
            operators = Operators(deployment.client("dynamodb"), deployment.outputs["DirectoryTable"])
            for domain in set(operators.domains()) - served:
                for dialect in DIALECTS:
                    deployment.serve_host(dialect.host(domain))
                served.add(domain)
        time.sleep(_LOOK_SECONDS)


def _print(descriptor: Descriptor, town: "Town", file: Path) -> None:
    from postroom.cli.story.town import RECEIVER, SENDER, SUBJECT
    from postroom.nlweb.schema import NLWEB

    sender, host = town.sender, NLWEB.host(RECEIVER)
    command = "postroom" if shutil.which("postroom") else shlex.quote(sys.argv[0])
    here = f"--local {shlex.quote(str(file.parent))}"
    key = shlex.quote(str(town.key_file(SENDER)))
    accounts = ", ".join(f"{name} in account {d.account}" for name, d in descriptor.deployments.items())
    curl = (
        f"curl --cacert {shlex.quote(descriptor.ca_file)} --resolve {host}:{descriptor.port}:127.0.0.1 "
        f"https://{host}:{descriptor.port}"
    )
    print(
        f"""up:
  post offices  https://127.0.0.1:{descriptor.port}, by host name; certificates by {descriptor.ca_file}
  DNS           {descriptor.resolvers} (UDP and TCP), with its own trust anchor
  AWS           {descriptor.endpoint}: {accounts}
  all of it     {file}

try, in another terminal:
  echo '{{"Say": "hello"}}' | {command} sign --key {key} --selector {sender.selector} \\
      --from {SENDER} --to {RECEIVER} --subject {SUBJECT} > hello.json
  {command} verify hello.json {here}
  {command} send hello.json {here}
  {command} read {RECEIVER} {here}
  {command} domain list {here}
  {curl}/manifest
  {curl}/inbox -H 'Content-Type: application/json' --data-binary @hello.json

Ctrl-C ends it.""",
        flush=True,
    )
