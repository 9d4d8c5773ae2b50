"""The router: finds the handler of a request, authenticates the client, and turns errors into responses."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final, Protocol

from postroom.api.http import ID, KEY, NAME, Authentication
from postroom.core.errors import NotNowError, TheirError
from postroom.core.reason import Reason
from postroom.core.reasons import METHOD_NOT_ALLOWED, NO_SUCH_ROUTE
from postroom.http.cors import Cors
from postroom.http.request import HttpRequest
from postroom.http.response import HttpResponse
from postroom.net.aws_errors import our_own_fault

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RoutedRequest:
    """A request, and the values of the variables in its route's path."""

    request: HttpRequest
    segments: Mapping[str, str]

    @property
    def mailbox(self) -> str:
        """The mailbox name in the path; empty: none."""
        return self.segments.get(NAME, "")

    @property
    def id(self) -> str:
        """The id of a message or target, or the key of a container; empty: none."""
        return self.segments.get(ID) or self.segments.get(KEY, "")


Handler = Callable[[RoutedRequest], HttpResponse]
"""A handler. It raises TheirError or NotNowError."""
Authenticator = Callable[[RoutedRequest], None]
"""The check of a request's authentication. It raises TheirError or NotNowError."""


class Refuse(Protocol):
    """Makes a response from an error."""

    def __call__(self, error: TheirError | NotNowError, headers: Mapping[str, str] | None = None) -> HttpResponse:
        """The response. `headers`: further headers."""
        ...


@dataclass(frozen=True, slots=True)
class Route:
    """A method and a path, whose segments in braces are variables."""

    method: str
    path: str
    handler: Handler
    authentication: Authentication = Authentication.NONE

    def match(self, segments: Sequence[str]) -> dict[str, str] | None:
        """The values of the path's variables; None: the path does not match."""
        own = self.path.split("/")[1:]
        if len(own) != len(segments):
            return None
        found = {}
        for pattern, segment in zip(own, segments, strict=True):
            if pattern.startswith("{"):
                found[pattern] = segment
            elif pattern != segment:
                return None
        return found


class Router:
    """The router. `read_segments`: normalises the variables of a path; raises TheirError.

    `authenticators`: one for each scheme but `none`. `cors`: the pages that may send requests, by path; None: none.
    `failure`: the error that is answered if a handler raises an unexpected exception. `final_slash`: a path may end
    with a slash.
    """

    def __init__(
        self,
        routes: Sequence[Route],
        *,
        refuse: Refuse,
        failure: Reason,
        cors: Callable[[str], Cors | None],
        authenticators: Mapping[Authentication, Authenticator] | None = None,
        read_segments: Callable[[dict[str, str]], dict[str, str]] = dict,
        final_slash: bool = False,
    ) -> None:
        self._patterns = [route for route in routes if "{" in route.path]
        # The inbox has only such routes, and many requests: this is a look-up, not a search.
        self._literals: dict[str, list[tuple[Route, dict[str, str]]]] = {}
        for route in routes:
            if "{" not in route.path:
                self._literals.setdefault(route.path, []).append((route, {}))
        self._refuse = refuse
        self._failure = failure
        self._cors = cors
        self._authenticators = {Authentication.NONE: _admit, **(authenticators or {})}
        if missing := {route.authentication for route in routes} - self._authenticators.keys():
            raise ValueError(f"no authenticator is given for the schemes {', '.join(sorted(missing))}")
        self._read_segments = read_segments
        self._final_slash = final_slash

    def respond(self, request: HttpRequest) -> HttpResponse:
        """The response to a request. Every error becomes a response, too."""
        cors, origin = self._cors(request.path), request.headers.get("origin", "")
        if cors and request.method == "OPTIONS":
            return HttpResponse(204, "text/plain", headers=cors.preflight(origin))
        response = self._respond(request)
        return replace(response, headers={**response.headers, **cors.headers(origin)}) if cors else response

    def _respond(self, request: HttpRequest) -> HttpResponse:
        try:
            with unexpected_as(self._failure):
                return self._handle(request)
        except (TheirError, NotNowError) as error:
            return self._refuse(error)

    def _handle(self, request: HttpRequest) -> HttpResponse:
        path = request.path.removesuffix("/") if self._final_slash else request.path
        found = self._find(path)
        if not found:
            raise TheirError(NO_SUCH_ROUTE)
        # HEAD is allowed wherever GET is (RFC 9110 §9.3.2).
        method = "GET" if request.method == "HEAD" else request.method
        for route, open_ in found:
            if route.method == method:
                call = RoutedRequest(request, self._read_segments(open_))
                self._authenticators[route.authentication](call)
                return route.handler(call)
        methods = {route.method for route, _ in found} | ({"OPTIONS"} if self._cors(request.path) else set())
        allowed = ", ".join(sorted(methods | ({"HEAD"} if "GET" in methods else set())))
        return self._refuse(TheirError(METHOD_NOT_ALLOWED), {"Allow": allowed})

    def _find(self, path: str) -> list[tuple[Route, dict[str, str]]]:
        """The routes of a path, with the values of their variables; a path without variables takes precedence."""
        if path in self._literals:
            return self._literals[path]
        segments = path.split("/")[1:]
        return [(route, open_) for route in self._patterns if (open_ := route.match(segments)) is not None]


def _admit(_call: RoutedRequest) -> None:
    """Every request is allowed."""


@contextmanager
def unexpected_as(reason: Reason) -> Iterator[None]:
    """Raise NotNowError with this reason for an unexpected error, which is logged unless it is a fault of our own.

    Whatever the error was, the client may try again. Stack traces are never shown.
    """
    try:
        yield
    except (TheirError, NotNowError):
        raise
    except Exception as error:
        if not our_own_fault(error):
            _log.exception("a handler failed")
        raise NotNowError(reason) from error
