"""An attack of the benchmark `hostile`: synchronous requests of domains whose DNS is silent."""

import json
import socket
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread
from typing import Final

from benchmarks.attack import Attack, Waits, p95
from benchmarks.harness import Effort
from benchmarks.lambdas import unheard
from tests.patience import PATIENCE

from postroom.core.settings import read_outputs
from postroom.crypto.rsa_ed25519 import PrivateKey
from postroom.local.stack import LocalDeployment, LocalStack
from postroom.net.https import HttpsClient
from postroom.protocols.nlweb.schema import NLWEB
from postroom.protocols.nlweb.sign import Draft, sign
from postroom.protocols.nlweb.subjects import SubjectRule, Treatment
from postroom.runtime.deployment import Deployment
from postroom.storage.directory.domains import Domain

RUNS: Final = 10
REQUESTS_PER_SECOND: Final = 20
HONEST: Final = 200
"""The messages of an honest sender in each of the two measurements."""
PAUSE_SECONDS: Final = 0.05
"""Between two messages of the honest sender."""
WARM_SECONDS: Final = 3.0
RECEIVER: Final = "receiver.example"
_URL: Final = NLWEB.inbox_url(RECEIVER)
_TEMPLATE: Final = Path(__file__).parent.parent / "template.yaml"


def measure(effort: Effort) -> Waits:
    """The p95 of the time until an honest message is answered 200, in seconds."""
    messages = max(2, min(HONEST, 2 * effort.turns * effort.rounds))
    with unheard(), _silent_resolver() as resolver, LocalStack(_TEMPLATE) as stack:
        deployment = _open(stack, resolver)
        senders = Senders(
            HttpsClient(
                lambda _: ["127.0.0.1"],
                port=stack.edge.port,
                allow_private=True,
                ca_file=str(stack.authority.pem),
                connect_timeout=PATIENCE,
                total_timeout=PATIENCE,
            )
        )
        senders.start()
        quiet = senders.send(messages)
        with senders.attacking():
            attacked = senders.send(messages)
        held = deployment.client("dynamodb").scan(TableName=deployment.outputs["LimitsTable"], Select="COUNT")
        assert held["Count"] <= RUNS, "rows of look-ups are left over"
    return Waits(p95(quiet), p95(attacked))


@dataclass(eq=False)
class Senders:
    """Senders of messages to RECEIVER. `answers`: the status and reason of each hostile request."""

    https: HttpsClient
    key: PrivateKey = field(default_factory=lambda: PrivateKey.generate("ed25519"))
    answers: Counter[tuple[int, str]] = field(default_factory=Counter)

    def start(self) -> None:
        """Let the local stack start a process for each run."""
        with ThreadPoolExecutor(RUNS) as pool:
            list(pool.map(lambda _: self.https.post(_URL, b"", "application/json"), range(4 * RUNS)))

    def send(self, messages: int) -> list[float]:
        """The seconds until each message is answered. Raises AssertionError for an answer other than 200."""
        seconds = []
        for _ in range(messages):
            body = self._envelope("honest.example", "Hello@Host")
            started = time.perf_counter()
            answer = self.https.post(_URL, body, "application/json")
            seconds.append(time.perf_counter() - started)
            assert answer.status == 200, (answer.status, answer.body)
            time.sleep(PAUSE_SECONDS)
        return seconds

    @contextmanager
    def attacking(self) -> Iterator[None]:
        """Synchronous requests, each of another domain, at a steady rate for as long as the context."""
        over = Event()
        with ThreadPoolExecutor(3 * REQUESTS_PER_SECOND) as pool:

            def attack() -> None:
                number = 0
                while not over.wait(1 / REQUESTS_PER_SECOND):
                    number += 1
                    pool.submit(self._attack, f"d{number}.silent.example")

            attacker = Thread(target=attack)
            attacker.start()
            over.wait(WARM_SECONDS)
            try:
                yield
            finally:
                over.set()
                attacker.join()

    def _attack(self, domain: str) -> None:
        answer = self.https.post(_URL, self._envelope(domain, "Identity@Graph"), "application/json")
        reason = json.loads(answer.body).get("reason", "") if answer.status != 429 else ""
        self.answers[answer.status, reason] += 1

    def _envelope(self, sender: str, subject: str) -> bytes:
        draft = Draft(
            sender=sender, receiver=RECEIVER, subject=subject, correlation=str(uuid.uuid4()),
            timestamp_ms=int(time.time() * 1000), body={"Domain": RECEIVER}, selector="pk1",
        )  # fmt: skip
        return json.dumps(sign(draft, self.key)).encode()


@contextmanager
def _silent_resolver() -> Iterator[str]:
    """The address of a resolver that receives questions and never answers."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        yield f"udp://127.0.0.1:{silent.getsockname()[1]}"


def _open(stack: LocalStack, resolver: str) -> LocalDeployment:
    parameters = {"InboxReservedConcurrency": str(RUNS), "Resolvers": resolver}
    deployment = stack.deploy("hostile-lookups", parameters)
    deployment.serve_host(NLWEB.host(RECEIVER))
    operators = Deployment(read_outputs(deployment.outputs), deployment.client).storage.operators
    operators.put_domain(Domain(RECEIVER))
    operators.put_subject(RECEIVER, SubjectRule("*@Host", Treatment.MAILBOX, RECEIVER))
    # The worker would wait for DNS, too, on the same machine.
    functions = deployment.client("lambda")
    for mapping in functions.list_event_source_mappings()["EventSourceMappings"]:
        functions.update_event_source_mapping(UUID=mapping["UUID"], Enabled=False)
    return deployment


ATTACK: Final = Attack(
    f"{REQUESTS_PER_SECOND} synchronous requests a second of domains whose DNS is silent, with {RUNS} reserved runs of "
    "the inbox",
    "posting a message, p95",
    measure,
)
