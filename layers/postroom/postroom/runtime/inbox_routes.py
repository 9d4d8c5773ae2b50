"""The routes of functions/inbox."""

from postroom.core.reasons import NOT_QUEUED
from postroom.http.request import HttpRequest
from postroom.http.response import problem
from postroom.http.router import Route, Router
from postroom.pipeline.nlweb_inbox import NlwebInbox, Posted


def inbox_router(nlweb: NlwebInbox) -> Router:
    """The router of the NLWeb inbox."""
    return Router(
        [
            Route("GET", "/inbox", lambda _: nlweb.welcome()),
            Route("POST", "/inbox", lambda call: nlweb.post(_posted(call.request))),
            Route("GET", "/manifest", lambda call: nlweb.manifest(_host(call.request))),
        ],
        refuse=problem,
        failure=NOT_QUEUED,
        cors=lambda _: None,
    )


def _posted(request: HttpRequest) -> Posted:
    headers = request.headers
    return Posted(request.body, headers.get("content-type", ""), headers.get("content-encoding", ""), request.source)


def _host(request: HttpRequest) -> str:
    return request.headers.get("host", request.host)
