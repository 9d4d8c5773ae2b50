"""The values of a created CloudFormation template's expressions, computed independently of the emulator.

So `verify` compares a service with the template, and not with the emulator's reading of it. It knows the functions that
SAM emits and that our templates use; any other one is an OurError that names it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from postroom.core.errors import OurError
from postroom.local.clients import REGION
from postroom.local.template import Template

NOTHING = object()
"""`AWS::NoValue`: the property with this value is left out."""


@dataclass(frozen=True)
class Resource:
    """A resource that exists: template name, type, the id that AWS gave it, properties without expressions."""

    logical: str
    type: str
    physical: str
    properties: dict[str, Any]


class Evaluator:
    """Evaluates expressions of one stack: `physical` maps logical names to the ids of created resources."""

    def __init__(
        self,
        template: Template,
        parameters: Mapping[str, str],
        physical: Mapping[str, str],
        account: str,
        stack: str,
    ) -> None:
        self._template = template
        self._physical = physical
        self._account = account
        self._known: dict[str, Any] = {
            "AWS::AccountId": account,
            "AWS::Region": REGION,
            "AWS::Partition": "aws",
            "AWS::URLSuffix": "amazonaws.com",
            "AWS::StackName": stack,
            "AWS::NoValue": NOTHING,
        }
        for name, declared in template.get("Parameters", {}).items():
            value = str(parameters.get(name, declared.get("Default")))
            is_list = declared["Type"] == "CommaDelimitedList"
            self._known[name] = [part.strip() for part in value.split(",")] if is_list else value

    def resources(self) -> list[Resource]:
        """Return the resources whose condition holds, in the template's order."""
        found = []
        for logical, resource in self._template["Resources"].items():
            condition = resource.get("Condition")
            if condition is None or self._condition(condition):
                properties = self.value(resource.get("Properties", {}))
                physical = self._physical.get(logical, "")
                found.append(Resource(logical, resource["Type"], physical, properties))
        return found

    def value(self, node: Any) -> Any:
        """Return `node` with every expression in it replaced by its value."""
        if isinstance(node, list):
            return [v for v in map(self.value, node) if v is not NOTHING]
        if not isinstance(node, dict):
            return node
        if len(node) == 1:
            ((name, argument),) = node.items()
            if name == "Ref" or name.startswith("Fn::"):
                return self._call(name, argument)
        values = {k: self.value(v) for k, v in node.items()}
        return {k: v for k, v in values.items() if v is not NOTHING}

    def _call(self, name: str, argument: Any) -> Any:
        if name == "Ref":
            return self._ref(argument)
        if name == "Fn::GetAtt":
            logical, attribute = argument.split(".", 1) if isinstance(argument, str) else argument
            return self._attribute(logical, attribute)
        if name == "Fn::Sub":
            return self._sub(argument)
        if name == "Fn::If":
            return self.value(argument[1] if self._condition(argument[0]) else argument[2])
        values = self.value(argument)
        if name == "Fn::Join":
            return str(values[0]).join(map(str, values[1]))
        if name == "Fn::Select":
            return values[1][int(values[0])]
        if name == "Fn::Split":
            return str(values[1]).split(values[0])
        if name == "Fn::FindInMap":
            return self._template["Mappings"][values[0]][values[1]][values[2]]
        raise OurError(f"the local stack does not know the template function {name}")

    def _ref(self, name: str) -> Any:
        if name in self._known:
            return self._known[name]
        if name in self._physical:
            return self._physical[name]
        raise OurError(f"the template refers to {name}, which was not created")

    def _attribute(self, logical: str, attribute: str) -> str:
        kind = self._template["Resources"][logical]["Type"]
        physical = self._ref(logical)
        bare = physical.rsplit("/", 1)[-1]
        form = _ATTRIBUTES.get((kind, attribute))
        if form is None:
            raise OurError(f"the local stack does not know the attribute {attribute} of a {kind} ({logical})")
        return form.format(id=physical, bare=bare, region=REGION, account=self._account)

    def _sub(self, argument: Any) -> str:
        text, extra = (argument, {}) if isinstance(argument, str) else argument
        given = self.value(extra)

        def replace(match: re.Match[str]) -> str:
            name = match.group(1)
            if name.startswith("!"):
                return f"${{{name[1:]}}}"
            if name in given:
                return str(given[name])
            logical, dot, attribute = name.partition(".")
            return self._attribute(logical, attribute) if dot else str(self._ref(name))

        return re.sub(r"\$\{([^}]+)\}", replace, text)

    def settle_conditions(self) -> None:
        """Replace the expression of each condition in the template by its truth value.

        MiniStack knows only some functions there: without any error, a `Fn::Join` never equals anything.
        """
        conditions = self._template.get("Conditions", {})
        truths = {name: self._condition(name) for name in conditions}
        conditions |= {name: {"Fn::Equals": ["yes", "yes" if truth else "no"]} for name, truth in truths.items()}

    def _condition(self, node: Any) -> bool:
        if isinstance(node, str):
            return self._condition(self._template["Conditions"][node])
        ((name, argument),) = node.items()
        if name == "Condition":
            return self._condition(argument)
        if name == "Fn::Equals":
            left, right = map(self.value, argument)
            return bool(left == right)
        parts = [self._condition(part) for part in argument]
        if name == "Fn::Not":
            return not parts[0]
        if name == "Fn::And":
            return all(parts)
        if name == "Fn::Or":
            return any(parts)
        raise OurError(f"the local stack does not know the condition {name}")


_ATTRIBUTES = {
    ("AWS::Lambda::Function", "Arn"): "arn:aws:lambda:{region}:{account}:function:{id}",
    ("AWS::SQS::Queue", "Arn"): "arn:aws:sqs:{region}:{account}:{bare}",
    ("AWS::SQS::Queue", "QueueName"): "{bare}",
    ("AWS::SQS::Queue", "QueueUrl"): "{id}",
    ("AWS::DynamoDB::Table", "Arn"): "arn:aws:dynamodb:{region}:{account}:table/{id}",
    ("AWS::S3::Bucket", "Arn"): "arn:aws:s3:::{id}",
    ("AWS::IAM::Role", "Arn"): "arn:aws:iam::{account}:role/{id}",
    ("AWS::Logs::LogGroup", "Arn"): "arn:aws:logs:{region}:{account}:log-group:{id}:*",
    ("AWS::SNS::Topic", "TopicArn"): "{id}",
    ("AWS::SNS::Topic", "TopicName"): "{bare}",
    ("AWS::SecretsManager::Secret", "Id"): "{id}",
    ("AWS::CloudWatch::Alarm", "Arn"): "arn:aws:cloudwatch:{region}:{account}:alarm:{id}",
    ("AWS::Events::Rule", "Arn"): "arn:aws:events:{region}:{account}:rule/{id}",
    ("AWS::KMS::Key", "Arn"): "arn:aws:kms:{region}:{account}:key/{id}",
    ("AWS::ApiGatewayV2::Api", "ApiId"): "{id}",
}
"""(type, attribute) → its form from the physical id; `bare` is the part after the id's last slash."""
