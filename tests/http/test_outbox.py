"""POST and GET …/outbox: what owners send goes into the courier's queue once for each token, and in their name only."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Barrier
from typing import Any
from uuid import UUID

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.aws import Deployed, gate_calls, new_clients
from tests.http.api_stack import BOB, BOB_KEY, KEEP, MAX_BYTES, NOW, SHOP, SHOP_KEY, ApiStack, Owner, reason, said
from tests.tiers import examples

from postroom.api.schemas import NewMessage
from postroom.api.states import State
from postroom.core.errors import TheirError
from postroom.core.ijson import parse
from postroom.core.reason import Reason
from postroom.core.reasons import NOT_I_JSON, TOO_LARGE
from postroom.crypto.rsa_ed25519 import PrivateKey
from postroom.outbound.outbox_messages import Outgoing
from postroom.outbound.queue_messages import read_queue_message
from postroom.protocols.nlweb.envelope import read_envelope
from postroom.protocols.nlweb.sign import sign, write
from postroom.storage.aws.queue import MAX_BODY_BYTES
from postroom.storage.directory.domains import Domain
from postroom.storage.layout import outgoing_group
from postroom.storage.mail.outbox import DeliveryEnd, Outbox, Reported

HELLO = {"token": "t1", "to": "b.com", "subject": "Hello@Host", "body": {"Text": "Good morning ☀"}}
THEIRS = "5f0d8f9e-0000-4000-8000-00000000000a"
Json = Any


def send(owner: Owner, **other: object) -> Json:
    """What a message is answered with that is like HELLO but for what is said."""
    return said(owner.ask("POST", "/outbox", body={**HELLO, **other}))


def refused(owner: Owner, **other: object) -> str:
    return reason(owner.ask("POST", "/outbox", body={**HELLO, **other}))


def shown(owner: Owner, correlation: str) -> Json:
    return said(owner.ask("GET", f"/outbox/{correlation}"))


def queued(deployed: Deployed) -> list[Outgoing]:
    found = [read_queue_message(body) for body in deployed.bodies("CourierQueue")]
    assert all(isinstance(each, Outgoing) for each in found)
    return [each for each in found if isinstance(each, Outgoing)]


def outbox(api: ApiStack) -> Outbox:
    return api.deployed.storage.outbox


# --- what goes out ------------------------------------------------------------------------------------------------


def test_a_message_is_queued_for_the_mailbox_with_everything_that_retries_repeat(api: ApiStack, owner: Owner) -> None:
    answer = send(owner)
    assert answer["state"] == "queued"
    [outgoing] = queued(api.deployed)
    draft = outgoing.draft
    assert (draft.sender, draft.receiver, draft.subject, draft.body) == (SHOP, "b.com", "Hello@Host", HELLO["body"])
    assert (draft.correlation, draft.timestamp_ms) == (answer["correlation"], int(NOW * 1000))
    assert api.deployed.groups("CourierQueue") == [outgoing_group(SHOP)]
    assert shown(owner, answer["correlation"]) == {
        "correlation": answer["correlation"], "state": "queued", "to": "b.com", "subject": "Hello@Host",
        "queued_at": "2026-11-21T09:30:00.000Z",
    }  # fmt: skip


@pytest.mark.parametrize("body", [None, False, 0, "", [], {}, -0.0, 1e21, 12.5, "\x00 ￾ 🤝", [[[1]], {"": None}]])
def test_any_json_body_is_sent_unchanged(api: ApiStack, owner: Owner, body: object) -> None:
    send(owner, body=body)
    [outgoing] = queued(api.deployed)
    assert (outgoing.draft.body, outgoing.draft.has_body) == (body, True)


def test_a_message_may_have_no_body(api: ApiStack, owner: Owner) -> None:
    said(owner.ask("POST", "/outbox", body={name: HELLO[name] for name in ("token", "to", "subject")}))
    [outgoing] = queued(api.deployed)
    assert outgoing.draft.has_body is False


def test_the_receiver_is_normalized(api: ApiStack, owner: Owner) -> None:
    send(owner, to="Bücher.Example.")
    assert queued(api.deployed)[0].draft.receiver == "xn--bcher-kva.example"


@pytest.mark.parametrize("came", [THEIRS, THEIRS.upper()])
def test_a_reply_has_the_correlation_of_the_original_as_it_came(api: ApiStack, owner: Owner, came: str) -> None:
    assert send(owner, correlation=came)["correlation"] == THEIRS
    assert queued(api.deployed)[0].draft.correlation == came
    assert shown(owner, came)["correlation"] == THEIRS


def test_the_other_dialect_is_used_on_request(api: ApiStack, owner: Owner) -> None:
    send(owner, dialect="pollyweb")
    assert queued(api.deployed)[0].draft.dialect.authority == "pollyweb.org"


# --- in whose name --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("member", ["from", "From", "sender", "mailbox", "Header"])
def test_no_request_can_send_in_the_name_of_another_domain(api: ApiStack, owner: Owner, member: str) -> None:
    api.operators.put_domain(Domain("other.com", signs=True))
    send(owner, **{member: {"From": "other.com"} if member == "Header" else "other.com"})
    assert [each.draft.sender for each in queued(api.deployed)] == [SHOP]


def test_a_token_of_one_mailbox_cannot_send_from_another(api: ApiStack, owner: Owner) -> None:
    api.operators.put_domain(Domain("other.com", signs=True))
    reply = api.ask("POST", "/mailboxes/other.com/outbox", token=owner.token, body=HELLO)
    assert (reply.status, reason(reply)) == (403, "AnothersMailbox")
    assert queued(api.deployed) == api.deployed.rows("OutboxTable") == []


def test_sent_messages_are_visible_to_their_sender_only(api: ApiStack, owner: Owner) -> None:
    correlation = send(owner)["correlation"]
    bob = Owner(api, BOB, BOB_KEY)
    assert reason(bob.ask("GET", f"/outbox/{correlation}")) == "NotSent"
    assert said(bob.ask("GET", "/outbox"))["messages"] == []
    assert reason(api.ask("GET", f"/mailboxes/{SHOP}/outbox", token=bob.token)) == "AnothersMailbox"


@pytest.mark.parametrize("domain", [None, Domain(SHOP), Domain(SHOP, inbox=False, signs=True)])
def test_only_a_served_domain_with_a_key_can_send(api: ApiStack, domain: Domain | None) -> None:
    api.operators.remove_domain(SHOP)
    if domain:
        api.operators.put_domain(domain)
    assert refused(Owner(api)) == "NotASender"
    assert api.deployed.rows("OutboxTable") == []


def test_a_mailbox_of_the_delivery_service_cannot_send_messages_of_nlweb(api: ApiStack) -> None:
    assert refused(Owner(api, BOB, BOB_KEY)) == "NotASender"


# --- once for each token ----------------------------------------------------------------------------------------------


def test_a_repeated_token_is_the_same_message_and_queues_nothing(api: ApiStack, owner: Owner) -> None:
    first = send(owner)
    api.clock.now += 3000
    assert send(owner, body={"Text": "Good morning ☀"}) == first
    assert len(queued(api.deployed)) == 1


@pytest.mark.parametrize(
    "other",
    [{"to": "c.com"}, {"subject": "Bye@Host"}, {"body": {}}, {"body": None}, {"correlation": THEIRS},
     {"dialect": "pollyweb"}],
)  # fmt: skip
def test_the_same_token_for_another_message_is_refused(api: ApiStack, owner: Owner, other: dict[str, Any]) -> None:
    first = send(owner)
    reply = owner.ask("POST", "/outbox", body={**HELLO, **other})
    assert (reply.status, reason(reply)) == (409, "TokenReused")
    assert [each.draft.correlation for each in queued(api.deployed)] == [first["correlation"]]


def test_tokens_of_two_mailboxes_are_independent(api: ApiStack, owner: Owner) -> None:
    api.operators.put_domain(Domain("other.com", signs=True))
    api.mailboxes.set_keys("other.com", [api.directory.mailbox(SHOP).keys[0]])
    other = Owner(api, "other.com", SHOP_KEY)
    assert send(owner)["correlation"] != send(other, body="another")["correlation"]
    assert {each.draft.sender for each in queued(api.deployed)} == {SHOP, "other.com"}


def test_a_correlation_that_was_used_for_another_message_is_refused(api: ApiStack, owner: Owner) -> None:
    send(owner, correlation=THEIRS)
    reply = owner.ask("POST", "/outbox", body={**HELLO, "token": "t2", "correlation": THEIRS})
    assert (reply.status, reason(reply)) == (409, "CorrelationReused")
    assert len(queued(api.deployed)) == 1


def test_fifty_concurrent_requests_with_one_token_are_one_message(api: ApiStack) -> None:
    together = Barrier(50)
    sending = api.sending(api.deployed.clients)

    def ask(_number: int) -> str:
        together.wait()
        return sending.send(SHOP, wanted()).correlation

    with ThreadPoolExecutor(50) as pool:
        correlations = set(pool.map(ask, range(50)))
    assert len(correlations) == 1
    found = queued(api.deployed)
    assert len({(each.draft.correlation, each.draft.timestamp_ms) for each in found}) == 1
    message = outbox(api).find(SHOP, correlations.pop())
    assert message is not None
    assert message.carrier in {each.carrier for each in found}, "one of them goes on, and the others stop"


def test_a_token_expires_and_its_message_soon_after(api: ApiStack, owner: Owner) -> None:
    first = send(owner)["correlation"]
    rows = {row["sk"]["S"].partition("#")[0]: int(row["ttl"]["N"]) for row in api.deployed.rows("OutboxTable")}
    assert rows == {"token": int(NOW) + KEEP, "out": int(NOW) + KEEP + 86_400}
    api.clock.now += KEEP
    assert api.sending(api.deployed.clients).send(SHOP, wanted()).correlation == first
    api.clock.now += 1
    assert api.sending(api.deployed.clients).send(SHOP, wanted()).correlation != first


# --- what dies half way -----------------------------------------------------------------------------------------------


class Died(BaseException):
    """The function was ended."""


def wanted(**other: Any) -> NewMessage:
    return msgspec.json.decode(json.dumps({**HELLO, **other}, ensure_ascii=False), type=NewMessage)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("number", range(4))
def test_after_a_crash_at_any_call_a_repeated_token_sends_the_message(api: ApiStack, number: int, after: bool) -> None:
    calls: list[str] = []

    @contextmanager
    def gate(operation: str) -> Iterator[None]:
        calls.append(operation)
        if len(calls) == number + 1 and not after:
            raise Died
        yield
        if len(calls) == number + 1:
            raise Died

    api.directory.domain(SHOP)
    clients = new_clients()
    gate_calls(clients, gate)
    with pytest.raises(Died):
        api.sending(clients).send(SHOP, wanted())
    assert calls == ["PutItem", "PutItem", "SendMessage", "UpdateItem"][: number + 1]
    answer = api.sending(api.deployed.clients).send(SHOP, wanted())
    found = queued(api.deployed)
    assert {each.draft.correlation for each in found} == {answer.correlation}
    assert len({(each.draft.timestamp_ms, json.dumps(each.draft.body)) for each in found}) == 1
    message = outbox(api).find(SHOP, answer.correlation)
    assert message is not None
    assert message.carrier in {each.carrier for each in found}


# --- what an inbox would refuse -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("other", "status", "code"),
    [
        ({"to": "no host"}, 422, "WrongShape"),
        ({"to": "127.0.0.1"}, 422, "WrongShape"),
        ({"to": "a" * 1001}, 400, "NotARequest"),
        ({"subject": ""}, 422, "WrongShape"),
        ({"subject": "x" * 257}, 422, "WrongShape"),
        ({"subject": "a\nb"}, 422, "WrongShape"),
        ({"correlation": "no uuid"}, 422, "WrongShape"),
        ({"body": 2**53 + 1}, 400, "NotIJson"),
        ({"body": "x" * MAX_BYTES}, 413, "TooLarge"),
        ({"token": ""}, 400, "NotARequest"),
        ({"token": "x" * 101}, 400, "NotARequest"),
        ({"token": None}, 400, "NotARequest"),
        ({"dialect": "dtfw"}, 400, "NotARequest"),
    ],
)
def test_a_message_that_an_inbox_would_refuse_is_refused_and_not_stored(
    api: ApiStack, owner: Owner, other: dict[str, Any], status: int, code: str
) -> None:
    reply = owner.ask("POST", "/outbox", body={**HELLO, **other})
    assert (reply.status, reason(reply)) == (status, code)
    assert api.deployed.rows("OutboxTable") == queued(api.deployed) == []


@pytest.mark.parametrize("body", [b'{"a":1,"a":2}', b"1e999", b"[" * 64 + b"]" * 64, b"[" + b"1," * 100_000 + b"1]"])
def test_json_that_is_not_i_json_is_refused_as_by_an_inbox(api: ApiStack, body: bytes) -> None:
    message = b'{"token":"t","to":"b.com","subject":"s","body":' + body + b"}"
    with pytest.raises(TheirError) as caught:
        api.sending(api.deployed.clients).send(SHOP, msgspec.json.decode(message, type=NewMessage))
    assert caught.value.reason is NOT_I_JSON


@pytest.mark.parametrize("filler", ["x", "é", "漢", "🤝"])
def test_the_largest_message_can_be_queued_and_a_larger_one_is_refused_with_the_limit(
    api: ApiStack, filler: str
) -> None:
    sending = api.sending(api.deployed.clients)

    def taken(length: int) -> bool:
        try:
            sending.send(SHOP, wanted(token=f"t{length}", body=filler * length))
        except TheirError as error:
            refusals.append((error.reason, error.detail))
            return False
        return True

    refusals: list[tuple[Reason, str]] = []
    shortest, longest = 0, 1_000_000
    while longest - shortest > 1:
        middle = (shortest + longest) // 2
        shortest, longest = (middle, longest) if taken(middle) else (shortest, middle)
    largest = max(map(len, api.deployed.bodies("CourierQueue")))
    assert largest <= MAX_BODY_BYTES < largest + len(json.dumps(filler)[1:-1])
    assert {found for found, _ in refusals} == {TOO_LARGE}
    assert f"at most {MAX_BODY_BYTES} can be queued" in refusals[-1][1]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)  # fmt: skip


@settings(max_examples=examples(50), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(subject=st.text(min_size=1, max_size=260), body=JSON, number=st.integers(0))
def test_every_accepted_message_is_accepted_by_an_inbox(api: ApiStack, subject: str, body: Json, number: int) -> None:
    try:
        api.sending(api.deployed.clients).send(
            SHOP, wanted(token=f"{number}{subject}{body}"[:100], subject=subject, body=body)
        )
    except TheirError:
        return
    [*_, outgoing] = queued(api.deployed)
    envelope = write(sign(outgoing.draft, KEY))
    assert read_envelope(parse(envelope, max_bytes=MAX_BYTES)).body == body


KEY = PrivateKey.generate("ed25519")


# --- what became of it ----------------------------------------------------------------------------------------------


def test_the_state_of_a_message_is_shown(api: ApiStack, owner: Owner) -> None:
    rows, at = outbox(api), int(NOW * 1000) + 5000
    ends = {
        "delivered": DeliveryEnd(State.DELIVERED, at, reply='{"Status":"Queued"}'),
        "refused": DeliveryEnd(State.REFUSED, at, "UnexpectedSubject", "No such method."),
        "given up": DeliveryEnd(State.GIVEN_UP, at, "OutboundFailed", "b.com could not be reached"),
    }
    for token, end in ends.items():
        correlation = send(owner, token=token)["correlation"]
        rows.finish(SHOP, correlation, end)
        assert send(owner, token=token) == {"correlation": correlation, "state": token}
        told = shown(owner, correlation)
        assert (told["state"], told["ended_at"]) == (token, "2026-11-21T09:30:05.000Z")
        assert (told.get("reason", ""), told.get("detail", "")) == (end.reason, end.detail)
        assert told.get("reply") == (json.loads(end.reply) if end.reply else None)
    assert len(queued(api.deployed)) == 3, "what has ended is not queued again"


def test_feedback_about_a_message_is_shown_with_its_state(api: ApiStack, owner: Owner) -> None:
    correlation = send(owner)["correlation"]
    outbox(api).report(Reported(SHOP, correlation, "b.com", "KeyNotFound", "No key.", int(NOW * 1000)))
    told = shown(owner, correlation)
    assert told["state"] == "queued"
    assert told["feedback"] == {
        "code": "KeyNotFound", "reason": "No key.", "received_at": "2026-11-21T09:30:00.000Z"
    }  # fmt: skip


def test_messages_are_listed_newest_first_in_pages(api: ApiStack, owner: Owner) -> None:
    sent = []
    for number in range(7):
        sent.append(send(owner, token=str(number))["correlation"])
        api.clock.now += number % 3  # some within one millisecond
    listed: list[str] = []
    after, more, sizes = "", True, []
    while more:
        page = said(owner.ask("GET", "/outbox", query={"limit": "3", "after": after}))
        listed += [each["correlation"] for each in page["messages"]]
        sizes.append(len(page["messages"]))
        after, more = page["cursor"], page["more"]
    assert set(listed) == set(sent)
    assert len(listed) == 7
    assert sizes[:2] == [3, 3]
    times = [shown(owner, each)["queued_at"] for each in listed]
    assert times == sorted(times, reverse=True)


def test_a_cursor_of_the_inbox_is_refused_by_the_outbox(api: ApiStack, owner: Owner) -> None:
    api.file("{}")
    send(owner)
    cursors = {path: said(owner.ask("GET", path))["cursor"] for path in ("/messages", "/outbox")}
    assert reason(owner.ask("GET", "/outbox", query={"after": cursors["/messages"]})) == "CursorInvalid"
    assert reason(owner.ask("GET", "/messages", query={"after": cursors["/outbox"]})) == "CursorInvalid"


@pytest.mark.parametrize("correlation", ["x", THEIRS, f"{THEIRS}0", "t1", str(UUID(int=0))])
def test_an_unknown_correlation_is_not_found(owner: Owner, correlation: str) -> None:
    send(owner)
    reply = owner.ask("GET", f"/outbox/{correlation}")
    assert (reply.status, reason(reply)) == (404, "NotSent")


@pytest.mark.parametrize("query", [{"limit": "0"}, {"limit": "101"}, {"limit": "x"}])
def test_a_page_has_a_limit(owner: Owner, query: dict[str, str]) -> None:
    assert reason(owner.ask("GET", "/outbox", query=query)) == "NotARequest"
