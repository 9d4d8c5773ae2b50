"""Sending dm3 messages from Python: to our own delivery service over TLS, and to any service by its responses."""

import asyncio
import json
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
import trustme
from tests.aws import Deployed
from tests.aws import clients as clients
from tests.aws import deployed as deployed
from tests.client.chat.network import ChatNetwork
from tests.client.dm3_net import HOST, SECOND, SECOND_HOST, Net, served
from tests.patience import PATIENCE
from tests.pipeline.delivery_service import ALICE, BOB, SERVICE, SIZE_LIMIT, DeliveryService
from tests.pipeline.stack import NOW, PipelineStack

from postroom.client.dm3 import Answer, Dm3Draft, Dm3Sender, Dm3Sent, Post, attach, delivering, reply, service_urls
from postroom.client.sending import SendOutcome
from postroom.core.errors import NotNowError, TheirError
from postroom.core.reason import Reason
from postroom.core.reasons import OUTBOUND_FAILED, SENDER_NOT_WANTED, TOO_LARGE
from postroom.core.steps import drive
from postroom.names.profiles import Profiles
from postroom.names.registry import PROFILE_KEY, SERVICE_KEY, MemoryRegistry
from postroom.net.https import HttpsClient, HttpsResponse
from postroom.protocols.dm3.envelope import open_delivery, open_message, open_text, read_envelope
from postroom.protocols.dm3.extension import FilterRules, ProfileExtension, TokenBalance
from postroom.protocols.dm3.keys import UserKeys
from postroom.protocols.dm3.message import Attachment, MessageType
from postroom.protocols.dm3.profile import UserProfile, data_uri
from postroom.protocols.dm3.reasons import MESSAGE_INVALID, MESSAGE_TYPE_UNSUPPORTED, PROFILE_UNKNOWN, RECEIVER_UNKNOWN
from postroom.protocols.dm3.service import ServiceKeys

NOW_MS = int(NOW * 1000)


# ---- over TLS, to our own inbox ----------------------------------------------------------------------------------
@dataclass
class Writer:
    """Alice at the net. `away`: hosts at an address where nobody listens."""

    net: Net
    ca_file: str
    away: set[str] = field(default_factory=set)

    @property
    def sender(self) -> Dm3Sender:
        https = HttpsClient(
            lambda host: ["127.0.0.2" if host in self.away else "127.0.0.1"],
            port=self.net.port, allow_private=True, ca_file=self.ca_file, connect_timeout=PATIENCE,
            total_timeout=PATIENCE,
        )  # fmt: skip
        service, clock = self.net.service, self.net.service.stack.clock
        return Dm3Sender(ALICE, service.users[ALICE], Profiles(service.registry, clock), https, clock=clock)

    def send(self, draft: Dm3Draft) -> Dm3Sent:
        return self.sender.send(draft)


@pytest.fixture
def net(deployed: Deployed) -> Net:
    return Net(DeliveryService(PipelineStack(deployed)))


@pytest.fixture
def alice(net: Net, tmp_path: Path) -> Iterator[Writer]:
    ca = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ca.issue_cert(HOST, SECOND_HOST).configure_cert(context)
    ca.cert_pem.write_to_path(tmp_path / "ca.pem")
    with served(net, context):
        yield Writer(net, str(tmp_path / "ca.pem"))


def test_a_message_arrives_and_passes_every_check(net: Net, alice: Writer) -> None:
    sent = alice.send(Dm3Draft("Bob.ETH", "hello 🤝"))
    assert (sent.fate, [each.service for each in sent.attempts]) == (SendOutcome.TAKEN, [SERVICE])
    opened = net.opened()
    assert (opened.verdict, opened.message_hash) == ("accepted", sent.message_hash)
    assert opened.message is not None
    metadata = opened.message.metadata
    assert (opened.message.message, metadata.sender, metadata.to) == ("hello 🤝", ALICE, BOB)
    assert (metadata.timestamp_ms, metadata.type) == (NOW_MS + 31_000, MessageType.NEW)


def test_the_receivers_preferences_are_fetched_before_sending(net: Net, alice: Writer) -> None:
    alice.send(Dm3Draft(BOB, "hello"))
    assert [(path, method) for _, path, method in net.came] == [
        ("/", "dm3_getProfileExtension"),
        ("/", "dm3_getDeliveryServiceProperties"),
        ("/", "dm3_submitMessage"),
    ]


def test_a_message_can_be_sent_asynchronously(net: Net, alice: Writer) -> None:
    sent = asyncio.run(alice.sender.send_async(Dm3Draft(BOB, "hello")))
    assert (sent.fate, net.opened().verdict) == (SendOutcome.TAKEN, "accepted")


def test_a_cancelled_coroutine_makes_no_further_request() -> None:
    calls, began, cancelled = [], threading.Event(), threading.Event()

    class Hanging(HttpsClient):
        def post(self, url: str, body: bytes, content_type: str) -> HttpsResponse:
            calls.append(json.loads(body)["method"])
            began.set()
            assert cancelled.wait(PATIENCE)
            return result(OPEN)

    https = Hanging(lambda _: pytest.fail("no host is looked up"))
    sender = Dm3Sender(ALICE, ALICES, Profiles(registry(), lambda: 0.0), https)

    async def cancel() -> None:
        sending = asyncio.create_task(sender.send_async(Dm3Draft(BOB, "hello")))
        await asyncio.to_thread(began.wait, PATIENCE)
        sending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sending
        cancelled.set()

    asyncio.run(cancel())  # ends when its threads have
    assert calls == ["dm3_getProfileExtension"]


def test_a_refusal_has_the_services_code_and_reason(net: Net, alice: Writer) -> None:
    net.service.stack.operators.remove_dm3_mailbox(BOB)
    net.service.stack.clock.now += 31
    [attempt] = alice.send(Dm3Draft(BOB, "hello")).attempts
    assert (attempt.fate, attempt.code, attempt.reason) == (SendOutcome.REFUSED, -32001, "ReceiverUnknown")
    assert attempt.detail == RECEIVER_UNKNOWN.sentence


def test_a_message_signed_with_another_key_is_refused(net: Net, alice: Writer) -> None:
    net.service.users[ALICE] = UserKeys.random()
    [attempt] = alice.send(Dm3Draft(BOB, "hello")).attempts
    assert (attempt.fate, attempt.code, attempt.reason) == (SendOutcome.REFUSED, -32003, "SenderSignatureInvalid")


@pytest.mark.parametrize(
    ("extension", "draft", "reason", "detail"),
    [
        (
            ProfileExtension(message_types=("EDIT",)), Dm3Draft(BOB, "no", MessageType.REPLY, reference="00"),
            MESSAGE_TYPE_UNSUPPORTED, "bob.eth does not accept REPLY, only NEW, EDIT",
        ),
        (
            ProfileExtension(rules=FilterRules(block=("Alice.ETH",))), Dm3Draft(BOB, "hello"),
            SENDER_NOT_WANTED, "the receiver blocks this sender",
        ),
        (
            ProfileExtension(rules=FilterRules(allow=("carol.eth",))), Dm3Draft(BOB, "hello"),
            SENDER_NOT_WANTED, "the receiver takes messages from certain senders only",
        ),
        (
            ProfileExtension(), Dm3Draft(BOB, "x" * SIZE_LIMIT), TOO_LARGE, f"takes at most {SIZE_LIMIT}",
        ),
    ],
    ids=["type", "blocked", "not allowed", "size"],
)  # fmt: skip
def test_a_message_that_the_receivers_profile_rejects_is_not_sent(
    net: Net, alice: Writer, extension: ProfileExtension, draft: Dm3Draft, reason: Reason, detail: str
) -> None:
    net.publish_second()
    net.service.open(BOB, extension=extension)
    [attempt] = alice.send(draft).attempts
    assert (attempt.fate, attempt.code, attempt.reason) == (SendOutcome.REFUSED, None, str(reason))
    assert detail in attempt.detail
    assert "dm3_submitMessage" not in [method for _, _, method in net.came]


def test_an_allowed_sender_is_accepted(net: Net, alice: Writer) -> None:
    net.service.open(BOB, extension=ProfileExtension(rules=FilterRules(allow=(ALICE,))))
    assert alice.send(Dm3Draft(BOB, "hello")).fate is SendOutcome.TAKEN


def test_rules_about_the_chain_are_left_to_the_delivery_service(net: Net, alice: Writer) -> None:
    rules = FilterRules(min_nonce=1, min_token_balance=TokenBalance("0x" + "00" * 20, 1))
    net.service.open(BOB, extension=ProfileExtension(rules=rules))
    [attempt] = alice.send(Dm3Draft(BOB, "hello")).attempts
    assert (attempt.fate, attempt.code, attempt.reason) == (SendOutcome.NOT_NOW, -32002, "FilterRuleUnchecked")


@pytest.mark.parametrize(
    "instead",
    [(503, b""), (500, b"{}"), (200, b'{"jsonrpc":"2.0","error":{"code":-32002,"message":"away"},"id":1}')],
    ids=["503", "500", "-32002"],
)
def test_the_next_delivery_service_is_tried_when_one_is_unavailable(
    net: Net, alice: Writer, instead: tuple[int, bytes]
) -> None:
    net.publish_second()
    net.instead[HOST] = instead
    sent = alice.send(Dm3Draft(BOB, "hello"))
    assert [(each.service, each.fate) for each in sent.attempts] == [
        (SERVICE, SendOutcome.NOT_NOW),
        (SECOND, SendOutcome.TAKEN),
    ]
    assert net.opened().verdict == "accepted"


def test_the_next_delivery_service_is_tried_when_a_connection_fails(net: Net, alice: Writer) -> None:
    net.publish_second()
    alice.away.add(HOST)
    first, second = alice.send(Dm3Draft(BOB, "hello")).attempts
    assert (first.reason, first.detail) == ("OutboundFailed", "no connection to ds.example, or it broke")
    assert (second.service, second.fate) == (SECOND, SendOutcome.TAKEN)


def test_the_next_delivery_service_is_tried_after_a_bad_certificate(net: Net, alice: Writer) -> None:
    net.publish_second()
    net.publish(SERVICE, "stranger.example")
    first, second = alice.send(Dm3Draft(BOB, "hello")).attempts
    assert (first.reason, first.detail) == (
        "OutboundFailed", "the certificate of stranger.example was not accepted",
    )  # fmt: skip
    assert (second.service, second.fate) == (SECOND, SendOutcome.TAKEN)


def test_the_next_delivery_service_is_tried_when_one_has_no_profile(net: Net, alice: Writer) -> None:
    net.publish_second()
    net.service.registry.put(SERVICE, SERVICE_KEY, "")
    first, second = alice.send(Dm3Draft(BOB, "hello")).attempts
    assert (first.fate, first.url, first.reason) == (SendOutcome.NOT_NOW, "", "ProfileUnknown")
    assert (second.service, second.fate) == (SECOND, SendOutcome.TAKEN)


# ---- to anybody, without a network -------------------------------------------------------------------------------
ALICES, BOBS, SERVICES = UserKeys.random(), UserKeys.random(), ServiceKeys.generate()
OPEN = {"supportedMessageTypes": [str(each) for each in MessageType]}
Answers = Callable[[dict[str, Any]], Answer]


def registry() -> MemoryRegistry:
    profile = UserProfile(BOBS.encryption.public, BOBS.signing.public, ("one.eth", "two.eth"))
    return MemoryRegistry({
        BOB: {PROFILE_KEY: data_uri(profile.as_json())},
        "one.eth": {SERVICE_KEY: data_uri(SERVICES.profile("https://one.example/base/").as_json())},
        "two.eth": {SERVICE_KEY: data_uri(SERVICES.profile("https://two.example").as_json())},
    })  # fmt: skip


def said(value: object, status: int = 200) -> HttpsResponse:
    return HttpsResponse(status, {}, value if isinstance(value, bytes) else json.dumps(value).encode())


def result(value: object) -> HttpsResponse:
    return said({"jsonrpc": "2.0", "result": value, "id": 1})


def error(code: object, status: int = 200, **data: object) -> HttpsResponse:
    return said({"jsonrpc": "2.0", "error": {"code": code, "message": "Said so", **data}, "id": 1}, status)


@dataclass
class Service:
    """A delivery service with given responses, and the calls it received."""

    submit: Answer = field(default_factory=lambda: result("accepted"))
    elsewhere: Answer | None = None
    """The response to each call that is not posted to /rpc; None: there is no difference."""
    extension: Answer = field(default_factory=lambda: result(OPEN))
    properties: Answer = field(default_factory=lambda: result({"sizeLimit": 1_000_000}))
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def send(self, draft: Dm3Draft) -> Dm3Sent:
        steps = delivering(draft, ALICE, ALICES, Profiles(registry(), lambda: 0.0), NOW_MS)
        return drive(steps, self.answer)

    def answer(self, post: Post) -> Answer:
        call = json.loads(post.body)
        self.calls.append((post.url, call))
        if self.elsewhere is not None and not post.url.endswith("/rpc"):
            return self.elsewhere
        return {
            "dm3_getProfileExtension": self.extension,
            "dm3_getDeliveryServiceProperties": self.properties,
            "dm3_submitMessage": self.submit,
        }[call["method"]]

    @property
    def all_submitted(self) -> list[dict[str, Any]]:
        return [call["params"][0] for _, call in self.calls if call["method"] == "dm3_submitMessage"]

    @property
    def submitted(self) -> dict[str, Any]:
        [envelope] = self.all_submitted
        return envelope


@pytest.mark.parametrize(
    ("answer", "fate", "code", "reason", "detail"),
    [
        (error(-32010), SendOutcome.REFUSED, -32010, "", "Said so"),
        (
            error(-32010, data={"reason": "SenderNotWanted", "detail": "no"}),
            SendOutcome.REFUSED, -32010, "SenderNotWanted", "no",
        ),
        (error(-32600, status=400), SendOutcome.REFUSED, -32600, "", "Said so"),
        (error(-32010, data=[1]), SendOutcome.REFUSED, -32010, "", "Said so"),
        (said({"jsonrpc": "2.0", "error": {"code": 1}}), SendOutcome.REFUSED, 1, "", "no reason was given"),
    ],
    ids=str,
)  # fmt: skip
def test_any_other_error_of_json_rpc_is_final(
    answer: Answer, fate: SendOutcome, code: int | None, reason: str, detail: str | None
) -> None:
    service = Service(submit=answer)
    [attempt] = service.send(Dm3Draft(BOB, "hello")).attempts
    assert (attempt.service, attempt.url) == ("one.eth", "https://one.example/base/")
    assert (attempt.fate, attempt.code, attempt.reason) == (fate, code, reason)
    assert detail is None or attempt.detail == detail


@pytest.mark.parametrize(
    "answer",
    [
        error(-32002), error(-32603), error(-32003, status=500), NotNowError(OUTBOUND_FAILED, "TLS"),
        said(b"", 500), said({"result": "accepted"}, 503), said({"result": "accepted"}, 302),
        said({"error": "unknown user"}, 400), said({"error": {"code": 404, "message": "Not Found"}}, 404),
        said({"error": {"message": "rate limit"}}, 429), error(-32003, status=302), error("-32002"), error(True),
        said(b"Not here", 404), said(b"", 413), said(b"", 429),
        said(b"<html>", 302), said(b"<html>"), said([]),
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("method", ["extension", "properties", "submit"])
def test_the_next_delivery_service_is_tried_when_any_call_fails(method: str, answer: Answer) -> None:
    service = Service()
    setattr(service, method, answer)
    sent = service.send(Dm3Draft(BOB, "hello"))
    assert [(each.service, each.fate) for each in sent.attempts] == [
        ("one.eth", SendOutcome.NOT_NOW),
        ("two.eth", SendOutcome.NOT_NOW),
    ]
    assert (sent.fate, bool(sent.message_hash)) == (SendOutcome.NOT_NOW, method == "submit")


@pytest.mark.parametrize(
    ("answer", "detail"),
    [
        (
            said({"error": "unknown user"}, 400),
            "HTTP 400 with no JSON-RPC answer: '{\"error\": \"unknown user\"}'",
        ),
        (said(b"\xff" * 500, 404), f"HTTP 404 with no JSON-RPC answer: '{'�' * 200}'"),
        (said(b"", 429), "HTTP 429 with no JSON-RPC answer: ''"),
    ],
)  # fmt: skip
def test_an_answer_that_is_no_json_rpc_is_shown(answer: HttpsResponse, detail: str) -> None:
    attempt = Service(submit=answer).send(Dm3Draft(BOB, "hello")).attempts[0]
    assert (attempt.fate, attempt.code, attempt.detail) == (SendOutcome.NOT_NOW, None, detail)


def test_each_delivery_service_gets_the_same_sealed_message() -> None:
    """The first may have taken it and failed to say so: the receiver sees that the two are one."""
    service = Service(submit=said(b"", 503))
    sent = service.send(Dm3Draft(BOB, "hello"))
    first, second = service.all_submitted
    assert first["message"] == second["message"]
    assert first["metadata"]["deliveryInformation"] != second["metadata"]["deliveryInformation"]
    assert sent.envelope == read_envelope(second)


@pytest.mark.parametrize(
    "service",
    [
        Service(extension=result("[]")), Service(extension=result({"spamFilterRules": 1})),
        Service(properties=result({"sizeLimit": "many"})), Service(properties=result(None)),
    ],
)  # fmt: skip
def test_an_invalid_response_is_not_a_refusal(service: Service) -> None:
    [attempt] = service.send(Dm3Draft(BOB, "hello")).attempts
    assert (attempt.fate, attempt.reason) == (SendOutcome.NOT_NOW, "ProfileInvalid")
    assert attempt.detail


def test_results_as_json_text_as_the_reference_sends_them_are_accepted() -> None:
    """It tells which types it does not take (decision "Profile extension")."""
    service = Service(
        extension=result('{"notSupportedMessageTypes":["NEW","EDIT"]}'), properties=result('{"sizeLimit":1000000}')
    )
    assert service.send(Dm3Draft(BOB, "hello")).fate is SendOutcome.TAKEN
    [attempt] = service.send(Dm3Draft(BOB, "hello", MessageType.EDIT, reference="00")).attempts
    assert attempt.reason == "MessageTypeUnsupported"


def test_a_size_limit_applies_to_the_sent_bytes() -> None:
    service = Service(properties=result({}))
    service.send(Dm3Draft(BOB, "hello"))
    size = len(json.dumps(service.submitted, separators=(",", ":")).encode())
    assert Service(properties=result({"sizeLimit": size})).send(Dm3Draft(BOB, "hello")).fate is SendOutcome.TAKEN
    [attempt] = Service(properties=result({"sizeLimit": size - 1})).send(Dm3Draft(BOB, "hello")).attempts
    assert attempt.detail == f"the envelope has {size} bytes; the delivery service takes at most {size - 1}"


def test_each_method_gets_its_parameters() -> None:
    service = Service()
    service.send(Dm3Draft("BOB.eth", "hello"))
    assert [(call["jsonrpc"], call["id"], call["method"]) for _, call in service.calls] == [
        ("2.0", 1, "dm3_getProfileExtension"),
        ("2.0", 1, "dm3_getDeliveryServiceProperties"),
        ("2.0", 1, "dm3_submitMessage"),
    ]
    assert [call["params"] for _, call in service.calls[:2]] == [[BOB], []]


def test_a_reply_returns_the_delivery_instruction_unchanged() -> None:
    first, second = Service(), Service()
    sent = first.send(Dm3Draft(BOB, "which topic?", reply_delivery_instruction="topic 7 / é"))
    original = open_message(read_envelope(first.submitted), [BOBS.encryption])
    assert original.metadata.reply_delivery_instruction == "topic 7 / é"
    draft = reply(original, sent.message_hash, "this one")
    assert (draft.to, draft.type, draft.reference) == (ALICE, MessageType.REPLY, sent.message_hash)
    second.send(replace(draft, to=BOB))  # only he has a profile here
    delivery = open_delivery(read_envelope(second.submitted), SERVICES.encryption)
    assert delivery.delivery_instruction == "topic 7 / é"
    answer = open_message(read_envelope(second.submitted), [BOBS.encryption])
    assert answer.metadata.reference_message_hash == sent.message_hash


def test_files_are_attached_as_data_uris() -> None:
    service = Service()
    draft = Dm3Draft(
        BOB, "hello", attachments=(attach(b"\x00\xff", "image/png"), Attachment("https://files.example/1")),
        encodings=("data:text/html,<b>hello</b>",),
    )  # fmt: skip
    service.send(draft)
    message = open_message(read_envelope(service.submitted), [BOBS.encryption])
    assert (message.message, message.attachments) == (
        "hello",
        (
            Attachment("data:text/html,<b>hello</b>"), Attachment("data:image/png;base64,AP8="),
            Attachment("https://files.example/1"),
        ),
    )  # fmt: skip


def test_without_files_there_is_no_list_of_attachments() -> None:
    service = Service()
    service.send(Dm3Draft(BOB, "hello"))
    assert open_message(read_envelope(service.submitted), [BOBS.encryption]).attachments is None


@pytest.mark.parametrize(
    "make",
    [
        lambda: Dm3Draft(BOB, "hello", encodings=("https://files.example/1.html",)),
        lambda: Dm3Draft(BOB, None, MessageType.READ_RECEIPT, encodings=("data:text/html,hello",)),
        lambda: Service().send(Dm3Draft(BOB, None)),
        lambda: Service().send(Dm3Draft(BOB, "hello", MessageType.EDIT)),
    ],
    ids=["a link", "beside nothing", "no text", "no reference"],
)
def test_an_invalid_message_is_not_sent(make: Callable[[], object]) -> None:
    with pytest.raises(TheirError) as caught:
        make()
    assert caught.value.reason is MESSAGE_INVALID


def test_a_receiver_without_a_profile_is_refused_before_sending() -> None:
    with pytest.raises(TheirError) as caught:
        Service().send(Dm3Draft("nobody.eth", "hello"))
    assert caught.value.reason is PROFILE_UNKNOWN


@pytest.mark.parametrize(
    ("url", "posted"),
    [
        ("https://ds.example", ["https://ds.example", "https://ds.example/rpc"]),
        ("https://ds.example/", ["https://ds.example/", "https://ds.example/rpc"]),
        ("https://ds.example/api//", ["https://ds.example/api//", "https://ds.example/api/rpc"]),
        ("https://ds.example/api/rpc", ["https://ds.example/api/rpc"]),
        ("https://ds.example/?tenant=1", ["https://ds.example/?tenant=1"]),
        ("https://ds.example:8443", ["https://ds.example:8443"]),
        ("https://[2001:db8::1]:8443/", ["https://[2001:db8::1]:8443/"]),
        ("https://[2001:db8::1]/", ["https://[2001:db8::1]/", "https://[2001:db8::1]/rpc"]),
    ],
)
def test_a_services_url_is_posted_to_as_it_is_given_and_then_as_the_reference_does(url: str, posted: list[str]) -> None:
    assert list(service_urls(url)) == posted


@pytest.mark.parametrize("answer", [said(b"Cannot POST /", 404), said(b"<html>"), said(b"", 502)], ids=str)
def test_a_service_that_takes_calls_at_rpc_only_is_asked_there(answer: HttpsResponse) -> None:
    service = Service(elsewhere=answer)
    sent = service.send(Dm3Draft(BOB, "hello"))
    assert (sent.fate, [each.url for each in sent.attempts]) == (SendOutcome.TAKEN, ["https://one.example/base/rpc"])
    assert [url for url, _ in service.calls] == ["https://one.example/base/", *["https://one.example/base/rpc"] * 3]


def test_a_refusal_and_a_failed_connection_are_not_tried_at_another_url() -> None:
    for answer in (error(-32001), NotNowError(OUTBOUND_FAILED, "TLS")):
        service = Service(elsewhere=answer)
        service.send(Dm3Draft(BOB, "hello"))
        assert not [url for url, _ in service.calls if url.endswith("/rpc")]


# ---- sealed messages, which are kept and sent again -----------------------------------------------------------------
@pytest.fixture
def network() -> ChatNetwork:
    return ChatNetwork()


def test_a_sealed_message_has_one_hash_however_often_it_is_sent(network: ChatNetwork) -> None:
    sender = network["alice.eth"].sender()
    sealed = sender.seal(sender.sign(Dm3Draft("bob.eth", "hello"), 7))
    first, second = sender.send_sealed(sealed), sender.send_sealed(sealed)
    assert first.fate is second.fate is SendOutcome.TAKEN
    assert {first.message_hash, second.message_hash} == {sealed.message_hash}
    assert first.message.metadata.timestamp_ms == 7
    [waiting] = network["bob.eth"].service.waiting
    assert open_text(waiting.envelope, [network["bob.eth"].keys.encryption]) == sealed.message


def test_a_sealed_message_is_encrypted_again_if_its_receiver_has_another_key(network: ChatNetwork) -> None:
    sender, bob = network["alice.eth"].sender(), network["bob.eth"]
    sealed = sender.seal(sender.sign(Dm3Draft("bob.eth", "hello")))
    bob.keys = UserKeys(bob.keys.signing, UserKeys.random().encryption)
    bob.publish()
    sent = sender.send_sealed(sealed)
    assert sent.fate is SendOutcome.TAKEN
    assert sent.message_hash != sealed.message_hash
    [waiting] = bob.service.waiting
    assert open_text(waiting.envelope, [bob.keys.encryption]) == sealed.message


def test_a_message_is_signed_while_names_cannot_be_looked_up_and_sealed_later(network: ChatNetwork) -> None:
    sender = network["alice.eth"].sender()
    network.registry.down = True
    message = sender.sign(Dm3Draft("bob.eth", "hello"))
    with pytest.raises(NotNowError):
        sender.seal(message)
    network.registry.down = False
    assert sender.send_sealed(sender.seal(message)).fate is SendOutcome.TAKEN
