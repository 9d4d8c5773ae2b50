import json
import shutil
import time
from pathlib import Path

import pytest
from tests.patience import PATIENCE

from postroom.core.errors import OurError, SettingsError
from postroom.local.deploy import deploy
from postroom.local.package import zip_folder


def wait_for(look, seconds: float = PATIENCE):
    """Return the first true thing that `look` gives."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := look():
            return found
        time.sleep(0.05)
    raise AssertionError(f"nothing came within {seconds} s")


def item(deployment, key: str):
    table = deployment.outputs["Items"]
    found = deployment.client("dynamodb").get_item(TableName=table, Key={"pk": {"S": key}}, ConsistentRead=True)
    return {name: value["S"] for name, value in found.get("Item", {}).items()}


def test_each_deployment_lives_in_its_own_account(one, two, ask) -> None:
    first = ask(one.client, one.outputs["Inbox"], "where")
    second = ask(two.client, two.outputs["Inbox"], "where")
    assert (first["account"], second["account"]) == (one.account, two.account)
    assert one.account != two.account


def test_parameters_and_pseudo_parameters_reach_the_functions(one, two, ask) -> None:
    assert ask(one.client, one.outputs["Inbox"], "where")["greeting"] == f"good day, {one.account}"
    assert ask(two.client, two.outputs["Inbox"], "where")["greeting"] == f"hello, {two.account}"


def test_a_layer_with_a_build_method_is_importable(one, ask) -> None:
    found = ask(one.client, one.outputs["Inbox"], "where")
    assert found["version"] == 1
    assert "/python/fixturelib/" in found["layer"]


def test_the_processes_of_functions_share_the_files_of_a_layer(one, two, ask) -> None:
    layers = {Path(ask(each.client, each.outputs["Inbox"], "where")["layer"]) for each in (one, two)}
    assert len(layers) == 2
    assert len({layer.resolve() for layer in layers}) == 1


def test_a_queue_calls_its_function_in_its_account(one, two) -> None:
    one.client("sqs").send_message(QueueUrl=one.outputs["Main"], MessageBody="from one")
    assert wait_for(lambda: item(one, "from one"))["account"] == one.account
    assert item(two, "from one") == {}


def test_messages_that_a_function_reports_as_failed_stay_in_the_queue(one) -> None:
    one.client("sqs").send_message_batch(
        QueueUrl=one.outputs["Retry"],
        Entries=[{"Id": str(n), "MessageBody": body} for n, body in enumerate(["good 1", "bad", "good 2"])],
    )
    wait_for(lambda: item(one, "good 1") and item(one, "good 2"))
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]

    def left() -> int:
        answer = one.client("sqs").get_queue_attributes(QueueUrl=one.outputs["Retry"], AttributeNames=names)
        return sum(int(answer["Attributes"][name]) for name in names)

    wait_for(lambda: left() == 1)


def test_a_call_that_the_role_does_not_allow_is_denied(one, ask) -> None:
    answer = ask(one.client, one.outputs["Inbox"], "forbidden")
    assert "not authorized to perform: dynamodb:Scan" in answer["errorMessage"]


def test_a_role_that_names_a_secret_allows_reading_it(one, ask) -> None:
    assert "Key" in ask(one.client, one.outputs["Inbox"], "secret")


def test_a_bucket_that_is_closed_to_plain_http_is_open_to_functions(one, ask) -> None:
    """Plain HTTP on loopback stands for the HTTPS that functions speak with AWS."""
    assert ask(one.client, one.outputs["Inbox"], "store") == "stored"


def test_a_schedule_calls_its_target(two) -> None:
    """The emulator runs schedules itself; once is enough to see (it looks every 10 s)."""
    scheduler = two.client("scheduler")
    tick = next(r for r in two.resources if r.type == "AWS::Scheduler::Schedule")
    target = scheduler.get_schedule(Name=tick.physical)["Target"]
    scheduler.create_schedule(
        Name="now", ScheduleExpression="at(2026-01-01T00:00:00)", FlexibleTimeWindow={"Mode": "OFF"}, Target=target
    )
    assert wait_for(lambda: item(two, "tick"))["account"] == two.account


def test_no_job_is_started_by_its_schedule(one) -> None:
    """The emulator would run the script as it is, without Spark, and call that a success."""
    glue = one.client("glue")
    assert [job["Name"] for job in glue.get_jobs()["Jobs"]] == [
        resource.physical for resource in one.resources if resource.type == "AWS::Glue::Job"
    ]
    assert glue.get_triggers()["Triggers"] == []


def test_a_job_of_a_nested_stack_gets_the_templates_arguments(one) -> None:
    job = one.client("glue").get_job(JobName=one.outputs["Night"])["Job"]
    assert job["DefaultArguments"] == {"--BUCKET": one.outputs["Things"], "--GREETING": "good day"}
    assert job["Command"]["ScriptLocation"] == f"s3://{one.outputs['Things']}/night.py"


def test_an_alarm_that_the_emulator_cannot_create_does_not_prevent_the_rest(one) -> None:
    assert "NightAlarm" not in {resource.logical for resource in one.resources}
    assert one.client("cloudwatch").describe_alarms()["MetricAlarms"] == []


def test_the_output_of_functions_can_be_read(one, ask) -> None:
    ask(one.client, one.outputs["Inbox"], "where")
    assert ("Inbox", "somebody asked where we are") in {(line.function, line.text) for line in one.logs()}


def test_deploying_again_brings_new_code_and_parameters_and_keeps_what_is_stored(
    template: Path, tmp_path: Path, fresh_account, ask
) -> None:
    shutil.copytree(template.parent, tmp_path / "app")
    copy, clients = tmp_path / "app" / "template.yaml", fresh_account()
    before = deploy(copy, "again", clients).outputs
    clients("dynamodb").put_item(TableName=before["Items"], Item={"pk": {"S": "kept"}})
    assert ask(clients, before["Inbox"], "where")["version"] == 1

    (tmp_path / "app/layer/fixturelib/__init__.py").write_text("VERSION = 2\n")
    after = deploy(copy, "again", clients, {"Greeting": "hello again"}).outputs

    assert after == before
    found = ask(clients, after["Inbox"], "where")
    assert (found["version"], found["greeting"]) == (2, f"hello again, {clients.account}")
    assert clients("dynamodb").scan(TableName=after["Items"])["Count"] == 1


def test_deploying_the_same_again_changes_nothing(template: Path, fresh_account) -> None:
    clients = fresh_account()
    first = deploy(template, "same", clients)
    assert deploy(template, "same", clients) == first


@pytest.mark.parametrize(("extras", "there"), [("", False), ("a,b", True)])
def test_a_condition_decides_whether_a_resource_exists(template, fresh_account, extras, there) -> None:
    clients = fresh_account()
    deployed = deploy(template, "condition", clients, {"Extras": extras})
    names = [resource.logical for resource in deployed.resources]
    queues = "".join(clients("sqs").list_queues()["QueueUrls"])
    assert ("ExtraQueue" in names, "ExtraQueue" in queues) == (there, there)


def test_a_parameter_that_the_template_does_not_have_is_named(template: Path, fresh_account) -> None:
    with pytest.raises(SettingsError, match="Greetings"):
        deploy(template, "wrong", fresh_account(), {"Greetings": "typo"})


def test_a_template_that_cannot_be_created_says_what_failed(tmp_path: Path, fresh_account) -> None:
    broken = {
        "Transform": "AWS::Serverless-2016-10-31",
        "Resources": {"Map": {"Type": "AWS::SQS::Queue", "Properties": {"VisibilityTimeout": 99999999}}},
    }
    (tmp_path / "template.yaml").write_text(json.dumps(broken))
    with pytest.raises(OurError, match="Map"):
        deploy(tmp_path / "template.yaml", "broken", fresh_account())


def test_a_text_that_is_no_template_is_refused(tmp_path: Path, fresh_account) -> None:
    (tmp_path / "template.yaml").write_text("just: text\n")
    with pytest.raises(SettingsError, match="no Resources"):
        deploy(tmp_path / "template.yaml", "none", fresh_account())


def test_the_same_files_make_the_same_zip_without_what_python_left_there(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    first = zip_folder(tmp_path)
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "a.cpython-311.pyc").write_bytes(b"compiled")
    (tmp_path / "a.py").touch()
    assert zip_folder(tmp_path) == first
    (tmp_path / "a.py").write_text("x = 2\n")
    assert zip_folder(tmp_path) != first


def test_code_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        zip_folder(tmp_path / "gone")
