"""The inbox as a Lambda function: an API Gateway HTTP API event (payload 2.0) in, its response out."""

from postroom.runtime import garbage_collection

# isort: split

import os

from aws_lambda_powertools import Metrics
from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.utilities.typing import LambdaContext

from postroom.core.own_faults import OwnFaults
from postroom.core.settings import read_settings
from postroom.http.response import HttpResponse
from postroom.runtime.deployment import Deployment
from postroom.runtime.function_clients import FunctionClients
from postroom.runtime.http_events import HttpEvent, HttpResult, read_request, write_response
from postroom.runtime.logs import json_logger
from postroom.runtime.own_faults import reporting_own_faults
from postroom.storage.mail.inbox_log import QUEUED

logger = json_logger()
metrics = Metrics()
own_faults = OwnFaults()
# The S3 client at start, too: a dm3 look-up has one second, and creating the client can take a third of it.
deployment = Deployment(read_settings(os.environ), FunctionClients(own_faults, "dynamodb", "s3", "sqs"), own_faults)
router = deployment.pipeline.inbox_router
garbage_collection.resume()


@metrics.log_metrics
@reporting_own_faults(own_faults, logger, metrics)
def handler(event: HttpEvent, context: LambdaContext) -> HttpResult:
    """Respond to one request."""
    request = read_request(event)
    response = router.respond(request)
    for part in response.parts or (response,):
        _log_response(part, context.aws_request_id)
    return write_response(response, request)


def _log_response(response: HttpResponse, request: str) -> None:
    metrics.add_metric("Refused" if response.reason else "Answered", MetricUnit.Count, 1)
    if response.reason:
        metrics.add_metric(f"Refused{response.reason}", MetricUnit.Count, 1)
        logger.info("refused", reason=str(response.reason), status=response.status, request=request)
    elif response.about:
        logger.info(QUEUED, extra=response.about)
