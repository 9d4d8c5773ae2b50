"""An attack of the benchmark `hostile`: forged mail in the names of domains whose DNS servers do not answer."""

import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Final
from uuid import uuid4

from benchmarks.attack import Attack, Waits, p95
from benchmarks.harness import TINY, Effort
from benchmarks.lambdas import RULE, claims, unheard
from benchmarks.samples import RECEIVER, SELECTOR, SENDER

from postroom.core.settings import read_outputs
from postroom.crypto.rsa_ed25519 import PrivateKey
from postroom.demo.deployment import until
from postroom.local.emulator import Processes
from postroom.local.stack import LocalStack
from postroom.pipeline.claims import Claim, QueuedClaim
from postroom.pipeline.worker import retry_delay
from postroom.protocols.nlweb.key_record import record_text, zone_line
from postroom.protocols.nlweb.schema import NLWEB
from postroom.runtime.deployment import Deployment
from postroom.storage.aws.queue import Queue
from postroom.storage.directory.domains import Domain

FORGERIES: Final = 2_000
ZONES: Final = 20
RETRIES: Final = 120
APART_SECONDS: Final = 0.25
_RUNS: Final = 5
"""The concurrency of the retry queue, and of the waiting queue, in the template."""
_POLL_SECONDS: Final = 0.01
_TEMPLATE: Final = Path(__file__).parent.parent / "template.yaml"


def measure(effort: Effort, *, delay_seconds: int = 0, elsewhere: bool = False) -> Waits:
    """The seconds (95th percentile) from when a retry is queued, with a delay, until it is filed.

    `elsewhere`: another deployment of the local stack is attacked, which shares nothing but the machine and the
    embedded AWS.
    """
    forgeries, retries = (20, 3) if effort == TINY else (FORGERIES, RETRIES)
    key = PrivateKey.generate("ed25519")
    with unheard(), LocalStack(_TEMPLATE, processes=Processes(queue=_RUNS)) as stack:
        stack.tree.put(SENDER, f"{zone_line(NLWEB.key_name(SENDER, SELECTOR), record_text(key.public))}\n")
        for number in range(ZONES):
            stack.tree.put(zone_of(number), "@ IN A 127.0.0.1\n")
        worker = WorkerUnderAttack(stack, key, "hostile-silence", delay_seconds)
        attacked = WorkerUnderAttack(stack, key, "attacked", delay_seconds) if elsewhere else worker
        # The first one waits for the function's start, and proves the sender's domain.
        worker.filed()
        quiet = worker.filed_in_turn(retries)
        stack.dns.pause(*map(zone_of, range(ZONES)))
        attacked.forge(forgeries)
        # As for the honest ones, the starts of the function's runs are not measured.
        until("all zones are found to be silent", lambda: attacked.silent(forgeries))
        beside = worker.filed_in_turn(retries)
        return Waits(p95(quiet), p95(beside))


def zone_of(number: int) -> str:
    """A zone whose servers do not answer."""
    return f"silent{number}.example"


class WorkerUnderAttack:
    """A deployment whose claims are put into its queues directly: the inbox is not measured."""

    def __init__(self, stack: LocalStack, key: PrivateKey, name: str, delay_seconds: int) -> None:
        deployed = stack.deploy(name)
        self._storage = Deployment(read_outputs(deployed.outputs), deployed.client).storage
        self._storage.operators.put_domain(Domain(RECEIVER, inbox=True))
        self._storage.operators.put_subject(RECEIVER, RULE)
        self._key = key
        self._delay_seconds = delay_seconds

    def filed(self) -> float:
        """The seconds from when the retry of a proven sender's message is queued until it is filed."""
        claim = self._claim()
        queued = time.perf_counter()
        body = QueuedClaim(claim, tries=1).body()
        self._storage.retry_queue.send(body, self._delay_seconds, group=uuid4().hex)
        while self._storage.register.find(claim.row) is None:
            time.sleep(_POLL_SECONDS)
        return time.perf_counter() - queued

    def filed_in_turn(self, retries: int) -> list[float]:
        """The seconds of so many retries, each of which is queued a moment after the one before."""

        def filed(number: int) -> float:
            time.sleep(APART_SECONDS * number)
            return self.filed()

        with ThreadPoolExecutor(retries) as pool:
            return list(pool.map(filed, range(retries)))

    def forge(self, count: int) -> None:
        """Queue claims that wait for a silent zone, and are looked at at once."""
        queue: Queue = self._storage.waiting_queue
        claim = self._claim()
        for number in range(count):
            name = NLWEB.key_name(f"d{number}.{zone_of(number % ZONES)}", SELECTOR)
            queue.send(QueuedClaim(claim).awaiting(name).body(), group=uuid4().hex)

    def silent(self, forgeries: int) -> bool | None:
        """True if every zone was asked; None otherwise."""
        states = (self._storage.sender_zones.read(zone_of(number)) for number in range(min(ZONES, forgeries)))
        return all(state.is_silent for state in states) or None

    def _claim(self) -> Claim:
        [claim] = claims(self._key, 1, first=uuid4().int >> 1)
        return claim


def beside_busy_processors(effort: Effort) -> Waits:
    """As `measure`, in comparison with the same attack on another deployment of the local stack.

    So the ratio has only what the attack does through what the deployment's functions share: its queues, its tables,
    its resolvers, and our code.
    """
    return Waits(measure(effort, elsewhere=True).attacked, measure(effort).attacked)


_DELAY_SECONDS: Final = retry_delay(0)
_DUE: Final = "a retry of a proven domain, from when it is due, p95"
ATTACK: Final = Attack(
    f"{FORGERIES:,} forged messages of domains that do not answer, which wait for their {ZONES} zones",
    f"a retry of a proven domain, with its delay of {_DELAY_SECONDS} s, p95",
    partial(measure, delay_seconds=_DELAY_SECONDS),
)
FROM_DUE: Final = Attack("the same", _DUE, measure, has_goal=False)
COMPARISON: Final = Attack(
    "the same, in comparison with the same attack on another deployment", _DUE, beside_busy_processors
)
