"""`postroom admin status`: what a fresh deployment lacks, what is bad at an older one, and what cannot be found out."""

import io
import json
import re
import shlex
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError, EndpointConnectionError
from botocore.stub import Stubber
from moto import mock_aws
from tests.aws import resources, template
from tests.cli.conftest import FakeDns, Postroom

from postroom.cli.admin import operation_checks, setup_checks
from postroom.cli.admin.aws_requests import ask
from postroom.cli.admin.findings import (
    Alarm,
    EventSource,
    Function,
    Held,
    Libraries,
    NamedDeployment,
    QueueLoad,
    RecentMail,
    Served,
    Stack,
    Subscription,
    Unseen,
    ago,
)
from postroom.cli.admin.mail_metrics import MailMetrics, QueueMetrics
from postroom.cli.admin.setup_checks import Stored
from postroom.cli.library import is_packed, packed, published
from postroom.cli.up import describe_stack
from postroom.core.errors import NotNowError
from postroom.core.reasons import OUTBOUND_FAILED, STORE_UNAVAILABLE
from postroom.core.settings import missing_output
from postroom.crypto.reasons import KEY_RECORD_INVALID, KEY_UNUSABLE
from postroom.crypto.rsa_ed25519 import PrivateKey
from postroom.doctor.checks import DoctorCheck, bad, good, not_found_out, skipped
from postroom.doctor.keys import KeyFound
from postroom.jobs.library import WHEELS
from postroom.local.checkout import template_path
from postroom.local.clients import REGION
from postroom.local.stack import LocalDeployment, LocalStack
from postroom.protocols.dm3.service import ServiceKeys
from postroom.protocols.nlweb.reasons import KEY_LOOKUP_FAILED, KEY_NOT_FOUND
from postroom.protocols.nlweb.schema import NLWEB, POLLYWEB
from postroom.protocols.nlweb.subjects import SubjectRule, Treatment
from postroom.storage.directory.domains import Domain

pytestmark = pytest.mark.xdist_group("cli-admin")

DAY = 86_400
NOW = 1_800_000_000
SHOP = "shop.example"
LIBRARY = "postroom-0.1.0.zip"
SCRIPTS = ("compact_chunks-0.1.0.py", "expire_messages-0.1.0.py")
RECORDS_OF_KEYS = [f"key record of {SHOP} for {authority}" for authority in ("nlweb.org", "pollyweb.org")]
MESSAGES = [f"messages in {queue}" for queue in operation_checks.SOURCES]
Json = dict[str, Any]
Checks = dict[str, dict[str, str | None]]
Ask = Callable[..., tuple[int, Checks]]


@dataclass(frozen=True)
class TwoDeployments:
    """A local stack with a deployment that is as it was deployed, and one that has all it needs."""

    stack: LocalStack
    complete: LocalDeployment
    folder: Path

    def client(self, service: str) -> Any:
        """Of the account of the one that has all it needs."""
        return self.complete.client(service)  # type: ignore[call-overload]

    def output(self, name: str) -> str:
        return self.complete.outputs[name]

    def aws(self, **more: str) -> dict[str, str]:
        """An environment in which its account is AWS."""
        return {
            "AWS_ENDPOINT_URL": self.stack.emulator.endpoint,
            "AWS_ACCESS_KEY_ID": self.complete.account,
            "AWS_SECRET_ACCESS_KEY": self.stack.emulator.secret,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_CONFIG_FILE": "/dev/null",
            "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
        } | more


@pytest.fixture(scope="module")
def deployments(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwoDeployments]:
    folder = tmp_path_factory.mktemp("deployments")
    with LocalStack(template_path()) as stack:
        stack.deploy("fresh")
        found = TwoDeployments(stack, stack.deploy("complete"), folder)
        describe_stack(stack).write(folder / "local.json")
        _fill(found)
        yield found


def _fill(deployments: TwoDeployments) -> None:
    """What an operator does after a deployment; that the commands which are shown do it, a test shows."""
    from postroom.cli.open_deployment import open_deployment

    opened = open_deployment(None, deployments.folder, "complete")
    opened.storage.signing_keys.put(SHOP, "pk1", PrivateKey.generate("ed25519"))
    opened.storage.operators.put_domain(Domain(SHOP, signs=True))
    opened.storage.operators.put_subject(SHOP, SubjectRule("Hello@Host", Treatment.MAILBOX, SHOP))
    for name, data in [*published(wheels=False), *((wheel, b"") for wheel in WHEELS)]:
        opened.storage.objects.replace(f"jobs/lib/{name}", data, "application/octet-stream")


@pytest.fixture
def status(postroom: Postroom, deployments: TwoDeployments) -> Ask:
    """The exit code, and the checks by name, of a look at a deployment of the local stack."""

    def status(name: str, *options: str, where: tuple[str, ...] | None = None) -> tuple[int, Checks]:
        place = where or ("--local", str(deployments.folder), "--deployment", name)
        result = postroom("admin", "status", "--json", *place, *options)
        printed = json.loads(result.stdout)
        assert printed["stack"] == name
        assert all(set(check) == {"name", "status", "found", "next"} for check in printed["checks"])
        assert all(check["next"] for check in printed["checks"] if check["status"] in ("warning", "bad"))
        assert not any(check["next"] for check in printed["checks"] if check["status"] == "good")
        statuses = {check["status"] for check in printed["checks"]}
        worst = next(one for one in ("bad", "not checked", "warning", "good") if one in statuses)
        assert printed["status"] == worst
        assert result.exit_code == {"bad": 1, "not checked": 3}.get(worst, 0)
        checks = {check["name"]: check for check in printed["checks"]}
        assert len(checks) == len(printed["checks"])
        return result.exit_code, checks

    return status


@pytest.fixture
def on_aws(deployments: TwoDeployments, monkeypatch: pytest.MonkeyPatch) -> TwoDeployments:
    """The account of the complete deployment passes for AWS."""
    for name, value in deployments.aws().items():
        monkeypatch.setenv(name, value)
    return deployments


def ill(checks: Checks, status: str = "bad") -> list[str]:
    return [name for name, check in checks.items() if check["status"] == status]


# --- a local stack -----------------------------------------------------------------------------------------------


def test_status_of_a_fresh_deployment_lists_what_is_missing(status: Ask, deployments: TwoDeployments) -> None:
    code, checks = status("fresh")
    assert (code, ill(checks), ill(checks, "warning")) == (1, ["domains"], ["jobs library"])
    assert checks["domains"]["next"] == (
        f"`postroom domain add your.domain --local {deployments.folder} --deployment fresh`"
    )
    assert list(checks) == [
        "stack", "outputs", "hosts", "domains", "signing keys", "delivery service keys", "token keys", "webhook keys",
        "DCP identities", "names", "DCP table", "DCP socket", "function InboxFunction",
        "function Dm3Function",
        "function WorkerFunction", "function WaitingFunction", "function MailboxFunction",
        "function DcpFunction", "function DeadLetterFunction", "function CourierFunction", "function FeedbackFunction",
        "queue ClaimsQueue", "queue RetryQueue", "queue SuspectsQueue", "queue LookUpsQueue",
        "queue WaitingQueue", "queue NamesQueue", "queue CourierQueue", "queue FeedbackQueue", "jobs library",
        "job compact",
        "job expire", "alarms", *MESSAGES, "mail", "queue DeadLetterQueue", "queue CourierDeadLetterQueue",
    ]  # fmt: skip


def test_following_its_suggestions_leads_to_a_complete_deployment(
    status: Ask, postroom: Postroom, deployments: TwoDeployments
) -> None:
    deployments.stack.deploy("pasted")
    describe_stack(deployments.stack).write(deployments.folder / "local.json")
    done = []
    while commands := [
        command
        for check in status("pasted")[1].values()
        for command in re.findall("`(postroom [^`]*)`", check["next"] or "")
    ]:
        assert len(done) < 9, done
        for command in commands:
            result = postroom(*shlex.split(command.replace("your.domain", SHOP))[1:])
            assert result.exit_code == 0, result.output
            done.append(" ".join(command.split()[1:3]))
    assert done == ["domain add", "jobs publish", "subject add", "keygen --domain", "domain add"]
    code, checks = status("pasted")
    assert (code, ill(checks, "good")) == (0, list(checks))
    assert checks[f"domain {SHOP}"]["found"] == "it accepts messages of 1 subject"
    doctor = f"`postroom doctor {SHOP} --selector pk1 --local {deployments.folder}`"
    assert (
        checks[f"key of {SHOP}"]["found"] == f"stored under the selector pk1; {doctor} checks the domain from outside"
    )
    assert checks["jobs library"]["found"] == f"{LIBRARY} is published"


def test_the_text_output_has_a_line_and_a_next_step_for_each_check(
    postroom: Postroom, deployments: TwoDeployments
) -> None:
    result = postroom("admin", "status", "--local", str(deployments.folder), "--deployment", "fresh")
    lines = result.stdout.splitlines()
    assert result.exit_code == 1
    assert lines[0].startswith("✓ stack: fresh is CREATE_COMPLETE, since 20")
    assert lines[3] == "✗ domains: none: no messages are accepted"
    assert lines[4].startswith("  → `postroom domain add your.domain --local ")
    assert (
        f"! jobs library: {LIBRARY} and 2 more objects are not published; `postroom jobs` does not need it, but Glue "
        "would" in lines
    )
    assert lines[-1] == "fresh: bad"


def test_a_function_with_no_concurrency_is_bad(status: Ask, deployments: TwoDeployments) -> None:
    client, inbox = deployments.client("lambda"), deployments.output("InboxFunction")
    client.put_function_concurrency(FunctionName=inbox, ReservedConcurrentExecutions=0)
    code, checks = status("complete")
    client.put_function_concurrency(FunctionName=inbox, ReservedConcurrentExecutions=200)
    assert (code, ill(checks)) == (1, ["function InboxFunction"])
    assert checks["function InboxFunction"]["next"] == (
        f"`aws lambda put-function-concurrency --function-name {inbox} --reserved-concurrent-executions 200`"
    )
    assert ill(status("complete")[1]) == []


def test_a_queue_without_an_active_event_source_is_bad(status: Ask, deployments: TwoDeployments) -> None:
    client = deployments.client("lambda")
    [source] = client.list_event_source_mappings(FunctionName=deployments.output("CourierFunction"))[
        "EventSourceMappings"
    ]
    client.update_event_source_mapping(UUID=source["UUID"], Enabled=False)
    code, checks = status("complete")
    client.update_event_source_mapping(UUID=source["UUID"], Enabled=True)
    assert (code, ill(checks)) == (1, ["queue CourierQueue"])
    assert source["UUID"] in str(checks["queue CourierQueue"]["next"])


@pytest.mark.parametrize("queue", list(operation_checks.DEAD_LETTERS))
def test_a_dead_letter_is_bad_and_is_not_removed(status: Ask, deployments: TwoDeployments, queue: str) -> None:
    sqs, url = deployments.client("sqs"), deployments.output(f"{queue}Url")
    sqs.send_message(QueueUrl=url, MessageBody="{}")
    codes = [status("complete") for _ in range(2)]
    sqs.purge_queue(QueueUrl=url)
    assert [(code, ill(checks)) for code, checks in codes] == [(1, [f"queue {queue}"])] * 2
    assert str(codes[0][1][f"queue {queue}"]["found"]).startswith("1 dead letter: ")


def test_the_last_run_of_a_job_is_shown(status: Ask, deployments: TwoDeployments) -> None:
    s3, bucket, name = deployments.client("s3"), deployments.output("Bucket"), "jobs/reports/compact/latest.json"
    assert str(status("complete")[1]["job compact"]["found"]).startswith("no run has completed yet")
    s3.put_object(Bucket=bucket, Key=name, Body=json.dumps({"began_ms": 1}).encode())
    printed = status("complete")[1]["job compact"]["found"]
    s3.put_object(Bucket=bucket, Key=name, Body=b"[]")
    unreadable = status("complete")[1]["job compact"]["found"]
    s3.delete_object(Bucket=bucket, Key=name)
    assert re.match(r"its last run began \d+ days ago; here, only `postroom jobs compact --local ", str(printed))
    assert str(unreadable).startswith("no run has completed yet")


@pytest.mark.parametrize(
    "text", ["no JSON, but s3cr3t", '["s3cr3t"]', '{"0": {"no text": "s3cr3t"}}', '{"s3cr3t": {"pem": "s3cr3t"}}']
)
def test_an_unreadable_secret_is_bad_and_is_not_shown(
    postroom: Postroom, status: Ask, deployments: TwoDeployments, text: str
) -> None:
    secrets = deployments.client("secretsmanager")
    names = (
        "SigningKeysSecret", "DeliveryServiceKeysSecret", "TokenKeysSecret", "WebhookKeysSecret", "DcpIdentitiesSecret",
        "ChainEndpointsSecret",
    )  # fmt: skip
    before = {name: secrets.get_secret_value(SecretId=deployments.output(name))["SecretString"] for name in names}
    for name in names:
        secrets.put_secret_value(SecretId=deployments.output(name), SecretString=text)
    code, checks = status("complete")
    shown = postroom("admin", "status", "--local", str(deployments.folder), "--deployment", "complete").output
    for name in names:
        secrets.put_secret_value(SecretId=deployments.output(name), SecretString=before[name])
    assert code == 1
    assert {
        "signing keys", "delivery service keys", "token keys", "webhook keys", "DCP identities", "names"
    } <= set(ill(checks))  # fmt: skip
    assert "s3cr3t" not in shown + json.dumps(checks)


def test_a_dcp_table_whose_rows_are_never_removed_is_bad(status: Ask, deployments: TwoDeployments) -> None:
    client, table = deployments.client("dynamodb"), deployments.output("DcpTable")
    found = []
    for enabled in (False, True):
        removal = {"Enabled": enabled, "AttributeName": "ttl"}
        client.update_time_to_live(TableName=table, TimeToLiveSpecification=removal)
        found.append(status("complete")[1])
    assert [ill(checks) for checks in found] == [["DCP table"], []]
    assert f"aws dynamodb update-time-to-live --table-name {table} " in str(found[0]["DCP table"]["next"])
    assert "postroom dcp identity rotate --local " in str(found[0]["DCP table"]["next"])


def test_a_dcp_socket_without_its_stage_is_bad(status: Ask, deployments: TwoDeployments, tmp_path: Path) -> None:
    printed = json.loads((deployments.folder / "local.json").read_text())
    outputs = printed["deployments"]["complete"]["outputs"]
    outputs["DcpSocketUrl"] = f"{outputs['DcpSocketUrl']}-2"
    (tmp_path / "local.json").write_text(json.dumps(printed))
    code, checks = status("complete", where=("--local", str(tmp_path), "--deployment", "complete"))
    assert (code, ill(checks)) == (1, ["DCP socket"])
    assert "has no stage dcp-2" in str(checks["DCP socket"]["found"])


def test_no_key_is_shown(postroom: Postroom, deployments: TwoDeployments) -> None:
    secrets = deployments.client("secretsmanager")
    texts = [
        json.loads(secrets.get_secret_value(SecretId=deployments.output(name))["SecretString"])
        for name in ("TokenKeysSecret", "WebhookKeysSecret", "DcpIdentitiesSecret")
    ]
    shown = postroom("admin", "status", "--local", str(deployments.folder), "--deployment", "complete").output
    assert "PRIVATE KEY" not in shown
    assert all(len(text) == 64 and text not in shown for secret in texts for text in secret.values())


def test_an_older_deployment_needs_a_new_deploy(status: Ask, deployments: TwoDeployments, tmp_path: Path) -> None:
    printed = json.loads((deployments.folder / "local.json").read_text())
    for name in ("TokenKeysSecret", "CourierDeadLetterQueueUrl", "DeadLetterFunction"):
        del printed["deployments"]["complete"]["outputs"][name]
    (tmp_path / "local.json").write_text(json.dumps(printed))
    code, checks = status("complete", where=("--local", str(tmp_path), "--deployment", "complete"))
    assert (code, ill(checks)) == (1, ["outputs"])
    assert str(checks["outputs"]["found"]).startswith(
        "missing: DeadLetterFunction, CourierDeadLetterQueueUrl, TokenKeysSecret;"
    )
    assert ill(checks, "not checked") == [
        "token keys", "function DeadLetterFunction", "mail", "queue CourierDeadLetterQueue"
    ]  # fmt: skip


def test_deleted_resources_are_bad(status: Ask, deployments: TwoDeployments, tmp_path: Path) -> None:
    printed = json.loads((deployments.folder / "local.json").read_text())
    outputs = printed["deployments"]["complete"]["outputs"]
    outputs |= {
        "DeadLetterFunction": "gone",
        "DeadLetterQueueUrl": outputs["DeadLetterQueueUrl"] + "-gone",
        "Bucket": "gone-9",
    }
    outputs["WebhookKeysSecret"] = outputs["DcpTable"] = "gone"
    outputs["DcpSocketUrl"] = "wss://gone.execute-api.example/dcp"
    (tmp_path / "local.json").write_text(json.dumps(printed))
    code, checks = status("complete", where=("--local", str(tmp_path), "--deployment", "complete"))
    assert code == 1
    assert ill(checks) == [
        "webhook keys", "DCP table", "DCP socket", "function DeadLetterFunction", "jobs library", "job compact",
        "job expire",
        "queue DeadLetterQueue",
    ]  # fmt: skip
    assert "does not exist any more" in str(checks["webhook keys"]["found"])


# --- a deployment on AWS -----------------------------------------------------------------------------------------


def test_on_aws_hosts_and_alarm_subscribers_are_required(
    status: Ask, on_aws: TwoDeployments, fake_dns: FakeDns
) -> None:
    where = ("--stack-name", "complete", *fake_dns.options)
    code, checks = status("complete", where=where)
    assert (code, ill(checks)) == (1, [f"host nlweb.{SHOP}", f"host pw.{SHOP}", RECORDS_OF_KEYS[0]])
    assert checks[f"host nlweb.{SHOP}"]["found"] == f"there is no host nlweb.{SHOP}"
    command = f"set DomainName={SHOP}, and HostedZoneId or CertificateArn in `sam deploy --guided`"
    assert str(checks[f"host nlweb.{SHOP}"]["next"]).startswith(command)
    assert ill(checks, "warning") == [RECORDS_OF_KEYS[1], "alarm topic"]
    topic = on_aws.output("AlarmTopic")
    assert f"`aws sns subscribe --topic-arn {topic} --protocol email " in str(checks["alarm topic"]["next"])
    sns = on_aws.client("sns")
    arn = sns.subscribe(TopicArn=topic, Protocol="email", Endpoint="op@shop.example")["SubscriptionArn"]
    _, checks = status("complete", where=where)
    sns.unsubscribe(SubscriptionArn=arn)
    assert checks["alarm topic"]["found"] == "subscribed: email op@shop.example"


def test_the_suggested_dns_record_is_the_missing_one(status: Ask, on_aws: TwoDeployments, fake_dns: FakeDns) -> None:
    where = ("--stack-name", "complete", *fake_dns.options)
    lines: list[str] = []
    try:
        for record, expected in zip(RECORDS_OF_KEYS, ("bad", "warning"), strict=True):
            check = status("complete", where=where)[1][record]
            assert check["status"] == expected
            lines += re.findall("publish only this TXT record there: (.*)", check["next"] or "")
            fake_dns.tree.put(SHOP, "\n".join(lines) + "\n")
            assert status("complete", where=where)[1][record]["status"] == "good"
    finally:
        # Others find it as it was: without hosts, without keys.
        fake_dns.tree.put(SHOP, "")


def test_hosts_without_dns_records_are_shown_with_the_records(
    status: Ask, on_aws: TwoDeployments, fake_dns: FakeDns
) -> None:
    # The stack of hosts is not made here: one that says the same of itself, and has some.
    records = f"nlweb.{SHOP}. CNAME d-1.example. pw.{SHOP}. CNAME d-2.example."
    outputs = {name: {"Value": value} for name, value in {**on_aws.complete.outputs, "Hosts": records}.items()}
    body = {"Resources": {"Any": {"Type": "AWS::SNS::Topic"}}, "Outputs": outputs}
    cloudformation = on_aws.client("cloudformation")
    cloudformation.create_stack(StackName="hosted", TemplateBody=json.dumps(body))
    cloudformation.get_waiter("stack_create_complete").wait(StackName="hosted", WaiterConfig={"Delay": 1})
    _, checks = status("hosted", "--resolver", fake_dns.resolver, where=("--stack-name", "hosted"))
    assert checks["hosts"]["found"] == f"the stack serves nlweb.{SHOP} and pw.{SHOP}"
    assert [name for name in checks if name.startswith("host ")] == [f"host nlweb.{SHOP}", f"host pw.{SHOP}"]
    assert checks[f"host pw.{SHOP}"]["next"] == (
        f"create this record in the zone of {SHOP}: pw.{SHOP}. CNAME d-2.example."
    )


def test_an_active_alarm_is_bad_and_named(status: Ask, on_aws: TwoDeployments, fake_dns: FakeDns) -> None:
    cloudwatch = on_aws.client("cloudwatch")
    alarms = cloudwatch.describe_alarms(AlarmNamePrefix="complete-DeadLettersAlarm")["MetricAlarms"]
    cloudwatch.set_alarm_state(AlarmName=alarms[0]["AlarmName"], StateValue="ALARM", StateReason="a test")
    # Another stack's, whose name begins with this one's.
    cloudwatch.put_metric_alarm(
        AlarmName="complete-other-ApiAlarm-1", Namespace="n", MetricName="m", Statistic="Sum", Period=60,
        EvaluationPeriods=1, Threshold=1, ComparisonOperator="GreaterThanThreshold",
    )  # fmt: skip
    cloudwatch.set_alarm_state(AlarmName="complete-other-ApiAlarm-1", StateValue="ALARM", StateReason="a test")
    _, checks = status("complete", "--resolver", fake_dns.silent_resolver, where=("--stack-name", "complete"))
    cloudwatch.set_alarm_state(AlarmName=alarms[0]["AlarmName"], StateValue="OK", StateReason="a test")
    cloudwatch.delete_alarms(AlarmNames=["complete-other-ApiAlarm-1"])
    assert [name for name in ill(checks) if name.startswith("alarm ")] == ["alarm DeadLettersAlarm"]
    assert "The worker could not process messages" in str(checks["alarm DeadLettersAlarm"]["found"])
    _, checks = status("complete", "--resolver", fake_dns.silent_resolver, where=("--stack-name", "complete"))
    assert re.fullmatch(r"none of \d+ is on", str(checks["alarms"]["found"]))


def test_a_failed_look_up_of_hosts_makes_the_status_unknown(
    status: Ask, on_aws: TwoDeployments, fake_dns: FakeDns
) -> None:
    code, checks = status("complete", "--resolver", fake_dns.silent_resolver, where=("--stack-name", "complete"))
    assert (code, ill(checks)) == (3, [])
    assert ill(checks, "not checked") == [f"host nlweb.{SHOP}", f"host pw.{SHOP}", *RECORDS_OF_KEYS]


DENIED = {
    "dynamodb:Scan": ["hosts", "domains", "delivery service keys"],
    "dynamodb:Query": [f"domain {SHOP}"],
    "secretsmanager:GetSecretValue": [
        f"key of {SHOP}", "signing keys", "delivery service keys", "token keys", "webhook keys",
        "DCP identities", "names",
    ],
    "dynamodb:DescribeTimeToLive": ["DCP table"],
    "apigateway:GET": ["DCP socket"],
    "lambda:GetFunctionConfiguration": [f"function {name}" for name in operation_checks.FUNCTIONS],
    "lambda:ListEventSourceMappings": [f"queue {name}" for name in operation_checks.SOURCES],
    "s3:ListBucket": ["jobs library"],
    "s3:GetObject": ["jobs library", "job compact", "job expire"],
    "sns:ListSubscriptionsByTopic": ["alarm topic"],
    "cloudwatch:DescribeAlarms": ["alarms"],
    "cloudwatch:GetMetricStatistics": [*MESSAGES, "mail", "queue DeadLetterQueue", "queue CourierDeadLetterQueue"],
    "sqs:GetQueueAttributes": [*MESSAGES, "queue DeadLetterQueue", "queue CourierDeadLetterQueue"],
}  # fmt: skip


@pytest.mark.parametrize("permission", DENIED)
def test_a_missing_permission_leaves_only_its_checks_unknown(
    status: Ask, on_aws: TwoDeployments, fake_dns: FakeDns, monkeypatch: pytest.MonkeyPatch, permission: str
) -> None:
    iam, user = on_aws.client("iam"), "operator-" + permission.replace(":", "-")
    iam.create_user(UserName=user)
    statements = [
        {"Effect": "Allow", "Action": "*", "Resource": "*"},
        {"Effect": "Deny", "Action": permission, "Resource": "*"},
    ]
    policy = json.dumps({"Version": "2012-10-17", "Statement": statements})
    iam.put_user_policy(UserName=user, PolicyName="most", PolicyDocument=policy)
    made = iam.create_access_key(UserName=user)["AccessKey"]
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", made["AccessKeyId"])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", made["SecretAccessKey"])
    code, checks = status("complete", "--resolver", fake_dns.silent_resolver, where=("--stack-name", "complete"))
    unknown = [name for name in ill(checks, "not checked") if not name.startswith(("host ", "key record of "))]
    assert (code, ill(checks), unknown) == (3, [], DENIED[permission])
    lacking = [name for name in unknown if permission in str(checks[name]["found"])]
    # The others rest on what could not be looked at.
    assert set(unknown) - set(lacking) <= {"hosts", f"key of {SHOP}"}
    assert lacking
    assert all(str(checks[name]["found"]).startswith("unknown: your credentials lack") for name in lacking)


def test_a_missing_stack_is_one_sentence(postroom: Postroom, on_aws: TwoDeployments) -> None:
    result = postroom("admin", "status", "--stack-name", "nowhere")
    assert (result.exit_code, result.stdout) == (5, "")
    assert f"there is no stack 'nowhere' in {REGION} (AWS_DEFAULT_REGION)" in result.stderr


def test_no_deploy_is_suggested_over_a_foreign_stack(status: Ask, on_aws: TwoDeployments) -> None:
    body = {
        "Resources": {"Any": {"Type": "AWS::SNS::Topic"}},
        "Outputs": {"ApiUrl": {"Value": "https://other.example"}},
    }
    on_aws.client("cloudformation").create_stack(StackName="stranger", TemplateBody=json.dumps(body))
    code, checks = status("stranger", where=("--stack-name", "stranger"))
    assert (code, list(checks)) == (1, ["stack", "outputs"])
    assert checks["outputs"]["next"] == "name another stack with --stack-name"


@pytest.mark.parametrize(
    ("status", "outputs", "expected"),
    [
        ("CREATE_IN_PROGRESS", {}, "not checked"),
        ("REVIEW_IN_PROGRESS", {}, "not checked"),
        ("ROLLBACK_COMPLETE", {}, "not checked"),
        ("CREATE_COMPLETE", {}, "bad"),
        ("CREATE_COMPLETE", {"Bucket", "ApiUrl", "ApiId"}, "bad"),
        ("CREATE_COMPLETE", {*setup_checks.NEEDED} - {"NotifyTopicArn"}, "bad"),
        ("UPDATE_ROLLBACK_COMPLETE", {*setup_checks.NEEDED}, "good"),
    ],
)
def test_the_outputs_of_a_stack(status: str, outputs: set[str], expected: str) -> None:
    check = setup_checks.judge_outputs(AWS, outputs, replace(YOUNG, status=status))
    assert check.status == expected
    # Nobody deploys over what is somebody else's.
    assert ("sam deploy" in check.next) == (setup_checks.OF_OURS in outputs and expected == "bad")


@pytest.mark.parametrize(
    ("unset", "said"),
    [
        ("AWS_DEFAULT_REGION", "export AWS_DEFAULT_REGION="),
        ("AWS_ACCESS_KEY_ID", "`aws sts get-caller-identity` must work first"),
    ],
)
def test_without_credentials_or_region_the_error_says_what_to_set(
    postroom: Postroom, on_aws: TwoDeployments, monkeypatch: pytest.MonkeyPatch, unset: str, said: str
) -> None:
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.delenv(unset)
    result = postroom("admin", "status", "--stack-name", "complete")
    assert (result.exit_code, result.stdout) == (3, "")
    assert said in result.stderr


def test_an_expired_session_names_the_command_to_try_first(
    postroom: Postroom, on_aws: TwoDeployments, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise ClientError({"Error": {"Code": "ExpiredToken", "Message": "it is over"}}, "DescribeStacks")

    monkeypatch.setattr("botocore.client.BaseClient._make_api_call", refuse)
    result = postroom("admin", "status", "--stack-name", "complete")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "it is over; `aws sts get-caller-identity` must work first" in result.stderr


@pytest.mark.parametrize(
    ("error", "found", "todo"),
    [
        (ClientError({"Error": {"Code": "ThrottlingException"}}, "GetIt"), "(ThrottlingException)", "try again later"),
        (ClientError({"Error": {"Code": "Odd"}}, "GetIt"), "(Odd)", "follow AWS's message"),
        (EndpointConnectionError(endpoint_url="https://sqs"), "https://sqs", "try again later"),
        (NotNowError(STORE_UNAVAILABLE), "unknown for now", "try again later"),
        (missing_output("X"), "no output X", "this release to prod: `sam build && sam deploy`"),
    ],
)
def test_a_failed_request_leaves_its_check_unknown(error: Exception, found: str, todo: str) -> None:
    def question() -> str:
        raise error

    unseen = ask(AWS, "it:GetIt", question)
    assert isinstance(unseen, Unseen)
    check = unseen.check("it")
    assert (check.status, found in check.found, todo in check.next) == ("not checked", True, True)


# --- the rules ---------------------------------------------------------------------------------------------------

AWS = NamedDeployment("prod", "--stack-name prod", is_local=False)
LOCAL = NamedDeployment("receiver", "--local .postroom --deployment receiver", is_local=True)
ONE, TWO = "https://rpc.example/s3cr3t", "https://other.example/s3cr3t"


@pytest.mark.parametrize(
    ("urls", "quorum", "status", "found"),
    [
        ((), 2, "good", "no endpoints: dm3 names are not looked up in ENS"),
        ((ONE, TWO), 2, "good", "rpc.example, other.example: 2 must agree"),
        ((ONE,), 2, "bad", "2 must agree (EnsQuorum), so nothing is found out in ENS"),
        ((ONE, TWO), 1, "warning", "what one of them says is believed"),
    ],
)
def test_endpoints_of_a_chain_must_be_as_many_as_must_agree(
    urls: tuple[str, ...], quorum: int, status: str, found: str
) -> None:
    held = Held("id", {"endpoints": list(urls)} if urls else {})
    parameters = {"Dm3Registries": "pinned,ens", "IpfsGateways": ""}
    check = setup_checks.judge_names(AWS, held, quorum=quorum, parameters=parameters)
    assert (str(check.status), found in str(check.found)) == (status, True)
    assert "; looked up in this order: pinned, ens; gateways of IPFS: none" in check.found
    assert "s3cr3t" not in str(check)


def test_endpoints_that_are_enough_are_not_called_alive() -> None:
    held = Held("id", {"endpoints": ["https://rpc.example/KEY", "https://other.example/KEY"]})
    check = setup_checks.judge_names(AWS, held, quorum=2, parameters={})
    assert check.found.endswith("2 must agree; not used here: `postroom dm3 chain check --stack-name prod` uses them")


YOUNG = Stack(
    "CREATE_COMPLETE", NOW - DAY, NOW - DAY, {"InboxReservedConcurrency": "200", "MailboxApiReservedConcurrency": "0"}
)
OLD = replace(YOUNG, created=NOW - 100 * DAY)
RUNS = Function("prod-InboxFunction-1", "Active", "", "Successful", "", None, {"OUTBOUND_PORT": "443"})
PEM = PrivateKey.generate("ed25519").to_pem().decode()
KEYS = {SHOP: {"selector": "pk1", "pem": PEM}}
DM3_KEYS = ServiceKeys.generate().as_json()
RECORDS = {f"nlweb.{SHOP}": f"nlweb.{SHOP}. CNAME d-1.example."}


def test_the_checked_resources_are_those_of_the_template() -> None:
    outputs = template()["Outputs"]
    assert set(setup_checks.NEEDED) == {name for name, output in outputs.items() if "Condition" not in output}
    functions = resources("AWS::Serverless::Function")
    assert set(operation_checks.FUNCTIONS) == set(functions)
    assert {
        event["Properties"]["Queue"]["Fn::GetAtt"].partition(".")[0]: name
        for name, said in functions.items()
        for event in said["Events"].values()
        if event["Type"] == "SQS"
    } == operation_checks.SOURCES
    bounded = {name: json.dumps(said["ReservedConcurrentExecutions"]) for name, said in functions.items()
               if "ReservedConcurrentExecutions" in said}  # fmt: skip
    assert set(bounded) == set(operation_checks.BOUNDS)
    assert all(f'"Ref": "{operation_checks.BOUNDS[name]}"' in said for name, said in bounded.items())
    for job in resources("AWS::Glue::Job").values():
        assert json.dumps(job["DefaultArguments"]["--extra-py-files"]).endswith(f'/jobs/lib/{LIBRARY}"}}')


@pytest.mark.parametrize(
    ("status", "expected", "todo"),
    [
        ("CREATE_COMPLETE", "good", ""),
        ("UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", "good", ""),
        ("UPDATE_IN_PROGRESS", "not checked", "check again"),
        ("UPDATE_ROLLBACK_COMPLETE", "bad", "deploy again"),
        ("UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS", "bad", "deploy again"),
        ("UPDATE_ROLLBACK_FAILED", "bad", "`aws cloudformation continue-update-rollback --stack-name prod`"),
        ("ROLLBACK_COMPLETE", "bad", "`sam delete --stack-name prod`"),
        ("CREATE_FAILED", "bad", "`aws cloudformation describe-stack-events --stack-name prod` says why"),
        ("DELETE_FAILED", "bad", "`sam delete --stack-name prod`"),
        ("REVIEW_IN_PROGRESS", "bad", "answer y to *Deploy this changeset?*"),
        ("IMPORT_ROLLBACK_COMPLETE", "bad", "import again"),
        ("AS_NEVER_BEFORE", "bad", "follow AWS's message"),
    ],
)
def test_the_status_of_a_stack(status: str, expected: str, todo: str) -> None:
    check = setup_checks.judge_stack(AWS, replace(YOUNG, status=status))
    assert (check.status, todo in check.next) == (expected, True)


def test_a_domain_too_long_for_a_key_record_does_not_stop_the_checks(
    status: Ask, on_aws: TwoDeployments, fake_dns: FakeDns
) -> None:
    from postroom.cli.open_deployment import open_deployment

    long = ".".join(["a" * 60] * 3 + ["b" * 52, SHOP])
    opened = open_deployment(None, on_aws.folder, "complete")
    opened.storage.signing_keys.put(long, "pk1", PrivateKey.generate("ed25519"))
    opened.storage.operators.put_domain(Domain(long, signs=True))
    try:
        _, checks = status("complete", where=("--stack-name", "complete", *fake_dns.options))
    finally:
        opened.storage.operators.remove_domain(long)
        keys = json.loads(
            opened.storage.secretsmanager.get_secret_value(SecretId=opened.output("SigningKeysSecret"))["SecretString"]
        )
        del keys[long]
        opened.storage.secretsmanager.put_secret_value(
            SecretId=opened.output("SigningKeysSecret"), SecretString=json.dumps(keys)
        )
    assert checks[f"key record of {long} for nlweb.org"]["status"] == "bad"
    assert "longer than the 253" in str(checks[f"key record of {long} for nlweb.org"]["found"])


@pytest.mark.parametrize(
    ("place", "records", "domains", "expected"),
    [
        (AWS, {}, [], "bad"),
        (AWS, {}, None, "not checked"),
        (AWS, {}, [SHOP], "good"),
        (AWS, RECORDS, [], "good"),
        (AWS, RECORDS, None, "good"),
        (LOCAL, {}, [], "good"),
    ],
)
def test_hosts(place: NamedDeployment, records: Mapping[str, str], domains: list[str] | None, expected: str) -> None:
    assert setup_checks.judge_hosts(place, records, domains, len(domains or ())).status == expected


def test_with_many_domains_it_says_that_only_some_hosts_are_looked_up() -> None:
    check = setup_checks.judge_hosts(AWS, RECORDS, [f"{n}.example" for n in range(9)], 5)
    assert "those of 5 domains are looked up" in check.found


NO_HOST = bad("host", None, f"there is no host nlweb.{SHOP}", "give it an A record")


@pytest.mark.parametrize(
    ("met", "record", "is_first", "expected", "todo"),
    [
        (good("inbox", "answered 405"), None, False, "good", ""),
        (NO_HOST, RECORDS[f"nlweb.{SHOP}"], False, "bad", f"the zone of {SHOP}: nlweb.{SHOP}. CNAME d-1.example."),
        (NO_HOST, None, True, "bad", "set DomainName=shop.example, and HostedZoneId or CertificateArn "),
        (NO_HOST, None, False, "bad", "functions/inbox/hosts.yaml as a stack for shop.example"),
        (bad("inbox", None, "answered 404", "mend it"), None, False, "bad", "mend it; `postroom doctor shop.example`"),
    ],
)  # fmt: skip
def test_a_host(met: DoctorCheck, record: str | None, is_first: bool, expected: str, todo: str) -> None:
    check = setup_checks.name_host(AWS, f"nlweb.{SHOP}", met, 405, record, is_first=is_first)
    assert (check.name, check.status, todo in check.next) == (f"host nlweb.{SHOP}", expected, True)


def test_a_host_of_ours_that_answers_5xx_is_bad() -> None:
    met = not_found_out("inbox", NotNowError(OUTBOUND_FAILED, "answered 500"))
    check = setup_checks.name_host(AWS, f"nlweb.{SHOP}", met, 500, None, is_first=False)
    assert (check.status, check.found) == (
        "bad", "it answered 500 to GET /inbox: if it leads here, the inbox does not work"
    )  # fmt: skip
    assert "--name InboxFunction" in check.next
    # Nobody was reached, or no run was free.
    for answered in (0, 503):
        assert setup_checks.name_host(AWS, f"nlweb.{SHOP}", met, answered, None, is_first=False).status == "not checked"


STORED = Stored("pk1", PrivateKey.from_pem(PEM.encode()).public)
THERE = good("key record pk1", "there is one at pk1._domainkey.shop.example")
NONE = bad("key record pk1", KEY_NOT_FOUND, "there is none", "publish it")
TWO = bad("key record pk1", KEY_RECORD_INVALID, "there are two", "publish what `postroom keygen` prints")
WEAK = bad("key pk1", KEY_UNUSABLE, "RSA of 512 bits", "make another key")
BLANK = skipped("key pk1", "its record could not be confirmed")
UNKNOWN = not_found_out("key record pk1", NotNowError(KEY_LOOKUP_FAILED, "no answer"))
OTHER = PrivateKey.generate("ed25519").public


@pytest.mark.parametrize(
    ("found", "expected", "printed", "todo"),
    [
        (KeyFound("pk1", THERE, good("key pk1", "Ed25519"), STORED.public), "good", "there is one at", ""),
        (
            KeyFound("pk1", THERE, good("key pk1", "Ed25519"), OTHER),
            "bad",
            "not that of the signing key",
            "or store the",
        ),
        (KeyFound("pk1", NONE, BLANK), "bad", "there is none", "publish only this TXT record there: pk1."),
        (KeyFound("pk1", TWO, BLANK), "bad", "there are two", "publish only this TXT record there: pk1."),
        (None, "bad", "longer than the 253 characters", "use a shorter selector"),
        (KeyFound("pk1", THERE, WEAK), "bad", "RSA of 512 bits", "make another key"),
        (KeyFound("pk1", UNKNOWN, BLANK), "not checked", "no answer", "try again later"),
    ],
)
def test_the_published_record_of_a_signing_key(found: KeyFound | None, expected: str, printed: str, todo: str) -> None:
    check = setup_checks.judge_published(SHOP, NLWEB, STORED, found)
    assert (check.name, check.status) == (f"key record of {SHOP} for nlweb.org", expected)
    assert printed in check.found
    assert todo in check.next
    # Of the dialect that an operator may have nothing to do with, nothing is bad.
    check = setup_checks.judge_published(SHOP, POLLYWEB, STORED, found)
    assert check.status == ("warning" if expected == "bad" else expected)
    assert ("reject its Feedback" in check.found) == (expected == "bad")


@pytest.mark.parametrize(
    ("domain", "subjects", "buffered", "expected"),
    [
        (Domain(SHOP), 0, [], "bad"),
        (Domain(SHOP), 1, [], "good"),
        (Domain(SHOP, inbox=False, buffer=True), 0, [], "good"),
        (Domain(SHOP, inbox=False), 0, [], "warning"),
        # The domain that Feedback for others is sent to.
        (Domain(SHOP), 0, ["sender.example"], "good"),
    ],
)
def test_a_domain(domain: Domain, subjects: int, buffered: list[str], expected: str) -> None:
    assert setup_checks.judge_domain(AWS, Served(domain, subjects), buffered).status == expected


@pytest.mark.parametrize(
    ("signs", "keys", "expected"),
    [
        (True, KEYS, "good"),
        (False, KEYS, "warning"),
        (True, {}, "bad"),
        (False, {}, "bad"),
        (True, None, "not checked"),
        (True, {SHOP: {"selector": "pk1", "pem": "no key"}}, "bad"),
        (True, {SHOP: "no entry"}, "bad"),
        (True, {SHOP: {"selector": PEM, "pem": PEM}}, "bad"),
        (True, {SHOP: {"selector": PEM, "pem": "pk1"}}, "bad"),
        (True, {SHOP: {"selector": "pk1", "pem": "\ud800"}}, "bad"),
    ],
)
def test_the_key_of_a_domain(signs: bool, keys: Json | None, expected: str) -> None:
    stored = None if keys is None else {name: setup_checks.read_stored(entry) for name, entry in keys.items()}
    check = setup_checks.judge_domain_key(AWS, Domain(SHOP, signs=signs), stored)
    assert check.status == expected
    if expected == "good":
        assert f"`postroom doctor {SHOP} --selector pk1` checks the domain" in check.found


def test_a_domain_without_an_inbox_needs_no_key() -> None:
    assert setup_checks.judge_domain_key(AWS, Domain(SHOP, inbox=False, buffer=True), {}).status == "good"


def test_a_deployment_of_dm3_alone_needs_no_domain() -> None:
    assert setup_checks.judge_domains(AWS, [], 2).status == "good"
    assert setup_checks.judge_domains(AWS, [], 0).status == "bad"


@pytest.mark.parametrize(
    ("value", "mailboxes", "expected"),
    [({}, 0, "good"), ({}, 1, "bad"), (DM3_KEYS, 1, "good"), ({"signing": "x", "encryption": ["y"]}, 0, "bad"),
     ({**DM3_KEYS, "encryption": []}, 0, "bad"), ({"signing": 1}, 0, "bad"), (None, 0, "bad")],
)  # fmt: skip
def test_delivery_service_keys(value: Json | None, mailboxes: int, expected: str) -> None:
    check = setup_checks.judge_delivery_keys(AWS, Held("arn", value), mailboxes)
    assert check.status == expected
    if mailboxes and not value:
        assert "`postroom dm3 keygen --service --url https://YOUR-HOST --stack-name prod`" in check.next


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"0": "random"}, "good"),
        ({str(NOW + DAY): "random"}, "bad"),
        ({}, "bad"),
        ({"x": "random"}, "bad"),
        ({"0": 1}, "bad"),
    ],
)
def test_token_keys(value: Json, expected: str) -> None:
    assert setup_checks.judge_token_keys(AWS, Held("arn", value), now=NOW).status == expected


@pytest.mark.parametrize(
    ("change", "expected", "todo"),
    [
        ({}, "good", ""),
        ({"reserved": 200}, "good", ""),
        ({"reserved": 0}, "bad", "--reserved-concurrent-executions 200`"),
        ({"state": "Failed", "why": "no role"}, "bad", "`sam build && sam deploy`"),
        ({"update": "Failed", "why_update": "no layer"}, "bad", "`sam build && sam deploy`"),
        ({"environment": None}, "not checked", "kms:Decrypt"),
        *(
            ({"environment": {name: value}}, "bad", "correct the parameter of the template")
            for name, value in {
                "OUTBOUND_PORT": "70000",
                "HORIZON_SECONDS": str(14 * DAY),
                "RESOLVERS": "dns.example",
            }.items()
        ),
        ({"state": "Pending"}, "not checked", "try again"),
        ({"update": "InProgress"}, "not checked", "try again"),
        ({"state": "Inactive"}, "warning", "invoke it once"),
    ],
)
def test_a_function(change: Json, expected: str, todo: str) -> None:
    check = operation_checks.judge_function(AWS, "InboxFunction", YOUNG, replace(RUNS, **change))
    assert (check.status, todo in check.next) == (expected, True)


def test_a_function_without_reserved_concurrency_is_not_asked_to_have_any() -> None:
    for logical in ("MailboxFunction", "DeadLetterFunction"):
        check = operation_checks.judge_function(AWS, logical, YOUNG, replace(RUNS, reserved=0))
        assert check.next == "`aws lambda delete-function-concurrency --function-name prod-InboxFunction-1`"


@pytest.mark.parametrize(
    ("state", "expected"), [("Enabled", "good"), ("Disabled", "bad"), ("Creating", "not checked"), (None, "bad")]
)
def test_a_queue_and_its_function(state: str | None, expected: str) -> None:
    assert (
        operation_checks.judge_source(AWS, "ClaimsQueue", EventSource("1", state) if state else None).status == expected
    )


@pytest.mark.parametrize(
    ("load", "printed"),
    [
        (QueueLoad(0, 0, None), "none"),
        (
            QueueLoad(3, 1, None),
            "3 waiting, 1 being processed or hidden; the age of the oldest is unknown: no metric of it",
        ),
        (QueueLoad(3, 0, 7300.0), "3 waiting, 0 being processed or hidden; the oldest came 2 hours ago"),
    ],
)
def test_the_messages_of_a_queue(load: QueueLoad, printed: str) -> None:
    check = operation_checks.judge_load("RetryQueue", load)
    assert (check.name, check.status, check.found) == ("messages in RetryQueue", "good", printed)


@pytest.mark.parametrize(
    ("mail", "printed"),
    [
        (RecentMail(None, {}), "no message was judged in the last day"),
        (RecentMail(NOW - 600, {}), "the last message was judged 10 minutes ago; discarded in the last day: none"),
        (RecentMail(NOW, {"KeyNotFound": 2, "DnssecBogus": 1}), "just now; discarded in the last day: DnssecBogus 1, "
         "KeyNotFound 2"),
    ],
)  # fmt: skip
def test_the_mail_of_the_last_day(mail: RecentMail, printed: str) -> None:
    assert operation_checks.judge_mail(mail, NOW).found.endswith(printed)


def test_the_metrics_of_aws() -> None:
    now = datetime.now(UTC)
    with mock_aws():
        cloudwatch = boto3.client("cloudwatch", "us-east-1")

        def put(namespace: str, name: str, value: float, minutes: int, **dimension: str) -> None:
            [(key, whose)] = dimension.items()
            cloudwatch.put_metric_data(Namespace=namespace, MetricData=[{
                "MetricName": name, "Dimensions": [{"Name": key, "Value": whose}],
                "Timestamp": now - timedelta(minutes=minutes), "Value": value,
            }])  # fmt: skip

        mail = MailMetrics(cloudwatch, "prod", now.timestamp())
        assert mail.of_last_day() == RecentMail(None, {})
        for minutes in (5, 90, 3000):
            put("prod", "AgeMilliseconds", 7.0, minutes, service="worker")
            put("prod", "Discarded", 1.0, minutes, service="worker")
            put("prod", "DiscardedKeyNotFound", 1.0, minutes, service="worker")
        put("prod", "DiscardedTooLate", 1.0, 3000, service="worker")
        put("prod", "DiscardedOther", 1.0, 5, service="other")
        found = mail.of_last_day()
        assert found.discarded == {"KeyNotFound": 2}
        assert found.last is not None
        assert 0 <= now.timestamp() - found.last <= 600
        queues = QueueMetrics(cloudwatch, now.timestamp())
        put("AWS/SQS", "ApproximateAgeOfOldestMessage", 90.0, 9, QueueName="prod-retry")
        put("AWS/SQS", "ApproximateAgeOfOldestMessage", 70.0, 4, QueueName="prod-retry")
        assert queues.oldest("https://sqs.example/1/prod-retry") == 70
        assert queues.oldest("https://sqs.example/1/other") is None


def test_the_metrics_of_discards_may_come_in_any_order_and_in_parts() -> None:
    cloudwatch, now = boto3.client("cloudwatch", "us-east-1"), datetime.now(UTC)
    with Stubber(cloudwatch) as aws:
        aws.add_response("get_metric_statistics", {"Datapoints": [{"Timestamp": now, "SampleCount": 9.0}]})
        names = ("Discarded", "DiscardedKeyNotFound", "DiscardedTooLate")
        aws.add_response("list_metrics", {"Metrics": [{"MetricName": name} for name in names]})
        for query, value, after in (("m1", 2.0, "more"), ("m0", 3.0, "rest"), ("m1", 4.0, None)):
            page: Json = {"MetricDataResults": [{"Id": query, "Values": [value]}]}
            aws.add_response("get_metric_data", page | ({"NextToken": after} if after else {}))
        found = MailMetrics(cloudwatch, "prod", now.timestamp()).of_last_day()
    assert found.discarded == {"KeyNotFound": 3, "TooLate": 6}


def suggested(text: str) -> list[list[str]]:
    """The commands of ours in an advice."""
    return [shlex.split(command)[1:] for command in re.findall("`(postroom [^`]*)`", text)]


ADVICE = [
    setup_checks.judge_domains(AWS, [], 0),
    setup_checks.judge_domain(AWS, Served(Domain(SHOP), 0), []),
    setup_checks.judge_domain(AWS, Served(Domain(SHOP, inbox=False), 0), []),
    setup_checks.judge_domain_key(AWS, Domain(SHOP), {}),
    setup_checks.judge_domain_key(AWS, Domain(SHOP, signs=True), {}),
    setup_checks.judge_domain_key(AWS, Domain(SHOP), {SHOP: None}),
    setup_checks.judge_domain_key(AWS, Domain(SHOP), {SHOP: STORED}),
    setup_checks.judge_domain_key(LOCAL, Domain(SHOP, signs=True), {SHOP: STORED}),
    operation_checks.judge_library(AWS, (LIBRARY, *SCRIPTS), Libraries([], is_ours=False)),
    operation_checks.judge_job(LOCAL, "compact", YOUNG, "", NOW, None),
    *(operation_checks.judge_dead_letters(place, "DeadLetterQueue", QueueLoad(1, 1, 60.0)) for place in (AWS, LOCAL)),
]


@pytest.mark.parametrize("check", ADVICE, ids=lambda check: f"{check.name}, {check.status}")
def test_suggested_commands_exist_and_read_files_that_a_command_before_them_writes(
    postroom: Postroom, check: DoctorCheck
) -> None:
    commands = suggested(f"{check.found} {check.next}")
    assert commands
    written: set[str] = set()
    for command in commands:
        # The options are parsed, and no command is run.
        result = postroom(*command, "--help")
        assert result.exit_code == 0, result.output
        assert not result.stdout.startswith("Usage: postroom [OPTIONS]")
        made = {file for option, file in pairwise(command) if option == "--out"}
        assert {word for word in command if word.endswith(".pem")} - made <= written
        written |= made


def test_a_command_that_does_not_exist_is_found(postroom: Postroom) -> None:
    assert postroom("domain", "add", SHOP, "--no-such-option", "--help").exit_code == 2


@pytest.mark.parametrize(
    ("place", "there", "expected"),
    [
        (AWS, Libraries([LIBRARY, *SCRIPTS], is_ours=True), "good"),
        (AWS, Libraries([LIBRARY, *SCRIPTS], is_ours=False), "warning"),
        (AWS, Libraries([LIBRARY], is_ours=True), "bad"),
        (AWS, Libraries(["postroom-0.0.9.zip", *SCRIPTS], is_ours=False), "bad"),
        (AWS, Libraries([], is_ours=False), "bad"),
        (LOCAL, Libraries([], is_ours=False), "warning"),
    ],
)
def test_what_the_jobs_load(place: NamedDeployment, there: Libraries, expected: str) -> None:
    check = operation_checks.judge_library(place, (LIBRARY, *SCRIPTS), there)
    assert check.status == expected
    assert all(name in check.found for name in there.names if name not in (LIBRARY, *SCRIPTS))


def test_a_library_is_the_same_however_it_is_compressed() -> None:
    stored, changed, files = io.BytesIO(), io.BytesIO(), zipfile.ZipFile(io.BytesIO(packed()))
    with zipfile.ZipFile(stored, "w") as same, zipfile.ZipFile(changed, "w") as other:
        for name in files.namelist():
            same.writestr(name, files.read(name))
            other.writestr(name, files.read(name) + (b"#" if name.endswith("/reasons.py") else b""))
    assert is_packed(stored.getvalue())
    assert not is_packed(changed.getvalue())
    assert not is_packed(b"no zip")
    # What needs a later way of packing: the version that it takes stands in the directory at the end.
    taken = packed()
    at = taken.index(b"PK\x01\x02") + 6
    assert not is_packed(taken[:at] + b"\xff\x00" + taken[at + 2 :])


def test_a_library_of_an_older_release_is_reported(status: Ask, deployments: TwoDeployments) -> None:
    s3, place = deployments.client("s3"), {"Bucket": deployments.output("Bucket"), "Key": f"jobs/lib/{LIBRARY}"}
    s3.put_object(**place, Body=b"an older one")
    try:
        _, checks = status("complete")
    finally:
        s3.put_object(**place, Body=packed())
    assert ill(checks, "warning") == ["jobs library"]
    assert "differs from the library here" in str(checks["jobs library"]["found"])


@pytest.mark.parametrize(
    ("job", "stack", "days", "expected"),
    [
        ("compact", YOUNG, None, "good"),
        ("compact", OLD, None, "bad"),
        ("compact", OLD, 1, "good"),
        ("compact", OLD, 4, "warning"),
        ("expire", OLD, 4, "good"),
        ("expire", OLD, 10, "warning"),
    ],
)
def test_the_last_run_of_a_job(job: str, stack: Stack, days: int | None, expected: str) -> None:
    began = None if days is None else NOW - days * DAY
    assert operation_checks.judge_job(AWS, job, stack, "prod-Job-1", NOW, began).status == expected


@pytest.mark.parametrize(
    ("found", "expected", "todo"),
    [
        ([Subscription("email a@b.example", is_confirmed=True)], "good", ""),
        ([Subscription("email a@b.example", is_confirmed=False)], "warning", "follow the link"),
        ([], "warning", "`aws sns subscribe --topic-arn arn:t "),
    ],
)
def test_subscribers_of_the_alarms(found: list[Subscription], expected: str, todo: str) -> None:
    check = operation_checks.judge_subscriptions("arn:t", found)
    assert (check.status, todo in check.next) == (expected, True)


@pytest.mark.parametrize(
    ("alarms", "stack", "expected"),
    [
        ([], OLD, {"alarms": "bad"}),
        ([Alarm("A", is_on=False, meaning="")], OLD, {"alarms": "good"}),
        ([Alarm(name, is_on=True, meaning="x") for name in "AB"], OLD, {"alarm A": "bad", "alarm B": "bad"}),
        ([Alarm("CompactLagAlarm", is_on=True, meaning="x")], YOUNG, {"alarm CompactLagAlarm": "warning"}),
        ([Alarm("CompactLagAlarm", is_on=True, meaning="x")], OLD, {"alarm CompactLagAlarm": "bad"}),
    ],
)  # fmt: skip
def test_alarms(alarms: list[Alarm], stack: Stack, expected: dict[str, str]) -> None:
    checks = operation_checks.judge_alarms(AWS, alarms, stack, NOW)
    assert {check.name: str(check.status) for check in checks} == expected


@pytest.mark.parametrize(("seconds", "printed"), [(30, "just now"), (600, "10 minutes ago"), (3 * DAY, "3 days ago")])
def test_how_long_ago(seconds: float, printed: str) -> None:
    assert ago(seconds) == printed
