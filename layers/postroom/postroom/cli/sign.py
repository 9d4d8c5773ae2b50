"""`postroom sign`: make a signed envelope of a Body."""

import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from postroom.cli.exits import UsageFault
from postroom.cli.inputs import dialect_called, domain_name, load_private_key, parse_body, read_input
from postroom.cli.output import print_json

if TYPE_CHECKING:
    from postroom.protocols.nlweb.sign import Draft

T = TypeVar("T")


def sign(
    key: Annotated[Path, typer.Option(help="The private key (PEM), as `postroom keygen` makes it.")],
    sender: Annotated[str, typer.Option("--from", help="The sending domain, or a wallet's UUID.")],
    receiver: Annotated[str, typer.Option("--to", help="The receiving domain.", parser=domain_name)],
    subject: Annotated[str, typer.Option(help="The method, such as Hello@Host.")],
    file: Annotated[str, typer.Argument(help="The Body, as JSON; - is standard input.", metavar="[FILE|-]")] = "-",
    selector: Annotated[str | None, typer.Option(help="Name of the key within the sending domain.")] = None,
    correlation: Annotated[str | None, typer.Option(help="A UUID.", show_default="a fresh one")] = None,
    timestamp: Annotated[str | None, typer.Option(help="RFC 3339, in UTC.", show_default="now")] = None,
    dialect: Annotated[str, typer.Option(help="nlweb or pollyweb.")] = "nlweb",
    no_body: Annotated[bool, typer.Option("--no-body", help="Leave the Body out; nothing is read.")] = False,
) -> None:
    """Sign a message, and print its envelope as JSON."""
    from postroom.protocols.nlweb.names import read_correlation, read_sender
    from postroom.protocols.nlweb.sign import Draft
    from postroom.protocols.nlweb.sign import sign as sign_draft
    from postroom.protocols.nlweb.timestamp import read_timestamp

    draft = Draft(
        sender=_given("--from", sender, read_sender),
        receiver=receiver,
        subject=subject,
        correlation=_given("--correlation", correlation, read_correlation) if correlation else str(uuid.uuid4()),
        timestamp_ms=_given("--timestamp", timestamp, read_timestamp) if timestamp else int(time.time() * 1000),
        body=None if no_body else parse_body(read_input(file), file),
        has_body=not no_body,
        selector=selector,
        dialect=dialect_called(dialect),
    )
    _check_header(draft)
    print_json(sign_draft(draft, load_private_key(key)))


def _given(option: str, text: str, rule: Callable[[str], T]) -> T:
    """An option, checked by the receivers' rule."""
    from postroom.core.errors import TheirError

    try:
        return rule(text)
    except TheirError as error:
        raise UsageFault(f"{option} is {text!r}: {error.detail}") from None


def _check_header(draft: "Draft") -> None:
    """What every receiver would refuse is not signed in the first place."""
    from postroom.core.errors import TheirError
    from postroom.protocols.nlweb.envelope import read_key_selector, read_subject
    from postroom.protocols.nlweb.sign import header_of

    header = header_of(draft)
    try:
        read_subject(header)
        read_key_selector(header, draft.dialect, draft.sender)
    except TheirError as error:
        raise UsageFault(f"{error.detail}; see --subject and --selector") from None
