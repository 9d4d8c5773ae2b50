"""The state of the embedded AWS is on disk before what it promises is answered."""

import asyncio
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ministack.core import persistence
from ministack.core.responses import AccountRegionScopedDict
from tests.patience import PATIENCE

from postroom.local import kept_state
from postroom.local.kept_state import KeptState

CALL = {"type": "http", "path": "/2015-03-31/functions/f/invocations", "headers": []}
_SIGNED = b"AWS4-HMAC-SHA256 Credential=1/20261129/us-east-1/%b/aws4_request, SignedHeaders=host, Signature=0"
ANSWER = [{"type": "http.response.start", "status": 200, "headers": []}, {"type": "http.response.body", "body": b"ok"}]


def request(service: bytes, method: str = "POST", query: bytes = b"") -> dict[str, Any]:
    signed = [(b"authorization", _SIGNED % service)]
    return {"type": "http", "method": method, "path": "/", "query_string": query, "headers": signed}


class Disk:
    """What is written instead of files: whether each snapshot is of all services. `number`: of changes so far."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.number = 0
        self.snapshots: list[tuple[int, bool]] = []
        self.written: list[int] = []
        self.faults: list[Exception] = []
        self.may_write = threading.Event()
        self.may_write.set()
        monkeypatch.setattr(kept_state, "_snapshot", self._snapshot)
        monkeypatch.setattr(kept_state, "_write", self._write)

    def _snapshot(self, *, of_all: bool) -> int:
        self.snapshots.append((self.number, of_all))
        return self.number

    def _write(self, number: int) -> None:
        assert self.may_write.wait(PATIENCE)
        if self.faults:
            raise self.faults.pop()
        self.written.append(number)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


async def answered(app: KeptState, scope: dict[str, Any], sent: Callable[[dict[str, Any]], None]) -> None:
    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b""}

    async def send(message: dict[str, Any]) -> None:
        sent(message)

    await app(scope, receive, send)


def changing(disk: Disk) -> KeptState:
    """An application each of whose requests changes something."""

    async def app(_scope: object, _receive: object, send: Any) -> None:
        disk.number += 1
        for message in ANSWER:
            await send(message)

    return KeptState(app)


def test_the_answer_of_a_function_waits_for_a_snapshot_that_began_after_it(disk: Disk) -> None:
    async def scenario() -> None:
        app, sent = changing(disk), []
        await answered(app, CALL, lambda message: sent.append((message["type"], list(disk.written))))
        assert sent == [("http.response.start", [1]), ("http.response.body", [1])]

    asyncio.run(scenario())


def test_several_answers_share_a_snapshot(disk: Disk) -> None:
    async def scenario() -> None:
        app = changing(disk)
        disk.may_write.clear()
        first = asyncio.create_task(answered(app, CALL, lambda _: None))
        while not disk.snapshots:
            await asyncio.sleep(0)
        others = [asyncio.create_task(answered(app, CALL, lambda _: None)) for _ in range(9)]
        while disk.number < 10:
            await asyncio.sleep(0)
        assert not first.done()
        disk.may_write.set()
        await asyncio.gather(first, *others)
        assert disk.written == [1, 10]

    asyncio.run(scenario())


def test_nothing_is_answered_until_the_state_can_be_written(disk: Disk, caplog: pytest.LogCaptureFixture) -> None:
    disk.faults = [OSError("no space"), OSError("no space")]
    asyncio.run(answered(changing(disk), CALL, lambda _: None))
    assert disk.written == [1]
    assert caplog.text.count("the state could not be written; it is tried again") == 2


def test_other_requests_are_answered_at_once_and_written_soon(disk: Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_state, "_MOST_SECONDS", 0.01)

    async def scenario() -> None:
        app = changing(disk)
        disk.may_write.clear()
        await answered(app, request(b"dynamodb"), lambda _: None)
        disk.may_write.set()
        while disk.written != [1]:
            await asyncio.sleep(0)

    asyncio.run(asyncio.wait_for(scenario(), PATIENCE))


@pytest.mark.parametrize(("method", "query"), [("DELETE", b""), ("POST", b"delete")])
def test_an_object_is_deleted_when_what_made_it_garbage_is_on_disk(disk: Disk, method: str, query: bytes) -> None:
    """A row that names another object, or a message that is filed: MiniStack deletes the file at once."""

    async def scenario() -> None:
        deleted: list[list[int]] = []

        async def app(scope: dict[str, Any], _receive: object, send: Any) -> None:
            deleted.append(list(disk.written))
            for message in ANSWER:
                await send(message)

        disk.number = 7
        await answered(KeptState(app), request(b"s3", method, query), lambda _: None)
        assert deleted == [[7]]

    asyncio.run(scenario())


@pytest.mark.parametrize(("service", "of_all"), [(b"lambda", True), (b"iam", True), (b"sqs", False), (b"s3", False)])
def test_all_services_are_written_if_one_has_changed_that_functions_do_not_change(
    disk: Disk, service: bytes, of_all: bool
) -> None:
    async def scenario() -> None:
        app = changing(disk)
        await answered(app, request(service), lambda _: None)
        await answered(app, CALL, lambda _: None)
        await answered(app, CALL, lambda _: None)

    asyncio.run(scenario())
    assert disk.snapshots == [(2, of_all), (3, False)]


def test_the_last_snapshot_is_complete_before_ministack_writes_its_state_and_ends(disk: Disk) -> None:
    async def scenario() -> None:
        received: list[str] = []

        async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
            if scope["type"] == "lifespan":
                received.append((await receive())["type"])
                return
            for message in ANSWER:
                await send(message)

        kept = KeptState(app)
        disk.may_write.clear()
        call = asyncio.create_task(answered(kept, CALL, lambda _: None))
        while not disk.snapshots:
            await asyncio.sleep(0)

        async def ends() -> dict[str, Any]:
            return {"type": "lifespan.shutdown"}

        async def nothing(_: object) -> None:
            pass

        asyncio.get_running_loop().call_later(0.05, disk.may_write.set)
        await kept({"type": "lifespan"}, ends, nothing)
        assert (received, disk.written) == (["lifespan.shutdown"], [0])
        call.cancel()

    asyncio.run(asyncio.wait_for(scenario(), PATIENCE))


def test_files_of_queues_are_replaced_last(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Between two of them, a message may be in its queue and filed, and never in neither."""
    monkeypatch.setattr(persistence, "STATE_DIR", str(tmp_path))
    order: list[str] = []
    states = {name: (lambda name=name: order.append(name) or {"of": name}) for name in ("sqs", "iam", "dynamodb", "s3")}
    monkeypatch.setattr(kept_state.ministack.app, "_build_persistence_save_dict", lambda: states)
    files = kept_state._snapshot(of_all=True)
    assert list(files) == ["iam", "s3", "dynamodb", "sqs"]
    kept_state._write(files)
    assert json.loads((tmp_path / "sqs.json").read_text())["payload"] == {"of": "sqs"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dynamodb.json", "iam.json", "s3.json", "sqs.json"]


def test_all_queues_are_copied_in_one_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy in which a thread moves messages meanwhile could miss some."""
    monkeypatch.setattr(kept_state.sqs, "copy", kept_state.sqs.copy)
    kept_state.copy_queues_in_one_step()
    queues = AccountRegionScopedDict()
    for name in "ab":
        queues._data["1", "us-east-1", name] = {"messages": [{"id": number} for number in range(2_000)]}
    first, second = (queues._data["1", "us-east-1", name]["messages"] for name in "ab")
    over = threading.Event()

    def move() -> None:
        while not over.is_set():
            second.append(first[0])
            del first[0]
            first.append(second[0])
            del second[0]

    thread = threading.Thread(target=move)
    thread.start()
    try:
        for _ in range(50):
            copied = kept_state.sqs.copy.deepcopy(queues)
            found = {each["id"] for queue in copied._data.values() for each in queue["messages"]}
            assert found == set(range(2_000))
    finally:
        over.set()
        thread.join()
