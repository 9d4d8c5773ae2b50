"""The sender of Feedback as a Lambda function: not in the courier, because strangers choose the hosts it waits for."""

from postroom.runtime import garbage_collection

# isort: split

import os
from collections.abc import Callable
from functools import partial

from aws_lambda_powertools import Metrics
from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.utilities.typing import LambdaContext

from postroom.core.own_faults import OwnFaults
from postroom.core.settings import read_settings
from postroom.outbound.delivery import Delivery
from postroom.outbound.discard_messages import DiscardNotification, DiscardSummaryDue
from postroom.outbound.queue_messages import read_queue_message
from postroom.runtime.batches import BatchResult, SqsEvent, batch_item_failures, process_at_once
from postroom.runtime.deployment import Deployment
from postroom.runtime.function_clients import FunctionClients
from postroom.runtime.logs import json_logger
from postroom.runtime.own_faults import reporting_own_faults

logger = json_logger()
metrics = Metrics()
own_faults = OwnFaults()
clients = FunctionClients(own_faults, "dynamodb", "secretsmanager", "sqs")
outbound = Deployment(read_settings(os.environ), clients, own_faults).outbound
feedback, threads = outbound.feedback, outbound.threads
garbage_collection.resume()


@metrics.log_metrics
@reporting_own_faults(own_faults, logger, metrics)
def handler(event: SqsEvent, _context: LambdaContext) -> BatchResult:
    """Process one batch of discard notifications."""
    failed = process_at_once(event, _process, threads, logger)
    if failed:
        metrics.add_metric("FeedbackFailed", MetricUnit.Count, len(failed))
    return batch_item_failures(failed)


def _process(body: str) -> Callable[[], None]:
    match read_queue_message(body):
        case DiscardNotification() | DiscardSummaryDue() as notification:
            return partial(_report, notification, feedback.deliver(notification))
        case other:
            raise ValueError(f"a message of kind {other.kind!r} in the queue of Feedback")


def _report(notification: DiscardNotification | DiscardSummaryDue, delivery: Delivery) -> None:
    about = {"sender": notification.sender, "receiver": notification.receiver, "tries": notification.tries}
    if isinstance(notification, DiscardNotification):
        about |= {"correlation": notification.correlation, "reason": str(notification.reason)}
    logger.info(str(delivery), extra=about)
    metrics.add_metric(f"Feedback{delivery.name.title().replace('_', '')}", MetricUnit.Count, 1)
