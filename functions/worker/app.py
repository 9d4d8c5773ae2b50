"""The worker as a Lambda function: a batch of an SQS queue in, the messages to hand out again out."""

import os
import time

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.utilities.typing import LambdaContext

from postroom.post.batches import BatchResult, SqsEvent, hand_out_again
from postroom.post.filing import Outcome
from postroom.post.wiring import build_worker
from postroom.post.worker import Record
from postroom.settings import read_settings

logger = Logger()
metrics = Metrics()
settings = read_settings(os.environ)
worker = build_worker(settings)
suspects_queue = settings.suspects_queue_url.rpartition("/")[2]


@metrics.log_metrics
def handler(event: SqsEvent, _context: LambdaContext) -> BatchResult:
    """Work off one batch."""
    records = [
        Record(record["messageId"], record["body"], int(record["attributes"]["ApproximateReceiveCount"]))
        for record in event["Records"]
    ]
    source = event["Records"][0]["eventSourceARN"].rpartition(":")[2]
    report = worker.work(records, suspects=source == suspects_queue)
    for outcome in report.outcomes:
        tell(outcome)
    if report.suspected:
        metrics.add_metric("Suspected", MetricUnit.Count, report.suspected)
    if report.failed:
        metrics.add_metric("Failed", MetricUnit.Count, len(report.failed))
        logger.error("messages to be handed out again", messages=report.failed)
    return hand_out_again(report.failed)


def tell(outcome: Outcome) -> None:
    """One log line and the metrics of one claim; never its body."""
    claim = outcome.claim
    fields = {"claim": claim.id, "mailbox": claim.mailbox, "correlation": outcome.correlation}
    if outcome.reason:
        fields |= {"reason": str(outcome.reason), "detail": outcome.detail}
    logger.info(str(outcome.fate), extra=fields)
    # First, of the metrics that each claim has: Powertools writes them all down at the hundredth age, and warns of an
    # end with nothing left.
    metrics.add_metric("AgeMilliseconds", MetricUnit.Milliseconds, time.time() * 1000 - claim.received_at_ms)
    metrics.add_metric(outcome.fate.title(), MetricUnit.Count, 1)
    if outcome.reason:
        metrics.add_metric(f"{outcome.fate.title()}{outcome.reason}", MetricUnit.Count, 1)
