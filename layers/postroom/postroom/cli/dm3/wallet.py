"""`postroom dm3 wallet-message`: the text that a wallet signs to derive keys."""

from typing import Annotated

import typer

from postroom.cli.exits import UsageFault
from postroom.cli.inputs import AsJson
from postroom.cli.output import print_json
from postroom.cli.terminal import print_text

DEFAULT_NONCE = "0xa1b38837dd52e70a250ac2bf3e19f1599833e9d30662bf69a1c12e5747ed9f65"
"""SHA-256 of "dm3_default_nonce": the reference's clients use it, so that their keys are derived again."""


def wallet_message(
    address: Annotated[str, typer.Argument(help="The wallet's Ethereum address.")],
    nonce: Annotated[
        str, typer.Option(help="Another nonce gives other keys.", show_default="that of other dm3 clients")
    ] = DEFAULT_NONCE,
    as_json: AsJson = False,
) -> None:
    """Print the text that a wallet signs to derive keys.

    Sign it with personal_sign, and give the signature to `postroom dm3 keygen --wallet-signature`. The final line break
    is not part of it.
    """
    from postroom.protocols.dm3.keys import wallet_message as text_for

    try:
        text = text_for(address, nonce)
    except ValueError as error:
        raise UsageFault(f"{address!r}: {error}") from None
    if as_json:
        print_json({"message": text})
    else:
        print_text(text)
