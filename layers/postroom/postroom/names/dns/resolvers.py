"""A list of resolvers, asked in turn until one of them answers."""

import ssl
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Self

from postroom.core.errors import NotNowError
from postroom.names.dns.answer import Answer
from postroom.names.dns.question import Ask, AskAnotherResolver, Question
from postroom.names.dns.servers import Server, parse_servers
from postroom.names.dns.transport import exchange
from postroom.names.dns.wire import TooLong, Unusable, check_answer, make_query
from postroom.protocols.nlweb.reasons import DNSSEC_TOO_COSTLY, KEY_LOOKUP_FAILED

if TYPE_CHECKING:
    from postroom.names.dns.over_https import HttpsConnections


class Resolvers:
    """Asks the servers in the given order. Thread-safe; must be closed.

    A server that failed recently is asked last. So is a server that has already answered, if the question is to be
    asked elsewhere. `try_seconds` limits one attempt at one server, `budget_seconds` everything asked through one
    `asking()`, `back_off_seconds` how long a failed server is asked last. `clock` is monotonic, in seconds.
    `named`: errors name the servers, for whoever chose them; strangers are told no names.
    """

    def __init__(
        self,
        servers: str | Sequence[Server],
        *,
        try_seconds: float = 2.0,
        budget_seconds: float = 10.0,
        back_off_seconds: float = 30.0,
        clock: Callable[[], float] = time.monotonic,
        ssl_context: ssl.SSLContext | None = None,
        named: bool = False,
    ) -> None:
        self._servers = parse_servers(servers) if isinstance(servers, str) else tuple(servers)
        self._try_seconds = try_seconds
        self._budget_seconds = budget_seconds
        self._back_off_seconds = back_off_seconds
        self._clock = clock
        self._named = named
        self._https = _connections(self._servers, ssl_context)
        self._lock = threading.Lock()
        self._last_until: dict[Server, float] = {}

    def asking(self, budget_seconds: float | None = None) -> Ask:
        """An `Ask` for one look-up: all questions asked through it share one time limit."""
        deadline = self._clock() + (self._budget_seconds if budget_seconds is None else budget_seconds)
        answered: set[Server] = set()
        return lambda question: self._ask(question, deadline, answered)

    def close(self) -> None:
        """Close the connections to https resolvers."""
        if self._https is not None:
            self._https.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(self, question: Question, deadline: float, answered: set[Server]) -> Answer:
        """Ask the servers. `answered`: the servers whose answers are to be confirmed by another one."""
        failures: list[str] = []
        reason = KEY_LOOKUP_FAILED
        for server in self._in_order(last=answered if isinstance(question, AskAnotherResolver) else set()):
            left = deadline - self._clock()
            if left <= 0:
                failures.append("out of time")
                break
            try:
                answer = check_answer(exchange(server, make_query(question), min(self._try_seconds, left), self._https))
            except TooLong as error:
                # That is not the server's fault, but another server may have a shorter answer.
                failures.append(self._failure(server, str(error)))
                reason = DNSSEC_TOO_COSTLY
                continue
            except (Unusable, OSError) as error:
                failures.append(self._failure(server, _said(error)))
            else:
                self._note(server, None)
                if not isinstance(question, AskAnotherResolver):
                    answered.add(server)
                return answer
            if left >= self._try_seconds:  # otherwise it was given less time than it may take
                self._note(server, self._clock() + self._back_off_seconds)
        raise NotNowError(reason, f"no resolver answered {question}: {'; '.join(failures)}")

    def _failure(self, server: Server, said: str) -> str:
        # The names of a deployment's resolvers are private; what went wrong with them is not.
        return f"{server}: {said}" if self._named else said

    def _in_order(self, last: set[Server]) -> list[Server]:
        now = self._clock()
        with self._lock:
            return sorted(self._servers, key=lambda it: (it in last, self._last_until.get(it, now) > now))

    def _note(self, server: Server, last_until: float | None) -> None:
        with self._lock:
            if last_until is None:
                self._last_until.pop(server, None)
            else:
                self._last_until[server] = last_until


def _connections(servers: Sequence[Server], trust: ssl.SSLContext | None) -> "HttpsConnections | None":
    if all(server.scheme != "https" for server in servers):
        return None
    from postroom.names.dns.over_https import HttpsConnections

    return HttpsConnections(trust)


def _said(error: Exception) -> str:
    if isinstance(error, Unusable):
        return str(error)
    if isinstance(error, TimeoutError):
        return "timed out"
    return "not reachable"
