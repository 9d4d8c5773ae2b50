"""The objects of functions/courier."""

import secrets
import time
import uuid
from typing import NamedTuple

import boto3

from postroom.core.own_faults import OwnFaults
from postroom.core.settings import Settings
from postroom.names.addresses import addresses
from postroom.names.manifest import ManifestDirectory
from postroom.net.aws import naming
from postroom.net.https import HttpsClient
from postroom.outbound.courier import Courier, CourierRules
from postroom.outbound.graph import Buffers, Graph
from postroom.outbound.notifier import Notifier, NotifierRules
from postroom.outbound.outbox import Dispatch
from postroom.outbound.postman import Postman
from postroom.outbound.webhooks import Webhooks
from postroom.runtime.adapters import HttpsOutbound, Topics
from postroom.runtime.aws import AWS, Aws, late_client
from postroom.runtime.resolvers import build_resolvers
from postroom.runtime.shared import new_id
from postroom.storage.directory.debounce import Turns
from postroom.storage.directory.notification_targets import Kind, Targets
from postroom.storage.limits.feedback import FeedbackLimits
from postroom.storage.mail.feedback_log import TellTale
from postroom.storage.mail.register import Register
from postroom.storage.mail.seen import Seen
from postroom.storage.outbox import Outbox
from postroom.storage.secrets.signing_keys import SigningKeys
from postroom.storage.secrets.webhook_keys import WebhookKeys


class Rounds(NamedTuple):
    """Of the courier: Feedback, what owners send, and that something waits."""

    feedback: Courier
    outbox: Dispatch
    notifications: Notifier


def build_courier(settings: Settings, own_faults: OwnFaults) -> Rounds:
    """What functions/courier runs."""
    settings.need(
        "post_table", "seen_table", "limits_table", "outbox_table", "directory_table", "courier_queue_url",
        "signing_keys_secret", "webhook_keys_secret",
    )  # fmt: skip
    aws, https = Aws(own_faults), build_https(settings)
    secretsmanager = naming(boto3.client("secretsmanager", config=AWS), own_faults)
    keys = SigningKeys(secretsmanager, settings.signing_keys_secret, time.time, own_faults)
    graph = Graph(settings.graph_domain, https, keys, time.time, uuid.uuid4) if settings.graph_domain else None
    postman = Postman(keys, HttpsOutbound(https), own_faults)
    queue = aws.queue(settings.courier_queue_url)
    jitter = secrets.SystemRandom().random
    feedback = Courier(
        seen=Seen(aws.dynamodb, settings.seen_table),
        register=Register(aws.dynamodb, settings.post_table),
        told=TellTale(aws.dynamodb, settings.post_table),
        limits=FeedbackLimits(aws.dynamodb, settings.limits_table),
        manifests=Buffers(ManifestDirectory(https, time.time), graph),
        postman=postman,
        queue=queue,
        rules=CourierRules(settings.feedback_per_domain_and_hour, settings.feedback_give_up_seconds),
        clock=time.time,
        new_uuid=lambda: str(uuid.uuid4()),
        jitter=jitter,
    )
    outbox = Dispatch(
        outbox=Outbox(aws.dynamodb, settings.outbox_table),
        postman=postman,
        queue=queue,
        give_up_seconds=settings.outbox_give_up_seconds,
        clock=time.time,
        jitter=jitter,
    )
    webhook_keys = WebhookKeys(secretsmanager, settings.webhook_keys_secret, time.time, own_faults)
    notifications = Notifier(
        targets=Targets(aws.dynamodb, settings.directory_table),
        turns=Turns(aws.dynamodb, settings.directory_table),
        keys=webhook_keys,
        carriers={
            Kind.WEBHOOK: Webhooks(https, webhook_keys, time.time),
            Kind.TOPIC: Topics(late_client("sns", own_faults)),
        },
        queue=queue,
        rules=NotifierRules(settings.notify_interval_seconds, settings.notify_pause_seconds),
        clock=time.time,
        new_id=new_id,
        jitter=jitter,
    )
    return Rounds(feedback, outbox, notifications)


def build_https(settings: Settings) -> HttpsClient:
    """Outbound HTTPS under the settings' guard, with hosts looked up at our own resolvers."""
    resolvers = build_resolvers(settings)
    return HttpsClient(
        lambda host: addresses(host, resolvers.asking()),
        port=settings.outbound_port,
        allow_private=settings.outbound_allow_private,
        ca_file=settings.outbound_ca_file or None,
        connect_timeout=settings.outbound_connect_seconds,
        total_timeout=settings.outbound_total_seconds,
    )
