"""Clock, randomness and threads of the process that a deployment's objects live in."""

import random
import secrets
import time
import uuid
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Final

_RANDOM: Final = random.SystemRandom()


def new_id() -> str:
    """A new identifier: 128 random bits in hex."""
    return secrets.token_hex(16)


def new_uuid() -> str:
    """A new UUID."""
    return str(uuid.uuid4())


def new_threads(most: int) -> Executor:
    """A pool that runs this number of calls at the same time."""
    return ThreadPoolExecutor(most)


class System:
    """The clock and randomness of the machine, unless others are given.

    `clock`: epoch seconds; `monotonic`: seconds that are never set back; `sleep`: waits for a number of seconds;
    `jitter`: a number from 0 to 1.
    """

    def __init__(
        self,
        *,
        clock: Callable[[], float] | None = None,
        monotonic: Callable[[], float] | None = None,
        sleep: Callable[[float], None] | None = None,
        new_id: Callable[[], str] = new_id,
        new_uuid: Callable[[], str] = new_uuid,
        jitter: Callable[[], float] = _RANDOM.random,
        random_bytes: Callable[[int], bytes] = secrets.token_bytes,
        threads: Callable[[int], Executor] = new_threads,
    ) -> None:
        # Looked up now, not when this module is imported: tests that run functions set the clocks ahead.
        self.clock = clock or time.time
        self.monotonic = monotonic or time.monotonic
        self.sleep = sleep or time.sleep
        self.new_id = new_id
        self.new_uuid = new_uuid
        self.jitter = jitter
        self.random_bytes = random_bytes
        self.threads = threads
