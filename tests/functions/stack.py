"""The functions with the template's environment and roles: the real handlers on moto.

    with functions_stack(deployed, Resolvers="udp://127.0.0.1:5353") as running:
        answer = running.invoke("InboxFunction", event)

A handler's module is imported again for each stack, as in a cold start. Every AWS call of a handler is checked against
the statements of its role, because moto allows everything. A thread that a handler leaves behind, which Lambda would
freeze, goes on here: its calls are still those of its function.
"""

import gc
import importlib
import logging
import os
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from threading import RLock, local
from types import ModuleType
from typing import Any, Final
from unittest.mock import patch

import boto3
from aws_lambda_powertools.utilities.typing import LambdaContext
from botocore.client import BaseClient
from tests.aws import TEMPLATE, Deployed
from tests.aws import template as sam_template
from tests.names.patience import unhurried
from tests.patience import PATIENCE

from postroom.local.clients import REGION
from postroom.local.intrinsics import Evaluator
from postroom.local.translate import translate
from postroom.pipeline.look_ups import RECEIVERS_KIND, SENDERS_KIND

ACCOUNT = "123456789012"
MOTO_REGION = "eu-west-1"
REQUEST_ID = "8f5f4bd2-6a2e-4a0b-a1c5-3f0de3a9a001"

Json = dict[str, Any]
LOOK_UP_SETTINGS = ("DM3_LOOKUP_SECONDS", "DNS_TRY_SECONDS", "DNS_BUDGET_SECONDS", "MANIFEST_SECONDS")
PATIENT = dict.fromkeys((*LOOK_UP_SETTINGS, "OUTBOUND_CONNECT_SECONDS", "OUTBOUND_TOTAL_SECONDS"), str(PATIENCE))
"""All the time for what other hosts answer."""
_thread = local()
"""`function`: whose thread it is."""


@cache
def translated() -> Json:
    """template.yaml as CloudFormation gets it, with routes as resources."""
    return translate(TEMPLATE, "artifacts", lambda _key, _code: None, {})


@dataclass(frozen=True)
class Call:
    """An AWS call: action and resource as in policies, and for DynamoDB the partition key."""

    action: str
    resource: str
    partition: str = ""


@dataclass
class FunctionsStack:
    """The functions of one deployment."""

    deployed: Deployed
    parameters: dict[str, str]
    settings: dict[str, str] = field(default_factory=PATIENT.copy)
    """Environment variables that override the template's from the next start on."""
    calls: list[Call] = field(default_factory=list)
    """Those of the function that was invoked last."""
    _left_behind: list[tuple[str, Call]] = field(default_factory=list)
    _modules: dict[str, ModuleType] = field(default_factory=dict)
    _invoked: str = ""

    def invoke(self, function: str, event: Json) -> Any:
        """The response of the handler. Raises AssertionError for an AWS call that the role does not allow."""
        self.calls.clear()
        answer = self.handle(function, event)
        made = [*((function, call) for call in self.calls), *self._left_behind]
        forbidden = [(each, call) for each, call in made if not allows(self.statements(each), call)]
        assert not forbidden, f"these roles do not allow {forbidden}"
        return answer

    def note(self, calls: Iterator[Call]) -> None:
        """Note calls of the thread's function."""
        function: str = _thread.function
        if function == self._invoked:
            self.calls += calls
        else:
            self._left_behind += ((function, call) for call in calls)

    def handle(self, function: str, event: Json) -> Any:
        """The response of the handler, whatever its role allows."""
        self._invoked = function
        handler = getattr(self.start(function), self._said(function)["Handler"].partition(".")[2])
        context = LambdaContext()
        context._aws_request_id = REQUEST_ID
        with _thread_of(function):
            return handler(event, context)

    def wait_for_look_ups(self) -> None:
        """Wait until look-ups that a request of dm3 left behind have ended."""
        until, kinds = time.monotonic() + PATIENCE, (SENDERS_KIND, RECEIVERS_KIND)
        while any(row["pk"]["S"].startswith(kinds) for row in self.deployed.rows("LimitsTable")):
            assert time.monotonic() < until, "a look-up goes on"
            time.sleep(0.01)

    def start(self, function: str) -> ModuleType:
        """The module of the handler, imported once per stack with the template's environment."""
        if function not in self._modules:
            folder = sam_template()["Resources"][function]["Properties"]["CodeUri"]
            name = f"{folder.strip('/').replace('/', '.')}.{self._said(function)['Handler'].partition('.')[0]}"
            environment = self.environment(function)
            sys.modules.pop(name, None)
            # A logger of an earlier test would write to the output of that test.
            logging.Logger.manager.loggerDict.pop(environment["POWERTOOLS_SERVICE_NAME"], None)
            with patch.dict(os.environ, environment), _thread_of(function):
                self._modules[function] = importlib.import_module(name)
        return self._modules[function]

    def end(self) -> None:
        """End all instances, so that the next call of each function is a cold start."""
        self._modules.clear()
        gc.unfreeze()  # what an instance froze at its start ends with its process

    def environment(self, function: str) -> dict[str, str]:
        """The environment variables of a function, from the template, for this deployment."""
        variables = self._evaluator().value(self._said(function)["Environment"]["Variables"])
        return {name: str(value) for name, value in variables.items()} | self.settings

    def statements(self, function: str) -> list[Json]:
        """The statements of the function's role."""
        role = self._said(function)["Role"]["Fn::GetAtt"][0]
        policies = self._evaluator().value(translated()["Resources"][role]["Properties"]["Policies"])
        return [statement for policy in policies for statement in policy["PolicyDocument"]["Statement"]]

    def _said(self, function: str) -> Json:
        properties: Json = translated()["Resources"][function]["Properties"]
        return properties

    def _evaluator(self) -> Evaluator:
        store = self.deployed
        made = {**store.tables, **store.queues, **store.secrets, "Bucket": store.bucket}
        physical = {**made, "DcpSocketApi": "s0ck3ts"}
        return Evaluator(translated(), self.parameters, physical, ACCOUNT, "postroom")


def allows(statements: list[Json], call: Call) -> bool:
    """Whether a role with these statements may make `call`."""
    return any(
        call.action in _listed(statement["Action"])
        and any(fnmatchcase(call.resource, pattern) for pattern in _listed(statement["Resource"]))
        and any(fnmatchcase(call.partition, pattern) for pattern in _leading_keys(statement))
        for statement in statements
    )


def _leading_keys(statement: Json) -> list[str]:
    """The partition keys to which a statement applies."""
    condition = statement.get("Condition", {}).get("ForAllValues:StringLike", {})
    return _listed(condition.get("dynamodb:LeadingKeys", "*"))


def _listed(value: Any) -> list[str]:
    return value if isinstance(value, list) else [value]


@contextmanager
def functions_stack(deployed: Deployed, **parameters: str) -> Iterator[FunctionsStack]:
    """The functions of a deployment with these template parameters, within the moto of `deployed`."""
    running, lock = FunctionsStack(deployed, parameters), RLock()
    original: Callable[..., object] = getattr(BaseClient, "_make_api_call")  # noqa: B009 - no stub knows it

    def call(client: BaseClient, operation: str, request: Json) -> object:
        if hasattr(_thread, "function"):  # the test's own calls are not noted
            running.note(calls_of(client.meta.service_model.service_name, operation, request))
        if operation == "ReceiveMessage":
            request = request | {"WaitTimeSeconds": 0}  # no message can arrive during a wait
        with lock:  # moto is not thread-safe, and the worker has threads
            return original(client, operation, request)

    with (
        unhurried(),
        patch.object(BaseClient, "_make_api_call", call),
        patch.object(ThreadPoolExecutor, "__init__", _begin_pool),
        patch.object(boto3, "DEFAULT_SESSION", boto3.Session("testing", "testing", region_name=MOTO_REGION)),
    ):
        yield running


@contextmanager
def _thread_of(function: str) -> Iterator[None]:
    """The current thread belongs to a function."""
    _thread.function = function
    try:
        yield
    finally:
        del _thread.function


def _begin_pool(pool: ThreadPoolExecutor, *arguments: Any, **given: Any) -> None:
    """A pool of threads that belong to the function of the thread that begins it."""
    function = getattr(_thread, "function", None)

    def begin_thread() -> None:
        if function is not None:
            _thread.function = function

    _INIT(pool, *arguments, **{"initializer": begin_thread, **given})


def calls_of(service: str, operation: str, request: Json) -> Iterator[Call]:
    """The calls as in policies; a transaction is a call for each of its writes."""
    if operation != "TransactWriteItems":
        yield _call_of(service, operation, request)
        return
    for write in request["TransactItems"]:
        [(verb, said)] = write.items()
        yield _call_of(service, f"{verb}Item", said)


def _call_of(service: str, operation: str, request: Json) -> Call:
    """The call as in policies. Raises KeyError for an unknown service, whose ARN must be added below."""
    key = request.get("Key") or request.get("Item") or {}
    partition = key.get("pk", {}).get("S", "") if isinstance(key, dict) else ""
    # The partition key of a query is the value in its condition.
    partition = partition or request.get("ExpressionAttributeValues", {}).get(":pk", {}).get("S", "")
    return Call(f"{service}:{_ACTIONS.get(operation, operation)}", _RESOURCES[service](request), partition)


_INIT: Final = ThreadPoolExecutor.__init__
_ACTIONS = {"Invoke": "InvokeFunction", "ChangeMessageVisibilityBatch": "ChangeMessageVisibility"}
_RESOURCES: dict[str, Callable[[Json], str]] = {
    "dynamodb": lambda request: f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{_table_name(request)}",
    "sqs": lambda request: f"arn:aws:sqs:{REGION}:{ACCOUNT}:{_queue_name(request)}",
    "s3": lambda request: f"arn:aws:s3:::{request['Bucket']}/{request['Key']}",
    "secretsmanager": lambda request: request["SecretId"],
    "lambda": lambda request: f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{request['FunctionName']}",
    "sns": lambda request: request.get("TopicArn") or request["Name"],
    "events": lambda request: request["Entries"][0]["EventBusName"],
}


def _table_name(request: Json) -> str:
    index = request.get("IndexName")
    return f"{request['TableName']}/index/{index}" if index else str(request["TableName"])


def _queue_name(request: Json) -> str:
    return str(request.get("QueueName") or request["QueueUrl"].rpartition("/")[2])
