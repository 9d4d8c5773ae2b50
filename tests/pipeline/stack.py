"""The functions of the pipeline over the template's store: the real inbox, worker, dead-letter handler and courier.

The outside is in memory.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any
from uuid import UUID

from tests.aws import Clients, Deployed, gate_calls
from tests.fakes.clock import FakeClock
from tests.fakes.executor import SerialExecutor
from tests.fakes.outbound import FakeCarrier, FakeManifests, FakeOurKeys, FakeOutbound
from tests.fakes.pipeline import FakeForwarding, FakeHandlers, FakeSenderKeys

from postroom.core.ijson import JsonValue
from postroom.core.own_faults import OwnFaults
from postroom.crypto.rsa_ed25519 import PrivateKey
from postroom.http.response import HttpResponse
from postroom.outbound.discard_messages import DiscardNotification, DiscardSummaryDue
from postroom.outbound.envelope_sender import EnvelopeSender
from postroom.outbound.feedback_sender import FeedbackSender
from postroom.outbound.notification_messages import MailWaiting, Notification
from postroom.outbound.notification_sender import NotificationSender
from postroom.outbound.outbox_messages import Outgoing
from postroom.outbound.outbox_sender import OutboxSender
from postroom.outbound.queue_messages import read_queue_message
from postroom.pipeline.claim_details import Protocol
from postroom.pipeline.claims import Claim, Pointer, QueuedClaim, unpack
from postroom.pipeline.dead_letters import DeadLetterHandler
from postroom.pipeline.filing import Filing
from postroom.pipeline.judges.nlweb import NlwebJudge
from postroom.pipeline.look_ups import LookUps
from postroom.pipeline.nlweb_inbox import NlwebInbox, Posted
from postroom.pipeline.outcomes import Outcome
from postroom.pipeline.retention_periods import RetentionPeriods
from postroom.pipeline.verdicts import Judge
from postroom.pipeline.worker import BatchReport, Record, Source, Worker
from postroom.protocols.nlweb.schema import NLWEB, Dialect
from postroom.protocols.nlweb.sign import Draft, sign
from postroom.protocols.nlweb.subjects import SubjectRule, Treatment
from postroom.runtime.deployment import Deployment
from postroom.runtime.system import System
from postroom.storage.directory.domains import Domain
from postroom.storage.directory.notification_targets import NotificationTarget, TargetKind
from postroom.storage.layout import CLAIMS, RowKey, claim_name
from postroom.storage.limits.quotas import Quota
from postroom.storage.mail.reader import Filed
from postroom.storage.mail.register import Row
from postroom.storage.mail.seen import Known
from postroom.storage.secrets.signing_keys import SigningKey

NOW = 1_795_253_400.0  # 2026-11-21T09:30:00Z
DAY = 86_400
HORIZON, RETAIN, MAX_AGE = 7 * DAY, 22 * DAY, DAY
TIMES = RetentionPeriods(HORIZON, RETAIN, MAX_AGE)
MAX_BYTES = 1024 * 1024
GIVE_UP = 23 * 3600
INTERVAL, PAUSE = 60, 3 * DAY

SENDER_KEY, OTHER_KEY, OUR_KEY, RSA_KEY = (
    PrivateKey.generate("ed25519"), PrivateKey.generate("ed25519"), PrivateKey.generate("ed25519"),
    PrivateKey.generate("rsa"),
)  # fmt: skip
SENDER, SHOP, BUFFER = "sender.com", "shop.com", "buffer.sender.com"
SENDER_KEY_NAME = "nlweb._domainkey.sender.com"
FORWARD_TARGET = "arn:aws:sqs:eu-west-1:123456789012:orders"

NOTIFY, ASK, ORDER, UNKNOWN = "Notify@Shop", "Ask@Shop", "Order@Shop", "Nonsense@Nobody"


@dataclass
class PipelineStack:
    """A deployment with fakes of everything outside of it."""

    deployed: Deployed
    clock: FakeClock = field(default_factory=lambda: FakeClock(NOW))
    keys: FakeSenderKeys = field(default_factory=lambda: FakeSenderKeys({SENDER_KEY_NAME: SENDER_KEY.public}))
    manifests: FakeManifests = field(default_factory=lambda: FakeManifests({SENDER: BUFFER}))
    our_keys: FakeOurKeys = field(default_factory=lambda: FakeOurKeys({SHOP: SigningKey("pk1", OUR_KEY)}))
    outbound: FakeOutbound = field(default_factory=FakeOutbound)
    carrier: FakeCarrier = field(default_factory=FakeCarrier)
    handlers: FakeHandlers = field(default_factory=FakeHandlers)
    forwarding: FakeForwarding = field(default_factory=FakeForwarding)
    pool: Executor = field(default_factory=SerialExecutor)
    feedback_an_hour: int = 60
    quota: Quota = field(default_factory=Quota)
    silent_zone: Callable[[str], str | None] = lambda _domain: None
    further_judges: dict[Protocol, Judge] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._numbers = count(1)
        self._message_ids = count(1)
        self._taken = 0
        self.system = System(
            clock=self.clock, monotonic=self.clock, new_id=self.new_id, new_uuid=self.new_uuid, jitter=lambda: 0.5
        )
        storage = self.deployed.parts(system=self.system).storage
        self.operators, self.mailboxes, self.directory = storage.operators, storage.mailboxes, storage.directory
        self.register, self.objects, self.reader = storage.register, storage.objects, storage.reader
        self.seen, self.feedback_log, self.outbox = storage.seen, storage.feedback_log, storage.outbox
        self.targets, self.webhook_keys, self.usages = storage.targets, storage.webhook_keys, storage.usages
        # Of one process, which lives for as long as the test.
        self.look_ups = LookUps(self.clock)
        self.operators.put_domain(Domain(SHOP, inbox=True, buffer=True, feedback="buffer.shop.com"))
        for rule in (
            SubjectRule(NOTIFY, Treatment.MAILBOX, SHOP),
            SubjectRule(ASK, Treatment.SYNC, "ask"),
            SubjectRule(ORDER, Treatment.FORWARD, FORWARD_TARGET),
        ):
            self.operators.put_subject(SHOP, rule)

    def parts(self, clients: Clients | None = None) -> Deployment:
        """The deployment object of one process, with the fakes."""
        made = self.deployed.parts(clients, self.system, feedback_per_domain_and_hour=self.feedback_an_hour)
        made.storage.directory = self.directory
        made.storage.webhook_keys = self.webhook_keys
        made.storage.quota = self.quota
        made.names.sender_keys = made.names.sender_keys_for_requests = self.keys
        made.names.look_ups = self.look_ups
        made.names.silent_zone = lambda domain: self.silent_zone(domain)
        made.names.is_silent = lambda domain: self.silent_zone(domain) is not None
        made.pipeline.handlers = self.handlers
        made.pipeline.forwarding = self.forwarding
        made.pipeline.pool = self.pool
        made.pipeline.judges = {"nlweb": made.pipeline.nlweb_judge, **self.further_judges}
        made.outbound.envelope_sender = EnvelopeSender(self.our_keys, self.outbound, OwnFaults())
        made.outbound.feedback_envelope_sender = made.outbound.envelope_sender
        made.outbound.buffers = self.manifests
        made.outbound.carriers = dict.fromkeys(TargetKind, self.carrier)
        return made

    # ---- senders ---------------------------------------------------------------------------------------------
    def new_id(self) -> str:
        return f"{next(self._numbers):032x}"

    def new_uuid(self) -> str:
        return str(UUID(int=next(self._numbers)))

    def envelope(
        self,
        subject: str = NOTIFY,
        body: JsonValue = "hello",
        *,
        sender: str = SENDER,
        receiver: str = SHOP,
        key: PrivateKey = SENDER_KEY,
        correlation: str = "",
        dialect: Dialect = NLWEB,
        selector: str | None = None,
    ) -> bytes:
        """A signed envelope with the current time."""
        draft = Draft(
            sender, receiver, subject, correlation or self.new_uuid(), int(self.clock.now * 1000), body,
            selector=selector, dialect=dialect,
        )  # fmt: skip
        return json.dumps(sign(draft, key), ensure_ascii=False).encode()

    # ---- the inbox --------------------------------------------------------------------------------------------
    def inbox(self, clients: Clients | None = None) -> NlwebInbox:
        return self.parts(clients).pipeline.nlweb_inbox

    def post(self, body: bytes, content_type: str = "application/json", encoding: str = "") -> HttpResponse:
        return self.inbox().post(Posted(body, content_type, encoding, "192.0.2.1"))

    def queued(self, body: bytes) -> Record:
        """Post a message and take its claim from the queue."""
        answer = self.post(body)
        assert answer.status == 200, answer
        return self.record(self.deployed.bodies("ClaimsQueue")[-1])

    def record(self, body: str, received: int = 1) -> Record:
        return Record(f"message{next(self._message_ids)}", body, received)

    def pointed(self, record: Record) -> Record:
        """The same claim, queued as one too large for the queue."""
        claim = self.claim(record)
        self.objects.put(claim_name(claim.received_at_ms, claim.id), json.dumps(claim.as_json()).encode())
        _, feedback_request = claim.details.correlation_and_feedback(claim.envelope)
        pointer = Pointer(claim_name(claim.received_at_ms, claim.id), feedback_request)
        return replace(record, body=QueuedClaim(claim, pointer).body())

    def claim_objects(self) -> list[str]:
        """The names of the objects of claims."""
        listed = self.deployed.clients.s3.list_objects_v2(Bucket=self.deployed.bucket, Prefix=CLAIMS)
        return [entry["Key"] for entry in listed.get("Contents", [])]

    def claim(self, record: Record) -> Claim:
        return unpack(record.body, self.objects).claim

    # ---- the worker and the dead-letter handler --------------------------------------------------------------
    def judge(self) -> NlwebJudge:
        return self.parts().pipeline.nlweb_judge

    def filing(self, clients: Clients | None = None) -> Filing:
        return self.parts(clients).pipeline.filing

    def worker(self, clients: Clients | None = None, judge: Judge | None = None) -> Worker:
        made = self.parts(clients)
        if judge:
            made.pipeline.judges = {"nlweb": judge, **self.further_judges}
        return made.pipeline.worker

    def work(self, *records: Record) -> BatchReport:
        return self.worker().work(records)

    def look_up(self) -> BatchReport:
        """Process what is in the queue of look-ups, as one batch; the queue is empty then."""
        records = [self.record(body) for body in self.deployed.bodies("LookUpsQueue")]
        self.deployed.empty("LookUpsQueue")
        return self.worker().work(records, Source.LOOK_UPS)

    def settle(self, record: Record) -> Outcome:
        """Process one claim, which must be deleted from the queue, also from that of look-ups."""
        report = self.work(record)
        if report.to_look_up:
            report = self.look_up()
        assert report.failed == ()
        [outcome] = report.outcomes
        return outcome

    def dead_letter_handler(self, clients: Clients | None = None) -> DeadLetterHandler:
        return self.parts(clients).pipeline.dead_letters

    # ---- the courier -----------------------------------------------------------------------------------------
    def feedback_sender(self, clients: Clients | None = None) -> FeedbackSender:
        return self.parts(clients).outbound.feedback

    def dispatch(self, clients: Clients | None = None) -> OutboxSender:
        return self.parts(clients).outbound.outbox

    def notification_sender(self, clients: Clients | None = None) -> NotificationSender:
        return self.parts(clients).outbound.notifications

    def target(self, to: str, mailbox: str = SHOP, *, verified: bool = True) -> NotificationTarget:
        """A notification target of a mailbox."""
        target = self.targets.add(
            mailbox, TargetKind.WEBHOOK, to, random_id=self.new_id(), now_ms=int(self.clock.now * 1000)
        )
        assert target is not None
        if verified:
            assert self.targets.verify(target)
        return self.target_now(target)

    def target_now(self, target: NotificationTarget) -> NotificationTarget:
        found = self.targets.find(target.mailbox, target.id)
        assert found is not None
        return found

    def take_notifications(self) -> list[MailWaiting | Notification]:
        """The notifications in the courier's queue, which is emptied."""
        carried = [read_queue_message(body) for body in self.deployed.bodies("CourierQueue")]
        self.deployed.empty("CourierQueue")
        return [each for each in carried if isinstance(each, MailWaiting | Notification)]

    def outgoing(self) -> list[Outgoing]:
        """The messages that the courier was asked to send so far."""
        carried = [read_queue_message(body) for body in self.deployed.bodies("CourierQueue")]
        return [each for each in carried if isinstance(each, Outgoing)]

    def discard_notifications(self) -> list[DiscardNotification | DiscardSummaryDue]:
        """The discard notifications that the courier was sent so far."""
        carried = [read_queue_message(body) for body in self.deployed.bodies("FeedbackQueue")]
        return [each for each in carried if isinstance(each, DiscardNotification | DiscardSummaryDue)]

    # ---- owners ----------------------------------------------------------------------------------------------
    def row(self, key: RowKey) -> Row | None:
        return self.register.find(key)

    def home(self, key: str) -> Known | None:
        return self.seen.find(key, now=int(self.clock.now))

    def listed(self, mailbox: str = SHOP, conversation: str = "") -> list[Filed]:
        """The messages of one pass of a mailbox's owner."""
        now, conversations = int(self.clock.now), frozenset(conversation.split())
        rows = self.reader.list(mailbox, self.directory.shards(mailbox), now=now, conversations=conversations)
        filed = [self.reader.fetch(row) for row in rows]
        assert all(each is not None for each in filed)
        return [each for each in filed if each is not None]


def said(answer: HttpResponse) -> Any:
    """The JSON body of an answer."""
    return json.loads(answer.body)


def calls_of(clients: Clients) -> "Counter[str]":
    """The operations that these clients call from now on, as they are counted."""
    seen: Counter[str] = Counter()

    @contextmanager
    def gate(operation: str) -> Iterator[None]:
        seen[operation] += 1
        yield

    gate_calls(clients, gate)
    return seen
