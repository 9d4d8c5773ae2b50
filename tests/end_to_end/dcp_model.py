"""A plain model of a guardian of mailboxes: what it must answer to messages of DCP, and what it has done by then."""

from collections.abc import Iterator
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
    """What the guardian must remember. `ids`: of requests that counted, with their peers; `stamps`: until when, by the
    mailbox and the stamp."""

    mailboxes: dict[str, Mailbox]
    sessions: dict[str, Session] = field(default_factory=dict)
    ids: set[tuple[str, str]] = field(default_factory=set)
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
            refusal = "EINVAL" if session.closed else self._refusal(payload, now, expired=expired)
            codes = {refusal} if refusal else self._codes(session.peer, payload, now)
            if "" in codes and payload.mailbox:
                codes.remove("")
                # What the owner does not allow is refused before anything is remembered.
                if result.code not in codes:
                    codes = {self._count(session.peer, name, payload, now)}
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
        yield self
        peer = self.sessions[message.dcpsid].peer
        if "" in self._codes(peer, payload, now):
            taken = deepcopy(self)
            taken._count(peer, name, payload, now)
            yield taken
            done = deepcopy(taken)
            done.mailboxes[payload.mailbox].parts += 1
            yield done

    def restart(self) -> None:
        """No instance has anything in its cache."""
        for mailbox in self.mailboxes.values():
            mailbox.keys.forget()
            mailbox.signed_out_at.forget()

    def _refusal(self, payload: Payload, now: float, *, expired: bool) -> str:
        if payload.time > now + SLOP_SECONDS:
            return "ETIMETRAVEL"
        return "EEXPIRED" if expired else ""

    def _codes(self, peer: str, payload: Payload, now: float) -> set[str]:
        """What it may be answered if it has not counted before."""
        if not payload.mailbox:
            return {""}
        return self.mailboxes[payload.mailbox].codes(payload, payload.resources(peer), now)

    def _count(self, peer: str, name: str, payload: Payload, now: float) -> str:
        """Remember the id and the stamp, or neither if one of them was used; what it is answered."""
        if (peer, name) in self.ids:
            return "EINVAL"
        if self._is_used(payload, now):
            return "EDUP"
        self.ids.add((peer, name))
        self.stamps[payload.mailbox, payload.stamp] = payload.forgotten_at
        if payload.revokes is not None:
            if self._is_used(payload.revokes, now):
                return "EDUP"
            # Whoever revokes it may not know its ttl.
            until = max(payload.revokes.time, now) + LONGEST_TTL + WIDEST_SLOP_SECONDS
            self.stamps[payload.mailbox, payload.revokes.stamp] = until
        return ""

    def _is_used(self, payload: Payload, now: float) -> bool:
        return self.stamps.get((payload.mailbox, payload.stamp), 0) >= now
