"""What functions remember of strangers is bounded, and the costliest that strangers send leaves them memory.

benchmarks/bench_memory.py holds the former over 100,000 messages.
"""

import ast
import gc
import json
import logging
import sys
import tracemalloc
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from benchmarks.lone_worker import BATCH, lone_worker
from orjson import dumps
from tests.aws import Deployed, function, memory_bytes
from tests.aws import clients as clients
from tests.aws import deployed as deployed
from tests.fakes.pipeline import FakeHideQueue
from tests.pipeline.stack import HORIZON, NOW, OUR_KEY, SENDER, SENDER_KEY_NAME, SHOP, PipelineStack
from tests.tiers import amount

from postroom.core.errors import NotNowError
from postroom.core.expiring_cache import Cache
from postroom.core.ijson import MAX_VALUES, JsonValue, parse
from postroom.core.reasons import OUTBOUND_FAILED
from postroom.core.settings import DeploymentSettings
from postroom.crypto import ethereum
from postroom.names import keys
from postroom.names.keys import KeepTimes
from postroom.names.manifest import MAX_DOMAINS, MAX_MANIFEST_BYTES, ManifestDirectory
from postroom.names.registrable_domains import registrable_domain
from postroom.net.https import MAX_RESPONSE_BYTES, HttpsResponse
from postroom.outbound.feedback_buffers import MAX_REPLY_BYTES, FeedbackBuffers, GraphDomain
from postroom.outbound.outbox_messages import Outgoing
from postroom.outbound.queue_messages import read_queue_message
from postroom.pipeline import dm3_inbox, look_ups, silent_zones
from postroom.pipeline.claim_details import Details, Dm3Details, NlwebDetails
from postroom.pipeline.claims import Claim, QueuedClaim, pack
from postroom.pipeline.dead_letters import DEAD_LETTERS_AT_ONCE, DeadLetter
from postroom.pipeline.waiting import WaitingRecord
from postroom.pipeline.worker import SLICE_BYTES
from postroom.protocols.nlweb import names
from postroom.protocols.nlweb.reasons import KEY_LOOKUP_FAILED
from postroom.protocols.nlweb.sign import Draft, sign
from postroom.storage.aws.queue import MAX_BODY_BYTES
from postroom.storage.layout import row_key
from postroom.storage.secrets.signing_keys import SigningKey

LIBRARY = Path(__file__).parent.parent / "layers" / "postroom" / "postroom"
NOT_DEPLOYED = {"cli", "client", "cost", "demo", "local"}
MESSAGES = amount(quick=2, all=2, proof=6) * BATCH
FEW, GROWTH_BYTES = 50, 50_000
MEMOS = (
    names.read_sender,
    names.read_receiver,
    names.read_selector,
    keys._owner,
    registrable_domain,
    ethereum.address_of_digits,
    ethereum.read_address,
)


def grown_in_the_second_half(monkeypatch: pytest.MonkeyPatch, max_names: int) -> tuple[int, int]:
    """Bytes that are held more at the end than half way, of different senders; the entries of the largest cache."""
    monkeypatch.setattr(keys, "KeepTimes", partial(KeepTimes, max_names=max_names))
    monkeypatch.setattr(silent_zones, "MAX_ZONES", max_names)
    monkeypatch.setattr(look_ups, "MOST_DOMAINS", max_names)
    monkeypatch.setattr(logging.root.manager, "disable", logging.CRITICAL)  # pytest keeps what is logged
    before = {id(each) for each in caches()}
    with lone_worker() as worker:

        def work() -> int:
            # Every second sender has no key.
            worker.work(MESSAGES // 2, lambda number: f"{'sn'[number % 2]}{number}.senders")
            for read in MEMOS:
                read.cache_clear()  # they fill up for longer than this takes; their bounds have a test of their own
            gc.collect()
            return tracemalloc.get_traced_memory()[0]

        tracemalloc.start()
        grown = -work() + work()
        tracemalloc.stop()
        return grown, max(len(each) for each in caches() if id(each) not in before)


def caches() -> list[Cache[object]]:
    gc.unfreeze()  # the collector does not show what the start of a function froze
    return [each for each in gc.get_objects() if isinstance(each, Cache)]


def test_many_senders_do_not_increase_the_workers_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    grown, entries = grown_in_the_second_half(monkeypatch, FEW)
    assert grown < GROWTH_BYTES
    assert entries == FEW


def test_a_cache_without_a_limit_would_be_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    grown, entries = grown_in_the_second_half(monkeypatch, sys.maxsize)
    assert grown > 2 * GROWTH_BYTES
    assert entries == MESSAGES


@dataclass
class Memory:
    """`peak`: the most bytes that were held at once."""

    peak: int = 0


@contextmanager
def traced() -> Iterator[Memory]:
    memory = Memory()
    tracemalloc.start()
    yield memory
    _, memory.peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()


MOST = dm3_inbox.MAX_BODY_BYTES
TEXT = "\U0001f91d" + "x" * (MOST - 10)  # in Python, each character of this takes four bytes


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"[" + b"{}," * (MAX_VALUES // 2 - 1) + b"{}]", id="containers"),
        pytest.param(b"{" + b",".join(b'"%050d":{}' % n for n in range(MAX_VALUES // 2)) + b"}", id="names"),
        pytest.param(f'["{TEXT}"]'.encode()[:-3] + b'"]', id="a text"),
        pytest.param(b"[1." + b"9" * (MOST - 4) + b"]", id="a number"),
    ],
)
def test_the_costliest_bodies_use_a_small_part_of_the_inboxes_memory(body: bytes) -> None:
    with traced() as memory:
        parse(body, max_bytes=MOST)
    assert memory.peak < min(memory_bytes("InboxFunction"), memory_bytes("Dm3Function")) / 4


@pytest.mark.parametrize("of_ours", [b"{},", b'"%d":{},', b'"",'], ids=["containers", "names", "texts"])
def test_the_costliest_batch_uses_a_quarter_of_the_workers_memory(of_ours: bytes) -> None:
    most, many = DeploymentSettings().nlweb_max_body_bytes, range(MAX_VALUES // 2 - 20)
    values = b"".join(of_ours % n if b"%" in of_ours else of_ours for n in many)[:-1]
    body = (b'{"Body":{%s}}' if b":" in of_ours else b'{"Body":[%s]}') % values
    body += b" " * (most - len(body))
    claims = [body.decode() for _ in range(SLICE_BYTES // most + 1)]
    with traced() as memory:
        # All that may be judged at once, and what was parsed of it is held together; then the segment is laid out.
        held = [parse(claim.encode(), max_bytes=most) for claim in claims]
        segment = b"".join(dumps(claim) for claim in claims)
    assert len(held) * most <= len(segment)
    assert memory.peak < memory_bytes("WorkerFunction") / 4


@pytest.mark.parametrize("details", [NlwebDetails(), Dm3Details(b"\1" * 32)], ids=["nlweb", "dm3"])
def test_the_largest_dead_letters_use_half_of_their_handlers_memory(deployed: Deployed, details: Details) -> None:
    stack, at = PipelineStack(deployed), DeploymentSettings()
    if isinstance(details, NlwebDetails):  # the handler reads whom to notify
        values = ",".join(["{}"] * (MAX_VALUES // 2 - 20))
        envelope = f'{{"\U0001f91d":[{values}]}}'.ljust(at.nlweb_max_body_bytes - 3)
    else:
        envelope = "\U0001f91d".ljust(at.dm3_size_limit_bytes - 3)
    # Of the release before: later ones are decided without their objects.
    dead = []
    for number in range(DEAD_LETTERS_AT_ONCE):
        row = row_key(SHOP, 1, int(NOW * 1000), f"c{number}")
        claim = Claim(f"c{number}", int(NOW * 1000), SHOP, row, "192.0.2.1", envelope, details)
        name = json.loads(pack(claim, stack.objects.put))["at"]
        dead.append(DeadLetter(f"dead letter {number}", json.dumps({"at": name, "tries": 0})))
    stack.clock.now += HORIZON
    handler = stack.dead_letter_handler()
    with traced() as memory:
        kept = handler.keep(dead)
    assert len(kept.outcomes) == DEAD_LETTERS_AT_ONCE
    assert memory.peak < memory_bytes("DeadLetterFunction") / 2


def test_a_batch_of_the_longest_waiting_claims_uses_a_quarter_of_the_memory(deployed: Deployed) -> None:
    stack = PipelineStack(deployed)
    stack.silent_zone = lambda _: SENDER
    stack.keys.published[SENDER_KEY_NAME] = NotNowError(KEY_LOOKUP_FAILED)
    row = row_key(SHOP, 1, int(NOW * 1000), "c")
    claim = Claim("c", int(NOW * 1000), SHOP, row, "192.0.2.1", "\U0001f91d", NlwebDetails())
    shortest = QueuedClaim(claim).awaiting(SENDER_KEY_NAME)
    envelope = claim.envelope + "x" * (MAX_BODY_BYTES - len(shortest.body()))
    body = QueuedClaim(replace(claim, envelope=envelope)).awaiting(SENDER_KEY_NAME).body()
    assert len(body) == MAX_BODY_BYTES
    waiting_claims = replace(stack.parts().pipeline.waiting_claims, waiting=FakeHideQueue())
    batch = range(function("WaitingFunction")["Events"]["Waiting"]["Properties"]["BatchSize"])
    with traced() as memory:
        records = [WaitingRecord(f"w{number}", bytes(body, "ascii").decode(), f"r{number}") for number in batch]
        assert len(waiting_claims.look_again(records)) == len(records)
    assert memory.peak < memory_bytes("WaitingFunction") / 4


@dataclass
class Web:
    """All other hosts, and a graph. `page`: every manifest; None: no host answers."""

    page: bytes | None = b""
    reply: bytes = b""
    status: int = 200

    def get(self, url: str, accept: str, seconds: float) -> HttpsResponse:
        if self.page is None:
            raise NotNowError(OUTBOUND_FAILED, f"{url} did not answer in time")
        return HttpsResponse(self.status, {}, bytes(bytearray(self.page)))

    def post(self, url: str, body: bytes, content_type: str) -> HttpsResponse:
        return HttpsResponse(200, {}, bytes(bytearray(self.reply)))

    def first(self) -> tuple[str, SigningKey]:
        return SHOP, SigningKey("pk1", OUR_KEY)


def repeated(unit: bytes, most: int) -> bytes:
    return b"[" + unit * ((most - 3) // len(unit)) + b"0]"


def longest_name(number: int) -> str:
    return ".".join([f"n{number}", "a" * 63, "b" * 63, "c" * 63, "d"]).ljust(names.MAX_NAME - 2, "d") + ".e"


COSTLIEST = [
    (repeated(b"[],", MAX_MANIFEST_BYTES), b""),
    (repeated(b"a,", MAX_MANIFEST_BYTES), b""),
    (b"?\n" * (MAX_MANIFEST_BYTES // 2), b""),
    (b"x" * MAX_RESPONSE_BYTES, repeated(b"{},", MAX_REPLY_BYTES)),
    (b"x" * MAX_RESPONSE_BYTES, b"x" * MAX_RESPONSE_BYTES),
]
"""Manifests, and what a graph says where they cannot be read: as much as is parsed, and more than is."""


def test_a_batch_of_the_costliest_responses_uses_a_small_part_of_the_couriers_memory() -> None:
    assert len(COSTLIEST) == function("FeedbackFunction")["Events"]["Discards"]["Properties"]["BatchSize"]
    web = Web()
    domains = amount(quick=MAX_DOMAINS // 4, all=MAX_DOMAINS // 4, proof=MAX_DOMAINS)
    with traced() as memory:
        manifests = ManifestDirectory(web, lambda: NOW, lambda _: None)
        buffers = FeedbackBuffers(manifests, GraphDomain("graph.example", web, web, lambda: NOW, uuid.uuid4))
        # All that it may remember of others: what a graph says of them, and that their hosts fail.
        web.status = 404
        for number in range(domains):
            web.reply = b'{"Feedback":"%b"}' % longest_name(number).encode()
            assert buffers.feedback_domain_of(longest_name(number)) == longest_name(number)
        web.page = None
        for number in range(domains):
            with pytest.raises(NotNowError):
                buffers.feedback_domain_of(longest_name(MAX_DOMAINS + number))
        web.status = 200
        (kept, filling), peaks = tracemalloc.get_traced_memory(), []
        for number, (web.page, web.reply) in enumerate(COSTLIEST):
            tracemalloc.reset_peak()
            assert buffers.feedback_domain_of(f"hostile{number}.example") is None
            peaks.append(tracemalloc.get_traced_memory()[1] - kept)
    # They are read at the same time.
    assert max(filling, memory.peak, kept + sum(peaks)) < memory_bytes("FeedbackFunction") / 8


def test_the_costliest_batch_of_owners_uses_half_of_the_couriers_memory() -> None:
    """As many values as are read, and as many bytes as can be queued."""
    bodies: list[JsonValue] = [
        [{} for _ in range(MAX_VALUES - 100)],
        {f"{number:06d}": {} for number in range(MAX_VALUES // 2 - 100)},
        "\U0001f91d" + "x" * (MAX_BODY_BYTES - 2000),
    ]
    peaks = []
    for body in bodies:
        draft = Draft("us.example", "them.example", "Greetings", str(uuid.uuid4()), int(NOW * 1000), body, "pk1")
        queued = Outgoing(draft, "carrier").encode()
        assert len(queued) <= MAX_BODY_BYTES
        with traced() as memory:
            read = read_queue_message(queued)
            assert isinstance(read, Outgoing)
            json.dumps(sign(replace(read.draft, selector="pk1"), OUR_KEY)).encode()
        peaks.append(memory.peak)
    size = function("CourierFunction")["Events"]["QueueMessages"]["Properties"]["BatchSize"]
    assert size * max(peaks) < memory_bytes("CourierFunction") / 2


@pytest.mark.parametrize(
    ("read", "most", "name"),
    [
        (names.read_sender, names.REMEMBERED, "n{}.example"),
        (names.read_receiver, names.REMEMBERED, "n{}.example"),
        (partial(names.read_selector, member="DKIM"), names.REMEMBERED, "n{}"),
        (keys._owner, keys.NAMES_READ, "pk1._domainkey.n{}.example"),
        (ethereum.address_of_digits, ethereum.ADDRESSES_READ, "{:040x}"),
        (ethereum.read_address, ethereum.ADDRESSES_READ, "0x{:040x}"),
    ],
    ids=["From", "To", "selector", "name of a key", "digits of an address", "address"],
)
def test_the_number_of_remembered_names_is_limited(read: Callable[[str], object], most: int, name: str) -> None:
    memory: Any = read.func if isinstance(read, partial) else read
    assert memory in MEMOS
    for others, was_remembered in ((most - 1, 1), (most, 0)):
        memory.cache_clear()
        for number in range(1 + others):
            read(name.format(number))
        read(name.format(0))
        assert memory.cache_info().hits == was_remembered


def test_every_cache_in_deployed_code_has_a_limit() -> None:
    found = []
    for path in LIBRARY.rglob("*.py"):
        if path.relative_to(LIBRARY).parts[0] in NOT_DEPLOYED:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                found += [ast.unparse(each) for each in node.decorator_list if "cache" in ast.unparse(each)]
    assert set(found) == {
        # Of chats, which no function loads.
        "lru_cache(KEYS_READ)",
        "lru_cache(KNOWN_EVENTS)",
        "lru_cache(REMEMBERED)",
        "lru_cache(NAMES_READ)",
        "lru_cache(ADDRESSES_READ)",
        "lru_cache(16)",
        "lru_cache(1024)",
        "lru_cache(_MOST_EXPRESSIONS)",
        "lru_cache(1)",
        "cached_property",
    }
