"""template.yaml: alarms, dashboard, the hosts of a domain, and the architecture of the functions."""

import json
import re
from collections import Counter
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from tests.aws import HOSTS, TEMPLATE, read, resources, template
from tests.functions.stack import ACCOUNT
from tests.functions.test_metrics import DOCUMENT
from tests.test_template import evaluator, of_type

from postroom.local.intrinsics import Evaluator
from postroom.pipeline.dead_letters import LOOKED_AT_SECONDS
from postroom.pipeline.silent_zones import MAX_WAITING
from postroom.protocols.nlweb.schema import NLWEB, POLLYWEB

Json = dict[str, Any]

ALARMS = resources("AWS::CloudWatch::Alarm")


STACK = "AWS::StackName"
"""The namespace of our own metrics, so that two stacks do not share metrics."""
SERVICES = ("inbox", "dm3", "mailbox", "worker", "waiting", "dead-letters", "courier", "feedback")


def metrics_of(alarm: Json) -> list[Json]:
    """Each metric that an alarm watches: Namespace, MetricName, Dimensions."""
    if "Metrics" not in alarm:
        return [alarm]
    return [part["MetricStat"]["Metric"] for part in alarm["Metrics"] if "MetricStat" in part]


# --- alarms -----------------------------------------------------------------------------------------------------------


def test_every_alarm_goes_to_the_one_topic() -> None:
    assert list(resources("AWS::SNS::Topic")) == ["AlarmTopic"]
    assert [name for name, said in ALARMS.items() if said["AlarmActions"] != [{"Ref": "AlarmTopic"}]] == []


@pytest.mark.parametrize("alarm", ALARMS)
def test_an_alarm_is_named_after_the_stack_and_its_problem(alarm: str) -> None:
    """Emails and `postroom admin status` show this name; nobody knows the name of the nested stack."""
    assert ALARMS[alarm]["AlarmName"] == {"Fn::Sub": f"${{{STACK}}}-{alarm}"}


def test_cloudwatch_of_this_account_may_write_to_the_topic() -> None:
    [policy] = resources("AWS::SNS::TopicPolicy").values()
    allowed = {
        said["Principal"]["Service"]: said
        for said in policy["PolicyDocument"]["Statement"]
        if said["Effect"] == "Allow"
    }
    assert set(allowed) == {"cloudwatch.amazonaws.com", "events.amazonaws.com"}
    assert all(said["Action"] == "sns:Publish" for said in allowed.values())
    only = evaluator().value(allowed["cloudwatch.amazonaws.com"]["Condition"])
    assert only == {"StringEquals": {"aws:SourceAccount": ACCOUNT}}


@pytest.mark.parametrize(
    ("address", "subscribed"), [("", None), ("a@b.example", [{"Protocol": "email", "Endpoint": "a@b.example"}])]
)
def test_a_given_address_is_subscribed(address: str, subscribed: list[Json] | None) -> None:
    said = evaluator(AlarmEmail=address).value(of_type("AWS::SNS::Topic")["AlarmTopic"]["Properties"])
    assert said.get("Subscription") == subscribed


ALARMED = (
    ("5xx of the HTTP API", "AWS/ApiGateway", "5xx", "Api"),
    ("the age of the oldest claim", "AWS/SQS", "ApproximateAgeOfOldestMessage", "ClaimsQueue.QueueName"),
    ("the age of the oldest Feedback", "AWS/SQS", "ApproximateAgeOfOldestMessage", "FeedbackQueue.QueueName"),
    ("waiting claims, hidden", "AWS/SQS", "ApproximateNumberOfMessagesNotVisible", "WaitingQueue.QueueName"),
    ("waiting claims, visible", "AWS/SQS", "ApproximateNumberOfMessagesVisible", "WaitingQueue.QueueName"),
    ("dead letters", "AWS/SQS", "ApproximateNumberOfMessagesVisible", "DeadLetterQueue.QueueName"),
    ("the courier's dead letters", "AWS/SQS", "ApproximateNumberOfMessagesVisible", "CourierDeadLetterQueue.QueueName"),
    ("suspects", STACK, "Suspected", "worker"),
    ("Feedback given up", STACK, "FeedbackGivenUp", "feedback"),
    ("messages of owners given up", STACK, "OutboxGivenUp", "courier"),
    ("the same among dead letters", STACK, "OutboxGivenUp", "dead-letters"),
    *((f"{name} that fails", "AWS/Lambda", "Errors", name) for name in resources("AWS::Serverless::Function")),
    *((f"{name} that may not, or cannot", STACK, "OwnFault", name) for name in SERVICES),
    *((f"{name} that is throttled", STACK, "QuotaExhausted", name) for name in SERVICES),
    ("an endpoint of the chain that fails", STACK, "EndpointFailed", "dm3"),
    ("an endpoint of the chain that disagrees", STACK, "EndpointDisagreed", "dm3"),
    ("the inbox throttled", "AWS/Lambda", "Throttles", "InboxFunction"),
    ("the dm3 inbox throttled", "AWS/Lambda", "Throttles", "Dm3Function"),
    ("the mailbox API throttled", "AWS/Lambda", "Throttles", "MailboxFunction"),
    ("DCP throttled", "AWS/Lambda", "Throttles", "DcpFunction"),
)
"""The problem, and its metric: namespace, name, dimension."""


def test_there_is_one_alarm_for_each_problem() -> None:
    found = Counter(
        (_said(one["Namespace"]), one["MetricName"], *(_said(dimension["Value"]) for dimension in one["Dimensions"]))
        for alarm in ALARMS.values()
        for one in metrics_of(alarm)
    )
    alarms = {what: found[namespace, metric, of] for what, namespace, metric, of in ALARMED}
    assert alarms == dict.fromkeys(alarms, 1)


def _said(value: object) -> str:
    return value if isinstance(value, str) else str(next(iter(value.values())))  # type: ignore[attr-defined]


@pytest.mark.parametrize("alarm", [name for name, said in ALARMS.items() if "Metrics" in said])
def test_an_alarm_on_several_metrics_watches_their_sum(alarm: str) -> None:
    said = ALARMS[alarm]["Metrics"]
    [sum_of_all] = [part for part in said if "Expression" in part]
    expression = sum_of_all["Expression"]
    text = expression if isinstance(expression, str) else expression["Fn::Sub"]
    ids = {part["Id"] for part in said if "MetricStat" in part}
    assert set(re.findall(r"\b[a-z][a-z0-9_]*\b", re.sub(r"\$\{\w+\}", "", text))) == ids
    assert all(part["ReturnData"] is False for part in said if "MetricStat" in part)
    assert sum_of_all.get("ReturnData", True)


@pytest.mark.parametrize("alarm", ["DeadLettersAlarm", "CourierDeadLettersAlarm"])
def test_a_dead_letter_raises_one_alarm_although_the_handler_receives_it_in_every_round(alarm: str) -> None:
    """While the handler looks at it, it is invisible, and SQS does not count it."""
    [round_] = resources("AWS::Serverless::Function")["DeadLetterFunction"]["Events"].values()
    assert round_["Properties"]["ScheduleExpression"] == f"rate({ALARMS[alarm]['Period'] // 60} minutes)"
    assert ALARMS[alarm]["Period"] > 2 * LOOKED_AT_SECONDS
    assert ALARMS[alarm]["Statistic"] == "Maximum"


def test_an_operator_hears_of_waiting_claims_before_the_inbox_refuses_any() -> None:
    assert ALARMS["WaitingAlarm"]["Threshold"] == MAX_WAITING // 2
    assert f"{MAX_WAITING // 2:,}" in ALARMS["WaitingAlarm"]["AlarmDescription"]
    assert f"{MAX_WAITING:,}" in ALARMS["WaitingAlarm"]["AlarmDescription"]


def test_alarms_watch_metrics_that_we_write() -> None:
    ours = {
        (one["MetricName"], one["Dimensions"][0]["Value"])
        for alarm in ALARMS.values()
        for one in metrics_of(alarm)
        if _said(one["Namespace"]) == STACK
    }
    assert len(ours) >= 6
    for metric, service in ours:
        [row] = [line for line in DOCUMENT.splitlines() if line.startswith("| ") and f"`{metric}`" in line]
        assert service in row.split("|")[2]


# --- dashboard --------------------------------------------------------------------------------------------------------


def dashboard() -> Json:
    [said] = resources("AWS::CloudWatch::Dashboard").values()
    body: Json = json.loads(re.sub(r"\$\{([^}]+)\}", r"\1", said["DashboardBody"]["Fn::Sub"]))
    return body


def test_the_dashboard_shows_every_alarm() -> None:
    [alarms] = [widget for widget in dashboard()["widgets"] if widget["type"] == "alarm"]
    assert set(alarms["properties"]["alarms"]) == {f"{name}.Arn" for name in ALARMS}


def test_the_dashboard_names_existing_resources() -> None:
    [said] = resources("AWS::CloudWatch::Dashboard").values()
    names = {name.partition(".")[0] for name in re.findall(r"\$\{([^}]+)\}", said["DashboardBody"]["Fn::Sub"])}
    assert names <= set(template()["Resources"]) | {"AWS::Region", "AWS::StackName"}


def test_the_dashboard_shows_metrics_that_we_write_and_widgets_that_do_not_overlap() -> None:
    taken: set[tuple[int, int]] = set()
    for widget in dashboard()["widgets"]:
        area = {
            (x, y)
            for x in range(widget["x"], widget["x"] + widget["width"])
            for y in range(widget["y"], widget["y"] + widget["height"])
        }
        assert not area & taken
        assert all(x < 24 for x, _ in area)
        taken |= area
        shown, namespace = widget["properties"].get("metrics", []), ""
        for row in shown:
            namespace = row[0] if row[0] not in (".", "...") else namespace
            if namespace == STACK:
                assert f"`{row[1]}`" in DOCUMENT, row


# --- hosts ------------------------------------------------------------------------------------------------------------


def hosts(**parameters: str) -> dict[str, Json]:
    """The evaluated resources of a domain's hosts, by name. `parameters`: in addition to ApiId and DomainName."""
    document = deepcopy(read(HOSTS))
    given = {"ApiId": "a1b2c3", "DomainName": "receiver.example", **parameters}
    names = {name: name for name in document["Resources"]}
    physical = {**names, "NlwebHost": "nlweb.receiver.example", "PwHost": "pw.receiver.example"}
    for resource in document["Resources"].values():
        alias = resource["Properties"].get("AliasTarget", {})
        # Attributes that API Gateway returns are not evaluated, but named.
        resource["Properties"] |= {"AliasTarget": {k: _named(v) for k, v in alias.items()}} if alias else {}
    found = Evaluator(document, given, physical, ACCOUNT, "postroom").resources()
    return {one.logical: {"kind": one.type, **one.properties} for one in found}


def _named(value: object) -> object:
    return value["Fn::GetAtt"] if isinstance(value, dict) and "Fn::GetAtt" in value else value


ZONE = {"HostedZoneId": "Z1"}
CERTIFICATE = {"CertificateArn": "arn:aws:acm:eu-west-1:123456789012:certificate/1"}


@pytest.mark.parametrize("given", [ZONE, CERTIFICATE, ZONE | CERTIFICATE])
def test_a_domain_is_served_at_the_hosts_that_the_protocols_fix(given: dict[str, str]) -> None:
    made = hosts(**given)
    served = [said for said in made.values() if said["kind"] == "AWS::ApiGatewayV2::DomainName"]
    assert {said["DomainName"] for said in served} == {
        NLWEB.host("receiver.example"),
        POLLYWEB.host("receiver.example"),
    }
    for said in served:
        [configuration] = said["DomainNameConfigurations"]
        assert configuration["SecurityPolicy"] == "TLS_1_2"
        assert configuration["CertificateArn"] == given.get("CertificateArn", "Certificate")
    mappings = [said for said in made.values() if said["kind"] == "AWS::ApiGatewayV2::ApiMapping"]
    assert {(said["DomainName"], said["ApiId"], said["Stage"]) for said in mappings} == {
        (said["DomainName"], "a1b2c3", "$default") for said in served
    }


def test_with_a_hosted_zone_both_hosts_have_a_and_aaaa_records() -> None:
    records = [said for said in hosts(**ZONE).values() if said["kind"] == "AWS::Route53::RecordSet"]
    expected = {
        (f"{short.lower()}.receiver.example", kind, f"{short}Host.RegionalDomainName", "Z1")
        for short in ("Nlweb", "Pw")
        for kind in ("A", "AAAA")
    }
    found = [(said["Name"], said["Type"], said["AliasTarget"]["DNSName"], said["HostedZoneId"]) for said in records]
    assert (len(found), set(found)) == (4, expected)


def test_without_a_hosted_zone_the_outputs_have_the_records_to_create() -> None:
    assert not [said for said in hosts(**CERTIFICATE).values() if said["kind"] == "AWS::Route53::RecordSet"]
    assert read(HOSTS)["Outputs"]["NlwebRecord"]["Value"]["Fn::Sub"] == (
        "nlweb.${DomainName}. CNAME ${NlwebHost.RegionalDomainName}."
    )
    shown = template()["Outputs"]["Hosts"]
    assert shown["Condition"] == "HasDomain"
    assert {"Hosts.Outputs.NlwebRecord", "Hosts.Outputs.PwRecord"} == set(
        re.findall(r"\{([^}]+)\}", shown["Value"]["Fn::Sub"])
    )


def test_a_missing_certificate_is_created_and_validated_in_the_zone() -> None:
    made = hosts(**ZONE)["Certificate"]
    names = [made["DomainName"], *made["SubjectAlternativeNames"]]
    assert names == [NLWEB.host("receiver.example"), POLLYWEB.host("receiver.example")]
    assert [(one["DomainName"], one["HostedZoneId"]) for one in made["DomainValidationOptions"]] == [
        (name, "Z1") for name in names
    ]
    assert "Certificate" not in hosts(**CERTIFICATE)


@pytest.mark.parametrize("path", [TEMPLATE, HOSTS])
def test_a_domain_without_certificate_and_zone_is_refused_before_the_deploy(path: Path) -> None:
    [rule] = read(path)["Rules"].values()
    [assertion] = rule["Assertions"]
    empty = [{"Fn::Equals": [{"Ref": name}, ""]} for name in ("CertificateArn", "HostedZoneId")]
    assert assertion["Assert"] == {"Fn::Not": [{"Fn::And": empty}]}
    assert "CertificateArn" in assertion["AssertDescription"]


@pytest.mark.parametrize("path", [TEMPLATE, HOSTS])
@pytest.mark.parametrize(
    ("name", "taken"),
    [
        ("example.com", True), ("mail.example.co.uk", True), ("xn--bcher-kva.example", True), ("a-1.example", True),
        ("Example.com", False), ("example.com.", False), ("https://example.com", False), (".com", False),
        ("a_b.example", False), ("exa mple.com", False), ("", False),
    ],
)  # fmt: skip
def test_a_domain_is_given_in_its_dns_form(path: Path, name: str, taken: bool) -> None:
    said = read(path)["Parameters"]["DomainName"]
    # Empty: the template of the post office creates no hosts.
    taken = taken or (name == "" and path == TEMPLATE)
    assert bool(re.fullmatch(said["AllowedPattern"], name)) == taken


def test_without_a_domain_no_host_is_created() -> None:
    assert template()["Parameters"]["DomainName"]["Default"] == ""
    assert template()["Resources"]["Hosts"]["Condition"] == "HasDomain"
    parameters = read(HOSTS)["Parameters"]
    assert set(template()["Resources"]["Hosts"]["Properties"]["Parameters"]) == set(parameters)


# --- architecture -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("architecture", "layer"), [("x86_64", "X8664Layer"), ("arm64", "Arm64Layer")])
def test_functions_run_on_the_chosen_architecture_with_its_layer(architecture: str, layer: str) -> None:
    worked_out = evaluator(Architecture=architecture)
    there = {one.logical for one in worked_out.resources() if one.type == "AWS::Lambda::LayerVersion"}
    assert [name.startswith(layer) for name in there] == [True]
    for said in of_type("AWS::Lambda::Function").values():
        properties = worked_out.value(said["Properties"])
        assert (properties["Architectures"], set(properties["Layers"])) == ([architecture], there)
