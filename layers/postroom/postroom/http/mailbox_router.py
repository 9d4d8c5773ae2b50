"""The router of the mailbox API: each operation with its handler and its authentication."""

from collections.abc import Iterable, Mapping
from typing import Protocol

from postroom.api.http import NAME, Authentication
from postroom.api.mailbox_names import read_mailbox_name
from postroom.api.operations import OPERATIONS
from postroom.api.reasons import COUNTER_CLOSED, TOKEN_INVALID
from postroom.core.errors import TheirError
from postroom.http.cors import Cors
from postroom.http.private_responses import refuse
from postroom.http.rate_limit import Rate
from postroom.http.router import Handler, Route, RoutedRequest, Router
from postroom.http.sign_in import SignIn


class BearerTokens:
    """Authentication by the mailbox's token, and the mailbox's rate limit."""

    def __init__(self, sign_in: SignIn, rate: Rate) -> None:
        self._sign_in = sign_in
        self._rate = rate

    def check(self, call: RoutedRequest) -> None:
        """Check the token and the rate limit.

        Raises TheirError (TOKEN_INVALID, ANOTHERS_MAILBOX, TOO_MANY_REQUESTS), NotNowError.
        """
        if not call.request.bearer:
            raise TheirError(TOKEN_INVALID)
        self._sign_in.check(call.request.bearer, call.mailbox, call.request.host)
        self._rate.take(call.mailbox)


class HandlerGroup(Protocol):
    """Handlers with the same dependencies."""

    def handlers(self) -> Mapping[str, Handler]:
        """The handlers by operation id."""
        ...


def handlers_of(groups: Iterable[HandlerGroup]) -> dict[str, Handler]:
    """The handlers of all groups by operation id."""
    return {name: handler for group in groups for name, handler in group.handlers().items()}


def mailbox_router(handlers: Mapping[str, Handler], tokens: BearerTokens, cors: Cors) -> Router:
    """The router of the mailbox API. Raises ValueError if an operation has no handler, or a handler no operation."""
    if unlike := handlers.keys() ^ {operation.id for operation in OPERATIONS}:
        raise ValueError(f"no operation, or no handler: {', '.join(sorted(unlike))}")
    return Router(
        [Route(each.method, each.path, handlers[each.id], each.authentication) for each in OPERATIONS],
        refuse=refuse,
        failure=COUNTER_CLOSED,
        cors=lambda _path: cors,
        authenticators={Authentication.BEARER: tokens.check},
        read_segments=_read_segments,
        final_slash=True,
    )


def _read_segments(segments: dict[str, str]) -> dict[str, str]:
    return {**segments, NAME: read_mailbox_name(segments[NAME])} if NAME in segments else segments
