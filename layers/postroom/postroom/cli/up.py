"""`postroom up`: run the local stack; print its addresses, and commands to try next."""

import fcntl
import os
import shlex
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from postroom.cli.descriptor import DEFAULT_PATH, FILE_NAME, DescribedDeployment, Descriptor
from postroom.cli.exits import UsageFault
from postroom.cli.terminal import print_line, print_text

if TYPE_CHECKING:
    from postroom.cli.message_events.event_log import NewEvents
    from postroom.demo.stack import DemoStack
    from postroom.local.stack import LocalDeployment, LocalStack

_LOOK_SECONDS = 2.0


def _port(what: str) -> object:
    return typer.Option(help=f"Where {what}.", min=1, max=65535, show_default="a free one")


def _processes(whose: str, usual: str) -> object:
    return typer.Option(help=f"Number of processes of {whose}; more calls wait.", min=1, show_default=usual)


def up(
    state: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Folder to keep the state in, and to continue from.", show_default="nothing is kept"
        ),
    ] = None,
    zones: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder of zone files to serve, too: <origin>.zone (will be signed), .unsigned or .bogus.",
            exists=True,
            file_okay=False,
        ),
    ] = None,
    port: Annotated[int | None, _port("the post offices answer")] = None,
    dns_port: Annotated[int | None, _port("DNS answers, over UDP and TCP")] = None,
    aws_port: Annotated[int | None, _port("the embedded AWS answers")] = None,
    queue_processes: Annotated[int | None, _processes("each function with a queue", "2 for each core")] = None,
    http_processes: Annotated[int | None, _processes("each other function", "16")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Do not print what happens to messages.")] = False,
) -> None:
    """Run the post office on this machine, until Ctrl-C.

    It has a few example domains. What happens to messages is printed, as by `postroom logs`.
    """
    from postroom.core.extras import require
    from postroom.local.checkout import template_path

    template = template_path()
    require("the local stack", "local")
    from postroom.demo.stack import DemoStack
    from postroom.local.chain.hosts import IPFS_GATEWAY, chain_endpoints
    from postroom.local.emulator import Processes
    from postroom.local.stack import LocalStack

    usual = Processes()
    if state is not None:
        _check_folder(state)
    folder = state or DEFAULT_PATH.parent
    file = folder / FILE_NAME
    with alone_in(folder, keeps_keys=state is not None):
        print_line(
            "the template is being deployed, in an AWS that runs on this machine; it takes about ten seconds …",
            flush=True,
        )
        with LocalStack(
            template,
            state_dir=state.resolve() if state else None,
            zones_dir=zones,
            edge_port=port,
            dns_port=dns_port,
            aws_port=aws_port,
            processes=Processes(queue_processes or usual.queue, http_processes or usual.http),
        ) as stack:
            demo_stack = DemoStack(stack, folder / "keys")
            descriptor = describe_stack(stack, chain_endpoints(stack.edge.port), (IPFS_GATEWAY,))
            descriptor.write(file)
            with suppress(KeyboardInterrupt):
                _print(descriptor, demo_stack, file)
                _keep(stack, quiet=quiet)
            print_line()
            print_line("stopping …", flush=True)
    print_line("stopped")


@contextmanager
def alone_in(folder: Path, *, keeps_keys: bool) -> Iterator[None]:
    """Lock the folder while this process lives; at the end, delete everything in it that is not to be kept."""
    held = _lock(folder)
    try:
        yield
    finally:
        (folder / FILE_NAME).unlink(missing_ok=True)
        if not keeps_keys:
            # Without a state the zones of these keys are gone, so the keys are deleted, too.
            shutil.rmtree(folder / "keys", ignore_errors=True)
            with suppress(OSError):
                folder.rmdir()  # unless somebody else put a file there
        os.close(held)


def _lock(folder: Path) -> int:
    """Create and lock the folder; returns its descriptor, which holds the lock until it is closed."""
    while True:
        folder.mkdir(parents=True, exist_ok=True)
        # A stack that ends removes its folder: the opened, or even locked, folder may not exist any more.
        with ExitStack() as undo, suppress(FileNotFoundError):
            held = os.open(folder, os.O_RDONLY)
            undo.callback(os.close, held)
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise UsageFault(
                    f"a local stack is already running in {folder}; --state DIR starts another one"
                ) from None
            if os.path.samestat(os.fstat(held), folder.stat()):
                undo.pop_all()
                return held


def _check_folder(state: Path) -> None:
    there = next(path for path in (state, *state.parents) if path.exists())
    if not there.is_dir():
        raise UsageFault(f"--state (STATE of make) is {state}; it must be a folder, and {there} is not")


def describe_stack(
    stack: "LocalStack", chain_endpoints: tuple[str, ...] = (), ipfs_gateways: tuple[str, ...] = ()
) -> Descriptor:
    """The description of this stack that commands need."""
    return Descriptor(
        resolvers=stack.dns.address,
        trust_anchors=stack.tree.anchor_text,
        ca_file=str(stack.authority.pem.resolve()),
        port=stack.edge.port,
        endpoint=stack.emulator.endpoint,
        secret=stack.emulator.secret,
        deployments={d.name: DescribedDeployment(d.account, d.outputs) for d in stack.deployments.values()},
        chain_endpoints=chain_endpoints,
        ipfs_gateways=ipfs_gateways,
    )


def _keep(stack: "LocalStack", *, quiet: bool) -> None:
    """Run until Ctrl-C, and print events. The hosts of a domain that an operator adds are served, as if its DNS led
    here."""
    from postroom.core.errors import NotNowError
    from postroom.core.settings import read_outputs
    from postroom.protocols.nlweb.schema import DIALECTS
    from postroom.runtime.deployment import Deployment

    served: set[str] = set()
    new = {} if quiet else {deployment.name: _new_events(deployment) for deployment in stack.deployments.values()}
    while True:
        for name, events in new.items():
            with suppress(NotNowError):  # the next look finds them
                for event in events.look(int(time.time() * 1000)):
                    print_line(f"{name}  {event.as_line()}", flush=True)
        for deployment in stack.deployments.values():
            operators = Deployment(read_outputs(deployment.outputs), deployment.client).storage.operators
            for domain in set(operators.domains()) - served:
                for dialect in DIALECTS:
                    deployment.serve_host(dialect.host(domain))
                served.add(domain)
        time.sleep(_LOOK_SECONDS)


def _new_events(deployment: "LocalDeployment") -> "NewEvents":
    from postroom.cli.message_events.event import EventFilter
    from postroom.cli.message_events.event_log import NewEvents, event_log_of

    log = event_log_of(deployment.outputs, deployment.client("logs"))
    return NewEvents(log, int(time.time() * 1000), EventFilter())


def _print(descriptor: Descriptor, demo_stack: "DemoStack", file: Path) -> None:
    from postroom.demo.chain_names import CAROL, ERIN
    from postroom.demo.names import ALICE, BOB
    from postroom.demo.stack import RECEIVER, SENDER, SUBJECT
    from postroom.protocols.nlweb.schema import NLWEB

    sender, host = demo_stack.sender, NLWEB.host(RECEIVER)
    command = "postroom" if shutil.which("postroom") else shlex.quote(sys.argv[0])
    here = f"--local {shlex.quote(str(file.parent))}"
    key = shlex.quote(str(demo_stack.key_file(SENDER)))
    key_folder = demo_stack.key_file(SENDER).parent
    alice = shlex.quote(str(demo_stack.names.key_file(ALICE)))
    accounts = ", ".join(f"{name} in account {d.account}" for name, d in descriptor.deployments.items())
    curl = (
        f"curl --cacert {shlex.quote(descriptor.ca_file)} --resolve {host}:{descriptor.port}:127.0.0.1 "
        f"https://{host}:{descriptor.port}"
    )
    print_text(
        f"""up:
  post offices  https://127.0.0.1:{descriptor.port}, by host name; certificates by {descriptor.ca_file}
  DNS           {descriptor.resolvers} (UDP and TCP), with its own trust anchor
  AWS           {descriptor.endpoint}: {accounts}
  chain         {" and ".join(descriptor.chain_endpoints)}: {ALICE}, {CAROL} and {ERIN} are in its ENS
  keys          {key_folder}; {RECEIVER}.pem also opens the mailbox {RECEIVER}
  all of it     {file}

try, in another terminal:
  echo '{{"Say": "hello"}}' | {command} sign --key {key} --selector {sender.selector} \\
      --from {SENDER} --to {RECEIVER} --subject {SUBJECT} > hello.json
  {command} verify hello.json {here}
  {command} send hello.json {here}
  {command} read {RECEIVER} {here}
  {command} logs {here}
  {command} domain list {here}
  {command} dm3 lookup {CAROL} --explain {here}
  {command} dm3 send {ALICE} {BOB} 'Good morning' --key {alice} {here}
  {command} read {BOB} {here}
  {curl}/manifest
  {curl}/inbox -H 'Content-Type: application/json' --data-binary @hello.json

Ctrl-C ends it."""
    )
