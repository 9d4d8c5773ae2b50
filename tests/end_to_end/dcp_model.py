"""A plain model of a guardian of mailboxes: what it must answer to messages of DCP, and what it has done by then."""

from collections.abc import Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

V = TypeVar("V")

DAY = 86_400
SHORTEST_TTL, LONGEST_TTL = 15, 30 * DAY
"""What is granted at least, and what any setting can grant."""
SLOP_SECONDS, WIDEST_SLOP_SECONDS = 10, 60
CONNECT_SECONDS = 120
CACHED_SECONDS = 30
"""How long an instance may go on with the keys and sign-outs of a mailbox that it has read."""
SIGN_OUT_SECONDS = 60
"""For how long after a sign-out what is authorized is revoked, too."""


@dataclass(frozen=True)
class Payload:
    """What somebody asks for, or wrote for somebody else. `signer`: who authorized it; "": nobody; `accessor`: who may
    present it; `revokes`: what a `revoke` names."""

    operation: str
    signer: str
    accessor: str
    stamp: str
    time: int
    mailbox: str = ""
    ttl: int = DAY
    revokes: "Payload | None" = None

    def resources(self, presenter: str) -> frozenset[str]:
        """Those that authorized it in full, if this peer presents it."""
        return frozenset({self.signer} if self.signer and self.accessor == presenter else ())

    @property
    def counts_until(self) -> float:
        """When it has expired."""
        return self.time + self.ttl + SLOP_SECONDS

    @property
    def forgotten_at(self) -> float:
        """When its stamp is forgotten."""
        return self.time + self.ttl + WIDEST_SLOP_SECONDS


@dataclass(frozen=True)
class Message:
    """A message of a session. `requests`: the id and the payload of each; more than one, or `batched`: in a batch."""

    sender: str
    dcpsid: str
    nonce: str
    requests: tuple[tuple[str, Payload], ...]
    batched: bool = False


class Result(NamedTuple):
    """What a request was answered. `code` "": success; `signed_out_at`: what a sign-out says."""

    code: str
    signed_out_at: int | None = None


@dataclass(frozen=True)
class Answer:
    """An answer. `nonce` None: the message was refused as a whole; `sent_at`: when the message was sent."""

    nonce: str | None
    results: tuple[Result, ...]
    sent_at: float
    received_at: float


@dataclass
class Session:
    """A session. `opened_at`: no later than the guardian says; `nonces`: all that were given."""

    peer: str
    opened_at: float
    nonces: list[str]
    ids: set[str] = field(default_factory=set)
    closed: bool = False

    def refuses(self, message: Message, now: float) -> set[bool]:
        """Whether a message is refused as a whole; both: it may be."""
        if self.closed or message.sender != self.peer or message.nonce != self.nonces[-1]:
            return {True}
        # The guardian reads whole seconds.
        is_late = len(self.nonces) == 1 and now > self.opened_at + CONNECT_SECONDS - 1
        return {True, False} if is_late else {False}


class Cached(Generic[V]):
    """A value, and those before it that an instance may still have."""

    def __init__(self, value: V) -> None:
        self.value = value
        self._before: list[tuple[V, float]] = []

    def change(self, value: V, now: float) -> None:
        """Replace the value. `now`: no earlier than it was replaced."""
        self._before.append((self.value, now))
        self.value = value

    def forget(self) -> None:
        """No instance has an earlier one any more."""
        self._before.clear()

    def possible(self, now: float) -> Iterator[V]:
        """What an instance may take for the value. `now`: no later than it looks."""
        yield self.value
        yield from (value for value, replaced_at in self._before if now <= replaced_at + CACHED_SECONDS)


class Mailbox:
    """A mailbox. `parts`, `sign_outs`: how often what adds one to each of them was done."""

    def __init__(self, *keys: str) -> None:
        self.keys = Cached(frozenset(keys))
        self.signed_out_at: Cached[int | None] = Cached(None)
        self.parts = self.sign_outs = 0

    def codes(self, payload: Payload, resources: frozenset[str], now: float) -> set[str]:
        """The answers that an operation of the mailbox may have."""
        # Whoever finds no key looks into the store.
        codes = set() if self.keys.value & resources else {"NotTheOwner"}
        if any(keys & resources for keys in self.keys.possible(now)):
            codes |= {
                "" if at is None or payload.time > at + SIGN_OUT_SECONDS else "DcpAuthorizationRevoked"
                for at in self.signed_out_at.possible(now)
            }
        return codes


@dataclass
class Model:
    """What the guardian must remember. `stamps`: until when, by the one that authorized the request and the stamp."""

    mailboxes: dict[str, Mailbox]
    sessions: dict[str, Session] = field(default_factory=dict)
    stamps: dict[tuple[str, str], float] = field(default_factory=dict)

    def receive(self, message: Message, answer: Answer) -> None:
        """Take a message and its answer, which must be one that it may have."""
        session, now = self.sessions[message.dcpsid], answer.sent_at
        assert (answer.nonce is None) in session.refuses(message, now), (session, message, answer)
        if answer.nonce is None:
            assert answer.results == (Result("EINVAL"),), (message, answer)
            return
        session.nonces.append(answer.nonce)
        for (name, payload), result in zip(message.requests, answer.results, strict=True):
            # The guardian looks at its clock in between.
            expired = now > payload.counts_until
            expired |= result.code == "EEXPIRED" and answer.received_at > payload.counts_until
            refusal = "EINVAL" if session.closed else self._refusal(session, name, payload, now, expired=expired)
            codes = {refusal} if refusal else self._perform(session, name, payload, now)
            assert result.code in codes, (result, codes, payload, session)
            if not result.code:
                self._take_effect(session, payload, result, answer)

    def _take_effect(self, session: Session, payload: Payload, result: Result, answer: Answer) -> None:
        match payload.operation:
            case "add_part":
                self.mailboxes[payload.mailbox].parts += 1
            case "sign_out":
                assert result.signed_out_at is not None
                assert int(answer.sent_at) <= result.signed_out_at <= answer.received_at
                self.sign_out(payload.mailbox, result.signed_out_at, answer.received_at)
            case "close":
                session.closed = True

    def sign_out(self, mailbox: str, at: int, now: float) -> None:
        """The owner of a mailbox signed out. `now`: no earlier than the store has it."""
        self.mailboxes[mailbox].sign_outs += 1
        self.mailboxes[mailbox].signed_out_at.change(at, now)

    def interrupted(self, message: Message, now: float) -> "Iterator[Model]":
        """What may be so when an instance ended while it had this message: a new session's first one, with a new
        payload to add a part. `now`: when it was sent."""
        [(name, payload)] = message.requests
        taken = deepcopy(self)
        codes = taken._perform(taken.sessions[message.dcpsid], name, payload, now)
        yield self
        yield taken
        if "" in codes:
            done = deepcopy(taken)
            done.mailboxes[payload.mailbox].parts += 1
            yield done

    def restart(self) -> None:
        """No instance has anything in its cache."""
        for mailbox in self.mailboxes.values():
            mailbox.keys.forget()
            mailbox.signed_out_at.forget()

    def _refusal(self, session: Session, name: str, payload: Payload, now: float, *, expired: bool) -> str:
        if payload.time > now + SLOP_SECONDS:
            return "ETIMETRAVEL"
        if expired:
            return "EEXPIRED"
        if name in session.ids:
            return "EINVAL"
        return "EDUP" if self._is_used(payload.stamp, payload.resources(session.peer), now) else ""

    def _perform(self, session: Session, name: str, payload: Payload, now: float) -> set[str]:
        """Remember the id and the stamp, whatever the operation is answered: one of these codes."""
        resources = payload.resources(session.peer)
        session.ids.add(name)
        self._use(payload.stamp, resources, payload.forgotten_at)
        if payload.revokes is not None:
            if not resources:
                return {"NotTheOwner"}
            if self._is_used(payload.revokes.stamp, resources, now):
                return {"EDUP"}
            # Whoever revokes it may not know its ttl.
            until = max(payload.revokes.time, now) + LONGEST_TTL + WIDEST_SLOP_SECONDS
            self._use(payload.revokes.stamp, resources, until)
            return {""}
        return self.mailboxes[payload.mailbox].codes(payload, resources, now) if payload.mailbox else {""}

    def _is_used(self, stamp: str, resources: Iterable[str], now: float) -> bool:
        return any(self.stamps.get((resource, stamp), 0) >= now for resource in resources or ("",))

    def _use(self, stamp: str, resources: Iterable[str], until: float) -> None:
        for resource in resources or ("",):
            self.stamps[resource, stamp] = until
