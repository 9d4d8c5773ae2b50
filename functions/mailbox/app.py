"""The mailbox API as a Lambda function: an API Gateway HTTP API event (payload 2.0) in, its response out."""

from postroom.runtime import garbage_collection

# isort: split

import os

from aws_lambda_powertools import Metrics
from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.utilities.typing import LambdaContext

from postroom.core.own_faults import OwnFaults
from postroom.core.settings import read_settings
from postroom.runtime.deployment import Deployment
from postroom.runtime.function_clients import FunctionClients
from postroom.runtime.http_events import HttpEvent, HttpResult, read_request, write_response
from postroom.runtime.logs import json_logger
from postroom.runtime.own_faults import reporting_own_faults

logger = json_logger()
metrics = Metrics()
own_faults = OwnFaults()
clients = FunctionClients(own_faults, "dynamodb", "s3", "secretsmanager", "sqs")
router = Deployment(read_settings(os.environ), clients, own_faults).mailbox_api.router
garbage_collection.resume()


@metrics.log_metrics
@reporting_own_faults(own_faults, logger, metrics)
def handler(event: HttpEvent, context: LambdaContext) -> HttpResult:
    """Respond to one request."""
    request = read_request(event)
    response = router.respond(request)
    metrics.add_metric("MailboxApiRefused" if response.reason else "MailboxApiAnswered", MetricUnit.Count, 1)
    if response.unreadable:
        metrics.add_metric("MailboxApiUnreadable", MetricUnit.Count, response.unreadable)
    if response.wait_refused:
        metrics.add_metric("MailboxApiWaitsRefused", MetricUnit.Count, 1)
    if response.reason:
        metrics.add_metric(f"MailboxApiRefused{response.reason}", MetricUnit.Count, 1)
        # No name of a mailbox: who asks for one need not have it.
        logger.info("refused", reason=str(response.reason), status=response.status, request=context.aws_request_id)
    elif response.about:
        logger.info("acknowledged", extra=response.about)
    return write_response(response)
