"""The state of the embedded AWS on disk, written while it runs: what was promised survives a `kill -9` of everything.

MiniStack writes its state when it ends, and objects of S3 at once. Here, the answer of a function is held until a
snapshot that began after it is on disk. Several answers share one. What operators change without a function is on disk
a second later.

A snapshot is taken between two requests. The threads that feed functions go on meanwhile, so all queues are copied in
one step, and before everything else; and the files are replaced one after the other, those of queues last. So a
message may be in its queue although it is filed, and is delivered again, which files nothing twice. It is never missing
in both.
"""

import asyncio
import json
import logging
import pickle
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import ministack.app
from ministack.core import persistence
from ministack.services import sqs

from postroom.local.signed_requests import Asgi

_Receive = Callable[[], Any]
_Send = Callable[[dict[str, Any]], Any]
_MOST_SECONDS: Final = 1.0
"""How long a change that no function made may be in memory only."""
_AGAIN_SECONDS: Final = 0.1
_DATA: Final = ("s3", "dynamodb", "sns", "secretsmanager", "sqs")
"""The services that functions change, in the order in which their files are replaced."""
_SERVICE: Final = re.compile(r"Credential=[^/]+/[^/]+/[^/]+/([a-z0-9-]+)/aws4_request")
_log: Final = logging.getLogger(__name__)


class KeptState:
    """An ASGI application that writes the state of MiniStack, which is another one, to disk."""

    def __init__(self, app: Asgi) -> None:
        self._app = app
        self._waiting: list[asyncio.Future[None]] = []
        self._wanted = asyncio.Event()
        self._is_changed = self._are_others_changed = False
        self._writer: asyncio.Task[None] | None = None
        self._writing: asyncio.Future[None] | None = None

    async def __call__(self, scope: dict[str, Any], receive: _Receive, send: _Send) -> None:
        """Answer one request."""
        if scope["type"] == "lifespan":
            await self._app(scope, self._ending(receive), send)
            return
        if self._writer is None:
            self._writer = asyncio.create_task(self._write_for_ever())
        answer: list[dict[str, Any]] = []

        async def hold(message: dict[str, Any]) -> None:
            answer.append(message)

        is_call, service = scope["path"].endswith("/invocations"), _service_of(scope)
        if service == "s3" and _deletes(scope):
            # Objects are deleted on disk at once: what made them garbage must be there before.
            await self._written()
        try:
            await self._app(scope, receive, hold if is_call else send)
        finally:
            self._is_changed = True
            self._are_others_changed |= not is_call and service not in _DATA
        if is_call:
            await self._written()
        for message in answer:
            await send(message)

    def _ending(self, receive: _Receive) -> _Receive:
        """The messages of the server. Before it ends, and MiniStack writes all state, the last snapshot is complete."""

        async def received() -> dict[str, Any]:
            message: dict[str, Any] = await receive()
            if message["type"] == "lifespan.shutdown" and self._writer:
                self._writer.cancel()
                await asyncio.wait({self._writer, *filter(None, [self._writing])})
            return message

        return received

    async def _written(self) -> None:
        """Wait for a snapshot that begins from now on."""
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiting)
        self._wanted.set()
        await waiting

    async def _write_for_ever(self) -> None:
        while True:
            try:
                await asyncio.wait_for(self._wanted.wait(), _MOST_SECONDS)
            except TimeoutError:
                if not self._is_changed:
                    continue
            self._wanted.clear()
            waiting, self._waiting = self._waiting, []
            of_all = self._are_others_changed
            self._is_changed = self._are_others_changed = False
            try:
                self._writing = asyncio.ensure_future(asyncio.to_thread(_write, _snapshot(of_all=of_all)))
                await asyncio.shield(self._writing)
            except Exception:
                # Nothing that is not on disk is promised.
                _log.exception("the state could not be written; it is tried again")
                self._waiting += waiting
                self._are_others_changed |= of_all
                self._wanted.set()
                await asyncio.sleep(_AGAIN_SECONDS)
                continue
            for each in waiting:
                if not each.done():
                    each.set_result(None)


def _service_of(scope: Mapping[str, Any]) -> str:
    signed = dict(scope["headers"]).get(b"authorization", b"").decode("latin-1")
    found = _SERVICE.search(signed)
    return found[1] if found else ""


def _deletes(scope: Mapping[str, Any]) -> bool:
    several = scope["method"] == "POST" and bytes(scope["query_string"]).startswith(b"delete")
    return several or scope["method"] == "DELETE"


def _snapshot(*, of_all: bool) -> dict[str, str]:
    """The files of the services in _DATA, as text, by name; `of_all`: and before them, those of all others."""
    states = ministack.app._build_persistence_save_dict()
    others = [name for name in states if name not in _DATA] if of_all else []
    # Queues first: a message that is taken from one meanwhile is in both.
    copied = {name: states[name]() for name in (*reversed(_DATA), *others) if name in states}
    return {name: _text(name, copied[name]) for name in (*others, *_DATA) if copied.get(name) is not None}


def _text(name: str, state: object) -> str:
    wrapped = {"__ministack_format__": persistence._state_format_version(name), "payload": state}
    return json.dumps(wrapped, default=persistence._json_default)


def _write(files: Mapping[str, str]) -> None:
    folder = Path(persistence.STATE_DIR)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        fresh = folder / f"{name}.json.new"
        fresh.write_text(text)
        fresh.replace(folder / f"{name}.json")


def show_hidden_messages() -> None:
    """When queues are loaded, let no message be hidden: the runs that received them have ended."""
    load = sqs.load_persisted_state

    def load_shown(data: Any) -> None:
        load(data)
        now = time.time()
        for queue in sqs._queues._data.values():
            for message in queue["messages"]:
                message["visible_at"] = min(message["visible_at"], now)

    sqs.load_persisted_state = load_shown


def copy_queues_in_one_step() -> None:
    """Copy all queues without letting another thread take a message from them meanwhile, as deepcopy does."""
    sqs.copy = SimpleNamespace(deepcopy=_copy_in_one_step)


def _copy_in_one_step(scoped: Any) -> Any:
    copied = type(scoped)()
    # Pickle runs no Python code for what is in a queue, and so gives no other thread a turn.
    copied._data = pickle.loads(pickle.dumps(scoped._data, pickle.HIGHEST_PROTOCOL))  # noqa: S301 - what it just wrote
    return copied
