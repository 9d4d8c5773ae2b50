"""How messages are filed."""

import time
from concurrent.futures import ThreadPoolExecutor

from postroom.post.adapters import AwsForwarding
from postroom.post.filing import Filing
from postroom.post.wiring.aws import Aws, late_client
from postroom.post.wiring.shared import new_id, times_of
from postroom.settings import Settings
from postroom.store.head import Heads
from postroom.store.outbox import Outbox
from postroom.store.own_faults import OwnFaults
from postroom.store.quotas import Usages
from postroom.store.register import Register
from postroom.store.seen import Seen
from postroom.store.segments import Objects


def build_filing(
    settings: Settings, aws: Aws, objects: Objects, pool: ThreadPoolExecutor, own_faults: OwnFaults
) -> Filing:
    """Steps 2 to 6 of the store protocol."""
    return Filing(
        seen=Seen(aws.dynamodb, settings.seen_table),
        register=Register(aws.dynamodb, settings.post_table),
        heads=Heads(aws.dynamodb, settings.post_table),
        outbox=Outbox(aws.dynamodb, settings.outbox_table),
        objects=objects,
        courier=aws.queue(settings.courier_queue_url),
        forwarding=AwsForwarding(late_client("sqs", own_faults), late_client("events", own_faults), own_faults),
        usages=Usages(aws.dynamodb, settings.limits_table),
        times=times_of(settings),
        clock=time.time,
        new_id=new_id,
        pool=pool,
    )
