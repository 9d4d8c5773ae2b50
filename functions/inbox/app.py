"""The door as a Lambda function: an API Gateway HTTP API event (payload 2.0) in, its answer out."""

import base64
import os
from typing import TypedDict

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.utilities.typing import LambdaContext

from postroom.errors import NotNowError, TheirError
from postroom.post.answers import Answer, problem
from postroom.post.nlweb_door import Posted
from postroom.post.wiring import build_door
from postroom.reasons import Reason
from postroom.settings import read_settings


class Http(TypedDict):
    """The part `requestContext.http` of an event."""

    method: str
    sourceIp: str


class RequestContext(TypedDict):
    """The part `requestContext` of an event."""

    http: Http
    domainName: str


class HttpEvent(TypedDict, total=False):
    """What is read of an HTTP API event."""

    rawPath: str
    headers: dict[str, str]
    body: str
    isBase64Encoded: bool
    requestContext: RequestContext


class HttpResult(TypedDict):
    """What API Gateway makes an HTTP response of."""

    statusCode: int
    headers: dict[str, str]
    body: str
    isBase64Encoded: bool


logger = Logger()
metrics = Metrics()
door = build_door(read_settings(os.environ))


@metrics.log_metrics
def handler(event: HttpEvent, context: LambdaContext) -> HttpResult:
    """Answer one request."""
    method = event["requestContext"]["http"]["method"]
    try:
        answer = _answer(event, method)
    except Exception:
        # Whatever it was, the same message may be sent again: it is executed once. Nobody is shown a stack.
        logger.exception("the door failed")
        answer = problem(NotNowError(Reason.NOT_QUEUED))
    metrics.add_metric("Refused" if answer.reason else "Answered", MetricUnit.Count, 1)
    if answer.reason:
        metrics.add_metric(f"Refused{answer.reason}", MetricUnit.Count, 1)
        logger.info("refused", reason=str(answer.reason), status=answer.status, request=context.aws_request_id)
    elif answer.about:
        logger.info("queued", extra=answer.about)
    return {
        "statusCode": answer.status,
        "headers": {"Content-Type": answer.content_type, **answer.headers},
        "body": "" if method == "HEAD" else answer.body,
        "isBase64Encoded": False,
    }


def _answer(event: HttpEvent, method: str) -> Answer:
    # API Gateway lower-cases header names, other front doors may not.
    headers = {name.lower(): value for name, value in event.get("headers", {}).items()}
    path = event.get("rawPath", "")
    if path == "/inbox" and method == "POST":
        return _post(event, headers)
    if path == "/inbox" and method in ("GET", "HEAD"):
        return door.welcome()
    if path == "/manifest" and method in ("GET", "HEAD"):
        return door.manifest(headers.get("host", event["requestContext"]["domainName"]))
    if path in ("/inbox", "/manifest"):
        allowed = "GET, HEAD, POST" if path == "/inbox" else "GET, HEAD"
        return problem(TheirError(Reason.METHOD_NOT_ALLOWED), {"Allow": allowed})
    return problem(TheirError(Reason.NO_SUCH_ROUTE))


def _post(event: HttpEvent, headers: dict[str, str]) -> Answer:
    body = event.get("body", "")
    try:
        data = base64.b64decode(body, validate=True) if event.get("isBase64Encoded") else body.encode()
    except ValueError:  # no base64, or half a surrogate pair
        return problem(TheirError(Reason.NOT_JSON))
    source = event["requestContext"]["http"]["sourceIp"]
    return door.post(Posted(data, headers.get("content-type", ""), headers.get("content-encoding", ""), source))
