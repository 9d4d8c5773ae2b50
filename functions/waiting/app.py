"""The queues of waiting claims and of slow names as a Lambda function: not in the worker, because its runs wait for
servers of strangers.
"""

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
settings = read_settings(os.environ)
pipeline = Deployment(settings, clients, own_faults).pipeline
waiting_claims = pipeline.waiting_claims
settings.given("chain_endpoints_secret")  # it is checked now, and read for the first name that is slow
names_queue = settings.given("names_queue_url").rpartition("/")[2]
garbage_collection.resume()


@metrics.log_metrics
@reporting_own_faults(own_faults, logger, metrics)
def handler(event: SqsEvent, _context: LambdaContext) -> BatchResult:
    """Process one batch."""
    if event["Records"][0]["eventSourceARN"].rpartition(":")[2] == names_queue:
        # Few names are slow, and this takes long to import.
        kept = pipeline.name_look_ups.look_up(record["body"] for record in event["Records"])
        metrics.add_metric("NamesLookedUp", MetricUnit.Count, kept)
        return batch_item_failures([])
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
