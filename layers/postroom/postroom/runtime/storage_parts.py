"""The storage objects of a deployment: each table, the bucket, queues and secrets, by content."""

from functools import cached_property
from typing import TYPE_CHECKING

from postroom.runtime.parts import DeploymentParts

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_secretsmanager import SecretsManagerClient
    from mypy_boto3_sqs import SQSClient

    from postroom.storage.audit.collection import AuditedStore
    from postroom.storage.aws.object_store import ObjectStore
    from postroom.storage.aws.queue import Queue
    from postroom.storage.containers.store import Storage
    from postroom.storage.directory.debounce import Debounce
    from postroom.storage.directory.domains import Directory
    from postroom.storage.directory.mailboxes import Mailboxes
    from postroom.storage.directory.notification_targets import NotificationTargets
    from postroom.storage.directory.operators import Operators
    from postroom.storage.limits.challenges import AnsweredChallenges
    from postroom.storage.limits.feedback import FeedbackLimits
    from postroom.storage.limits.held_runs import HeldRuns
    from postroom.storage.limits.name_texts import NameTexts
    from postroom.storage.limits.quotas import Quota, Usages
    from postroom.storage.limits.sender_zones import SenderZones
    from postroom.storage.limits.verification_codes import VerificationCodeLimits
    from postroom.storage.mail.feedback_log import FeedbackLog
    from postroom.storage.mail.head import Heads
    from postroom.storage.mail.outbox import Outbox
    from postroom.storage.mail.reader import Reader
    from postroom.storage.mail.register import Register
    from postroom.storage.mail.replies import Replies
    from postroom.storage.mail.seen import Seen
    from postroom.storage.secrets.chain_endpoints import ChainEndpointUrls
    from postroom.storage.secrets.dcp_identities import DcpIdentities
    from postroom.storage.secrets.dm3_keys import DeliveryServiceKeys
    from postroom.storage.secrets.secret import Secret
    from postroom.storage.secrets.signing_keys import SigningKeys
    from postroom.storage.secrets.token_keys import TokenKeys
    from postroom.storage.secrets.webhook_keys import WebhookKeys


class StorageParts(DeploymentParts):
    """The objects of `postroom.storage`."""

    # --- clients ------------------------------------------------------------------------------------------------------

    @cached_property
    def dynamodb(self) -> "DynamoDBClient":
        """The client of all tables."""
        return self._clients("dynamodb")

    @cached_property
    def s3(self) -> "S3Client":
        """The client of the bucket."""
        return self._clients("s3")

    @cached_property
    def sqs(self) -> "SQSClient":
        """The client of all queues."""
        return self._clients("sqs")

    @cached_property
    def secretsmanager(self) -> "SecretsManagerClient":
        """The client of all secrets."""
        return self._clients("secretsmanager")

    # --- messages -----------------------------------------------------------------------------------------------------

    @cached_property
    def register(self) -> "Register":
        """The register of messages."""
        from postroom.storage.mail.register import Register

        return Register(self.dynamodb, self._settings.given("post_table"))

    @cached_property
    def heads(self) -> "Heads":
        """The heads of the mailboxes' partitions."""
        from postroom.storage.mail.head import Heads

        return Heads(self.dynamodb, self._settings.given("post_table"))

    @cached_property
    def feedback_log(self) -> "FeedbackLog":
        """The Feedback that was sent."""
        from postroom.storage.mail.feedback_log import FeedbackLog

        return FeedbackLog(self.dynamodb, self._settings.given("post_table"))

    @cached_property
    def objects(self) -> "ObjectStore":
        """The bucket."""
        from postroom.storage.aws.object_store import ObjectStore

        return ObjectStore(self.s3, self._settings.given("bucket"))

    @cached_property
    def reader(self) -> "Reader":
        """The reader of mailboxes."""
        from postroom.storage.mail.reader import Reader

        return Reader(self.dynamodb, self._settings.given("post_table"), self.register, self.objects)

    @cached_property
    def seen(self) -> "Seen":
        """The home of each message."""
        from postroom.storage.mail.seen import Seen

        return Seen(self.dynamodb, self._settings.given("seen_table"))

    @cached_property
    def replies(self) -> "Replies":
        """Replies to synchronous requests."""
        from postroom.storage.mail.replies import Replies

        return Replies(self.dynamodb, self._settings.given("seen_table"), self.objects)

    @cached_property
    def outbox(self) -> "Outbox":
        """The messages that owners send."""
        from postroom.storage.mail.outbox import Outbox

        return Outbox(self.dynamodb, self._settings.given("outbox_table"))

    @cached_property
    def containers(self) -> "Storage":
        """The containers that owners store."""
        from postroom.storage.containers.rows import StorageUsage
        from postroom.storage.containers.store import Storage

        settings = self._settings
        quota = StorageUsage(settings.storage_max_containers, settings.storage_max_bytes)
        return Storage(self.dynamodb, settings.given("storage_table"), self.objects, quota, self._system.new_id)

    @cached_property
    def audited_store(self) -> "AuditedStore":
        """The whole store, for an audit."""
        from postroom.storage.audit.collection import AuditedStore, ClaimQueues

        given = self._settings.given
        return AuditedStore(
            self.dynamodb, self.s3, self.sqs,
            given("post_table"), given("seen_table"), given("bucket"),
            ClaimQueues(
                *(given(f"{name}_queue_url") for name in ("claims", "retry", "suspects", "waiting", "dead_letter"))
            ),
            courier_queues=[given(f"{name}_queue_url") for name in ("courier", "feedback", "courier_dead_letter")],
        )  # fmt: skip

    # --- what operators and owners set --------------------------------------------------------------------------------

    @cached_property
    def directory(self) -> "Directory":
        """The settings of operators and owners, read through a cache."""
        from postroom.storage.directory.domains import Directory

        settings = self._settings
        return Directory(
            self.dynamodb,
            settings.given("directory_table"),
            clock=self._system.clock,
            cache_seconds=settings.directory_cache_seconds,
        )

    @cached_property
    def operators(self) -> "Operators":
        """The settings of operators, for writing."""
        from postroom.storage.directory.operators import Operators

        return Operators(self.dynamodb, self._settings.given("directory_table"))

    @cached_property
    def mailboxes(self) -> "Mailboxes":
        """The settings of owners, for writing."""
        from postroom.storage.directory.mailboxes import Mailboxes

        return Mailboxes(self.dynamodb, self._settings.given("directory_table"))

    @cached_property
    def targets(self) -> "NotificationTargets":
        """The notification targets of mailboxes."""
        from postroom.storage.directory.notification_targets import NotificationTargets

        return NotificationTargets(self.dynamodb, self._settings.given("directory_table"))

    @cached_property
    def debounce(self) -> "Debounce":
        """The debounce intervals of mailboxes."""
        from postroom.storage.directory.debounce import Debounce

        return Debounce(self.dynamodb, self._settings.given("directory_table"))

    # --- limits -------------------------------------------------------------------------------------------------------

    @cached_property
    def usages(self) -> "Usages":
        """The usage of mailboxes."""
        from postroom.storage.limits.quotas import Usages

        return Usages(self.dynamodb, self._settings.given("limits_table"))

    @cached_property
    def quota(self) -> "Quota":
        """The quota of a mailbox, unless its operator set another."""
        from postroom.storage.limits.quotas import Quota

        return Quota(self._settings.mailbox_max_messages, self._settings.mailbox_max_bytes)

    @cached_property
    def feedback_limits(self) -> "FeedbackLimits":
        """The Feedback sent to each domain."""
        from postroom.storage.limits.feedback import FeedbackLimits

        return FeedbackLimits(self.dynamodb, self._settings.given("limits_table"))

    @cached_property
    def answered_challenges(self) -> "AnsweredChallenges":
        """The challenges that were used for a token."""
        from postroom.storage.limits.challenges import AnsweredChallenges

        return AnsweredChallenges(self.dynamodb, self._settings.given("limits_table"))

    @cached_property
    def code_limits(self) -> "VerificationCodeLimits":
        """The codes sent for each mailbox."""
        from postroom.storage.limits.verification_codes import VerificationCodeLimits

        return VerificationCodeLimits(self.dynamodb, self._settings.given("limits_table"))

    def held_runs(self, kind: str, most: int, seconds: int) -> "HeldRuns":
        """The runs that requests of a kind hold, as for HeldRuns."""
        from postroom.storage.limits.held_runs import HeldRuns

        return HeldRuns(
            self.dynamodb,
            self._settings.given("limits_table"),
            kind,
            most=most,
            seconds=seconds,
            clock=self._system.clock,
            new_id=self._system.new_id,
        )

    @cached_property
    def sender_zones(self) -> "SenderZones":
        """The zones of senders: proven, silent, waited for."""
        from postroom.storage.limits.sender_zones import SenderZones

        return SenderZones(self.dynamodb, self._settings.given("limits_table"), self._settings.horizon_seconds)

    @cached_property
    def name_texts(self) -> "NameTexts":
        """Texts of names that were looked up for all instances."""
        from postroom.storage.limits.name_texts import NameTexts

        return NameTexts(self.dynamodb, self._settings.given("limits_table"))

    # --- queues -------------------------------------------------------------------------------------------------------

    @cached_property
    def claims_queue(self) -> "Queue":
        """The queue from the inbox to the worker."""
        return self._queue("claims_queue_url")

    @cached_property
    def retry_queue(self) -> "Queue":
        """The queue of retries."""
        return self._queue("retry_queue_url")

    @cached_property
    def suspects_queue(self) -> "Queue":
        """The queue of suspects."""
        return self._queue("suspects_queue_url")

    @cached_property
    def look_ups_queue(self) -> "Queue":
        """The queue of claims whose sender must be looked up."""
        return self._queue("look_ups_queue_url")

    @cached_property
    def waiting_queue(self) -> "Queue":
        """The queue of claims whose sender's zone is silent."""
        return self._queue("waiting_queue_url")

    @cached_property
    def names_queue(self) -> "Queue":
        """The queue of names to be looked up for all instances."""
        return self._queue("names_queue_url")

    @cached_property
    def courier_queue(self) -> "Queue":
        """The courier's queue."""
        return self._queue("courier_queue_url")

    @cached_property
    def feedback_queue(self) -> "Queue":
        """The queue of Feedback."""
        return self._queue("feedback_queue_url")

    def _queue(self, setting: str) -> "Queue":
        from postroom.storage.aws.queue import Queue

        return Queue(self.sqs, self._settings.given(setting))

    # --- secrets ------------------------------------------------------------------------------------------------------

    @cached_property
    def signing_keys(self) -> "SigningKeys":
        """The private keys of the deployment's domains."""
        from postroom.storage.secrets.signing_keys import SigningKeys

        secret = self._settings.given("signing_keys_secret")
        return SigningKeys(self.secretsmanager, secret, self._system.clock, self._own_faults)

    @cached_property
    def delivery_service_keys(self) -> "DeliveryServiceKeys":
        """The keys of the dm3 delivery service; most deployments have none."""
        return self._delivery_service_keys(needed=False)

    @cached_property
    def needed_delivery_service_keys(self) -> "DeliveryServiceKeys":
        """The same, for a message that was encrypted to these keys: missing keys are a fault."""
        return self._delivery_service_keys(needed=True)

    def _delivery_service_keys(self, *, needed: bool) -> "DeliveryServiceKeys":
        from postroom.storage.secrets.dm3_keys import DeliveryServiceKeys

        secret = self._settings.given("dm3_keys_secret")
        keys = DeliveryServiceKeys(self.secretsmanager, secret, self._system.clock, self._own_faults)
        keys.needed = needed
        return keys

    @cached_property
    def delivery_service_secret(self) -> "Secret":
        """The ARN of the secret with those keys; empty: there are none."""
        from postroom.storage.secrets.dm3_keys import FORM
        from postroom.storage.secrets.secret import Secret

        secret = self._settings.given("dm3_keys_secret")
        return Secret(self.secretsmanager, secret, self._system.clock, FORM, self._own_faults)

    @cached_property
    def token_keys(self) -> "TokenKeys":
        """The keys that sign owners' tokens."""
        from postroom.storage.secrets.token_keys import TokenKeys

        secret = self._settings.given("token_keys_secret")
        return TokenKeys(self.secretsmanager, secret, self._system.clock, self._own_faults)

    @cached_property
    def dcp_identities(self) -> "DcpIdentities":
        """The identities of the guardian of DCP."""
        from postroom.storage.secrets.dcp_identities import DcpIdentities

        secret = self._settings.given("dcp_identities_secret")
        return DcpIdentities(self.secretsmanager, secret, self._system.clock, self._own_faults)

    @cached_property
    def chain_endpoints(self) -> "ChainEndpointUrls":
        """The endpoints of the chain of ENS; most deployments have none."""
        from postroom.storage.secrets.chain_endpoints import ChainEndpointUrls

        secret = self._settings.given("chain_endpoints_secret")
        return ChainEndpointUrls(self.secretsmanager, secret, self._system.clock, self._own_faults)

    @cached_property
    def webhook_keys(self) -> "WebhookKeys":
        """The key that webhooks' secrets are derived from."""
        from postroom.storage.secrets.webhook_keys import WebhookKeys

        secret = self._settings.given("webhook_keys_secret")
        return WebhookKeys(self.secretsmanager, secret, self._system.clock, self._own_faults)
