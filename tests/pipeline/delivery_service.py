"""The delivery service ds.eth on the pipeline's stack, with profiles in memory: alice.eth sends, bob.eth receives."""

import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

from tests.aws import Clients, new_clients
from tests.fakes.names import FakeRegistry
from tests.fakes.outbound import FakeQueue
from tests.fakes.pipeline import FakeAccounts, FakeServiceKeys
from tests.pipeline.stack import TIMES, PipelineStack

from postroom.core.leaky_bucket import LeakyBucket
from postroom.http.response import HttpResponse
from postroom.names.profiles import Profiles
from postroom.names.registry import PROFILE_KEY
from postroom.net.timebox import TimeBox
from postroom.pipeline.claims import Claim
from postroom.pipeline.dm3_inbox import Dm3Inbox
from postroom.pipeline.judges.dm3 import Dm3Judge
from postroom.pipeline.slow_names import SlowNames
from postroom.pipeline.worker import Record
from postroom.protocols.dm3.envelope import DeliveryInformation, Dm3Envelope, write_envelope
from postroom.protocols.dm3.extension import Properties
from postroom.protocols.dm3.keys import UserKeys
from postroom.protocols.dm3.message import Dm3Message, MessageMetadata
from postroom.protocols.dm3.profile import UserProfile, data_uri
from postroom.protocols.dm3.sign import sign_message
from postroom.storage.directory.domains import Dm3Mailbox
from postroom.storage.limits.name_texts import NameTexts

POOL = ThreadPoolExecutor(2)
ALICE, BOB, MALLORY, SERVICE = "alice.eth", "bob.eth", "mallory.eth", "ds.eth"
SIZE_LIMIT = 100_000
UNVERIFIED_SECONDS = 3600


@dataclass
class DeliveryService:
    """A delivery service in a stack, and its users."""

    stack: PipelineStack
    keys: FakeServiceKeys = field(default_factory=FakeServiceKeys)
    registry: FakeRegistry = field(default_factory=lambda: FakeRegistry(keep_seconds=30))
    accounts: FakeAccounts = field(default_factory=FakeAccounts)
    names_queue: FakeQueue = field(default_factory=FakeQueue)
    seconds: float = 1.0
    """The time limit for the look-ups of one body."""
    monotonic: Callable[[], float] = time.monotonic
    reads: LeakyBucket = field(default_factory=lambda: LeakyBucket(1_000, 1_000, time.monotonic))

    def __post_init__(self) -> None:
        self.users = {name: UserKeys.random() for name in (ALICE, BOB, MALLORY)}
        for name in (ALICE, BOB):
            self.publish(name)
        self.open(BOB)
        self.stack.further_judges["dm3"] = self.judge()

    # ---- users -----------------------------------------------------------------------------------------------
    def publish(self, name: str) -> None:
        keys = self.users[name]
        profile = UserProfile(keys.encryption.public, keys.signing.public, (SERVICE,))
        self.registry.put(name, PROFILE_KEY, data_uri(profile.as_json()))

    def open(self, name: str, **settings: Any) -> None:
        """Change the settings of a mailbox, with immediate effect."""
        self.stack.operators.put_dm3_mailbox(replace(Dm3Mailbox(name), **settings))
        self.stack.clock.now += 31

    def message(self, text: str = "hello", sender: str = ALICE, to: str = BOB) -> Dm3Message:
        metadata = MessageMetadata(to=to, sender=sender, timestamp_ms=int(self.stack.clock.now * 1000), type_name="NEW")
        return sign_message(text, metadata, self.users[sender].signing)

    def envelope(
        self,
        text: str = "hello",
        *,
        sender: str = ALICE,
        to: str = BOB,
        signer: str = "",
        as_sender: str = "",
        sealed_message: str | None = None,
    ) -> Dm3Envelope:
        """An envelope as from a client. `signer`: whose key signs the metadata. `as_sender`: the claimed sender.

        `sealed_message`: from another envelope.
        """
        keys = self.keys.get()
        return write_envelope(
            self.message(text, sender, to),
            delivery=DeliveryInformation(to, as_sender or sender),
            receiver_key=self.users[BOB].encryption.public,
            service_key=keys.encryption[0].public,
            signing=self.users[signer or sender].signing,
            sealed_message=sealed_message,
        )

    # ---- the inbox --------------------------------------------------------------------------------------------
    def profiles(self) -> Profiles:
        return Profiles(self.registry, self.stack.clock)

    def inbox(self, clients: Clients | None = None) -> Dm3Inbox:
        return Dm3Inbox(
            properties=Properties(0, SIZE_LIMIT),
            directory=self.stack.directory,
            keys=self.keys,
            profiles=self.profiles(),
            accounts=self.accounts,
            slow_names=SlowNames(
                texts=NameTexts(new_clients().dynamodb, self.stack.deployed.tables["LimitsTable"]),
                queue=self.names_queue,
                rate=LeakyBucket(1_000, 1_000, time.monotonic),
                clock=self.stack.clock,
            ),
            new_timebox=lambda: TimeBox(POOL, self.seconds, self.monotonic),
            reads=self.reads,
            intake=self.stack.parts(clients).pipeline.intake,
            clock=self.stack.clock,
        )

    def post(self, body: object, clients: Clients | None = None) -> HttpResponse:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.inbox(clients).post(data, "192.0.2.1")

    def call(self, method: str, *params: object, status: int = 200) -> dict[str, Any]:
        """The answer to one call."""
        answer = self.post({"jsonrpc": "2.0", "method": method, "params": list(params), "id": 1})
        assert answer.status == status
        said: dict[str, Any] = json.loads(answer.body)
        assert (said["jsonrpc"], said["id"]) == ("2.0", 1)
        return said

    def submit(self, envelope: Dm3Envelope | object, status: int = 200) -> dict[str, Any]:
        param = envelope.as_json() if isinstance(envelope, Dm3Envelope) else envelope
        return self.call("dm3_submitMessage", param, status=status)

    def queued(self, envelope: Dm3Envelope) -> Record:
        """Submit an envelope and take its claim from the queue."""
        said = self.submit(envelope)
        assert said.get("result") == "accepted", said
        return self.stack.record(self.stack.deployed.bodies("ClaimsQueue")[-1])

    def claim(self, record: Record) -> Claim:
        return self.stack.claim(record)

    # ---- the worker ------------------------------------------------------------------------------------------
    def judge(self) -> Dm3Judge:
        return Dm3Judge(
            keys=self.keys,
            profiles=self.profiles(),
            look_ups=self.stack.look_ups,
            clock=self.stack.clock,
            times=TIMES,
            unverified_seconds=UNVERIFIED_SECONDS,
        )
