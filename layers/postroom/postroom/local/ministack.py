"""MiniStack for one stack, with limits on the processes of each function: `ministack.py QUEUE HTTP`, run by `emulator`.

MiniStack itself starts one more process for each invocation that finds none idle. Its settings only refuse invocations
above a limit, as AWS does. Here they wait: at most QUEUE invocations run at a time of a function that a queue feeds,
and HTTP of any other; of several queues, none takes all of them. A batch is received from its queue only when it can
run at once, because its visibility timeout begins then. MiniStack also ends all processes of a function when one of
them dies before it is ready; here only that one ends. It ends a function by its Timeout, and waits 50 ms for what it
logged; here, it gives them time. When MiniStack is told to stop, it waits for running invocations before it writes its
state; here they are stopped. MiniStack asks for a permission `sqs:…Batch` of its own; here, as on AWS, whoever may
send, delete or hide a message may do the same with a batch. MiniStack answers everybody; here, only requests that are
signed by a key of this stack (`signed_requests`). MiniStack extracts code and layers for each process; here the
processes share the files, and what Python compiles of them. MiniStack parses conditions and policies again and again,
and evaluates conditions for each row; here, they are parsed once, and texts are compared (`conditions`).

tests/local/test_processes.py tests which parts of MiniStack are replaced, and what they depend on.
"""

import array
import asyncio
import fcntl
import functools
import hashlib
import itertools
import os
import signal
import sys
import tempfile
import termios
import zipfile
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Condition, Lock, Thread
from types import SimpleNamespace
from typing import Any, Final

import hypercorn.asyncio
import ministack.app
from ministack.core import iam_actions, lambda_runtime, persistence
from ministack.services import lambda_svc

from postroom.local.conditions import compare_texts, parse_once
from postroom.local.kept_state import KeptState, copy_queues_in_one_step, show_hidden_messages
from postroom.local.patience import FUNCTION_SECONDS
from postroom.local.signed_requests import SignedRequests, draw_secrets_of_functions

_LOOK_SECONDS: Final = 0.05
Key = str
"""The key by which MiniStack counts the invocations of a function: `account:region:name`."""
Mapping = tuple[str, str, dict[str, Any]]
"""An event source mapping: account, region, and MiniStack's record of it."""


class InvocationSlots:
    """The number of running invocations, by function; others wait, first come, first served.

    A function that invokes itself and waits may time out.
    """

    def __init__(self, queue: int, http: int) -> None:
        self._queue, self._http = queue, http
        self._running: Counter[Key] = Counter()
        self._lines: defaultdict[Key, deque[object]] = defaultdict(deque)
        self._changed = Condition()
        self._closed = False

    def take(self, key: Key) -> bool:
        """Wait for a slot, and take it. False: there are no more slots, because the process stops."""
        ticket = object()
        with self._changed:
            line = self._lines[key]
            line.append(ticket)
            try:
                self._changed.wait_for(
                    lambda: self._closed or (line[0] is ticket and self._running[key] < self._bound(key))
                )
            finally:
                line.remove(ticket)
                self._changed.notify_all()  # the next one may get a slot at once: the limit may have been raised
            if not self._closed:
                self._running[key] += 1
            return not self._closed

    def give_back(self, key: Key) -> None:
        """Return the slot of an invocation that has ended."""
        with self._changed:
            self._running[key] -= 1
            self._changed.notify_all()

    def close(self) -> None:
        """Give out no more slots from now on, and end all waiting."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    @property
    def any_taken(self) -> bool:
        """Whether any invocation of any function is running."""
        return self._running.total() > 0

    def free(self, key: Key) -> int:
        """How many more batches may be received for this function; those received count before they run, too."""
        taken: int = sum(lambda_svc._esm_inflight.get(mapping["UUID"], 0) for mapping in _mappings_to(key))
        return self._bound(key) - max(taken, self._running[key] + len(self._lines[key]))

    def most_of_one_queue(self, key: Key) -> int:
        """How many batches of one queue may run at once: a slot is left to the other queues of its function."""
        queues = sum(1 for _ in _mappings_to(key))
        return max(1, self._bound(key) - (queues > 1))

    def _bound(self, key: Key) -> int:
        if self._closed:
            return 0
        return self._queue if any(_mappings_to(key)) else self._http


_mappings: Callable[[], Iterator[Mapping]] = lambda_svc._iter_all_esms


def _mappings_to(key: Key) -> Iterator[dict[str, Any]]:
    for account, region, mapping in _mappings():
        if f"{account}:{region}:{mapping['FunctionName']}" == key:
            yield mapping


def bound_processes(slots: InvocationSlots) -> None:
    """Use the slots where MiniStack counts invocations, and where it decides whether to receive a batch."""
    numbers = itertools.count(1)
    served: Counter[str] = Counter()
    acquire, release = lambda_svc._acquire_execution_slot, lambda_svc._release_execution_slot
    concurrency, dispatch = lambda_svc._sqs_esm_concurrency, lambda_svc._dispatch_esm_batch

    def acquire_slot(function: Any, config: dict[str, Any]) -> Any:
        key = lambda_svc._inflight_key(config)
        if not slots.take(key):
            return None, "account"
        slot = None
        try:
            slot, limit = acquire(function, config)
        finally:
            if slot is None:
                slots.give_back(key)
        return slot, limit

    def release_slot(slot: Key) -> None:
        release(slot)
        slots.give_back(slot)

    def concurrency_of_slots(mapping: dict[str, Any], function: Any, config: dict[str, Any], queue: Any = None) -> int:
        taken: int = lambda_svc._esm_inflight.get(mapping["UUID"], 0)
        key = lambda_svc._inflight_key(config)
        allowed: int = concurrency(mapping, function, config, queue)
        return min(allowed, slots.most_of_one_queue(key), taken + slots.free(key))

    def dispatch_numbered(mapping_id: str, *batch: Any) -> None:
        served[mapping_id] = next(numbers)
        dispatch(mapping_id, *batch)

    def mappings_by_last_batch() -> Iterator[Mapping]:
        # The first mapping takes what is free: a long queue must not keep its function from the other queues.
        return iter(sorted(_mappings(), key=lambda found: served[found[2]["UUID"]]))

    lambda_svc._acquire_execution_slot = acquire_slot
    lambda_svc._release_execution_slot = release_slot
    lambda_svc._sqs_esm_concurrency = concurrency_of_slots
    lambda_svc._dispatch_esm_batch = dispatch_numbered
    lambda_svc._iter_all_esms = mappings_by_last_batch


def fail_alone() -> None:
    """Do not tell MiniStack that a process died: it would end all others of the same function."""
    invoke = lambda_runtime.Worker.invoke

    @functools.wraps(invoke)
    def invoke_alone(worker: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return invoke(worker, *args, **kwargs)
        except Exception as error:
            lambda_svc.logger.error("Warm worker execution error for %s: %s", worker.func_name, error)
            worker.kill()
            return {"status": "error", "error": str(error)}

    lambda_runtime.Worker.invoke = invoke_alone


def give_time() -> None:
    """End only a function that hangs, and return all that it logged, on a busy machine, too.

    MiniStack ends a function by its Timeout, and waits 50 ms for what it logged; later lines would be those of the
    next invocation.
    """
    invoke, drain = lambda_runtime.Worker.invoke, lambda_runtime.Worker._drain_stderr_bounded

    @functools.wraps(invoke)
    def invoke_for_long(worker: Any, *args: Any, **kwargs: Any) -> Any:
        worker.config = {**worker.config, "Timeout": FUNCTION_SECONDS}
        return invoke(worker, *args, **kwargs)

    @functools.wraps(drain)
    def drain_all(worker: Any, **waits: float) -> str:
        found = [drain(worker, **waits)]
        while _has_unread_lines(worker):
            found.append(drain(worker, **waits))
        return "\n".join(lines for lines in found if lines)

    lambda_runtime.Worker.invoke = invoke_for_long
    lambda_runtime.Worker._drain_stderr_bounded = drain_all


def _has_unread_lines(worker: Any) -> bool:
    """Whether its process wrote lines that MiniStack's thread has not taken yet."""
    process = worker._proc
    if process is None or process.poll() is not None:
        return False
    size = array.array("i", [0])
    fcntl.ioctl(process.stderr, termios.FIONREAD, size)
    return size[0] > 0


def stop_at_once(slots: InvocationSlots) -> None:
    """Let no invocation keep MiniStack from writing its state, for which it has little time when it is stopped."""

    async def stopped() -> None:
        stopping = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopping.set)
        await stopping.wait()
        slots.close()
        # Again and again: a process may be about to start.
        while slots.any_taken:
            pools = list(lambda_runtime._workers.values())
            lambda_runtime.kill_workers([worker for pool in pools for worker in pool])
            await asyncio.sleep(_LOOK_SECONDS)

    hypercorn.asyncio.serve = functools.partial(hypercorn.asyncio.serve, shutdown_trigger=stopped)


def authorize_batches_as_single_messages() -> None:
    """Name a request of SQS for a batch by the permission that AWS requires for it."""
    action = iam_actions.extract_iam_action

    def action_of(service: str, *request: Any, **more: Any) -> Any:
        named = action(service, *request, **more)
        return named.removesuffix("Batch") if named and service == "sqs" else named

    iam_actions.extract_iam_action = action_of


def keep_state() -> None:
    """Write the state while it changes, if it is to be kept."""
    if persistence.PERSIST_STATE:
        ministack.app.app = KeptState(ministack.app.app)
        show_hidden_messages()
        copy_queues_in_one_step()


def end_with_supervisor() -> None:
    """End this process and its functions when its supervisor ends in any way: then the other end of stdin is closed."""

    def wait() -> None:
        while os.read(0, 1024):
            pass
        os.killpg(0, signal.SIGKILL)

    Thread(target=wait, daemon=True).start()


def require_signatures(host: str, secret: str) -> None:
    """Answer only requests to `host` that are signed by a key of this stack."""
    ministack.app.app = SignedRequests(ministack.app.app, host)
    draw_secrets_of_functions(secret)


class _SharedZip(zipfile.ZipFile):
    """A zip file that is extracted once: then `path` is a link to what is there."""

    # Not `_lock`: each ZipFile has its own under that name.
    _extracting = Lock()

    def extractall(self, path: Any = None, members: Any = None, pwd: bytes | None = None) -> None:
        content = Path(str(self.filename)).read_bytes()
        shared = Path(tempfile.gettempdir(), f"code-{hashlib.sha256(content).hexdigest()}")
        with self._extracting:
            if not shared.exists():
                fresh = shared.with_suffix(".new")
                super().extractall(fresh, members, pwd)
                fresh.rename(shared)
        link = Path(path)
        if link.exists():
            link.rmdir()
        link.symlink_to(shared)


def share_code() -> None:
    """Extract the same code once, not for each process: it is hundreds of files, which are deleted at the end, too."""
    lambda_runtime.zipfile = SimpleNamespace(**{**vars(zipfile), "ZipFile": _SharedZip})


if __name__ == "__main__":
    slots = InvocationSlots(*map(int, sys.argv[1:]))
    bound_processes(slots)
    fail_alone()
    give_time()
    authorize_batches_as_single_messages()
    share_code()
    parse_once()
    compare_texts()
    stop_at_once(slots)
    keep_state()
    end_with_supervisor()
    require_signatures(f"{os.environ['BIND_HOST']}:{os.environ['GATEWAY_PORT']}", os.environ["AWS_SECRET_ACCESS_KEY"])
    del sys.argv[1:]  # MiniStack reads arguments, too
    ministack.app.main()
