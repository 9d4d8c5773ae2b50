"""The routes of functions/inbox."""

from typing import Final

from postroom.core.reasons import NOT_QUEUED
from postroom.http.cors import Cors
from postroom.http.request import HttpRequest
from postroom.http.response import problem
from postroom.http.router import Route, Router
from postroom.pipeline.dm3_inbox import Dm3Inbox
from postroom.pipeline.nlweb_inbox import NlwebInbox, Posted

DM3_PATHS: Final = ("/dm3", "/rpc")


def inbox_router(nlweb: NlwebInbox, dm3: Dm3Inbox, dm3_cors: Cors) -> Router:
    """The router of the inboxes of both protocols."""
    return Router(
        [
            Route("GET", "/inbox", lambda _: nlweb.welcome()),
            Route("POST", "/inbox", lambda call: nlweb.post(_posted(call.request))),
            Route("GET", "/manifest", lambda call: nlweb.manifest(_host(call.request))),
            *(Route("POST", path, lambda call: dm3.post(call.request.body, call.request.source)) for path in DM3_PATHS),
        ],
        refuse=problem,
        failure=NOT_QUEUED,
        cors=lambda path: dm3_cors if path in DM3_PATHS else None,
    )


def _posted(request: HttpRequest) -> Posted:
    headers = request.headers
    return Posted(request.body, headers.get("content-type", ""), headers.get("content-encoding", ""), request.source)


def _host(request: HttpRequest) -> str:
    return request.headers.get("host", request.host)
