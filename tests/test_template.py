"""template.yaml: permissions, limits, queues, jobs, encryption and retention of the deployed resources."""

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import fields
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from tests.aws import NESTED, TEMPLATE, read, resources, template
from tests.functions.stack import ACCOUNT, translated

from postroom.api.dcp import PING, PONG
from postroom.api.schemas import MAX_WAIT_SECONDS
from postroom.core.settings import RETAIN_CEILING_SECONDS, DeploymentSettings
from postroom.core.side_by_side import THREADS
from postroom.cost.counted import DCP_MESSAGE_WRITES
from postroom.http.rate_limit import NEWCOMERS_AT_ONCE, NEWCOMERS_PER_SECOND
from postroom.http.sign_in import READS_OF_A_LOOK
from postroom.http.waits import HOLD_SECONDS
from postroom.jobs.library import LIBRARIES, WHEELS
from postroom.jobs.settings import CompactSettings, ExpireSettings, JobSettings, parse
from postroom.local import job_runs
from postroom.local.intrinsics import Evaluator
from postroom.pipeline import dead_letters, look_ups
from postroom.pipeline.dm3_inbox import BODY_SECONDS, MAX_UNKNOWN_RECEIVERS, READS_PER_SECOND
from postroom.pipeline.look_ups import LONGEST_WAIT_SECONDS, UNLIMITED
from postroom.pipeline.worker import BEGIN_SECONDS, PASSES, SUSPECT_AFTER, Source
from postroom.runtime import function_clients
from postroom.runtime.batches import MESSAGES_AT_ONCE

Json = dict[str, Any]
DAY = 86_400

FUNCTIONS = (
    "InboxFunction", "Dm3Function", "WorkerFunction", "WaitingFunction", "DeadLetterFunction", "CourierFunction",
    "FeedbackFunction", "MailboxFunction", "DcpFunction",
)  # fmt: skip
WORK_QUEUES = (
    "ClaimsQueue", "RetryQueue", "SuspectsQueue", "LookUpsQueue", "WaitingQueue", "CourierQueue", "FeedbackQueue",
)  # fmt: skip
DEAD_LETTER_QUEUES = ("DeadLetterQueue", "CourierDeadLetterQueue")
JOBS = ("CompactJob", "ExpireJob")
FORWARDS = {
    "ForwardQueueArns": "arn:aws:sqs:eu-west-1:123456789012:orders",
    "ForwardBusArns": "arn:aws:events:eu-west-1:123456789012:event-bus/orders",
    "HandlerFunctionArns": "arn:aws:lambda:eu-west-1:123456789012:function:price",
    "NotifyTopicArn": "arn:aws:sns:eu-west-1:123456789012:mail",
}
EACH_JOB = pytest.mark.parametrize("job", JOBS)
EACH_FUNCTION = pytest.mark.parametrize("function", FUNCTIONS)


def of_type(kind: str) -> dict[str, Json]:
    """Resources of the translated template, by name."""
    return {name: resource for name, resource in translated()["Resources"].items() if resource["Type"] == kind}


def evaluator(**parameters: str) -> Evaluator:
    """Resources stand for themselves: the evaluated ARN of table X ends in `table/X`."""
    names = {name: name for name in translated()["Resources"]}
    return Evaluator(translated(), parameters, names, ACCOUNT, "postroom")


def role_of(function: str) -> Json:
    """The role of a function or a job."""
    said = translated()["Resources"][function]["Properties"]["Role"]["Fn::GetAtt"][0]
    properties: Json = translated()["Resources"][said]["Properties"]
    return properties


def granted(function: str, **parameters: str) -> set[tuple[str, str]]:
    """(action, resource) of everything that the role of `function` allows; resources by their last part."""
    given = set()
    for policy in evaluator(**parameters).value(role_of(function)["Policies"]):
        for statement in policy["PolicyDocument"]["Statement"]:
            assert statement["Effect"] == "Allow"
            assert set(statement) - {"Condition"} == {"Effect", "Action", "Resource"}
            for action in _listed(statement["Action"]):
                for resource in _listed(statement["Resource"]):
                    given.add((action, _short(resource) + _only(statement)))
    return given


def globals_of_functions() -> dict[str, Any]:
    """The environment variables of all functions."""
    variables: dict[str, Any] = template()["Globals"]["Function"]["Environment"]["Variables"]
    return variables


def _only(statement: Json) -> str:
    """The condition of a statement in words, such as the keys of rows; empty: none."""
    if "Condition" not in statement:
        return ""
    [(test, said)] = statement["Condition"].items()
    [(key, wanted)] = said.items()
    assert (test, key) in CONDITIONS
    return f" of {' '.join(each.removesuffix('*') for each in _listed(wanted))}"


CONDITIONS = {
    ("ForAllValues:StringLike", "dynamodb:LeadingKeys"),
    ("StringLikeIfExists", "s3:prefix"),
    ("StringEquals", "s3:ResourceAccount"),
}


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _short(arn: str) -> str:
    kind, _, rest = arn.removeprefix("arn:aws:").partition(":")
    return f"{kind} {rest.rpartition(':')[2]}" if kind != "logs" else f"logs {rest.partition('log-group:')[2]}"


# --- what functions may do ------------------------------------------------------------------------------------------

LOGS = ("logs:CreateLogStream", "logs:PutLogEvents")
CONSUME = ("sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes")
JOB_LOGS = ("JobsLogs", "JobsOutputLogs", "JobsErrorLogs")
EXPECTED: dict[str, set[tuple[str, str]]] = {
    "InboxFunction": {
        *((action, "logs /aws/lambda/postroom-InboxFunction-*:*") for action in LOGS),
        ("dynamodb:Query", "dynamodb table/DirectoryTable of domain# mailbox# wallet#"),
        ("dynamodb:PutItem", "dynamodb table/SeenTable"),
        ("dynamodb:UpdateItem", "dynamodb table/SeenTable"),
        ("dynamodb:DeleteItem", "dynamodb table/SeenTable"),
        ("dynamodb:GetItem", "dynamodb table/LimitsTable of usage# proven# zone#"),
        *((f"dynamodb:{verb}Item", "dynamodb table/LimitsTable of lookups#") for verb in ("Get", "Put", "Delete")),
        ("s3:PutObject", "s3 Bucket/claim/*"),
        ("s3:PutObject", "s3 Bucket/reply/*"),
        ("s3:GetObject", "s3 Bucket/reply/*"),
        ("sqs:SendMessage", "sqs ClaimsQueue"),
        ("sqs:GetQueueAttributes", "sqs WaitingQueue"),
        ("sqs:GetQueueAttributes", "sqs ClaimsQueue"),
        ("sqs:GetQueueAttributes", "sqs LookUpsQueue"),
        ("sqs:GetQueueAttributes", "sqs RetryQueue"),
    },
    "Dm3Function": {
        *((action, "logs /aws/lambda/postroom-Dm3Function-*:*") for action in LOGS),
        ("dynamodb:Query", "dynamodb table/DirectoryTable of dm3# mailbox#"),
        ("dynamodb:GetItem", "dynamodb table/LimitsTable of usage# text#"),
        ("dynamodb:PutItem", "dynamodb table/LimitsTable of look-up#"),
        *((f"dynamodb:{verb}Item", "dynamodb table/LimitsTable of dm3lookups#") for verb in ("Get", "Put", "Delete")),
        ("s3:PutObject", "s3 Bucket/claim/*"),
        ("s3:GetObject", "s3 Bucket/registry/names.yaml"),
        ("secretsmanager:GetSecretValue", "DeliveryServiceKeys "),
        ("secretsmanager:GetSecretValue", "ChainEndpoints "),
        ("sqs:SendMessage", "sqs ClaimsQueue"),
        ("sqs:SendMessage", "sqs NamesQueue"),
    },
    "WorkerFunction": {
        *((action, "logs /aws/lambda/postroom-WorkerFunction-*:*") for action in LOGS),
        ("dynamodb:UpdateItem", "dynamodb table/LimitsTable of usage#"),
        ("dynamodb:GetItem", "dynamodb table/LimitsTable of proven# zone#"),
        ("dynamodb:UpdateItem", "dynamodb table/LimitsTable of proven# zone#"),
        ("dynamodb:GetItem", "dynamodb table/LimitsTable of text#"),
        *((action, f"sqs {queue}") for action in CONSUME for queue in WORK_QUEUES[:4]),
        ("sqs:SendMessage", "sqs LookUpsQueue"),
        ("sqs:SendMessage", "sqs WaitingQueue"),
        ("sqs:SendMessage", "sqs RetryQueue"),
        ("sqs:SendMessage", "sqs SuspectsQueue"),
        ("sqs:SendMessage", "sqs CourierQueue"),
        ("sqs:SendMessage", "sqs FeedbackQueue"),
        ("dynamodb:Query", "dynamodb table/DirectoryTable"),
        ("dynamodb:PutItem", "dynamodb table/SeenTable"),
        ("dynamodb:PutItem", "dynamodb table/PostTable"),
        ("dynamodb:GetItem", "dynamodb table/PostTable"),
        ("dynamodb:UpdateItem", "dynamodb table/PostTable"),
        ("dynamodb:UpdateItem", "dynamodb table/OutboxTable"),
        ("dynamodb:Query", "dynamodb table/OutboxTable/index/by-correlation"),
        ("s3:PutObject", "s3 Bucket/seg/*"),
        ("s3:GetObject", "s3 Bucket/claim/*"),
        ("s3:DeleteObject", "s3 Bucket/claim/*"),
        ("s3:GetObject", "s3 Bucket/registry/names.yaml"),
        ("secretsmanager:GetSecretValue", "DeliveryServiceKeys "),
        ("secretsmanager:GetSecretValue", "ChainEndpoints "),
    },
    "WaitingFunction": {
        *((action, "logs /aws/lambda/postroom-WaitingFunction-*:*") for action in LOGS),
        *((action, "sqs WaitingQueue") for action in (*CONSUME, "sqs:ChangeMessageVisibility")),
        *((action, "sqs NamesQueue") for action in CONSUME),
        ("dynamodb:PutItem", "dynamodb table/LimitsTable of text#"),
        ("secretsmanager:GetSecretValue", "ChainEndpoints "),
        ("sqs:SendMessage", "sqs RetryQueue"),
        *((f"dynamodb:{verb}Item", "dynamodb table/LimitsTable of proven# zone#") for verb in ("Get", "Update")),
    },
    "DeadLetterFunction": {
        *((action, "logs /aws/lambda/postroom-DeadLetterFunction-*:*") for action in LOGS),
        *((f"sqs:{verb}Message", f"sqs {queue}") for verb in ("Receive", "Delete") for queue in DEAD_LETTER_QUEUES),
        ("sqs:SendMessage", "sqs FeedbackQueue"),
        *((f"dynamodb:{verb}Item", "dynamodb table/PostTable") for verb in ("Get", "Put", "Update")),
        *((f"dynamodb:{verb}Item", "dynamodb table/OutboxTable") for verb in ("Get", "Update")),
        ("s3:GetObject", "s3 Bucket/claim/*"),
        ("s3:DeleteObject", "s3 Bucket/claim/*"),
    },
    "CourierFunction": {
        *((action, "logs /aws/lambda/postroom-CourierFunction-*:*") for action in LOGS),
        *((action, "sqs CourierQueue") for action in (*CONSUME, "sqs:SendMessage")),
        ("sqs:SendMessage", "sqs FeedbackQueue"),
        *((f"dynamodb:{verb}Item", "dynamodb table/OutboxTable") for verb in ("Get", "Update")),
        *((f"dynamodb:{verb}", "dynamodb table/DirectoryTable of notify#")
          for verb in ("Query", "GetItem", "UpdateItem", "DeleteItem")),
        ("execute-api:ManageConnections", "execute-api DcpSocketApi/dcp/POST/@connections/*"),
        ("secretsmanager:GetSecretValue", "SigningKeys "),
        ("secretsmanager:GetSecretValue", "WebhookKeys "),
        ("secretsmanager:GetSecretValue", "DcpIdentities "),
    },
    "FeedbackFunction": {
        *((action, "logs /aws/lambda/postroom-FeedbackFunction-*:*") for action in LOGS),
        *((action, "sqs FeedbackQueue") for action in (*CONSUME, "sqs:SendMessage")),
        ("dynamodb:GetItem", "dynamodb table/SeenTable"),
        *((f"dynamodb:{verb}Item", f"dynamodb table/{table}")
          for verb in ("Get", "Update") for table in ("PostTable", "LimitsTable")),
        ("secretsmanager:GetSecretValue", "SigningKeys "),
    },
    "MailboxFunction": {
        *((action, "logs /aws/lambda/postroom-MailboxFunction-*:*") for action in LOGS),
        *((f"dynamodb:{action}", "dynamodb table/LimitsTable of usage#") for action in ("GetItem", "UpdateItem")),
        *((f"dynamodb:{verb}", "dynamodb table/PostTable") for verb in ("Query", "GetItem", "UpdateItem")),
        *((f"dynamodb:{verb}", "dynamodb table/DirectoryTable") for verb in ("Query", "GetItem")),
        ("dynamodb:UpdateItem", "dynamodb table/DirectoryTable of mailbox# dm3# notify# opened#"),
        ("dynamodb:PutItem", "dynamodb table/DirectoryTable of dm3# notify#"),
        ("dynamodb:DeleteItem", "dynamodb table/DirectoryTable of notify#"),
        ("dynamodb:PutItem", "dynamodb table/LimitsTable of challenge#"),
        ("dynamodb:UpdateItem", "dynamodb table/LimitsTable of codes#"),
        *(
            (f"dynamodb:{verb}Item", "dynamodb table/LimitsTable of waits# owner-lookups#http#")
            for verb in ("Get", "Put", "Delete")
        ),
        ("dynamodb:GetItem", "dynamodb table/LimitsTable of text#"),
        *((f"dynamodb:{verb}Item", "dynamodb table/OutboxTable") for verb in ("Put", "Get", "Update")),
        ("dynamodb:Query", "dynamodb table/OutboxTable/index/by-time"),
        *((f"dynamodb:{verb}", "dynamodb table/StorageTable")
          for verb in ("Query", "GetItem", "PutItem", "UpdateItem", "DeleteItem")),
        *((f"s3:{verb}Object", "s3 Bucket/box/*") for verb in ("Get", "Put", "Delete")),
        ("sqs:SendMessage", "sqs CourierQueue"),
        *(("s3:GetObject", f"s3 Bucket/{place}") for place in ("seg/*", "chk/*", "registry/names.yaml")),
        ("secretsmanager:GetSecretValue", "TokenKeys "),
        ("secretsmanager:GetSecretValue", "WebhookKeys "),
        ("secretsmanager:GetSecretValue", "ChainEndpoints "),
    },
    "DcpFunction": {
        *((action, "logs /aws/lambda/postroom-DcpFunction-*:*") for action in LOGS),
        *((f"dynamodb:{action}", "dynamodb table/LimitsTable of usage#") for action in ("GetItem", "UpdateItem")),
        *((f"dynamodb:{verb}", "dynamodb table/PostTable") for verb in ("Query", "GetItem", "UpdateItem")),
        *((f"dynamodb:{verb}", "dynamodb table/DirectoryTable") for verb in ("Query", "GetItem")),
        ("dynamodb:UpdateItem", "dynamodb table/DirectoryTable of mailbox# dm3# notify#"),
        ("dynamodb:PutItem", "dynamodb table/DirectoryTable of dm3# notify#"),
        ("dynamodb:DeleteItem", "dynamodb table/DirectoryTable of notify#"),
        ("dynamodb:UpdateItem", "dynamodb table/LimitsTable of codes#"),
        *(
            (f"dynamodb:{verb}Item", "dynamodb table/LimitsTable of dcp-waits# owner-lookups#dcp#")
            for verb in ("Get", "Put", "Delete")
        ),
        ("dynamodb:GetItem", "dynamodb table/LimitsTable of text#"),
        *((f"dynamodb:{verb}Item", "dynamodb table/OutboxTable") for verb in ("Put", "Get", "Update")),
        ("dynamodb:Query", "dynamodb table/OutboxTable/index/by-time"),
        *((f"dynamodb:{verb}", "dynamodb table/StorageTable")
          for verb in ("Query", "GetItem", "PutItem", "UpdateItem", "DeleteItem")),
        *((f"dynamodb:{verb}Item", "dynamodb table/DcpTable") for verb in ("Put", "Update", "Delete")),
        ("execute-api:ManageConnections", "execute-api DcpSocketApi/dcp/DELETE/@connections/*"),
        *((f"s3:{verb}Object", "s3 Bucket/box/*") for verb in ("Get", "Put", "Delete")),
        ("sqs:SendMessage", "sqs CourierQueue"),
        *(("s3:GetObject", f"s3 Bucket/{place}") for place in ("seg/*", "chk/*", "registry/names.yaml")),
        ("secretsmanager:GetSecretValue", "WebhookKeys "),
        ("secretsmanager:GetSecretValue", "DcpIdentities "),
        ("secretsmanager:GetSecretValue", "ChainEndpoints "),
    },
    "CompactJob": {
        *((action, f"logs {group}:*") for action in LOGS for group in JOB_LOGS),
        ("s3:ListBucket", "s3 Bucket of seg/ chk/ jobs/lib/"),
        *(("s3:GetObject", f"s3 Bucket/{place}/*") for place in ("seg", "chk", "jobs/lib", "jobs/reports")),
        *(("s3:PutObject", f"s3 Bucket/{place}/*") for place in ("chk", "quarantine", "jobs/reports")),
        *(("s3:DeleteObject", f"s3 Bucket/{place}/*") for place in ("seg", "chk")),
        ("dynamodb:BatchGetItem", "dynamodb table/PostTable"),
        ("dynamodb:UpdateItem", "dynamodb table/PostTable"),
        ("dynamodb:Query", "dynamodb table/DirectoryTable of held"),
    },
    "ExpireJob": {
        *((action, f"logs {group}:*") for action in LOGS for group in JOB_LOGS),
        ("s3:ListBucket", "s3 Bucket of claim/ reply/ box/ seg/ chk/ jobs/lib/"),
        ("s3:ListBucketMultipartUploads", "s3 Bucket"),
        *((f"s3:{action}", f"s3 Bucket/{place}/*") for action in ("GetObject", "DeleteObject", "AbortMultipartUpload")
          for place in ("claim", "reply", "box", "seg", "chk")),
        *(("s3:GetObject", f"s3 Bucket/{place}/*") for place in ("jobs/lib", "jobs/reports")),
        ("s3:PutObject", "s3 Bucket/jobs/reports/*"),
        *((f"dynamodb:{verb}", "dynamodb table/DirectoryTable") for verb in ("Scan", "Query", "GetItem")),
        *((f"dynamodb:{verb}", "dynamodb table/PostTable")
          for verb in ("Query", "GetItem", "BatchGetItem", "UpdateItem")),
        ("dynamodb:UpdateItem", "dynamodb table/LimitsTable of usage#"),
        *((f"dynamodb:{verb}", "dynamodb table/StorageTable")
          for verb in ("Scan", "Query", "GetItem", "PutItem", "UpdateItem", "DeleteItem")),
    },
}  # fmt: skip
EACH_ROLE = pytest.mark.parametrize("who", EXPECTED)


@EACH_ROLE
def test_a_role_allows_what_is_done_in_it_and_nothing_else(who: str) -> None:
    """tests/functions checks each AWS request against these statements: all are needed, and there are no others."""
    assert granted(who) == EXPECTED[who]


def test_the_page_of_secrets_names_the_functions_that_may_read_each() -> None:
    names = {function.removesuffix("Function").lower(): function for function in FUNCTIONS}
    page = (TEMPLATE.parent / "docs" / "operate" / "secrets.md").read_text(encoding="utf-8")
    rows = [line.split(" | ") for line in page.splitlines() if re.match(r"\| `\w+` \|", line)]
    assert len(rows) == len(of_type("AWS::SecretsManager::Secret"))
    for secret, _, readers, _ in rows:
        read = ("secretsmanager:GetSecretValue", f"{secret.strip('| `')} ")
        may_read = {name for name, function in names.items() if read in granted(function)}
        assert set(re.findall(r"\w+", readers)) & names.keys() == may_read, secret


@EACH_ROLE
def test_no_managed_policy_widens_a_role(who: str) -> None:
    """AWSLambdaSQSQueueExecutionRole, for one, would let a function empty every queue of the account."""
    assert role_of(who).get("ManagedPolicyArns", []) == []


@EACH_ROLE
def test_no_action_has_a_wildcard_and_no_resource_is_everything(who: str) -> None:
    ours = r"s3 Bucket/(box|chk|claim|jobs/lib|jobs/reports|quarantine|reply|seg)/\*"
    for action, resource in granted(who, **FORWARDS):
        assert "*" not in action
        sockets = r"execute-api DcpSocketApi/dcp/(POST|DELETE)/@connections/\*"
        assert re.fullmatch(rf"({ours}|logs \S+:\*|{sockets}|[^*]+)", resource)


def test_operators_queues_buses_and_handlers_are_allowed_once_they_are_named() -> None:
    assert granted("WorkerFunction", **FORWARDS) - granted("WorkerFunction") == {
        ("sqs:GetQueueUrl", "sqs orders"),
        ("sqs:SendMessage", "sqs orders"),
        ("events:PutEvents", "events event-bus/orders"),
    }
    assert granted("InboxFunction", **FORWARDS) - granted("InboxFunction") == {
        ("lambda:InvokeFunction", "lambda price")
    }
    assert granted("CourierFunction", **FORWARDS) - granted("CourierFunction") == {("sns:Publish", "sns mail")}


def test_only_lambda_glue_and_the_schedule_take_roles() -> None:
    services = {"DeadLetterFunctionRoundRole": "scheduler", "CompactRole": "glue", "ExpireRole": "glue"}
    for name, role in of_type("AWS::IAM::Role").items():
        [statement] = role["Properties"]["AssumeRolePolicyDocument"]["Statement"]
        service = services.get(name, "lambda")
        assert _listed(statement["Principal"]["Service"]) == [f"{service}.amazonaws.com"]
    [policy] = of_type("AWS::IAM::Role")["DeadLetterFunctionRoundRole"]["Properties"]["Policies"]
    [statement] = policy["PolicyDocument"]["Statement"]
    assert (statement["Action"], statement["Resource"]) == (
        "lambda:InvokeFunction",
        {"Fn::GetAtt": ["DeadLetterFunction", "Arn"]},
    )


def test_no_two_functions_or_jobs_share_a_role() -> None:
    roles = [translated()["Resources"][who]["Properties"]["Role"]["Fn::GetAtt"][0] for who in EXPECTED]
    assert len(set(roles)) == len(EXPECTED)


# --- the inbox ------------------------------------------------------------------------------------------------------


ACCOUNT_RUNS = 1000
"""The default limit of concurrent Lambda executions of an account."""


@pytest.mark.parametrize(
    ("limit", "parameter", "quota"),
    [("ThrottlingRateLimit", "ThrottlingRate", 10_000), ("ThrottlingBurstLimit", "ThrottlingBurst", 5_000)],
)
def test_every_route_is_throttled_as_the_parameters_say(limit: str, parameter: str, quota: int) -> None:
    stages = of_type("AWS::ApiGatewayV2::Stage").values()
    assert len(stages) == len(of_type("AWS::ApiGatewayV2::Api"))
    for stage, value in product(stages, (template()["Parameters"][parameter]["Default"], 7)):
        assert "RouteSettings" not in stage["Properties"]  # which would go before
        said = evaluator(**{parameter: str(value)}).value(stage["Properties"]["DefaultRouteSettings"])
        assert int(said[limit]) == value <= quota


def test_the_api_accepts_no_more_than_the_worker_can_process() -> None:
    rate, burst = (template()["Parameters"][name]["Default"] for name in ("ThrottlingRate", "ThrottlingBurst"))
    claims = next(source for _, queue, source in sources() if queue == "ClaimsQueue")
    at_once = claims["ScalingConfig"]["MaximumConcurrency"] * claims["BatchSize"]
    assert rate <= burst <= ACCOUNT_RUNS  # each is a run of the inbox
    # A burst, and what arrives during the longest look-up, is processed at once: no backlog grows.
    assert burst + rate * DeploymentSettings().dns_budget_seconds <= at_once


@pytest.mark.parametrize("function", ["InboxFunction", "Dm3Function"])
def test_an_inbox_times_out_before_api_gateway_does(function: str) -> None:
    assert resources("AWS::Serverless::Function")[function]["Timeout"] < 30


def test_the_last_call_of_a_dm3_body_ends_before_the_function_times_out() -> None:
    """It may begin late, wait for the whole time of look-ups, and then queue its message at the second attempt."""
    timeout = resources("AWS::Serverless::Function")["Dm3Function"]["Timeout"]
    look_ups = float(globals_of_functions()["DM3_LOOKUP_SECONDS"])
    assert look_ups == DeploymentSettings().dm3_lookup_seconds <= 4
    assert BODY_SECONDS + look_ups + function_clients.AWS_CONNECT_SECONDS + function_clients.AWS_READ_SECONDS < timeout


def dns_seconds_of_the_inbox() -> float:
    """The time limit of everything that a synchronous request asks of DNS."""
    variables = resources("AWS::Serverless::Function")["InboxFunction"]["Environment"]["Variables"]
    return float(variables["DNS_BUDGET_SECONDS"])


def test_a_synchronous_request_waits_a_second_for_dns_and_holds_a_fifth_of_the_runs_at_most() -> None:
    inbox = resources("AWS::Serverless::Function")["InboxFunction"]
    assert dns_seconds_of_the_inbox() <= 1 < look_ups.HOLD_SECONDS < inbox["Timeout"]
    # A second resolver is asked if the first one does not answer.
    assert float(inbox["Environment"]["Variables"]["DNS_TRY_SECONDS"]) * 2 <= dns_seconds_of_the_inbox()
    assert inbox["Environment"]["Variables"]["INBOX_RESERVED_CONCURRENCY"] == {"Ref": "InboxReservedConcurrency"}
    default = template()["Parameters"]["InboxReservedConcurrency"]["Default"]
    assert DeploymentSettings().inbox_reserved_concurrency == default
    assert look_ups.most_look_ups(default) * 5 <= default
    assert (
        f"{look_ups.most_look_ups(0)} requests may wait for DNS"
        in (template()["Parameters"]["InboxReservedConcurrency"]["Description"])
    )


def test_the_name_of_the_table_that_selects_the_runs_of_a_name_is_drawn_at_random() -> None:
    assert "TableName" not in resources("AWS::DynamoDB::Table")["LimitsTable"]


def test_the_inbox_does_not_time_out_while_a_handler_may_still_answer() -> None:
    """A sender that does not get the reply of a handler repeats the request, and the handler runs again."""
    at, timeout = DeploymentSettings(), resources("AWS::Serverless::Function")["InboxFunction"]["Timeout"]
    handler = function_clients.AWS_CONNECT_SECONDS + function_clients.HANDLER_READ_SECONDS
    assert dns_seconds_of_the_inbox() + handler < timeout - 3  # for what is asked of the store before and afterwards
    assert at.sync_lease_seconds >= timeout


def test_all_tries_of_one_call_of_aws_fit_a_run() -> None:
    once = function_clients.AWS_CONNECT_SECONDS + function_clients.AWS_READ_SECONDS
    timeouts = {name: said["Timeout"] for name, said in resources("AWS::Serverless::Function").items()}
    # A request that waits for an answer can be repeated.
    synchronous = {"InboxFunction", "Dm3Function", "MailboxFunction", "DcpFunction"}
    assert function_clients.AWS_TRIES * once < min(timeouts[name] for name in FUNCTIONS if name not in synchronous)


WAITING = {"MailboxFunction": "MailboxApiReservedConcurrency", "DcpFunction": "DcpReservedConcurrency"}
"""The functions whose requests may wait for a message, with the parameter of their runs."""


@pytest.mark.parametrize("function", WAITING)
def test_a_request_that_waits_for_a_message_is_answered_before_anything_times_out(function: str) -> None:
    timeout = resources("AWS::Serverless::Function")[function]["Timeout"]
    assert MAX_WAIT_SECONDS + 5 < timeout < 30


@pytest.mark.parametrize("function", WAITING)
def test_a_wait_counts_as_long_as_its_run_may_last(function: str) -> None:
    assert resources("AWS::Serverless::Function")[function]["Timeout"] <= HOLD_SECONDS


@pytest.mark.parametrize("runs", ["100", "10", "0"])
@pytest.mark.parametrize("function", WAITING)
def test_a_function_whose_requests_wait_knows_how_many_of_its_runs_are_reserved(function: str, runs: str) -> None:
    said = evaluator(**{WAITING[function]: runs}).value(of_type("AWS::Lambda::Function")[function]["Properties"])
    setting = "".join(f"_{each}" if each.isupper() else each.upper() for each in WAITING[function]).lstrip("_")
    assert said["Environment"]["Variables"][setting] == runs


@pytest.mark.parametrize(("runs", "reserved"), [("200", 200), ("7", 7), ("0", None)])
def test_a_flood_at_the_inbox_does_not_use_all_concurrency_of_the_account(runs: str, reserved: int | None) -> None:
    said = evaluator(InboxReservedConcurrency=runs).value(
        of_type("AWS::Lambda::Function")["InboxFunction"]["Properties"]
    )
    found = said.get("ReservedConcurrentExecutions")
    assert (None if found is None else int(found)) == reserved
    # The default reservations leave at least half of the concurrency of an account for everything else.
    reservations = [said for name, said in template()["Parameters"].items() if name.endswith("ReservedConcurrency")]
    assert len(reservations) == 4
    assert sum(said["Default"] for said in reservations) <= ACCOUNT_RUNS / 2
    # Lambda leaves 100 runs of an account to functions without a reservation.
    needed = sum(said["Default"] for said in reservations) + 100
    for said in reservations:
        assert f"fewer than {needed} concurrent executions" in said["Description"]


def test_look_ups_of_made_up_receivers_never_use_up_the_directorys_throughput() -> None:
    """Whatever the throttle of the stage lets in: each run of the dm3 inbox reads at its own rate at most."""
    at = {name: said["Default"] for name, said in template()["Parameters"].items()}
    by_rate = at["Dm3ReservedConcurrency"] * READS_PER_SECOND
    # A read takes half a unit; the bound holds for a whole one, of reads that are strongly consistent.
    assert by_rate <= at["TableReadUnitsPerSecond"] / 4
    # All other requests below the throttle read at most the rows of a domain, its mailbox and a wallet, each once.
    assert by_rate + at["ThrottlingRate"] * 3 <= at["TableReadUnitsPerSecond"] / 2
    # Without reserved runs only the throttle limits them: made-up names alone stay below the ceiling even then.
    assert at["ThrottlingRate"] * MAX_UNKNOWN_RECEIVERS <= at["TableReadUnitsPerSecond"] / 4


def test_look_ups_of_strangers_over_dcp_never_use_up_the_directorys_throughput() -> None:
    """Each run looks up so many in a second at most, also for those who may do something elsewhere: reads of a unit.

    `tests/http/test_dcp.py` holds that no other request that is refused reads anything.
    """
    at = {name: said["Default"] for name, said in template()["Parameters"].items()}
    reads = at["DcpReservedConcurrency"] * READS_OF_A_LOOK
    assert reads * NEWCOMERS_PER_SECOND <= at["TableReadUnitsPerSecond"] / 6
    assert reads * (NEWCOMERS_AT_ONCE + NEWCOMERS_PER_SECOND) <= at["TableReadUnitsPerSecond"] / 2


def test_messages_of_strangers_by_both_apis_of_dcp_never_use_up_its_tables_throughput() -> None:
    """Each makes a write, that of its nonce, and both APIs have the same throttle."""
    at = {name: said["Default"] for name, said in template()["Parameters"].items()}
    assert 2 * at["ThrottlingRate"] * DCP_MESSAGE_WRITES <= at["TableWriteUnitsPerSecond"] / 4


@pytest.mark.parametrize(("runs", "reserved"), [("50", 50), ("7", 7), ("0", None)])
def test_look_ups_of_profiles_use_no_concurrency_of_the_inbox(runs: str, reserved: int | None) -> None:
    said = evaluator(Dm3ReservedConcurrency=runs).value(of_type("AWS::Lambda::Function")["Dm3Function"]["Properties"])
    found = said.get("ReservedConcurrentExecutions")
    assert (None if found is None else int(found)) == reserved


@pytest.mark.parametrize(("runs", "reserved"), [("100", 100), ("7", 7), ("0", None)])
@pytest.mark.parametrize("function", WAITING)
def test_waiting_requests_and_strangers_messages_of_dcp_use_no_concurrency_of_other_functions(
    function: str, runs: str, reserved: int | None
) -> None:
    said = evaluator(**{WAITING[function]: runs}).value(of_type("AWS::Lambda::Function")[function]["Properties"])
    found = said.get("ReservedConcurrentExecutions")
    assert (None if found is None else int(found)) == reserved
    # Reserved concurrency is not available to other functions, which must have enough.
    default = template()["Parameters"][WAITING[function]]["Default"]
    assert default <= ACCOUNT_RUNS // 10


@pytest.mark.parametrize(
    ("domain", "disabled", "url"),
    [
        ("", False, "https://Api.execute-api.us-east-1.amazonaws.com"),
        ("receiver.example", True, "https://nlweb.receiver.example"),
    ],
)
def test_with_a_domain_the_api_is_reached_at_its_hosts_only(domain: str, disabled: bool, url: str) -> None:
    deployed = evaluator(DomainName=domain)
    assert deployed.value(resources("AWS::Serverless::HttpApi")["Api"]["DisableExecuteApiEndpoint"]) is disabled
    assert deployed.value(template()["Outputs"]["ApiUrl"]["Value"]) == url


def test_every_request_reaches_a_function_so_that_every_refusal_is_ours() -> None:
    made = [route["Properties"] for route in of_type("AWS::ApiGatewayV2::Route").values()]
    routes = {route["RouteKey"] for route in made if route["ApiId"] == {"Ref": "Api"}}
    mailbox_api = {
        "ANY /auth/{name}", "ANY /mailboxes/{proxy+}", "ANY /delivery/{proxy+}", "ANY /profile/{name}",
        "ANY /storage/{proxy+}", "ANY /dcp", "ANY /openapi.json",
    }  # fmt: skip
    dm3 = {"ANY /dm3", "ANY /rpc", "POST /", "OPTIONS /"}
    assert routes == {"ANY /inbox", "ANY /manifest", "$default"} | dm3 | mailbox_api


def test_every_message_of_a_websocket_reaches_the_function_of_dcp_and_is_answered() -> None:
    api = {"Ref": "DcpSocketApi"}
    routes = resources("AWS::ApiGatewayV2::Route")
    assert {route["RouteKey"] for route in routes.values()} == {"$default", "ping"}
    for name, route in routes.items():
        assert (route["ApiId"], route["RouteResponseSelectionExpression"]) == (api, "$default")
        answer = {"ApiId": api, "RouteId": {"Ref": name}, "RouteResponseKey": "$default"}
        assert answer in resources("AWS::ApiGatewayV2::RouteResponse").values()
    [permission] = [
        each for each in resources("AWS::Lambda::Permission").values() if "DcpSocketApi" in str(each["SourceArn"])
    ]
    assert permission["FunctionName"] == {"Ref": "DcpFunction"}


def test_a_ping_is_answered_by_the_websocket_api_and_starts_no_run() -> None:
    api = {"Ref": "DcpSocketApi"}
    assert resources("AWS::ApiGatewayV2::Api")["DcpSocketApi"]["RouteSelectionExpression"] == "$request.body.action"
    assert json.loads(PING) == {"action": "ping"}
    [route] = [each for each in resources("AWS::ApiGatewayV2::Route").values() if each["RouteKey"] == "ping"]
    [(name, integration)] = [
        each
        for each in resources("AWS::ApiGatewayV2::Integration").items()
        if route["Target"] == {"Fn::Sub": f"integrations/${{{each[0]}}}"}
    ]
    assert integration == {
        "ApiId": api, "IntegrationType": "MOCK", "TemplateSelectionExpression": "200",
        "RequestTemplates": {"200": '{"statusCode": 200}'},
    }  # fmt: skip
    [answer] = resources("AWS::ApiGatewayV2::IntegrationResponse").values()
    assert answer == {
        "ApiId": api, "IntegrationId": {"Ref": name}, "IntegrationResponseKey": "$default",
        "TemplateSelectionExpression": "200", "ResponseTemplates": {"200": PONG},
    }  # fmt: skip


# --- queues ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("queue", [*WORK_QUEUES, *DEAD_LETTER_QUEUES])
def test_every_queue_is_encrypted_and_keeps_messages_as_long_as_sqs_can(queue: str) -> None:
    said = resources("AWS::SQS::Queue")[queue]
    assert said["SqsManagedSseEnabled"] is True
    assert said["MessageRetentionPeriod"] == 14 * DAY


def test_names_that_were_not_looked_up_within_minutes_are_forgotten() -> None:
    said = resources("AWS::SQS::Queue")["NamesQueue"]
    assert said["SqsManagedSseEnabled"] is True
    assert said["MessageRetentionPeriod"] == 300
    assert "RedrivePolicy" not in said


def test_there_are_no_other_queues() -> None:
    assert set(resources("AWS::SQS::Queue")) == {*WORK_QUEUES, *DEAD_LETTER_QUEUES, "NamesQueue"}


@pytest.mark.parametrize("queue", WORK_QUEUES)
def test_what_cannot_be_processed_becomes_a_dead_letter_but_planned_retries_do_not(queue: str) -> None:
    policy = resources("AWS::SQS::Queue")[queue]["RedrivePolicy"]
    dead_letters = "CourierDeadLetterQueue" if queue in ("CourierQueue", "FeedbackQueue") else "DeadLetterQueue"
    assert policy["deadLetterTargetArn"] == {"Fn::GetAtt": f"{dead_letters}.Arn"}
    # After SUSPECT_AFTER receives, the worker moves a claim to the suspects queue: SQS must not have moved it before.
    # And Lambda may return messages that no invocation has received: AWS recommends at least 5.
    assert policy["maxReceiveCount"] >= max(SUSPECT_AFTER + 1, 5)


def test_a_claim_that_kills_every_run_is_a_dead_letter_well_before_it_must_be_decided() -> None:
    """With the shortest horizon, a day, it decides after half of it; each failed run costs a visibility time-out."""
    said = resources("AWS::SQS::Queue")
    beside_others = SUSPECT_AFTER * max(said[queue]["VisibilityTimeout"] for queue in ("ClaimsQueue", "RetryQueue"))
    by_itself = said["SuspectsQueue"]["RedrivePolicy"]["maxReceiveCount"] * said["SuspectsQueue"]["VisibilityTimeout"]
    assert beside_others + by_itself < DAY // 4


def sources() -> Iterator[tuple[str, str, Json]]:
    """Function, queue, event source mapping."""
    for mapping in of_type("AWS::Lambda::EventSourceMapping").values():
        said = mapping["Properties"]
        yield said["FunctionName"]["Ref"], said["EventSourceArn"]["Fn::GetAtt"][0], said


def _said(value: object) -> str:
    return value if isinstance(value, str) else "its source"


def test_lambda_does_not_stop_retries_as_a_loop() -> None:
    """Lambda stops a function that sends to its own queue at about the 16th time, unless RecursiveLoop allows it."""
    functions = resources("AWS::Serverless::Function")
    sends_to_itself = {
        function
        for function, queue, _ in sources()
        if {"Ref": queue} in functions[function]["Environment"]["Variables"].values()
    }
    # The waiting queue's function sends to it by way of the worker.
    assert sends_to_itself == {"WorkerFunction", "WaitingFunction", "CourierFunction", "FeedbackFunction"}
    for name, said in of_type("AWS::Lambda::Function").items():
        assert said["Properties"].get("RecursiveLoop") == ("Allow" if name in sends_to_itself else None)


def test_which_function_reads_which_queue() -> None:
    assert {(function, queue) for function, queue, _ in sources()} == {
        ("WorkerFunction", "ClaimsQueue"),
        ("WorkerFunction", "RetryQueue"),
        ("WorkerFunction", "SuspectsQueue"),
        ("WorkerFunction", "LookUpsQueue"),
        ("WaitingFunction", "WaitingQueue"),
        ("WaitingFunction", "NamesQueue"),
        ("CourierFunction", "CourierQueue"),
        ("FeedbackFunction", "FeedbackQueue"),
    }


@pytest.mark.parametrize(("function", "queue", "source"), list(sources()), ids=_said)
def test_a_message_stays_invisible_for_six_times_the_functions_time(function: str, queue: str, source: Json) -> None:
    timeout = resources("AWS::Serverless::Function")[function]["Timeout"]
    window = source.get("MaximumBatchingWindowInSeconds", 0)
    # The parameter has a maximum.
    longest = template()["Parameters"][window["Ref"]]["MaxValue"] if window else 0
    assert resources("AWS::SQS::Queue")[queue]["VisibilityTimeout"] >= 6 * timeout + longest


@pytest.mark.parametrize(("function", "queue", "source"), list(sources()), ids=_said)
def test_a_failed_message_is_delivered_again_without_the_rest_of_its_batch(
    function: str, queue: str, source: Json
) -> None:
    assert source["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert source["ScalingConfig"]["MaximumConcurrency"] >= 2


def test_claims_come_in_large_batches_and_suspects_one_by_one() -> None:
    sizes = {queue: source["BatchSize"] for _, queue, source in sources()}
    assert sizes == {
        "ClaimsQueue": 100,
        "RetryQueue": 100,
        "SuspectsQueue": 1,
        "LookUpsQueue": 10,
        "WaitingQueue": 10,
        "NamesQueue": 5,
        "CourierQueue": 5,
        "FeedbackQueue": 5,
    }
    window = template()["Parameters"]["BatchingWindowSeconds"]
    for _, queue, source in sources():
        # Lambda collects more than 10 messages only with a batching window.
        gathers = source.get("MaximumBatchingWindowInSeconds") == {"Ref": "BatchingWindowSeconds"}
        assert gathers == (sizes[queue] > 10)
    assert window["MinValue"] >= 1


def test_workers_at_once_are_limited() -> None:
    at_once = {queue: source["ScalingConfig"]["MaximumConcurrency"] for _, queue, source in sources()}
    assert at_once == {
        "ClaimsQueue": 50,
        "RetryQueue": 5,
        "SuspectsQueue": 2,
        "LookUpsQueue": 10,
        "WaitingQueue": 5,
        "NamesQueue": 2,
        "CourierQueue": 10,
        "FeedbackQueue": 5,
    }
    # Nine tenths of what an account may run at once are left to the inbox and to everything else in the account.
    assert sum(at_once.values()) <= ACCOUNT_RUNS // 10
    # A courier has one connection to an address (AddressLocks): none gets more connections than Postfix would make.
    assert at_once["CourierQueue"] + at_once["FeedbackQueue"] <= 20


def test_a_batch_for_the_slowest_of_hosts_and_resolvers_fits_the_functions_time() -> None:
    """A function that times out has postponed some of its batch, and gets the whole batch again."""
    batches = {queue: source["BatchSize"] for _, queue, source in sources()}
    timeouts = {name: said["Timeout"] for name, said in resources("AWS::Serverless::Function").items()}
    at = DeploymentSettings()
    # All at the same time, if they are of different groups and for different addresses; otherwise one after the other.
    # Each host is looked up. Before Feedback is posted, there may be a manifest and the graph.
    assert max(batches["CourierQueue"], batches["FeedbackQueue"]) <= MESSAGES_AT_ONCE
    post = at.dns_budget_seconds + at.outbound_total_seconds
    assert batches["CourierQueue"] * post <= timeouts["CourierFunction"]
    assert batches["FeedbackQueue"] * (at.manifest_seconds + 2 * post) <= timeouts["FeedbackFunction"]
    # As many claims at once as there are threads; where a look-up fails, its silent zone is searched for.
    look_up = at.dns_budget_seconds + at.dns_try_seconds
    waited = LONGEST_WAIT_SECONDS + look_up
    for source, seconds in ((Source.CLAIMS, 0.0), (Source.LOOK_UPS, waited), (Source.SUSPECTS, look_up)):
        passes = sum(patience.seconds for patience in PASSES[source] if patience is not UNLIMITED)
        # A batch may have many parts; the last one begins early enough to be completed.
        assert BEGIN_SECONDS + passes + seconds < timeouts["WorkerFunction"]
    assert max(batches["LookUpsQueue"], batches["WaitingQueue"]) <= THREADS
    assert waited < timeouts["WaitingFunction"]


def test_a_round_over_the_dead_letters_ends_before_the_time_out_and_sees_each_once() -> None:
    run = resources("AWS::Serverless::Function")["DeadLetterFunction"]["Timeout"]
    assert (
        dead_letters.ROUND_SECONDS + function_clients.AWS_CONNECT_SECONDS + function_clients.AWS_READ_SECONDS
        < run
        < dead_letters.LOOKED_AT_SECONDS
    )


def test_the_dead_letter_handler_runs_often_enough() -> None:
    [schedule] = of_type("AWS::Scheduler::Schedule").values()
    minutes = re.fullmatch(r"rate\((\d+) minutes\)", schedule["Properties"]["ScheduleExpression"])
    assert minutes is not None
    # A dead letter that was read is visible again before the next round; one that is due is decided within the hour.
    assert dead_letters.LOOKED_AT_SECONDS < int(minutes[1]) * 60 <= 3600


# --- jobs -----------------------------------------------------------------------------------------------------------


def of_job(job: str, **parameters: str) -> Json:
    """The evaluated properties of a job."""
    said: Json = evaluator(**parameters).value(of_type("AWS::Glue::Job")[job]["Properties"])
    return said


def test_there_are_no_other_jobs() -> None:
    assert set(resources("AWS::Glue::Job")) == set(JOBS)


@EACH_JOB
def test_a_job_runs_in_the_spark_that_it_is_tested_with_and_costs_no_more_than_it_is_given(job: str) -> None:
    said = of_job(job, JobsMaxWorkers="7")
    assert (said["GlueVersion"], said["Command"]["Name"], said["Command"]["PythonVersion"]) == ("5.0", "glueetl", "3")
    assert (said["WorkerType"], int(said["NumberOfWorkers"])) == ("G.1X", 7)
    # Glue removes idle workers, and does not bill them.
    assert said["DefaultArguments"]["--enable-auto-scaling"] == "true"
    assert template()["Parameters"]["JobsMaxWorkers"]["MinValue"] == 2  # Spark's driver is one of them
    assert said["ExecutionProperty"] == {"MaxConcurrentRuns": 1}


def test_a_run_ends_before_the_next_is_due() -> None:
    assert of_job("CompactJob")["Timeout"] * 60 * (1 + of_job("CompactJob")["MaxRetries"]) < DAY
    assert of_job("ExpireJob")["Timeout"] * 60 * (1 + of_job("ExpireJob")["MaxRetries"]) < 7 * DAY


SHARED = {
    "--BUCKET": "Bucket",
    "--POST_TABLE": "PostTable",
    "--DIRECTORY_TABLE": "DirectoryTable",
    "--RETAIN_SECONDS": "RetainSeconds",
    "--READ_UNITS_PER_SECOND": "JobsReadUnitsPerSecond",
    "--WRITE_UNITS_PER_SECOND": "JobsWriteUnitsPerSecond",
    "--WORKERS": "JobsMaxWorkers",
    "--LOG_GROUP": "JobsLogs",
    "--REGION": "AWS::Region",
    "--NAMESPACE": "AWS::StackName",
}
ARGUMENTS = {
    "CompactJob": {**SHARED, "--LAG_HOURS": "CompactLagHours"},
    "ExpireJob": {
        **SHARED,
        "--LIMITS_TABLE": "LimitsTable",
        "--STORAGE_TABLE": "StorageTable",
        "--DM3_MESSAGE_TTL_DAYS": "Dm3MessageTtlDays",
        "--CLOSED_DAYS": "ClosedMailboxDays",
    },
}


@EACH_JOB
def test_a_job_has_the_same_settings_as_the_functions(job: str) -> None:
    said = resources("AWS::Glue::Job")[job]["DefaultArguments"]
    assert {name: value for name, value in said.items() if name.isupper()} == {
        name: {"Ref": of} for name, of in ARGUMENTS[job].items()
    }


@EACH_JOB
def test_a_job_has_the_same_settings_on_glue_as_from_postroom_jobs(job: str) -> None:
    said = resources("AWS::Glue::Job")[job]["DefaultArguments"]
    for argument, output in job_runs._ARGUMENTS.items():
        if f"--{argument}" in said:
            assert said[f"--{argument}"] == template()["Outputs"][output]["Value"]
    told_elsewhere = {"--WORKERS", "--LOG_GROUP", "--REGION", "--NAMESPACE"}
    assert {name for name in said if name.isupper()} - told_elsewhere <= {f"--{name}" for name in job_runs._ARGUMENTS}


@pytest.mark.parametrize(("job", "kind"), [("CompactJob", CompactSettings), ("ExpireJob", ExpireSettings)])
def test_a_job_reads_its_settings(job: str, kind: type[JobSettings]) -> None:
    said = of_job(job)["DefaultArguments"]
    # Glue also passes its own arguments, and the name of the job.
    arguments = [str(word) for pair in {"--JOB_NAME": "night", **said}.items() for word in pair]
    settings = parse(kind, arguments)
    assert (settings.bucket, settings.post_table, settings.log_group) == ("Bucket", "PostTable", "JobsLogs")
    names = {f"--{field.name.upper()}" for field in fields(kind)}
    assert {name for name in said if name.isupper()} == names - {"--JOB_NAME", "--DRY_RUN", "--ENDPOINT_URL"}
    defaults = {field.name: field.default for field in fields(kind)}
    for name in defaults.keys() & {"lag_hours", "read_units_per_second", "write_units_per_second"}:
        assert getattr(settings, name) == defaults[name]


@EACH_JOB
def test_a_job_starts_with_nothing_but_what_glue_has_and_the_template_installs(job: str) -> None:
    script = str(TEMPLATE.parent / "glue_jobs" / f"{JOB_SCRIPTS[job]}.py")
    there = ["postroom", *ON_GLUE, *(wheel.partition("-")[0] for wheel in WHEELS)]
    command = [sys.executable, "-c", WALLED, script, *there]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


JOB_SCRIPTS = {"CompactJob": "compact_chunks", "ExpireJob": "expire_messages"}
ON_GLUE = ("pyspark", "py4j", "pyarrow", "pandas", "numpy", "dateutil", "pytz", "six", "jmespath", "urllib3")
"""Of Glue 5.0's own packages, those that Spark and boto3 need."""
WALLED = """
import importlib.abc, importlib.metadata, runpy, sys

class Wall(importlib.abc.MetaPathFinder):
    missing = importlib.metadata.packages_distributions().keys() - {*sys.argv[2:]}

    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] in self.missing:
            raise ModuleNotFoundError(f"{name} is not there", name=name)

sys.meta_path.insert(0, Wall())
assert callable(runpy.run_path(sys.argv[1])["main"])
"""


@EACH_JOB
def test_a_job_loads_nothing_but_what_is_published_in_the_bucket(job: str) -> None:
    said, at = of_job(job), f"s3://Bucket/{LIBRARIES}"
    project = tomllib.loads((TEMPLATE.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    arguments = said["DefaultArguments"]
    assert said["Command"]["ScriptLocation"] == f"{at}{JOB_SCRIPTS[job]}-{project['version']}.py"
    assert arguments["--extra-py-files"] == f"{at}postroom-{project['version']}.zip"
    assert arguments["--additional-python-modules"].split(",") == [at + wheel for wheel in WHEELS]
    assert arguments["--python-modules-installer-option"] == "--no-index"


def test_the_packages_of_the_jobs_have_the_versions_of_the_functions() -> None:
    lock = (TEMPLATE.parent / "layers" / "postroom" / "requirements.txt").read_text(encoding="utf-8")
    pinned = set(re.findall(r"^(\S+==\S+)", lock, re.MULTILINE))
    versions = ["==".join(wheel.split("-")[:2]) for wheel in WHEELS]
    assert set(versions) <= pinned
    # Without them, botocore and s3transfer would have the versions of Glue. Each is after those that it needs.
    names = [version.partition("==")[0] for version in versions]
    assert names.index("botocore") < names.index("s3transfer") < names.index("boto3")


def test_the_mail_of_a_closed_mailbox_is_kept_for_as_long_as_a_copy_of_it_may_still_be_filed() -> None:
    assert template()["Parameters"]["ClosedMailboxDays"]["MinValue"] * DAY >= RETAIN_CEILING_SECONDS


def test_jobs_start_by_themselves_compaction_daily_and_expiry_weekly() -> None:
    triggers = resources("AWS::Glue::Trigger")
    assert {trigger["Actions"][0]["JobName"]["Ref"] for trigger in triggers.values()} == set(JOBS)
    for trigger in triggers.values():
        assert (trigger["Type"], trigger["StartOnCreation"], len(trigger["Actions"])) == ("SCHEDULED", True, 1)
    defaults = {
        trigger["Actions"][0]["JobName"]["Ref"]: template()["Parameters"][trigger["Schedule"]["Ref"]]["Default"]
        for trigger in triggers.values()
    }
    assert re.fullmatch(r"cron\(\d+ \d+ \* \* \? \*\)", defaults["CompactJob"])
    assert re.fullmatch(r"cron\(\d+ \d+ \? \* \w{3} \*\)", defaults["ExpireJob"])


def test_what_jobs_write_has_an_end_and_is_this_stacks() -> None:
    written = {
        name: evaluator().value(said)
        for name, said in resources("AWS::Logs::LogGroup").items()
        if name.startswith("Jobs")
    }
    assert {said["LogGroupName"] for said in written.values()} == {
        "/postroom/jobs/postroom",
        "/postroom/jobs/postroom/output",
        "/postroom/jobs/postroom/error",
    }
    assert all(
        resources("AWS::Logs::LogGroup")[name]["RetentionInDays"] == {"Ref": "LogRetentionDays"} for name in written
    )
    for job in JOBS:
        # Glue 5.0 derives the names of its two log groups from this prefix (Logging for AWS Glue jobs).
        assert resources("AWS::Glue::Job")[job]["DefaultArguments"]["--custom-logGroup-prefix"] == {"Ref": "JobsLogs"}


@EACH_JOB
@pytest.mark.parametrize("state", ["FAILED", "TIMEOUT", "ERROR"])
def test_a_run_that_failed_is_noticed(job: str, state: str) -> None:
    [rule] = resources("AWS::Events::Rule").values()
    pattern = rule["EventPattern"]
    assert (pattern["source"], pattern["detail-type"]) == (["aws.glue"], ["Glue Job State Change"])
    assert {"Ref": job} in pattern["detail"]["jobName"]
    assert state in pattern["detail"]["state"]
    assert "SUCCEEDED" not in pattern["detail"]["state"]
    [target] = rule["Targets"]
    assert target["Arn"] == {"Ref": "AlarmTopic"}
    paths, sentence = target["InputTransformer"]["InputPathsMap"], target["InputTransformer"]["InputTemplate"]
    assert set(re.findall(r"<(\w+)>", sentence)) == set(paths)
    # No value that may contain a quotation mark: EventBridge does not escape what it inserts.
    assert set(paths.values()) == {"$.detail.jobName", "$.detail.jobRunId", "$.detail.state"}
    assert "aws glue get-job-run --job-name <job> --run-id <run>" in sentence
    [policy] = resources("AWS::SNS::TopicPolicy").values()
    [allowed] = [
        said
        for said in policy["PolicyDocument"]["Statement"]
        if said["Principal"] == {"Service": "events.amazonaws.com"}
    ]
    # EventBridge cannot publish to a topic if the policy has a condition.
    assert (allowed["Action"], allowed["Resource"], "Condition" in allowed) == (
        "sns:Publish", {"Ref": "AlarmTopic"}, False
    )  # fmt: skip


def test_compaction_that_falls_behind_or_stops_is_noticed() -> None:
    alarm = resources("AWS::CloudWatch::Alarm")["CompactLagAlarm"]
    lag, behind = evaluator(CompactLagHours="30").value(alarm["Metrics"])
    assert lag["MetricStat"]["Metric"]["MetricName"] == "JobLagHours"
    longest = template()["Parameters"]["CompactLagHours"].get("MaxValue", 24 * 365)
    filled = int(re.fullmatch(rf"FILL\({lag['Id']}, (\d+)\) - 30", behind["Expression"])[1])  # type: ignore[index]
    # Without FILL, an alarm uses older reports if a newer one is missing. A day without a report counts as late.
    assert filled - longest > alarm["Threshold"]
    assert lag["ReturnData"] is False
    # Until the next run, the segments of one more day become due; their age is rounded to hours.
    assert 24 + 1 < alarm["Threshold"] < 2 * 24
    assert alarm["TreatMissingData"] == "breaching"
    # Two days, and the current one, which is filled until its run has ended.
    assert alarm["EvaluationPeriods"] * lag["MetricStat"]["Period"] == 3 * DAY
    assert "DatapointsToAlarm" not in alarm


# --- tables, bucket, secrets ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "table", ["PostTable", "SeenTable", "DirectoryTable", "LimitsTable", "OutboxTable", "StorageTable"]
)
def test_every_table_is_paid_by_use_and_can_be_restored(table: str) -> None:
    said = resources("AWS::DynamoDB::Table")[table]
    assert said["BillingMode"] == "PAY_PER_REQUEST"
    assert said["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}


def test_what_is_to_be_forgotten_has_a_ttl_and_what_operators_set_has_none() -> None:
    ttl = {
        name: said.get("TimeToLiveSpecification", {}).get("AttributeName")
        for name, said in resources("AWS::DynamoDB::Table").items()
    }
    swept = dict.fromkeys(("PostTable", "SeenTable", "LimitsTable", "OutboxTable", "DcpTable"), "ttl")
    # Rows of the storage table are deleted together with their usage count, never by TTL.
    assert ttl == {**swept, "DirectoryTable": None, "StorageTable": None}


MAIL_AND_KEYS = (
    "PostTable", "SeenTable", "DirectoryTable", "OutboxTable", "StorageTable", "DcpTable", "Bucket",
    "SigningKeys", "DeliveryServiceKeys", "TokenKeys", "WebhookKeys", "DcpIdentities", "ChainEndpoints",
)  # fmt: skip


@pytest.mark.parametrize("kept", MAIL_AND_KEYS)
@pytest.mark.parametrize("stage", ["prod", "dev"])
def test_mail_and_keys_are_kept_when_a_prod_stack_is_deleted_but_not_a_dev_stack(kept: str, stage: str) -> None:
    said = evaluator(Stage=stage).value(translated()["Resources"][kept])
    # A protected table could not be deleted after a failed first deployment, which would be stuck.
    protected = said["Properties"].get("DeletionProtectionEnabled", False)
    keeps = ("Retain" if protected else "RetainExceptOnCreate", "Retain")
    assert (said["DeletionPolicy"], said["UpdateReplacePolicy"]) == (keeps if stage == "prod" else ("Delete", "Delete"))
    # CloudFormation accepts a function in DeletionPolicy only with this transform.
    assert template()["Transform"][0] == "AWS::LanguageExtensions"


@pytest.mark.parametrize("table", [name for name in MAIL_AND_KEYS if name.endswith("Table")])
@pytest.mark.parametrize(("stage", "protected"), [("prod", True), ("dev", False)])
def test_a_table_with_mail_is_protected_from_deletion(table: str, stage: str, protected: bool) -> None:
    assert (
        evaluator(Stage=stage).value(of_type("AWS::DynamoDB::Table")[table]["Properties"])["DeletionProtectionEnabled"]
        is protected
    )


def test_the_default_stage_keeps_mail_and_keys() -> None:
    assert template()["Parameters"]["Stage"]["Default"] == "prod"


@pytest.mark.parametrize("table", of_type("AWS::DynamoDB::Table"))
def test_every_table_has_a_maximum_throughput(table: str) -> None:
    said = evaluator(TableReadUnitsPerSecond="9", TableWriteUnitsPerSecond="7").value(
        of_type("AWS::DynamoDB::Table")[table]["Properties"]
    )
    assert said["OnDemandThroughput"] == {"MaxReadRequestUnits": "9", "MaxWriteRequestUnits": "7"}


def test_the_tables_have_enough_throughput_for_what_the_api_accepts_and_for_the_jobs() -> None:
    """With the defaults: a message takes at most 5 writes of a table (a retried dm3 message), besides the jobs."""
    at = {name: said["Default"] for name, said in template()["Parameters"].items()}
    assert at["ThrottlingRate"] * 5 + at["JobsWriteUnitsPerSecond"] <= at["TableWriteUnitsPerSecond"]
    assert at["ThrottlingRate"] * 10 + at["JobsReadUnitsPerSecond"] <= at["TableReadUnitsPerSecond"]


def test_the_bucket_is_private_and_owns_its_objects() -> None:
    said = resources("AWS::S3::Bucket")["Bucket"]
    blocked = ("BlockPublicAcls", "BlockPublicPolicy", "IgnorePublicAcls", "RestrictPublicBuckets")
    assert said["PublicAccessBlockConfiguration"] == dict.fromkeys(blocked, True)
    assert said["OwnershipControls"]["Rules"] == [{"ObjectOwnership": "BucketOwnerEnforced"}]
    [rule] = said["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    assert rule["ServerSideEncryptionByDefault"]["SSEAlgorithm"] in ("AES256", "aws:kms")


def test_the_bucket_accepts_only_tls() -> None:
    [policy] = resources("AWS::S3::BucketPolicy").values()
    [statement] = policy["PolicyDocument"]["Statement"]
    assert (statement["Effect"], statement["Principal"], statement["Action"]) == ("Deny", "*", "s3:*")
    assert statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    assert evaluator().value(statement["Resource"]) == ["arn:aws:s3:::Bucket", "arn:aws:s3:::Bucket/*"]


def test_every_queue_accepts_only_tls() -> None:
    [policy] = resources("AWS::SQS::QueuePolicy").values()
    assert {queue["Ref"] for queue in policy["Queues"]} == resources("AWS::SQS::Queue").keys()
    [statement] = policy["PolicyDocument"]["Statement"]
    assert (statement["Effect"], statement["Principal"], statement["Action"]) == ("Deny", "*", "sqs:*")
    assert (statement["Resource"], statement["Condition"]) == ("*", {"Bool": {"aws:SecureTransport": "false"}})


def test_the_alarm_topic_accepts_only_tls() -> None:
    [policy] = resources("AWS::SNS::TopicPolicy").values()
    [denied] = [said for said in policy["PolicyDocument"]["Statement"] if said["Effect"] == "Deny"]
    assert (denied["Principal"], denied["Action"], denied["Resource"]) == ("*", "sns:Publish", {"Ref": "AlarmTopic"})
    assert denied["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}


def test_unfinished_uploads_and_objects_that_no_row_refers_to_expire_and_no_others() -> None:
    uploads, *expiring = resources("AWS::S3::Bucket")["Bucket"]["LifecycleConfiguration"]["Rules"]
    assert uploads["AbortIncompleteMultipartUpload"] == {"DaysAfterInitiation": 1}
    assert not [name for name in uploads if "Expiration" in name or "Transition" in name]
    assert {rule["Prefix"] for rule in expiring} == {"claim/", "reply/", "quarantine/"}
    assert all(rule["ExpirationInDays"] * 86_400 > RETAIN_CEILING_SECONDS for rule in expiring)


def test_the_template_holds_no_secret() -> None:
    secrets = resources("AWS::SecretsManager::Secret")
    for name in ("TokenKeys", "WebhookKeys", "DcpIdentities"):
        made = secrets.pop(name)["GenerateSecretString"]
        assert made["SecretStringTemplate"] == "{}"
        # As many letters and digits as hold more than the 256 bits of a key.
        assert made["PasswordLength"] * 5.9 > 256
    assert {secret["SecretString"] for secret in secrets.values()} == {"{}"}
    text = "".join(path.read_text(encoding="utf-8") for path in (TEMPLATE, *NESTED))
    # Addresses of contracts.
    text = re.sub(r'"0x[0-9a-fA-F]{40}"', "", text)
    assert not re.search(r"PRIVATE KEY|AKIA|[A-Za-z0-9+/]{40}", text)


# --- logs, parameters -------------------------------------------------------------------------------------------------


@EACH_FUNCTION
def test_every_function_has_a_log_with_a_retention_time(function: str) -> None:
    groups = [
        said
        for said in resources("AWS::Logs::LogGroup").values()
        if said["LogGroupName"] == {"Fn::Sub": f"/aws/lambda/${{{function}}}"}
    ]
    assert [group["RetentionInDays"] for group in groups] == [{"Ref": "LogRetentionDays"}]


def test_there_are_no_other_functions() -> None:
    assert set(resources("AWS::Serverless::Function")) == set(FUNCTIONS)


def test_every_parameter_has_a_description_and_a_default() -> None:
    parameters = template()["Parameters"]
    assert [name for name, said in parameters.items() if not said["Description"].endswith(".")] == []
    assert [name for name, said in parameters.items() if "Default" not in said] == []


def test_every_parameter_is_used() -> None:
    text = json.dumps({name: part for name, part in template().items() if name != "Parameters"})
    unused = [name for name in template()["Parameters"] if f'"{name}"' not in text and f"${{{name}}}" not in text]
    assert unused == []


# --- nested stacks ----------------------------------------------------------------------------------------------------

EACH_NESTED = pytest.mark.parametrize("path", NESTED, ids=lambda path: path.name)


def stack_of(path: Path) -> Json:
    """The properties of the nested stack of a template."""
    [said] = [
        one["Properties"]
        for one in read(TEMPLATE)["Resources"].values()
        if one["Type"] == "AWS::CloudFormation::Stack" and TEMPLATE.parent / one["Properties"]["TemplateURL"] == path
    ]
    return dict(said)


def test_there_are_no_other_nested_stacks() -> None:
    stacks = [one for one in read(TEMPLATE)["Resources"].values() if one["Type"] == "AWS::CloudFormation::Stack"]
    assert {TEMPLATE.parent / one["Properties"]["TemplateURL"] for one in stacks} == set(NESTED)


@EACH_NESTED
def test_a_nested_stack_gets_all_parameters_that_it_declares_and_uses_them(path: Path) -> None:
    declared = read(path)["Parameters"]
    assert set(stack_of(path)["Parameters"]) == set(declared)
    text = json.dumps({name: part for name, part in read(path).items() if name != "Parameters"})
    assert [name for name in declared if f'"{name}"' not in text and f"${{{name}}}" not in text] == []
    assert [name for name, said in declared.items() if not said["Description"].endswith(".")] == []


@pytest.mark.parametrize("path", [path for path in NESTED if path.name != "hosts.yaml"], ids=lambda path: path.name)
def test_only_the_root_template_has_defaults(path: Path) -> None:
    """Except hosts.yaml, which operators also deploy as stacks of their own."""
    assert [name for name, said in read(path)["Parameters"].items() if "Default" in said] == []


@pytest.mark.parametrize("path", [TEMPLATE, *NESTED], ids=lambda path: path.name)
def test_cloudformation_takes_a_template_of_this_size(path: Path) -> None:
    """Quotas of AWS CloudFormation: the size of a template in a bucket, where `sam deploy` puts it, and the number of
    declarations."""
    document = translated() if path == TEMPLATE else read(path)
    assert len(json.dumps(document)) <= 1_000_000
    assert len(document["Parameters"]) <= 200
    assert len(document.get("Outputs", ())) <= 200
    assert len(document["Resources"]) <= 500
