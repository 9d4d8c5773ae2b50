"""The dead-letter handler as a Lambda function, run by a schedule: it decides dead letters before SQS deletes them."""

from postroom.runtime import garbage_collection

# isort: split

import os
import time
from collections import deque
from collections.abc import Sequence

from aws_lambda_powertools import Metrics
from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.utilities.typing import LambdaContext

from postroom.core.errors import NotNowError
from postroom.core.own_faults import OwnFaults
from postroom.core.settings import read_settings
from postroom.net.aws_errors import transient_as_not_now
from postroom.pipeline.dead_letters import DEAD_LETTERS_AT_ONCE, LOOKED_AT_SECONDS, ROUND_SECONDS, DeadLetter
from postroom.runtime.deployment import Deployment
from postroom.runtime.function_clients import FunctionClients
from postroom.runtime.logs import json_logger
from postroom.runtime.own_faults import reporting_own_faults

logger = json_logger()
metrics = Metrics()
own_faults = OwnFaults()
settings = read_settings(os.environ)
deployment = Deployment(settings, FunctionClients(own_faults, "dynamodb", "sqs"), own_faults)
claims, outbox = deployment.pipeline.dead_letters, deployment.pipeline.outbox_dead_letters
sqs = deployment.storage.sqs
garbage_collection.resume()


@metrics.log_metrics
@reporting_own_faults(own_faults, logger, metrics)
def handler(_event: dict[str, object], _context: LambdaContext) -> dict[str, int]:
    """Process dead letters, alternating between both queues, until both are empty or the time is up."""
    rounds: deque[_Claims | _Outbox] = deque([_Claims(), _Outbox()])
    until = time.monotonic() + ROUND_SECONDS
    report: dict[str, int] = {}
    while rounds and time.monotonic() < until:
        one = rounds.popleft()
        dead_letters = receive(one.queue)
        if dead_letters:
            delete(one.queue, one.decide(dead_letters))
            rounds.append(one)
        else:
            report |= one.report()
    for one in rounds:
        report |= one.report()
    return report


class _Claims:
    """The dead letters of the queues of claims."""

    queue = settings.given("dead_letter_queue_url")

    def __init__(self) -> None:
        self._seen = self._decided = self._unreadable = 0

    def decide(self, dead_letters: Sequence[DeadLetter]) -> Sequence[str]:
        """Return the receipt handles of those that are decided and can be deleted."""
        kept = claims.keep(dead_letters)
        for outcome in kept.outcomes:
            logger.warning(
                str(outcome.fate),
                claim=outcome.claim.id, mailbox=outcome.claim.mailbox, correlation=outcome.correlation,
                reason=str(outcome.reason), detail=outcome.detail,
            )  # fmt: skip
        for claim in kept.waiting:
            metrics.add_metric("AgeMilliseconds", MetricUnit.Milliseconds, time.time() * 1000 - claim.received_at_ms)
        self._seen, self._decided = self._seen + len(dead_letters), self._decided + len(kept.decided)
        self._unreadable += kept.unreadable
        return kept.decided

    def report(self) -> dict[str, int]:
        """Write the metrics of the round, and return its counts."""
        metrics.add_metric("DeadLetters", MetricUnit.Count, self._seen - self._decided)
        metrics.add_metric("Undeliverable", MetricUnit.Count, self._decided)
        if self._unreadable:
            logger.error("dead letters that are not claims stay in the queue", count=self._unreadable)
        return {"seen": self._seen, "decided": self._decided, "unreadable": self._unreadable}


class _Outbox:
    """The dead letters of the courier's queue."""

    queue = settings.given("courier_dead_letter_queue_url")

    def __init__(self) -> None:
        self._given_up = 0

    def decide(self, dead_letters: Sequence[DeadLetter]) -> Sequence[str]:
        """Return the receipt handles of those that are decided and can be deleted."""
        kept = outbox.keep(dead_letters)
        for outgoing in kept.given_up:
            logger.warning("given up", mailbox=outgoing.draft.sender, correlation=outgoing.draft.correlation)
        self._given_up += len(kept.given_up)
        return kept.decided

    def report(self) -> dict[str, int]:
        """Write the metrics of the round, and return its counts."""
        if self._given_up:
            metrics.add_metric("OutboxGivenUp", MetricUnit.Count, self._given_up)
        return {"given_up": self._given_up}


def receive(queue: str) -> list[DeadLetter]:
    """Receive up to ten dead letters; none if SQS is throttled: the next round comes soon."""
    try:
        with transient_as_not_now():
            messages = sqs.receive_message(
                QueueUrl=queue,
                MaxNumberOfMessages=DEAD_LETTERS_AT_ONCE,
                VisibilityTimeout=LOOKED_AT_SECONDS,
                # Long polling: a short poll asks only some of the servers, and can miss messages.
                WaitTimeSeconds=2,
            ).get("Messages", [])
    except NotNowError:
        logger.warning("dead letters could not be received now", exc_info=True)
        return []
    return [DeadLetter(message["ReceiptHandle"], message["Body"]) for message in messages]


def delete(queue: str, handles: Sequence[str]) -> None:
    """Delete what is decided. If that fails, a later round decides it again, with the same result."""
    for handle in handles:
        try:
            with transient_as_not_now():
                sqs.delete_message(QueueUrl=queue, ReceiptHandle=handle)
        except (NotNowError, sqs.exceptions.ReceiptHandleIsInvalid):
            # Invalid: an earlier attempt of the same call succeeded, or the dead letter was received again since.
            logger.warning("a decided dead letter could not be deleted now", exc_info=True)
