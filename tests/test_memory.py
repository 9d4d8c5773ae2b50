"""What the worker remembers of strangers is bounded; benchmarks/bench_memory.py holds it over 100,000 messages."""

import ast
import gc
import logging
import sys
import tracemalloc
from functools import partial
from pathlib import Path

import pytest
from benchmarks.lone_worker import BATCH, lone_worker
from orjson import dumps
from tests.aws import template

from postroom.ijson import MAX_VALUES, parse
from postroom.names.cache import Cache
from postroom.names.keys import KeepTimes
from postroom.post import dm3_door, wiring
from postroom.post.worker import SLICE_BYTES
from postroom.settings import Settings

LIBRARY = Path(__file__).parent.parent / "layers" / "postroom" / "postroom"
NOT_DEPLOYED = {"cli", "client", "local"}
MESSAGES = 6 * BATCH
FEW, GROWTH_BYTES = 50, 200_000


def grown_in_the_second_half(monkeypatch: pytest.MonkeyPatch, max_names: int) -> tuple[int, int]:
    """Bytes that are held more at the end than half way, of different senders; the entries of the largest cache."""
    monkeypatch.setattr(wiring, "KeepTimes", partial(KeepTimes, max_names=max_names))
    monkeypatch.setattr(logging.root.manager, "disable", logging.CRITICAL)  # pytest keeps what is logged
    before = {id(each) for each in caches()}
    with lone_worker() as worker:

        def work() -> int:
            # Every second sender has no key.
            worker.work(MESSAGES // 2, lambda number: f"{'sn'[number % 2]}{number}.senders")
            gc.collect()
            return tracemalloc.get_traced_memory()[0]

        tracemalloc.start()
        grown = -work() + work()
        tracemalloc.stop()
        return grown, max(len(each) for each in caches() if id(each) not in before)


def caches() -> list[Cache[object]]:
    return [each for each in gc.get_objects() if isinstance(each, Cache)]


def test_different_senders_make_the_worker_no_larger(monkeypatch: pytest.MonkeyPatch) -> None:
    grown, entries = grown_in_the_second_half(monkeypatch, FEW)
    assert grown < GROWTH_BYTES
    assert entries == FEW


def test_a_cache_without_its_bound_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    grown, entries = grown_in_the_second_half(monkeypatch, sys.maxsize)
    assert grown > 2 * GROWTH_BYTES
    assert entries == MESSAGES // 2


MOST = dm3_door.MAX_BODY_BYTES
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
def test_the_costliest_bodies_leave_the_door_most_of_its_memory(body: bytes) -> None:
    tracemalloc.start()
    parse(body, max_bytes=MOST)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < template()["Globals"]["Function"]["MemorySize"] * 1024 * 1024 / 4


@pytest.mark.parametrize("of_ours", [b"{},", b'"%d":{},', b'"",'], ids=["containers", "names", "texts"])
def test_the_costliest_part_of_a_batch_leaves_the_worker_half_its_memory(of_ours: bytes) -> None:
    most, many = Settings().nlweb_max_body_bytes, range(MAX_VALUES // 2 - 20)
    values = b"".join(of_ours % n if b"%" in of_ours else of_ours for n in many)[:-1]
    body = (b'{"Body":{%s}}' if b":" in of_ours else b'{"Body":[%s]}') % values
    body += b" " * (most - len(body))
    claims = [body.decode() for _ in range(SLICE_BYTES // most + 1)]
    tracemalloc.start()
    # All that may be judged at once, and what was parsed of it is held together; then the segment is laid out.
    held = [parse(claim.encode(), max_bytes=most) for claim in claims]
    segment = b"".join(dumps(claim) for claim in claims)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(held) * most <= len(segment)
    assert peak < template()["Globals"]["Function"]["MemorySize"] * 1024 * 1024 / 2


def test_nothing_that_is_deployed_memoises_without_a_bound() -> None:
    found = []
    for path in LIBRARY.rglob("*.py"):
        if path.relative_to(LIBRARY).parts[0] in NOT_DEPLOYED:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                found += [ast.unparse(each) for each in node.decorator_list if "cache" in ast.unparse(each)]
    assert set(found) == {"lru_cache(REMEMBERED)", "lru_cache(NAMES_READ)", "cached_property"}
