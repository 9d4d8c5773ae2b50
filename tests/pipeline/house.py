"""A post office over the template's store: the real door, worker, keeper and courier, with the outside in memory."""

import json
from concurrent.futures import Executor
from dataclasses import dataclass, field
from itertools import count
from typing import Any
from uuid import UUID

from tests.aws import Clients, Deployed
from tests.pipeline.ports import Carriers, Clock, Forwarding, Handlers, InTurn, Manifests, OurKeys, Outbound, SenderKeys

from postroom.core.ijson import JsonValue
from postroom.core.own_faults import OwnFaults
from postroom.crypto.rsa_ed25519 import KeyRules, PrivateKey
from postroom.http.response import HttpResponse
from postroom.outbound.courier import Courier, CourierRules
from postroom.outbound.discards import Notice, SummaryDue
from postroom.outbound.notifications import Notification, Waiting
from postroom.outbound.notifier import Notifier, NotifierRules
from postroom.outbound.outbox import Dispatch
from postroom.outbound.outgoing import Outgoing
from postroom.outbound.postman import Postman
from postroom.outbound.queue_messages import read_queue_message
from postroom.pipeline.claims import Claim, Protocol, unpack
from postroom.pipeline.dead_letters import Keeper
from postroom.pipeline.discarding import Discarding
from postroom.pipeline.filing import Filing
from postroom.pipeline.intake import Intake
from postroom.pipeline.judges.nlweb import NlwebJudge
from postroom.pipeline.nlweb_inbox import DoorRules, NlwebDoor, Posted
from postroom.pipeline.notify import Announcer
from postroom.pipeline.outcomes import Outcome
from postroom.pipeline.quota import Room
from postroom.pipeline.synchronous import BuiltInHandlers, Sync
from postroom.pipeline.times import Times
from postroom.pipeline.verdicts import Judge
from postroom.pipeline.worker import Record, Report, Worker
from postroom.protocols.nlweb.schema import NLWEB, Dialect
from postroom.protocols.nlweb.sign import Draft, sign
from postroom.protocols.nlweb.subjects import SubjectRule, Treatment
from postroom.protocols.nlweb.timestamp import Window
from postroom.storage.directory.debounce import Turns
from postroom.storage.directory.domains import Directory, Domain
from postroom.storage.directory.mailboxes import Mailboxes
from postroom.storage.directory.notification_targets import Kind, Target, Targets
from postroom.storage.directory.operators import Operators
from postroom.storage.keys import RowKey
from postroom.storage.limits.feedback import FeedbackLimits
from postroom.storage.limits.quotas import Quota, Usages
from postroom.storage.mail.feedback_log import TellTale
from postroom.storage.mail.head import Heads
from postroom.storage.mail.reader import Filed, Reader
from postroom.storage.mail.register import Register, Row
from postroom.storage.mail.replies import Replies
from postroom.storage.mail.seen import Known, Seen
from postroom.storage.mail.segments import Objects
from postroom.storage.outbox import Outbox
from postroom.storage.queues import Queue
from postroom.storage.secrets.signing_keys import SigningKey
from postroom.storage.secrets.webhook_keys import WebhookKeys

NOW = 1_795_253_400.0  # 2026-11-21T09:30:00Z
DAY = 86_400
HORIZON, RETAIN, MAX_AGE = 7 * DAY, 22 * DAY, DAY
TIMES = Times(HORIZON, RETAIN, MAX_AGE)
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
class House:
    """One deployment and everything around it."""

    deployed: Deployed
    clock: Clock = field(default_factory=lambda: Clock(NOW))
    keys: SenderKeys = field(default_factory=lambda: SenderKeys({SENDER_KEY_NAME: SENDER_KEY.public}))
    manifests: Manifests = field(default_factory=lambda: Manifests({SENDER: BUFFER}))
    our_keys: OurKeys = field(default_factory=lambda: OurKeys({SHOP: SigningKey("pk1", OUR_KEY)}))
    outbound: Outbound = field(default_factory=Outbound)
    carriers: Carriers = field(default_factory=Carriers)
    handlers: Handlers = field(default_factory=Handlers)
    forwarding: Forwarding = field(default_factory=Forwarding)
    pool: Executor = field(default_factory=InTurn)
    feedback_an_hour: int = 60
    quota: Quota = field(default_factory=Quota)
    further_judges: dict[Protocol, Judge] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._numbers = count(1)
        self._message_ids = count(1)
        self._taken = 0
        dynamodb, tables = self.deployed.clients.dynamodb, self.deployed.tables
        self.operators = Operators(dynamodb, tables["DirectoryTable"])
        self.mailboxes = Mailboxes(dynamodb, tables["DirectoryTable"])
        self.directory = Directory(dynamodb, tables["DirectoryTable"], clock=self.clock, cache_seconds=30)
        self.register = Register(dynamodb, tables["PostTable"])
        self.objects = Objects(self.deployed.clients.s3, self.deployed.bucket)
        self.reader = Reader(dynamodb, tables["PostTable"], self.register, self.objects)
        self.seen = Seen(dynamodb, tables["SeenTable"])
        self.told = TellTale(dynamodb, tables["PostTable"])
        self.outbox = Outbox(dynamodb, tables["OutboxTable"])
        self.targets = Targets(dynamodb, tables["DirectoryTable"])
        self.webhook_keys = WebhookKeys(self.deployed.clients.secrets, self.deployed.secrets["WebhookKeys"], self.clock)
        self.operators.put_domain(Domain(SHOP, inbox=True, buffer=True, feedback="buffer.shop.com"))
        for rule in (
            SubjectRule(NOTIFY, Treatment.MAILBOX, SHOP),
            SubjectRule(ASK, Treatment.SYNC, "ask"),
            SubjectRule(ORDER, Treatment.FORWARD, FORWARD_TARGET),
        ):
            self.operators.put_subject(SHOP, rule)

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
        """A signed envelope of now."""
        draft = Draft(
            sender, receiver, subject, correlation or self.new_uuid(), int(self.clock.now * 1000), body,
            selector=selector, dialect=dialect,
        )  # fmt: skip
        return json.dumps(sign(draft, key), ensure_ascii=False).encode()

    # ---- the door --------------------------------------------------------------------------------------------
    def door(self, clients: Clients | None = None) -> NlwebDoor:
        at = clients or self.deployed.clients
        objects = Objects(at.s3, self.deployed.bucket)
        return NlwebDoor(
            rules=DoorRules(Window(MAX_AGE, 120), MAX_BYTES),
            directory=self.directory,
            intake=Intake(
                directory=self.directory,
                claims=Queue(at.sqs, self.deployed.queues["ClaimsQueue"]),
                objects=objects,
                room=self.room(at),
                new_id=self.new_id,
            ),
            sync=Sync(
                judge=self.judge(),
                replies=Replies(at.dynamodb, self.deployed.tables["SeenTable"], objects),
                handlers=BuiltInHandlers(self.directory, self.handlers),
                clock=self.clock,
                new_id=self.new_id,
                lease_seconds=30,
                memory_seconds=MAX_AGE + RETAIN,
            ),
            clock=self.clock,
        )

    def usages(self, clients: Clients | None = None) -> Usages:
        return Usages((clients or self.deployed.clients).dynamodb, self.deployed.tables["LimitsTable"])

    def room(self, clients: Clients | None = None) -> Room:
        """Of one door, which remembers what it read."""
        return Room(self.usages(clients), self.quota, clock=self.clock, cache_seconds=30)

    def post(self, body: bytes, content_type: str = "application/json", encoding: str = "") -> HttpResponse:
        return self.door().post(Posted(body, content_type, encoding, "192.0.2.1"))

    def queued(self, body: bytes) -> Record:
        """Post a message and take its claim from the queue."""
        answer = self.post(body)
        assert answer.status == 200, answer
        return self.record(self.deployed.bodies("ClaimsQueue")[-1])

    def record(self, body: str, received: int = 1) -> Record:
        return Record(f"message{next(self._message_ids)}", body, received)

    def claim(self, record: Record) -> Claim:
        return unpack(record.body, self.objects).claim

    # ---- the worker and the keeper ---------------------------------------------------------------------------
    def judge(self) -> NlwebJudge:
        return NlwebJudge(
            keys=self.keys,
            directory=self.directory,
            clock=self.clock,
            key_rules=KeyRules(),
            times=TIMES,
        )

    def filing(self, clients: Clients | None = None) -> Filing:
        at = clients or self.deployed.clients
        return Filing(
            seen=Seen(at.dynamodb, self.deployed.tables["SeenTable"]),
            register=Register(at.dynamodb, self.deployed.tables["PostTable"]),
            heads=Heads(at.dynamodb, self.deployed.tables["PostTable"]),
            outbox=Outbox(at.dynamodb, self.deployed.tables["OutboxTable"]),
            objects=Objects(at.s3, self.deployed.bucket),
            discarding=self.discarding(at),
            forwarding=self.forwarding,
            usages=self.usages(at),
            times=TIMES,
            clock=self.clock,
            new_id=self.new_id,
            pool=self.pool,
        )

    def discarding(self, clients: Clients | None = None) -> Discarding:
        at = clients or self.deployed.clients
        return Discarding(
            register=Register(at.dynamodb, self.deployed.tables["PostTable"]),
            courier=Queue(at.sqs, self.deployed.queues["CourierQueue"]),
            retain_seconds=RETAIN,
            clock=self.clock,
        )

    def worker(self, clients: Clients | None = None, judge: NlwebJudge | None = None) -> Worker:
        at = clients or self.deployed.clients
        return Worker(
            judges={"nlweb": judge or self.judge(), **self.further_judges},
            filing=self.filing(at),
            discarding=self.discarding(at),
            announcer=Announcer(self.directory, Queue(at.sqs, self.deployed.queues["CourierQueue"])),
            objects=Objects(at.s3, self.deployed.bucket),
            retry=Queue(at.sqs, self.deployed.queues["RetryQueue"]),
            suspects=Queue(at.sqs, self.deployed.queues["SuspectsQueue"]),
            pool=self.pool,
            monotonic=self.clock,
        )

    def work(self, *records: Record) -> Report:
        return self.worker().work(records)

    def settle(self, record: Record) -> Outcome:
        """Work off one claim that must leave the queue."""
        report = self.work(record)
        assert report.failed == ()
        [outcome] = report.outcomes
        return outcome

    def keeper(self, clients: Clients | None = None) -> Keeper:
        return Keeper(
            discarding=self.discarding(clients),
            objects=self.objects,
            clock=self.clock,
            horizon_seconds=HORIZON,
            margin_seconds=DAY,
        )

    # ---- the courier -----------------------------------------------------------------------------------------
    def courier(self, clients: Clients | None = None) -> Courier:
        at, tables = clients or self.deployed.clients, self.deployed.tables
        return Courier(
            seen=Seen(at.dynamodb, tables["SeenTable"]),
            register=Register(at.dynamodb, tables["PostTable"]),
            told=TellTale(at.dynamodb, tables["PostTable"]),
            limits=FeedbackLimits(at.dynamodb, tables["LimitsTable"]),
            manifests=self.manifests,
            postman=Postman(self.our_keys, self.outbound, OwnFaults()),
            queue=Queue(at.sqs, self.deployed.queues["CourierQueue"]),
            rules=CourierRules(self.feedback_an_hour, DAY),
            clock=self.clock,
            new_uuid=self.new_uuid,
            jitter=lambda: 0.5,
        )

    def dispatch(self, clients: Clients | None = None) -> Dispatch:
        at = clients or self.deployed.clients
        return Dispatch(
            outbox=Outbox(at.dynamodb, self.deployed.tables["OutboxTable"]),
            postman=Postman(self.our_keys, self.outbound, OwnFaults()),
            queue=Queue(at.sqs, self.deployed.queues["CourierQueue"]),
            give_up_seconds=GIVE_UP,
            clock=self.clock,
            jitter=lambda: 0.5,
        )

    def notifier(self, clients: Clients | None = None) -> Notifier:
        at, tables = clients or self.deployed.clients, self.deployed.tables
        return Notifier(
            targets=Targets(at.dynamodb, tables["DirectoryTable"]),
            turns=Turns(at.dynamodb, tables["DirectoryTable"]),
            keys=self.webhook_keys,
            carriers=dict.fromkeys(Kind, self.carriers),
            queue=Queue(at.sqs, self.deployed.queues["CourierQueue"]),
            rules=NotifierRules(INTERVAL, PAUSE),
            clock=self.clock,
            new_id=self.new_id,
            jitter=lambda: 0.5,
        )

    def target(self, to: str, mailbox: str = SHOP, *, verified: bool = True) -> Target:
        """A target of a mailbox, as it stands then."""
        target = self.targets.add(mailbox, Kind.WEBHOOK, to, random_id=self.new_id(), now_ms=int(self.clock.now * 1000))
        assert target is not None
        if verified:
            assert self.targets.verify(target)
        return self.target_now(target)

    def target_now(self, target: Target) -> Target:
        found = self.targets.find(target.mailbox, target.id)
        assert found is not None
        return found

    def take_notifications(self) -> list[Waiting | Notification]:
        """What of notifications lies in the courier's queue; it is empty afterwards."""
        carried = [read_queue_message(body) for body in self.deployed.bodies("CourierQueue")]
        self.deployed.empty("CourierQueue")
        return [each for each in carried if isinstance(each, Waiting | Notification)]

    def outgoing(self) -> list[Outgoing]:
        """What the courier was asked to send, so far."""
        carried = [read_queue_message(body) for body in self.deployed.bodies("CourierQueue")]
        return [each for each in carried if isinstance(each, Outgoing)]

    def notices(self) -> list[Notice | SummaryDue]:
        """What the courier was asked to tell, so far."""
        carried = [read_queue_message(body) for body in self.deployed.bodies("CourierQueue")]
        return [each for each in carried if isinstance(each, Notice | SummaryDue)]

    # ---- owners ----------------------------------------------------------------------------------------------
    def row(self, key: RowKey) -> Row | None:
        return self.register.find(key)

    def home(self, key: str) -> Known | None:
        return self.seen.find(key, now=int(self.clock.now))

    def listed(self, mailbox: str = SHOP, conversation: str = "") -> list[Filed]:
        """What the owner of a mailbox is shown in one pass."""
        now, conversations = int(self.clock.now), frozenset(conversation.split())
        rows = self.reader.list(mailbox, self.directory.shards(mailbox), now=now, conversations=conversations)
        filed = [self.reader.fetch(row) for row in rows]
        assert all(each is not None for each in filed)
        return [each for each in filed if each is not None]


def said(answer: HttpResponse) -> Any:
    """The JSON body of an answer."""
    return json.loads(answer.body)
