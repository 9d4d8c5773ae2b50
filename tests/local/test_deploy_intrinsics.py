import pytest

from postroom.core.errors import OurError
from postroom.local.intrinsics import Evaluator

TEMPLATE = {
    "Parameters": {
        "Name": {"Type": "String", "Default": "x"},
        "Number": {"Type": "Number", "Default": 5},
        "List": {"Type": "CommaDelimitedList", "Default": "a, b"},
        "Empty": {"Type": "CommaDelimitedList", "Default": ""},
    },
    "Mappings": {"M": {"k": {"v": 7}}},
    "Conditions": {
        "Yes": {"Fn::Equals": [{"Ref": "Name"}, "x"]},
        "No": {"Fn::Not": [{"Condition": "Yes"}]},
        "Both": {"Fn::And": [{"Condition": "Yes"}, {"Condition": "No"}]},
        "Either": {"Fn::Or": [{"Condition": "Yes"}, {"Condition": "No"}]},
        "HasNone": {"Fn::Equals": [{"Fn::Join": ["", {"Ref": "Empty"}]}, ""]},
    },
    "Resources": {
        "F": {"Type": "AWS::Lambda::Function"},
        "Q": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": {"Ref": "Name"}}},
        "Absent": {"Type": "AWS::SQS::Queue", "Condition": "No"},
    },
}


def evaluator(**parameters: str) -> Evaluator:
    template = {**TEMPLATE, "Conditions": dict(TEMPLATE["Conditions"])}
    physical = {"F": "fn", "Q": "http://127.0.0.1:1/111111111111/qq"}
    return Evaluator(template, parameters, physical, "111111111111", "st")


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ({"Ref": "Name"}, "x"),
        ({"Ref": "Number"}, "5"),
        ({"Ref": "List"}, ["a", "b"]),
        ({"Ref": "F"}, "fn"),
        ({"Ref": "AWS::StackName"}, "st"),
        ({"Fn::GetAtt": ["F", "Arn"]}, "arn:aws:lambda:us-east-1:111111111111:function:fn"),
        ({"Fn::GetAtt": "Q.Arn"}, "arn:aws:sqs:us-east-1:111111111111:qq"),
        ({"Fn::GetAtt": ["Q", "QueueName"]}, "qq"),
        ({"Fn::Sub": "${Name}-${F.Arn}-${!kept}"}, "x-arn:aws:lambda:us-east-1:111111111111:function:fn-${kept}"),
        ({"Fn::Sub": ["${a}/${Name}", {"a": {"Ref": "F"}}]}, "fn/x"),
        ({"Fn::Join": ["-", ["a", {"Ref": "Name"}]]}, "a-x"),
        ({"Fn::Select": [1, {"Fn::Split": [",", "p,q"]}]}, "q"),
        ({"Fn::FindInMap": ["M", "k", "v"]}, 7),
        ({"Fn::If": ["Yes", 1, 2]}, 1),
        ({"Fn::If": ["No", 1, 2]}, 2),
        ({"Fn::If": ["Both", 1, 2]}, 2),
        ({"Fn::If": ["Either", 1, 2]}, 1),
        ({"Fn::If": ["HasNone", 1, 2]}, 1),
        ({"a": [1, {"Fn::If": ["No", 1, {"Ref": "AWS::NoValue"}]}], "b": {"Ref": "AWS::NoValue"}}, {"a": [1]}),
    ],
)
def test_an_expression_stands_for_its_value(expression, value) -> None:
    assert evaluator().value(expression) == value


def test_a_parameter_that_is_given_goes_before_its_default() -> None:
    assert evaluator(Name="y").value({"Fn::If": ["Yes", {"Ref": "Name"}, "other"]}) == "other"


def test_a_resource_whose_condition_fails_is_not_among_the_resources() -> None:
    assert [(r.logical, r.properties) for r in evaluator().resources()] == [("F", {}), ("Q", {"QueueName": "x"})]


@pytest.mark.parametrize(
    ("expression", "named"),
    [
        ({"Fn::Base64": "x"}, "Fn::Base64"),
        ({"Ref": "Nobody"}, "Nobody"),
        ({"Fn::GetAtt": ["F", "Colour"]}, "Colour"),
        ({"Fn::If": [{"Fn::Contains": []}, 1, 2]}, "Fn::Contains"),
    ],
)
def test_an_unknown_expression_is_named(expression, named: str) -> None:
    with pytest.raises(OurError, match=named):
        evaluator().value(expression)


def test_conditions_are_settled_before_the_emulator_sees_them() -> None:
    it = evaluator()
    it.settle_conditions()
    truths = {name: args["Fn::Equals"][0] == args["Fn::Equals"][1] for name, args in it._template["Conditions"].items()}
    assert truths == {"Yes": True, "No": False, "Both": False, "Either": True, "HasNone": True}
