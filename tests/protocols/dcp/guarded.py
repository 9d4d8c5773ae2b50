"""A guardian with its store, and peers that write messages by hand, right and wrong ones."""

import itertools
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from tests.protocols.dcp.known import KEYS

from postroom.core.ijson import JsonValue
from postroom.crypto.ethereum import Address
from postroom.crypto.ethereum_keys import EthereumKey
from postroom.protocols.dcp.guardian import AnsweredLater, FailedOperation, Guardian, Prepare, PreparedOperation
from postroom.protocols.dcp.memory_store import MemoryStore
from postroom.protocols.dcp.messages import Allowance
from postroom.protocols.dcp.payload import NewRequest, new_payload, request_body
from postroom.protocols.dcp.receiving import Admitted, ReceiveLimits, Receiver
from postroom.protocols.dcp.session_names import NamesOfIdentities, SessionNames
from postroom.protocols.dcp.session_store import SessionStore
from postroom.protocols.dcp.signed_message import sign_body
from postroom.protocols.dcp.validity import TtlLimits

NOW = 1_700_000_000.5
US, OWNER, WES, JACK = (
    KEYS["twos"],
    KEYS["ones"],
    EthereumKey.from_secret(b"\x07" * 32),
    EthereumKey.from_secret(b"\x08" * 32),
)
LIMITS = ReceiveLimits(ttl=TtlLimits(15, 3600, 120), session_seconds=600)
Json = dict[str, Any]


Perform = Callable[[Admitted], "JsonValue | FailedOperation | AnsweredLater"]


def at_once(perform: Perform) -> Prepare:
    """What performs each request, whatever it says."""
    return lambda admitted: PreparedOperation(None, lambda: perform(admitted))


def numbered(counter: "itertools.count[int]") -> Callable[[int], bytes]:
    """Bytes that are different each time, and the same in each run."""
    return lambda size: next(counter).to_bytes(size)


@dataclass
class Bank:
    """A guardian that records what it performs. Its store may outlive it, as `restarted` shows."""

    store: SessionStore = field(default_factory=MemoryStore)
    limits: ReceiveLimits = LIMITS
    identities: tuple[EthereumKey, ...] = (US,)
    done: list[tuple[str, Any]] = field(default_factory=list)
    perform_with: Perform | None = None
    routes_v3: bool = False
    counter: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))

    @property
    def guardian(self) -> Guardian:
        names = [SessionNames(key.address, key.secret[::-1]) for key in self.identities]
        random = numbered(self.counter)
        addresses = {key.address: key for key in self.identities}
        receiver = Receiver(
            frozenset(addresses), NamesOfIdentities(names), self.store, lambda: random(16).hex(), self.limits
        )
        return Guardian(receiver, names[0], addresses, random, self.routes_v3)

    def restarted(self, **changes: Any) -> "Bank":
        """The same bank with the same store, after a restart, with other settings."""
        return Bank(**{**vars(self), **changes})

    def answer(self, data: bytes, now: float = NOW) -> Json:
        """The body of the answer; its signature is checked by the tests of clients."""
        body: Json = json.loads(self.guardian.answer(data, now, at_once(self.perform_with or self.record)).data)["body"]
        return body

    def record(self, admitted: Admitted) -> "JsonValue | FailedOperation":
        self.done.append((admitted.operation, admitted.data))
        return {"resources": [str(each) for each in sorted(admitted.resources)]}


class Answering(Protocol):
    """A guardian, by the bodies of its answers."""

    def answer(self, data: bytes, now: float = NOW) -> Json:
        """The body of the answer."""


@dataclass
class Peer:
    """Somebody with a session at a bank, who may write anything."""

    bank: Answering
    key: EthereumKey
    half: str = "x" * 21
    dcpsid: str = ""
    nonce: str | None = None
    now: float = NOW
    guardian: Address = US.address
    counter: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))

    @classmethod
    def connected(cls, bank: Answering, key: EthereumKey = OWNER, **members: Any) -> "Peer":
        peer = cls(bank, key, **members)
        answer = bank.answer(peer.signed(peer.connect()), peer.now)
        peer.dcpsid, peer.nonce = answer["dcpsid"], answer["nonce"]
        return peer

    def connect(self, **data: Any) -> Json:
        payload = {"operation": "connect", "data": {"version": "4.0.0", "sid": self.half, **data}}
        return {"type": "request", "id": "c", "payload": payload, "nonce": "n"}

    def request(
        self, operation: str = "add", data: Any = None, keys: tuple[EthereumKey, ...] = (), **members: Any
    ) -> Json:
        """A request with everything right that `members` do not change."""
        number = next(self.counter)
        known = {"time": int(self.now), "stamp": f"{self.key.address}{self.half}{number}", "ttl": 60}
        allow = [Allowance(key.address, self.guardian, self.key.address) for key in keys]
        payload = new_payload(operation, data, allow=allow, validity={**known, **members.pop("validity", {})})
        body: Json = request_body(NewRequest(payload, keys), payload, f"{self.half}{number}", hex_prefix=False)
        return {**body, "dcpsid": self.dcpsid, "nonce": self.nonce, **members}

    def batch(self, *requests: Json, **members: Any) -> Json:
        return {
            "type": "request-batch", "id": f"b{next(self.counter)}", "payload": list(requests), "dcpsid": self.dcpsid,
            "nonce": self.nonce, **members,
        }  # fmt: skip

    def signed(self, body: Mapping[str, Any]) -> bytes:
        return sign_body(body, self.key)

    def send(self, body: Mapping[str, Any], bank: Answering | None = None, now: float | None = None) -> Json:
        """The answer, whose nonce is kept if it has one."""
        answer = (bank or self.bank).answer(self.signed(body), self.now if now is None else now)
        self.nonce = answer["nonce"] or self.nonce
        return answer


def code(answer: Json) -> str:
    """The code of the error, with our reason's sentence shortened to its first words; "": success."""
    return "" if answer["success"] else answer["payload"]["code"]


def says(answer: Json) -> str:
    """What the error says; "": success."""
    return "" if answer["success"] else answer["payload"]["message"]
