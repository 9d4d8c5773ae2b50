"""functions/waiting: a batch of the waiting queue in, and which of its messages stay there."""

import json

import pytest
from tests.functions.logs import metrics
from tests.functions.samples import MADE_AT, SELECTOR, SENDER, claim, envelope, sqs, text_of
from tests.functions.stack import FunctionsStack

from postroom.pipeline.claims import QueuedClaim
from postroom.protocols.nlweb.schema import NLWEB
from postroom.storage.limits.sender_zones import ZoneState

SILENT = "silent.example"


def waits_for(domain: str, number: int) -> str:
    """The queue message of a claim that waits for the zone of a domain."""
    queued = QueuedClaim(claim(number, MADE_AT, text_of(envelope(number, MADE_AT, {}))))
    return queued.awaiting(NLWEB.key_name(domain, SELECTOR)).body()


def test_a_claim_is_sent_on_when_its_zone_answers_and_the_others_stay_and_are_counted(
    running: FunctionsStack, capsys: pytest.CaptureFixture[str]
) -> None:
    store = running.deployed
    store.storage.sender_zones.silence(SILENT, ZoneState(), MADE_AT, MADE_AT + 900)
    answered = waits_for(SENDER, 2)
    event = sqs("WaitingQueue", MADE_AT, "no JSON", answered, waits_for(SILENT, 3), group="somebody")
    failed = [{"itemIdentifier": event["Records"][place]["messageId"]} for place in (0, 2)]
    assert running.invoke("WaitingFunction", event) == {"batchItemFailures": failed}
    assert [json.loads(body) for body in store.bodies("RetryQueue")] == [json.loads(answered)]
    assert store.groups("RetryQueue") == ["somebody"]
    assert store.rows("PostTable") == []
    assert metrics(capsys.readouterr().out) == {"Waiting": [2.0]}
