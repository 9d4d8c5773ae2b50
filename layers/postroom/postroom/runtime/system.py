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
    """A fresh identifier: 128 random bits in hex."""
    return secrets.token_hex(16)


def new_uuid() -> str:
    """A fresh UUID."""
    return str(uuid.uuid4())


def new_threads(most: int) -> Executor:
    """What runs so many calls at once."""
    return ThreadPoolExecutor(most)


class System:
    """Those of the machine, unless said otherwise.

    `clock`: epoch seconds; `monotonic`: seconds that nobody sets; `sleep`: waits for so many; `jitter`: a number from
    0 to 1.
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
        threads: Callable[[int], Executor] = new_threads,
    ) -> None:
        # Looked up now, not when this module is read: tests that run functions set the clocks ahead.
        self.clock = clock or time.time
        self.monotonic = monotonic or time.monotonic
        self.sleep = sleep or time.sleep
        self.new_id = new_id
        self.new_uuid = new_uuid
        self.jitter = jitter
        self.threads = threads
