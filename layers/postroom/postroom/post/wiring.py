"""Fits the real things to the flow: one function for each Lambda function of the template."""

import secrets
import time
import uuid
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

from postroom.dm3.extension import Properties
from postroom.errors import NotNowError, SettingsError
from postroom.https import HttpsClient
from postroom.ijson import JsonValue
from postroom.names.addresses import addresses
from postroom.names.dns import Resolvers
from postroom.names.dnssec import IANA_ROOT, Policy, TrustAnchors
from postroom.names.keys import KeepTimes, KeyDirectory
from postroom.names.manifest import ManifestDirectory
from postroom.names.profiles import Profiles
from postroom.names.registry import PinnedRegistry
from postroom.nlweb.key_record import parse_key_record
from postroom.nlweb.keys import KeyRules
from postroom.nlweb.timestamp import Window
from postroom.post.adapters import AwsForwarding, DnsKeys, HttpsOutbound, LambdaHandlers, Topics
from postroom.post.announcing import Announcer
from postroom.post.courier import Courier, CourierRules
from postroom.post.dispatch import Dispatch
from postroom.post.dm3_door import Dm3Door
from postroom.post.dm3_judge import Dm3Judge
from postroom.post.filing import Filing
from postroom.post.graph import Buffers, Graph
from postroom.post.intake import Intake
from postroom.post.keeper import Keeper
from postroom.post.nlweb_door import DoorRules, NlwebDoor
from postroom.post.nlweb_judge import NlwebJudge
from postroom.post.notifier import Notifier, NotifierRules
from postroom.post.outbox_keeper import OutboxKeeper
from postroom.post.postman import Postman
from postroom.post.room import Room
from postroom.post.side_by_side import THREADS
from postroom.post.sync import BuiltInHandlers, Sync
from postroom.post.timebox import TimeBox
from postroom.post.times import Times
from postroom.post.webhooks import Webhooks
from postroom.post.worker import Worker
from postroom.reasons import Reason
from postroom.settings import DAY_SECONDS, Settings
from postroom.store.directory import Directory
from postroom.store.dm3_keys import DeliveryServiceKeys
from postroom.store.head import Heads
from postroom.store.limits import FeedbackLimits
from postroom.store.outbox import Outbox
from postroom.store.queues import Queue
from postroom.store.quotas import Quota, Usages
from postroom.store.register import Register
from postroom.store.replies import Replies
from postroom.store.secrets import SigningKeys
from postroom.store.seen import Seen
from postroom.store.segments import Objects
from postroom.store.targets import Kind, Target, Targets
from postroom.store.told import TellTale
from postroom.store.turns import Turns
from postroom.store.webhook_keys import WebhookKeys

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_sqs import SQSClient

LOOK_UPS: Final = 4
"""At once; each may wait for its own time."""
AWS_TRIES: Final = 3
AWS_CONNECT_SECONDS: Final = 3
AWS_READ_SECONDS: Final = 10
HANDLER_READ_SECONDS: Final = 15
"""An operator's handler is waited for so long: the door must end before its sender is told that it is away."""
AWS: Final = Config(
    retries={"mode": "standard", "total_max_attempts": AWS_TRIES}, max_pool_connections=THREADS,
    connect_timeout=AWS_CONNECT_SECONDS, read_timeout=AWS_READ_SECONDS,
    # A quarter of what botocore does for a small call (benchmarks, `flow`): the types of arguments are mypy's to check,
    # and without a name of ours the user agent is made up anew, twice for each request.
    parameter_validation=False, user_agent="postroom",
)  # fmt: skip
"""For every client of a function but that of handlers."""
_AWS_ONCE: Final = Config(
    retries={"total_max_attempts": 1}, connect_timeout=AWS_CONNECT_SECONDS, read_timeout=HANDLER_READ_SECONDS
)
"""For handlers of operators: a call that was not answered in time may have been executed; it is not ours to repeat."""
_KEEPER_MARGIN_SECONDS: Final = DAY_SECONDS
"""Before the horizon: a letter is decided while what remembers its message still stands."""


class _Aws:
    """One client of each service for a whole function: making one takes longer than most calls."""

    def __init__(self) -> None:
        self.dynamodb: DynamoDBClient = boto3.client("dynamodb", config=AWS)
        self._sqs: SQSClient = boto3.client("sqs", config=AWS)

    def objects(self, bucket: str) -> Objects:
        """The bucket."""
        return Objects(boto3.client("s3", config=AWS), bucket)

    def queue(self, url: str) -> Queue:
        """A queue."""
        return Queue(self._sqs, url)


def new_id() -> str:
    """A fresh identifier: 128 random bits in hex."""
    return secrets.token_hex(16)


class Doors(NamedTuple):
    """One for each protocol."""

    nlweb: NlwebDoor
    dm3: Dm3Door


def build_doors(settings: Settings) -> Doors:
    """What functions/inbox runs."""
    settings.need("directory_table", "seen_table", "limits_table", "bucket", "claims_queue_url", "dm3_keys_secret")
    aws = _Aws()
    objects, directory = aws.objects(settings.bucket), build_directory(settings, aws.dynamodb)
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
        nlweb=_nlweb_door(settings, aws, objects, directory, intake),
        dm3=_dm3_door(settings, objects, directory, intake),
    )


def _nlweb_door(settings: Settings, aws: _Aws, objects: Objects, directory: Directory, intake: Intake) -> NlwebDoor:
    sync = Sync(
        judge=_judge(settings, directory),
        replies=Replies(aws.dynamodb, settings.seen_table, objects),
        handlers=BuiltInHandlers(directory, _LazyLambdaHandlers()),
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


def _dm3_door(settings: Settings, objects: Objects, directory: Directory, intake: Intake) -> Dm3Door:
    with _named("DM3_MESSAGE_TTL_DAYS"):
        properties = Properties(settings.dm3_message_ttl_days, settings.dm3_size_limit_bytes)
    return Dm3Door(
        properties=properties,
        directory=directory,
        keys=_dm3_keys(settings),
        profiles=build_profiles(settings, objects),
        timebox=TimeBox(ThreadPoolExecutor(LOOK_UPS), settings.dm3_lookup_seconds),
        intake=intake,
        clock=time.time,
    )


def build_worker(settings: Settings) -> Worker:
    """What functions/worker runs."""
    settings.need(
        "directory_table", "seen_table", "post_table", "limits_table", "outbox_table", "bucket",
        "retry_queue_url", "suspects_queue_url", "courier_queue_url", "dm3_keys_secret",
    )  # fmt: skip
    aws, pool = _Aws(), ThreadPoolExecutor(THREADS - 1)
    objects, directory = aws.objects(settings.bucket), build_directory(settings, aws.dynamodb)
    return Worker(
        judges={
            "nlweb": _judge(settings, directory),
            "dm3": Dm3Judge(
                keys=_dm3_keys(settings),
                profiles=build_profiles(settings, objects),
                clock=time.time,
                times=_times(settings),
                unverified_seconds=settings.dm3_unverified_seconds,
            ),
        },
        filing=_filing(settings, aws, objects, pool),
        announcer=Announcer(directory, aws.queue(settings.courier_queue_url)),
        objects=objects,
        retry=aws.queue(settings.retry_queue_url),
        suspects=aws.queue(settings.suspects_queue_url),
        pool=pool,
        monotonic=time.monotonic,
    )


class Keepers(NamedTuple):
    """Of the dead letters: of claims, and of what owners send."""

    claims: Keeper
    outbox: OutboxKeeper


def build_keepers(settings: Settings) -> Keepers:
    """What functions/worker/keeper.py runs."""
    settings.need(
        "post_table", "outbox_table", "bucket", "courier_queue_url", "letters_queue_url", "courier_letters_queue_url"
    )
    aws = _Aws()
    objects = aws.objects(settings.bucket)
    claims = Keeper(
        filing=_filing(settings, aws, objects, ThreadPoolExecutor(1)),
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


class Rounds(NamedTuple):
    """Of the courier: Feedback, what owners send, and that something waits."""

    feedback: Courier
    outbox: Dispatch
    notifications: Notifier


def build_courier(settings: Settings) -> Rounds:
    """What functions/courier runs."""
    settings.need(
        "post_table", "seen_table", "limits_table", "outbox_table", "directory_table", "courier_queue_url",
        "signing_keys_secret", "webhook_keys_secret",
    )  # fmt: skip
    aws, https, secretsmanager = _Aws(), build_https(settings), boto3.client("secretsmanager", config=AWS)
    keys = SigningKeys(secretsmanager, settings.signing_keys_secret, time.time)
    graph = Graph(settings.graph_domain, https, keys, time.time, uuid.uuid4) if settings.graph_domain else None
    postman, queue = Postman(keys, HttpsOutbound(https)), aws.queue(settings.courier_queue_url)
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
    webhook_keys = WebhookKeys(secretsmanager, settings.webhook_keys_secret, time.time)
    notifications = Notifier(
        targets=Targets(aws.dynamodb, settings.directory_table),
        turns=Turns(aws.dynamodb, settings.directory_table),
        keys=webhook_keys,
        carriers={Kind.WEBHOOK: Webhooks(https, webhook_keys, time.time), Kind.TOPIC: _LazyTopics()},
        queue=queue,
        rules=NotifierRules(settings.notify_interval_seconds, settings.notify_pause_seconds),
        clock=time.time,
        new_id=new_id,
        jitter=jitter,
    )
    return Rounds(feedback, outbox, notifications)


def build_https(settings: Settings) -> HttpsClient:
    """Outbound HTTPS under the settings' guard, with hosts looked up at our own resolvers."""
    resolvers = _resolvers(settings)
    return HttpsClient(
        lambda host: addresses(host, resolvers.asking()),
        port=settings.outbound_port,
        allow_private=settings.outbound_allow_private,
        ca_file=settings.outbound_ca_file or None,
        connect_timeout=settings.outbound_connect_seconds,
        total_timeout=settings.outbound_total_seconds,
    )


def build_sender_keys(settings: Settings) -> DnsKeys:
    """Senders' keys by DNS under DNSSEC."""
    rules = KeyRules(settings.allow_rsa_1024)
    return DnsKeys(
        KeyDirectory(
            _resolvers(settings).asking,
            _anchors(settings),
            lambda records: parse_key_record(records, rules),
            clock=time.time,
            policy=Policy(settings.dnssec_accept_sha1, settings.dnssec_skew_seconds),
            times=KeepTimes(settings.key_cache_min_seconds, settings.key_cache_max_seconds),
        )
    )


def _judge(settings: Settings, directory: Directory) -> NlwebJudge:
    return NlwebJudge(
        keys=build_sender_keys(settings),
        directory=directory,
        clock=time.time,
        key_rules=KeyRules(settings.allow_rsa_1024),
        times=_times(settings),
    )


def _filing(settings: Settings, aws: _Aws, objects: Objects, pool: ThreadPoolExecutor) -> Filing:
    return Filing(
        seen=Seen(aws.dynamodb, settings.seen_table),
        register=Register(aws.dynamodb, settings.post_table),
        heads=Heads(aws.dynamodb, settings.post_table),
        outbox=Outbox(aws.dynamodb, settings.outbox_table),
        objects=objects,
        courier=aws.queue(settings.courier_queue_url),
        forwarding=_LazyForwarding(),
        usages=Usages(aws.dynamodb, settings.limits_table),
        times=_times(settings),
        clock=time.time,
        new_id=new_id,
        pool=pool,
    )


def _dm3_keys(settings: Settings) -> DeliveryServiceKeys:
    return DeliveryServiceKeys(boto3.client("secretsmanager", config=AWS), settings.dm3_keys_secret, time.time)


def build_profiles(settings: Settings, objects: Objects, *, without: bytes | None = None) -> Profiles:
    """The dm3 profiles of the deployment's registry. `without`: the document where there is none; None: then no look-up
    can be made."""
    registry = PinnedRegistry(
        lambda: _registry_document(objects, settings.dm3_registry, without), time.time, settings.dm3_registry_seconds
    )
    return Profiles(registry, time.time, keep_seconds=settings.dm3_registry_seconds)


def _registry_document(objects: Objects, name: str, without: bytes | None) -> bytes:
    try:
        return objects.get(name)
    except (KeyError, ClientError):
        # To roles that may not list the bucket S3 says that access to an object is denied where there is none.
        if without is not None:
            return without
        raise NotNowError(Reason.PROFILE_LOOKUP_FAILED, "this delivery service has no registry of names yet") from None


def _times(settings: Settings) -> Times:
    return Times(settings.horizon_seconds, settings.retain_seconds, settings.nlweb_max_age_seconds)


def _resolvers(settings: Settings) -> Resolvers:
    with _named("RESOLVERS"):
        return Resolvers(
            settings.resolvers, try_seconds=settings.dns_try_seconds, budget_seconds=settings.dns_budget_seconds
        )


def _anchors(settings: Settings) -> TrustAnchors:
    with _named("TRUST_ANCHORS or NEGATIVE_TRUST_ANCHORS"):
        return TrustAnchors.parse(settings.trust_anchors or IANA_ROOT, settings.negative_trust_anchors)


@contextmanager
def _named(setting: str) -> Iterator[None]:
    """What a setting's own reader says of it, with the name it is set by."""
    try:
        yield
    except SettingsError as error:
        raise SettingsError(f"{setting}: {error}") from error


def build_directory(settings: Settings, dynamodb: "DynamoDBClient") -> Directory:
    """What operators set, read through a cache."""
    return Directory(
        dynamodb, settings.directory_table, clock=time.time, cache_seconds=settings.directory_cache_seconds
    )


class _LazyLambdaHandlers:
    """Few deployments have handlers of their own: the client is made when the first is called."""

    @cached_property
    def _handlers(self) -> LambdaHandlers:
        return LambdaHandlers(boto3.client("lambda", config=_AWS_ONCE))

    def call(self, handler: str, request: JsonValue) -> JsonValue:
        return self._handlers.call(handler, request)


class _LazyForwarding:
    """Few deployments forward: the clients are made when the first message is."""

    @cached_property
    def _forwarding(self) -> AwsForwarding:
        return AwsForwarding(boto3.client("sqs", config=AWS), boto3.client("events", config=AWS))

    def forward(self, target: str, message: Mapping[str, object]) -> None:
        self._forwarding.forward(target, message)


class _LazyTopics:
    """Few deployments publish to topics: the client is made when the first notification is."""

    @cached_property
    def _topics(self) -> Topics:
        return Topics(boto3.client("sns", config=AWS))

    def carry(self, target: Target, notification: str, content: str) -> bool:
        return self._topics.carry(target, notification, content)
