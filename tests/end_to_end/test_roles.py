"""Each function, and each job, may do what is its own, and not what is another's: the embedded AWS enforces roles.

But for conditions on the keys of rows, which it does not know: tests/functions holds every call against those.
"""

import json
from typing import Any, NamedTuple

import pytest
from botocore.client import BaseClient
from botocore.exceptions import ClientError
from tests.functions.stack import Call as WireCall
from tests.functions.stack import allows
from tests.roles import session_of
from tests.test_template import evaluator, role_of

from postroom.local.clients import REGION, clean_session
from postroom.local.stack import LocalDeployment, LocalStack

pytestmark = pytest.mark.xdist_group("demo")


@pytest.fixture(scope="module")
def deployment(stack: LocalStack) -> LocalDeployment:
    # On one machine functions may reach all of the account's queues, buses, topics and functions; deployed, none.
    nothing = {"ForwardQueueArns": "", "ForwardBusArns": "", "HandlerFunctionArns": "", "NotifyTopicArn": "none"}
    return stack.deploy("roles", nothing)


class Call(NamedTuple):
    """A call of AWS; a value `@Name` is what the stack's output `Name` says."""

    service: str
    operation: str
    parameters: dict[str, Any]


def row(table: str, key: str, *, sort: str = "") -> dict[str, Any]:
    return {"TableName": f"@{table}Table", "Key": {"pk": {"S": key}, **({"sk": {"S": sort}} if sort else {})}}


def put(table: str, key: str, *, sort: str = "") -> dict[str, Any]:
    return {"TableName": f"@{table}Table", "Item": row(table, key, sort=sort)["Key"]}


def query(table: str, key: str) -> dict[str, Any]:
    values = {":pk": {"S": key}}
    return {"TableName": f"@{table}Table", "KeyConditionExpression": "pk = :pk", "ExpressionAttributeValues": values}


def send(queue: str) -> Call:
    return Call("sqs", "send_message", {"QueueUrl": f"@{queue}QueueUrl", "MessageBody": "{}"})


def put_object(key: str) -> Call:
    return Call("s3", "put_object", {"Bucket": "@Bucket", "Key": key, "Body": b""})


def delete_object(key: str) -> Call:
    return Call("s3", "delete_object", {"Bucket": "@Bucket", "Key": key})


def get_secret(name: str) -> Call:
    return Call("secretsmanager", "get_secret_value", {"SecretId": f"@{name}Secret"})


DIRECTORY = Call("dynamodb", "query", query("Directory", "domain#receiver.example"))
DM3_MAILBOX = Call("dynamodb", "query", query("Directory", "dm3#bob.eth"))
FILE = Call("dynamodb", "put_item", put("Post", "receiver.example#1", sort="m"))
READ_MAIL = Call("dynamodb", "query", query("Post", "receiver.example#1"))
HIDE = Call(
    "sqs",
    "change_message_visibility_batch",
    {"QueueUrl": "@WaitingQueueUrl", "Entries": [{"Id": "1", "ReceiptHandle": "x", "VisibilityTimeout": 1}]},
)
ZONE = Call("dynamodb", "get_item", {"TableName": "@LimitsTable", "Key": {"pk": {"S": "zone#sender.example"}}})

OWN = {
    "InboxFunction": [send("Claims"), DIRECTORY, put_object("claim/x")],
    "Dm3Function": [
        send("Claims"),
        DM3_MAILBOX,
        put_object("claim/x"),
        get_secret("DeliveryServiceKeys"),
        get_secret("ChainEndpoints"),
    ],
    "WorkerFunction": [
        send("Retry"),
        DIRECTORY,
        put_object("seg/x"),
        delete_object("claim/x"),
        FILE,
        get_secret("DeliveryServiceKeys"),
        get_secret("ChainEndpoints"),
    ],
    "WaitingFunction": [send("Retry"), ZONE, HIDE],
    "DeadLetterFunction": [send("Feedback"), FILE, delete_object("claim/x")],
    "CourierFunction": [
        send("Courier"),
        send("Feedback"),
        get_secret("SigningKeys"),
        get_secret("WebhookKeys"),
        get_secret("DcpIdentities"),
    ],
    "FeedbackFunction": [send("Feedback"), get_secret("SigningKeys")],
    "MailboxFunction": [
        send("Courier"),
        READ_MAIL,
        put_object("box/x"),
        get_secret("TokenKeys"),
        get_secret("ChainEndpoints"),
    ],
    "DcpFunction": [
        send("Courier"),
        READ_MAIL,
        put_object("box/x"),
        get_secret("DcpIdentities"),
        get_secret("ChainEndpoints"),
    ],
    "CompactJob": [put_object("chk/x"), Call("dynamodb", "query", query("Directory", "held"))],
    "ExpireJob": [Call("dynamodb", "query", query("Directory", "x")), put_object("jobs/reports/expire.json")],
}

NOT_OWN = {
    # The inboxes file nothing, read no mail, and sign for no domain; only that of dm3 opens what is sealed.
    "InboxFunction": [
        FILE,
        READ_MAIL,
        send("Courier"),
        put_object("seg/x"),
        delete_object("claim/x"),
        get_secret("SigningKeys"),
        get_secret("DeliveryServiceKeys"),
        get_secret("ChainEndpoints"),
    ],
    "Dm3Function": [
        FILE,
        READ_MAIL,
        send("Courier"),
        put_object("seg/x"),
        put_object("reply/x"),
        get_secret("SigningKeys"),
    ],
    # The worker takes no messages in, signs nothing that goes out, and sets nothing.
    "WorkerFunction": [
        send("Claims"),
        READ_MAIL,
        get_secret("SigningKeys"),
        get_secret("TokenKeys"),
        Call("dynamodb", "put_item", put("Directory", "domain#evil.example", sort="-")),
        delete_object("seg/x"),
    ],
    # What asks strangers' DNS servers gets at no mail, no settings, and no key.
    "WaitingFunction": [
        DIRECTORY,
        FILE,
        READ_MAIL,
        send("Claims"),
        send("Waiting"),
        send("Feedback"),
        put_object("seg/x"),
        delete_object("claim/x"),
        get_secret("DeliveryServiceKeys"),
    ],
    "DeadLetterFunction": [
        DIRECTORY,
        READ_MAIL,
        send("Claims"),
        send("Courier"),
        put_object("seg/x"),
        delete_object("seg/x"),
        get_secret("SigningKeys"),
    ],
    # Both couriers speak to strangers: they get at no mail, and at no key of owners or of dm3. Strangers choose the
    # hosts of Feedback: it gets at nothing that owners send, and at no webhook.
    "FeedbackFunction": [
        FILE,
        READ_MAIL,
        send("Courier"),
        get_secret("TokenKeys"),
        get_secret("DeliveryServiceKeys"),
        get_secret("WebhookKeys"),
        get_secret("DcpIdentities"),
        get_secret("ChainEndpoints"),
    ],
    "CourierFunction": [FILE, READ_MAIL, get_secret("TokenKeys"), get_secret("DeliveryServiceKeys")],
    # The mailbox API lists and acknowledges: it files nothing, and signs for no domain.
    "MailboxFunction": [
        FILE,
        send("Feedback"),
        get_secret("SigningKeys"),
        get_secret("DeliveryServiceKeys"),
        get_secret("DcpIdentities"),
        put_object("seg/x"),
    ],
    # Nor does DCP at it, which signs nobody in either.
    "DcpFunction": [
        FILE,
        send("Feedback"),
        get_secret("SigningKeys"),
        get_secret("DeliveryServiceKeys"),
        get_secret("TokenKeys"),
        put_object("seg/x"),
    ],
    "CompactJob": [
        FILE,
        READ_MAIL,
        put_object("seg/x"),
        send("Claims"),
        get_secret("SigningKeys"),
        Call("dynamodb", "scan", {"TableName": "@DirectoryTable"}),
    ],
    "ExpireJob": [FILE, put_object("chk/x"), send("Claims"), get_secret("TokenKeys")],
}

ROLES = {name: name.replace("Function", "Role").replace("Job", "Role") for name in OWN}


def calls_of(table: dict[str, list[Call]]) -> list[Any]:
    return [
        pytest.param(who, call, id=f"{who}-{call.operation}-{json.dumps(call.parameters, default=str)[:60]}")
        for who, calls in table.items()
        for call in calls
    ]


def client_of(deployment: LocalDeployment, who: str, service: str) -> BaseClient:
    """A client that signs as the role of a function or a job."""
    [role] = [one.physical for one in deployment.resources if one.logical == ROLES[who]]
    signed = session_of(deployment, f"arn:aws:iam::{deployment.account}:role/{role.rpartition('/')[2]}")
    made: BaseClient = clean_session().client(
        service,  # type: ignore[call-overload]
        endpoint_url=deployment.client.endpoint,
        region_name=REGION,
        **{name.lower(): value for name, value in signed.items()},
    )
    return made


def make(deployment: LocalDeployment, who: str, call: Call) -> None:
    said = {
        name: deployment.outputs[value[1:]] if isinstance(value, str) and value.startswith("@") else value
        for name, value in call.parameters.items()
    }
    getattr(client_of(deployment, who, call.service), call.operation)(**said)


@pytest.mark.parametrize(("who", "call"), calls_of(OWN))
def test_the_functions_own_calls_are_allowed(deployment: LocalDeployment, who: str, call: Call) -> None:
    make(deployment, who, call)


@pytest.mark.parametrize(("who", "call"), calls_of(NOT_OWN))
def test_calls_of_other_functions_are_denied(deployment: LocalDeployment, who: str, call: Call) -> None:
    with pytest.raises(ClientError) as caught:
        make(deployment, who, call)
    assert caught.value.response["Error"]["Code"] in ("AccessDenied", "AccessDeniedException")


KEYED = [
    # The mailbox API sets nothing of domains or quotas; the inbox reads quotas only.
    ("MailboxFunction", "dynamodb:PutItem", "DirectoryTable", "domain#evil.example"),
    ("MailboxFunction", "dynamodb:UpdateItem", "DirectoryTable", "domain#receiver.example"),
    ("MailboxFunction", "dynamodb:DeleteItem", "DirectoryTable", "mailbox#receiver.example"),
    ("MailboxFunction", "dynamodb:PutItem", "LimitsTable", "usage#receiver.example"),
    ("MailboxFunction", "dynamodb:DeleteItem", "LimitsTable", "challenge#1"),
    ("DcpFunction", "dynamodb:PutItem", "LimitsTable", "challenge#1"),
    ("DcpFunction", "dynamodb:PutItem", "LimitsTable", "waits#1"),
    ("MailboxFunction", "dynamodb:PutItem", "LimitsTable", "dcp-waits#1"),
    ("MailboxFunction", "dynamodb:PutItem", "LimitsTable", "owner-lookups#dcp#1"),
    ("DcpFunction", "dynamodb:PutItem", "LimitsTable", "owner-lookups#http#1"),
    ("InboxFunction", "dynamodb:GetItem", "LimitsTable", "challenge#1"),
    ("InboxFunction", "dynamodb:PutItem", "LimitsTable", "waits#1"),
    ("InboxFunction", "dynamodb:Query", "DirectoryTable", "dm3#bob.eth"),
    ("Dm3Function", "dynamodb:GetItem", "LimitsTable", "challenge#1"),
    ("Dm3Function", "dynamodb:Query", "DirectoryTable", "domain#receiver.example"),
    ("WorkerFunction", "dynamodb:UpdateItem", "LimitsTable", "codes#receiver.example"),
    ("WaitingFunction", "dynamodb:UpdateItem", "LimitsTable", "usage#receiver.example"),
    ("CourierFunction", "dynamodb:Query", "DirectoryTable", "domain#receiver.example"),
    ("CourierFunction", "dynamodb:UpdateItem", "DirectoryTable", "mailbox#receiver.example"),
    ("CompactJob", "dynamodb:Query", "DirectoryTable", "mailbox#receiver.example"),
    ("ExpireJob", "dynamodb:UpdateItem", "LimitsTable", "challenge#1"),
]


@pytest.mark.parametrize(("who", "action", "table", "key"), KEYED)
def test_rows_of_other_functions_are_denied_by_their_keys(who: str, action: str, table: str, key: str) -> None:
    """By the policies as they are rendered: what is asked here of the embedded AWS does not look at keys."""
    policies = evaluator().value(role_of(who)["Policies"])
    statements = [statement for policy in policies for statement in policy["PolicyDocument"]["Statement"]]
    arn = evaluator().value({"Fn::GetAtt": [table, "Arn"]})
    assert not allows(statements, WireCall(action, arn, key))
    own = {said.replace("*", "x") for statement in statements for said in leading_keys(statement, action, arn)}
    # There are rows there that it may have: it is the key that keeps it from this one.
    assert any(allows(statements, WireCall(action, arn, begins)) for begins in own)


def leading_keys(statement: dict[str, Any], action: str, arn: str) -> list[str]:
    """The keys of the rows of a table that a statement is about."""
    actions, resources = (
        [said] if isinstance(said, str) else said for said in (statement["Action"], statement["Resource"])
    )
    if action not in actions or arn not in resources:
        return []
    said: list[str] = statement["Condition"]["ForAllValues:StringLike"]["dynamodb:LeadingKeys"]
    return said


def test_every_role_of_the_template_is_tried(deployment: LocalDeployment) -> None:
    roles = {one.logical for one in deployment.resources if one.type == "AWS::IAM::Role"}
    # SAM makes the role of the schedule, which may invoke the dead-letter handler.
    assert roles == set(ROLES.values()) | {"DeadLetterFunctionRoundRole"}
    assert set(OWN) == set(NOT_OWN)


def test_the_schedule_may_invoke_the_dead_letter_handler_and_nothing_else(deployment: LocalDeployment) -> None:
    [role] = [one for one in deployment.resources if one.logical == "DeadLetterFunctionRoundRole"]
    [policy] = role.properties["Policies"]
    [statement] = policy["PolicyDocument"]["Statement"]
    assert statement["Action"] in ("lambda:InvokeFunction", ["lambda:InvokeFunction"])
    assert deployment.outputs["DeadLetterFunction"] in str(statement["Resource"])
