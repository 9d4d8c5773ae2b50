"""The pipeline objects of a deployment, for functions/inbox, functions/dm3, functions/worker and functions/waiting."""

from functools import cached_property
from typing import TYPE_CHECKING, Final

from postroom.core.settings import DAY_SECONDS
from postroom.core.side_by_side import THREADS
from postroom.runtime.parts import DeploymentParts

if TYPE_CHECKING:
    from collections.abc import Mapping
    from concurrent.futures import Executor

    from postroom.http.cors import Cors
    from postroom.http.router import Router
    from postroom.pipeline.claim_details import Protocol
    from postroom.pipeline.claim_objects import ClaimObjects
    from postroom.pipeline.dead_letters import DeadLetterHandler
    from postroom.pipeline.discarding import Discarding
    from postroom.pipeline.dm3_inbox import Dm3Inbox
    from postroom.pipeline.filing import Filing
    from postroom.pipeline.intake import Intake
    from postroom.pipeline.judges.dm3 import Dm3Judge
    from postroom.pipeline.judges.nlweb import NlwebJudge
    from postroom.pipeline.nlweb_inbox import NlwebInbox
    from postroom.pipeline.notification_trigger import NotificationTrigger
    from postroom.pipeline.operators_dead_letters import OperatorsDeadLetters
    from postroom.pipeline.outbox_dead_letters import OutboxDeadLetterHandler
    from postroom.pipeline.ports import Forwarding, Handlers, SenderKeys
    from postroom.pipeline.quota import QuotaCheck
    from postroom.pipeline.retention_periods import RetentionPeriods
    from postroom.pipeline.sender_check import SenderCheck
    from postroom.pipeline.silent_zones import PatientKeys, SilentSenders
    from postroom.pipeline.slow_names import NameLookUps
    from postroom.pipeline.synchronous import Sync
    from postroom.pipeline.verdicts import Judge
    from postroom.pipeline.waiting import WaitingClaims
    from postroom.pipeline.worker import Worker
    from postroom.protocols.dm3.extension import Properties

LOOK_UPS: Final = 4
"""Concurrent look-ups of the dm3 inbox."""
_DEAD_LETTER_MARGIN_SECONDS: Final = DAY_SECONDS
"""Before the horizon: a dead letter is discarded while the record of its message still exists."""


class PipelineParts(DeploymentParts):
    """The objects of `postroom.pipeline`."""

    @cached_property
    def times(self) -> "RetentionPeriods":
        """How long things are waited for and remembered."""
        from postroom.pipeline.retention_periods import RetentionPeriods

        settings = self._settings
        return RetentionPeriods(settings.horizon_seconds, settings.retain_seconds, settings.nlweb_max_age_seconds)

    # --- the inboxes --------------------------------------------------------------------------------------------------

    @cached_property
    def inbox_router(self) -> "Router":
        """The router of functions/inbox."""
        from postroom.runtime.inbox_routes import inbox_router

        return inbox_router(self.nlweb_inbox)

    @cached_property
    def dm3_router(self) -> "Router":
        """The router of functions/dm3."""
        from postroom.runtime.dm3_routes import dm3_router

        return dm3_router(self.dm3_inbox, self.dm3_cors)

    @cached_property
    def nlweb_inbox(self) -> "NlwebInbox":
        """The inbox of NLWeb messages."""
        from postroom.pipeline.nlweb_inbox import InboxRules, NlwebInbox
        from postroom.protocols.nlweb.timestamp import TimestampWindow

        settings = self._settings
        window = TimestampWindow(settings.nlweb_max_age_seconds, settings.nlweb_max_skew_seconds)
        return NlwebInbox(
            rules=InboxRules(window, settings.nlweb_max_body_bytes),
            directory=self._storage.directory,
            intake=self.intake,
            sync=self.sync,
            silent_senders=self.silent_senders,
            clock=self._system.clock,
        )

    @cached_property
    def silent_senders(self) -> "SilentSenders":
        """The refusal of senders for whose silent zones too many claims wait."""
        from postroom.names.silent_zones import zones_of
        from postroom.pipeline.silent_zones import SilentSenders
        from postroom.runtime.adapters import count_claims

        storage = self._storage
        return SilentSenders(
            self._names.sender_keys_for_requests,
            storage.sender_zones,
            count_claims(storage.waiting_queue, storage.claims_queue, storage.look_ups_queue, storage.retry_queue),
            zones_of,
            self._system.clock,
        )

    @cached_property
    def dm3_inbox(self) -> "Dm3Inbox":
        """The inbox of dm3 messages."""
        from postroom.core.leaky_bucket import LeakyBucket
        from postroom.net.timebox import TimeBox
        from postroom.pipeline.dm3_inbox import READS_PER_SECOND, Dm3Inbox
        from postroom.pipeline.slow_names import REQUESTS_AT_ONCE, REQUESTS_PER_SECOND, SlowNames
        from postroom.protocols.dm3.jsonrpc import MAX_BATCH
        from postroom.runtime.adapters import ChainAccounts

        system, threads = self._system, self._system.threads(LOOK_UPS)
        return Dm3Inbox(
            properties=self.dm3_properties,
            directory=self._storage.directory,
            keys=self._storage.delivery_service_keys,
            profiles=self._names.profiles,
            accounts=ChainAccounts(lambda: self._names.accounts),
            slow_names=SlowNames(
                texts=self._storage.name_texts,
                queue=self._storage.names_queue,
                rate=LeakyBucket(REQUESTS_PER_SECOND, REQUESTS_AT_ONCE, system.monotonic),
                clock=system.clock,
            ),
            new_timebox=lambda: TimeBox(threads, self._settings.dm3_lookup_seconds, system.monotonic),
            # After a pause, a whole batch of names that are not in the cache.
            reads=LeakyBucket(READS_PER_SECOND, MAX_BATCH, system.monotonic),
            intake=self.intake,
            clock=system.clock,
        )

    @cached_property
    def dm3_cors(self) -> "Cors":
        """The pages that may post dm3 messages."""
        from postroom.http.cors import Cors

        return Cors(self._settings.dm3_cors_origins, "DM3_CORS_ORIGINS")

    @cached_property
    def dm3_properties(self) -> "Properties":
        """The properties that the delivery service tells senders."""
        from postroom.protocols.dm3.extension import Properties
        from postroom.runtime.name_parts import named

        with named("DM3_MESSAGE_TTL_DAYS"):
            return Properties(self._settings.dm3_message_ttl_days, self._settings.dm3_size_limit_bytes)

    @cached_property
    def intake(self) -> "Intake":
        """Makes claims of messages, and queues them."""
        from postroom.pipeline.intake import Intake

        return Intake(
            directory=self._storage.directory,
            claims=self._storage.claims_queue,
            objects=self._storage.objects,
            quota_check=self.quota_check,
            new_id=self._system.new_id,
        )

    @cached_property
    def quota_check(self) -> "QuotaCheck":
        """The check of mailboxes' quotas."""
        from postroom.pipeline.quota import QuotaCheck

        return QuotaCheck(
            self._storage.usages,
            self._storage.quota,
            clock=self._system.clock,
            cache_seconds=self._settings.directory_cache_seconds,
        )

    @cached_property
    def sync(self) -> "Sync":
        """Answers synchronous requests."""
        from postroom.pipeline.synchronous import BuiltInHandlers, Sync

        settings = self._settings
        return Sync(
            senders=self._sender_check(self._names.sender_keys_for_requests),
            replies=self._storage.replies,
            handlers=BuiltInHandlers(self._storage.directory, self.handlers),
            clock=self._system.clock,
            new_id=self._system.new_id,
            lease_seconds=settings.sync_lease_seconds,
            memory_seconds=settings.nlweb_max_age_seconds + settings.retain_seconds,
        )

    @cached_property
    def handlers(self) -> "Handlers":
        """Operators' handlers of synchronous requests."""
        from postroom.runtime.adapters import LambdaHandlers

        return LambdaHandlers(self._clients("lambda"))

    # --- the worker ---------------------------------------------------------------------------------------------------

    @cached_property
    def worker(self) -> "Worker":
        """The worker of functions/worker."""
        from postroom.pipeline.worker import Worker

        return Worker(
            judges=self.judges,
            filing=self.filing,
            discarding=self.discarding,
            notification_trigger=self.notification_trigger,
            objects=self._storage.objects,
            claim_objects=self.claim_objects,
            retry=self._storage.retry_queue,
            suspects=self._storage.suspects_queue,
            waiting=self._storage.waiting_queue,
            to_look_up=self._storage.look_ups_queue,
            zones=self._storage.sender_zones,
            look_ups=self._names.look_ups,
            pool=self.pool,
            clock=self._system.clock,
            monotonic=self._system.monotonic,
        )

    @cached_property
    def waiting_claims(self) -> "WaitingClaims":
        """The claims of the waiting queue, for functions/waiting."""
        from postroom.pipeline.waiting import WaitingClaims

        return WaitingClaims(
            keys=self.patient_keys,
            zones=self._storage.sender_zones,
            waiting=self._storage.waiting_queue,
            retry=self._storage.retry_queue,
            times=self.times,
            clock=self._system.clock,
            jitter=self._system.jitter,
            pool=self.pool,
        )

    @cached_property
    def name_look_ups(self) -> "NameLookUps":
        """The look-ups of slow names, for functions/waiting."""
        from postroom.pipeline.slow_names import NameLookUps

        return NameLookUps(
            registry=self._names.patient_registries,
            addresses=self._names.patient_ens,
            texts=self._storage.name_texts,
            clock=self._system.clock,
        )

    @cached_property
    def patient_keys(self) -> "PatientKeys":
        """Senders' keys, with patience for silent zones."""
        from postroom.names.silent_zones import zones_of
        from postroom.pipeline.silent_zones import PatientKeys

        return PatientKeys(
            keys=self._names.sender_keys,
            zones=self._storage.sender_zones,
            zones_of=zones_of,
            silent_zone=self._names.silent_zone,
            is_silent=self._names.is_silent,
            look_ups=self._names.look_ups,
            clock=self._system.clock,
        )

    @cached_property
    def pool(self) -> "Executor":
        """The threads beside that of the function."""
        return self._system.threads(THREADS - 1)

    @cached_property
    def judges(self) -> "Mapping[Protocol, Judge]":
        """One judge for each protocol."""
        return {"nlweb": self.nlweb_judge, "dm3": self.dm3_judge}

    @cached_property
    def nlweb_judge(self) -> "NlwebJudge":
        """The judge of NLWeb messages."""
        from postroom.pipeline.judges.nlweb import NlwebJudge

        return NlwebJudge(
            senders=self._sender_check(self.patient_keys),
            directory=self._storage.directory,
            sent=self._storage.outbox,
            clock=self._system.clock,
            times=self.times,
        )

    def _sender_check(self, keys: "SenderKeys") -> "SenderCheck":
        from postroom.crypto.rsa_ed25519 import KeyRules
        from postroom.pipeline.sender_check import SenderCheck

        return SenderCheck(
            keys=keys, directory=self._storage.directory, key_rules=KeyRules(self._settings.allow_rsa_1024)
        )

    @cached_property
    def dm3_judge(self) -> "Dm3Judge":
        """The judge of dm3 messages."""
        from postroom.pipeline.judges.dm3 import Dm3Judge

        return Dm3Judge(
            keys=self._storage.needed_delivery_service_keys,
            profiles=self._names.profiles,
            look_ups=self._names.look_ups,
            clock=self._system.clock,
            times=self.times,
            unverified_seconds=self._settings.dm3_unverified_seconds,
        )

    @cached_property
    def filing(self) -> "Filing":
        """Files accepted messages."""
        from postroom.pipeline.filing import Filing, FilingStorage

        storage = self._storage
        return Filing(
            storage=FilingStorage(
                seen=storage.seen,
                register=storage.register,
                heads=storage.heads,
                objects=storage.objects,
                usages=storage.usages,
                outbox=storage.outbox,
            ),
            discarding=self.discarding,
            forwarding=self.forwarding,
            times=self.times,
            clock=self._system.clock,
            new_id=self._system.new_id,
            pool=self.pool,
        )

    @cached_property
    def discarding(self) -> "Discarding":
        """Records discards."""
        from postroom.pipeline.discarding import Discarding

        return Discarding(
            register=self._storage.register,
            heads=self._storage.heads,
            queue=self._storage.feedback_queue,
            retain_seconds=self._settings.retain_seconds,
            clock=self._system.clock,
        )

    @cached_property
    def claim_objects(self) -> "ClaimObjects":
        """Deletes the objects of decided claims."""
        from postroom.pipeline.claim_objects import ClaimObjects

        return ClaimObjects(
            register=self._storage.register,
            objects=self._storage.objects,
            retain_seconds=self._settings.retain_seconds,
        )

    @cached_property
    def forwarding(self) -> "Forwarding":
        """Operators' queues and event buses."""
        from postroom.runtime.adapters import AwsForwarding

        return AwsForwarding(self._storage.sqs, self._clients("events"), self._own_faults)

    @cached_property
    def notification_trigger(self) -> "NotificationTrigger":
        """Asks the courier to notify owners."""
        from postroom.pipeline.notification_trigger import NotificationTrigger

        return NotificationTrigger(self._storage.directory, self._storage.courier_queue)

    # --- dead letters -------------------------------------------------------------------------------------------------

    @cached_property
    def dead_letters(self) -> "DeadLetterHandler":
        """Handles dead letters of the queues of claims."""
        from postroom.pipeline.dead_letters import DeadLetterHandler

        horizon_seconds = self._settings.horizon_seconds
        return DeadLetterHandler(
            discarding=self.discarding,
            objects=self._storage.objects,
            claim_objects=self.claim_objects,
            clock=self._system.clock,
            horizon_seconds=horizon_seconds,
            margin_seconds=min(_DEAD_LETTER_MARGIN_SECONDS, horizon_seconds // 2),
        )

    @cached_property
    def outbox_dead_letters(self) -> "OutboxDeadLetterHandler":
        """Handles dead letters of the courier's queue."""
        from postroom.pipeline.outbox_dead_letters import OutboxDeadLetterHandler

        return OutboxDeadLetterHandler(
            outbox=self._storage.outbox,
            clock=self._system.clock,
            give_up_seconds=self._settings.outbox_give_up_seconds,
        )

    @cached_property
    def operators_dead_letters(self) -> "OperatorsDeadLetters":
        """Dead letters of both kinds, for an operator."""
        from postroom.pipeline.operators_dead_letters import OperatorsDeadLetters

        return OperatorsDeadLetters(claims=self.dead_letters, outbox=self.outbox_dead_letters)
