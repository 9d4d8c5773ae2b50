"""The translation of template.yaml (SAM) to plain CloudFormation for the embedded AWS."""

import hashlib
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, cast

from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator

from postroom.local.clients import clean_session
from postroom.local.package import zip_folder
from postroom.local.template import Template, inline, read

_CODE = {"AWS::Serverless::Function": "CodeUri", "AWS::Serverless::LayerVersion": "ContentUri"}


def translate(path: Path, bucket: str, store: Callable[[str, bytes], None], parameters: Mapping[str, str]) -> Template:
    """Return the translated template; the code of each function and layer goes to `store(key, zip)`.

    It does what SAM's `sam build` and `sam deploy` do, offline, with the code of the working tree. HTTP routes become
    resources of their own (`expand_routes`). Raises samtranslator's InvalidDocumentException.
    """
    document = inline(read(path), path.parent)
    zipped = cache(zip_folder)  # one folder is the layer of each architecture
    for resource in document["Resources"].values():
        attribute = _CODE.get(resource["Type"])
        if attribute is None:
            continue
        properties = resource["Properties"]
        # As `sam build` does for a layer with a BuildMethod: its sources are put below python/.
        built_layer = attribute == "ContentUri" and "BuildMethod" in resource.get("Metadata", {})
        code = zipped(path.parent / properties[attribute], under="python" if built_layer else "")
        key = f"{hashlib.sha256(code).hexdigest()}.zip"
        store(key, code)
        properties[attribute] = f"s3://{bucket}/{key}"
    translator = Translator(None, Parser(), boto_session=clean_session())
    translated = cast(
        "Template",
        translator.translate(document, parameter_values=dict(parameters), get_managed_policy_map=dict),
    )
    translator.metrics.publish()  # to nowhere; otherwise it warns of unpublished metrics
    expand_routes(translated)
    _leave_out(translated)
    return cast("Template", _plain_counts_as_secure(_with_secret_arns(translated)))


def expand_routes(template: Template) -> None:
    """Replace each HTTP API's OpenAPI `Body` by Integration and Route resources.

    SAM writes the routes into the Body, as API Gateway imports it; MiniStack silently ignores it.
    """
    resources = template["Resources"]
    for name, resource in list(resources.items()):
        properties = resource.get("Properties", {})
        if resource["Type"] != "AWS::ApiGatewayV2::Api" or "Body" not in properties:
            continue
        body = properties.pop("Body")
        properties.setdefault("Name", name)
        properties.setdefault("ProtocolType", "HTTP")
        for number, (route_key, integration) in enumerate(_routes(body)):
            resources[f"{name}Integration{number}"] = {
                "Type": "AWS::ApiGatewayV2::Integration",
                "Properties": {
                    "ApiId": {"Ref": name},
                    "IntegrationType": "AWS_PROXY",
                    "IntegrationMethod": "POST",
                    "IntegrationUri": integration["uri"],
                    "PayloadFormatVersion": integration["payloadFormatVersion"],
                },
            }
            resources[f"{name}Route{number}"] = {
                "Type": "AWS::ApiGatewayV2::Route",
                "Properties": {
                    "ApiId": {"Ref": name},
                    "RouteKey": route_key,
                    "Target": {"Fn::Sub": f"integrations/${{{name}Integration{number}}}"},
                },
            }


_LEFT_OUT = ("AWS::ApiGatewayV2::RouteResponse", "AWS::CloudWatch::Dashboard", "AWS::Glue::Trigger")


def _leave_out(template: Template) -> None:
    """Remove resources that must not be here, or that MiniStack refuses.

    Schedules of Glue jobs: the emulator would run a script without Spark, and report success for a script that it does
    not find. `postroom jobs` runs them. Alarms on metric math, and the dashboard that shows them: no alarm is evaluated
    here. Answers of WebSocket APIs: the edge sends every answer.
    """
    resources = template["Resources"]
    for name, resource in list(resources.items()):
        metric_math = resource["Type"] == "AWS::CloudWatch::Alarm" and "Metrics" in resource["Properties"]
        if metric_math or resource["Type"] in _LEFT_OUT:
            del resources[name]


def _with_secret_arns(template: Template) -> Template:
    """Return the template with each `Ref` of a secret replaced by a `Fn::GetAtt` of its `Id`.

    On AWS both are the ARN; MiniStack's Ref is the name, which no policy of a role would match.
    """
    secrets = {n for n, r in template["Resources"].items() if r["Type"] == "AWS::SecretsManager::Secret"}

    def walk(node: Any) -> Any:
        if isinstance(node, list):
            return [walk(part) for part in node]
        if not isinstance(node, dict):
            return node
        if len(node) == 1 and node.get("Ref") in secrets:
            return {"Fn::GetAtt": [node["Ref"], "Id"]}
        return {name: walk(part) for name, part in node.items()}

    return cast("Template", walk(template))


def _plain_counts_as_secure(node: Any) -> Any:
    """Return a template whose policy conditions on `aws:SecureTransport` are inverted.

    Functions reach AWS over HTTPS, and the emulator over plain HTTP on loopback. This must count as secure, otherwise a
    bucket that refuses plain HTTP would refuse everybody.
    """
    if isinstance(node, list):
        return [_plain_counts_as_secure(part) for part in node]
    if not isinstance(node, dict):
        return node
    return {
        name: ("false" if str(value).lower() == "true" else "true")
        if name.lower() == "aws:securetransport"
        else _plain_counts_as_secure(value)
        for name, value in node.items()
    }


def _routes(body: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    routes = []
    for path, operations in body["paths"].items():
        for verb, operation in operations.items():
            integration = operation.get("x-amazon-apigateway-integration")
            if integration is None:
                continue
            method = "ANY" if verb == "x-amazon-apigateway-any-method" else verb.upper()
            is_default = operation.get("isDefaultRoute") or path.lstrip("/") == "$default"
            routes.append(("$default" if is_default else f"{method} {path}", integration))
    return routes
