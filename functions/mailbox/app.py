"""The mailbox API as a Lambda function: events of an HTTP API (payload 2.0)."""

from postroom.runtime import garbage_collection

# isort: split

import os

from aws_lambda_powertools import Metrics
from aws_lambda_powertools.utilities.typing import LambdaContext

from postroom.core.own_faults import OwnFaults
from postroom.core.settings import read_settings
from postroom.runtime.deployment import Deployment
from postroom.runtime.function_clients import FunctionClients
from postroom.runtime.http_events import HttpEvent, HttpResult, read_request, write_response
from postroom.runtime.logs import json_logger
from postroom.runtime.mailbox_log_lines import count_response, log_lines
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
    response = router.respond(read_request(event))
    count_response(response, metrics)
    log_lines(response, logger, context.aws_request_id)
    return write_response(response)
