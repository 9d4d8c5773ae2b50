"""The courier as a Lambda function: it sends messages of the outbox, and notifications."""

from postroom.runtime import garbage_collection

# isort: split

import os
from typing import assert_never

from aws_lambda_powertools import Metrics
from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.utilities.typing import LambdaContext

from postroom.core.own_faults import OwnFaults
from postroom.core.settings import read_settings
from postroom.outbound.discard_messages import DiscardNotification, DiscardSummaryDue
from postroom.outbound.notification_messages import MailWaiting, Notification, WatchReplaced
from postroom.outbound.outbox_messages import Outgoing
from postroom.outbound.queue_messages import read_queue_message
from postroom.runtime.batches import BatchResult, SqsEvent, batch_item_failures, process_each
from postroom.runtime.deployment import Deployment
from postroom.runtime.function_clients import FunctionClients
from postroom.runtime.logs import json_logger
from postroom.runtime.own_faults import reporting_own_faults

logger = json_logger()
metrics = Metrics()
own_faults = OwnFaults()
clients = FunctionClients(own_faults, "dynamodb", "secretsmanager", "sqs")
deployment = Deployment(read_settings(os.environ), clients, own_faults)
# Both at start: the first event may be for either of them.
outbox, notifications = deployment.outbound.outbox, deployment.outbound.notifications
feedback_queue = deployment.storage.feedback_queue
garbage_collection.resume()


@metrics.log_metrics
@reporting_own_faults(own_faults, logger, metrics)
def handler(event: SqsEvent, _context: LambdaContext) -> BatchResult:
    """Process one batch of messages of the outbox, and notifications."""
    failed = process_each(event, _process, logger)
    if failed:
        metrics.add_metric("FeedbackFailed", MetricUnit.Count, len(failed))
    return batch_item_failures(failed)


def _process(body: str) -> None:
    match read_queue_message(body):
        case Outgoing() as outgoing:
            _send(outgoing)
        case MailWaiting() | Notification() | WatchReplaced() as carried:
            _notify(carried)
        case DiscardNotification() | DiscardSummaryDue() as notification:
            # The previous release sent Feedback to this queue.
            feedback_queue.send(notification.encode(), group=notification.group)
            metrics.add_metric("FeedbackMoved", MetricUnit.Count, 1)
        case unknown:
            assert_never(unknown)


def _send(outgoing: Outgoing) -> None:
    delivery, draft = outbox.send(outgoing), outgoing.draft
    logger.info(
        str(delivery),
        mailbox=draft.sender, to=draft.receiver, tries=outgoing.tries, correlation=draft.correlation,
    )  # fmt: skip
    metrics.add_metric(f"Outbox{delivery.name.title().replace('_', '')}", MetricUnit.Count, 1)


def _notify(carried: MailWaiting | Notification | WatchReplaced) -> None:
    about: dict[str, str] = {}
    match carried:
        case MailWaiting():
            became = notifications.fan_out(carried)
        case Notification():
            became, about = notifications.notify(carried), {"target": carried.target, "notification": carried.id}
        case WatchReplaced():
            became, about = deployment.outbound.replaced_watches.answer(carried), {"kind": carried.kind}
    logger.info(str(became), extra={"mailbox": carried.mailbox, "tries": carried.tries, **about})
    metrics.add_metric(f"Notify{became.name.title().replace('_', '')}", MetricUnit.Count, 1)
