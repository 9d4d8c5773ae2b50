"""Whatever fits the OpenAPI document is answered as it says; what does not is refused as it says."""

import base64
import json
from collections.abc import Callable, Iterator, Mapping
from http import HTTPStatus
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from tests.aws import Deployed
from tests.functions.samples import BOB, MADE_AT, RECEIVER, SERVICE, http
from tests.functions.stack import FunctionsStack, functions_stack
from tests.functions.test_mailbox import ENVELOPE, HOST, file, keep, opened, sign_in
from tests.tiers import examples

from postroom.api.http import Authentication
from postroom.api.openapi import document
from postroom.api.operations import OPERATIONS
from postroom.storage.directory.notification_targets import TargetKind
from postroom.storage.layout import row_key
from postroom.storage.mail.ids import id_of

__all__ = ["opened"]

Json = dict[str, Any]
MESSAGE = id_of(row_key(RECEIVER, 1, MADE_AT * 1000, f"{1:032x}"))
CONTAINER = f"0x{1:064x}"
EXAMPLES = settings(max_examples=examples(25), suppress_health_check=list(HealthCheck))


@pytest.fixture
def running(opened: Deployed) -> Iterator[FunctionsStack]:
    file(opened, ENVELOPE)
    with functions_stack(
        opened, MailboxApiRequestsPerSecond="1000000", Dm3SelfRegistration=SERVICE, Dm3Registries="pinned"
    ) as started:
        yield started


class App:
    """The function behind API Gateway, as a WSGI application."""

    def __init__(self, running: FunctionsStack) -> None:
        self._running = running

    def __call__(self, environ: Mapping[str, Any], start: Callable[..., object]) -> list[bytes]:
        headers = {
            name.removeprefix("HTTP_").replace("_", "-").lower(): str(value)
            for name, value in environ.items()
            if name.startswith("HTTP_") or name == "CONTENT_TYPE"
        }
        # WSGI has a path decoded, as latin-1; a target has it as it was sent.
        target = environ["REQUEST_URI"]
        body = environ["wsgi.input"].read()
        event = http(environ["REQUEST_METHOD"], HOST + target, MADE_AT, body, headers)
        answer: Json = self._running.invoke("MailboxFunction", event)
        status = HTTPStatus(answer["statusCode"])
        start(f"{status.value} {status.phrase}", list(answer["headers"].items()))
        text = answer["body"]
        return [base64.b64decode(text) if answer["isBase64Encoded"] else text.encode()]


def target(deployed: Deployed) -> str:
    """The id of a target that there is."""
    targets = deployed.storage.targets
    made = targets.add(
        RECEIVER, TargetKind.WEBHOOK, "https://hook.example/", random_id=f"{1:032x}", now_ms=MADE_AT * 1000
    )
    assert made is not None
    return made.id


ASKED = [
    *((operation, RECEIVER) for operation in OPERATIONS),
    *((operation, BOB) for operation in OPERATIONS if "settings" in operation.id),
]
"""Of settings a mailbox of dm3 has others."""


@pytest.mark.parametrize(("operation", "name"), ASKED, ids=[f"{it.id}-{name}" for it, name in ASKED])
def test_an_operation_is_as_the_document_says(running: FunctionsStack, operation: Any, name: str) -> None:
    schema = schemathesis.openapi.from_wsgi("/openapi.json", App(running))
    # What fits and is refused all the same: a range beyond the end, what is another by now or said by no condition,
    # settings that are none of this mailbox, a name that was asked for too often, a target that has none of the
    # addresses which are told.
    taken = schema.config.checks.positive_data_acceptance
    taken.expected_statuses = [
        *taken.expected_statuses,
        "412",
        "416",
        "428",
        *(["422"] if "settings" in operation.id or "target" in operation.id else []),
    ]
    token, named = sign_in(running, name), MESSAGE
    keep(running, token, CONTAINER, b"sealed")
    if "target" in operation.id:
        named = target(running.deployed)

    @schema.hook
    def map_path_parameters(_context: object, parameters: Json | None) -> Json | None:
        """Half of all addresses are those of a mailbox and a message, a target or a container that there are."""
        if parameters and "name" in parameters and len(parameters["name"]) % 2:
            return {each: {"name": name, "id": named, "key": CONTAINER}[each] for each in parameters}
        return parameters

    @EXAMPLES
    @given(case=schema[operation.path][operation.method].as_strategy())
    def is_answered(case: Any) -> None:
        case.call_and_validate(
            headers={"Authorization": f"Bearer {token}"} if operation.authentication is Authentication.BEARER else {}
        )

    is_answered()


def test_a_response_names_each_reason_once() -> None:
    for path, operations in json.loads(document())["paths"].items():
        for method, operation in operations.items():
            for status, response in operation["responses"].items():
                reasons = response["description"].partition(": ")[2].rstrip(".").split(", ")
                assert len(reasons) == len(set(reasons)), f"{method} {path}, {status}: {response['description']}"


def test_only_the_listing_may_answer_that_a_request_may_not_wait() -> None:
    answered = {
        f"{method} {path}": operation["responses"]["200"].get("headers", {})
        for path, operations in json.loads(document())["paths"].items()
        for method, operation in operations.items()
    }
    assert {name: list(headers) for name, headers in answered.items() if headers} == {
        "get /mailboxes/{name}/messages": ["Retry-After"]
    }


def test_no_refusal_stands_in_the_place_of_a_response() -> None:
    for operation in OPERATIONS:
        assert all(reason.status >= 400 for reason in operation.refusals), operation.id
