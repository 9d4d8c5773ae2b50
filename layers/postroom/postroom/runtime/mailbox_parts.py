"""The mailbox API objects of a deployment, for functions/mailbox and functions/dcp."""

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

from postroom.core.errors import SettingsError, TheirError
from postroom.core.settings import DCP_MAX_TTL_CEILING_SECONDS, DCP_SLOP_CEILING_MILLISECONDS
from postroom.core.side_by_side import THREADS
from postroom.runtime.parts import DeploymentParts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from concurrent.futures import Executor

    from postroom.http.containers import ContainerService
    from postroom.http.cors import Cors
    from postroom.http.dcp_service import DcpService
    from postroom.http.handlers import ContainerHandlers, SignInHandlers
    from postroom.http.mail_handlers import MailHandlers
    from postroom.http.mailbox_router import BearerTokens
    from postroom.http.message_listing import MessageListing
    from postroom.http.notification_targets import NotificationTargetSettings
    from postroom.http.outbox import OutboxService
    from postroom.http.preferences import Preferences
    from postroom.http.rate_limit import Rate
    from postroom.http.registration import SelfRegistration
    from postroom.http.router import Handler, Router
    from postroom.http.sign_in import SignIn, Users
    from postroom.http.tokens import Tokens
    from postroom.http.usage import UsageTracker
    from postroom.protocols.dcp.receiving import ReceiveLimits
    from postroom.storage.limits.dcp_sessions import DcpSessions
    from postroom.storage.limits.held_runs import HeldRuns

_CORS: Final = {
    "methods": "DELETE, GET, PATCH, POST, PUT",
    "allowed": "authorization, content-type, if-match, if-none-match, range",
    "exposed": "content-range, etag, retry-after",
}


class MailboxParts(DeploymentParts):
    """The objects of the mailbox API in `postroom.http`."""

    @cached_property
    def router(self) -> "Router":
        """The router of functions/mailbox."""
        from postroom.http.mailbox_router import mailbox_router

        return mailbox_router(self.handlers, self.bearers, self.cors)

    @cached_property
    def dcp_router(self) -> "Router":
        """The router of functions/dcp."""
        from postroom.http.dcp_service import dcp_router

        return dcp_router(self.dcp, self.cors)

    @cached_property
    def handlers(self) -> "Mapping[str, Handler]":
        """The handlers of the mailbox API by operation id."""
        return self._handlers(self.mail)

    @cached_property
    def dcp_handlers(self) -> "Mapping[str, Handler]":
        """The same for DCP, whose waits are counted apart."""
        return self._handlers(self._mail(self.dcp_waits))

    def _handlers(self, mail: "MailHandlers") -> "Mapping[str, Handler]":
        from postroom.http.handlers import AboutHandlers, NotificationHandlers, OutboxHandlers, SettingsHandlers
        from postroom.http.mailbox_router import handlers_of

        return handlers_of(
            [
                self.sign_in_handlers,
                mail,
                OutboxHandlers(self.sending),
                NotificationHandlers(self.targets),
                self.container_handlers,
                SettingsHandlers(self.preferences),
                AboutHandlers(),
            ]
        )

    @cached_property
    def cors(self) -> "Cors":
        """The pages that may call the API."""
        from postroom.http.cors import Cors

        return Cors(self._settings.mailbox_api_cors_origins, "MAILBOX_API_CORS_ORIGINS", **_CORS)

    # --- who asks -----------------------------------------------------------------------------------------------------

    @cached_property
    def bearers(self) -> "BearerTokens":
        """Authentication, and the rate limit of a mailbox."""
        from postroom.http.mailbox_router import BearerTokens

        return BearerTokens(self.sign_in, self.rate)

    @cached_property
    def rate(self) -> "Rate":
        """The rate limit of a mailbox, however its owner's requests come."""
        from postroom.http.rate_limit import Rate

        return Rate(self._settings.mailbox_api_requests_per_second, self._system.monotonic)

    @cached_property
    def tokens(self) -> "Tokens":
        """Owners' tokens and challenges."""
        from postroom.http.tokens import Tokens

        return Tokens(self._storage.token_keys, self._system.clock, self._system.new_id)

    @cached_property
    def users(self) -> "Users":
        """Profiles. Most domains have none, because they are not delivery services: that is not an error."""
        return self._names.profiles

    @cached_property
    def dcp_users(self) -> "Users":
        """The same for DCP, whose look-ups are counted apart."""
        return self._names.profiles_for_dcp

    @cached_property
    def sign_in(self) -> "SignIn":
        """Signs owners in."""
        return self._sign_in(self.users)

    @cached_property
    def dcp_sign_in(self) -> "SignIn":
        """Tells by their keys who owners are that ask over DCP."""
        return self._sign_in(self.dcp_users)

    def _sign_in(self, users: "Users") -> "SignIn":
        from postroom.http.sign_in import SignIn

        return SignIn(
            tokens=self.tokens,
            directory=self._storage.directory,
            mailboxes=self._storage.mailboxes,
            users=users,
            answered=self._storage.answered_challenges,
        )

    @cached_property
    def opening(self) -> "SelfRegistration":
        """Opens mailboxes for owners whose profile names us."""
        from postroom.http.rate_limit import Rate
        from postroom.http.registration import A_SECOND, OF_A_NAME_A_SECOND, SelfRegistration

        return SelfRegistration(
            service=self.service_name,
            tokens=self.tokens,
            answered=self._storage.answered_challenges,
            users=self.users,
            directory=self._storage.directory,
            mailboxes=self._storage.mailboxes,
            of_a_name=Rate(OF_A_NAME_A_SECOND, self._system.monotonic),
            of_all=Rate(A_SECOND, self._system.monotonic),
            of_a_domain=self._settings.dm3_self_registrations_per_domain,
        )

    @cached_property
    def service_name(self) -> str:
        """The name of our delivery service in profiles; empty: owners cannot open mailboxes."""
        from postroom.protocols.dm3.names import normalize

        name = self._settings.dm3_self_registration
        try:
            return normalize(name) if name else ""
        except TheirError as error:
            raise SettingsError(f"DM3_SELF_REGISTRATION is {name[:80]!r}; it must be a name: {error.detail}") from None

    @cached_property
    def sign_in_handlers(self) -> "SignInHandlers":
        """Signing in and out, and opening a mailbox."""
        from postroom.http.handlers import SignInHandlers

        return SignInHandlers(
            sign_in=self.sign_in,
            opening=self.opening,
            mailboxes=self._storage.mailboxes,
            clock=self._system.clock,
        )

    # --- DCP ----------------------------------------------------------------------------------------------------------

    @cached_property
    def dcp(self) -> "DcpService":
        """The guardian of the mailboxes."""
        from postroom.http.dcp_operations import DcpOperations
        from postroom.http.dcp_service import DcpService
        from postroom.http.rate_limit import NewcomerRate, Rate
        from postroom.http.watches import Watches

        store, limits = self.dcp_sessions, self.dcp_limits
        return DcpService(
            identities=self._storage.dcp_identities,
            store=store,
            operations=DcpOperations(
                handlers=self.dcp_handlers,
                sign_in=self.dcp_sign_in,
                rate=self.rate,
                newcomers=NewcomerRate(self._system.monotonic),
                store=store,
                limits=limits,
                watches=Watches(
                    self._storage.targets, self._storage.courier_queue, self._system.clock, self._system.new_id
                ),
            ),
            limits=limits,
            clock=self._system.clock,
            monotonic=self._system.monotonic,
            random=self._system.random_bytes,
            close_socket=self.close_socket,
            rate=Rate(self._settings.mailbox_api_requests_per_second, self._system.monotonic),
            socket_url=self._settings.dcp_socket_url,
        )

    @cached_property
    def close_socket(self) -> "Callable[[str], None]":
        """Closes a WebSocket by its id."""
        # Made for the first bad message: these are rare, and what closes WebSockets takes long to import.
        return lambda connection: self._deployment.outbound.socket_connections.close(connection)

    @cached_property
    def dcp_sessions(self) -> "DcpSessions":
        """What the guardian remembers."""
        from postroom.storage.limits.dcp_sessions import DcpSessions

        return DcpSessions(self._storage.dynamodb, self._settings.given("dcp_table"), self.pool)

    @cached_property
    def dcp_limits(self) -> "ReceiveLimits":
        """The limits of messages of DCP."""
        from postroom.http.dcp_service import MAX_BATCH, MAX_MESSAGE_BYTES
        from postroom.protocols.dcp.receiving import DEFAULT_TTL, ReceiveLimits

        settings = self._settings
        return ReceiveLimits(
            ttl=replace(DEFAULT_TTL, max=settings.dcp_max_ttl_seconds),
            slop=settings.dcp_slop_milliseconds / 1000,
            widest_ttl=replace(DEFAULT_TTL, max=DCP_MAX_TTL_CEILING_SECONDS),
            widest_slop=DCP_SLOP_CEILING_MILLISECONDS / 1000,
            session_seconds=settings.dcp_session_seconds,
            max_bytes=MAX_MESSAGE_BYTES,
            max_messages=MAX_BATCH,
        )

    # --- messages -----------------------------------------------------------------------------------------------------

    @cached_property
    def mail(self) -> "MailHandlers":
        """Reading and acknowledging messages."""
        return self._mail(self.waits)

    def _mail(self, waits: "HeldRuns") -> "MailHandlers":
        from postroom.http.mail_handlers import MailHandlers

        return MailHandlers(
            listing=self.listing,
            register=self._storage.register,
            usage_tracker=self.usage_tracker,
            waits=waits,
            pool=self.pool,
            retain_seconds=self._settings.retain_seconds,
            clock=self._system.clock,
            sleep=self._system.sleep,
        )

    @cached_property
    def waits(self) -> "HeldRuns":
        """The runs of functions/mailbox that requests hold while they wait for a message."""
        return self._waits("waits", self._settings.mailbox_api_reserved_concurrency)

    @cached_property
    def dcp_waits(self) -> "HeldRuns":
        """The same of functions/dcp, which are counted apart."""
        return self._waits("dcp-waits", self._settings.dcp_reserved_concurrency)

    def _waits(self, kind: str, reserved: int) -> "HeldRuns":
        from postroom.http.waits import HOLD_SECONDS, most_waits

        return self._storage.held_runs(kind, most_waits(reserved), HOLD_SECONDS)

    @cached_property
    def pool(self) -> "Executor":
        """The threads of a request beside its own."""
        return self._system.threads(THREADS - 1)

    @cached_property
    def listing(self) -> "MessageListing":
        """Pages of messages."""
        from postroom.http.fetching import Fetching
        from postroom.http.message_listing import MessageListing

        storage, clock = self._storage, self._system.clock
        fetching = Fetching(storage.reader, self.pool, clock)
        return MessageListing(storage.reader, fetching, storage.register, storage.directory, clock)

    @cached_property
    def usage_tracker(self) -> "UsageTracker":
        """The usage of mailboxes."""
        from postroom.http.usage import UsageTracker

        return UsageTracker(self._storage.directory, self._storage.usages, self._storage.quota)

    # --- what else owners do ------------------------------------------------------------------------------------------

    @cached_property
    def sending(self) -> "OutboxService":
        """Sending owners' messages."""
        from postroom.http.outbox import OutboxService

        return OutboxService(
            directory=self._storage.directory,
            outbox=self._storage.outbox,
            courier=self._storage.courier_queue,
            max_bytes=self._settings.nlweb_max_body_bytes,
            keep_seconds=self._settings.outbox_keep_seconds,
            clock=self._system.clock,
            new_id=self._system.new_id,
            new_uuid=self._system.new_uuid,
        )

    @cached_property
    def targets(self) -> "NotificationTargetSettings":
        """Notification targets."""
        from postroom.http.notification_targets import NotificationTargetSettings, Offer

        return NotificationTargetSettings(
            targets=self._storage.targets,
            codes=self._storage.code_limits,
            keys=self._storage.webhook_keys,
            courier=self._storage.courier_queue,
            offer=Offer(self._settings.outbound_port, self._settings.notify_topic_arn),
            clock=self._system.clock,
            new_id=self._system.new_id,
        )

    @cached_property
    def containers(self) -> "ContainerService":
        """Containers that owners store."""
        from postroom.http.containers import ContainerService

        return ContainerService(self._storage.containers, self._system.clock)

    @cached_property
    def container_handlers(self) -> "ContainerHandlers":
        """The handlers for containers."""
        from postroom.http.handlers import ContainerHandlers

        return ContainerHandlers(self.containers)

    @cached_property
    def preferences(self) -> "Preferences":
        """The settings of owners."""
        from postroom.http.nlweb_settings import NlwebSettings
        from postroom.http.preferences import Preferences

        mailboxes = self._storage.mailboxes
        return Preferences(
            mailboxes,
            NlwebSettings(mailboxes, self._storage.directory),
            lambda: bool(self._storage.chain_endpoints.get()),
        )
