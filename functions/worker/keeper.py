"""The keeper as a Lambda function, run by a schedule: dead letters are decided before SQS drops them."""

import os
import time
from collections.abc import Sequence

import boto3
from aws_lambda_powertools import Metrics
from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.utilities.typing import LambdaContext

from postroom.errors import NotNowError
from postroom.post.keeper import LETTERS_AT_ONCE, LOOKED_AT_SECONDS, ROUND_SECONDS, Letter
from postroom.post.logs import json_logger
from postroom.post.wiring import AWS, build_keeper
from postroom.settings import read_settings
from postroom.store.aws import passing_faults

logger = json_logger()
metrics = Metrics()
settings = read_settings(os.environ)
keeper = build_keeper(settings)
sqs = boto3.client("sqs", config=AWS)


@metrics.log_metrics
def handler(_event: dict[str, object], _context: LambdaContext) -> dict[str, int]:
    """One round over the dead letters."""
    seen = decided = unreadable = 0
    until = time.monotonic() + ROUND_SECONDS
    while time.monotonic() < until:
        letters = receive()
        if not letters:
            break
        kept = keeper.keep(letters)
        delete(kept.decided)
        for outcome in kept.outcomes:
            logger.warning("decided", claim=outcome.claim.id, mailbox=outcome.claim.mailbox, reason=str(outcome.reason))
        for claim in kept.waiting:
            metrics.add_metric("AgeMilliseconds", MetricUnit.Milliseconds, time.time() * 1000 - claim.received_at_ms)
        seen, decided = seen + len(letters), decided + len(kept.decided)
        unreadable += kept.unreadable
    metrics.add_metric("DeadLetters", MetricUnit.Count, seen - decided)
    metrics.add_metric("Undeliverable", MetricUnit.Count, decided)
    if unreadable:
        logger.error("dead letters that are no claims of ours stay in the queue", count=unreadable)
    return {"seen": seen, "decided": decided, "unreadable": unreadable}


def receive() -> list[Letter]:
    """Some of the dead letters; none where SQS gives none now: the next round comes soon."""
    try:
        with passing_faults():
            messages = sqs.receive_message(
                QueueUrl=settings.letters_queue_url,
                MaxNumberOfMessages=LETTERS_AT_ONCE,
                VisibilityTimeout=LOOKED_AT_SECONDS,
                # A short poll asks only some of SQS's servers, and may find nothing where there is something.
                WaitTimeSeconds=2,
            ).get("Messages", [])
    except NotNowError:
        logger.warning("dead letters could not be received now", exc_info=True)
        return []
    return [Letter(message["ReceiptHandle"], message["Body"]) for message in messages]


def delete(handles: Sequence[str]) -> None:
    """Delete what is decided; what stays is decided again, to the same end, in a later round."""
    for handle in handles:
        try:
            with passing_faults():
                sqs.delete_message(QueueUrl=settings.letters_queue_url, ReceiptHandle=handle)
        except (NotNowError, sqs.exceptions.ReceiptHandleIsInvalid):
            # Invalid: an earlier try of the same call got through, or the letter was handed out anew since.
            logger.warning("a dead letter that is decided could not be deleted now", exc_info=True)
