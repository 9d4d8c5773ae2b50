"""Direct calls for properties that MiniStack's CloudFormation silently ignores, and a resource that it refuses.

They are a table's TTL and point-in-time recovery, a bucket's lifecycle rules, a function's reserved concurrency, and a
stage's throttling; and what a route of a WebSocket API answers that has no function. All are derived from the template;
each call may be repeated.
"""

from typing import Any

from postroom.core.errors import OurError
from postroom.local.clients import Clients
from postroom.local.intrinsics import Resource
from postroom.local.template import Template


def set_ignored_properties(resource: Resource, clients: Clients) -> None:
    """Set the ignored properties of one resource, or make it."""
    make_good = _AMENDMENTS.get(resource.type)
    if make_good:
        make_good(resource, clients)


def made_by_cloudformation(template: Template) -> Template:
    """Return the template without the resources that are made by direct calls."""
    resources = {name: each for name, each in template["Resources"].items() if each["Type"] != _INTEGRATION_RESPONSE}
    return {**template, "Resources": resources}


def _table(resource: Resource, clients: Clients) -> None:
    dynamodb = clients("dynamodb")
    ttl = resource.properties.get("TimeToLiveSpecification", {})
    if truth(ttl.get("Enabled")):
        # DynamoDB refuses to enable what is enabled.
        description = dynamodb.describe_time_to_live(TableName=resource.physical)["TimeToLiveDescription"]
        if description.get("TimeToLiveStatus") != "ENABLED":
            dynamodb.update_time_to_live(
                TableName=resource.physical,
                TimeToLiveSpecification={"AttributeName": ttl["AttributeName"], "Enabled": True},
            )
    recovery = resource.properties.get("PointInTimeRecoverySpecification", {})
    if truth(recovery.get("PointInTimeRecoveryEnabled")):
        dynamodb.update_continuous_backups(
            TableName=resource.physical,
            PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True},
        )


def _bucket(resource: Resource, clients: Clients) -> None:
    rules = resource.properties.get("LifecycleConfiguration", {}).get("Rules", [])
    if rules:
        configuration: Any = {"Rules": [lifecycle_rule(rule) for rule in rules]}
        clients("s3").put_bucket_lifecycle_configuration(Bucket=resource.physical, LifecycleConfiguration=configuration)


def _function(resource: Resource, clients: Clients) -> None:
    reserved = resource.properties.get("ReservedConcurrentExecutions")
    if reserved is None:
        clients("lambda").delete_function_concurrency(FunctionName=resource.physical)
    else:
        clients("lambda").put_function_concurrency(
            FunctionName=resource.physical, ReservedConcurrentExecutions=int(reserved)
        )


def _stage(resource: Resource, clients: Clients) -> None:
    settings = resource.properties.get("DefaultRouteSettings")
    if settings:
        clients("apigatewayv2").update_stage(
            ApiId=resource.properties["ApiId"],
            StageName=resource.properties["StageName"],
            DefaultRouteSettings={
                "ThrottlingBurstLimit": int(settings["ThrottlingBurstLimit"]),
                "ThrottlingRateLimit": float(settings["ThrottlingRateLimit"]),
            },
        )


def _integration_response(resource: Resource, clients: Clients) -> None:
    said, client = resource.properties, clients("apigatewayv2")
    made: Any = {
        "ApiId": said["ApiId"],
        "IntegrationId": said["IntegrationId"],
        "IntegrationResponseKey": said["IntegrationResponseKey"],
        "ResponseTemplates": said["ResponseTemplates"],
        "TemplateSelectionExpression": said["TemplateSelectionExpression"],
    }
    there = client.get_integration_responses(ApiId=said["ApiId"], IntegrationId=said["IntegrationId"])["Items"]
    for each in there:
        client.delete_integration_response(
            ApiId=said["ApiId"],
            IntegrationId=said["IntegrationId"],
            IntegrationResponseId=each["IntegrationResponseId"],
        )
    client.create_integration_response(**made)


def lifecycle_rule(rule: dict[str, Any]) -> dict[str, Any]:
    """Return a CloudFormation lifecycle rule for the S3 API, which uses other names.

    Raises OurError for an unknown member.
    """
    said = dict(rule)
    arguments: dict[str, Any] = {
        "ID": said.pop("Id", ""),
        "Status": said.pop("Status"),
        "Filter": {"Prefix": said.pop("Prefix", "")},
    }
    if "ExpirationInDays" in said:
        arguments["Expiration"] = {"Days": int(said.pop("ExpirationInDays"))}
    for member, days in (
        ("AbortIncompleteMultipartUpload", "DaysAfterInitiation"),
        ("NoncurrentVersionExpiration", "NoncurrentDays"),
    ):
        if member in said:
            arguments[member] = {days: int(said.pop(member)[days])}
    if said:
        raise OurError(f"the local stack does not know these members of a lifecycle rule: {sorted(said)}")
    return arguments


def truth(value: object) -> bool:
    """Return a template's boolean; CloudFormation accepts the words as well."""
    return value is True or str(value).lower() == "true"


_INTEGRATION_RESPONSE = "AWS::ApiGatewayV2::IntegrationResponse"
_AMENDMENTS = {
    "AWS::DynamoDB::Table": _table,
    "AWS::S3::Bucket": _bucket,
    "AWS::Lambda::Function": _function,
    "AWS::ApiGatewayV2::Stage": _stage,
    _INTEGRATION_RESPONSE: _integration_response,
}
