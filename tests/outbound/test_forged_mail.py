"""Mail forged in the names of domains whose hosts a stranger chooses: how often the courier connects to them.

Connections are counted: each is refused, or leads to a real server that never answers. Each attempt is one of a new
instance, which remembers nothing, unless the test is about what an instance remembers.
"""

import json
import socket
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count, pairwise
from typing import Any, NoReturn

import httpcore
import pytest
from tests.pipeline.stack import BUFFER, DAY, SENDER, UNKNOWN, PipelineStack

from postroom.core.errors import NotNowError
from postroom.core.own_faults import OwnFaults
from postroom.core.reasons import OUTBOUND_FAILED
from postroom.names import host_addresses
from postroom.net.address_locks import AddressLocks
from postroom.net.failing_addresses import FAILING_SECONDS, FailedRecentlyError
from postroom.outbound.delivery import Delivery
from postroom.outbound.discard_messages import DiscardNotification, DiscardSummaryDue
from postroom.outbound.envelope_sender import EnvelopeSender
from postroom.outbound.feedback_buffers import FeedbackBuffers
from postroom.outbound.feedback_sender import MANIFEST_TRIES, FeedbackSender
from postroom.outbound.ports import Manifests
from postroom.outbound.queue_messages import read_queue_message
from postroom.protocols.nlweb.reasons import KEY_LOOKUP_FAILED
from postroom.runtime.adapters import HttpsOutbound
from postroom.runtime.batches import MESSAGES_AT_ONCE
from postroom.runtime.deployment import Deployment

MOST_CONNECTIONS = 20
"""Those that leave us for one forged message, over its whole life."""
MOST_PASSES = 150
"""Its passes through the queue: each is sent, received and deleted."""
ADDRESSES = [f"192.0.2.{number}" for number in range(1, 9)]


class SilentDns:
    """Resolvers that do not answer: addresses are given to the test, zones are not found."""

    def asking(self, _seconds: float) -> Any:
        def ask(_question: object) -> NoReturn:
            raise NotNowError(KEY_LOOKUP_FAILED, "down")

        return ask


@dataclass
class Network:
    """Every host has ADDRESSES, unless `addresses` has others. `connections`: the addresses that were connected to."""

    addresses: list[str] = field(default_factory=lambda: list(ADDRESSES))
    connections: list[str] = field(default_factory=list)

    def connect(self, host: str, *_: object) -> NoReturn:
        self.connections.append(host)
        raise httpcore.ConnectError("refused")


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> Network:
    made = Network()
    monkeypatch.setattr(host_addresses, "addresses", lambda _host, _ask: made.addresses)
    monkeypatch.setattr(httpcore.SyncBackend, "connect_tcp", made.connect)
    return made


def instance(stack: PipelineStack, **settings: Any) -> Deployment:
    """A courier with the real HTTPS clients."""
    made = stack.deployed.parts(system=stack.system, outbound_allow_private=True, **settings)
    made.names.resolvers = SilentDns()  # type: ignore[assignment]
    made.outbound.buffers = FeedbackBuffers(made.names.manifests, None)
    https = HttpsOutbound(made.names.feedback_https)
    made.outbound.feedback_envelope_sender = EnvelopeSender(stack.our_keys, https, OwnFaults())
    return made


@dataclass
class LateManifests:
    """Manifests that fail `failures` times, and then name a buffer."""

    real: Manifests
    failures: int

    def feedback_domain_of(self, domain: str) -> str | None:
        with pytest.raises(NotNowError):
            self.real.feedback_domain_of(domain)
        if self.failures:
            self.failures -= 1
            raise NotNowError(OUTBOUND_FAILED)
        return BUFFER


Pass = tuple[DiscardNotification | DiscardSummaryDue, Delivery]


def passes(stack: PipelineStack, sender: Callable[[], FeedbackSender]) -> Iterator[Pass]:
    """What becomes of a forged message at each of its passes through the queue, with the time between them.

    `sender`: sends the Feedback when it is due.
    """
    stack.settle(stack.queued(stack.envelope(UNKNOWN)))
    idle = stack.feedback_sender()
    while bodies := stack.deployed.bodies("FeedbackQueue"):
        [delay] = stack.deployed.delays("FeedbackQueue")
        stack.deployed.empty("FeedbackQueue")
        stack.clock.now += delay
        [notice] = map(read_queue_message, bodies)
        assert isinstance(notice, DiscardNotification)
        yield notice, (sender() if notice.is_due else idle).deliver(notice)


def life(stack: PipelineStack, failures: int) -> Iterator[Pass]:
    """Its passes, if its manifest cannot be read so many times, at a new instance each time."""

    def sender() -> FeedbackSender:
        courier = instance(stack)
        late.real = courier.outbound.buffers
        courier.outbound.buffers = late  # type: ignore[assignment]
        return courier.outbound.feedback

    late = LateManifests(stack.manifests, failures)
    return passes(stack, sender)


@pytest.mark.parametrize(
    ("failures", "end", "connections"),
    [
        (MANIFEST_TRIES, Delivery.UNREACHABLE, 2 * MANIFEST_TRIES),
        # The buffer's host fails for a day, after the manifest was read at the first or the last attempt.
        (0, Delivery.GIVEN_UP, 18),
        (MANIFEST_TRIES - 1, Delivery.GIVEN_UP, 18),
    ],
)
def test_a_forged_message_costs_no_more_than_twenty_connections_in_its_life(
    stack: PipelineStack, network: Network, failures: int, end: Delivery, connections: int
) -> None:
    begun = stack.clock.now
    *before, last = (delivery for _, delivery in life(stack, failures))
    assert (set(before), last) == ({Delivery.WAITING}, end)
    assert len(network.connections) == connections <= MOST_CONNECTIONS
    assert stack.clock.now - begun > (DAY if end is Delivery.GIVEN_UP else 900)
    assert stack.outbound.posts == []


def test_an_unreachable_manifest_is_given_up_after_four_tries_and_nobody_is_told(
    stack: PipelineStack, network: Network
) -> None:
    tries = list(life(stack, MANIFEST_TRIES))
    assert [notice.tries for notice, _ in tries if notice.is_due] == [0, 1, 3, 7]
    notice, end = tries[-1]
    assert end is Delivery.UNREACHABLE
    # Whatever is delivered again afterwards is silent.
    assert instance(stack).outbound.feedback.deliver(notice) is Delivery.SILENT
    assert stack.deployed.bodies("FeedbackQueue") == []
    assert set(network.connections) == set(ADDRESSES[:2])


def test_a_summary_for_an_unreachable_domain_is_given_up_after_four_tries(
    stack: PipelineStack, network: Network
) -> None:
    stack.feedback_an_hour = 0
    stack.settle(stack.queued(stack.envelope(UNKNOWN)))
    stack.feedback_sender().deliver(stack.discard_notifications()[0])
    due = stack.discard_notifications()[-1]
    stack.clock.now += 2 * 3600
    ends = []
    while not ends or ends[-1] is Delivery.WAITING:
        ends.append(instance(stack).outbound.feedback.deliver(due))
        due = stack.discard_notifications()[-1]
    assert ends == [Delivery.WAITING] * 7 + [Delivery.UNREACHABLE]
    assert len(network.connections) == 2 * MANIFEST_TRIES


@pytest.mark.parametrize(
    ("attack_seconds", "end", "connections"),
    [(600, Delivery.UNREACHABLE, MANIFEST_TRIES), (2 * 3600, Delivery.GIVEN_UP, 3), (2 * DAY, Delivery.GIVEN_UP, 0)],
)
def test_an_address_that_fails_for_others_is_not_an_attempt_and_the_feedback_ends_all_the_same(
    stack: PipelineStack, network: Network, attack_seconds: int, end: Delivery, connections: int
) -> None:
    """The host of an honest sender has an address to which a stranger's names lead, too, such as one of a CDN."""
    network.addresses = ADDRESSES[:1]
    courier, begun, names = instance(stack), stack.clock.now, count()
    postponed_at: list[float] = []

    def sender() -> FeedbackSender:
        if stack.clock.now < begun + attack_seconds:
            failures_of(courier, [f"n{next(names)}.test"])
            postponed_at.append(stack.clock.now)
        network.connections.clear()
        return courier.outbound.feedback

    connected, tries = 0, list[Pass]()
    for each in passes(stack, sender):
        connected += len(network.connections)
        network.connections.clear()
        tries.append(each)
    assert connected == connections, "none while the attack lasts"
    assert tries[-1][1] is end
    assert min(later - before for before, later in pairwise(postponed_at)) >= FAILING_SECONDS
    assert sum(notice.is_due for notice, _ in tries) <= 9
    assert len(tries) <= MOST_PASSES


def test_a_message_that_is_postponed_waits_until_its_host_is_tried_again(stack: PipelineStack) -> None:
    stack.settle(stack.queued(stack.envelope(UNKNOWN)))
    [notice] = stack.discard_notifications()
    stack.manifests.buffers[SENDER] = FailedRecentlyError(OUTBOUND_FAILED, "", 250.5)
    assert stack.feedback_sender().deliver(notice) is Delivery.WAITING
    again = stack.discard_notifications()[-1]
    assert (again.failures, again.postponed) == (0, 1)
    assert stack.deployed.delays("FeedbackQueue")[-1] == 251


def test_faults_of_our_own_deployment_do_not_count_as_attempts(stack: PipelineStack) -> None:
    stack.our_keys.keys.clear()
    stack.settle(stack.queued(stack.envelope(UNKNOWN)))
    for _ in range(10):
        notice = stack.discard_notifications()[-1]
        assert notice.is_due
        assert stack.feedback_sender().deliver(notice) is Delivery.WAITING
    assert (notice.failures, notice.postponed) == (0, 0)


def test_a_message_of_the_previous_release_counts_no_failures(stack: PipelineStack) -> None:
    stack.settle(stack.queued(stack.envelope(UNKNOWN)))
    [body] = stack.deployed.bodies("FeedbackQueue")
    before = {name: value for name, value in json.loads(body).items() if name not in ("failures", "postponed")}
    [notice] = stack.discard_notifications()
    assert read_queue_message(json.dumps(before)) == notice


# --- what an instance remembers -------------------------------------------------------------------------------------


def failures_of(courier: Deployment, domains: Iterable[str]) -> None:
    for domain in domains:
        with pytest.raises(NotNowError) as caught:
            courier.names.manifests.feedback_domain_of(domain)
        assert caught.value.reason is OUTBOUND_FAILED


@pytest.fixture
def dripping() -> Iterator[socket.socket]:
    """A server that accepts connections, and says nothing."""
    with socket.create_server(("127.0.0.1", 0), backlog=512) as server:
        yield server


def accepted(server: socket.socket) -> int:
    """The number of connections that are to be accepted."""
    server.setblocking(False)
    count = 0
    while True:
        try:
            server.accept()[0].close()
        except BlockingIOError:
            return count
        count += 1


def test_two_hundred_made_up_names_that_lead_to_one_dripping_address_cost_one_connection(
    stack: PipelineStack, dripping: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_addresses, "addresses", lambda _host, _ask: ["127.0.0.1"])
    courier = instance(stack, outbound_port=dripping.getsockname()[1])
    failures_of(courier, (f"n{number}.wild.example" for number in range(200)))
    assert accepted(dripping) == 1


def test_threads_of_one_instance_connect_once_to_an_address_that_fails(
    stack: PipelineStack, dripping: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_addresses, "addresses", lambda _host, _ask: ["127.0.0.1"])
    courier = instance(stack, outbound_port=dripping.getsockname()[1])
    with ThreadPoolExecutor(MESSAGES_AT_ONCE) as threads:
        domains = [f"n{number}.wild.example" for number in range(4 * MESSAGES_AT_ONCE)]
        list(threads.map(lambda domain: failures_of(courier, [domain]), domains))
    assert accepted(dripping) == 1


def test_manifests_feedback_and_owners_messages_of_one_instance_lock_the_same_addresses(stack: PipelineStack) -> None:
    names = instance(stack).names
    assert isinstance(names.https._locks, AddressLocks)
    assert names.https._locks is names.feedback_https._locks is names.manifests._https._locks  # type: ignore[attr-defined]


def test_an_address_that_fails_for_feedback_does_not_fail_for_owners(stack: PipelineStack, network: Network) -> None:
    courier = instance(stack)
    failures_of(courier, ["n1.wild.example", "n2.wild.example", "n3.wild.example", "n4.wild.example"])
    assert network.connections == ADDRESSES
    network.connections.clear()
    failures_of(courier, ["n5.wild.example"])
    assert network.connections == []
    with pytest.raises(NotNowError):
        courier.names.https.post(f"https://nlweb.{SENDER}/inbox", b"{}", "application/json")
    assert network.connections == ADDRESSES


def test_a_manifest_gets_four_seconds_in_all(stack: PipelineStack, monkeypatch: pytest.MonkeyPatch) -> None:
    budgets: list[float] = []

    class Dns(SilentDns):
        def asking(self, seconds: float) -> Any:
            budgets.append(seconds)
            return super().asking(seconds)

    courier = instance(stack)
    courier.names.resolvers = Dns()  # type: ignore[assignment]
    del courier.names.manifests
    hosts = iter([[], ["192.0.2.1"]])
    monkeypatch.setattr(host_addresses, "addresses", lambda _host, _ask: next(hosts))
    monkeypatch.setattr(httpcore.SyncBackend, "connect_tcp", Network().connect)
    failures_of(courier, ["sender.example"])
    *look_ups, zone = budgets
    fetching = courier.names.manifests._fetch_seconds  # type: ignore[attr-defined]
    assert sum(look_ups) <= fetching
    assert fetching + zone <= 4
