"""`postroom send`: post a signed envelope to its receiver's post office, or a message through an outbox."""

from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer

from postroom.cli.descriptor import Local, stack_of_this_folder
from postroom.cli.exits import Exit, UsageFault
from postroom.cli.inputs import AsJson, domain_name, read_input
from postroom.cli.network import AllowPrivate, CaFile, Port, Resolver, build_https, choose_network, open_resolvers
from postroom.cli.outbox import DialectName, Parcel, send_via
from postroom.cli.output import print_json, safe
from postroom.cli.owner import find_way
from postroom.core.settings import Settings


def send(
    file: Annotated[
        str,
        typer.Argument(
            help="The signed envelope, or with --via the Body (JSON); - is standard input.", metavar="FILE|-"
        ),
    ],
    to_url: Annotated[
        str | None, typer.Option(help="Post here instead; then the envelope is not looked at.", metavar="URL")
    ] = None,
    via: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="Have it signed and sent by the post office of --as; the next options say what."
        ),
    ] = None,
    mailbox: Annotated[
        str | None, typer.Option("--as", metavar="NAME", help="The domain that sends.", parser=domain_name)
    ] = None,
    key: Annotated[Path | None, typer.Option(help="The private key (PEM) of its mailbox's owner.")] = None,
    to: Annotated[str | None, typer.Option(help="The receiving domain.", parser=domain_name)] = None,
    subject: Annotated[str | None, typer.Option(help="The method, such as Hello@Host.")] = None,
    correlation: Annotated[
        str | None, typer.Option(help="A UUID: of what it replies to.", show_default="a fresh one")
    ] = None,
    dialect: Annotated[DialectName, typer.Option(help="In which form.")] = "nlweb",
    token: Annotated[
        str | None,
        typer.Option(help="Your own, for this message: said twice, it is sent once.", show_default="a fresh one"),
    ] = None,
    wait: Annotated[float, typer.Option(metavar="SECONDS", help="Wait so long for what becomes of it.", min=0)] = 0,
    resolver: Resolver = None,
    ca_file: CaFile = None,
    port: Port = None,
    allow_private: AllowPrivate = False,
    local: Local = None,
    as_json: AsJson = False,
) -> None:
    """Post a signed message, or send one through an outbox, and print the answer.

    Exit code 0: taken (with --wait: delivered); 1: refused; 3: not now.
    """
    from postroom.client import Fate, deliver

    if via is None and any((mailbox, key, to, subject, correlation, token, wait)):
        raise UsageFault("an envelope says all that itself; --via URL has a post office make one, and send it")
    data = read_input(file)
    if local is None and not (resolver or to_url):
        local = stack_of_this_folder("sending")
    if via:
        parcel = Parcel(mailbox, key, to, subject, data, correlation, token, dialect, wait)
        raise typer.Exit(
            send_via(via, parcel, find_way(via, local, ca_file, resolvers=resolver, port=port), as_json=as_json)
        )
    url = to_url or _inbox_of(data)
    network = choose_network(
        local, resolvers=resolver, ca_file=ca_file, port=port or _port_of(url), allow_private=allow_private
    )
    with open_resolvers(network) as resolvers:
        sent = deliver(build_https(network, resolvers), url, data)
    if as_json:
        print_json({
            "url": url, "fate": str(sent.fate), "status": sent.status,
            "reason": sent.reason or None, "detail": sent.detail or None, "reply": sent.reply,
        })  # fmt: skip
    else:
        _print(url, sent.status, str(sent.fate), sent.reply)
    exits = {Fate.TAKEN: Exit.GOOD, Fate.REFUSED: Exit.BAD_MESSAGE, Fate.NOT_NOW: Exit.NOT_FOUND_OUT}
    raise typer.Exit(exits[sent.fate])


def _print(url: str, status: int, fate: str, reply: object) -> None:
    print(f"{fate}: {status} from {safe(url)}")
    if isinstance(reply, dict):
        for name, value in reply.items():
            print(f"  {safe(str(name))}: {safe(value if isinstance(value, str) else str(value))}")
    elif reply is not None:
        print(f"  {safe(str(reply))}")


def _inbox_of(envelope: bytes) -> str:
    """The well-known inbox of the receiver, by the dialect. Raises TheirError."""
    from postroom.core.ijson import parse
    from postroom.protocols.nlweb.envelope import read_dialect, read_frame, text_of
    from postroom.protocols.nlweb.names import read_receiver

    frame, header = read_frame(parse(envelope, max_bytes=Settings().nlweb_max_body_bytes))
    return read_dialect(frame, header).inbox_url(read_receiver(text_of(header, "To", "Header.")))


def _port_of(url: str) -> int | None:
    try:
        parts = urlsplit(url)
        if parts.scheme == "https" and parts.hostname:
            return parts.port
    except ValueError:
        pass  # as wrong as the others
    raise UsageFault(f"--to-url {url!r} is no URL such as https://nlweb.receiver.example/inbox")
