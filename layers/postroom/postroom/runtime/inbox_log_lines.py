"""The log line and the metrics of an inbox's response: functions/inbox and functions/dm3."""

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics import MetricUnit

from postroom.http.response import HttpResponse
from postroom.storage.mail.inbox_log import QUEUED


def log_response(response: HttpResponse, logger: Logger, metrics: Metrics, request: str) -> None:
    """Count a response, and log a refusal or a queued message. `request`: the id of the invocation."""
    metrics.add_metric("Refused" if response.reason else "Answered", MetricUnit.Count, 1)
    if response.reason:
        metrics.add_metric(f"Refused{response.reason}", MetricUnit.Count, 1)
        logger.info("refused", reason=str(response.reason), status=response.status, request=request)
    elif response.about:
        logger.info(QUEUED, extra=response.about)
