"""The worker as a Lambda function: a batch of an SQS queue in, the messages to be delivered again out."""

from postroom.runtime import garbage_collection

# isort: split

import os
import time
from collections import Counter
from collections.abc import Sequence

from aws_lambda_powertools import Metrics
from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.utilities.typing import LambdaContext

from postroom.core.own_faults import OwnFaults
from postroom.core.settings import read_settings
from postroom.pipeline.outcomes import ClaimOutcome, Outcome
from postroom.pipeline.worker import Record, Source
from postroom.runtime.batches import BatchResult, SqsEvent, batch_item_failures
from postroom.runtime.deployment import Deployment
from postroom.runtime.function_clients import FunctionClients
from postroom.runtime.logs import json_logger
from postroom.runtime.own_faults import reporting_own_faults

logger = json_logger()
metrics = Metrics()
own_faults = OwnFaults()
settings = read_settings(os.environ)
worker = Deployment(settings, FunctionClients(own_faults, "dynamodb", "s3", "sqs"), own_faults).pipeline.worker
sources = {
    settings.suspects_queue_url.rpartition("/")[2]: Source.SUSPECTS,
    settings.look_ups_queue_url.rpartition("/")[2]: Source.LOOK_UPS,
}
garbage_collection.resume()


@metrics.log_metrics
@reporting_own_faults(own_faults, logger, metrics)
def handler(event: SqsEvent, _context: LambdaContext) -> BatchResult:
    """Process one batch."""
    records = [
        Record(
            record["messageId"],
            record["body"],
            int(record["attributes"]["ApproximateReceiveCount"]),
            record["attributes"].get("MessageGroupId", ""),
        )
        for record in event["Records"]
    ]
    queue = event["Records"][0]["eventSourceARN"].rpartition(":")[2]
    report = worker.work(records, sources.get(queue, Source.CLAIMS))
    log_outcomes(report.outcomes)
    if report.suspected:
        metrics.add_metric("Suspected", MetricUnit.Count, report.suspected)
    if report.postponed:
        metrics.add_metric("Postponed", MetricUnit.Count, report.postponed)
    if report.to_look_up:
        metrics.add_metric("ToLookUp", MetricUnit.Count, report.to_look_up)
    if report.failed:
        metrics.add_metric("Failed", MetricUnit.Count, len(report.failed))
        logger.error("messages to be delivered again", messages=report.failed)
    return batch_item_failures(report.failed)


def log_outcomes(outcomes: Sequence[Outcome]) -> None:
    """Write the log lines and metrics of claims, without their bodies.

    All accepted claims share one line: the inbox has already logged the mailbox and the Correlation of each.
    """
    filed = [outcome.claim.id for outcome in outcomes if outcome.fate is ClaimOutcome.ACCEPTED]
    if filed:
        logger.info("accepted", claims=filed)
    # The ages first: Powertools flushes the metrics after a hundred values, and warns if none are left at the end.
    for outcome in outcomes:
        claim = outcome.claim
        if outcome.fate is not ClaimOutcome.ACCEPTED:
            fields = {"claim": claim.id, "mailbox": claim.mailbox, "correlation": outcome.correlation}
            if outcome.reason:
                fields |= {"reason": str(outcome.reason), "detail": outcome.detail}
            logger.info(str(outcome.fate), extra=fields)
        metrics.add_metric("AgeMilliseconds", MetricUnit.Milliseconds, int(time.time() * 1000) - claim.received_at_ms)
    for (fate, reason), number in Counter((outcome.fate, outcome.reason) for outcome in outcomes).items():
        metrics.add_metric(fate.title(), MetricUnit.Count, number)
        if reason:
            metrics.add_metric(f"{fate.title()}{reason}", MetricUnit.Count, number)
