"""The log line and the metrics of an inbox's response: functions/inbox and functions/dm3."""

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics import MetricUnit

from postroom.http.response import HttpResponse
from postroom.storage.mail.inbox_log import QUEUED


def log_response(response: HttpResponse, logger: Logger, metrics: Metrics, request: str) -> None:
    """Count a response, and log a message: refused, queued, or answered at once. `request`: the invocation's id."""
    metrics.add_metric("Refused" if response.reason else "Answered", MetricUnit.Count, 1)
    if response.reason:
        metrics.add_metric(f"Refused{response.reason}", MetricUnit.Count, 1)
        about = {**response.about, "reason": str(response.reason), "status": response.status, "request": request}
        logger.info("refused", extra=about)
    elif response.about:
        logger.info(QUEUED if "claim" in response.about else "answered", extra=response.about)
