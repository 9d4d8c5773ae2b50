"""The dm3 inbox: what is refused to the sender's face, and what is accepted once it is queued (decisions "Order of
checks" and "JSON-RPC")."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from threading import Event
from typing import Any

import orjson
import pytest
from botocore.stub import Stubber
from tests.aws import gate_calls, new_clients
from tests.patience import PATIENCE
from tests.pipeline.delivery_service import ALICE, BOB, MALLORY, SIZE_LIMIT, DeliveryService
from tests.pipeline.stack import PipelineStack

from postroom.core.errors import NotNowError, TheirError
from postroom.core.leaky_bucket import LeakyBucket
from postroom.core.reasons import SIGNING_KEY_UNAVAILABLE, WRONG_CONTENT_ENCODING
from postroom.http.response import MAX_ANSWER_BYTES
from postroom.names.profiles import Profiles
from postroom.names.registry import FRESH_SECONDS
from postroom.pipeline.claim_details import Dm3Details
from postroom.pipeline.dm3_inbox import (
    BODY_SECONDS,
    MAX_BESIDE_BYTES,
    MAX_BODY_BYTES,
    MAX_UNKNOWN_RECEIVERS,
    READS_PER_SECOND,
)
from postroom.protocols.dm3.envelope import DeliveryInformation, read_envelope, write_envelope
from postroom.protocols.dm3.extension import FilterRules, ProfileExtension
from postroom.protocols.dm3.jsonrpc import MAX_BATCH, MAX_ID_CHARACTERS
from postroom.protocols.dm3.keys import UserKeys
from postroom.protocols.dm3.reasons import RPC_NOT_A_REQUEST, SENDER_SIGNATURE_INVALID
from postroom.protocols.dm3.service import ServiceKeys
from postroom.storage.directory.domains import Directory, Dm3Mailbox


@pytest.fixture
def service(stack: PipelineStack) -> DeliveryService:
    return DeliveryService(stack)


@dataclass
class SlowDirectory:
    dm3_mailbox: Callable[..., Dm3Mailbox | None]


def refusal(said: dict[str, Any]) -> tuple[int, str]:
    return said["error"]["code"], said["error"]["data"]["reason"]


def queued(service: DeliveryService) -> int:
    return len(service.stack.deployed.bodies("ClaimsQueue"))


# --- what is taken -----------------------------------------------------------------------------------------------


def test_the_response_is_accepted_once_the_claim_is_queued(service: DeliveryService) -> None:
    envelope = service.envelope()
    claim = service.claim(service.queued(envelope))
    assert (claim.protocol, claim.mailbox, claim.source) == ("dm3", BOB, "192.0.2.1")
    assert read_envelope(json.loads(claim.envelope)) == envelope
    assert isinstance(claim.details, Dm3Details)
    assert claim.details.receiver_key == service.users[BOB].encryption.public
    assert claim.details.sender_key == service.users[ALICE].signing.public.fingerprint


def test_an_envelope_may_come_as_json_text_and_is_queued_as_it_came(service: DeliveryService) -> None:
    text = json.dumps(service.envelope().as_json(), indent=1)
    assert service.call("dm3_submitMessage", text, "a token of the reference")["result"] == "accepted"
    [record] = map(service.stack.record, service.stack.deployed.bodies("ClaimsQueue"))
    assert service.claim(record).envelope == text


def test_the_names_in_the_queue_are_the_receivers_only(service: DeliveryService) -> None:
    service.queued(service.envelope())
    [body] = service.stack.deployed.bodies("ClaimsQueue")
    assert BOB in body
    assert ALICE not in body


def test_names_are_normalised(service: DeliveryService) -> None:
    service.users |= {"Alice.ETH": service.users[ALICE], "BOB.eth": service.users[BOB]}
    assert service.claim(service.queued(service.envelope(sender="Alice.ETH", to="BOB.eth"))).mailbox == BOB


def test_a_message_sealed_to_an_older_key_is_opened(service: DeliveryService) -> None:
    envelope = service.envelope()
    keys = service.keys.get()
    service.keys.keys = keys.rotated()
    assert service.submit(envelope)["result"] == "accepted"
    assert service.submit(service.envelope())["result"] == "accepted"
    service.keys.keys = ServiceKeys(keys.signing, service.keys.get().encryption[:1])
    assert refusal(service.submit(envelope)) == (-32000, "SealedValueInvalid")


@pytest.mark.parametrize("postmark", ["mine", "", None, 5, {"messageHash": "x"}])
def test_a_postmark_of_the_senders_is_ignored(service: DeliveryService, postmark: object) -> None:
    assert service.submit({**service.envelope().as_json(), "postmark": postmark})["result"] == "accepted"


# --- the order of checks (decision "Order of checks") ----------------------------------------------------------------


def test_a_body_may_be_as_long_as_lambda_takes_and_no_longer(service: DeliveryService) -> None:
    call = json.dumps({"jsonrpc": "2.0", "method": "dm3_getDeliveryServiceProperties", "id": 1}).encode()
    longest = json.loads(service.post(call.ljust(MAX_BODY_BYTES)).body)
    assert longest["result"] == {"messageTTL": 0, "sizeLimit": SIZE_LIMIT}
    assert refusal(json.loads(service.post(call.ljust(MAX_BODY_BYTES + 1)).body)) == (-32011, "TooLarge")


def test_the_size_is_that_of_the_envelope_as_received(service: DeliveryService) -> None:
    text = json.dumps(service.envelope("x" * 60_000).as_json())
    padded = text[:-1] + " " * (SIZE_LIMIT - len(text)) + "}"
    assert service.submit(padded)["result"] == "accepted"
    assert refusal(service.submit(padded + " ")) == (-32011, "TooLarge")
    assert refusal(service.submit({"message": "x" * SIZE_LIMIT})) == (-32011, "TooLarge")


@pytest.mark.parametrize(
    "param", [None, 5, [], "", "{", "5", "[]", {}, {"message": "x"}, {"message": 1, "metadata": {}}]
)
def test_an_invalid_envelope_is_refused_with_its_reason(service: DeliveryService, param: object) -> None:
    assert refusal(service.submit(param)) == (-32000, "EnvelopeInvalid")


def test_a_message_sealed_to_somebody_else_is_refused(service: DeliveryService) -> None:
    theirs = service.envelope()
    service.keys.keys = ServiceKeys.generate()
    assert refusal(service.submit(theirs)) == (-32000, "SealedValueInvalid")


def test_a_receiver_without_a_mailbox_is_unknown(service: DeliveryService) -> None:
    assert refusal(service.submit(service.envelope(to=ALICE))) == (-32001, "ReceiverUnknown")
    service.stack.operators.remove_dm3_mailbox(BOB)
    service.stack.clock.now += 31
    assert refusal(service.submit(service.envelope())) == (-32001, "ReceiverUnknown")


def test_an_invalid_name_is_refused(service: DeliveryService) -> None:
    service.users["a..eth"] = service.users[ALICE]
    assert refusal(service.submit(service.envelope(sender="a..eth"))) == (-32000, "NameInvalid")


def test_the_signature_is_checked_against_the_senders_profile(service: DeliveryService) -> None:
    assert refusal(service.submit(service.envelope(signer=MALLORY))) == (-32003, "SenderSignatureInvalid")
    assert refusal(service.submit(service.envelope(sender=MALLORY, as_sender=ALICE))) == (
        -32003, "SenderSignatureInvalid",
    )  # fmt: skip


@pytest.mark.parametrize("member", ["version", "encryptionScheme", "deliveryInformation", "signature"])
def test_every_member_of_the_metadata_is_signed(service: DeliveryService, member: str) -> None:
    value: Any = service.envelope().as_json()
    other: Any = service.envelope("another").as_json()
    value["metadata"][member] = "v1" if member == "version" else other["metadata"][member]
    if member == "encryptionScheme":
        del value["metadata"][member]
    assert refusal(service.submit(value)) == (-32003, "SenderSignatureInvalid")


def test_a_sender_without_a_profile_is_not_let_in(service: DeliveryService) -> None:
    assert refusal(service.submit(service.envelope(sender=MALLORY))) == (-32002, "ProfileUnknown")


def test_while_profiles_cannot_be_had_the_sender_is_asked_to_come_again(service: DeliveryService) -> None:
    service.registry.down = True
    assert refusal(service.submit(service.envelope())) == (-32002, "ProfileLookupFailed")


def test_while_our_keys_cannot_be_had_the_sender_is_asked_to_come_again(service: DeliveryService) -> None:
    envelope = service.envelope()
    service.keys.keys = NotNowError(SIGNING_KEY_UNAVAILABLE)
    assert refusal(service.submit(envelope, 503)) == (-32002, "SigningKeyUnavailable")


@pytest.mark.parametrize(
    ("rules", "code"),
    [
        (FilterRules(block=(ALICE,)), (-32010, "SenderNotWanted")),
        (FilterRules(allow=(MALLORY,)), (-32010, "SenderNotWanted")),
        (FilterRules(min_nonce=1), (-32002, "FilterRuleUnchecked")),
        (FilterRules(min_balance=1), (-32002, "FilterRuleUnchecked")),
    ],
)
def test_filter_rules_are_applied(service: DeliveryService, rules: FilterRules, code: tuple[int, str]) -> None:
    service.open(BOB, extension=ProfileExtension(rules=rules))
    assert refusal(service.submit(service.envelope())) == code


@pytest.mark.parametrize("rule", [{"min_nonce": 1}, {"min_balance": 1}], ids=str)
def test_the_account_of_a_verified_sender_decides(service: DeliveryService, rule: dict[str, int]) -> None:
    service.open(BOB, extension=ProfileExtension(rules=FilterRules(**rule)))
    service.accounts.reaching[ALICE] = False
    assert refusal(service.submit(service.envelope())) == (-32010, "SenderNotWanted")
    service.accounts.reaching[ALICE] = True
    assert service.submit(service.envelope())["result"] == "accepted"
    assert service.accounts.looked_up == [ALICE, ALICE]


def test_nobody_asks_for_the_account_of_a_name_that_is_not_proven(service: DeliveryService) -> None:
    service.open(BOB, takes_unverified=True, extension=ProfileExtension(rules=FilterRules(min_nonce=1)))
    service.accounts.reaching |= {ALICE: True, MALLORY: True}
    assert refusal(service.submit(service.envelope(signer=MALLORY))) == (-32003, "SenderSignatureInvalid")
    assert refusal(service.submit(service.envelope(sender=MALLORY))) == (-32010, "SenderNotWanted")
    service.registry.down = True
    assert refusal(service.submit(service.envelope())) == (-32002, "ProfileLookupFailed")
    assert service.accounts.looked_up == []


def test_an_account_that_is_not_looked_up_in_time_is_a_rule_that_is_not_checked(service: DeliveryService) -> None:
    service.open(BOB, extension=ProfileExtension(rules=FilterRules(min_nonce=1)))
    answered = Event()

    def reach(name: str, rules: FilterRules) -> bool:
        assert answered.wait(PATIENCE), f"{name} {rules}"
        return True

    service.accounts.reach = reach  # type: ignore[method-assign]
    assert refusal(service.submit(service.envelope())) == (-32002, "FilterRuleUnchecked")
    answered.set()


def test_no_account_is_looked_up_where_names_decide(service: DeliveryService) -> None:
    rules = FilterRules(min_nonce=1, allow=(ALICE,), block=(MALLORY,))
    service.open(BOB, extension=ProfileExtension(rules=rules))
    service.publish(MALLORY)
    assert service.submit(service.envelope())["result"] == "accepted"
    assert refusal(service.submit(service.envelope(sender=MALLORY))) == (-32010, "SenderNotWanted")
    assert service.accounts.looked_up == []


def test_a_sender_on_the_allow_list_needs_no_balance(service: DeliveryService) -> None:
    service.open(BOB, extension=ProfileExtension(rules=FilterRules(min_balance=1, allow=("Alice.eth",))))
    assert service.submit(service.envelope())["result"] == "accepted"


def test_a_refused_message_leaves_no_trace(service: DeliveryService) -> None:
    service.open(BOB, extension=ProfileExtension(rules=FilterRules(block=(MALLORY,))))
    before = service.stack.deployed.dump()
    service.submit(service.envelope(signer=MALLORY))
    service.submit(service.envelope(sender=MALLORY))
    service.submit(service.envelope(to=ALICE))
    service.submit("x")
    assert service.stack.deployed.dump() == before


def test_a_message_is_not_accepted_if_the_queue_does_not_answer(service: DeliveryService) -> None:
    clients = new_clients()
    body = {"jsonrpc": "2.0", "method": "dm3_submitMessage", "params": [service.envelope().as_json()], "id": 1}
    with Stubber(clients.sqs) as stub:
        stub.add_client_error("send_message", "ServiceUnavailable", http_status_code=503)
        answer = service.post(body, clients)
    assert refusal(json.loads(answer.body)) == (-32002, "NotQueued")


# --- unverified senders ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("away", [False, True])
def test_a_mailbox_may_accept_unverified_senders(service: DeliveryService, away: bool) -> None:
    service.open(BOB, takes_unverified=True)
    service.submit(service.envelope())  # which brings bob's own profile into the cache
    inbox = service.inbox()
    service.inbox = lambda clients=None: inbox  # type: ignore[method-assign]
    assert service.submit(service.envelope())["result"] == "accepted"
    service.registry.down = away
    service.queued(service.envelope(sender=MALLORY))
    claim = service.claim(service.stack.record(service.stack.deployed.bodies("ClaimsQueue")[-1]))
    assert isinstance(claim.details, Dm3Details)
    assert claim.details.sender_key == ""


def test_a_mailbox_never_accepts_a_sender_whose_signature_is_wrong(service: DeliveryService) -> None:
    service.open(BOB, takes_unverified=True)
    assert refusal(service.submit(service.envelope(signer=MALLORY))) == (-32003, "SenderSignatureInvalid")


def test_an_unverified_sender_is_not_on_the_allow_list(service: DeliveryService) -> None:
    rules = FilterRules(allow=(MALLORY,))
    service.open(BOB, takes_unverified=True, extension=ProfileExtension(rules=rules))
    assert refusal(service.submit(service.envelope(sender=MALLORY))) == (-32010, "SenderNotWanted")


@pytest.mark.parametrize("rules", [FilterRules(min_nonce=1), FilterRules(min_balance=1), FilterRules(allow=(MALLORY,))])
def test_a_sender_who_must_be_verified_and_cannot_be_now_is_asked_to_come_again(
    service: DeliveryService, rules: FilterRules
) -> None:
    service.open(BOB, takes_unverified=True, extension=ProfileExtension(rules=rules))
    service.registry.away.add(MALLORY)
    assert refusal(service.submit(service.envelope(sender=MALLORY))) == (-32002, "ProfileLookupFailed")
    service.registry.away.clear()
    assert refusal(service.submit(service.envelope(sender=MALLORY))) == (-32010, "SenderNotWanted")


# --- the other methods ----------------------------------------------------------------------------------------------


def test_the_properties_are_ttl_and_size_limit_and_nothing_else(service: DeliveryService) -> None:
    assert service.call("dm3_getDeliveryServiceProperties")["result"] == {"messageTTL": 0, "sizeLimit": SIZE_LIMIT}


def test_the_extension_of_a_mailbox_is_public(service: DeliveryService) -> None:
    service.open(BOB, extension=ProfileExtension(message_types=("EDIT",), rules=FilterRules(block=(MALLORY,))))
    assert service.call("dm3_getProfileExtension", "Bob.eth")["result"] == {
        "encryptionScheme": ["x25519-chacha20-poly1305"],
        "supportedMessageTypes": ["NEW", "EDIT"],
        "spamFilterRules": {"block": [MALLORY]},
    }
    assert refusal(service.call("dm3_getProfileExtension", ALICE)) == (-32001, "ReceiverUnknown")


@pytest.mark.parametrize("params", [None, {}, {"name": BOB}, [], [5], [None], [[BOB]]])
def test_the_name_is_the_first_of_the_parameters(service: DeliveryService, params: object) -> None:
    said = json.loads(
        service.post({"jsonrpc": "2.0", "method": "dm3_getProfileExtension", "params": params, "id": "x"}).body
    )
    assert refusal(said) == (-32602, "RpcWrongParams")
    assert said["id"] == "x"


@pytest.mark.parametrize(
    ("method", "code"),
    [
        ("dm3_nonsense", (-32601, "RpcUnknownMethod")),
        ("eth_call", (-32601, "RpcUnknownMethod")),
        ("dm3_billboard_getMessages", (-32004, "RpcMethodNotOffered")),
    ],
)
def test_other_methods_are_refused(service: DeliveryService, method: str, code: tuple[int, str]) -> None:
    assert refusal(service.call(method)) == code


# --- JSON-RPC over HTTP -----------------------------------------------------------------------------------------------


def test_a_batch_is_answered_call_by_call(service: DeliveryService) -> None:
    def call(envelope: object, **more: object) -> dict[str, object]:
        return {"jsonrpc": "2.0", "method": "dm3_submitMessage", "params": [envelope], **more}

    good, bad = service.envelope().as_json(), service.envelope(signer=MALLORY).as_json()
    answer = service.post([call(good, id=1), call(bad, id=2), call(good), 5, call(bad, id=None)])
    said = json.loads(answer.body)
    assert answer.status == 200
    assert [entry.get("result", entry.get("error", {}).get("code")) for entry in said] == [
        "accepted", -32003, "accepted", -32600, -32003,
    ]  # fmt: skip
    assert [entry["id"] for entry in said] == [1, 2, None, None, None]
    assert [part.reason for part in answer.parts] == [
        None, SENDER_SIGNATURE_INVALID, None, RPC_NOT_A_REQUEST, SENDER_SIGNATURE_INVALID,
    ]  # fmt: skip
    queued_about, refused_about = ["claim", "correlation", "mailbox", "received_at_ms", "seen", "text"], ["correlation"]
    assert [sorted(part.about) for part in answer.parts] == [
        queued_about, refused_about, queued_about, [], refused_about,
    ]  # fmt: skip
    assert queued(service) == 2


def test_a_call_without_an_id_is_answered_as_others_are(service: DeliveryService) -> None:
    body = {"jsonrpc": "2.0", "method": "dm3_submitMessage", "params": [service.envelope().as_json()]}
    answer = service.post(body)
    assert (answer.status, queued(service)) == (200, 1)
    assert json.loads(answer.body) == {"jsonrpc": "2.0", "result": "accepted", "id": None}


def test_a_compressed_body_is_refused_with_its_reason(service: DeliveryService) -> None:
    body = json.dumps({"jsonrpc": "2.0", "method": "dm3_submitMessage", "params": [service.envelope().as_json()]})
    for coding in ("gzip", "br", "identity, gzip"):
        answer = service.inbox().post(body.encode(), "192.0.2.1", coding)
        said = json.loads(answer.body)
        assert (answer.status, said["error"]["code"], said["id"]) == (200, -32600, None)
        assert said["error"]["data"]["reason"] == "WrongContentEncoding"
        with pytest.raises(TheirError) as refused:
            service.inbox().post_calls(body.encode(), "192.0.2.1", coding)
        assert refused.value.reason is WRONG_CONTENT_ENCODING
    assert queued(service) == 0
    assert service.inbox().post(body.encode(), "192.0.2.1", "identity").status == 200


def test_an_internal_error_shows_no_details(service: DeliveryService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service.stack.directory, "dm3_mailbox", lambda _: 1 // 0)
    said = service.submit(service.envelope(), 503)
    assert said["error"] == {"code": -32603, "message": "Internal error"}


def test_logs_never_name_the_sender(service: DeliveryService, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO"):
        answer = service.post(
            {"jsonrpc": "2.0", "method": "dm3_submitMessage", "params": [service.envelope().as_json()], "id": 1}
        )
        service.submit(service.envelope(signer=MALLORY))
        service.submit(service.envelope(sender=MALLORY))
    assert ALICE not in caplog.text + str(answer)
    assert MALLORY not in caplog.text


def test_keys_may_be_of_ed25519_too(service: DeliveryService) -> None:
    service.users[ALICE] = UserKeys.from_wallet_signature("0x" + "ab" * 65)
    service.publish(ALICE)
    assert service.submit(service.envelope())["result"] == "accepted"


@pytest.mark.parametrize(
    ("seconds", "begun"), [(BODY_SECONDS, 2), (BODY_SECONDS + 0.001, 1), (BODY_SECONDS / 2 - 1, 3)]
)
def test_a_slow_batch_ends_in_time_and_the_rest_is_unavailable(
    service: DeliveryService, seconds: float, begun: int
) -> None:
    """Each of fifty calls may wait for what does not answer; the function may not."""
    calls = [
        {"jsonrpc": "2.0", "method": "dm3_submitMessage", "params": [service.envelope().as_json()], "id": number}
        for number in range(10)
    ]
    find, clock = service.stack.directory.dm3_mailbox, service.stack.clock

    def slowly(name: str, *, before_read: Callable[[], None]) -> Dm3Mailbox | None:
        clock.now += seconds
        return find(name)

    inbox = service.inbox()
    inbox = replace(inbox, directory=SlowDirectory(slowly))
    said = json.loads(inbox.post(json.dumps(calls).encode(), "192.0.2.1").body)
    assert [entry.get("result") for entry in said] == ["accepted"] * begun + [None] * (10 - begun)
    assert {refusal(entry) for entry in said[begun:]} == {(-32002, "NotQueued")}
    assert queued(service) == begun


# --- what strangers can make it look up ----------------------------------------------------------------------------


class CountedDirectory:
    """The directory of a cold instance, with the number of its reads."""

    def __init__(self, service: DeliveryService) -> None:
        self.reads = 0
        clients = new_clients()
        gate_calls(clients, self._count)
        self.directory = Directory(
            clients.dynamodb, service.stack.deployed.tables["DirectoryTable"], clock=service.stack.clock,
            cache_seconds=30,
        )  # fmt: skip

    def _count(self, _operation: str) -> AbstractContextManager[None]:
        self.reads += 1
        return nullcontext()


def extensions(names: Iterable[str]) -> bytes:
    """A batch that asks for the profile extension of each name."""
    calls = [{"jsonrpc": "2.0", "method": "dm3_getProfileExtension", "params": [name], "id": name} for name in names]
    return json.dumps(calls).encode()


def test_after_four_unknown_receivers_a_body_reads_nothing_more(service: DeliveryService) -> None:
    counted = CountedDirectory(service)
    inbox = replace(service.inbox(), directory=counted.directory)
    names = [BOB, *(f"stranger{number}.eth" for number in range(MAX_BATCH - 1))]
    said = json.loads(inbox.post(extensions(names), "192.0.2.1").body)
    assert "result" in said[0]
    assert [refusal(entry) for entry in said[1:5]] == [(-32001, "ReceiverUnknown")] * MAX_UNKNOWN_RECEIVERS
    assert {refusal(entry) for entry in said[5:]} == {(-32005, "RpcTooManyUnknownReceivers")}
    assert counted.reads == 1 + MAX_UNKNOWN_RECEIVERS == 5
    # The next body begins anew, and what was read is known.
    said = json.loads(inbox.post(extensions(names[:5]), "192.0.2.1").body)
    assert [refusal(entry) for entry in said[1:]] == [(-32001, "ReceiverUnknown")] * MAX_UNKNOWN_RECEIVERS
    assert counted.reads == 5


def test_after_four_unknown_receivers_those_that_are_cached_are_still_served(service: DeliveryService) -> None:
    counted = CountedDirectory(service)
    inbox = replace(service.inbox(), directory=counted.directory)
    strangers = [f"stranger{number}.eth" for number in range(MAX_UNKNOWN_RECEIVERS)]
    for known in (BOB, *strangers):
        inbox.post(extensions([known]), "192.0.2.1")
    reads = counted.reads
    said = json.loads(inbox.post(extensions([*strangers, strangers[0], "another.eth", BOB]), "192.0.2.1").body)
    assert [refusal(entry) for entry in said[:5]] == [(-32001, "ReceiverUnknown")] * 5
    assert (refusal(said[5]), "result" in said[6]) == ((-32005, "RpcTooManyUnknownReceivers"), True)
    assert counted.reads == reads


def test_submitted_messages_to_unknown_receivers_count_as_well(service: DeliveryService) -> None:
    counted = CountedDirectory(service)
    inbox = replace(service.inbox(), directory=counted.directory)
    params = [service.envelope(to=f"stranger{number}.eth", sender=ALICE).as_json() for number in range(5)]
    params.append(service.envelope().as_json())
    calls = [
        {"jsonrpc": "2.0", "method": "dm3_submitMessage", "params": [param], "id": number}
        for number, param in enumerate(params)
    ]
    said = json.loads(inbox.post(json.dumps(calls).encode(), "192.0.2.1").body)
    assert [refusal(entry)[0] for entry in said] == [-32001] * 4 + [-32005] * 2
    assert counted.reads == MAX_UNKNOWN_RECEIVERS
    assert queued(service) == 0


def test_an_instance_reads_the_directory_at_a_limited_rate(service: DeliveryService) -> None:
    counted, clock = CountedDirectory(service), service.stack.clock
    service.reads = LeakyBucket(READS_PER_SECOND, MAX_BATCH, clock)
    inbox = replace(service.inbox(), directory=counted.directory)
    answers: Counter[tuple[int, str]] = Counter()
    for number in range(200):
        names = [f"stranger{number}-{each}.eth" for each in range(MAX_UNKNOWN_RECEIVERS)]
        answers.update(refusal(entry) for entry in json.loads(inbox.post(extensions(names), "192.0.2.1").body))
    assert counted.reads == MAX_BATCH
    assert answers == {(-32001, "ReceiverUnknown"): MAX_BATCH, (-32002, "TooManyLookUps"): 800 - MAX_BATCH}
    clock.now += 1
    said = json.loads(inbox.post(extensions([BOB, "stranger0-0.eth"]), "192.0.2.1").body)
    assert ("result" in said[0], refusal(said[1])) == (True, (-32001, "ReceiverUnknown"))
    assert counted.reads == MAX_BATCH + 1, "what is cached is not read, and never refused"


def test_a_receiver_that_a_body_may_not_read_any_more_takes_no_read_from_other_bodies(service: DeliveryService) -> None:
    service.reads = LeakyBucket(READS_PER_SECOND, MAX_BATCH, service.stack.clock)
    inbox = service.inbox()
    inbox.post(extensions(f"stranger{number}.eth" for number in range(MAX_BATCH)), "192.0.2.1")
    [said] = json.loads(inbox.post(extensions([BOB]), "192.0.2.2").body)
    assert "result" in said


def test_a_receiver_whose_own_profile_is_missing_is_not_mistaken_for_the_sender(service: DeliveryService) -> None:
    service.open(MALLORY)
    said = service.submit(service.envelope(to=MALLORY))
    assert refusal(said) == (-32002, "ProfileUnknown")
    assert said["error"]["data"]["detail"].startswith("the receiver's profile: ")


def test_an_envelope_may_hold_little_beside_the_message(service: DeliveryService) -> None:
    """Nobody knows yet who sent it, and numbers take long to be written canonically."""
    value: Any = service.envelope("x" * 10_000).as_json()
    free = MAX_BESIDE_BYTES - (len(orjson.dumps(value)) - len(value["message"])) - len(',"x":""')
    assert service.submit({**value, "x": "y" * free})["result"] == "accepted"
    assert refusal(service.submit({**value, "x": "y" * (free + 1)})) == (-32000, "EnvelopeInvalid")


@pytest.mark.parametrize(
    ("extra", "is_accepted"),
    [(1e20, True), (json.loads("[" * 62 + "]" * 62), True), (json.loads("[" * 63 + "]" * 63), False)],
)
def test_delivery_information_that_no_postmark_could_carry_is_refused(
    service: DeliveryService, extra: Any, is_accepted: bool
) -> None:
    keys, alice = service.keys.get(), service.users[ALICE]
    envelope = write_envelope(
        service.message(),
        delivery=DeliveryInformation(BOB, ALICE, extra={"x": extra}),
        receiver_key=service.users[BOB].encryption.public,
        service_key=keys.encryption[0].public,
        signing=alice.signing,
    )
    answer = service.submit(envelope)
    assert answer.get("result") == "accepted" if is_accepted else refusal(answer) == (-32000, "EnvelopeInvalid")


def test_with_an_allow_list_a_sender_who_cannot_be_looked_up_now_is_asked_to_retry(
    service: DeliveryService,
) -> None:
    """Not refused as a stranger, after which no sender tries again."""
    service.open(BOB, takes_unverified=True, extension=ProfileExtension(rules=FilterRules(allow=(ALICE,))))
    inbox, envelope = service.inbox(), service.envelope()
    inbox.profiles.user(BOB)
    service.registry.down = True
    body = {"jsonrpc": "2.0", "method": "dm3_submitMessage", "params": [envelope.as_json()], "id": 1}
    said = json.loads(inbox.post(json.dumps(body).encode(), "192.0.2.1").body)
    assert refusal(said) == (-32002, "ProfileLookupFailed")


def submitted_after_a_change_of_keys(service: DeliveryService, signer: str) -> dict[str, Any]:
    """What an inbox that knows Alice's keys of a moment ago says of a message in her name."""
    inbox = service.inbox()
    inbox.profiles.user(ALICE)
    service.stack.clock.now += 3
    service.users[ALICE] = UserKeys.random()
    service.publish(ALICE)
    envelope = service.envelope(signer=signer).as_json()
    body = {"jsonrpc": "2.0", "method": "dm3_submitMessage", "params": [envelope], "id": 1}
    said: dict[str, Any] = json.loads(inbox.post(json.dumps(body).encode(), "192.0.2.1").body)
    return said


def test_a_sender_who_has_just_changed_keys_is_looked_up_once_more(service: DeliveryService) -> None:
    assert submitted_after_a_change_of_keys(service, ALICE)["result"] == "accepted"


def test_a_senders_change_of_keys_admits_nobody_else(service: DeliveryService) -> None:
    said = submitted_after_a_change_of_keys(service, MALLORY)
    assert refusal(said) == (-32003, "SenderSignatureInvalid")
    assert queued(service) == 0


def test_a_call_costs_two_look_ups_and_a_third_if_the_senders_key_fails(service: DeliveryService) -> None:
    inbox, asked = service.inbox(), service.registry.lookups

    def submitted(signer: str) -> dict[str, Any]:
        asked.clear()
        call = {"jsonrpc": "2.0", "method": "dm3_submitMessage", "params": [service.envelope(signer=signer).as_json()]}
        said: dict[str, Any] = json.loads(inbox.post(json.dumps({**call, "id": 1}).encode(), "192.0.2.1").body)
        return said

    assert submitted(ALICE)["result"] == "accepted"
    assert sorted(asked) == [ALICE, BOB]
    service.stack.clock.now += FRESH_SECONDS
    assert submitted(ALICE)["result"] == "accepted"
    assert asked == []
    for further in ([ALICE], []):
        assert refusal(submitted(MALLORY)) == (-32003, "SenderSignatureInvalid")
        assert asked == further


def test_the_look_ups_of_a_sender_and_of_a_receiver_count_apart_and_the_senders_anew_if_the_key_fails(
    service: DeliveryService,
) -> None:
    senders, receivers = [], []

    @contextmanager
    def noted(domain: str, found: list[str]) -> Iterator[bool]:
        found.append(domain)
        yield True

    inbox = replace(
        service.inbox(),
        profiles=Profiles(
            service.registry,
            service.stack.clock,
            senders=lambda domain: noted(domain, senders),
            receivers=lambda domain: noted(domain, receivers),
        ),
    )

    def submit(signer: str) -> None:
        call = {"jsonrpc": "2.0", "method": "dm3_submitMessage", "params": [service.envelope(signer=signer).as_json()]}
        inbox.post(json.dumps({**call, "id": 1}).encode(), "192.0.2.1")

    submit(ALICE)
    assert (senders, receivers) == ([ALICE], [BOB])
    service.stack.clock.now += FRESH_SECONDS
    submit(MALLORY)
    assert (senders, receivers) == ([ALICE] * 2, [BOB])


def test_forged_mail_costs_a_look_up_every_two_seconds_at_most(service: DeliveryService) -> None:
    inbox, asked = service.inbox(), service.registry.lookups
    body = {"jsonrpc": "2.0", "method": "dm3_submitMessage", "id": 1}
    forged = json.dumps(body | {"params": [service.envelope(signer=MALLORY).as_json()]}).encode()
    for _ in range(3):
        assert refusal(json.loads(inbox.post(forged, "192.0.2.1").body)) == (-32003, "SenderSignatureInvalid")
    assert asked.count(ALICE) == 1
    service.stack.clock.now += 2
    for _ in range(3):
        inbox.post(forged, "192.0.2.1")
    assert asked.count(ALICE) == 2


def test_a_message_sealed_to_a_key_made_a_moment_ago_is_opened(service: DeliveryService) -> None:
    rotated = service.keys.get().rotated()
    old, service.keys.keys = service.keys.keys, rotated
    envelope = service.envelope()
    service.keys.keys, service.keys.newer = old, rotated
    assert service.submit(envelope)["result"] == "accepted"


def test_the_answer_to_a_batch_may_be_as_long_as_lambda_can_send_and_no_longer(service: DeliveryService) -> None:
    one_of_a_batch = (MAX_ANSWER_BYTES - MAX_BATCH * MAX_ID_CHARACTERS // 2) // MAX_BATCH
    friends = tuple(f"friend-{number:04}.eth" for number in range(one_of_a_batch // len('"friend-0000.eth",') - 10))
    service.open(BOB, extension=ProfileExtension(rules=FilterRules(allow=friends)))

    def answer(ids: list[str]) -> str:
        call = {"jsonrpc": "2.0", "method": "dm3_getProfileExtension", "params": [BOB]}
        return service.post([{**call, "id": each} for each in ids]).body

    # The ids, which are echoed, make up for what is missing.
    each, rest = divmod(MAX_ANSWER_BYTES - len(answer([""] * MAX_BATCH)), MAX_BATCH)
    ids = ["x" * (each + (number < rest)) for number in range(MAX_BATCH)]
    longest = answer(ids)
    assert len(longest) == MAX_ANSWER_BYTES
    assert [entry["id"] for entry in json.loads(longest)] == ids
    refused = answer([*ids[:-1], ids[-1] + "x"])
    assert len(refused) < 1000
    assert refusal(json.loads(refused)) == (-32005, "RpcBatchTooLong")
