"""The counter as a Lambda function: an API Gateway HTTP API event (payload 2.0) in, its answer out."""

import base64
import os
from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

from aws_lambda_powertools import Metrics
from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.utilities.typing import LambdaContext

from postroom.api.operations import BYTES
from postroom.core.own_faults import OwnFaults
from postroom.core.settings import read_settings
from postroom.http.answers import MAX_ANSWER_BYTES
from postroom.http.cors import Cors
from postroom.http.reply import Reply
from postroom.http.request import Asked
from postroom.runtime.http_events import HttpEvent, HttpResult, headers_of
from postroom.runtime.logs import json_logger
from postroom.runtime.mailbox import build_counter
from postroom.runtime.own_faults import telling_own_faults

CORS: Final = {
    "methods": "DELETE, GET, PATCH, POST, PUT",
    "allowed": "authorization, content-type, if-match, if-none-match, range",
    "exposed": "content-range, etag, retry-after",
}

logger = json_logger()
metrics = Metrics()
own_faults = OwnFaults()
settings = read_settings(os.environ)
desk = build_counter(settings, own_faults)
cors = Cors(settings.counter_cors_origins, "COUNTER_CORS_ORIGINS", **CORS)


@metrics.log_metrics
@telling_own_faults(own_faults, logger, metrics)
def handler(event: HttpEvent, context: LambdaContext) -> HttpResult:
    """Answer one request."""
    asked = _asked(event)
    origin = asked.headers.get("origin", "")
    if asked.method == "OPTIONS":
        reply, headers = Reply(204, "text/plain", b""), cors.preflight(origin)
    else:
        reply, headers = desk.answer(asked), cors.headers(origin)
    metrics.add_metric("CounterRefused" if reply.reason else "CounterAnswered", MetricUnit.Count, 1)
    if reply.unreadable:
        metrics.add_metric("CounterUnreadable", MetricUnit.Count, reply.unreadable)
    if reply.reason:
        metrics.add_metric(f"CounterRefused{reply.reason}", MetricUnit.Count, 1)
        # No name of a mailbox: who asks for one need not have it.
        logger.info("refused", reason=str(reply.reason), status=reply.status, request=context.aws_request_id)
    return _result(reply, headers, head=asked.method == "HEAD")


def _asked(event: HttpEvent) -> Asked:
    body = event.get("body", "")
    return Asked(
        method=event["requestContext"]["http"]["method"],
        path=event.get("rawPath", ""),
        host=event["requestContext"]["domainName"],
        query=event.get("queryStringParameters", {}),
        headers=headers_of(event),
        body=base64.b64decode(body) if event.get("isBase64Encoded") else body.encode(errors="replace"),
    )


def _result(reply: Reply, headers: Mapping[str, str], *, head: bool = False) -> HttpResult:
    body = b"" if head else reply.body
    # As text in JSON it may be three times as long, and Lambda returns 6 MB; a part may begin within a character.
    encoded = len(body) > MAX_ANSWER_BYTES or reply.status == HTTPStatus.PARTIAL_CONTENT or reply.content_type == BYTES
    return {
        "statusCode": reply.status,
        "headers": {"Content-Type": reply.content_type, **reply.headers, **headers},
        "body": base64.b64encode(body).decode() if encoded else body.decode(),
        "isBase64Encoded": encoded,
    }
