"""DCP as a Lambda function: events of an HTTP API (payload 2.0), and messages of a WebSocket API (1.0)."""

from postroom.runtime import garbage_collection

# isort: split

import os
from typing import cast

from aws_lambda_powertools import Metrics
from aws_lambda_powertools.utilities.typing import LambdaContext

from postroom.core.own_faults import OwnFaults
from postroom.core.settings import read_settings
from postroom.http.request import HttpRequest
from postroom.http.response import HttpResponse
from postroom.runtime.deployment import Deployment
from postroom.runtime.function_clients import FunctionClients
from postroom.runtime.http_events import HttpEvent, HttpResult, read_request, write_response
from postroom.runtime.logs import json_logger
from postroom.runtime.mailbox_log_lines import count_dcp, log_lines
from postroom.runtime.own_faults import reporting_own_faults
from postroom.runtime.socket_events import SocketEvent, SocketResult, read_socket_request, write_socket_answer

logger = json_logger()
metrics = Metrics()
own_faults = OwnFaults()
clients = FunctionClients(own_faults, "dynamodb", "s3", "secretsmanager", "sqs")
router = Deployment(read_settings(os.environ), clients, own_faults).mailbox_api.dcp_router
garbage_collection.resume()


@metrics.log_metrics
@reporting_own_faults(own_faults, logger, metrics)
def handler(event: HttpEvent | SocketEvent, context: LambdaContext) -> HttpResult | SocketResult:
    """Respond to one request, or to one message of a WebSocket."""
    if "connectionId" in event["requestContext"]:
        return write_socket_answer(_respond(read_socket_request(cast("SocketEvent", event)), context))
    return write_response(_respond(read_request(event), context))


def _respond(request: HttpRequest, context: LambdaContext) -> HttpResponse:
    response = router.respond(request)
    count_dcp(response, metrics)
    log_lines(response, logger, context.aws_request_id)
    return response
