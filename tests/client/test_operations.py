"""Each operation of the mailbox API has a method of the client, or a reason why there is none."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.aws import Deployed
from tests.client.conftest import over_http
from tests.client.mailbox_net import Host, Open
from tests.http.api_stack import BOB, BOB_KEY, ApiStack

from postroom.api.operations import OPERATIONS
from postroom.api.schemas import MAX_PART_BYTES
from postroom.http.response import HttpResponse
from postroom.http.router import Route, RoutedRequest

NO_METHOD = {
    "incoming": "dm3's reference asks so; `unread` reads the same by pages",
    "acknowledge_by_hash": "dm3's reference asks so; `acknowledge` names messages by ids",
    "submit_profile": "dm3's reference asks so; `open` asks for the same by a challenge",
    "openapi": "it is for tools that write clients, and this is one",
}
"""Operations that no method is for, and why."""

KEY = f"0x{1:064x}"
SENDING = {"to": "b.com", "subject": "Hello@Host", "token": "t1"}


def a_target(mailbox: Any) -> str:
    """The id of one that is there."""
    return str(mailbox.add_target("webhook", "https://hooks.example/mail").id)


CALLS: dict[str, Callable[[Any], object]] = {
    "challenge": lambda mailbox: mailbox.status(),
    "token": lambda mailbox: mailbox.status(),
    "sign_out": lambda mailbox: mailbox.sign_out(),
    "open": lambda mailbox: mailbox.open(),
    "messages": lambda mailbox: next(mailbox.unread()),
    "message": lambda mailbox: mailbox.message(next(mailbox.unread()).id),
    "envelope": lambda mailbox: mailbox.fetch_envelope(next(mailbox.unread()).id),
    "acknowledge": lambda mailbox: next(mailbox.unread()).acknowledge(),
    "conversations": lambda mailbox: mailbox.conversations(),
    "status": lambda mailbox: mailbox.status(),
    "settings": lambda mailbox: mailbox.settings(),
    "change_settings": lambda mailbox: mailbox.change_settings(mailbox.settings(), unverified=True),
    "send": lambda mailbox: mailbox.send(**SENDING),
    "sent": lambda mailbox: next(mailbox.sent()),
    "sent_one": lambda mailbox: mailbox.sent_one(mailbox.send(**SENDING).correlation),
    "targets": lambda mailbox: mailbox.targets(),
    "add_target": a_target,
    "verify_target": lambda mailbox: mailbox.verify_target(a_target(mailbox)),
    "rotate_target": lambda mailbox: mailbox.rotate_target(a_target(mailbox)),
    "resume_target": lambda mailbox: mailbox.resume_target(a_target(mailbox)),
    "remove_target": lambda mailbox: mailbox.remove_target(a_target(mailbox)),
    "storage": lambda mailbox: mailbox.storage(),
    "containers": lambda mailbox: mailbox.containers(),
    "container": lambda mailbox: mailbox.get_container(KEY),
    "put_container": lambda mailbox: mailbox.put_container(KEY, b"sealed", etag=None),
    "delete_container": lambda mailbox: mailbox.delete_container(KEY),
    "add_part": lambda mailbox: mailbox.put_container(KEY, bytes(MAX_PART_BYTES + 1), etag=None),
    "join_parts": lambda mailbox: mailbox.put_container(KEY, bytes(MAX_PART_BYTES + 1), etag=None),
}
"""A call of each operation's method, at a mailbox in which a message waits."""
OF_DM3 = {"settings", "change_settings", "open"}
BEFORE: dict[str, Callable[[Any], object]] = {"sent": CALLS["send"]}
"""What has to be there first."""


@pytest.fixture
def api(deployed: Deployed) -> ApiStack:
    """One at which names of dm3 may open their mailboxes."""
    return ApiStack(deployed, service="ds.eth")


@over_http
@pytest.mark.parametrize("does", [operation.id for operation in OPERATIONS])
def test_an_operation_has_a_method_or_a_reason_to_have_none(does: str, api: ApiStack, host: Host, opened: Open) -> None:
    assert (does in NO_METHOD) != (does in CALLS), f"{does}: name a call of its method, or why there is none"
    if does in NO_METHOD:
        return
    name, key = (BOB, BOB_KEY) if does in OF_DM3 else (None, None)
    mailbox = opened(name, key) if name else opened()
    api.file("{}")
    if does in BEFORE:
        BEFORE[does](mailbox)
    host.requests.clear()
    CALLS[does](mailbox)
    assert does in requests(host)


def test_every_call_and_reason_here_is_of_an_operation() -> None:
    assert CALLS.keys() | NO_METHOD.keys() == {operation.id for operation in OPERATIONS}


def requests(host: Host) -> set[str]:
    """The requested operations."""
    routes = [(each.id, Route(each.method, each.path, not_called)) for each in OPERATIONS]
    return {
        name
        for request in host.requests
        for name, route in routes
        if route.method == request.method and route.match(request.url.path.split("/")[1:]) is not None
    }


def not_called(_call: RoutedRequest) -> HttpResponse:
    raise NotImplementedError
