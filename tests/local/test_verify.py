"""Whatever somebody spoils behind the stack's back, verify sees it."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from postroom.local.clients import Clients
from postroom.local.deploy import Deployed, deploy
from postroom.local.ignored_properties import lifecycle_rule
from postroom.local.intrinsics import Resource
from postroom.local.verify import verify

Spoil = Callable[[Clients, Deployed], object]


def physical(deployed: Deployed, logical: str) -> str:
    return next(r.physical for r in deployed.resources if r.logical == logical)


def drop_route(c: Clients, d: Deployed) -> None:
    api = c("apigatewayv2")
    route = next(r for r in api.get_routes(ApiId=d.outputs["ApiId"])["Items"] if r["RouteKey"] == "POST /echo")
    api.delete_route(ApiId=d.outputs["ApiId"], RouteId=route["RouteId"])


def drop_socket_route(c: Clients, d: Deployed) -> None:
    api = c("apigatewayv2")
    route = next(r for r in api.get_routes(ApiId=d.outputs["SocketsId"])["Items"] if r["RouteKey"] == "$default")
    api.delete_route(ApiId=d.outputs["SocketsId"], RouteId=route["RouteId"])


def drop_socket_answer(c: Clients, d: Deployed) -> None:
    api, where = c("apigatewayv2"), {"ApiId": d.outputs["SocketsId"], "IntegrationId": physical(d, "SocketsPing")}
    [answer] = api.get_integration_responses(**where)["Items"]
    api.delete_integration_response(**where, IntegrationResponseId=answer["IntegrationResponseId"])


def drop_stage_limits(c: Clients, d: Deployed) -> None:
    c("apigatewayv2").update_stage(
        ApiId=d.outputs["ApiId"], StageName="$default", DefaultRouteSettings={"ThrottlingBurstLimit": 9}
    )


def change_queue(**attributes: str) -> Spoil:
    return lambda c, d: c("sqs").set_queue_attributes(QueueUrl=d.outputs["Main"], Attributes=attributes)


def change_mapping(**change: object) -> Spoil:
    return lambda c, d: c("lambda").update_event_source_mapping(UUID=physical(d, "WorkerMain"), **change)


def change_function(**change: object) -> Spoil:
    return lambda c, d: c("lambda").update_function_configuration(FunctionName=d.outputs["Inbox"], **change)


def disable_ttl(c: Clients, d: Deployed) -> None:
    c("dynamodb").update_time_to_live(
        TableName=d.outputs["Items"], TimeToLiveSpecification={"AttributeName": "ttl", "Enabled": False}
    )


def disable_recovery(c: Clients, d: Deployed) -> None:
    c("dynamodb").update_continuous_backups(
        TableName=d.outputs["Items"], PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": False}
    )


def disable_schedule(c: Clients, d: Deployed) -> None:
    client = c("scheduler")
    name = physical(d, "WorkerTick")
    target = client.get_schedule(Name=name)["Target"]
    client.update_schedule(
        Name=name,
        ScheduleExpression="rate(1 minute)",
        FlexibleTimeWindow={"Mode": "OFF"},
        State="DISABLED",
        Target=target,
    )


def open_bucket(c: Clients, d: Deployed) -> None:
    c("s3").put_public_access_block(
        Bucket=d.outputs["Things"], PublicAccessBlockConfiguration={"BlockPublicAcls": False}
    )


def shorten_lifecycle(c: Clients, d: Deployed) -> None:
    rule = {"ID": "unfinished", "Status": "Disabled", "Filter": {"Prefix": ""}, "Expiration": {"Days": 1}}
    c("s3").put_bucket_lifecycle_configuration(Bucket=d.outputs["Things"], LifecycleConfiguration={"Rules": [rule]})


def weaken_policy(c: Clients, d: Deployed) -> None:
    statement = {"Effect": "Deny", "Principal": "*", "Action": "s3:GetObject", "Resource": "*"}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    c("s3").put_bucket_policy(Bucket=d.outputs["Things"], Policy=policy)


def add_policy(c: Clients, d: Deployed) -> None:
    statement = {"Effect": "Allow", "Action": "s3:*", "Resource": "*"}
    document = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    c("iam").put_role_policy(RoleName=physical(d, "InboxRole"), PolicyName="more", PolicyDocument=document)


def keep_logs(c: Clients, d: Deployed) -> None:
    c("logs").put_retention_policy(logGroupName=physical(d, "InboxLogs"), retentionInDays=1)


def change_job(**change: object) -> Spoil:
    return lambda c, d: c("glue").update_job(JobName=physical(d, "Night"), JobUpdate=change)


def disable_rule(c: Clients, d: Deployed) -> None:
    c("events").disable_rule(Name=physical(d, "NightFailures"))


SPOILED: list[tuple[str, str, Spoil]] = [
    ("ApiRoute0", "RouteKey", drop_route),
    ("SocketsMessages", "RouteKey", drop_socket_route),
    ("SocketsPong", "ResponseTemplates", drop_socket_answer),
    ("ApiApiGatewayDefaultStage", "DefaultRouteSettings", drop_stage_limits),
    ("Main", "VisibilityTimeout", change_queue(VisibilityTimeout="1")),
    ("Main", "RedrivePolicy", change_queue(RedrivePolicy="")),
    ("MainPolicy", "PolicyDocument", change_queue(Policy="")),
    ("WorkerMain", "BatchSize", change_mapping(BatchSize=1)),
    ("WorkerMain", "ScalingConfig", change_mapping(ScalingConfig={"MaximumConcurrency": 9})),
    ("WorkerMain", "FunctionResponseTypes", change_mapping(FunctionResponseTypes=[])),
    ("WorkerMain", "State", change_mapping(Enabled=False)),
    ("Inbox", "Environment", change_function(Environment={"Variables": {"TABLE": "other"}})),
    ("Inbox", "Layers", change_function(Layers=[])),
    ("Inbox", "Timeout", change_function(Timeout=1)),
    (
        "Inbox",
        "ReservedConcurrentExecutions",
        lambda c, d: c("lambda").delete_function_concurrency(FunctionName=d.outputs["Inbox"]),
    ),
    ("Items", "TimeToLiveSpecification", disable_ttl),
    ("Items", "PointInTimeRecoverySpecification", disable_recovery),
    ("Things", "PublicAccessBlockConfiguration", open_bucket),
    ("Things", "LifecycleConfiguration", shorten_lifecycle),
    ("ThingsPolicy", "PolicyDocument", weaken_policy),
    ("WorkerTick", "State", disable_schedule),
    ("InboxLogs", "RetentionInDays", keep_logs),
    ("InboxRole", "Policies", add_policy),
    ("Night", "GlueVersion", change_job(GlueVersion="4.0")),
    ("Night", "WorkerType", change_job(WorkerType="G.2X")),
    ("Night", "NumberOfWorkers", change_job(NumberOfWorkers=9)),
    ("Night", "DefaultArguments", change_job(DefaultArguments={"--BUCKET": "other"})),
    ("NightFailures", "State", disable_rule),
    ("Dead", "(existence)", lambda c, d: c("sqs").delete_queue(QueueUrl=d.outputs["Dead"])),
    (
        "Key",
        "(existence)",
        lambda c, d: c("secretsmanager").delete_secret(SecretId=physical(d, "Key"), ForceDeleteWithoutRecovery=True),
    ),
]


@pytest.fixture(scope="module")
def spoiled(template: Path, fresh_account: Callable[[], Clients]) -> tuple[Clients, Deployed]:
    """A deployment that is spoiled bit by bit: no two rows of SPOILED are about the same property."""
    clients = fresh_account()
    deployed = deploy(template, "spoiled", clients)
    assert verify(deployed.resources, clients) == []
    return clients, deployed


@pytest.mark.parametrize(("resource", "name", "spoil"), SPOILED, ids=[f"{s[0]}.{s[1]}" for s in SPOILED])
def test_every_deviation_from_the_template_is_a_difference(spoiled, resource, name, spoil) -> None:
    clients, deployed = spoiled
    before = [(d.resource, d.property) for d in verify(deployed.resources, clients)]
    assert (resource, name) not in before
    spoil(clients, deployed)
    after = [(d.resource, d.property) for d in verify(deployed.resources, clients)]
    assert sorted(after) == sorted([*before, (resource, name)])


def test_a_type_that_nobody_checks_is_a_difference(fresh_account) -> None:
    unknown = Resource("Thing", "AWS::New::Thing", "id", {})
    (difference,) = verify([unknown], fresh_account())
    assert "a check in verify.py" in str(difference)
    assert "AWS::New::Thing" in str(difference)


def test_a_lifecycle_rule_that_cannot_be_carried_over_is_named() -> None:
    from postroom.core.errors import OurError

    with pytest.raises(OurError, match="Transitions"):
        lifecycle_rule({"Status": "Enabled", "Transitions": []})
