"""`postroom send`: a signed envelope goes to its receiver's post office, as it is."""

from typing import Annotated
from urllib.parse import urlsplit

import typer

from postroom.cli.descriptor import Local, stack_of_this_folder
from postroom.cli.exits import Exit, UsageFault
from postroom.cli.inputs import AsJson, read_input
from postroom.cli.network import AllowPrivate, CaFile, Port, Resolver, build_https, choose_network, open_resolvers
from postroom.cli.output import print_json, safe
from postroom.settings import Settings


def send(
    file: Annotated[str, typer.Argument(help="The signed envelope; - is standard input.", metavar="FILE|-")],
    to_url: Annotated[
        str | None, typer.Option(help="Post here instead; then the envelope is not looked at.", metavar="URL")
    ] = None,
    resolver: Resolver = None,
    ca_file: CaFile = None,
    port: Port = None,
    allow_private: AllowPrivate = False,
    local: Local = None,
    as_json: AsJson = False,
) -> None:
    """Post a signed message and print the answer. Exit code 0: taken; 1: refused; 3: not now."""
    from postroom.client import Fate, deliver

    envelope = read_input(file)
    url = to_url or _inbox_of(envelope)
    if local is None and not (resolver or to_url):
        local = stack_of_this_folder("sending")
    network = choose_network(
        local, resolvers=resolver, ca_file=ca_file, port=port or _port_of(url), allow_private=allow_private
    )
    with open_resolvers(network) as resolvers:
        sent = deliver(build_https(network, resolvers), url, envelope)
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
    from postroom.ijson import parse
    from postroom.nlweb.envelope import read_dialect, read_frame, text_of
    from postroom.nlweb.names import read_receiver

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
