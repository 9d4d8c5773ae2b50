"""The objects that file messages."""

import time
from concurrent.futures import ThreadPoolExecutor

from postroom.core.own_faults import OwnFaults
from postroom.core.settings import Settings
from postroom.pipeline.filing import Filing
from postroom.runtime.adapters import AwsForwarding
from postroom.runtime.aws import Aws, late_client
from postroom.runtime.shared import new_id, times_of
from postroom.storage.limits.quotas import Usages
from postroom.storage.mail.head import Heads
from postroom.storage.mail.register import Register
from postroom.storage.mail.seen import Seen
from postroom.storage.mail.segments import Objects
from postroom.storage.outbox import Outbox


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
