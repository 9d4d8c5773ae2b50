"""dm3 in the worker: what the inbox could not finish, the postmark, filing; one flow for both protocols."""

import json
from dataclasses import replace

import pytest
from tests.aws import gate_calls, new_clients
from tests.pipeline.delivery_service import ALICE, BOB, MALLORY, UNVERIFIED_SECONDS, DeliveryService
from tests.pipeline.stack import DAY, HORIZON, RETAIN, SENDER_KEY_NAME, PipelineStack
from tests.pipeline.stage import Choose, Stage, all_schedules, gate_of

from postroom.core.errors import NotNowError
from postroom.core.ijson import parse
from postroom.core.reasons import SIGNING_KEY_UNAVAILABLE, TOO_LATE, UNDELIVERABLE
from postroom.pipeline.dead_letters import DeadLetter
from postroom.pipeline.outcomes import ClaimOutcome
from postroom.protocols.dm3.envelope import check_envelope, message_hash, open_delivery, open_message, read_envelope
from postroom.protocols.dm3.postmark import check_postmark, read_postmark
from postroom.protocols.dm3.sealing import open_sealed
from postroom.protocols.dm3.service import ServiceKeys
from postroom.protocols.dm3.verify import check_message
from postroom.storage.layout import seen_key_dm3
from postroom.storage.mail.reader import Filed


@pytest.fixture
def service(stack: PipelineStack) -> DeliveryService:
    return DeliveryService(stack)


def filed(service: DeliveryService) -> Filed:
    [each] = service.stack.listed(BOB)
    return each


def test_bob_opens_what_alice_wrote_and_every_signature_holds(service: DeliveryService) -> None:
    submitted = service.envelope("hello Bob")
    received_at_ms = int(service.stack.clock.now * 1000)
    assert service.stack.settle(service.queued(submitted)).fate is ClaimOutcome.ACCEPTED
    envelope = read_envelope(json.loads(filed(service).line.envelope))
    assert envelope == replace(submitted, postmark=envelope.postmark)
    bob = [service.users[BOB].encryption]
    message = open_message(envelope, bob)
    assert message.message == "hello Bob"
    check_message(message, service.users[ALICE].signing.public)
    check_envelope(envelope, service.users[ALICE].signing.public)
    assert envelope.postmark
    postmark = read_postmark(open_sealed(envelope.postmark, bob))
    check_postmark(postmark, envelope, service.keys.get().signing.public)
    assert postmark.incoming_timestamp_ms == received_at_ms
    assert postmark.delivery == open_delivery(submitted, service.keys.get().encryption)


def test_a_postmark_of_the_senders_is_replaced(service: DeliveryService) -> None:
    service.stack.settle(service.queued(replace(service.envelope(), postmark="mine")))
    assert read_envelope(json.loads(filed(service).line.envelope)).postmark != "mine"


def test_the_receipt_says_how_it_was_verified_and_not_who_wrote(service: DeliveryService) -> None:
    service.stack.settle(service.queued(service.envelope()))
    receipt = filed(service).line.receipt
    assert receipt["protocol"] == "dm3"
    assert receipt["key_fingerprint"] == service.users[ALICE].signing.public.fingerprint
    assert receipt["unverified"] is None
    assert receipt["evidence"] == {"registry": "pinned", "uri": "data"}
    assert ALICE not in json.dumps(receipt)


def test_of_a_claim_of_the_release_before_the_receipt_does_not_say_how_the_profile_was_found(
    service: DeliveryService,
) -> None:
    record = service.queued(service.envelope())
    body = json.loads(record.body)
    del body["claim"]["evidence"]
    service.stack.settle(replace(record, body=json.dumps(body)))
    receipt = filed(service).line.receipt
    assert receipt["key_fingerprint"] == service.users[ALICE].signing.public.fingerprint
    assert receipt["evidence"] is None


def test_the_partners_name_is_in_the_index_and_in_no_object(service: DeliveryService) -> None:
    service.stack.settle(service.queued(service.envelope()))
    one = filed(service)
    assert one.row.conversation == ALICE
    assert [each.row.key for each in service.stack.listed(BOB, ALICE)] == [one.row.key]
    assert one.row.place
    assert ALICE.encode() not in service.stack.objects.get(one.row.place.object)


def test_the_same_message_again_is_accepted_and_filed_once(service: DeliveryService) -> None:
    envelope = service.envelope()
    first, second = service.queued(envelope), service.queued(envelope)
    assert [service.stack.settle(record).fate for record in (first, second)] == [
        ClaimOutcome.ACCEPTED,
        ClaimOutcome.DUPLICATE,
    ]
    assert filed(service).row.key == service.claim(first).row
    assert service.submit(envelope)["result"] == "accepted"


def test_a_strangers_copy_does_not_suppress_the_original(service: DeliveryService) -> None:
    """Same sealed message, another sender: the sender belongs to the key (decision "Duplicates")."""
    service.publish(MALLORY)
    original = service.envelope()
    stolen = service.envelope(sender=MALLORY, sealed_message=original.message)
    for envelope in (stolen, original):
        assert service.stack.settle(service.queued(envelope)).fate is ClaimOutcome.ACCEPTED
    assert sorted(each.row.conversation for each in service.stack.listed(BOB)) == [ALICE, MALLORY]


def test_an_unverified_copy_does_not_suppress_the_original(service: DeliveryService) -> None:
    service.open(BOB, takes_unverified=True)
    service.registry.put(ALICE, "network.dm3.profile", "ipfs://Qm")
    service.stack.clock.now += 31
    envelope = service.envelope()
    assert service.stack.settle(service.queued(envelope)).fate is ClaimOutcome.ACCEPTED
    service.publish(ALICE)
    service.stack.clock.now += 31
    service.stack.further_judges["dm3"] = service.judge()
    assert service.stack.settle(service.queued(envelope)).fate is ClaimOutcome.ACCEPTED
    assert [each.line.receipt["unverified"] for each in service.stack.listed(BOB)] == ["ProfileUriUnsupported", None]


def test_a_message_is_remembered_by_receiver_verified_sender_and_hash_for_the_retention_period(
    service: DeliveryService,
) -> None:
    record = service.queued(service.envelope())
    service.stack.settle(record)
    key = seen_key_dm3(BOB, ALICE, str(filed(service).line.receipt["message_hash"]), verified=True)
    known = service.stack.home(key)
    assert known is not None
    assert (known.hash, known.home) == (None, service.claim(record).row)
    service.stack.clock.now += RETAIN + 1
    assert service.stack.home(key) is None


# --- unverified senders: filed and marked (decision "Acceptance") ----------------------------------------------------


def test_a_sender_without_a_profile_is_filed_and_marked(service: DeliveryService) -> None:
    service.open(BOB, takes_unverified=True)
    service.stack.settle(service.queued(service.envelope(sender=MALLORY)))
    receipt = filed(service).line.receipt
    assert (receipt["key_fingerprint"], receipt["unverified"]) == (None, "ProfileUnknown")
    assert receipt["evidence"] is None


def test_the_judge_waits_for_a_profile_and_then_files_without_it(service: DeliveryService) -> None:
    service.open(BOB, takes_unverified=True)
    envelope = service.envelope(sender=MALLORY)
    record = service.queued(envelope)
    service.registry.down = True
    service.stack.clock.now += 31
    assert service.stack.settle(record).fate is ClaimOutcome.RETRIED
    service.stack.clock.now += UNVERIFIED_SECONDS
    assert service.stack.settle(record).fate is ClaimOutcome.ACCEPTED
    assert filed(service).line.receipt["unverified"] == "ProfileLookupFailed"


def test_a_profile_that_comes_late_still_verifies(service: DeliveryService) -> None:
    service.open(BOB, takes_unverified=True)
    record = service.queued(service.envelope(sender=MALLORY))
    service.publish(MALLORY)
    assert service.stack.settle(record).fate is ClaimOutcome.ACCEPTED
    receipt = filed(service).line.receipt
    assert receipt["key_fingerprint"] == service.users[MALLORY].signing.public.fingerprint
    assert receipt["evidence"] == {"registry": "pinned", "uri": "data"}


def test_a_signature_that_fails_late_is_marked_and_the_message_filed(service: DeliveryService) -> None:
    service.open(BOB, takes_unverified=True)
    record = service.queued(service.envelope(sender=MALLORY, signer=ALICE))
    service.publish(MALLORY)
    assert service.stack.settle(record).fate is ClaimOutcome.ACCEPTED
    assert filed(service).line.receipt["unverified"] == "SenderSignatureInvalid"


# --- when things fail -------------------------------------------------------------------------------------------------


def test_a_claim_waits_without_keys(service: DeliveryService) -> None:
    record = service.queued(service.envelope())
    keys = service.keys.keys
    service.keys.keys = NotNowError(SIGNING_KEY_UNAVAILABLE)
    outcome = service.stack.settle(record)
    assert (outcome.fate, outcome.reason) == (ClaimOutcome.RETRIED, SIGNING_KEY_UNAVAILABLE)
    service.keys.keys = keys
    assert service.stack.settle(record).fate is ClaimOutcome.ACCEPTED


def test_a_claim_waits_for_a_key_that_the_worker_does_not_know_yet(service: DeliveryService) -> None:
    """The inbox has a rotated key up to a minute before the worker; one taken out too early may be put back."""
    record = service.queued(service.envelope())
    keys = service.keys.keys
    service.keys.keys = ServiceKeys.generate()
    outcome = service.stack.settle(record)
    assert (outcome.fate, outcome.reason) == (ClaimOutcome.RETRIED, SIGNING_KEY_UNAVAILABLE)
    service.keys.keys = keys
    assert service.stack.settle(record).fate is ClaimOutcome.ACCEPTED


def test_the_envelope_is_filed_with_its_members_as_they_came(service: DeliveryService) -> None:
    """Their order and the form of their numbers: the canonical text of 1e20 could not be read again."""
    text = '{"x":1e20,' + json.dumps({**service.envelope().as_json(), "a": [9007199254740994.0, 0.5]})[1:]
    assert service.submit(text)["result"] == "accepted"
    record = service.stack.record(service.stack.deployed.bodies("ClaimsQueue")[-1])
    assert service.stack.settle(record).fate is ClaimOutcome.ACCEPTED
    stored = filed(service).line.envelope.encode()
    value = parse(stored, max_bytes=len(stored))
    assert isinstance(value, dict)
    assert list(value) == [*json.loads(text), "postmark"]
    assert {**value, "postmark": None} == {**json.loads(text), "postmark": None}


def test_a_claim_past_the_horizon_is_discarded_without_feedback(service: DeliveryService) -> None:
    record = service.queued(service.envelope())
    service.stack.clock.now += HORIZON + 1
    outcome = service.stack.settle(record)
    assert (outcome.fate, outcome.reason) == (ClaimOutcome.DISCARDED, TOO_LATE)
    assert service.stack.discard_notifications() == []


def test_a_dead_letter_near_the_horizon_is_undeliverable_and_nobody_is_told(service: DeliveryService) -> None:

    record = service.queued(service.envelope())
    service.stack.clock.now += HORIZON - DAY
    [outcome] = service.stack.dead_letter_handler().keep([DeadLetter("handle", record.body)]).outcomes
    assert (outcome.fate, outcome.reason) == (ClaimOutcome.DISCARDED, UNDELIVERABLE)
    assert service.stack.discard_notifications() == []


def test_one_batch_holds_both_protocols(service: DeliveryService) -> None:
    service.stack.keys.find(SENDER_KEY_NAME)
    mixed = [service.queued(service.envelope()), service.stack.queued(service.stack.envelope())]
    report = service.stack.work(*mixed)
    assert [outcome.fate for outcome in report.outcomes] == [ClaimOutcome.ACCEPTED, ClaimOutcome.ACCEPTED]
    [ours], [theirs] = service.stack.listed(BOB), service.stack.listed()
    assert ours.row.place
    assert theirs.row.place
    assert ours.row.place.object == theirs.row.place.object


# --- a worker that dies (store protocol, Steps) -----------------------------------------------------------------------


def test_a_death_before_or_after_any_call_loses_nothing_and_doubles_nothing(service: DeliveryService) -> None:
    """The queue hands the claim out again; the sender's own second copy comes, too."""
    stack, clients = service.stack, new_clients()

    def play(choose: Choose) -> None:
        envelope = service.envelope(stack.new_id())
        records = [service.queued(envelope), service.queued(envelope)]
        stage = Stage(choose, deaths=1)
        actor = stage.enter("A", lambda: stack.worker(clients).work(records[:1]))
        gate_calls(clients, gate_of(lambda: None if actor.ended else actor))
        stage.play(lambda: None)
        for record in (*records, *records):
            assert stack.work(record).failed == ()
        shown = [each.line.receipt["message_hash"] for each in stack.listed(BOB)]
        assert shown.count(message_hash(envelope)) == 1

    assert all_schedules(play) >= 7
