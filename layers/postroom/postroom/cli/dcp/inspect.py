"""`postroom dcp inspect`: every check of a message or of a cheque, with what was found and what was expected."""

from typing import Annotated

import typer

from postroom.cli.durations import read_duration
from postroom.cli.explanation import exit_of, print_explanation
from postroom.cli.inputs import AsJson, read_input, time_of_receipt
from postroom.cli.output import print_json


def inspect(
    file: Annotated[
        str, typer.Argument(metavar="FILE|-", help="The signed message, or the cheque; - is standard input.")
    ],
    now: Annotated[
        float | None,
        typer.Option(metavar="EPOCH", help="When it is received, in seconds since 1970.", show_default="now"),
    ] = None,
    max_ttl: Annotated[
        int,
        typer.Option(metavar="DURATION", help="The longest ttl that the receiver grants.", parser=read_duration),
    ] = "7d",  # type: ignore[assignment]  # the parser reads it
    slop: Annotated[
        int,
        typer.Option(metavar="DURATION", help="The difference of clocks that it allows.", parser=read_duration),
    ] = "10s",  # type: ignore[assignment]
    as_json: AsJson = False,
) -> None:
    """Check a message or a cheque: who signed it, and who may do what.

    Exit code 0: nothing is wrong with it; 1: it is not accepted. Only the receiver knows its sessions and nonces, and
    which ids and stamps it has seen before.
    """
    from dataclasses import replace

    from postroom.protocols.dcp.inspection import inspect as inspect_data
    from postroom.protocols.dcp.receiving import DEFAULT_TTL, ReceiveLimits

    limits = ReceiveLimits(ttl=replace(DEFAULT_TTL, max=max_ttl), slop=slop)
    explanation = inspect_data(read_input(file), now=time_of_receipt(now), limits=limits)
    if as_json:
        print_json(explanation.as_json())
    else:
        print_explanation(explanation)
    raise typer.Exit(exit_of(explanation))
