"""The objects of functions/mailbox."""

import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import boto3

from postroom.core.errors import SettingsError, TheirError
from postroom.core.own_faults import OwnFaults
from postroom.core.settings import Settings
from postroom.core.side_by_side import THREADS
from postroom.http.containers import Storing
from postroom.http.cors import Cors
from postroom.http.fetching import Fetching
from postroom.http.handlers import (
    AboutHandlers,
    BearerTokens,
    ContainerHandlers,
    MailHandlers,
    NotificationHandlers,
    OutboxHandlers,
    SettingsHandlers,
    SignInHandlers,
    mailbox_router,
)
from postroom.http.message_listing import Shelves
from postroom.http.notifications import Offer, TargetDesk
from postroom.http.outbox import Sending
from postroom.http.own_settings import MessageSettings
from postroom.http.preferences import Preferences
from postroom.http.rate_limit import Rate
from postroom.http.registration import A_SECOND, OF_A_NAME_A_SECOND, Opening
from postroom.http.router import Router
from postroom.http.sign_in import SignIn
from postroom.http.tokens import Tokens
from postroom.http.usage import Counting
from postroom.net.aws import naming
from postroom.protocols.dm3.names import normalize
from postroom.runtime.aws import AWS
from postroom.runtime.dm3 import build_profiles
from postroom.runtime.shared import build_directory, new_id
from postroom.storage.containers import Storage, Use
from postroom.storage.directory.mailboxes import Mailboxes
from postroom.storage.directory.notification_targets import Targets
from postroom.storage.limits.challenges import AnsweredChallenges
from postroom.storage.limits.codes import CodeLimits
from postroom.storage.limits.quotas import Quota, Usages
from postroom.storage.mail.reader import Reader
from postroom.storage.mail.register import Register
from postroom.storage.mail.segments import Objects
from postroom.storage.outbox import Outbox
from postroom.storage.queues import Queue
from postroom.storage.secrets.token_keys import TokenKeys
from postroom.storage.secrets.webhook_keys import WebhookKeys

_CORS: Final = {
    "methods": "DELETE, GET, PATCH, POST, PUT",
    "allowed": "authorization, content-type, if-match, if-none-match, range",
    "exposed": "content-range, etag, retry-after",
}


def build_mailbox_api(settings: Settings, own_faults: OwnFaults) -> Router:
    """The router of functions/mailbox. Raises SettingsError."""
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
    sign_in = SignIn(tokens=tokens, directory=directory, mailboxes=mailboxes, users=users, answered=answered)
    opening = Opening(
        service=service_name(settings),
        tokens=tokens,
        answered=answered,
        users=users,
        directory=directory,
        mailboxes=mailboxes,
        of_a_name=Rate(OF_A_NAME_A_SECOND, time.monotonic),
        of_all=Rate(A_SECOND, time.monotonic),
    )
    mail = MailHandlers(
        shelves=Shelves(reader, Fetching(reader, pool, time.time), register, directory, time.time),
        register=register,
        counting=Counting(
            directory,
            Usages(dynamodb, settings.limits_table),
            Quota(settings.mailbox_max_messages, settings.mailbox_max_bytes),
        ),
        pool=pool,
        retain_seconds=settings.retain_seconds,
        clock=time.time,
        sleep=time.sleep,
    )
    sending = Sending(
        directory=directory,
        outbox=Outbox(dynamodb, settings.outbox_table),
        courier=courier,
        max_bytes=settings.nlweb_max_body_bytes,
        keep_seconds=settings.outbox_keep_seconds,
        clock=time.time,
        new_id=new_id,
        new_uuid=lambda: str(uuid.uuid4()),
    )
    targets = TargetDesk(
        targets=Targets(dynamodb, settings.directory_table),
        codes=CodeLimits(dynamodb, settings.limits_table),
        keys=WebhookKeys(secrets, settings.webhook_keys_secret, time.time, own_faults),
        courier=courier,
        offer=Offer(settings.outbound_port, settings.notify_topic_arn),
        clock=time.time,
        new_id=new_id,
    )
    storage = Storage(
        dynamodb,
        settings.storage_table,
        objects,
        Use(settings.storage_max_containers, settings.storage_max_bytes),
        new_id,
    )
    return mailbox_router(
        [
            SignInHandlers(sign_in=sign_in, opening=opening, mailboxes=mailboxes, clock=time.time),
            mail,
            OutboxHandlers(sending),
            NotificationHandlers(targets),
            ContainerHandlers(Storing(storage, time.time)),
            SettingsHandlers(Preferences(mailboxes, MessageSettings(mailboxes, directory))),
            AboutHandlers(),
        ],
        BearerTokens(sign_in, Rate(settings.counter_requests_a_second, time.monotonic)),
        Cors(settings.counter_cors_origins, "COUNTER_CORS_ORIGINS", **_CORS),
    )


def service_name(settings: Settings) -> str:
    """The name that profiles name our delivery service by; empty: owners open no mailboxes. Raises SettingsError."""
    name = settings.dm3_self_registration
    try:
        return normalize(name) if name else ""
    except TheirError as error:
        raise SettingsError(f"DM3_SELF_REGISTRATION is {name[:80]!r}; it must be a name: {error.detail}") from None
