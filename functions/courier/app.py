"""The courier as a Lambda function: it sends Feedback, messages of the outbox, and notifications."""

from postroom.runtime import garbage_collection

# isort: split

import os
from typing import assert_never

from aws_lambda_powertools import Metrics
from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.utilities.typing import LambdaContext

from postroom.core.own_faults import OwnFaults
from postroom.core.settings import read_settings
from postroom.net.aws_errors import stack_of
from postroom.outbound.discard_messages import DiscardNotification, DiscardSummaryDue
from postroom.outbound.notification_messages import MailWaiting, Notification
from postroom.outbound.outbox_messages import Outgoing
from postroom.outbound.queue_messages import read_queue_message
from postroom.runtime.batches import BatchResult, SqsEvent, batch_item_failures
from postroom.runtime.deployment import Deployment
from postroom.runtime.function_clients import FunctionClients
from postroom.runtime.logs import json_logger
from postroom.runtime.own_faults import reporting_own_faults

logger = json_logger()
metrics = Metrics()
own_faults = OwnFaults()
clients = FunctionClients(own_faults, "dynamodb", "secretsmanager", "sqs")
outbound = Deployment(read_settings(os.environ), clients, own_faults).outbound
# All three at start: the first event may be for any of them.
feedback, outbox, notifications = outbound.feedback, outbound.outbox, outbound.notifications
garbage_collection.resume()


@metrics.log_metrics
@reporting_own_faults(own_faults, logger, metrics)
def handler(event: SqsEvent, _context: LambdaContext) -> BatchResult:
    """Process one batch of discard notifications, messages of the outbox, and notifications."""
    failed: list[str] = []
    for record in event["Records"]:
        try:
            match read_queue_message(record["body"]):
                case Outgoing() as outgoing:
                    _send(outgoing)
                case MailWaiting() | Notification() as carried:
                    _notify(carried)
                case DiscardNotification() | DiscardSummaryDue() as notification:
                    _send_feedback(notification)
                case unknown:
                    assert_never(unknown)
        except Exception as error:
            # A failure of one must not make dead letters of the others in the batch.
            logger.exception("to be delivered again", queue_message=record["messageId"], exc_info=stack_of(error))
            metrics.add_metric("FeedbackFailed", MetricUnit.Count, 1)
            failed.append(record["messageId"])
    return batch_item_failures(failed)


def _send_feedback(notification: DiscardNotification | DiscardSummaryDue) -> None:
    delivery = feedback.deliver(notification)
    about = {"sender": notification.sender, "receiver": notification.receiver, "tries": notification.tries}
    if isinstance(notification, DiscardNotification):
        about |= {"correlation": notification.correlation, "reason": str(notification.reason)}
    logger.info(str(delivery), extra=about)
    metrics.add_metric(f"Feedback{delivery.name.title().replace('_', '')}", MetricUnit.Count, 1)


def _send(outgoing: Outgoing) -> None:
    delivery, draft = outbox.send(outgoing), outgoing.draft
    logger.info(
        str(delivery),
        mailbox=draft.sender, to=draft.receiver, tries=outgoing.tries, correlation=draft.correlation,
    )  # fmt: skip
    metrics.add_metric(f"Outbox{delivery.name.title().replace('_', '')}", MetricUnit.Count, 1)


def _notify(carried: MailWaiting | Notification) -> None:
    if isinstance(carried, MailWaiting):
        became, about = notifications.fan_out(carried), {}
    else:
        became, about = notifications.notify(carried), {"target": carried.target, "notification": carried.id}
    logger.info(str(became), extra={"mailbox": carried.mailbox, "tries": carried.tries, **about})
    metrics.add_metric(f"Notify{became.name.title().replace('_', '')}", MetricUnit.Count, 1)
