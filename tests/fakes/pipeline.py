"""Fakes of the pipeline's dependencies: senders' keys, the directory, dm3 profiles, operators' handlers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from postroom.core.errors import NotNowError, PostroomError, TheirError
from postroom.core.ijson import JsonValue
from postroom.crypto.rsa_ed25519 import PublicKey
from postroom.crypto.x25519 import EncryptionKey
from postroom.names.profiles import FoundProfile, FoundUser
from postroom.pipeline.ports import SenderKey
from postroom.protocols.dm3.extension import FilterRules
from postroom.protocols.dm3.keys import PrivateSigningKey
from postroom.protocols.dm3.profile import UserProfile
from postroom.protocols.dm3.reasons import FILTER_RULE_UNCHECKED, PROFILE_LOOKUP_FAILED, PROFILE_UNKNOWN
from postroom.protocols.dm3.service import ServiceKeys
from postroom.protocols.nlweb.reasons import KEY_NOT_FOUND
from postroom.storage.directory.domains import Dm3Mailbox, Domain
from postroom.storage.directory.mailboxes import MailboxRecord


@dataclass
class FakeSenderKeys:
    """Key records by DNS name, some of them cached. `lookups`: (name, fresh)."""

    published: dict[str, PublicKey | PostroomError] = field(default_factory=dict)
    cached: dict[str, PublicKey] = field(default_factory=dict)
    lookups: list[tuple[str, bool]] = field(default_factory=list)

    def find(self, name: str, *, fresh: bool = False) -> SenderKey:
        """The published key. Raises TheirError(KEY_NOT_FOUND), or the error in its place."""
        self.lookups.append((name, fresh))
        if name in self.cached and not fresh:
            return SenderKey(self.cached[name], {"chain": "cached"}, cached=True)
        found = self.published.get(name, TheirError(KEY_NOT_FOUND))
        if isinstance(found, PostroomError):
            raise found
        self.cached[name] = found
        return SenderKey(found, {"chain": "walked"}, cached=False)

    def remembered(self, name: str) -> SenderKey | None:
        """The cached key."""
        return SenderKey(self.cached[name], {"chain": "cached"}, cached=True) if name in self.cached else None


@dataclass
class FakeAccounts:
    """The accounts of senders. `reaching`: whether that of a name reaches what rules demand; `looked_up`: names."""

    reaching: dict[str, bool] = field(default_factory=dict)
    looked_up: list[str] = field(default_factory=list)

    def reach(self, name: str, rules: FilterRules) -> bool:
        """Whether it does. Raises NotNowError(FILTER_RULE_UNCHECKED)."""
        self.looked_up.append(name)
        if name not in self.reaching:
            raise NotNowError(FILTER_RULE_UNCHECKED)
        return self.reaching[name]


@dataclass
class FakeDirectory:
    """The settings of operators and owners. A mailbox without a record has the settings of a new one."""

    domains: dict[str, Domain] = field(default_factory=dict)
    wallets: dict[str, bytes] = field(default_factory=dict)
    mailboxes: dict[str, MailboxRecord] = field(default_factory=dict)
    dm3_mailboxes: dict[str, Dm3Mailbox] = field(default_factory=dict)

    def domain(self, name: str) -> Domain | None:
        """A domain, or None."""
        return self.domains.get(name)

    def wallet(self, uuid: str) -> bytes | None:
        """A wallet's SubjectPublicKeyInfo, or None."""
        return self.wallets.get(uuid)

    def mailbox(self, name: str, *, before_read: Callable[[], None] | None = None) -> MailboxRecord:
        """The record of a mailbox."""
        return self.mailboxes.get(name) or MailboxRecord(name)

    def dm3_mailbox(self, name: str, *, before_read: Callable[[], None] | None = None) -> Dm3Mailbox | None:
        """A mailbox of the delivery service, or None."""
        return self.dm3_mailboxes.get(name)

    def forget(self, mailbox: str) -> None:
        """Nothing is cached."""


@dataclass
class FakeMessagesOfOwners:
    """The mailboxes that sent a message, by its Correlation and receiver."""

    mailboxes: dict[tuple[str, str], str] = field(default_factory=dict)

    def mailbox_of(self, correlation: str, receiver: str) -> str | None:
        """The mailbox, or None."""
        return self.mailboxes.get((correlation, receiver))


@dataclass
class FakeServiceKeys:
    """The keys of the delivery service, or an error if they cannot be read. `newer`: returned by a fresh look-up."""

    keys: ServiceKeys | NotNowError = field(default_factory=ServiceKeys.generate)
    newer: ServiceKeys | None = None

    def get(self, *, fresh: bool = False) -> ServiceKeys:
        """The keys."""
        if isinstance(self.keys, NotNowError):
            raise self.keys
        return self.newer if fresh and self.newer else self.keys


@dataclass
class FakeProfiles:
    """dm3 profiles of users, from their signing `keys` by name.

    `services`: the delivery services of all profiles. `away`: look-ups fail. `lookups`: the number of look-ups.
    """

    keys: dict[str, PrivateSigningKey] = field(default_factory=dict)
    services: tuple[str, ...] = ("ds.eth",)
    away: bool = False
    lookups: int = 0
    encryption_key: bytes = field(default_factory=lambda: EncryptionKey.generate().public)

    def user(self, name: str, *, fresh: bool = False) -> UserProfile:
        """The profile. Raises NotNowError(PROFILE_LOOKUP_FAILED), TheirError(PROFILE_UNKNOWN)."""
        self.lookups += 1
        if self.away:
            raise NotNowError(PROFILE_LOOKUP_FAILED)
        if name not in self.keys:
            raise TheirError(PROFILE_UNKNOWN)
        return UserProfile(self.encryption_key, self.keys[name].public, self.services)

    def find_user(self, name: str, *, fresh: bool = False) -> FoundUser:
        """The same, with evidence. Raises as `user` does."""
        return FoundProfile(self.user(name, fresh=fresh), {"registry": "fake", "uri": "data"})

    def find_sender(self, name: str, *, fresh: bool = False) -> FoundUser:
        """The same. Raises as `user` does."""
        return self.find_user(name, fresh=fresh)

    def find_receiver(self, name: str) -> FoundUser:
        """The same. Raises as `user` does."""
        return self.find_user(name)

    def owner(self, name: str, *, fresh: bool = False) -> UserProfile:
        """The profile. Raises as `user` does."""
        return self.user(name, fresh=fresh)


@dataclass
class FakeHandlers:
    """Handlers of synchronous subjects by name. `calls`: (name, request)."""

    handlers: dict[str, Callable[[JsonValue], JsonValue]] = field(default_factory=dict)
    calls: list[tuple[str, JsonValue]] = field(default_factory=list)

    def call(self, handler: str, request: JsonValue) -> JsonValue:
        """The handler's reply."""
        self.calls.append((handler, request))
        return self.handlers[handler](request)


@dataclass
class FakeForwarding:
    """The queues and event buses of operators. `forwarded`: (target, message). `fault`: an error to raise instead."""

    forwarded: list[tuple[str, Mapping[str, object]]] = field(default_factory=list)
    fault: Exception | None = None

    def forward(self, target: str, message: Mapping[str, object]) -> None:
        """Record a message, or raise `fault`."""
        if self.fault is not None:
            raise self.fault
        self.forwarded.append((target, message))


@dataclass
class FakeHideQueue:
    """A queue whose messages are hidden. `hidden`: for how many seconds, by receipt. `requests`: one a message."""

    hidden: dict[str, int] = field(default_factory=dict)
    requests: int = 0

    def hide(self, seconds: Mapping[str, int]) -> None:
        """Hide messages; at most 10 in a request, and for at most 12 hours, as SQS allows."""
        assert len(seconds) <= 10
        assert all(0 < hidden <= 43_200 for hidden in seconds.values())
        self.requests += len(seconds)
        self.hidden |= seconds
