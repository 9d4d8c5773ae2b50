"""Fits the real things to the counter: what functions/mailbox runs."""

import time
import uuid
from concurrent.futures import ThreadPoolExecutor

import boto3

from postroom.counter.counting import Counting
from postroom.counter.desk import Desk
from postroom.counter.fetching import Fetching
from postroom.counter.notifications import Offer, TargetDesk
from postroom.counter.opening import A_SECOND, OF_A_NAME_A_SECOND, Opening
from postroom.counter.own_settings import MessageSettings
from postroom.counter.preferences import Preferences
from postroom.counter.rate import Rate
from postroom.counter.sending import Sending
from postroom.counter.shelves import Shelves
from postroom.counter.sign_in import SignIn
from postroom.counter.storage import Storing
from postroom.counter.tokens import Tokens
from postroom.dm3.names import normalize
from postroom.errors import SettingsError, TheirError
from postroom.post.side_by_side import THREADS
from postroom.post.wiring.aws import AWS
from postroom.post.wiring.dm3 import build_profiles
from postroom.post.wiring.shared import build_directory, new_id
from postroom.settings import Settings
from postroom.store.answered import AnsweredChallenges
from postroom.store.aws import naming
from postroom.store.codes import CodeLimits
from postroom.store.mailboxes import Mailboxes
from postroom.store.outbox import Outbox
from postroom.store.own_faults import OwnFaults
from postroom.store.queues import Queue
from postroom.store.quotas import Quota, Usages
from postroom.store.reader import Reader
from postroom.store.register import Register
from postroom.store.segments import Objects
from postroom.store.storage import Storage, Use
from postroom.store.targets import Targets
from postroom.store.token_keys import TokenKeys
from postroom.store.webhook_keys import WebhookKeys


def build_counter(settings: Settings, own_faults: OwnFaults) -> Desk:
    """The counter of a deployment."""
    settings.need(
        "directory_table", "post_table", "limits_table", "outbox_table", "storage_table", "bucket",
        "courier_queue_url", "token_keys_secret", "webhook_keys_secret",
    )  # fmt: skip
    dynamodb = naming(boto3.client("dynamodb", config=AWS), own_faults)
    objects = Objects(naming(boto3.client("s3", config=AWS), own_faults), settings.bucket)
    directory = build_directory(settings, dynamodb)
    register = Register(dynamodb, settings.post_table)
    mailboxes = Mailboxes(dynamodb, settings.directory_table)
    reader = Reader(dynamodb, settings.post_table, register, objects)
    pool = ThreadPoolExecutor(THREADS - 1)
    secrets = naming(boto3.client("secretsmanager", config=AWS), own_faults)
    keys = TokenKeys(secrets, settings.token_keys_secret, time.time, own_faults)
    tokens = Tokens(keys, time.time, new_id)
    # Most domains have none, and are no delivery service: nobody has a profile there, and nothing is amiss.
    users = build_profiles(settings, objects, without=b"{}")
    answered = AnsweredChallenges(dynamodb, settings.limits_table)
    courier = Queue(naming(boto3.client("sqs", config=AWS), own_faults), settings.courier_queue_url)
    return Desk(
        sign_in=SignIn(tokens=tokens, directory=directory, mailboxes=mailboxes, users=users, answered=answered),
        opening=Opening(
            service=service_name(settings),
            tokens=tokens,
            answered=answered,
            users=users,
            directory=directory,
            mailboxes=mailboxes,
            of_a_name=Rate(OF_A_NAME_A_SECOND, time.monotonic),
            of_all=Rate(A_SECOND, time.monotonic),
        ),
        shelves=Shelves(reader, Fetching(reader, pool, time.time), register, directory, time.time),
        register=register,
        mailboxes=mailboxes,
        preferences=Preferences(mailboxes, MessageSettings(mailboxes, directory)),
        sending=Sending(
            directory=directory,
            outbox=Outbox(dynamodb, settings.outbox_table),
            courier=courier,
            max_bytes=settings.nlweb_max_body_bytes,
            keep_seconds=settings.outbox_keep_seconds,
            clock=time.time,
            new_id=new_id,
            new_uuid=lambda: str(uuid.uuid4()),
        ),
        counting=Counting(
            directory,
            Usages(dynamodb, settings.limits_table),
            Quota(settings.mailbox_max_messages, settings.mailbox_max_bytes),
        ),
        targets=TargetDesk(
            targets=Targets(dynamodb, settings.directory_table),
            codes=CodeLimits(dynamodb, settings.limits_table),
            keys=WebhookKeys(secrets, settings.webhook_keys_secret, time.time, own_faults),
            courier=courier,
            offer=Offer(settings.outbound_port, settings.notify_topic_arn),
            clock=time.time,
            new_id=new_id,
        ),
        storing=Storing(
            Storage(
                dynamodb,
                settings.storage_table,
                objects,
                Use(settings.storage_max_containers, settings.storage_max_bytes),
                new_id,
            ),
            time.time,
        ),
        rate=Rate(settings.counter_requests_a_second, time.monotonic),
        pool=pool,
        retain_seconds=settings.retain_seconds,
        clock=time.time,
        sleep=time.sleep,
    )


def service_name(settings: Settings) -> str:
    """The name that profiles name our delivery service by; empty: owners open no mailboxes. Raises SettingsError."""
    name = settings.dm3_self_registration
    try:
        return normalize(name) if name else ""
    except TheirError as error:
        raise SettingsError(f"DM3_SELF_REGISTRATION is {name[:80]!r}; it must be a name: {error.detail}") from None
