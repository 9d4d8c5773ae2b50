"""`postroom chat trust`: the chat key of an NLWeb domain."""

from typing import Annotated

import typer

from postroom.cli.chat.inputs import chat_key
from postroom.cli.chat.options import SendingOptions
from postroom.cli.chat.sent import print_sent
from postroom.cli.inputs import AsJson, domain_name


def _domain(text: str) -> str:
    return domain_name(text.removeprefix("nlweb:"))


def trust(
    domain: Annotated[str, typer.Argument(metavar="DOMAIN", help="The NLWeb domain.", parser=_domain)],
    its_key: Annotated[str, typer.Argument(metavar="KEY", help="Its chat key: 0x04... or zQ3sh...")],
    options: SendingOptions,
    as_json: AsJson = False,
) -> None:
    """Take a key as that of an NLWeb domain.

    `chat who` lists the keys that have written from a domain, and `chat who --own` prints yours. Your other devices
    learn it by a message to yourself.
    """
    trusted = chat_key("KEY", its_key)
    with options.open() as chats:
        raise typer.Exit(print_sent(chats.trust(domain, trusted), as_json=as_json))
