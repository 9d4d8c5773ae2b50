"""A counter over the template's store: the real desk, with a clock of its own; and owners who come to it."""

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any
from uuid import UUID

from tests.aws import Clients, Deployed
from tests.pipeline.ports import Clock, InTurn

from postroom.core.errors import NotNowError, TheirError
from postroom.crypto.rsa_ed25519 import PrivateKey
from postroom.crypto.x25519 import EncryptionKey
from postroom.http.containers import Storing
from postroom.http.cors import Cors
from postroom.http.fetching import Fetching
from postroom.http.handlers import (
    AboutHandlers,
    BearerTokens,
    ContainerHandlers,
    MailHandlers,
    NotificationHandlers,
    OutboxHandlers,
    SettingsHandlers,
    SignInHandlers,
    mailbox_router,
)
from postroom.http.message_listing import Shelves
from postroom.http.notifications import Offer, TargetDesk
from postroom.http.outbox import Sending
from postroom.http.own_settings import MessageSettings
from postroom.http.preferences import Preferences
from postroom.http.rate_limit import Rate
from postroom.http.registration import A_SECOND, OF_A_NAME_A_SECOND, Opening
from postroom.http.request import HttpRequest
from postroom.http.response import HttpResponse
from postroom.http.router import Router
from postroom.http.sign_in import SignIn
from postroom.http.tokens import Tokens
from postroom.http.usage import Counting
from postroom.protocols.dm3.keys import PrivateSigningKey
from postroom.protocols.dm3.profile import UserProfile
from postroom.reasons import Reason
from postroom.storage.containers import Storage, Use
from postroom.storage.directory.domains import Directory, Dm3Mailbox, Domain
from postroom.storage.directory.mailboxes import Mailboxes
from postroom.storage.directory.notification_targets import Targets
from postroom.storage.directory.operators import Operators
from postroom.storage.keys import RowKey, row_key, segment_name
from postroom.storage.limits.challenges import AnsweredChallenges
from postroom.storage.limits.codes import CodeLimits
from postroom.storage.limits.quotas import Quota, Usages
from postroom.storage.mail.ids import id_of
from postroom.storage.mail.reader import Reader
from postroom.storage.mail.register import Register, Row
from postroom.storage.mail.segments import Line, Objects, lay_out
from postroom.storage.outbox import Outbox
from postroom.storage.queues import Queue
from postroom.storage.secrets.token_keys import TokenKeys
from postroom.storage.secrets.webhook_keys import WebhookKeys

NOW = 1_795_253_400.0  # 2026-11-21T09:30:00Z
DAY = 86_400
HOST = "nlweb.shop.com"
TOPICS = "arn:aws:sns:eu-west-1:123456789012:mail-*"
SHOP, BOB = "shop.com", "bob.eth"
RETAIN, KEEP = 22 * DAY, 30 * DAY
MAX_BYTES = 1024 * 1024
QUOTA = Use(1000, 200_000_000)
SHOP_KEY = PrivateKey.generate("ed25519")
BOB_KEY = PrivateSigningKey.generate()
Json = Any
RECEIPT = {"protocol": "nlweb"}


@dataclass
class Users:
    """A registry of profiles in memory. `services`: what they name; `away`: it cannot be asked; `asked`: how often."""

    keys: dict[str, PrivateSigningKey] = field(default_factory=lambda: {BOB: BOB_KEY})
    services: tuple[str, ...] = ("ds.eth",)
    away: bool = False
    asked: int = 0
    sealed_to: bytes = field(default_factory=lambda: EncryptionKey.generate().public)

    def user(self, name: str, *, fresh: bool = False) -> UserProfile:
        self.asked += 1
        if self.away:
            raise NotNowError(Reason.PROFILE_LOOKUP_FAILED)
        if name not in self.keys:
            raise TheirError(Reason.PROFILE_UNKNOWN)
        return UserProfile(self.sealed_to, self.keys[name].public, self.services)


class Counter:
    """The counter of one deployment: `shop.com` with a key that an operator set, `bob.eth` by his profile."""

    def __init__(self, deployed: Deployed, clock: Clock | None = None, service: str = "") -> None:
        self.deployed = deployed
        self.service = service
        self.clock = clock or Clock(NOW)
        self.users = Users()
        self.slept: list[float] = []
        self._numbers = count(1)
        dynamodb, tables = deployed.clients.dynamodb, deployed.tables
        self.register = Register(dynamodb, tables["PostTable"])
        self.objects = Objects(deployed.clients.s3, deployed.bucket)
        self.mailboxes = Mailboxes(dynamodb, tables["DirectoryTable"])
        self.operators = Operators(dynamodb, tables["DirectoryTable"])
        self.directory = Directory(dynamodb, tables["DirectoryTable"], clock=self.clock, cache_seconds=30)
        self.token_keys = TokenKeys(deployed.clients.secrets, deployed.secrets["TokenKeys"], self.clock)
        self.targets = Targets(dynamodb, tables["DirectoryTable"])
        self.webhook_keys = WebhookKeys(deployed.clients.secrets, deployed.secrets["WebhookKeys"], self.clock)
        self.tokens = Tokens(self.token_keys, self.clock, self.new_id)
        self.router = self._router()
        self.mailboxes.set_keys(SHOP, [b64encode(SHOP_KEY.public.spki()).decode()])
        self.operators.put_dm3_mailbox(Dm3Mailbox(BOB))
        self.operators.put_domain(Domain(SHOP, signs=True))

    def new_id(self) -> str:
        return f"{next(self._numbers):032x}"

    def new_uuid(self) -> str:
        return str(UUID(int=next(self._numbers)))

    def new_segment(self) -> str:
        """The name of one."""
        return segment_name(int(self.clock.now * 1000), self.new_id())

    # --- mail that is there ------------------------------------------------------------------------------------------
    def file(
        self,
        *envelopes: str,
        mailbox: str = SHOP,
        conversation: str = "b.com",
        at: float = 0.0,
        shards: int = 1,
        receipt: Mapping[str, object] = RECEIPT,
    ) -> list[str]:
        """One segment with these messages, which came in `at` so many seconds after NOW; their ids."""
        at_ms = int((NOW + at) * 1000)
        keys = [row_key(mailbox, shards, at_ms, self.new_id()) for _ in envelopes]
        lines = [Line(key, conversation, text, receipt) for key, text in zip(keys, envelopes, strict=True)]
        self.put(self.new_segment(), lines, conversation)
        return [id_of(key) for key in keys]

    def put(self, name: str, lines: Sequence[Line], conversation: str) -> list[Row | None]:
        """A segment, and the rows of its lines, as far as they are absent; what stands where they are not."""
        data, places = lay_out(lines, name)
        self.objects.put(name, data)
        return [self.register.file(line.row, place, conversation) for line, place in zip(lines, places, strict=True)]

    def expire(self, key: RowKey, at: float) -> None:
        """Give a row the time at which it is over."""
        self.deployed.clients.dynamodb.update_item(
            TableName=self.deployed.tables["PostTable"],
            Key={"pk": {"S": key.pk}, "sk": {"S": key.sk}},
            UpdateExpression="SET #ttl = :ttl",
            ExpressionAttributeNames={"#ttl": "ttl"},
            ExpressionAttributeValues={":ttl": {"N": str(int(at))}},
        )

    # --- requests ----------------------------------------------------------------------------------------------------
    def ask(
        self,
        method: str,
        path: str,
        *,
        token: str = "",
        body: object = None,
        query: dict[str, str] | None = None,
        host: str = HOST,
        headers: dict[str, str] | None = None,
    ) -> HttpResponse:
        given = {"content-type": "application/json", **(headers or {})}
        if token:
            given["authorization"] = f"Bearer {token}"
        if isinstance(body, bytes):
            data, given["content-type"] = body, (headers or {}).get("content-type", "application/octet-stream")
        else:
            data = b"" if body is None else json.dumps(body).encode()
        return self.answer(HttpRequest(method, path, host, query or {}, given, data))

    def answer(self, request: HttpRequest) -> HttpResponse:
        """What the counter answers."""
        return self.router.respond(request)

    def challenge(self, name: str = SHOP, host: str = HOST) -> str:
        return said(self.ask("GET", f"/auth/{name}", host=host))

    def sign_in(self, name: str = SHOP, key: PrivateKey | PrivateSigningKey = SHOP_KEY) -> str:
        """A token, the way an owner gets one."""
        challenge = self.challenge(name)
        return said(self.ask("POST", f"/auth/{name}", body=signed(challenge, key)))

    def _router(self) -> Router:
        reader = Reader(self.deployed.clients.dynamodb, self.deployed.tables["PostTable"], self.register, self.objects)
        answered = AnsweredChallenges(self.deployed.clients.dynamodb, self.deployed.tables["LimitsTable"])
        sign_in = SignIn(
            tokens=self.tokens,
            directory=self.directory,
            mailboxes=self.mailboxes,
            users=self.users,
            answered=answered,
        )
        opening = Opening(
            service=self.service,
            tokens=self.tokens,
            answered=answered,
            users=self.users,
            directory=self.directory,
            mailboxes=self.mailboxes,
            of_a_name=Rate(OF_A_NAME_A_SECOND, self.clock),
            of_all=Rate(A_SECOND, self.clock),
        )
        self.signing_in = SignInHandlers(sign_in=sign_in, opening=opening, mailboxes=self.mailboxes, clock=self.clock)
        self.bearers = BearerTokens(sign_in, Rate(20, self.clock))
        self.mail = MailHandlers(
            shelves=Shelves(reader, Fetching(reader, InTurn(), self.clock), self.register, self.directory, self.clock),
            register=self.register,
            counting=self.counting(),
            pool=InTurn(),
            retain_seconds=RETAIN,
            clock=self.clock,
            sleep=self._sleep,
        )
        self.containers = ContainerHandlers(self.storing(self.deployed.clients))
        return mailbox_router(
            [
                self.signing_in,
                self.mail,
                OutboxHandlers(self.sending(self.deployed.clients)),
                NotificationHandlers(self.target_desk()),
                self.containers,
                SettingsHandlers(Preferences(self.mailboxes, MessageSettings(self.mailboxes, self.directory))),
                AboutHandlers(),
            ],
            self.bearers,
            Cors("none", "no page"),
        )

    def counting(self) -> Counting:
        usages = Usages(self.deployed.clients.dynamodb, self.deployed.tables["LimitsTable"])
        return Counting(self.directory, usages, Quota())

    def sending(self, clients: Clients) -> Sending:
        return Sending(
            directory=self.directory,
            outbox=Outbox(clients.dynamodb, self.deployed.tables["OutboxTable"]),
            courier=Queue(clients.sqs, self.deployed.queues["CourierQueue"]),
            max_bytes=MAX_BYTES,
            keep_seconds=KEEP,
            clock=self.clock,
            new_id=self.new_id,
            new_uuid=self.new_uuid,
        )

    def target_desk(self, topics: str = TOPICS) -> TargetDesk:
        return TargetDesk(
            targets=self.targets,
            codes=CodeLimits(self.deployed.clients.dynamodb, self.deployed.tables["LimitsTable"]),
            keys=self.webhook_keys,
            courier=Queue(self.deployed.clients.sqs, self.deployed.queues["CourierQueue"]),
            offer=Offer(443, topics),
            clock=self.clock,
            new_id=self.new_id,
        )

    def storing(self, clients: Clients, quota: Use = QUOTA) -> Storing:
        return Storing(self.storage(clients, quota), self.clock)

    def storage(self, clients: Clients, quota: Use = QUOTA) -> Storage:
        objects = Objects(clients.s3, self.deployed.bucket)
        return Storage(clients.dynamodb, self.deployed.tables["StorageTable"], objects, quota, self.new_id)

    def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.clock.now += seconds


class Owner:
    """Somebody who is signed in."""

    def __init__(self, counter: Counter, name: str = SHOP, key: PrivateKey | PrivateSigningKey = SHOP_KEY) -> None:
        self.counter = counter
        self.name = name
        self.token = counter.sign_in(name, key)

    def ask(self, method: str, path: str, **more: Any) -> HttpResponse:
        return self.counter.ask(method, f"/mailboxes/{self.name}{path}", token=self.token, **more)

    def page(self, **query: object) -> Json:
        return said(self.ask("GET", "/messages", query={name: str(value) for name, value in query.items()}))

    def all_pages(self, after: str = "", **query: object) -> list[Json]:
        """The messages of a whole pass, or of what is left of it after a cursor."""
        found: list[Json] = []
        while True:
            page = self.page(after=after, **query)
            found += page["messages"]
            after = page["cursor"]
            if not page["more"]:
                return found

    def acknowledge(self, *ids: str) -> Json:
        return said(self.ask("POST", "/acknowledgements", body={"ids": list(ids)}))


def signed(challenge: str, key: PrivateKey | PrivateSigningKey) -> Json:
    return {"challenge": challenge, "signature": b64encode(key.sign(challenge.encode())).decode()}


def said(reply: HttpResponse) -> Json:
    """What a good answer says."""
    assert reply.status == 200, reply.body
    assert reply.content_type == "application/json"
    return json.loads(reply.body) if reply.body else None


def reason(reply: HttpResponse) -> str:
    """Why a refusal is one."""
    assert reply.content_type == "application/problem+json", reply.body
    problem = json.loads(reply.body)
    assert problem["status"] == reply.status
    assert problem["reason"] == str(reply.reason)
    return str(problem["reason"])
