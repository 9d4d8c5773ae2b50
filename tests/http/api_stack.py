"""The mailbox API on the template's store, with the real handlers and a fake clock; and owners who use it."""

import json
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any
from uuid import UUID

from tests.aws import Clients, Deployed
from tests.fakes.clock import FakeClock
from tests.fakes.executor import SerialExecutor
from tests.fakes.pipeline import FakeProfiles

from postroom.api.http import DCP_PATH
from postroom.crypto.rsa_ed25519 import PrivateKey
from postroom.http.containers import ContainerService
from postroom.http.notification_targets import NotificationTargetSettings
from postroom.http.outbox import OutboxService
from postroom.http.request import HttpRequest
from postroom.http.response import HttpResponse
from postroom.http.router import Router
from postroom.http.usage import UsageTracker
from postroom.protocols.dm3.keys import PrivateSigningKey
from postroom.runtime.deployment import Deployment
from postroom.runtime.mailbox_parts import MailboxParts
from postroom.runtime.system import System
from postroom.storage.containers.rows import StorageUsage
from postroom.storage.containers.store import Storage
from postroom.storage.directory.domains import Dm3Mailbox, Domain
from postroom.storage.layout import RowKey, row_key, segment_name
from postroom.storage.mail.ids import id_of
from postroom.storage.mail.register import Row
from postroom.storage.mail.segments import Line, lay_out

NOW = 1_795_253_400.0  # 2026-11-21T09:30:00Z
DAY = 86_400
HOST = "nlweb.shop.com"
TOPICS = "arn:aws:sns:eu-west-1:123456789012:mail-*"
SHOP, BOB = "shop.com", "bob.eth"
RETAIN, KEEP = 22 * DAY, 30 * DAY
MAX_BYTES = 1024 * 1024
QUOTA = StorageUsage(1000, 200_000_000)
SHOP_KEY = PrivateKey.generate("ed25519")
BOB_KEY = PrivateSigningKey.generate()
Json = Any
RECEIPT = {"protocol": "nlweb"}


@dataclass(frozen=True)
class RouterOfBoth:
    """The mailbox API, and DCP at it, as API Gateway routes them to their functions."""

    mailbox: Router
    dcp: Router

    @classmethod
    def of(cls, parts: MailboxParts) -> "RouterOfBoth":
        return cls(parts.router, parts.dcp_router)

    def respond(self, request: HttpRequest) -> HttpResponse:
        return (self.dcp if request.path.rstrip("/") == DCP_PATH else self.mailbox).respond(request)


class ApiStack:
    """The mailbox API of one deployment: `shop.com` with a key that an operator set, `bob.eth` by his profile."""

    def __init__(self, deployed: Deployed, clock: FakeClock | None = None, service: str = "", **settings: Any) -> None:
        self.deployed = deployed
        self.settings = settings
        self.service = service
        self.clock = clock or FakeClock(NOW)
        self.users = FakeProfiles({BOB: BOB_KEY})
        self.slept: list[float] = []
        self.sleep: Callable[[float], None] = self._sleep
        self.closed_sockets: list[str] = []
        self.close_socket: Callable[[str], None] = self.closed_sockets.append
        self._numbers = count(1)
        self.system = System(
            clock=self.clock,
            monotonic=self.clock,
            sleep=lambda seconds: self.sleep(seconds),
            new_id=self.new_id,
            new_uuid=self.new_uuid,
            threads=lambda _: SerialExecutor(),
        )
        made = deployed.parts(system=self.system)
        storage, api = made.storage, made.mailbox_api
        self.register, self.objects, self.mailboxes = storage.register, storage.objects, storage.mailboxes
        self.operators, self.directory, self.targets = storage.operators, storage.directory, storage.targets
        self.token_keys, self.webhook_keys, self.tokens = storage.token_keys, storage.webhook_keys, api.tokens
        self.dcp_identities = storage.dcp_identities
        api = self.parts().mailbox_api
        self.router, self.sign_in_handlers, self.bearers, self.mail = (
            RouterOfBoth.of(api),
            api.sign_in_handlers,
            api.bearers,
            api.mail,
        )
        self.containers = api.container_handlers
        self.mailboxes.set_keys(SHOP, [b64encode(SHOP_KEY.public.spki()).decode()])
        self.operators.put_dm3_mailbox(Dm3Mailbox(BOB))
        self.operators.put_domain(Domain(SHOP, signs=True))

    def new_id(self) -> str:
        return f"{next(self._numbers):032x}"

    def new_uuid(self) -> str:
        return str(UUID(int=next(self._numbers)))

    def new_segment(self) -> str:
        """The name of a route."""
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
        """File messages in one segment; returns their ids. `at`: when they were received, in seconds after NOW."""
        at_ms = int((NOW + at) * 1000)
        keys = [row_key(mailbox, shards, at_ms, self.new_id()) for _ in envelopes]
        lines = [Line(key, conversation, text, receipt) for key, text in zip(keys, envelopes, strict=True)]
        self.put(self.new_segment(), lines, conversation)
        return [id_of(key) for key in keys]

    def put(self, name: str, lines: Sequence[Line], conversation: str) -> list[Row | None]:
        """Write a segment, and the rows of its lines if they are absent; returns the rows that existed."""
        data, places = lay_out(lines, name)
        self.objects.put(name, data)
        return [self.register.file(line.row, place, conversation) for line, place in zip(lines, places, strict=True)]

    def expire(self, key: RowKey, at: float) -> None:
        """Set the TTL of a row."""
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
        """The response of the API."""
        return self.router.respond(request)

    def challenge(self, name: str = SHOP, host: str = HOST) -> str:
        return said(self.ask("GET", f"/auth/{name}", host=host))

    def sign_in(self, name: str = SHOP, key: PrivateKey | PrivateSigningKey = SHOP_KEY) -> str:
        """A token from signing in as an owner."""
        challenge = self.challenge(name)
        return said(self.ask("POST", f"/auth/{name}", body=signed(challenge, key)))

    def parts(
        self, clients: Clients | None = None, quota: StorageUsage = QUOTA, topics: str = TOPICS, **settings: Any
    ) -> Deployment:
        """The deployment object of one process, with profiles in memory. `settings`: further ones."""
        made = self.deployed.parts(
            clients,
            self.system,
            dm3_self_registration=self.service,
            mailbox_api_cors_origins="none",
            outbox_keep_seconds=KEEP,
            notify_topic_arn=topics,
            storage_max_containers=quota.containers,
            storage_max_bytes=quota.bytes,
            **self.settings,
            **settings,
        )
        if clients is None:
            made.storage.register, made.storage.objects = self.register, self.objects
        made.storage.directory = self.directory
        made.storage.token_keys = self.token_keys
        made.storage.webhook_keys = self.webhook_keys
        made.storage.dcp_identities = self.dcp_identities
        made.mailbox_api.tokens = self.tokens
        made.mailbox_api.users = made.mailbox_api.dcp_users = self.users
        made.mailbox_api.close_socket = lambda connection: self.close_socket(connection)
        return made

    def usage_tracker(self) -> UsageTracker:
        return self.parts().mailbox_api.usage_tracker

    def sending(self, clients: Clients) -> OutboxService:
        return self.parts(clients).mailbox_api.sending

    def target_settings(self, topics: str = TOPICS) -> NotificationTargetSettings:
        return self.parts(topics=topics).mailbox_api.targets

    def storing(self, clients: Clients, quota: StorageUsage = QUOTA) -> ContainerService:
        return self.parts(clients, quota).mailbox_api.containers

    def storage(self, clients: Clients, quota: StorageUsage = QUOTA) -> Storage:
        return self.parts(clients, quota).storage.containers

    def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.clock.now += seconds


class Owner:
    """An owner who is signed in."""

    def __init__(self, api: ApiStack, name: str = SHOP, key: PrivateKey | PrivateSigningKey = SHOP_KEY) -> None:
        self.api = api
        self.name = name
        self.token = api.sign_in(name, key)

    def ask(self, method: str, path: str, **more: Any) -> HttpResponse:
        return self.api.ask(method, f"/mailboxes/{self.name}{path}", token=self.token, **more)

    def page(self, **query: object) -> Json:
        return said(self.ask("GET", "/messages", query={name: str(value) for name, value in query.items()}))

    def all_pages(self, after: str = "", **query: object) -> list[Json]:
        """The messages of a whole pass, or of the rest of it after a cursor."""
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
    """The JSON of a successful response."""
    assert reply.status == 200, reply.body
    assert reply.content_type == "application/json"
    return json.loads(reply.body) if reply.body else None


def reason(reply: HttpResponse) -> str:
    """The reason of a refusal."""
    assert reply.content_type == "application/problem+json", reply.body
    problem = json.loads(reply.body)
    assert problem["status"] == reply.status
    assert problem["reason"] == str(reply.reason)
    return str(problem["reason"])
