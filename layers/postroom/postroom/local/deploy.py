"""Deployment of a SAM template in the embedded AWS."""

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from postroom.core.errors import OurError, SettingsError
from postroom.local.clients import Clients
from postroom.local.ignored_properties import made_by_cloudformation, set_ignored_properties
from postroom.local.intrinsics import Evaluator, Resource
from postroom.local.patience import PATIENCE_SECONDS
from postroom.local.template import Template
from postroom.local.translate import translate
from postroom.local.verify import verify

if TYPE_CHECKING:
    from mypy_boto3_cloudformation.type_defs import ParameterTypeDef


@dataclass(frozen=True)
class Deployed:
    """A stack that is running: its outputs by name, and its resources as they were verified."""

    outputs: Mapping[str, str]
    resources: tuple[Resource, ...]


def deploy(
    template: Path,
    stack: str,
    clients: Clients,
    parameters: Mapping[str, str] | None = None,
    settings: Mapping[str, str] | None = None,
) -> Deployed:
    """Create the stack, or update an existing one to the current template, code and parameters.

    `settings`: values of environment variables of functions, instead of the template's. Raises SettingsError for a
    parameter that the template does not declare, OurError if the stack fails or differs from the template (the sentence
    lists the differences).
    """
    given = dict(parameters or {})
    s3 = clients("s3")
    # Bucket names are unique across all accounts, here as on AWS.
    artifacts = f"postroom-artifacts-{clients.account}"
    with suppress(s3.exceptions.BucketAlreadyOwnedByYou):
        s3.create_bucket(Bucket=artifacts)

    def store(key: str, code: bytes) -> None:
        s3.put_object(Bucket=artifacts, Key=key, Body=code)

    translated = translate(template, artifacts, store, given)
    for variables in _variables(translated):
        variables.update({name: value for name, value in (settings or {}).items() if name in variables})
    unknown = given.keys() - translated.get("Parameters", {}).keys()
    if unknown:
        raise SettingsError(f"the template has no parameters {', '.join(sorted(unknown))}")
    Evaluator(translated, given, {}, clients.account, stack).settle_conditions()
    # It is longer than a request to CloudFormation may be: CloudFormation reads it from where `sam deploy` puts it,
    # too.
    name = f"{stack}.template"
    store(name, json.dumps(made_by_cloudformation(translated)).encode())
    _create_or_update(f"{s3.meta.endpoint_url}/{artifacts}/{name}", stack, clients, given)
    outputs = _wait(stack, clients)
    pages = clients("cloudformation").get_paginator("list_stack_resources").paginate(StackName=stack)
    physical = {
        summary["LogicalResourceId"]: summary.get("PhysicalResourceId", "")
        for page in pages
        for summary in page["StackResourceSummaries"]
    }
    for logical, resource in translated["Resources"].items():
        if resource["Type"] == "AWS::SecretsManager::Secret" and logical in physical:
            physical[logical] = clients("secretsmanager").describe_secret(SecretId=physical[logical])["ARN"]
    resources = tuple(Evaluator(translated, given, physical, clients.account, stack).resources())
    for resource in resources:
        set_ignored_properties(resource, clients)
    differences = verify(resources, clients)
    if differences:
        listed = "\n  ".join(map(str, differences))
        raise OurError(f"the embedded AWS did not create what the template says:\n  {listed}")
    return Deployed(outputs, resources)


def _variables(template: Template) -> Iterator[dict[str, Any]]:
    for resource in template["Resources"].values():
        if resource["Type"] == "AWS::Lambda::Function":
            yield resource["Properties"].get("Environment", {}).get("Variables", {})


def _create_or_update(template_url: str, stack: str, clients: Clients, given: Mapping[str, str]) -> None:
    cloudformation = clients("cloudformation")
    parameters: list[ParameterTypeDef] = [
        {"ParameterKey": name, "ParameterValue": value} for name, value in given.items()
    ]
    try:
        cloudformation.describe_stacks(StackName=stack)
    except ClientError:
        cloudformation.create_stack(
            StackName=stack, TemplateURL=template_url, Parameters=parameters, Capabilities=["CAPABILITY_IAM"]
        )
        return
    try:
        cloudformation.update_stack(
            StackName=stack, TemplateURL=template_url, Parameters=parameters, Capabilities=["CAPABILITY_IAM"]
        )
    except ClientError as e:
        if "No updates are to be performed" not in str(e):
            raise


def _wait(stack: str, clients: Clients) -> dict[str, str]:
    end = time.monotonic() + PATIENCE_SECONDS
    cloudformation = clients("cloudformation")
    while True:
        found = cloudformation.describe_stacks(StackName=stack)["Stacks"][0]
        status = found["StackStatus"]
        if status in ("CREATE_COMPLETE", "UPDATE_COMPLETE"):
            return {o["OutputKey"]: o["OutputValue"] for o in found.get("Outputs", [])}
        if not status.endswith("IN_PROGRESS") or time.monotonic() > end:
            raise OurError(f"stack {stack} is {status}: {_failures(stack, clients)}")
        time.sleep(0.05)


def _failures(stack: str, clients: Clients) -> str:
    events = clients("cloudformation").describe_stack_events(StackName=stack)["StackEvents"]
    return "; ".join(
        f"{event.get('LogicalResourceId')}: {event.get('ResourceStatusReason', 'no reason given')}"
        for event in events
        if "FAILED" in event.get("ResourceStatus", "")
    )
