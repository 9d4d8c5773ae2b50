"""The senders: each message is posted until there is an answer other than "not now".

An inbox that is killed while it processes a message leaves its sender without an answer. Then the same message is
posted again, as any sender does after a lost connection.
"""

import heapq
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from queue import Empty, Queue
from typing import Any, Final

from tests.soak.crew import Hand
from tests.soak.messages import SoakMessage
from tests.soak.mix import Kind

AGAIN_SECONDS: Final = 1.0
_NOT_NOW: Final = -32002
"""dm3's code for a temporary error."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The final answer of the inbox. `refused`: the reason; empty: accepted. `body`: a synchronous reply."""

    status: int
    refused: str = ""
    body: str = ""


class Posting:
    """A thread for each inbox. `answered`: is called with each final answer, by any of the threads."""

    def __init__(self, inboxes: Sequence[Hand], answered: Callable[[SoakMessage, Answer], None]) -> None:
        self.posts = self.unanswered = self.not_now = 0
        self._answered = answered
        # Few, because messages have the time of their creation, and an inbox processes one at a time.
        self._messages: dict[str, Queue[SoakMessage]] = {
            function: Queue(maxsize=8 * number) for function, number in Counter(it.function for it in inboxes).items()
        }
        self._later: dict[str, list[tuple[float, int, SoakMessage]]] = {function: [] for function in self._messages}
        self._numbers = count()
        self._lock = threading.Lock()
        self._open = 0
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._feed, args=(inbox,), daemon=True) for inbox in inboxes]
        for thread in self._threads:
            thread.start()

    def post(self, message: SoakMessage) -> None:
        """Queue a message; waits while the inboxes are busy."""
        with self._lock:
            self._open += 1
        self._messages[message.function].put(message)

    @property
    def open(self) -> int:
        """The number of queued messages without a final answer."""
        return self._open

    def close(self) -> None:
        """End the threads."""
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _feed(self, inbox: Hand) -> None:
        while not self._over.is_set():
            message = self._next(inbox.function)
            if message is None:
                continue
            try:
                answer = read_answer(message.kind, json.loads(inbox.ask(message.event)))
            except EOFError:
                self._put_off(message)
                self.unanswered += 1
                inbox.reopen()
                continue
            finally:
                self.posts += 1
            if answer is None:
                self.not_now += 1
                self._put_off(message)
                continue
            self._answered(message, answer)
            with self._lock:
                self._open -= 1

    def _next(self, function: str) -> SoakMessage | None:
        with self._lock:
            later = self._later[function]
            if later and later[0][0] <= time.monotonic():
                return heapq.heappop(later)[2]
        try:
            return self._messages[function].get(timeout=0.1)
        except Empty:
            return None

    def _put_off(self, message: SoakMessage) -> None:
        with self._lock:
            heapq.heappush(
                self._later[message.function], (time.monotonic() + AGAIN_SECONDS, next(self._numbers), message)
            )


def read_answer(kind: Kind, result: dict[str, Any]) -> Answer | None:
    """The answer of the inbox; None: not now."""
    status, text = result["statusCode"], result["body"]
    if status >= 500:
        return None
    body = json.loads(text)
    if status != 200:
        return Answer(status, body["reason"])
    if kind is not Kind.DM3:
        return Answer(status, body=text)
    if "error" not in body:
        return Answer(status)
    return None if body["error"]["code"] == _NOT_NOW else Answer(status, body["error"]["data"]["reason"])
