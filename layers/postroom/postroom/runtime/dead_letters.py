"""The objects of functions/worker/keeper.py."""

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Final, NamedTuple

from postroom.core.own_faults import OwnFaults
from postroom.core.settings import DAY_SECONDS, Settings
from postroom.pipeline.dead_letters import Keeper
from postroom.pipeline.outbox_dead_letters import OutboxKeeper
from postroom.runtime.aws import Aws, late_client
from postroom.runtime.filing import build_filing
from postroom.storage.mail.segments import Objects
from postroom.storage.outbox import Outbox

_KEEPER_MARGIN_SECONDS: Final = DAY_SECONDS
"""Before the horizon: a letter is decided while what remembers its message still stands."""


class Keepers(NamedTuple):
    """Of the dead letters: of claims, and of what owners send."""

    claims: Keeper
    outbox: OutboxKeeper


def build_keepers(settings: Settings, own_faults: OwnFaults) -> Keepers:
    """What functions/worker/keeper.py runs."""
    settings.need(
        "post_table",
        "outbox_table",
        "bucket",
        "courier_queue_url",
        "dead_letter_queue_url",
        "courier_dead_letter_queue_url",
    )
    aws = Aws(own_faults)
    objects = Objects(late_client("s3", own_faults), settings.bucket)
    claims = Keeper(
        filing=build_filing(settings, aws, objects, ThreadPoolExecutor(1), own_faults),
        objects=objects,
        clock=time.time,
        horizon_seconds=settings.horizon_seconds,
        margin_seconds=min(_KEEPER_MARGIN_SECONDS, settings.horizon_seconds // 2),
    )
    outbox = OutboxKeeper(
        outbox=Outbox(aws.dynamodb, settings.outbox_table),
        clock=time.time,
        give_up_seconds=settings.outbox_give_up_seconds,
    )
    return Keepers(claims, outbox)
