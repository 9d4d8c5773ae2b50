"""`postroom send`: post a signed envelope to its receiver's post office, or a message through an outbox."""

from typing import Annotated
from urllib.parse import urlsplit

import typer

from postroom.cli.exits import Exit, UsageFault
from postroom.cli.inputs import AsJson, parse_body, read_input
from postroom.cli.network import ConnectionOptions, build_https, open_resolvers
from postroom.cli.outbox import OutboxOptions, send_via
from postroom.cli.output import print_json
from postroom.cli.owner import find_way
from postroom.cli.terminal import print_line
from postroom.core.settings import DeploymentSettings


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
    outbox: OutboxOptions,
    connections: ConnectionOptions,
    as_json: AsJson = False,
) -> None:
    """Send a signed message, or one through an outbox.

    Exit code 0: accepted (with --wait: delivered); 1: refused; 3: not possible now.
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
        raise typer.Exit(send_via(outbox.via, outbox, parse_body(data, file), way, as_json=as_json))
    url = to_url or _inbox_of(data)
    network = connections.network(elsewhere=to_url is not None, port=_port_of(url))
    with open_resolvers(network) as resolvers:
        sent = deliver(build_https(network, resolvers), url, data)
    if as_json:
        print_json({
            "url": url, "fate": str(sent.fate), "status": sent.status,
            "reason": sent.reason or None, "detail": sent.detail or None, "reply": sent.reply,
        })  # fmt: skip
    else:
        _print(url, sent.status, str(sent.fate), sent.reply)
    exits = {SendOutcome.TAKEN: Exit.GOOD, SendOutcome.REFUSED: Exit.REFUSED, SendOutcome.NOT_NOW: Exit.UNAVAILABLE}
    raise typer.Exit(exits[sent.fate])


def _print(url: str, status: int, fate: str, reply: object) -> None:
    print_line(f"{fate}: {status} from {url}")
    if isinstance(reply, dict):
        for name, value in reply.items():
            print_line(f"  {name!s}: {value if isinstance(value, str) else str(value)}")
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
