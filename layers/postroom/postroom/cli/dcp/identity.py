"""`postroom dcp identity`: the identities of a deployment's guardian."""

import secrets
import time
from enum import StrEnum
from typing import Annotated

import typer

from postroom.cli.deployment import DeploymentOptions
from postroom.cli.exits import UsageFault
from postroom.cli.inputs import AsJson
from postroom.cli.output import print_list
from postroom.core.ijson import JsonValue
from postroom.core.timestamps import write_timestamp

_SEEN_BY_THEN_SECONDS = 120
"""By then every instance of the function has read a changed secret."""


class IdentityAction(StrEnum):
    """What `postroom dcp identity` may do."""

    ROTATE = "rotate"


def identity(
    action: Annotated[
        IdentityAction | None,
        typer.Argument(metavar="[rotate]", help="Add an identity; without this, they are listed.", show_default=False),
    ] = None,
    drop_earlier: Annotated[
        bool,
        typer.Option("--drop-earlier", help="With rotate: end the sessions and cheques of all earlier identities."),
    ] = False,
    *,
    deployment: DeploymentOptions,
    as_json: AsJson = False,
) -> None:
    """List or rotate the identities of a post office's guardian.

    The newest identity opens sessions; all of them serve the sessions and cheques that name them.
    """
    if drop_earlier and action is None:
        raise UsageFault("--drop-earlier goes with rotate: `postroom dcp identity rotate --drop-earlier`")
    identities, now = deployment.open().storage.dcp_identities, int(time.time())
    if drop_earlier:
        # At once: whoever drops them has a reason not to wait.
        identities.replace_all(secrets.token_urlsafe(48), now)
    elif action is IdentityAction.ROTATE:
        identities.add(secrets.token_urlsafe(48), now + _SEEN_BY_THEN_SECONDS, drop_before=0)
    newest, found = identities.newest_and_all()
    described: list[dict[str, JsonValue]] = [
        {
            "address": f"0x{found[begun].key.address}",
            "begins_at": int(begun),
            "newest": begun == newest,
        }
        for begun in sorted(found, key=int)
    ]
    rows = [(str(it["address"]), _begin(it["begins_at"]), _state(it, now)) for it in described]
    print_list(as_json, described, ("identity", "newest from", ""), rows)


def _begin(begins_at: JsonValue) -> str:
    return write_timestamp(int(str(begins_at)) * 1000) if begins_at else "the first deployment"


def _state(described: dict[str, JsonValue], now: int) -> str:
    if described["newest"]:
        return "opens sessions"
    return "soon" if int(str(described["begins_at"])) > now else "serves its sessions and cheques"
