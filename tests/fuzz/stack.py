"""A stack in memory for fuzzing: the real inboxes and judges, without I/O; every key record is that of KEY."""

from tests.fakes.executor import SerialExecutor
from tests.fakes.outbound import FakeQueue
from tests.fakes.pipeline import FakeAccounts, FakeDirectory, FakeHandlers, FakeMessagesOfOwners, FakeServiceKeys
from tests.fakes.storage import FakeObjects
from tests.functions.samples import ALICE, BOB, BUFFER, RECEIVER, SERVICE, profile_uri
from tests.fuzz.samples import ALICES, BOBS, KEY, NOW, SERVICES, WALLET

from postroom.core.leaky_bucket import LeakyBucket
from postroom.crypto.rsa_ed25519 import KeyRules
from postroom.names.profiles import Profiles
from postroom.names.registry import PROFILE_KEY, SERVICE_KEY, MemoryRegistry
from postroom.net.timebox import TimeBox
from postroom.pipeline.claims import QueuedClaim, unpack
from postroom.pipeline.dm3_inbox import Dm3Inbox
from postroom.pipeline.intake import Intake
from postroom.pipeline.judges.dm3 import Dm3Judge
from postroom.pipeline.judges.nlweb import NlwebJudge
from postroom.pipeline.look_ups import LookUps
from postroom.pipeline.nlweb_inbox import InboxRules, NlwebInbox
from postroom.pipeline.ports import SenderKey
from postroom.pipeline.quota import QuotaCheck
from postroom.pipeline.retention_periods import RetentionPeriods
from postroom.pipeline.sender_check import SenderCheck
from postroom.pipeline.silent_zones import SilentSenders
from postroom.pipeline.slow_names import SlowNames
from postroom.pipeline.synchronous import BuiltInHandlers, Sync
from postroom.protocols.dm3.extension import FilterRules, ProfileExtension, Properties
from postroom.protocols.dm3.profile import ServiceProfile, data_uri
from postroom.protocols.dm3.service import ServiceKeys
from postroom.protocols.nlweb.subjects import SubjectRule, Treatment
from postroom.protocols.nlweb.timestamp import TimestampWindow
from postroom.storage.directory.domains import Dm3Mailbox, Domain
from postroom.storage.directory.mailboxes import MailboxRecord
from postroom.storage.limits.name_texts import NameTexts
from postroom.storage.limits.quotas import Quota, Usage, Usages
from postroom.storage.limits.sender_zones import SenderZones
from postroom.storage.mail.replies import Lease, Replies

DAY = 86_400
TIMES = RetentionPeriods(7 * DAY, 22 * DAY, DAY)
MAX_BYTES = 1 << 20


class _Directory(FakeDirectory):
    """Every mailbox has four shards and blocks somebody."""

    def mailbox(self, name: str, **_: object) -> MailboxRecord:
        return MailboxRecord(name, shards=4, blocks=frozenset({"*.blocked.example"}))


class _SenderKeys:
    """Every sender's key is KEY; unlike FakeSenderKeys it remembers nothing of a million inputs."""

    def find(self, name: str, *, fresh: bool = False) -> SenderKey:
        return SenderKey(KEY.public, {"chain": name}, cached=False)


class _Replies(Replies):
    """Replies that nobody remembers."""

    def __init__(self) -> None: ...

    def begin(self, key: str, digest: str, *, now: int, until: int, forget_at: int) -> Lease:
        return Lease(key, until)

    def finish(self, lease: Lease, reply: str, *, at_ms: int, random_id: str) -> None: ...

    def release(self, lease: Lease) -> None: ...


class _NoUsages(Usages):
    def __init__(self) -> None:
        pass

    def read(self, mailbox: str) -> Usage:
        raise AssertionError(f"{mailbox} has no quota")


class _NoNameTexts(NameTexts):
    def __init__(self) -> None:
        pass

    def begin_look_up(self, name: str, key: str, now: float) -> bool:
        raise AssertionError(f"{key} of {name} took no time")


class _NoSilentZones(SenderZones):
    def __init__(self) -> None:
        pass


def _none_waits() -> int:
    return 0


def _clock() -> float:
    return NOW


def _new_id() -> str:
    return "0" * 32


def _profiles() -> Profiles:
    service = ServiceProfile(SERVICES.encryption.public, SERVICES.signing.public, "https://ds.example")
    registry = MemoryRegistry({name: {PROFILE_KEY: profile_uri(keys)} for name, keys in ((ALICE, ALICES), (BOB, BOBS))})
    registry.put("open.eth", PROFILE_KEY, profile_uri(BOBS))
    registry.put(SERVICE, SERVICE_KEY, data_uri(service.as_json()))
    return Profiles(registry, _clock)


BUCKET, QUEUE, PROFILES = FakeObjects(), FakeQueue(), _profiles()
_SENDER_KEYS = _SenderKeys()
_SERVICE_KEYS = FakeServiceKeys(ServiceKeys(SERVICES.signing, (SERVICES.encryption,)))
_DIRECTORY = _Directory(
    domains={
        RECEIVER: Domain(
            RECEIVER, buffer=True, feedback=BUFFER,
            subjects=(
                SubjectRule("Hello@Host", Treatment.MAILBOX, RECEIVER),
                SubjectRule("*@Shop", Treatment.FORWARD, "arn:aws:sqs:eu-west-1:123456789012:orders"),
                SubjectRule("*", Treatment.MAILBOX, "rest.example"),
            ),
        ),
        "xn--bcher-kva.example": Domain("xn--bcher-kva.example"),
    },
    wallets={WALLET: KEY.public.spki()},
    dm3_mailboxes={
        BOB: Dm3Mailbox(BOB),
        "open.eth": Dm3Mailbox("open.eth", ProfileExtension(rules=FilterRules(block=(ALICE,))), takes_unverified=True),
    },
)  # fmt: skip
"""One domain with a rule of each kind, a domain whose buffer we are, a wallet, two mailboxes of dm3."""
_ROOM = QuotaCheck(_NoUsages(), Quota(), clock=_clock, cache_seconds=30)
_INTAKE = Intake(directory=_DIRECTORY, claims=QUEUE, objects=BUCKET, quota_check=_ROOM, new_id=_new_id)

_SENDER_CHECK = SenderCheck(keys=_SENDER_KEYS, directory=_DIRECTORY, key_rules=KeyRules())
NLWEB_JUDGE = NlwebJudge(
    senders=_SENDER_CHECK, directory=_DIRECTORY, sent=FakeMessagesOfOwners(), clock=_clock, times=TIMES
)
NLWEB_INBOX = NlwebInbox(
    rules=InboxRules(TimestampWindow(DAY, 120), MAX_BYTES),
    directory=_DIRECTORY,
    intake=_INTAKE,
    sync=Sync(
        senders=_SENDER_CHECK,
        replies=_Replies(),
        handlers=BuiltInHandlers(_DIRECTORY, FakeHandlers()),
        clock=_clock,
        new_id=_new_id,
        lease_seconds=30,
        memory_seconds=DAY,
    ),
    silent_senders=SilentSenders(_SENDER_KEYS, _NoSilentZones(), _none_waits, zones_of=lambda _: [], clock=_clock),
    clock=_clock,
)
DM3_JUDGE = Dm3Judge(
    keys=_SERVICE_KEYS,
    profiles=PROFILES,
    look_ups=LookUps(_clock),
    clock=_clock,
    times=TIMES,
    unverified_seconds=3600,
)
DM3_INBOX = Dm3Inbox(
    properties=Properties(0, 100_000),
    directory=_DIRECTORY,
    keys=_SERVICE_KEYS,
    profiles=PROFILES,
    accounts=FakeAccounts(),
    slow_names=SlowNames(
        texts=_NoNameTexts(), queue=QUEUE, rate=LeakyBucket(1_000, 1_000_000, lambda: 0.0), clock=_clock
    ),
    new_timebox=lambda: TimeBox(SerialExecutor(), 1, lambda: 0.0),
    reads=LeakyBucket(1_000, 1_000_000, lambda: 0.0),
    intake=_INTAKE,
    clock=_clock,
)


def queued() -> QueuedClaim:
    """What an inbox queued last, as the worker reads it; queue and bucket are empty afterwards."""
    queued_claim = unpack(QUEUE.bodies[-1], BUCKET)
    empty()
    return queued_claim


def empty() -> None:
    """Forget what was queued."""
    QUEUE.clear()
    BUCKET.held.clear()
