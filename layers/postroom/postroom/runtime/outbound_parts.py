"""The sending objects of a deployment, for functions/courier."""

from functools import cached_property
from typing import TYPE_CHECKING
from uuid import UUID

from postroom.runtime.batches import MESSAGES_AT_ONCE
from postroom.runtime.parts import DeploymentParts

if TYPE_CHECKING:
    from collections.abc import Mapping
    from concurrent.futures import Executor

    from postroom.net.https import HttpsClient
    from postroom.outbound.envelope_sender import EnvelopeSender
    from postroom.outbound.feedback_sender import FeedbackSender
    from postroom.outbound.notification_sender import Carrier, NotificationSender
    from postroom.outbound.outbox_sender import OutboxSender
    from postroom.outbound.ports import Manifests
    from postroom.outbound.replaced_watches import ReplacedWatches
    from postroom.outbound.session_responses import SessionResponses
    from postroom.runtime.socket_connections import ApiGatewayConnections
    from postroom.storage.directory.notification_targets import TargetKind


class OutboundParts(DeploymentParts):
    """The objects of `postroom.outbound`."""

    @cached_property
    def feedback(self) -> "FeedbackSender":
        """Sends Feedback about discards."""
        from postroom.outbound.feedback_sender import FeedbackRules, FeedbackSender, FeedbackStorage

        settings, storage = self._settings, self._storage
        return FeedbackSender(
            storage=FeedbackStorage(
                seen=storage.seen,
                register=storage.register,
                feedback_log=storage.feedback_log,
                limits=storage.feedback_limits,
            ),
            manifests=self.buffers,
            envelope_sender=self.feedback_envelope_sender,
            queue=storage.feedback_queue,
            rules=FeedbackRules(settings.feedback_per_domain_and_hour, settings.feedback_give_up_seconds),
            clock=self._system.clock,
            new_uuid=self._system.new_uuid,
            jitter=self._system.jitter,
        )

    @cached_property
    def threads(self) -> "Executor":
        """The threads for the messages of a batch, beside the function's own."""
        return self._system.threads(MESSAGES_AT_ONCE - 1)

    @cached_property
    def buffers(self) -> "Manifests":
        """The buffers for Feedback to a domain."""
        from postroom.outbound.feedback_buffers import FeedbackBuffers, GraphDomain

        domain, new_uuid = self._settings.graph_domain, self._system.new_uuid
        keys, clock = self._storage.signing_keys, self._system.clock
        graph = GraphDomain(domain, self._names.https, keys, clock, lambda: UUID(new_uuid())) if domain else None
        return FeedbackBuffers(self._names.manifests, graph)

    @cached_property
    def envelope_sender(self) -> "EnvelopeSender":
        """Signs owners' messages and posts them."""
        return self._envelope_sender(self._names.https)

    @cached_property
    def feedback_envelope_sender(self) -> "EnvelopeSender":
        """Signs Feedback and posts it."""
        return self._envelope_sender(self._names.feedback_https)

    def _envelope_sender(self, https: "HttpsClient") -> "EnvelopeSender":
        from postroom.outbound.envelope_sender import EnvelopeSender
        from postroom.runtime.adapters import HttpsOutbound

        return EnvelopeSender(self._storage.signing_keys, HttpsOutbound(https), self._own_faults)

    @cached_property
    def outbox(self) -> "OutboxSender":
        """Sends owners' messages."""
        from postroom.outbound.outbox_sender import OutboxSender

        return OutboxSender(
            outbox=self._storage.outbox,
            envelope_sender=self.envelope_sender,
            queue=self._storage.courier_queue,
            give_up_seconds=self._settings.outbox_give_up_seconds,
            clock=self._system.clock,
            jitter=self._system.jitter,
        )

    @cached_property
    def notifications(self) -> "NotificationSender":
        """Notifies owners of new mail."""
        from postroom.outbound.notification_sender import NotificationRules, NotificationSender

        settings = self._settings
        return NotificationSender(
            targets=self._storage.targets,
            debounce=self._storage.debounce,
            keys=self._storage.webhook_keys,
            carriers=self.carriers,
            queue=self._storage.courier_queue,
            rules=NotificationRules(settings.notify_interval_seconds, settings.notify_pause_seconds),
            clock=self._system.clock,
            new_id=self._system.new_id,
            jitter=self._system.jitter,
        )

    @cached_property
    def carriers(self) -> "Mapping[TargetKind, Carrier]":
        """The ways to notify targets."""
        from postroom.outbound.webhooks import Webhooks
        from postroom.runtime.adapters import Topics
        from postroom.storage.directory.notification_targets import TargetKind

        return {
            TargetKind.WEBHOOK: Webhooks(self._names.https, self._storage.webhook_keys, self._system.clock),
            TargetKind.TOPIC: Topics(self._clients("sns")),
            TargetKind.SESSION: self.session_responses,
        }

    @cached_property
    def session_responses(self) -> "SessionResponses":
        """Answers sessions of DCP that wait for mail."""
        from postroom.outbound.session_responses import SessionResponses

        # It is checked now, and read for the first session that waits: most mailboxes have none.
        self._settings.given("dcp_identities_secret")
        return SessionResponses(
            lambda: self._storage.dcp_identities, lambda: self.socket_connections, self._system.clock
        )

    @cached_property
    def replaced_watches(self) -> "ReplacedWatches":
        """Answers watches of DCP that were replaced."""
        from postroom.outbound.replaced_watches import ReplacedWatches

        return ReplacedWatches(
            self.session_responses, self._storage.courier_queue, self._system.clock, self._system.jitter
        )

    @cached_property
    def socket_connections(self) -> "ApiGatewayConnections":
        """The WebSockets of the mailbox API."""
        from postroom.runtime.socket_connections import ApiGatewayConnections

        return ApiGatewayConnections(self._names.aws_https, self._settings.given("dcp_socket_url"), self._own_faults)
