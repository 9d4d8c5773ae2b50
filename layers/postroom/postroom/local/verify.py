"""A comparison of each created resource with the template.

MiniStack reports CREATE_COMPLETE even if it ignored properties, so the status of a stack proves nothing here.

These differences cannot be found by asking the services, and no code may rely on them:

| the template says | here | on AWS |
|---|---|---|
| event source mapping: BatchSize above 10 | batches of at most 10 | up to BatchSize, with a batching window |
| event source mapping: MaximumBatchingWindowInSeconds | ignored: delivered at once | waited for |
| event source mapping: an itemIdentifier that was not in the batch | counts as success | the batch fails |
| APIs: throttling settings | stored, never applied | 429 above the rate |
| Lambda permissions (who may invoke) | stored, never checked | AccessDenied without them |
| alarms, metric filters, dashboards | records; no alarm ever changes its state | evaluated |
| policies: a condition on aws:SecureTransport | inverted: plain loopback is secure | HTTPS is secure |
| policies: a condition on dynamodb:LeadingKeys | always met | compared with the key of each row |
| policies: logs:CreateLogStream | checked for the group's ARN | for the ARN with `:*` |
| S3: a missing object, without s3:ListBucket | NoSuchKey | AccessDenied |
| bucket lifecycle rules | stored; nothing expires | within a day or two |
| a table's TTL | rows are deleted in the background at some time | within days |
| alarms on metric math, the dashboard that shows them | left out: they could not be created | evaluated |
| a table: OnDemandThroughput | ignored: nothing is throttled | throttled above it |
| a WebSocket API: whether its routes answer | left out: the edge sends every answer | only with a route response |
| a domain's hosts (a nested stack) | left out: the local edge serves any host | custom domains |
| schedules | checked every 10 s; after a restart a rate that is due runs at once | to the minute |
| Glue: schedules of jobs | left out: `postroom jobs` runs the jobs | started |
| Glue: ExecutionProperty, ExecutionClass | ignored | one run at a time |
| Glue: StartJobRun | runs the script without Spark, or reports SUCCEEDED without running it | runs the job |
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from postroom.local.clients import Clients
from postroom.local.ignored_properties import lifecycle_rule, truth
from postroom.local.intrinsics import Resource

KNOWN: dict[tuple[str, str], str] = {}
"""(type, property) → why this difference cannot be corrected and does no harm here. None is needed today."""

NOT_CHECKED = {
    "AWS::Lambda::Permission": "never asked by the emulator; `sam validate` and a real deployment prove it",
    "AWS::Lambda::LayerVersion": "seen through the functions that name it",
    "AWS::ApiGatewayV2::Integration": "seen through the routes that lead to it",
    "AWS::CloudWatch::Alarm": "a record only",
    "AWS::CloudWatch::CompositeAlarm": "a record only",
    "AWS::CloudWatch::Dashboard": "a record only",
    "AWS::Logs::MetricFilter": "a record only",
    "AWS::SNS::Topic": "what only alarms write to",
    "AWS::SNS::TopicPolicy": "what only alarms write to",
    "AWS::IAM::Policy": "not compared; what a function lacks it is refused",
    "AWS::IAM::ManagedPolicy": "not compared; what a function lacks it is refused",
    "AWS::KMS::Key": "the emulator encrypts nothing",
    "AWS::KMS::Alias": "the emulator encrypts nothing",
}
"""Types that are not verified, and why. A type neither here nor below is a difference."""


@dataclass(frozen=True)
class Difference:
    """One difference from the template; `property` is the template's name for it."""

    resource: str
    type: str
    property: str
    expected: object
    found: object

    def __str__(self) -> str:
        return f"{self.resource} ({self.type}) {self.property}: expected {self.expected!r}, found {self.found!r}"


def verify(resources: Iterable[Resource], clients: Clients) -> list[Difference]:
    """Return every difference between the template and the created resources, except the known ones."""
    found: list[Difference] = []
    for resource in resources:
        if resource.type in NOT_CHECKED:
            continue
        ask = _QUESTIONS.get(resource.type)
        if ask is None:
            found.append(Difference(resource.logical, resource.type, "(type)", "a check in verify.py", None))
            continue
        try:
            answers = list(ask(resource, clients))
        except ClientError as e:
            answers = [("(existence)", "the resource", str(e))]
        found += [
            Difference(resource.logical, resource.type, name, expected, actual)
            for name, expected, actual in answers
            if expected != actual and (resource.type, name) not in KNOWN
        ]
    return found


Answer = tuple[str, object, object]
"""(property, what the template says, what the service says)."""


def _function(resource: Resource, clients: Clients) -> Iterator[Answer]:
    said, client = resource.properties, clients("lambda")
    has: Any = client.get_function_configuration(FunctionName=resource.physical)
    for name in ("Handler", "Runtime", "Role"):
        yield name, said.get(name), has.get(name)
    yield "Timeout", int(said.get("Timeout", 3)), has["Timeout"]
    yield "MemorySize", int(said.get("MemorySize", 128)), has["MemorySize"]
    variables = said.get("Environment", {}).get("Variables", {})
    # CloudFormation turns numbers and booleans into strings.
    yield (
        "Environment",
        {k: _text(v) for k, v in variables.items()},
        has.get("Environment", {}).get("Variables", {}),
    )
    yield "Layers", said.get("Layers", []), [layer["Arn"] for layer in has.get("Layers", [])]
    reserved = said.get("ReservedConcurrentExecutions")
    found = client.get_function_concurrency(FunctionName=resource.physical)
    yield (
        "ReservedConcurrentExecutions",
        None if reserved is None else int(reserved),
        found.get("ReservedConcurrentExecutions"),
    )


def _mapping(resource: Resource, clients: Clients) -> Iterator[Answer]:
    said = resource.properties
    has: Any = clients("lambda").get_event_source_mapping(UUID=resource.physical)
    yield "EventSourceArn", said["EventSourceArn"], has.get("EventSourceArn")
    function = said["FunctionName"].rsplit(":", 1)[-1]
    yield "FunctionName", function, has["FunctionArn"].rsplit(":", 1)[-1]
    yield "State", "Enabled" if truth(said.get("Enabled", True)) else "Disabled", has["State"]
    yield "BatchSize", int(said.get("BatchSize", 10)), has["BatchSize"]
    window = "MaximumBatchingWindowInSeconds"
    yield window, int(said.get(window, 0)), has.get(window, 0)
    yield "FunctionResponseTypes", said.get("FunctionResponseTypes", []), has.get("FunctionResponseTypes", [])
    yield "ScalingConfig", _numbers(said.get("ScalingConfig")), _numbers(has.get("ScalingConfig"))


def _queue(resource: Resource, clients: Clients) -> Iterator[Answer]:
    has: Any = clients("sqs").get_queue_attributes(QueueUrl=resource.physical, AttributeNames=["All"])
    attributes = has["Attributes"]
    for name, expected in resource.properties.items():
        if name in ("QueueName", "Tags"):
            continue
        found = attributes.get(name)
        if name.endswith("Policy"):
            yield name, _texts(expected), _texts(json.loads(found or "{}"))
        else:
            yield name, _text(expected), found


def _table(resource: Resource, clients: Clients) -> Iterator[Answer]:
    said, client = resource.properties, clients("dynamodb")
    has: Any = client.describe_table(TableName=resource.physical)["Table"]
    yield "KeySchema", said["KeySchema"], has["KeySchema"]
    yield (
        "BillingMode",
        said.get("BillingMode", "PROVISIONED"),
        has.get("BillingModeSummary", {}).get("BillingMode"),
    )
    indexes = [(i["IndexName"], i["KeySchema"], i["Projection"]) for i in said.get("GlobalSecondaryIndexes", [])]
    found = [(i["IndexName"], i["KeySchema"], i["Projection"]) for i in has.get("GlobalSecondaryIndexes", [])]
    yield "GlobalSecondaryIndexes", indexes, found
    stream = said.get("StreamSpecification", {}).get("StreamViewType")
    yield "StreamSpecification", stream, has.get("StreamSpecification", {}).get("StreamViewType")
    ttl = said.get("TimeToLiveSpecification", {})
    lives: Any = client.describe_time_to_live(TableName=resource.physical)["TimeToLiveDescription"]
    expected = ("ENABLED", ttl["AttributeName"]) if truth(ttl.get("Enabled")) else ("DISABLED", None)
    yield "TimeToLiveSpecification", expected, (lives["TimeToLiveStatus"], lives.get("AttributeName"))
    recovery = said.get("PointInTimeRecoverySpecification", {}).get("PointInTimeRecoveryEnabled")
    backups: Any = client.describe_continuous_backups(TableName=resource.physical)["ContinuousBackupsDescription"]
    yield (
        "PointInTimeRecoverySpecification",
        "ENABLED" if truth(recovery) else "DISABLED",
        backups["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"],
    )


def _bucket(resource: Resource, clients: Clients) -> Iterator[Answer]:
    said, client, bucket = resource.properties, clients("s3"), resource.physical
    client.head_bucket(Bucket=bucket)
    rules = [lifecycle_rule(r) for r in said.get("LifecycleConfiguration", {}).get("Rules", [])]
    if rules:
        has: Any = client.get_bucket_lifecycle_configuration(Bucket=bucket)
        yield "LifecycleConfiguration", rules, has["Rules"]
    if "PublicAccessBlockConfiguration" in said:
        expected = {k: truth(v) for k, v in said["PublicAccessBlockConfiguration"].items()}
        found: Any = client.get_public_access_block(Bucket=bucket)["PublicAccessBlockConfiguration"]
        yield "PublicAccessBlockConfiguration", expected, found
    versioning = said.get("VersioningConfiguration", {}).get("Status")
    yield "VersioningConfiguration", versioning, client.get_bucket_versioning(Bucket=bucket).get("Status")
    if "BucketEncryption" in said:
        wanted = [
            rule["ServerSideEncryptionByDefault"]["SSEAlgorithm"]
            for rule in said["BucketEncryption"]["ServerSideEncryptionConfiguration"]
        ]
        kept: Any = client.get_bucket_encryption(Bucket=bucket)["ServerSideEncryptionConfiguration"]["Rules"]
        yield (
            "BucketEncryption",
            wanted,
            [r["ApplyServerSideEncryptionByDefault"]["SSEAlgorithm"] for r in kept],
        )


def _bucket_policy(resource: Resource, clients: Clients) -> Iterator[Answer]:
    said = resource.properties
    has = clients("s3").get_bucket_policy(Bucket=said["Bucket"])["Policy"]
    yield "PolicyDocument", said["PolicyDocument"], json.loads(has)


def _queue_policy(resource: Resource, clients: Clients) -> Iterator[Answer]:
    said, client = resource.properties, clients("sqs")
    for queue in said["Queues"]:
        has = client.get_queue_attributes(QueueUrl=queue, AttributeNames=["Policy"])["Attributes"]
        yield "PolicyDocument", said["PolicyDocument"], json.loads(has.get("Policy", "null"))


def _api(resource: Resource, clients: Clients) -> Iterator[Answer]:
    has = clients("apigatewayv2").get_api(ApiId=resource.physical)
    yield "ProtocolType", resource.properties["ProtocolType"], has["ProtocolType"]


def _route(resource: Resource, clients: Clients) -> Iterator[Answer]:
    said, client = resource.properties, clients("apigatewayv2")
    routes: Any = client.get_routes(ApiId=said["ApiId"])["Items"]
    targets = [route["Target"] for route in routes if route["RouteKey"] == said["RouteKey"]]
    yield "RouteKey", [said["Target"]], targets
    integration = client.get_integration(ApiId=said["ApiId"], IntegrationId=said["Target"].rsplit("/", 1)[-1])
    if integration["IntegrationType"] == "MOCK":
        return
    arn = integration["IntegrationUri"].split("functions/", 1)[-1].removesuffix("/invocations")
    clients("lambda").get_function_configuration(FunctionName=arn)
    # Events of WebSocket APIs have the first version, and no other.
    expected = {"HTTP": "2.0", "WEBSOCKET": "1.0"}[client.get_api(ApiId=said["ApiId"])["ProtocolType"]]
    yield "PayloadFormatVersion", expected, integration.get("PayloadFormatVersion")


def _integration_response(resource: Resource, clients: Clients) -> Iterator[Answer]:
    said, client = resource.properties, clients("apigatewayv2")
    has: Any = client.get_integration_responses(ApiId=said["ApiId"], IntegrationId=said["IntegrationId"])["Items"]
    names = ("IntegrationResponseKey", "TemplateSelectionExpression", "ResponseTemplates")
    yield names[-1], [{name: said[name] for name in names}], [{name: each.get(name) for name in names} for each in has]


def _stage(resource: Resource, clients: Clients) -> Iterator[Answer]:
    said = resource.properties
    has: Any = clients("apigatewayv2").get_stage(ApiId=said["ApiId"], StageName=said["StageName"])
    yield "AutoDeploy", truth(said.get("AutoDeploy", False)), has.get("AutoDeploy", False)
    settings = "DefaultRouteSettings"
    yield settings, _floats(said.get(settings)), _floats(has.get(settings))


def _log_group(resource: Resource, clients: Clients) -> Iterator[Answer]:
    name = resource.physical
    groups: Any = clients("logs").describe_log_groups(logGroupNamePrefix=name)["logGroups"]
    retention = [group.get("retentionInDays") for group in groups if group["logGroupName"] == name]
    expected = resource.properties.get("RetentionInDays")
    yield "RetentionInDays", [None if expected is None else int(expected)], retention


def _schedule(resource: Resource, clients: Clients) -> Iterator[Answer]:
    said = resource.properties
    client: Any = clients("scheduler")
    has = client.get_schedule(Name=resource.physical.rsplit("/", 1)[-1])
    yield "ScheduleExpression", said["ScheduleExpression"], has["ScheduleExpression"]
    yield "State", said.get("State", "ENABLED"), has["State"]
    for member in ("Arn", "Input"):
        yield f"Target.{member}", said["Target"].get(member), has["Target"].get(member)


def _secret(resource: Resource, clients: Clients) -> Iterator[Answer]:
    value = clients("secretsmanager").get_secret_value(SecretId=resource.physical)
    yield "(value)", True, bool(value.get("SecretString") or value.get("SecretBinary"))


def _role(resource: Resource, clients: Clients) -> Iterator[Answer]:
    client: Any = clients("iam")
    client.get_role(RoleName=resource.physical)
    expected = sorted(policy["PolicyName"] for policy in resource.properties.get("Policies", []))
    yield "Policies", expected, sorted(client.list_role_policies(RoleName=resource.physical)["PolicyNames"])


def _job(resource: Resource, clients: Clients) -> Iterator[Answer]:
    said = resource.properties
    has: Any = clients("glue").get_job(JobName=resource.physical)["Job"]
    for name in ("Role", "Command", "GlueVersion", "WorkerType"):
        yield name, said[name], has.get(name)
    for name in ("NumberOfWorkers", "Timeout", "MaxRetries"):
        # The emulator stores the text of a parameter.
        yield name, int(said[name]), int(has[name])
    yield "DefaultArguments", said["DefaultArguments"], has.get("DefaultArguments")


def _rule(resource: Resource, clients: Clients) -> Iterator[Answer]:
    said = resource.properties
    has: Any = clients("events").describe_rule(Name=resource.physical)
    yield "EventPattern", said["EventPattern"], json.loads(has["EventPattern"])
    yield "State", said.get("State", "ENABLED"), has["State"]


_QUESTIONS = {
    "AWS::Lambda::Function": _function,
    "AWS::Lambda::EventSourceMapping": _mapping,
    "AWS::SQS::Queue": _queue,
    "AWS::DynamoDB::Table": _table,
    "AWS::S3::Bucket": _bucket,
    "AWS::S3::BucketPolicy": _bucket_policy,
    "AWS::SQS::QueuePolicy": _queue_policy,
    "AWS::ApiGatewayV2::Api": _api,
    "AWS::ApiGatewayV2::Route": _route,
    "AWS::ApiGatewayV2::IntegrationResponse": _integration_response,
    "AWS::ApiGatewayV2::Stage": _stage,
    "AWS::Logs::LogGroup": _log_group,
    "AWS::Scheduler::Schedule": _schedule,
    "AWS::SecretsManager::Secret": _secret,
    "AWS::IAM::Role": _role,
    "AWS::Glue::Job": _job,
    "AWS::Events::Rule": _rule,
}


def _text(value: object) -> str:
    """Return a scalar as CloudFormation passes it to a service that expects strings."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _texts(values: dict[str, Any]) -> dict[str, str]:
    return {k: json.dumps(v) if isinstance(v, list | dict) else _text(v) for k, v in values.items()}


def _floats(values: dict[str, Any] | None) -> dict[str, float]:
    return {k: float(v) for k, v in (values or {}).items()}


def _numbers(values: dict[str, Any] | None) -> dict[str, int]:
    return {k: int(v) for k, v in (values or {}).items()}
