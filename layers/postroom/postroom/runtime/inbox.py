"""The objects of functions/inbox."""

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Final, NamedTuple

import boto3

from postroom.core.own_faults import OwnFaults
from postroom.core.settings import Settings
from postroom.http.cors import Cors
from postroom.http.request import HttpRequest
from postroom.http.response import problem
from postroom.http.router import Route, Router
from postroom.net.aws import naming
from postroom.net.timebox import TimeBox
from postroom.pipeline.dm3_inbox import Dm3Door
from postroom.pipeline.intake import Intake
from postroom.pipeline.nlweb_inbox import DoorRules, NlwebDoor, Posted
from postroom.pipeline.quota import Room
from postroom.pipeline.synchronous import BuiltInHandlers, Sync
from postroom.protocols.dm3.extension import Properties
from postroom.protocols.nlweb.timestamp import Window
from postroom.reasons import Reason
from postroom.runtime.adapters import LambdaHandlers
from postroom.runtime.aws import AWS, AWS_ONCE, Aws, late_client
from postroom.runtime.dm3 import build_dm3_keys, build_profiles
from postroom.runtime.senders import build_judge
from postroom.runtime.shared import build_directory, named, new_id
from postroom.storage.directory.domains import Directory
from postroom.storage.limits.quotas import Quota, Usages
from postroom.storage.mail.replies import Replies
from postroom.storage.mail.segments import Objects

LOOK_UPS: Final = 4
"""At once; each may wait for its own time."""


DM3_PATHS: Final = ("/dm3", "/rpc")


class Doors(NamedTuple):
    """One for each protocol."""

    nlweb: NlwebDoor
    dm3: Dm3Door


def build_doors(settings: Settings, own_faults: OwnFaults) -> Doors:
    """What functions/inbox runs."""
    settings.need("directory_table", "seen_table", "limits_table", "bucket", "claims_queue_url", "dm3_keys_secret")
    aws = Aws(own_faults)
    # Not late: a look-up of dm3 has a second in all, and to make it may take a third of that.
    objects = Objects(naming(boto3.client("s3", config=AWS), own_faults), settings.bucket)
    directory = build_directory(settings, aws.dynamodb)
    intake = Intake(
        directory=directory,
        claims=aws.queue(settings.claims_queue_url),
        objects=objects,
        room=Room(
            Usages(aws.dynamodb, settings.limits_table),
            Quota(settings.mailbox_max_messages, settings.mailbox_max_bytes),
            clock=time.time,
            cache_seconds=settings.directory_cache_seconds,
        ),
        new_id=new_id,
    )
    return Doors(
        nlweb=_nlweb_door(settings, aws, objects, directory, intake, own_faults),
        dm3=_dm3_door(settings, objects, directory, intake, own_faults),
    )


def inbox_router(doors: Doors, settings: Settings) -> Router:
    """The router of functions/inbox. Raises SettingsError."""
    cors = Cors(settings.dm3_cors_origins, "DM3_CORS_ORIGINS")
    return Router(
        [
            Route("GET", "/inbox", lambda _: doors.nlweb.welcome()),
            Route("POST", "/inbox", lambda call: doors.nlweb.post(_posted(call.request))),
            Route("GET", "/manifest", lambda call: doors.nlweb.manifest(_host(call.request))),
            *(
                Route("POST", path, lambda call: doors.dm3.post(call.request.body, call.request.source))
                for path in DM3_PATHS
            ),
        ],
        refuse=problem,
        failure=Reason.NOT_QUEUED,
        cors=lambda path: cors if path in DM3_PATHS else None,
    )


def _posted(request: HttpRequest) -> Posted:
    headers = request.headers
    return Posted(request.body, headers.get("content-type", ""), headers.get("content-encoding", ""), request.source)


def _host(request: HttpRequest) -> str:
    return request.headers.get("host", request.host)


def _nlweb_door(
    settings: Settings, aws: Aws, objects: Objects, directory: Directory, intake: Intake, own_faults: OwnFaults
) -> NlwebDoor:
    sync = Sync(
        judge=build_judge(settings, directory),
        replies=Replies(aws.dynamodb, settings.seen_table, objects),
        handlers=BuiltInHandlers(directory, LambdaHandlers(late_client("lambda", own_faults, AWS_ONCE))),
        clock=time.time,
        new_id=new_id,
        lease_seconds=settings.sync_lease_seconds,
        memory_seconds=settings.nlweb_max_age_seconds + settings.retain_seconds,
    )
    window = Window(settings.nlweb_max_age_seconds, settings.nlweb_max_skew_seconds)
    return NlwebDoor(
        rules=DoorRules(window, settings.nlweb_max_body_bytes),
        directory=directory,
        intake=intake,
        sync=sync,
        clock=time.time,
    )


def _dm3_door(
    settings: Settings, objects: Objects, directory: Directory, intake: Intake, own_faults: OwnFaults
) -> Dm3Door:
    return Dm3Door(
        properties=properties_of(settings),
        directory=directory,
        keys=build_dm3_keys(settings, own_faults),
        profiles=build_profiles(settings, objects),
        timebox=TimeBox(ThreadPoolExecutor(LOOK_UPS), settings.dm3_lookup_seconds),
        intake=intake,
        clock=time.time,
    )


def properties_of(settings: Settings) -> Properties:
    """What the delivery service tells senders of itself. Raises SettingsError."""
    with named("DM3_MESSAGE_TTL_DAYS"):
        return Properties(settings.dm3_message_ttl_days, settings.dm3_size_limit_bytes)
