"""People who chat as NLWeb domains: their post offices sign and send what is in their outboxes."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final
from uuid import NAMESPACE_URL, uuid5

from tests.client.chat.network import ChatNetwork, Device, Person, Points, Service, Waiting, wrapped

from postroom.api.schemas import Queued, SentMessage
from postroom.api.states import State
from postroom.client.archive import Home
from postroom.client.chat.carried_wrapper import CarriedWrapper
from postroom.client.chat.nlweb_carrier import SUBJECT, write_body
from postroom.client.mailbox import MailboxError, TokenReusedError, UnavailableError
from postroom.core.ijson import JsonValue
from postroom.core.timestamps import write_timestamp
from postroom.crypto.rsa_ed25519 import PrivateKey
from postroom.protocols.dm3.keys import UserKeys
from postroom.protocols.nlweb.sign import Draft, sign, write
from postroom.protocols.status.author import AuthorKey
from postroom.protocols.status.keys import ChatKey
from postroom.protocols.status.messages import StatusMessage

SHOP, BANK, EVE, CAFE, SPY = "shop.example", "bank.example", "eve.example", "cafe.example", "spy.example"
BOOKS = "xn--bcher-kva.example"
"""A domain in A-labels, which is no dm3 name."""
_KEY: Final = PrivateKey.generate("ed25519")
_KEYS: Final = {name: UserKeys.random() for name in (SHOP, BANK, EVE, CAFE, SPY, BOOKS)}


@dataclass
class PostOffice:
    """The post office of a domain. `error`: what it answers. `state`: of all messages. `loses_answers`: so many.

    A token sends one message. All that was sent is in `service.seen`, by its token, with its content. `ended`: the
    states and reasons of single messages, by Correlation. `listings`: how often all of them were requested. `read`: the
    Correlations that were read of them.
    """

    network: ChatNetwork
    domain: str
    error: MailboxError | None = None
    state: State = State.QUEUED
    loses_answers: int = 0
    ended: dict[str, tuple[State, str]] = field(default_factory=dict)
    queued_ms: dict[str, int] = field(default_factory=dict)
    listings: int = 0
    read: list[str] = field(default_factory=list)

    def send(self, to: str, subject: str, body: JsonValue, *, token: str) -> Queued:
        if self.error:
            raise self.error
        # With the hashes of dm3 messages, if the domain has a dm3 profile, too.
        seen, content = self.network[self.domain].service.seen, json.dumps([token, to, subject, body])
        correlation = str(uuid5(NAMESPACE_URL, token))
        self.queued_ms.setdefault(correlation, self.network.now_ms)
        if content not in seen:
            if any(each.startswith(json.dumps([token])[:-1]) for each in seen):
                raise TokenReusedError("Another message was sent with this token.", reason="TokenReused")
            seen.append(content)
            self.deliver(to, subject, body)
        if self.loses_answers:
            self.loses_answers -= 1
            raise UnavailableError("no answer")
        return Queued(correlation, self.state)

    def sent(self) -> Iterator[SentMessage]:
        self.listings += 1
        if self.error:
            raise self.error
        # Whoever has a dm3 name, too, has hashes of dm3 messages there.
        for content in filter(self._is_sent, reversed(self.network[self.domain].service.seen)):
            token, to, subject, _ = json.loads(content)
            correlation = str(uuid5(NAMESPACE_URL, token))
            state, reason = self.ended.get(correlation, (State.DELIVERED, ""))
            queued_at = write_timestamp(self.queued_ms[correlation])
            detail = f"because of {reason}" if reason else ""
            self.read.append(correlation)
            yield SentMessage(correlation, state, to, subject, queued_at, reason=reason, detail=detail)

    @staticmethod
    def _is_sent(content: str) -> bool:
        return content.startswith("[")

    def sent_one(self, correlation: str) -> SentMessage:
        return SentMessage(correlation, self.state, "", SUBJECT, "", reason="UnexpectedSubject", detail="no rule")

    def deliver(self, to: str, subject: str, body: JsonValue) -> None:
        """Sign a message, and file it in the receiver's mailbox."""
        now_ms = self.network.tick()
        correlation = str(uuid5(NAMESPACE_URL, f"{now_ms}"))
        draft = Draft(self.domain, to, subject, correlation, now_ms, body, selector="pk1")
        receiver = self.network.people[to].service
        waiting = Waiting(
            f"id-{now_ms}", self.domain, datetime.fromtimestamp(now_ms / 1000, UTC), write(sign(draft, _KEY)).decode()
        )
        waiting.receipt = {"protocol": "nlweb", "key_fingerprint": _KEY.public.fingerprint}
        receiver.waiting.append(waiting)
        receiver.after_filing()


@dataclass
class Outbox:
    """An outbox as a device sees it that may die at each request."""

    office: PostOffice
    points: Points

    def send(self, to: str, subject: str, body: JsonValue, *, token: str) -> Queued:
        with self.points.around():
            return self.office.send(to, subject, body, token=token)

    def sent(self) -> Iterator[SentMessage]:
        with self.points.around():
            found = [*self.office.sent()]
        yield from found

    def sent_one(self, correlation: str) -> SentMessage:
        with self.points.around():
            return self.office.sent_one(correlation)


@dataclass
class DomainPerson(Person):
    """Somebody who chats as a domain, which has no dm3 profile."""

    office: PostOffice = field(init=False)

    def __post_init__(self) -> None:
        self.office = PostOffice(self.network, self.name)

    def device(self, home: Home | None = None, points: Points | None = None) -> Device:
        device = super().device(home, points)
        device.chats.send_through(lambda: Outbox(self.office, device.points))
        return device

    def bring(
        self,
        to: str,
        message: StatusMessage,
        author: AuthorKey | None = None,
        *,
        signed: bool = True,
        names: Mapping[ChatKey, str] | None = None,
    ) -> None:
        """Send a payload, whoever made it, in a message of the domain's. `author`: None: the domain itself.

        `names`: what is said of others.
        """
        carried = CarriedWrapper(wrapped(message, author or self.author, signed=signed), None, names or {})
        self.office.deliver(to, SUBJECT, write_body(carried))


class DomainNetwork(ChatNetwork):
    """shop.example, bank.example, eve.example, cafe.example, spy.example and BOOKS, beside those with dm3 names."""

    def __init__(self) -> None:
        super().__init__()
        for name in (SHOP, BANK, EVE, CAFE, SPY, BOOKS):
            self.people[name] = DomainPerson(self, name, _KEYS[name], Service(self, name))

    def domain(self, name: str) -> DomainPerson:
        person = self.people[name]
        assert isinstance(person, DomainPerson)
        return person

    def introduce(self, one: str, other: str) -> None:
        """Two domains take each other's keys, and forget how."""
        for name, partner in ((one, other), (other, one)):
            device = self.device(name)
            device.chats.trust(partner, self[partner].key)
            device.pull()
