"""Nested stacks, as the local stack makes them part of the template that names them."""

from pathlib import Path
from typing import Any

import pytest

from postroom.core.errors import OurError, SettingsError
from postroom.local.template import inline

Json = dict[str, Any]

NIGHT: Json = {
    "AWSTemplateFormatVersion": "2010-09-09",
    "Description": "A job.",
    "Parameters": {"Name": {"Type": "String"}, "Queue": {"Type": "String"}, "Days": {"Type": "Number"}},
    "Resources": {
        "Job": {
            "Type": "AWS::Glue::Job",
            "Properties": {
                "Name": {"Fn::Sub": "${Name}-${Days}-${Queue}-${Role.Arn}-${AWS::Region}-${!Name}"},
                "Role": {"Fn::GetAtt": ["Role", "Arn"]},
                "Command": {"ScriptLocation": "night.py"},
                "DefaultArguments": {"--QUEUE": {"Ref": "Queue"}, "--NAME": [{"Ref": "Name"}]},
            },
        },
        "Role": {"Type": "AWS::IAM::Role"},
    },
    "Outputs": {"Job": {"Value": {"Ref": "Job"}}, "Role": {"Value": {"Fn::GetAtt": "Role.Arn"}}},
}
ALARMS: Json = {
    "Parameters": {"Job": {"Type": "String"}},
    "Resources": {"Page": {"Type": "AWS::CloudWatch::Dashboard", "Properties": {"Body": {"Fn::Sub": "shows ${Job}"}}}},
}


def stack(template: str, **parameters: object) -> Json:
    return {"Type": "AWS::CloudFormation::Stack", "Properties": {"TemplateURL": template, "Parameters": parameters}}


def root(**resources: Json) -> Json:
    given = {"Name": {"Ref": "AWS::StackName"}, "Queue": {"Fn::GetAtt": ["Queue", "QueueName"]}, "Days": "30"}
    night = stack("jobs/night.yaml", **given)
    return {"Resources": {"Queue": {"Type": "AWS::SQS::Queue"}, **resources, "Night": night}}


def inlined(template: Json, night: Json = NIGHT) -> Json:
    files = {Path("here/jobs/night.yaml"): night, Path("here/alarms.yaml"): ALARMS}
    return inline(template, Path("here"), files.__getitem__)


def test_the_resources_of_a_nested_stack_replace_it() -> None:
    assert list(inlined(root())["Resources"]) == ["Queue", "Job", "Role"]


def test_a_parameter_is_what_it_is_given_in_references_and_in_texts() -> None:
    properties = inlined(root())["Resources"]["Job"]["Properties"]
    assert properties["DefaultArguments"] == {
        "--QUEUE": {"Fn::GetAtt": ["Queue", "QueueName"]},
        "--NAME": [{"Ref": "AWS::StackName"}],
    }
    assert properties["Name"] == {
        "Fn::Sub": "${AWS::StackName}-30-${Queue.QueueName}-${Role.Arn}-${AWS::Region}-${!Name}"
    }
    assert properties["Role"] == {"Fn::GetAtt": ["Role", "Arn"]}


def test_an_output_of_a_nested_stack_is_resolved_in_the_outputs_of_the_whole() -> None:
    values = [{"Fn::GetAtt": "Night.Outputs.Job"}, {"Fn::GetAtt": ["Night", "Outputs.Role"]}]
    text = {"Fn::Sub": "job ${Night.Outputs.Job}, role ${Night.Outputs.Role}"}
    outputs = {"A": {"Value": values}, "B": {"Value": text}}
    assert inlined({**root(), "Outputs": outputs})["Outputs"] == {
        "A": {"Value": [{"Ref": "Job"}, {"Fn::GetAtt": "Role.Arn"}]},
        "B": {"Value": {"Fn::Sub": "job ${Job}, role ${Role.Arn}"}},
    }


def test_an_output_may_be_given_to_another_nested_stack() -> None:
    """In whichever order the template has them."""
    alarms = stack("alarms.yaml", Job={"Fn::GetAtt": ["Night", "Outputs.Job"]})
    page = inlined(root(Alarms=alarms))["Resources"]["Page"]
    assert page["Properties"]["Body"] == {"Fn::Sub": "shows ${Job}"}


def test_the_templates_that_were_read_are_unchanged() -> None:
    assert inlined(root()) == inlined(root())


def test_a_nested_stack_with_a_condition_stays_nested() -> None:
    hosts = {**stack("hosts.yaml", Job="x"), "Condition": "HasDomain"}
    assert inlined(root(Hosts=hosts))["Resources"]["Hosts"] == hosts


@pytest.mark.parametrize(
    ("nested", "said"),
    [
        ({**NIGHT, "Conditions": {}}, "Conditions in a nested stack"),
        ({**NIGHT, "Parameters": {"Name": {"Type": "String"}}}, "other parameters than it has: Days, Queue"),
        ({**NIGHT, "Resources": {"Queue": {"Type": "AWS::SQS::Queue"}}}, "has a resource Queue, and so has another"),
        (
            {**NIGHT, "Resources": {"Any": {"Type": "AWS::SQS::Queue", "Name": {"Fn::Sub": "${AWS::StackName}-x"}}}},
            "asks for AWS::StackName",
        ),
    ],
)
def test_a_template_that_would_change_its_meaning_is_refused(nested: Json, said: str) -> None:
    with pytest.raises(OurError, match=said):
        inlined(root(), nested)


def test_an_expression_is_put_into_no_text() -> None:
    template = root()
    template["Resources"]["Night"]["Properties"]["Parameters"]["Name"] = {"Fn::Join": ["", ["a", "b"]]}
    with pytest.raises(OurError, match="is put into a text"):
        inlined(template)


def test_a_nested_template_that_is_not_one_is_refused(tmp_path: Path) -> None:
    (tmp_path / "night.yaml").write_text("just: text\n")
    with pytest.raises(SettingsError, match=r"night\.yaml is not a SAM template"):
        inline({"Resources": {"Night": stack("night.yaml")}}, tmp_path)
