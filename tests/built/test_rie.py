"""`make rie`: each file of events/ through the built artifacts, under the real runtime interface, by the real roles.

Their times are moved to now: what is a day old is refused. The answers are those of tests/functions/test_events.py.
"""

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.aws import Clients, Deployed, template
from tests.built.conftest import RUNTIME
from tests.built.rie import Runtime
from tests.built.tools import ARCHITECTURE, LAYERS, ROOT, version_of
from tests.functions.delivery_service import open_service
from tests.functions.samples import (
    ALICE,
    BOB,
    BUFFER,
    CORRELATION,
    EVENTS,
    RECEIVER,
    SELECTOR,
    SENDER,
    SUBJECT,
    discarded_row,
    events,
    profile_uri,
    published_key,
    service_keys,
    summed_up_hour,
    user_keys,
)

from postroom.api.reasons import TOKEN_INVALID
from postroom.core.reasons import NO_SUCH_ROUTE, UNDELIVERABLE
from postroom.local.patience import PATIENT_SETTINGS
from postroom.local.stack import LocalDeployment, LocalStack
from postroom.names.registry import PROFILE_KEY
from postroom.protocols.dcp.signed_message import read_signed_message
from postroom.protocols.nlweb.key_record import record_text, zone_line
from postroom.protocols.nlweb.reasons import SIGNATURE_INVALID
from postroom.protocols.nlweb.schema import NLWEB
from postroom.protocols.nlweb.subjects import SubjectRule, Treatment
from postroom.storage.directory.domains import Dm3Mailbox, Domain
from postroom.storage.directory.notification_targets import TargetKind

# One build serves all of tests/built: they run in one process.
pytestmark = [pytest.mark.xdist_group("sam"), pytest.mark.stack, pytest.mark.tools]

if sys.platform != "linux":
    pytest.skip("the Runtime Interface Emulator that comes with sam is a program for Linux", allow_module_level=True)

Json = dict[str, Any]
FUNCTIONS = {"inbox": "InboxFunction", "dm3": "Dm3Function", "worker": "WorkerFunction", "mailbox": "MailboxFunction"}
FUNCTIONS |= {"dcp": "DcpFunction"}
FUNCTIONS |= {"waiting": "WaitingFunction", "dead-letters": "DeadLetterFunction"}
FUNCTIONS |= {"courier": "CourierFunction", "feedback": "FeedbackFunction"}


@pytest.fixture(scope="module")
def runtime_client(python: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """awslambdaric for the interpreter, of the version that is pinned."""
    folder = tmp_path_factory.mktemp("ric")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--require-hashes", "--only-binary", ":all:", "--python-version", version_of(python)]
    command += ["--target", str(folder), "--requirement", str(ROOT / "requirements-rie.lock")]
    subprocess.run(command, check=True)
    return folder


@dataclass
class BuiltStack:
    """A deployment that other hosts reach, and that knows everybody of events/; `at`: what time it is there."""

    deployment: LocalDeployment
    deployed: Deployed
    at: int
    start: Callable[..., Runtime]
    running: dict[str, Runtime] = field(default_factory=dict)

    def invoke(self, name: str) -> Any:
        """The answer to a file of events/."""
        [function] = [found for prefix, found in FUNCTIONS.items() if name.startswith((f"{prefix}-", f"{prefix}."))]
        event = events(self.at)[name]
        for record in event.get("Records", ()):
            # A function of two queues tells them apart by their names, which the deployment made.
            place, _, queue = record["eventSourceARN"].rpartition(":")
            record["eventSourceARN"] = f"{place}:{self.deployed.queues[queue].rpartition('/')[2]}"
        return self._of(function).invoke(event)

    def _of(self, function: str) -> Runtime:
        if function not in self.running:
            self.running[function] = self.start(function).__enter__()
        return self.running[function]


@pytest.fixture(scope="module")
def stack(
    running_build: Path, python: str, runtime_client: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[BuiltStack]:
    with LocalStack(ROOT / "template.yaml") as local:
        record = zone_line(NLWEB.key_name(SENDER, SELECTOR), record_text(published_key().public))
        local.tree.put(SENDER, f"nlweb IN A 127.0.0.1\n{record}\n")
        local.tree.put(BUFFER, "nlweb IN A 127.0.0.1\n")
        deployment = local.deploy("rie", settings=PATIENT_SETTINGS)
        for domain in (SENDER, BUFFER, RECEIVER):
            deployment.serve_host(NLWEB.host(domain))
        deployed = store_of(deployment)
        set_up(deployed)
        # Nothing but what is invoked here may work anything off.
        for mapping in deployment.client("lambda").list_event_source_mappings()["EventSourceMappings"]:
            deployment.client("lambda").delete_event_source_mapping(UUID=mapping["UUID"])
        logs = tmp_path_factory.mktemp("logs")

        def start(function: str, **more: Any) -> Runtime:
            log = logs / f"{function}.log"
            return Runtime(python, running_build, deployment, function, client=runtime_client, log=log, **more)

        found = BuiltStack(deployment, deployed, int(time.time()), start)
        yield found
        for runtime in found.running.values():
            runtime.__exit__()


def store_of(deployment: LocalDeployment) -> Deployed:
    client, named = deployment.client, deployment.outputs
    clients = Clients(client("dynamodb"), client("s3"), client("sqs"), client("secretsmanager"))
    return Deployed(
        clients,
        named["Bucket"],
        secrets={name: named[f"{name}Secret"] for name in ("SigningKeys", "DeliveryServiceKeys")},
        tables={name: value for name, value in named.items() if name.endswith("Table")},
        queues={name.removesuffix("Url"): value for name, value in named.items() if name.endswith("QueueUrl")},
    )


def set_up(deployed: Deployed) -> None:
    operators = deployed.storage.operators
    operators.put_domain(Domain(SENDER, feedback=BUFFER))
    operators.put_domain(Domain(BUFFER))
    operators.put_subject(BUFFER, SubjectRule("Feedback@Buffer", Treatment.MAILBOX, BUFFER))
    operators.put_domain(Domain(RECEIVER, feedback=BUFFER))
    operators.put_subject(RECEIVER, SubjectRule(SUBJECT, Treatment.MAILBOX, RECEIVER))
    keys = deployed.storage.signing_keys
    keys.put(RECEIVER, SELECTOR, published_key())
    profiles = {name: profile_uri(user_keys(name)) for name in (ALICE, BOB)}
    open_service(deployed, service_keys(), profiles, [Dm3Mailbox(BOB)])


def received(stack: BuiltStack, queue: str) -> list[str]:
    """The bodies in a queue, which is empty afterwards."""
    sqs, url = stack.deployed.clients.sqs, stack.deployed.queues[queue]
    found: list[str] = []
    while messages := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages"):
        for message in messages:
            found.append(message["Body"])
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    return found


WORKED_OFF = {"batchItemFailures": []}
"""All of a batch; a message that failed would be named."""


def test_each_file_of_events_is_invoked_below() -> None:
    said = Path(__file__).read_text(encoding="utf-8")
    assert {path.name for path in EVENTS.iterdir()} == set(re.findall(r"invoke\(\"([a-z0-9-]+\.json)\"\)", said)) | set(
        POSTED
    )


# --- the inbox --------------------------------------------------------------------------------------------------------

POSTED = ("inbox-post.json", "inbox-post-base64.json")


@pytest.mark.parametrize("name", POSTED)
def test_a_message_is_queued_then_answered(stack: BuiltStack, name: str) -> None:
    answer = stack.invoke(name)
    assert (answer["statusCode"], json.loads(answer["body"])["Status"]) == (200, "Queued")
    [body] = received(stack, "ClaimsQueue")
    assert json.loads(body)["claim"]["envelope"] == events(stack.at)["inbox-post.json"]["body"]


def test_get_and_head_say_what_this_is(stack: BuiltStack) -> None:
    answer = stack.invoke("inbox-get.json")
    assert (answer["statusCode"], "post office" in answer["body"]) == (200, True)
    assert stack.invoke("inbox-head.json") == answer


def test_the_manifest_names_the_buffer(stack: BuiltStack) -> None:
    answer = stack.invoke("inbox-manifest.json")
    assert (answer["statusCode"], f"Feedback: {BUFFER}" in answer["body"]) == (200, True)


def test_a_synchronous_request_is_verified_and_answered(stack: BuiltStack) -> None:
    answer = stack.invoke("inbox-identity.json")
    assert (answer["statusCode"], json.loads(answer["body"])) == (200, {"Domain": RECEIVER, "Feedback": BUFFER})


def test_there_is_nothing_elsewhere(stack: BuiltStack) -> None:
    answer = stack.invoke("inbox-elsewhere.json")
    assert (answer["statusCode"], json.loads(answer["body"])["reason"]) == (404, str(NO_SUCH_ROUTE))


def test_a_dm3_message_is_accepted_and_queued(stack: BuiltStack) -> None:
    answer = stack.invoke("dm3-submit.json")
    assert json.loads(answer["body"]) == {"jsonrpc": "2.0", "result": "accepted", "id": 1}
    [body] = received(stack, "ClaimsQueue")
    assert json.loads(body)["claim"]["mailbox"] == BOB


# --- the mailbox API --------------------------------------------------------------------------------------------------


def test_whoever_asks_gets_a_challenge(stack: BuiltStack) -> None:
    answer = stack.invoke("mailbox-challenge.json")
    assert (answer["statusCode"], len(json.loads(answer["body"]).split("."))) == (200, 3)


def test_whoever_connects_by_dcp_gets_a_session_over_https_and_over_a_websocket(stack: BuiltStack) -> None:
    for answer in (stack.invoke("dcp.json"), stack.invoke("dcp-socket.json")):
        message = read_signed_message(answer["body"].encode())
        assert (message.body["success"], message.body["payload"]) == (True, {"version": "4.0.0"})


def test_a_mailbox_is_shown_to_nobody_without_a_token_and_keeps_nothing_for_them(stack: BuiltStack) -> None:
    for answer in (stack.invoke("mailbox-messages.json"), stack.invoke("mailbox-container.json")):
        assert (answer["statusCode"], json.loads(answer["body"])["reason"]) == (401, str(TOKEN_INVALID))


# --- the worker and the dead-letter handler ---------------------------------------------------------------------------


def test_claims_retries_and_suspects_are_filed_and_the_forged_is_discarded(stack: BuiltStack) -> None:
    assert stack.invoke("worker-claims.json") == WORKED_OFF
    assert stack.invoke("worker-retries.json") == WORKED_OFF
    assert stack.invoke("worker-suspects.json") == WORKED_OFF
    assert sorted(json.dumps(json.loads(line.envelope)["Body"]) for line in stack.deployed.filed(RECEIVER)) == sorted(
        json.dumps(body) for body in ({"Text": "Good morning ☀"}, [1, 2], "once more")
    )
    assert stack.invoke("waiting-claims.json") == WORKED_OFF
    [notice] = received(stack, "FeedbackQueue")
    assert json.loads(notice)["reason"] == "SignatureInvalid"


def test_a_slow_name_is_looked_up_and_kept_for_all_instances(stack: BuiltStack) -> None:
    assert stack.invoke("waiting-names.json") == WORKED_OFF
    assert stack.deployed.storage.name_texts.find("alice.eth", PROFILE_KEY, time.time()) is not None


def test_a_round_decides_what_is_near_the_horizon_and_leaves_the_rest(stack: BuiltStack) -> None:
    sqs, url = stack.deployed.clients.sqs, stack.deployed.queues["DeadLetterQueue"]
    for number, days in ((6, 7), (7, 1)):
        body = events(stack.at - days * 86_400)["worker-claims.json"]["Records"][0]["body"]
        sqs.send_message(QueueUrl=url, MessageBody=body.replace(f"{1:032x}", f"{number:032x}"))
    answer = stack.invoke("dead-letters-round.json")
    assert answer == {"seen": 2, "decided": 1, "unreadable": 0, "given_up": 0}
    [notice] = received(stack, "FeedbackQueue")
    assert json.loads(notice)["reason"] == str(UNDELIVERABLE)


# --- the courier ------------------------------------------------------------------------------------------------------


def feedback(stack: BuiltStack) -> list[Json]:
    """The bodies of what the buffer's inbox took."""
    return [json.loads(json.loads(body)["claim"]["envelope"])["Body"] for body in received(stack, "ClaimsQueue")]


def test_the_buffer_is_told_of_a_discard_once(stack: BuiltStack) -> None:
    register = stack.deployed.storage.register
    register.discard(discarded_row(stack.at), SIGNATURE_INVALID, stack.at + 86_400)
    assert stack.invoke("feedback-discard.json") == WORKED_OFF
    [told] = feedback(stack)
    assert (told["Correlation"], told["Code"]) == (CORRELATION.format(9), "SignatureInvalid")
    assert stack.invoke("feedback-discard.json") == WORKED_OFF
    assert feedback(stack) == []


def test_an_hour_of_withheld_discards_is_summed_up(stack: BuiltStack) -> None:
    limits = stack.deployed.storage.feedback_limits
    limits.withhold(SENDER, summed_up_hour(stack.at), "KeyNotFound")
    assert stack.invoke("feedback-summary.json") == WORKED_OFF
    [told] = feedback(stack)
    assert (told["Sender"], told["Codes"]) == (SENDER, {"KeyNotFound": 1})


def test_whoever_wants_to_know_has_a_notification_on_its_way(stack: BuiltStack) -> None:
    targets = stack.deployed.storage.targets
    target = targets.add(
        RECEIVER, TargetKind.WEBHOOK, "https://hook.example/", random_id=f"{1:032x}", now_ms=stack.at * 1000
    )
    assert target is not None
    targets.verify(target)
    assert stack.invoke("courier-waiting.json") == WORKED_OFF
    [queued] = received(stack, "CourierQueue")
    assert json.loads(queued)["notification"]["target"] == target.id


# --- what runs there --------------------------------------------------------------------------------------------------

PROBE = """
import sys

def handler(event, _context):
    __import__(event["module"])
    files = {name: getattr(module, "__file__", None) for name, module in sys.modules.items()}
    return {"version": list(sys.version_info[:2]), "prefix": sys.base_prefix, "files": files}
"""


@pytest.mark.parametrize("function", FUNCTIONS.values())
def test_what_a_function_imports_is_of_the_function_the_layer_the_runtime_and_python(
    stack: BuiltStack, running_build: Path, python: str, runtime_client: Path, function: str, tmp_path: Path
) -> None:
    (tmp_path / "probe.py").write_text(PROBE, encoding="utf-8")
    said = template()["Resources"][function]["Properties"]
    module = said.get("Handler", "app.handler").partition(".")[0]
    with stack.start(function, handler="probe.handler", beside=tmp_path) as runtime:
        found = runtime.invoke({"module": module})
    files = {name: Path(file) for name, file in found["files"].items() if file}
    layer = running_build / LAYERS[ARCHITECTURE]
    library = {name: file for name, file in files.items() if name.partition(".")[0] == "postroom"}
    assert len(library) > 20
    assert all(file.is_relative_to(layer / "python" / "postroom") for file in library.values()), library
    assert files[module] == running_build / function / f"{module}.py"
    known = (layer, running_build / function, runtime_client, tmp_path, Path(found["prefix"]))
    assert {name for name, file in files.items() if not any(file.is_relative_to(place) for place in known)} == set()
    assert ".".join(map(str, found["version"])) == version_of(python)


def test_it_is_the_runtime_of_the_template_where_its_python_is_here(python: str) -> None:
    """Elsewhere the same sources and pins are built for the Python that is."""
    assert version_of(python) in (RUNTIME, f"{sys.version_info.major}.{sys.version_info.minor}")
