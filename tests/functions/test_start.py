"""How a function starts: what it imports, and what stops it."""

import json
import os
import re
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path
from unittest.mock import patch

import boto3
import pytest
from tests.functions.stack import MOTO_REGION, FunctionsStack

from postroom.cli.admin.environment_check import environment_fault
from postroom.core.errors import SettingsError
from postroom.runtime import function_clients

ROOT = Path(__file__).parent.parent.parent
FUNCTIONS = {
    "InboxFunction": "functions.inbox.app",
    "Dm3Function": "functions.dm3.app",
    "WorkerFunction": "functions.worker.app",
    "WaitingFunction": "functions.waiting.app",
    "DeadLetterFunction": "functions.worker.dead_letters",
    "CourierFunction": "functions.courier.app",
    "FeedbackFunction": "functions.courier.feedback",
}
EACH = pytest.mark.parametrize("function", FUNCTIONS)


@pytest.fixture
def imported(running: FunctionsStack, function: str) -> set[str]:
    """All modules that stand in memory after a cold start."""
    script = f"import json, sys; import {FUNCTIONS[function]}; print(json.dumps(sorted(sys.modules)))"
    environment = {
        **running.environment(function),
        "PATH": os.environ["PATH"],
        "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'layers' / 'postroom'}",
        "AWS_DEFAULT_REGION": MOTO_REGION,
    }
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    return set(json.loads(done.stdout))


@EACH
def test_a_start_imports_nothing_but_what_the_layer_holds(imported: set[str], function: str) -> None:
    pinned = {
        _plain(line.partition("==")[0])
        for line in (ROOT / "layers" / "postroom" / "requirements.txt").read_text().splitlines()
        if "==" in line
    }
    owners = packages_distributions()
    tops = {name.partition(".")[0] for name in imported}
    # A name space may be shared by several distributions: one of them must be in the layer.
    strangers = {
        top for top in tops if top in owners and not {_plain(owner) for owner in owners[top]} & {*pinned, "postroom"}
    }
    # What an editable install and the interpreter's own start bring along (_…) is not the function's doing, and
    # httpcore takes h2 and anyio where it finds them: here they are the local stack's, and the client's.
    assert {top for top in strangers if not top.startswith("_")} <= {"anyio", "h2", "hpack", "hyperframe"}


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).strip().lower()


@EACH
def test_a_start_imports_no_tools(imported: set[str], function: str) -> None:
    tools = (
        "postroom.local", "postroom.cli", "typer", "rich", "ministack", "samtranslator", "trustme", "moto", "hypercorn",
        "pollyweb", "dkim", "pytest",
    )  # fmt: skip
    assert [tool for tool in tools if tool in imported] == []


@EACH
def test_no_client_of_aws_waits_longer_or_tries_more_often_than_ours_do(
    running: FunctionsStack, function: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_LAMBDA_INITIALIZATION_TYPE", "snap-start")
    with patch.object(boto3, "client", wraps=boto3.client) as made:
        running.start(function)
    assert made.call_args_list
    for call in made.call_args_list:
        assert call.kwargs["config"] is (
            function_clients.AWS_ONCE if call.args == ("lambda",) else function_clients.AWS
        )


AT_ONCE = {
    "InboxFunction": ["dynamodb", "sqs"],
    "Dm3Function": ["dynamodb", "s3", "secretsmanager", "sqs"],
    "WorkerFunction": ["dynamodb", "s3", "sqs"],
    "WaitingFunction": ["dynamodb", "sqs"],
    "DeadLetterFunction": ["dynamodb", "sqs"],
    "CourierFunction": ["dynamodb", "secretsmanager", "sqs"],
    "FeedbackFunction": ["dynamodb", "secretsmanager", "sqs"],
}
LATER = {
    "InboxFunction": ["lambda", "s3"],
    "Dm3Function": [],
    "WorkerFunction": ["events", "secretsmanager"],
    "WaitingFunction": [],
    "DeadLetterFunction": ["s3"],
    "CourierFunction": ["sns"],
    "FeedbackFunction": [],
}


@EACH
@pytest.mark.parametrize("how", [None, "on-demand", "snap-start", "provisioned-concurrency"])
def test_rarely_used_clients_are_made_when_first_needed_unless_nobody_waits_for_the_start(
    running: FunctionsStack, function: str, how: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if how:
        monkeypatch.setenv("AWS_LAMBDA_INITIALIZATION_TYPE", how)
    with patch.object(boto3, "client", wraps=boto3.client) as made:
        running.start(function)
    later = [] if how in (None, "on-demand") else LATER[function]
    assert sorted(call.args[0] for call in made.call_args_list) == sorted(AT_ONCE[function] + later)


def refusal(running: FunctionsStack, function: str, wrong: dict[str, str]) -> str:
    """What a function says that is to start with these variables."""
    right = running.environment(function)
    with (
        patch.object(FunctionsStack, "environment", lambda _self, _function: right | wrong),
        pytest.raises(SettingsError) as caught,
    ):
        running.start(function)
    return str(caught.value)


@pytest.mark.parametrize(
    ("function", "variable", "value"),
    [
        ("InboxFunction", "CLAIMS_QUEUE_URL", ""),
        ("InboxFunction", "WAITING_QUEUE_URL", ""),
        ("InboxFunction", "DIRECTORY_TABLE", ""),
        ("InboxFunction", "NLWEB_MAX_AGE_SECONDS", "a day"),
        ("InboxFunction", "NLWEB_MAX_BODY_BYTES", "0"),
        ("InboxFunction", "NLWEB_MAX_SKEW_SECONDS", "-1"),
        ("InboxFunction", "ALLOW_RSA_1024", "perhaps"),
        ("WorkerFunction", "RETAIN_SECONDS", "604800"),
        ("WorkerFunction", "RETRY_QUEUE_URL", ""),
        ("WaitingFunction", "WAITING_QUEUE_URL", ""),
        ("WaitingFunction", "LIMITS_TABLE", ""),
        ("DeadLetterFunction", "DEAD_LETTER_QUEUE_URL", ""),
        ("CourierFunction", "SIGNING_KEYS_SECRET", ""),
        ("CourierFunction", "OUTBOUND_PORT", "70000"),
        ("CourierFunction", "OUTBOUND_ALLOW_PRIVATE", "yes"),
        ("FeedbackFunction", "SEEN_TABLE", ""),
        ("FeedbackFunction", "MANIFEST_SECONDS", "soon"),
    ],
)
def test_a_wrong_setting_stops_the_start_and_is_named(
    running: FunctionsStack, function: str, variable: str, value: str
) -> None:
    assert re.search(variable, refusal(running, function, {variable: value}))


@pytest.mark.parametrize(
    ("variable", "value", "named"),
    [
        ("RESOLVERS", "dns.example", "DNS resolver 'dns.example'"),
        ("TRUST_ANCHORS", ". IN DS nonsense", "TRUST_ANCHORS"),
        ("NEGATIVE_TRUST_ANCHORS", "a..example", "NEGATIVE_TRUST_ANCHORS"),
    ],
)
def test_resolvers_and_trust_anchors_that_cannot_be_read_stop_the_start(
    running: FunctionsStack, variable: str, value: str, named: str
) -> None:
    assert re.search(named, refusal(running, "WorkerFunction", {variable: value}))


@pytest.mark.parametrize(
    ("function", "variable", "value"),
    [
        ("WorkerFunction", "RESOLVERS", "dns.example"),
        ("WorkerFunction", "TRUST_ANCHORS", ". IN DS nonsense"),
        ("WorkerFunction", "NEGATIVE_TRUST_ANCHORS", "a..example"),
        ("Dm3Function", "DM3_CORS_ORIGINS", "app.example"),
        ("Dm3Function", "DM3_MESSAGE_TTL_DAYS", "29"),
        ("MailboxFunction", "MAILBOX_API_CORS_ORIGINS", "app.example"),
        ("MailboxFunction", "DM3_SELF_REGISTRATION", "no name"),
        ("CourierFunction", "OUTBOUND_PORT", "70000"),
        ("DeadLetterFunction", "RETAIN_SECONDS", "many"),
    ],
)
def test_postroom_admin_status_knows_what_stops_a_start(
    running: FunctionsStack, function: str, variable: str, value: str
) -> None:
    right = running.environment(function)
    assert environment_fault({**right, variable: value}) == refusal(running, function, {variable: value})
    assert environment_fault(right) is None
