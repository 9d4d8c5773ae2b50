"""The objects of functions/worker."""

import time
from concurrent.futures import ThreadPoolExecutor

import boto3

from postroom.core.own_faults import OwnFaults
from postroom.core.settings import Settings
from postroom.core.side_by_side import THREADS
from postroom.net.aws import naming
from postroom.pipeline.judges.dm3 import Dm3Judge
from postroom.pipeline.notify import Announcer
from postroom.pipeline.worker import Worker
from postroom.runtime.aws import AWS, Aws
from postroom.runtime.dm3 import build_dm3_keys, build_profiles
from postroom.runtime.filing import build_filing
from postroom.runtime.senders import build_judge
from postroom.runtime.shared import build_directory, times_of
from postroom.storage.mail.segments import Objects


def build_worker(settings: Settings, own_faults: OwnFaults) -> Worker:
    """What functions/worker runs."""
    settings.need(
        "directory_table", "seen_table", "post_table", "limits_table", "outbox_table", "bucket",
        "retry_queue_url", "suspects_queue_url", "courier_queue_url", "dm3_keys_secret",
    )  # fmt: skip
    aws, pool = Aws(own_faults), ThreadPoolExecutor(THREADS - 1)
    objects = Objects(naming(boto3.client("s3", config=AWS), own_faults), settings.bucket)
    directory = build_directory(settings, aws.dynamodb)
    return Worker(
        judges={
            "nlweb": build_judge(settings, directory),
            "dm3": Dm3Judge(
                # A letter that was taken in was sealed to them.
                keys=build_dm3_keys(settings, own_faults, needed=True),
                profiles=build_profiles(settings, objects),
                clock=time.time,
                times=times_of(settings),
                unverified_seconds=settings.dm3_unverified_seconds,
            ),
        },
        filing=build_filing(settings, aws, objects, pool, own_faults),
        announcer=Announcer(directory, aws.queue(settings.courier_queue_url)),
        objects=objects,
        retry=aws.queue(settings.retry_queue_url),
        suspects=aws.queue(settings.suspects_queue_url),
        pool=pool,
        monotonic=time.monotonic,
    )
