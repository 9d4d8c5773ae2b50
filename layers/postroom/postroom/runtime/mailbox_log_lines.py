"""The log lines and the metrics of the mailbox API's responses: functions/mailbox and functions/dcp."""

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics import MetricUnit

from postroom.http.response import HttpResponse
from postroom.protocols.dcp.reasons import DCP_DUPLICATE, DCP_SESSION_FOREIGN, DCP_SIGNATURE_INVALID


def count_response(response: HttpResponse, metrics: Metrics) -> None:
    """Count a response to a request of the mailbox API over HTTP."""
    metrics.add_metric("MailboxApiRefused" if response.reason else "MailboxApiAnswered", MetricUnit.Count, 1)
    if response.reason:
        metrics.add_metric(f"MailboxApiRefused{response.reason}", MetricUnit.Count, 1)
    if response.unreadable:
        metrics.add_metric("MailboxApiUnreadable", MetricUnit.Count, response.unreadable)
    if response.wait_refused:
        metrics.add_metric("MailboxApiWaitsRefused", MetricUnit.Count, 1)


def count_dcp(message: HttpResponse, metrics: Metrics) -> None:
    """Count the answer to a message of DCP, and what is refused in it."""
    metrics.add_metric("DcpRefused" if message.reason else "DcpAnswered", MetricUnit.Count, 1)
    for response in (message, *message.parts):
        if response.reason:
            metrics.add_metric(f"DcpRefused{response.reason}", MetricUnit.Count, 1)
        if response.reason in (DCP_SIGNATURE_INVALID, DCP_SESSION_FOREIGN):
            metrics.add_metric("DcpForged", MetricUnit.Count, 1)
        if response.reason == DCP_DUPLICATE:
            metrics.add_metric("DcpDuplicate", MetricUnit.Count, 1)
        if response.unreadable:
            metrics.add_metric("MailboxApiUnreadable", MetricUnit.Count, response.unreadable)


def log_lines(response: HttpResponse, logger: Logger, request: str) -> None:
    """Log what was refused or acknowledged. `request`: the invocation's id.

    DCP: Message Receipt Implementation Details: what ends a connection is logged as a warning.
    """
    log = logger.warning if response.ends_connection else logger.info
    for part in (response, *response.parts):
        if part.reason:
            # No name of a mailbox: who asks for one need not have it.
            log("refused", extra={"reason": str(part.reason), "status": part.status, "request": request})
        elif part.about:
            logger.info("acknowledged", extra=part.about)
