"""The report of a function's run on faults of the deployment (docs/operate/own-faults.md)."""

from collections.abc import Iterator
from contextlib import contextmanager

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics import MetricUnit

from postroom.core.own_faults import OwnFaults


@contextmanager
def reporting_own_faults(own_faults: OwnFaults, logger: Logger, metrics: Metrics) -> Iterator[None]:
    """Around a handler: one log line at level ERROR for each fault, however many messages it affected, and a metric."""
    try:
        yield
    finally:
        for fault in own_faults.take():
            logger.error(fault.sentence)
            metrics.add_metric(fault.kind, MetricUnit.Count, 1)
