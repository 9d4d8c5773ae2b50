"""The routes of functions/dm3."""

from typing import Final

from postroom.core.reasons import NOT_QUEUED
from postroom.http.cors import Cors
from postroom.http.request import HttpRequest
from postroom.http.response import problem
from postroom.http.router import Route, Router
from postroom.pipeline.dm3_inbox import Dm3Inbox

PATHS: Final = ("/dm3", "/rpc")
"""The paths at which every body is a JSON-RPC call."""
ROOT: Final = "/"
"""The path of a URL without one, at which others post, too."""


def dm3_router(dm3: Dm3Inbox, cors: Cors) -> Router:
    """The router of the dm3 inbox. `cors`: the pages that may call it."""
    return Router(
        [
            *(Route("POST", path, lambda call: dm3.post(*_posted(call.request))) for path in PATHS),
            # A sender of an NLWeb message would take the 200 of a JSON-RPC error for an acceptance.
            Route("POST", ROOT, lambda call: dm3.post_calls(*_posted(call.request))),
        ],
        refuse=problem,
        failure=NOT_QUEUED,
        cors=lambda path: cors if path in (*PATHS, ROOT) else None,
    )


def _posted(request: HttpRequest) -> tuple[bytes, str, str]:
    return request.body, request.source, request.headers.get("content-encoding", "")
