"""The courier as a Lambda function: it sends messages of the outbox, and notifications."""

from postroom.runtime import garbage_collection

# isort: split

import os
from collections.abc import Callable
from functools import partial
from typing import assert_never

from aws_lambda_powertools import Metrics
from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.utilities.typing import LambdaContext

from postroom.core.own_faults import OwnFaults
from postroom.core.settings import read_settings
from postroom.outbound.delivery import Delivery
from postroom.outbound.discard_messages import DiscardNotification, DiscardSummaryDue
from postroom.outbound.notification_messages import MailWaiting, Notification, WatchReplaced
from postroom.outbound.notification_sender import NotificationOutcome
from postroom.outbound.outbox_messages import Outgoing
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
deployment = Deployment(read_settings(os.environ), clients, own_faults)
# Both at start: the first event may be for either of them.
outbox, notifications = deployment.outbound.outbox, deployment.outbound.notifications
feedback_queue, threads = deployment.storage.feedback_queue, deployment.outbound.threads
garbage_collection.resume()


@metrics.log_metrics
@reporting_own_faults(own_faults, logger, metrics)
def handler(event: SqsEvent, _context: LambdaContext) -> BatchResult:
    """Process one batch of messages of the outbox, and notifications."""
    failed = process_at_once(event, _process, threads, logger)
    if failed:
        metrics.add_metric("FeedbackFailed", MetricUnit.Count, len(failed))
    return batch_item_failures(failed)


def _process(body: str) -> Callable[[], None]:
    match read_queue_message(body):
        case Outgoing() as outgoing:
            return partial(_report_delivery, outgoing, outbox.send(outgoing))
        case MailWaiting() | Notification() | WatchReplaced() as carried:
            return partial(_report_notification, carried, _notify(carried))
        case DiscardNotification() | DiscardSummaryDue() as notification:
            # The previous release sent Feedback to this queue.
            feedback_queue.send(notification.encode(), group=notification.group)
            return _report_moved
        case unknown:
            assert_never(unknown)


def _notify(carried: MailWaiting | Notification | WatchReplaced) -> NotificationOutcome:
    match carried:
        case MailWaiting():
            return notifications.fan_out(carried)
        case Notification():
            return notifications.notify(carried)
        case WatchReplaced():
            return deployment.outbound.replaced_watches.answer(carried)


def _report_moved() -> None:
    metrics.add_metric("FeedbackMoved", MetricUnit.Count, 1)


def _report_delivery(outgoing: Outgoing, delivery: Delivery) -> None:
    draft = outgoing.draft
    logger.info(
        str(delivery),
        mailbox=draft.sender, to=draft.receiver, tries=outgoing.tries, correlation=draft.correlation,
    )  # fmt: skip
    metrics.add_metric(f"Outbox{delivery.name.title().replace('_', '')}", MetricUnit.Count, 1)


def _report_notification(carried: MailWaiting | Notification | WatchReplaced, became: NotificationOutcome) -> None:
    about: dict[str, str] = {}
    match carried:
        case Notification():
            about = {"target": carried.target, "notification": carried.id}
        case WatchReplaced():
            about = {"kind": carried.kind}
    logger.info(str(became), extra={"mailbox": carried.mailbox, "tries": carried.tries, **about})
    metrics.add_metric(f"Notify{became.name.title().replace('_', '')}", MetricUnit.Count, 1)
