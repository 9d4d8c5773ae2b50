"""The waiting queue as a Lambda function: not in the worker, because its runs wait for DNS servers of strangers."""

from postroom.runtime import garbage_collection

# isort: split

import os

from aws_lambda_powertools import Metrics
from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.utilities.typing import LambdaContext

from postroom.core.own_faults import OwnFaults
from postroom.core.settings import read_settings
from postroom.pipeline.waiting import WaitingRecord
from postroom.runtime.batches import BatchResult, SqsEvent, batch_item_failures
from postroom.runtime.deployment import Deployment
from postroom.runtime.function_clients import FunctionClients
from postroom.runtime.logs import json_logger
from postroom.runtime.own_faults import reporting_own_faults

logger = json_logger()
metrics = Metrics()
own_faults = OwnFaults()
clients = FunctionClients(own_faults, "dynamodb", "sqs")
waiting_claims = Deployment(read_settings(os.environ), clients, own_faults).pipeline.waiting_claims
garbage_collection.resume()


@metrics.log_metrics
@reporting_own_faults(own_faults, logger, metrics)
def handler(event: SqsEvent, _context: LambdaContext) -> BatchResult:
    """Process one batch."""
    waiting = waiting_claims.look_again(
        [
            WaitingRecord(
                record["messageId"],
                record["body"],
                record["receiptHandle"],
                record["attributes"].get("MessageGroupId", ""),
            )
            for record in event["Records"]
        ]
    )
    metrics.add_metric("Waiting", MetricUnit.Count, len(waiting))
    return batch_item_failures(waiting)
