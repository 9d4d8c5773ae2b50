"""`postroom send`: post a signed envelope to its receiver's post office, or a message through an outbox."""

from collections.abc import Sequence
from math import isfinite
from typing import TYPE_CHECKING, Annotated, Any, Final
from urllib.parse import urlsplit

import typer
from typer.core import TyperCommand

from postroom.cli.deployment import DeploymentOptions
from postroom.cli.exits import Exit, UsageFault
from postroom.cli.inputs import AsJson, parse_body, read_input
from postroom.cli.network import ConnectionOptions, build_https, open_resolvers
from postroom.cli.outbox import OutboxOptions, send_via
from postroom.cli.output import print_json
from postroom.cli.owner import find_way
from postroom.cli.terminal import print_line
from postroom.core.settings import DeploymentSettings
from postroom.local.patience import PATIENCE_SECONDS

if TYPE_CHECKING:
    from postroom.cli.verdicts import MessageVerdict, Watch
    from postroom.client import Sent

_WAIT: Final = "--wait"
_WAIT_SECONDS: Final = 60.0
_USUAL: Final = "inf"
"""The number of seconds in place of one that was left out."""


class SendCommand(TyperCommand):
    """The command with the option `--wait [SECONDS]`: Typer has no options whose value may be left out."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As Typer's, with the usual time after a `--wait` without one."""
        return super().parse_args(ctx, with_seconds(args))


def with_seconds(args: Sequence[str]) -> list[str]:
    """The arguments, with a number of seconds after each `--wait`."""
    whole: list[str] = []
    for arg, after in zip(args, [*args[1:], ""], strict=True):
        whole += [arg, _USUAL] if arg == _WAIT and not _is_number(after) else [arg]
    return whole


def seconds_of(wait: float, *, is_local: bool) -> float:
    """How long to wait: the given number, or the usual one. The machine of a local stack may be busy."""
    return wait if isfinite(wait) else PATIENCE_SECONDS if is_local else _WAIT_SECONDS


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def send(
    file: Annotated[
        str,
        typer.Argument(
            help="The signed envelope, or with --via the Body (JSON); - is standard input.", metavar="FILE|-"
        ),
    ],
    *,
    to_url: Annotated[
        str | None, typer.Option(help="Post to this URL; the envelope is not checked.", metavar="URL")
    ] = None,
    wait: Annotated[
        float,
        typer.Option(
            metavar="[SECONDS]",
            help=f"Wait for the verdict, without a number {_WAIT_SECONDS:.0f} s, or as long as the local stack takes: "
            "at the receiver's post office if it is that of --local or --stack-name, otherwise for Feedback at our "
            "buffer; with --via, for the result.",
            min=0,
        ),
    ] = 0,
    outbox: OutboxOptions,
    connections: ConnectionOptions,
    deployment: DeploymentOptions,
    as_json: AsJson = False,
) -> None:
    """Send a signed message, or one through an outbox.

    Exit code 0: accepted (with --wait: by the verdict, or delivered); 1: refused, or discarded; 3: not possible now
    (with --wait: no verdict yet).
    """
    from postroom.client import SendOutcome, deliver

    if outbox.via is None and outbox.given:
        raise UsageFault(
            "a signed envelope has its own sender, receiver and subject: leave these out, or add --via URL"
        )
    data = read_input(file)
    if outbox.via:
        way = find_way(
            outbox.via, connections.stack(), connections.ca_file, resolvers=connections.resolver, port=connections.port
        )
        seconds = seconds_of(wait, is_local=connections.stack() is not None)
        raise typer.Exit(send_via(outbox.via, outbox, parse_body(data, file), way, wait=seconds, as_json=as_json))
    watch = _watch(data, deployment) if wait else None
    url = to_url or _inbox_of(data)
    network = connections.network(elsewhere=bool(to_url or deployment.stack_name), port=_port_of(url))
    with open_resolvers(network) as resolvers:
        sent = deliver(build_https(network, resolvers), url, data)
    if not as_json:
        _print(url, sent.status, str(sent.fate), sent.reply)
    seconds = seconds_of(wait, is_local=network.is_local)
    verdict = _verdict(watch, seconds) if watch and _is_queued(sent) else None
    if as_json:
        print_json({
            "url": url, "fate": str(sent.fate), "status": sent.status,
            "reason": sent.reason or None, "detail": sent.detail or None, "reply": sent.reply,
            **({"verdict": verdict.as_json() if verdict else None} if wait else {}),
        })  # fmt: skip
    elif verdict:
        print_line(verdict.as_line())
    exits = {SendOutcome.TAKEN: Exit.GOOD, SendOutcome.REFUSED: Exit.REFUSED, SendOutcome.NOT_NOW: Exit.UNAVAILABLE}
    raise typer.Exit(verdict.exit if verdict else exits[sent.fate])


def _watch(data: bytes, deployment: DeploymentOptions) -> "Watch":
    """Where the verdict will be; found before the message is sent, because it may be nowhere. Raises UsageFault."""
    from postroom.cli.verdicts import find_watch, identity_of

    return find_watch(deployment.open_all(), identity_of(data))


def _verdict(watch: "Watch", seconds: float) -> "MessageVerdict":
    from postroom.cli.verdicts import wait_for_verdict

    return wait_for_verdict(watch, seconds)


def _is_queued(sent: "Sent") -> bool:
    """Whether a verdict follows: a synchronous request is answered at once."""
    return isinstance(sent.reply, dict) and sent.reply.get("Status") == "Queued"


def _print(url: str, status: int, fate: str, reply: object) -> None:
    print_line(f"{fate}: {status} from {url}", flush=True)
    if isinstance(reply, dict):
        for name, value in reply.items():
            print_line(f"  {name!s}: {value if isinstance(value, str) else str(value)}", flush=True)
    elif reply is not None:
        print_line(f"  {reply!s}")


def _inbox_of(envelope: bytes) -> str:
    """The well-known inbox of the receiver, by the dialect. Raises TheirError."""
    from postroom.core.ijson import parse
    from postroom.protocols.nlweb.envelope import read_dialect, read_frame, text_of
    from postroom.protocols.nlweb.names import read_receiver

    frame, header = read_frame(parse(envelope, max_bytes=DeploymentSettings().nlweb_max_body_bytes))
    return read_dialect(frame, header).inbox_url(read_receiver(text_of(header, "To", "Header.")))


def _port_of(url: str) -> int | None:
    try:
        parts = urlsplit(url)
        if parts.scheme == "https" and parts.hostname:
            return parts.port
    except ValueError:
        pass  # as invalid as the others
    raise UsageFault(f"--to-url {url!r} is not a URL such as https://nlweb.receiver.example/inbox")
