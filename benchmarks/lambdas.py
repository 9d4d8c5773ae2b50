"""The functions of the template in this process, started as by Lambda, with fakes of AWS or the embedded AWS.

    with sender_of(key) as variables:
        worker = start("worker", variables, instant_clients)

There are three kinds of AWS: `instant_clients`, without botocore; `unsent_requests`, where botocore creates, signs and
reads all requests, but sends none; and `clients_of` a session, for the embedded AWS.
"""

import hashlib
import importlib.util
import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, redirect_stdout
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Final
from unittest.mock import patch
from uuid import UUID

import boto3
import orjson
from aws_lambda_powertools.utilities.typing import LambdaContext
from benchmarks.samples import RECEIVER, SELECTOR, SENDER, SIZE, body_of_text, draft
from botocore.awsrequest import AWSRequest, AWSResponse, HTTPHeaders
from botocore.hooks import HierarchicalEmitter

from postroom.crypto.rsa_ed25519 import PrivateKey
from postroom.local.dns import DnsServer
from postroom.local.zones import ZoneTree
from postroom.pipeline.claim_details import NlwebDetails
from postroom.pipeline.claims import Claim, QueuedClaim
from postroom.protocols.nlweb.key_record import record_text, zone_line
from postroom.protocols.nlweb.schema import NLWEB
from postroom.protocols.nlweb.sign import sign
from postroom.protocols.nlweb.subjects import SubjectRule, Treatment
from postroom.storage.layout import row_key

FUNCTIONS: Final = Path(__file__).parent.parent / "functions"
LAYER: Final = FUNCTIONS.parent / "layers" / "postroom"
_NAMES: Final = (
    "POST_TABLE",
    "SEEN_TABLE",
    "DIRECTORY_TABLE",
    "LIMITS_TABLE",
    "OUTBOX_TABLE",
    "STORAGE_TABLE",
    "DCP_TABLE",
    "BUCKET",
)
_SECRETS: Final = (
    "SIGNING_KEYS_SECRET",
    "DM3_KEYS_SECRET",
    "TOKEN_KEYS_SECRET",
    "WEBHOOK_KEYS_SECRET",
    "DCP_IDENTITIES_SECRET",
    "CHAIN_ENDPOINTS_SECRET",
)
_QUEUES: Final = (
    "CLAIMS", "RETRY", "SUSPECTS", "LOOK_UPS", "WAITING", "NAMES", "DEAD_LETTER", "COURIER", "FEEDBACK",
    "COURIER_DEAD_LETTER",
)  # fmt: skip
ENVIRONMENT: Final = {
    "PATH": os.defpath,
    "AWS_DEFAULT_REGION": "eu-west-1",
    "AWS_ACCESS_KEY_ID": "nobody",  # as in Lambda; otherwise boto3 would search for credentials
    "AWS_SECRET_ACCESS_KEY": "nothing",
    "POWERTOOLS_SERVICE_NAME": "benchmark",
    "POWERTOOLS_METRICS_NAMESPACE": "postroom",
    **dict.fromkeys((*_NAMES, *_SECRETS), "benchmark"),
    **{f"{name}_QUEUE_URL": f"https://sqs.eu-west-1.amazonaws.com/123456789012/{name.lower()}" for name in _QUEUES},
}
"""The environment variables that the template sets."""

RULE: Final = SubjectRule("Order@Seller", Treatment.MAILBOX, RECEIVER)
Event = Mapping[str, object]
FakeAws = Callable[[], AbstractContextManager[object]]
"""A context in which AWS clients are created."""


@contextmanager
def sender_of(key: PrivateKey) -> Iterator[dict[str, str]]:
    """A DNS in which SENDER publishes its key; yields the environment variables for it."""
    tree = ZoneTree(clock=time.time)
    tree.put(SENDER, f"nlweb IN A 127.0.0.1\n{zone_line(NLWEB.key_name(SENDER, SELECTOR), record_text(key.public))}\n")
    with DnsServer(tree) as server:
        yield {**ENVIRONMENT, "RESOLVERS": f"udp://{server.address}", "TRUST_ANCHORS": tree.anchor_text.strip()}


def start(function: str, variables: Mapping[str, str], fake: FakeAws) -> ModuleType:
    """A new module for each start, as `import app` creates in Lambda."""
    spec = importlib.util.spec_from_file_location(function, FUNCTIONS / function / "app.py")
    if spec is None or spec.loader is None:
        raise FileNotFoundError(function)
    module = importlib.util.module_from_spec(spec)
    # A logger of an earlier start would write to that start's output.
    logging.Logger.manager.loggerDict.pop(variables["POWERTOOLS_SERVICE_NAME"], None)
    with patch.dict(os.environ, variables), fake():
        spec.loader.exec_module(module)
    return module


def invoke(module: ModuleType, event: Event) -> Mapping[str, object]:
    """The response of the handler. Raises AssertionError unless it accepted or processed everything."""
    context = LambdaContext()
    context._aws_request_id = "8f5f4bd2-6a2e-4a0b-a1c5-3f0de3a9a001"
    answer: Mapping[str, object] = module.handler(event, context)
    if answer.get("batchItemFailures") or answer.get("statusCode", 200) != 200:
        raise AssertionError(answer)
    return answer


@contextmanager
def unheard() -> Iterator[None]:
    """Discard what the functions print and log; they still write it."""
    with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere):
        yield


def message(key: PrivateKey, number: int, at_ms: int) -> str:
    """A signed message of about SIZE bytes."""

    def made(size: int) -> str:
        content = replace(draft(body_of_text(size)), correlation=str(UUID(int=number)), timestamp_ms=at_ms)
        return orjson.dumps(sign(content, key)).decode()

    return made(SIZE - len(made(0)))


def claims(key: PrivateKey, many: int, *, first: int = 0) -> list[Claim]:
    """The claims that the inbox makes of `many` messages of now, numbered from `first`."""
    at_ms = int(time.time() * 1000)
    return [
        Claim(
            claim_id, at_ms, RECEIVER, row_key(RECEIVER, 1, at_ms, claim_id), "203.0.113.7",
            message(key, number, at_ms), NlwebDetails(RULE),
        )
        for number in range(first, first + many)
        if (claim_id := f"{number:032x}")
    ]  # fmt: skip


def batch_of(taken: Sequence[Claim]) -> Event:
    """The Lambda event for claims in the queue."""
    return {
        "Records": [
            {
                "messageId": f"059f36b4-87a3-44ab-83d2-66197551{number:04d}",
                "body": QueuedClaim(claim).body(),
                "attributes": {"ApproximateReceiveCount": "1"},
                "eventSourceARN": "arn:aws:sqs:eu-west-1:123456789012:claims",
            }
            for number, claim in enumerate(taken)
        ]
    }


def posted(text: str) -> Event:
    """The API Gateway event for a POST to the inbox."""
    return {
        "rawPath": "/inbox",
        "headers": {"content-type": "application/json", "host": f"nlweb.{RECEIVER}"},
        "requestContext": {"http": {"method": "POST", "sourceIp": "203.0.113.7"}, "domainName": f"nlweb.{RECEIVER}"},
        "body": text,
        "isBase64Encoded": False,
    }


class _Instant:
    """A client whose requests all succeed immediately. RECEIVER is a domain of ours that accepts orders."""

    meta: Final = SimpleNamespace(events=HierarchicalEmitter())

    def put_item(self, **_: object) -> dict[str, object]:
        return {}

    put_object = send_message = get_item = update_item = put_item

    def get_queue_attributes(self, *, AttributeNames: Sequence[str], **_: object) -> dict[str, object]:  # noqa: N803
        return {"Attributes": dict.fromkeys(AttributeNames, "0")}

    def get_paginator(self, _operation: str) -> "_Instant":
        return self

    def paginate(self, *, ExpressionAttributeValues: Mapping[str, Mapping[str, str]], **_: object) -> list[object]:  # noqa: N803
        return [{"Items": _rows(ExpressionAttributeValues[":pk"]["S"])}]


def _rows(pk: str) -> list[object]:
    """The rows of the directory under a key."""
    if not pk.startswith("domain#"):
        return []
    return [
        {"pk": {"S": pk}, "sk": {"S": "!"}, "inbox": {"BOOL": True}, "buffer": {"BOOL": True}},
        {
            "pk": {"S": pk}, "sk": {"S": f"subject#{RULE.pattern}"},
            "treatment": {"S": str(RULE.treatment)}, "target": {"S": RULE.target},
        },
    ]  # fmt: skip


def instant_clients() -> AbstractContextManager[object]:
    """Clients that answer immediately, without botocore."""
    return patch.object(boto3, "client", lambda *_args, **_options: _Instant())


def unsent_requests() -> AbstractContextManager[object]:
    """botocore's clients, with answers instead of sending."""
    session = boto3.Session(region_name=ENVIRONMENT["AWS_DEFAULT_REGION"])
    session.events.register("before-send", _answer)
    return clients_of(session)


def clients_of(session: boto3.Session) -> AbstractContextManager[object]:
    """The clients of a session."""
    return patch.object(boto3, "client", session.client)


def _answer(request: AWSRequest, **_: object) -> AWSResponse:
    said = b""
    operation = request.headers.get("X-Amz-Target", b"").decode().rpartition(".")[2]
    if operation == "SendMessage":
        body = orjson.loads(request.body)["MessageBody"]
        digest = hashlib.md5(body.encode(), usedforsecurity=False).hexdigest()
        said = orjson.dumps({"MessageId": "1", "MD5OfMessageBody": digest})
    elif operation == "Query":
        said = orjson.dumps({"Items": _rows(orjson.loads(request.body)["ExpressionAttributeValues"][":pk"]["S"])})
    elif operation == "PutItem":
        said = b"{}"
    elif operation == "GetQueueAttributes":
        said = orjson.dumps({"Attributes": dict.fromkeys(orjson.loads(request.body)["AttributeNames"], "0")})
    return AWSResponse(request.url, 200, HTTPHeaders(), _Body(said))


class _Body:
    def __init__(self, data: bytes) -> None:
        self._data = data

    def stream(self) -> Iterator[bytes]:
        yield self._data
