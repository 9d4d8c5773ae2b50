"""The door as a Lambda function: an API Gateway HTTP API event (payload 2.0) in, its answer out."""

import base64
import os
from dataclasses import replace

from aws_lambda_powertools import Metrics
from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.utilities.typing import LambdaContext

from postroom.core.errors import NotNowError, TheirError
from postroom.core.own_faults import OwnFaults
from postroom.core.settings import read_settings
from postroom.http.answers import Answer, problem
from postroom.http.cors import Cors
from postroom.net.aws import our_own_fault
from postroom.pipeline.nlweb_inbox import Posted
from postroom.reasons import Reason
from postroom.runtime.http_events import HttpEvent, HttpResult, headers_of
from postroom.runtime.inbox import build_doors
from postroom.runtime.logs import json_logger
from postroom.runtime.own_faults import telling_own_faults
from postroom.storage.mail.ledger import QUEUED

DM3_PATHS = ("/dm3", "/rpc")
ALLOWED = {"/inbox": "GET, HEAD, POST", "/manifest": "GET, HEAD", **dict.fromkeys(DM3_PATHS, "POST, OPTIONS")}

logger = json_logger()
metrics = Metrics()
own_faults = OwnFaults()
settings = read_settings(os.environ)
doors = build_doors(settings, own_faults)
cors = Cors(settings.dm3_cors_origins, "DM3_CORS_ORIGINS")


@metrics.log_metrics
@telling_own_faults(own_faults, logger, metrics)
def handler(event: HttpEvent, context: LambdaContext) -> HttpResult:
    """Answer one request."""
    method = event["requestContext"]["http"]["method"]
    try:
        answer = _answer(event, method)
    except Exception as error:
        # Whatever it was, the same message may be sent again: it is executed once. Nobody is shown a stack.
        if not our_own_fault(error):
            logger.exception("the door failed")
        answer = problem(NotNowError(Reason.NOT_QUEUED))
    for part in answer.parts or (answer,):
        _tell(part, context.aws_request_id)
    return {
        "statusCode": answer.status,
        "headers": {"Content-Type": answer.content_type, **answer.headers},
        "body": "" if method == "HEAD" else answer.body,
        "isBase64Encoded": False,
    }


def _tell(answer: Answer, request: str) -> None:
    metrics.add_metric("Refused" if answer.reason else "Answered", MetricUnit.Count, 1)
    if answer.reason:
        metrics.add_metric(f"Refused{answer.reason}", MetricUnit.Count, 1)
        logger.info("refused", reason=str(answer.reason), status=answer.status, request=request)
    elif answer.about:
        logger.info(QUEUED, extra=answer.about)


def _answer(event: HttpEvent, method: str) -> Answer:
    headers = headers_of(event)
    path = event.get("rawPath", "")
    if path == "/inbox" and method == "POST":
        return _post(event, headers)
    if path == "/inbox" and method in ("GET", "HEAD"):
        return doors.nlweb.welcome()
    if path == "/manifest" and method in ("GET", "HEAD"):
        return doors.nlweb.manifest(headers.get("host", event["requestContext"]["domainName"]))
    if path in DM3_PATHS and method in ("POST", "OPTIONS"):
        return _dm3(event, headers, method)
    if path in ALLOWED:
        return problem(TheirError(Reason.METHOD_NOT_ALLOWED), {"Allow": ALLOWED[path]})
    return problem(TheirError(Reason.NO_SUCH_ROUTE))


def _post(event: HttpEvent, headers: dict[str, str]) -> Answer:
    try:
        data = _body(event)
    except ValueError:
        return problem(TheirError(Reason.NOT_JSON))
    source = event["requestContext"]["http"]["sourceIp"]
    return doors.nlweb.post(Posted(data, headers.get("content-type", ""), headers.get("content-encoding", ""), source))


def _dm3(event: HttpEvent, headers: dict[str, str], method: str) -> Answer:
    origin = headers.get("origin", "")
    if method == "OPTIONS":
        return Answer(204, "text/plain", "", dict(cors.preflight(origin)))
    try:
        data = _body(event)
    except ValueError:
        data = b""  # which is no JSON either
    answer = doors.dm3.post(data, event["requestContext"]["http"]["sourceIp"])
    return replace(answer, headers={**answer.headers, **cors.headers(origin)})


def _body(event: HttpEvent) -> bytes:
    """Raises ValueError: no base64, or half a surrogate pair."""
    body = event.get("body", "")
    return base64.b64decode(body, validate=True) if event.get("isBase64Encoded") else body.encode()
