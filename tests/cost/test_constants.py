"""What the cost model says of the template and of the courier is what is there."""

import json
import re
import sys

import pytest
from tests.aws import Deployed, resources, template
from tests.functions.samples import MADE_AT, envelope
from tests.pipeline.stack import UNKNOWN, PipelineStack
from tests.test_operating import metrics_of

from postroom.core.settings import DeploymentSettings
from postroom.cost import counted
from postroom.outbound.delivery import Delivery
from postroom.outbound.discard_messages import DiscardNotification
from postroom.pipeline import worker


def test_the_template_has_what_is_paid_by_the_month() -> None:
    alarms = resources("AWS::CloudWatch::Alarm").values()
    assert sum(len(metrics_of(alarm)) for alarm in alarms) == counted.ALARMS
    # Three dashboards cost nothing.
    assert len(resources("AWS::CloudWatch::Dashboard")) == 1
    assert len(resources("AWS::SecretsManager::Secret")) == counted.SECRETS


def test_functions_have_the_memory_that_the_cost_model_assumes() -> None:
    default = template()["Globals"]["Function"]["MemorySize"]
    memory = {name: said.get("MemorySize", default) for name, said in resources("AWS::Serverless::Function").items()}
    others = dict.fromkeys(memory.keys() - {"WorkerFunction"}, counted.MEMORY_MB)
    assert memory == {"WorkerFunction": counted.WORKER_MEMORY_MB, **others}


def test_queues_are_polled_and_batches_gathered_as_the_cost_model_assumes() -> None:
    events = [event for said in resources("AWS::Serverless::Function").values() for event in said["Events"].values()]
    sources = [event["Properties"] for event in events if event["Type"] == "SQS"]
    assert len(sources) == counted.QUEUES_POLLED
    sizes = {source["Queue"]["Fn::GetAtt"]: source["BatchSize"] for source in sources}
    assert sizes["ClaimsQueue.Arn"] == counted.LARGEST_BATCH
    assert sizes["CourierQueue.Arn"] == counted.COURIER_BATCH
    [window] = [s["MaximumBatchingWindowInSeconds"] for s in sources if s["Queue"]["Fn::GetAtt"] == "ClaimsQueue.Arn"]
    assert template()["Parameters"][window["Ref"]]["Default"] == counted.WINDOW_SECONDS
    [schedule] = [event["Properties"]["ScheduleExpression"] for event in events if event["Type"] == "ScheduleV2"]
    assert re.findall(r"\d+", schedule) == [str(counted.DEAD_LETTER_ROUND_MINUTES)]


def test_rows_are_kept_as_long_as_the_cost_model_assumes() -> None:
    at = DeploymentSettings()
    assert at.retain_seconds == counted.RETAIN_DAYS * 86_400
    assert at.outbox_keep_seconds == counted.OUTBOX_KEEP_DAYS * 86_400
    assert at.nlweb_max_age_seconds == counted.MAX_AGE_DAYS * 86_400


def test_large_messages_are_processed_in_the_parts_that_the_cost_model_assumes() -> None:
    assert worker.SLICE_BYTES == counted.PART_BYTES
    text = json.dumps(envelope(1, MADE_AT, None), ensure_ascii=False)
    assert sys.getsizeof(text * 100) == pytest.approx(100 * len(text) * counted.CHARACTER_BYTES, rel=0.01)


def test_a_feedback_message_costs_what_the_cost_model_assumes(deployed: Deployed) -> None:
    stack = PipelineStack(deployed)
    stack.settle(stack.queued(stack.envelope(UNKNOWN)))
    [notice] = stack.discard_notifications()
    assert isinstance(notice, DiscardNotification)
    called: list[str] = []

    def note(model: object, **_: object) -> None:
        called.append(str(getattr(model, "name", "")))

    events = deployed.clients.dynamodb.meta.events
    events.register("before-call.dynamodb.*", note)
    try:
        assert stack.feedback_sender().deliver(notice) is Delivery.DELIVERED
    finally:
        events.unregister("before-call.dynamodb.*", note)
    # Each of an item well under 1 kB.
    assert called.count("UpdateItem") == counted.FEEDBACK_WRITES
    assert called.count("GetItem") == counted.FEEDBACK_READS
    assert len(called) == counted.FEEDBACK_WRITES + counted.FEEDBACK_READS
