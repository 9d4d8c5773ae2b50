"""SAM templates as they are written, and nested stacks merged into the template that names them."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

import yaml
from samtranslator.yaml_helper import intrinsics_multi_constructor

from postroom.core.errors import OurError, SettingsError

Template = dict[str, Any]
"""A CloudFormation template: JSON objects, arrays and scalars, as AWS documents them."""

_INLINED = {"AWSTemplateFormatVersion", "Description", "Parameters", "Resources", "Outputs"}
_OF_THE_STACK = re.compile(r"AWS::Stack(Name|Id)")
_REFERENCE = re.compile(r"\$\{([\w.:]+)\}")


# PyYAML has the fast one only if it was built with libyaml.
class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Reads `!Ref` and similar tags as SAM's own `yaml_parse` does, with libyaml in a tenth of its time."""


_Loader.add_multi_constructor("!", intrinsics_multi_constructor)


def read(path: Path) -> Template:
    """Return the SAM template as it is written; raises SettingsError if it is not a template."""
    document = yaml.load(path.read_text(encoding="utf-8"), _Loader)  # noqa: S506 - it is a safe one
    if not isinstance(document, dict) or "Resources" not in document:
        raise SettingsError(f"{path} is not a SAM template: it has no Resources")
    return cast("Template", document)


def inline(template: Template, folder: Path, read: Callable[[Path], Template] = read) -> Template:
    """Return the template with the resources of its nested stacks in their place, under their own logical ids.

    The embedded AWS creates no nested stacks. A parameter is replaced by its value, an output by its expression, and a
    job's script is found from `folder`, where the template is. A nested stack with a condition is not changed: it
    contains the hosts of a domain, which the HTTPS server of the local stack serves. Raises OurError for a nested
    template that would mean something else here.
    """
    resources, outputs = {}, {}
    for name, resource in template["Resources"].items():
        if resource["Type"] != "AWS::CloudFormation::Stack" or "Condition" in resource:
            resources[name] = resource
            continue
        path = folder / resource["Properties"]["TemplateURL"]
        nested = read(path)
        given = resource["Properties"].get("Parameters", {})
        _require_the_same(nested, given, path)
        for logical, said in nested["Resources"].items():
            if logical in template["Resources"] or logical in resources:
                raise OurError(f"{path} has a resource {logical}, and so has another template")
            resources[logical] = _replace(said, given)
        for output, said in nested.get("Outputs", {}).items():
            outputs[f"{name}.Outputs.{output}"] = _replace(said["Value"], given)
    whole = {**template, "Resources": resources}
    # A parameter of one nested stack may be an output of another.
    return cast("Template", _replace(whole, outputs))


def _require_the_same(nested: Template, given: Mapping[str, Any], path: Path) -> None:
    if unknown := nested.keys() - _INLINED:
        raise OurError(f"the local stack does not know {', '.join(sorted(unknown))} in a nested stack ({path})")
    if given.keys() != nested.get("Parameters", {}).keys():
        differ = sorted(given.keys() ^ nested.get("Parameters", {}).keys())
        raise OurError(f"{path} is given other parameters than it has: {', '.join(differ)}")
    if found := _OF_THE_STACK.search(str(nested["Resources"])):
        # A nested stack has a name of its own; here there is one stack.
        raise OurError(f"{path} asks for {found[0]}, which is not that of the template that names it")


def _replace(node: Any, by: Mapping[str, Any]) -> Any:
    """Return `node` with each Ref, Fn::GetAtt or `${…}` in Fn::Sub of a name in `by` replaced."""
    if isinstance(node, list):
        return [_replace(part, by) for part in node]
    if not isinstance(node, dict):
        return node
    if (name := _referred(node)) is not None and name in by:
        return by[name]
    if len(node) == 1 and isinstance(text := node.get("Fn::Sub"), str):
        return {"Fn::Sub": _REFERENCE.sub(lambda found: _text(by, found), text)}
    return {key: _replace(value, by) for key, value in node.items()}


def _text(by: Mapping[str, Any], found: re.Match[str]) -> str:
    if found[1] not in by:
        return found[0]
    value = by[found[1]]
    name = _referred(value)
    if name is None and not isinstance(value, str):
        raise OurError(f"the local stack does not know how {value} is put into a text of a nested stack")
    return f"${{{name}}}" if name else str(value)


def _referred(node: object) -> str | None:
    """Return the name in a Ref or Fn::GetAtt, in the form of Fn::Sub; None: it is neither."""
    match node:
        case {"Ref": str(name)} | {"Fn::GetAtt": str(name)}:
            return name
        case {"Fn::GetAtt": [str(logical), str(attribute)]}:
            return f"{logical}.{attribute}"
    return None
