"""Sending through the outbox of a mailbox, by either client: once for each token, whatever got lost on the way."""

from typing import Any

import pytest
from tests.client.conftest import over_http
from tests.client.mailbox_net import Host, Open, busy, lost_after, lost_before
from tests.http.api_stack import BOB, BOB_KEY, NOW, SHOP, ApiStack

from postroom.api.states import State
from postroom.client.mailbox import (
    NotSentError,
    RefusedError,
    Retries,
    TokenReusedError,
    UnavailableError,
)
from postroom.outbound.outbox_messages import Outgoing
from postroom.outbound.queue_messages import read_queue_message
from postroom.storage.mail.outbox import DeliveryEnd

UUID = "7c9e6679-7425-40de-944b-e07fc1f90ae7"


def queued(api: ApiStack) -> list[Outgoing]:
    found = [read_queue_message(body) for body in api.deployed.bodies("CourierQueue")]
    return [each for each in found if isinstance(each, Outgoing)]


def send(mailbox: Any, token: str = "t1", **more: Any) -> Any:
    return mailbox.send("receiver.example", "Hello@Host", {"Say": "hi 🤝"}, token=token, **more)


def test_a_message_is_sent_in_the_name_of_the_mailbox(api: ApiStack, mailbox: Any) -> None:
    sent = send(mailbox, correlation=UUID.upper(), dialect="pollyweb")
    [outgoing] = queued(api)
    draft = outgoing.draft
    assert (sent.state, sent.correlation, draft.correlation) == (State.QUEUED, UUID, UUID.upper())
    assert (draft.sender, draft.receiver, draft.subject) == (SHOP, "receiver.example", "Hello@Host")
    assert (draft.body, draft.dialect.authority) == ({"Say": "hi 🤝"}, "pollyweb.org")


@over_http
@pytest.mark.parametrize("body", [None, False, 0, -0.0, 1e21, "", [], {"": [None]}, "\x00\u2028 ￾"])
def test_any_json_is_sent_unchanged(api: ApiStack, mailbox: Any, body: Any) -> None:
    mailbox.send("receiver.example", "Hello@Host", body, token="t1")
    [outgoing] = queued(api)
    assert (repr(outgoing.draft.body), outgoing.draft.has_body) == (repr(body), True)


def test_a_message_may_have_no_body(api: ApiStack, mailbox: Any) -> None:
    mailbox.send("receiver.example", "Hello@Host", token="t1")
    assert not queued(api)[0].draft.has_body


@over_http
def test_a_message_that_a_receiver_would_refuse_has_the_receivers_reason(api: ApiStack, mailbox: Any) -> None:
    with pytest.raises(RefusedError) as refused:
        mailbox.send("receiver.example", "Hello@Host", 10**400, token="t1")
    assert (refused.value.reason, queued(api)) == ("NotIJson", [])


@pytest.mark.parametrize("body", [float("nan"), float("inf"), {1, 2}, b"x", {"x": object()}])
def test_a_body_that_is_not_json_is_refused_before_any_request(host: Host, mailbox: Any, body: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        mailbox.send("receiver.example", "Hello@Host", body, token="t1")
    assert host.requests == []


@over_http
def test_a_message_repeated_after_a_lost_response_is_sent_once(host: Host, api: ApiStack, mailbox: Any) -> None:
    mailbox.status()
    host.faults = [lost_after, busy(503), lost_before]
    first = send(mailbox)
    assert host.paths().count("POST /outbox") == 4
    assert send(mailbox) == first
    assert [each.draft.correlation for each in queued(api)] == [first.correlation]


@over_http
def test_a_failed_send_can_be_repeated_with_its_token(host: Host, api: ApiStack, opened: Open) -> None:
    mailbox = opened(retries=Retries(2))
    mailbox.status()
    host.faults = [lost_before, lost_after]
    with pytest.raises(UnavailableError):
        send(mailbox)
    send(mailbox)
    assert len(queued(api)) == 1


def test_a_token_that_was_used_for_another_message_sends_nothing(api: ApiStack, mailbox: Any) -> None:
    send(mailbox)
    with pytest.raises(TokenReusedError, match="Each message needs a token of its own") as refused:
        mailbox.send("receiver.example", "Hello@Host", "other", token="t1")
    assert refused.value.reason == "TokenReused"
    assert len(queued(api)) == 1


def test_a_refused_sender_learns_who_can_change_that(opened: Open) -> None:
    with pytest.raises(RefusedError, match="postroom domain add") as refused:
        send(opened(BOB, BOB_KEY))
    assert refused.value.reason == "NotASender"


def test_the_state_of_a_message_is_returned(api: ApiStack, mailbox: Any) -> None:
    correlation = send(mailbox).correlation
    assert mailbox.sent_one(correlation).state == State.QUEUED
    rows = api.deployed.storage.outbox
    rows.finish(SHOP, correlation, DeliveryEnd(State.REFUSED, int(NOW * 1000), "Why", "Because.", ""))
    told = mailbox.sent_one(correlation.upper())
    assert (told.state, told.reason, told.detail, told.to) == (State.REFUSED, "Why", "Because.", "receiver.example")


@over_http
@pytest.mark.parametrize("correlation", [UUID, "", "..", "../status", "x" * 5000, "🤝?#", f"{UUID}/x"])
def test_an_unknown_correlation_is_not_found_and_does_not_change_the_path(
    host: Host, mailbox: Any, correlation: str
) -> None:
    with pytest.raises(NotSentError) as refused:
        mailbox.sent_one(correlation)
    assert refused.value.reason == "NotSent"
    assert set(host.paths()) <= {f"GET /auth/{SHOP}", f"POST /auth/{SHOP}", f"GET /outbox/{UUID}"}


@over_http
def test_sent_messages_are_listed_newest_first_over_all_pages_even_after_an_error(
    host: Host, api: ApiStack, opened: Open
) -> None:
    mailbox = opened(retries=Retries(1))
    host.page_size = 2
    sent = []
    for number in range(5):
        api.clock.now += 1
        sent.append(send(mailbox, f"t{number}").correlation)
    listed = mailbox.sent()
    found = [next(listed).correlation for _ in range(2)]
    host.faults = [lost_before]
    with pytest.raises(UnavailableError):
        next(listed)
    found += [each.correlation for each in listed]
    assert found == sent[::-1]
    assert list(mailbox.sent()) != []
    assert list(listed) == []
