"""The attack on the courier: forged mail whose made-up senders lead to hosts that never answer."""

import itertools
import secrets
import socket
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from benchmarks.attack import Attack, Waits, p95
from benchmarks.harness import TINY, Effort
from tests.fakes.post_offices import FakePostOffices

from postroom.api.states import State
from postroom.core.settings import read_outputs
from postroom.crypto.rsa_ed25519 import PrivateKey
from postroom.demo.deployment import until
from postroom.local.emulator import Processes
from postroom.local.stack import LocalStack
from postroom.local.zones import Mode
from postroom.outbound.discard_messages import DiscardNotification
from postroom.outbound.outbox_messages import Outgoing
from postroom.protocols.nlweb.reasons import SENDER_NOT_SIGNED
from postroom.protocols.nlweb.schema import NLWEB
from postroom.protocols.nlweb.sign import Draft
from postroom.runtime.deployment import Deployment
from postroom.storage.layout import RowKey
from postroom.storage.mail.outbox import OutboxMessage, OutgoingIdentity

OURS: Final = "ours.example"
RECEIVER: Final = "receiver.example"
FORGERIES: Final = 1000
HOSTS: Final = 50
"""Zones with a host each: with a single one, the courier would soon remember that it fails."""
MESSAGES: Final = 20
_RUNS: Final = 15
"""As many as the template allows for both queues of the courier together."""
_STARTED: Final = 25
"""Forgeries that have been tried when all runs for Feedback have started: their starts take the processors of this
machine, which functions in AWS do not share."""
_POLL_SECONDS: Final = 0.01
_TEMPLATE: Final = Path(__file__).parent.parent / "template.yaml"
_DAY: Final = 86_400


def measure(effort: Effort) -> Waits:
    """The seconds (95th percentile) until a message of an owner is delivered: quiet, and with the forgeries queued."""
    forgeries, messages = (20, 3) if effort == TINY else (FORGERIES, MESSAGES)
    with LocalStack(_TEMPLATE, processes=Processes(queue=_RUNS)) as stack, ExitStack() as undo:
        receiver = FakePostOffices(stack.authority, {RECEIVER: RECEIVER})
        port = receiver.server_port
        undo.enter_context(receiver)
        threading.Thread(target=receiver.serve_forever, daemon=True).start()
        undo.callback(receiver.shutdown)
        undo.enter_context(silent_hosts(port))
        stack.tree.put(RECEIVER, "nlweb IN A 127.0.0.1\n")
        for number in range(HOSTS):
            stack.tree.put(zone_of(number), f"* IN A {address_of(number)}\n", Mode.UNSIGNED)
        deployed = stack.deploy("benchmark", {"OutboundPort": str(port)})
        courier = CourierUnderAttack(
            Deployment(read_outputs(deployed.outputs), deployed.client), deployed.outputs["FeedbackQueueUrl"]
        )
        # The first one waits for the function's start.
        courier.delivered()
        quiet = [courier.delivered() for _ in range(messages)]
        courier.forge(forgeries)
        attacked = [courier.delivered() for _ in range(messages)]
        return Waits(p95(quiet), p95(attacked))


def zone_of(number: int) -> str:
    """A zone of the attacker's."""
    return f"wild{number}.example"


def address_of(number: int) -> str:
    """The address of all names in that zone."""
    return f"127.1.0.{number + 1}"


@contextmanager
def silent_hosts(port: int) -> Iterator[None]:
    """Hosts that accept connections, and never say anything."""
    with ExitStack() as undo:
        for number in range(HOSTS):
            undo.enter_context(socket.create_server((address_of(number), port), backlog=128))
        yield


class CourierUnderAttack:
    """A deployment with a domain whose owner sends, and forged mail to it that was discarded."""

    def __init__(self, deployment: Deployment, feedback_queue: str) -> None:
        self._storage, self._feedback_queue = deployment.storage, feedback_queue
        self._storage.signing_keys.put(OURS, "pk1", PrivateKey.generate("ed25519"))

    def delivered(self) -> float:
        """The seconds from when an owner's message is queued until it is delivered."""
        outbox, now, correlation = self._storage.outbox, int(time.time()), str(uuid.uuid4())
        token, forget_at = secrets.token_hex(), now + _DAY
        outbox.identify(OURS, token, "", OutgoingIdentity(correlation, now * 1000), now=now, forget_at=forget_at)
        message = OutboxMessage(OURS, correlation, now * 1000, RECEIVER, "Hello@Host", token)
        outbox.put(message, now=now, forget_at=forget_at)
        outbox.note_carrier(message, token)
        outgoing = Outgoing(Draft(OURS, RECEIVER, "Hello@Host", correlation, now * 1000, "hello"), token)
        began = time.perf_counter()
        self._storage.courier_queue.send(outgoing.encode(), group=outgoing.group)
        while (found := outbox.find(OURS, correlation)) is None or found.state is not State.DELIVERED:
            time.sleep(_POLL_SECONDS)
        return time.perf_counter() - began

    def forge(self, count: int) -> None:
        """Queue the discards of forged messages, each in another name, and wait until the courier is busy with them."""
        now_ms = int(time.time() * 1000)
        for number, zone in zip(range(count), itertools.cycle(range(HOSTS)), strict=False):
            sender = f"n{number}.{zone_of(zone)}"
            discard = DiscardNotification(
                RowKey(f"{OURS}#0", f"m#{now_ms}#{number:032x}"), SENDER_NOT_SIGNED, OURS, sender, str(uuid.uuid4()),
                "0" * 64, NLWEB, now_ms,
            )  # fmt: skip
            self._storage.feedback_queue.send(discard.encode(), group=discard.group)
        until("the forgeries are tried", lambda: True if self._waiting() >= min(count, _STARTED) else None)

    def _waiting(self) -> int:
        """The forgeries that wait for their next attempt."""
        found = self._storage.sqs.get_queue_attributes(
            QueueUrl=self._feedback_queue, AttributeNames=["ApproximateNumberOfMessagesDelayed"]
        )
        return int(found["Attributes"]["ApproximateNumberOfMessagesDelayed"])


ATTACK: Final = Attack(
    f"{FORGERIES:,} forged messages, whose senders' hosts never answer", "an owner's message is delivered", measure
)
