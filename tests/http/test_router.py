"""The router: routes, authentication schemes, errors, and pages of other origins."""

import pytest

from postroom.api.http import NAME, Authentication
from postroom.api.reasons import TOKEN_INVALID
from postroom.core.errors import NotNowError, TheirError
from postroom.core.reason import Reason
from postroom.core.reasons import NO_SUCH_ROUTE, NOT_QUEUED, STORE_UNAVAILABLE
from postroom.http.cors import Cors
from postroom.http.handlers import AboutHandlers
from postroom.http.mailbox_router import BearerTokens, mailbox_router
from postroom.http.request import HttpRequest
from postroom.http.response import HttpResponse, problem, text_response
from postroom.http.router import Route, RoutedRequest, Router
from postroom.protocols.nlweb.reasons import NOT_OURS


def request(method: str, path: str, **headers: str) -> HttpRequest:
    return HttpRequest(method, path, "host.example", {}, headers)


def name_of(call: RoutedRequest) -> HttpResponse:
    return text_response(call.segments.get(NAME, "nobody"))


def fails(call: RoutedRequest) -> HttpResponse:
    raise {"theirs": TheirError(NOT_OURS), "not now": NotNowError(STORE_UNAVAILABLE)}.get(
        call.mailbox, RuntimeError("boom")
    )


def only_alice(call: RoutedRequest) -> None:
    if call.request.headers.get("authorization") != "alice":
        raise TheirError(TOKEN_INVALID)


ROUTES = (
    Route("GET", "/open", name_of),
    Route("GET", "/names/{name}", name_of, Authentication.BEARER),
    Route("PUT", "/names/{name}", name_of, Authentication.BEARER),
    Route("GET", "/fails/{name}", fails),
)


@pytest.fixture
def router() -> Router:
    cors = Cors("https://a.example", "ORIGINS")
    return Router(
        ROUTES,
        refuse=problem,
        failure=NOT_QUEUED,
        cors=lambda path: cors if path.startswith("/names") else None,
        authenticators={Authentication.BEARER: only_alice},
        read_segments=lambda segments: {name: text.lower() for name, text in segments.items()},
    )


def test_a_request_reaches_the_handler_of_its_method_and_path(router: Router) -> None:
    assert router.respond(request("GET", "/open")).body == b"nobody"
    assert router.respond(request("GET", "/names/BOB", authorization="alice")).body == b"bob"


def test_head_reaches_the_handler_of_get(router: Router) -> None:
    assert router.respond(request("HEAD", "/open")).status == 200


@pytest.mark.parametrize("path", ["/", "", "/other", "/names", "/names/a/b", "/open/", "open"])
def test_an_unknown_path_is_not_found(router: Router, path: str) -> None:
    response = router.respond(request("GET", path, authorization="alice"))
    assert (response.status, response.reason) == (404, NO_SUCH_ROUTE)


def test_a_path_may_end_with_a_slash_where_that_is_allowed() -> None:
    router = Router(ROUTES[:1], refuse=problem, failure=NOT_QUEUED, cors=lambda _: None, final_slash=True)
    assert router.respond(request("GET", "/open/")).status == 200


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("POST", "/open", "GET, HEAD"),
        ("OPTIONS", "/open", "GET, HEAD"),
        ("POST", "/names/a", "GET, HEAD, OPTIONS, PUT"),
    ],
)
def test_a_wrong_method_gets_405_with_the_allowed_methods(router: Router, method: str, path: str, allowed: str) -> None:
    response = router.respond(request(method, path))
    assert (response.status, response.headers["Allow"]) == (405, allowed)


def test_authentication_runs_before_the_handler(router: Router) -> None:
    refused = router.respond(request("GET", "/names/bob"))
    assert (refused.status, refused.reason) == (401, TOKEN_INVALID)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/fails/theirs", NOT_OURS),
        ("/fails/not%20now", NOT_QUEUED),
        ("/fails/not now", STORE_UNAVAILABLE),
        ("/fails/otherwise", NOT_QUEUED),
    ],
)
def test_every_error_becomes_a_response(router: Router, path: str, reason: Reason) -> None:
    response = router.respond(request("GET", path))
    assert (response.status, response.reason) == (reason.status, reason)
    assert b"boom" not in response.body


def test_an_allowed_origin_may_read_refusals(router: Router) -> None:
    asked = router.respond(request("OPTIONS", "/names/bob", origin="https://a.example"))
    assert (asked.status, asked.headers["Access-Control-Allow-Origin"]) == (204, "https://a.example")
    refused = router.respond(request("GET", "/names/bob", origin="https://a.example"))
    assert (refused.status, refused.headers["Access-Control-Allow-Origin"]) == (401, "https://a.example")
    assert (
        "Access-Control-Allow-Origin" not in router.respond(request("GET", "/open", origin="https://a.example")).headers
    )


def test_each_operation_of_the_mailbox_api_has_a_handler_and_each_handler_an_operation() -> None:
    with pytest.raises(ValueError, match="no operation, or no handler: acknowledge, "):
        mailbox_router(AboutHandlers().handlers(), BearerTokens(None, None), Cors("none", "ORIGINS"))  # type: ignore[arg-type]


def test_a_router_without_an_authenticator_for_a_scheme_of_its_routes_is_not_made() -> None:
    with pytest.raises(ValueError, match="no authenticator is given for the schemes bearer"):
        Router(ROUTES, refuse=problem, failure=NOT_QUEUED, cors=lambda _: None)
