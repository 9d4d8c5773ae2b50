"""Adapters of the ports to AWS and HTTPS: operators' functions, queues and buses, topics, posts."""

import json
import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from botocore.exceptions import ClientError

from postroom.core.errors import NotNowError, TheirError
from postroom.core.ijson import JsonValue
from postroom.core.own_faults import OwnFaults, explain
from postroom.core.reasons import OUTBOUND_FAILED, STORE_UNAVAILABLE
from postroom.crypto.rsa_ed25519 import PublicKey
from postroom.http.response import MAX_ANSWER_BYTES
from postroom.net.aws_errors import error_code, transient_as_not_now
from postroom.pipeline.ports import SenderKey
from postroom.protocols.nlweb.reasons import HANDLER_FAILED, UNEXPECTED_SUBJECT
from postroom.storage.directory.notification_targets import NotificationTarget

if TYPE_CHECKING:
    from mypy_boto3_events import EventBridgeClient
    from mypy_boto3_lambda import LambdaClient
    from mypy_boto3_sns import SNSClient
    from mypy_boto3_sqs import SQSClient

    from postroom.names.accounts import SenderAccounts
    from postroom.names.keys import FoundKey, KeyDirectory
    from postroom.names.registry import RegistryText
    from postroom.net.https import HttpsClient, HttpsResponse
    from postroom.outbound.ports import Clock
    from postroom.protocols.dm3.extension import FilterRules
    from postroom.storage.aws.queue import Queue
    from postroom.storage.limits.name_texts import NameTexts

_log: Final = logging.getLogger(__name__)
LAMBDA: Final = "lambda:"
"""The form of a synchronous handler in the registry if it is a function: `lambda:<name or ARN>`."""


class DnsKeys:
    """Senders' keys from DNS."""

    def __init__(self, keys: "KeyDirectory[PublicKey]") -> None:
        self._keys = keys

    def find(self, name: str, *, fresh: bool = False) -> SenderKey:
        """The key record at `name`, with its chain of trust."""
        return _sender_key(self._keys.find(name, fresh=fresh))

    def remembered(self, name: str) -> SenderKey | None:
        """The key record at `name`, if it is in memory."""
        found = self._keys.remembered(name)
        return _sender_key(found) if found else None


def _sender_key(found: "FoundKey[PublicKey]") -> SenderKey:
    return SenderKey(found.key, found.evidence.as_json(), found.cached)


class SharedTexts:
    """Texts of names that another instance has looked up."""

    def __init__(self, texts: "NameTexts", clock: "Clock") -> None:
        self._texts = texts
        self._clock = clock

    def find(self, name: str, key: str) -> "RegistryText | None":
        """The text of a name; None: nobody has looked it up. Raises NotNowError(STORE_UNAVAILABLE)."""
        from postroom.names.registry import RegistryText

        now = self._clock()
        kept = self._texts.find(name, key, now)
        return RegistryText(kept.value, kept.until - now, json.loads(kept.evidence)) if kept else None


class ChainAccounts:
    """The accounts of senders on a chain. `accounts` returns them, and is not called before a rule needs one."""

    def __init__(self, accounts: "Callable[[], SenderAccounts]") -> None:
        self._accounts = accounts

    def reach(self, name: str, rules: "FilterRules") -> bool:
        """Whether the account of a name has all that rules demand. Raises NotNowError(FILTER_RULE_UNCHECKED)."""
        from postroom.names.ens.accounts import AccountDemands

        token = rules.min_token_balance
        address, amount = (bytes.fromhex(token.address[2:]), token.amount) if token else (b"", 0)
        demands = AccountDemands(rules.min_nonce or 0, rules.min_balance or 0, address, amount)
        return self._accounts().reach(name, demands)


class LambdaHandlers:
    """Synchronous handlers that are Lambda functions: they get the Body as event and return the reply."""

    def __init__(self, functions: "LambdaClient") -> None:
        self._functions = functions

    def call(self, handler: str, request: JsonValue) -> JsonValue:
        """The function's reply. Raises NotNowError(HANDLER_FAILED) if it failed, TheirError if there is no handler."""
        if not handler.startswith(LAMBDA):
            raise TheirError(UNEXPECTED_SUBJECT)
        try:
            with transient_as_not_now(HANDLER_FAILED):
                answer = self._functions.invoke(
                    FunctionName=handler.removeprefix(LAMBDA), Payload=json.dumps(request).encode()
                )
        except ClientError as error:
            # There is no such function, or no right to call it: the operator must correct that, and the sender ask
            # again.
            raise NotNowError(HANDLER_FAILED) from error
        text = answer["Payload"].read()
        if "FunctionError" in answer:
            raise NotNowError(HANDLER_FAILED)
        if len(text) > MAX_ANSWER_BYTES:
            raise NotNowError(HANDLER_FAILED, f"its reply has {len(text)} bytes; at most {MAX_ANSWER_BYTES}")
        reply: JsonValue = json.loads(text)
        return reply


def count_claims(*queues: "Queue") -> "Callable[[], int]":
    """What counts the claims in these queues. It raises NotNowError(STORE_UNAVAILABLE)."""

    def count() -> int:
        try:
            return sum(queue.length() for queue in queues)
        except ClientError as error:
            # A queue is missing, or the right to ask it: no sender is refused for that.
            _log.warning("claims that wait cannot be counted, so no sender is refused because of them: %s", error)
            raise NotNowError(STORE_UNAVAILABLE) from error

    return count


class AwsForwarding:
    """Queues and event buses, by their ARN."""

    def __init__(self, sqs: "SQSClient", events: "EventBridgeClient", own_faults: OwnFaults) -> None:
        self._sqs = sqs
        self._events = events
        self._own_faults = own_faults

    def forward(self, target: str, message: Mapping[str, object]) -> None:
        """Forward `message`. Raises NotNowError(STORE_UNAVAILABLE)."""
        try:
            self._hand_on(target, message)
        except ClientError as error:
            # There is no such queue, or no right to it: the operator must correct that; meanwhile the message waits.
            _log.error("%s does not take messages: %s", target, error_code(error))
            raise NotNowError(STORE_UNAVAILABLE, "the target of this Subject takes no messages now") from error

    def _hand_on(self, target: str, message: Mapping[str, object]) -> None:
        _, _, service, _, account, name = target.split(":", 5)
        with transient_as_not_now():
            if service == "sqs":
                url = self._sqs.get_queue_url(QueueName=name, QueueOwnerAWSAccountId=account)["QueueUrl"]
                self._sqs.send_message(QueueUrl=url, MessageBody=json.dumps(message))
                return
            result = self._events.put_events(
                Entries=[
                    {
                        "EventBusName": target,
                        "Source": "postroom",
                        "DetailType": "message",
                        "Detail": json.dumps(message),
                    }
                ]
            )
        if result["FailedEntryCount"]:
            for entry in result["Entries"]:
                fault = explain(entry.get("ErrorCode", ""), "events:PutEvents", "event bus", target)
                if fault:
                    self._own_faults.note(fault)
            raise NotNowError(STORE_UNAVAILABLE)


class Topics:
    """SNS topics as notification targets."""

    def __init__(self, sns: "SNSClient") -> None:
        self._sns = sns

    def carry(self, target: NotificationTarget, notification: str, content: str) -> bool:  # noqa: ARG002 - SNS has ids of its own
        """Publish a notification.

        Raises NotNowError(OUTBOUND_FAILED), also if there is no such topic, or no right to it.
        """
        try:
            with transient_as_not_now(OUTBOUND_FAILED, of_others=True):  # an owner named the topic
                self._sns.publish(TopicArn=target.to, Message=content)
        except ClientError as error:
            raise NotNowError(OUTBOUND_FAILED, f"SNS answered {error_code(error)}") from error
        return True


class HttpsOutbound:
    """Other domains' post offices."""

    def __init__(self, https: "HttpsClient") -> None:
        self._https = https

    def post(self, url: str, envelope: bytes) -> "HttpsResponse":
        """Post an envelope, and return the answer. Raises NotNowError(OUTBOUND_FAILED)."""
        return self._https.post(url, envelope, "application/json")
