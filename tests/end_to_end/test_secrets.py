"""Whatever happens, no key of the service is left anywhere but in Secrets Manager.

A deployment of its own goes through it all: first each of five secrets is broken in a way that a person might, with
the very key in the wrong place, and whatever needs it is asked; then it is mended, and all that needs keys is done.
"""

import base64
import json
import secrets
import ssl
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from tests.end_to_end.leaks import files_in, leaks, left_behind
from tests.patience import PATIENCE

from postroom.client import Mailbox, SendOutcome
from postroom.client.dm3 import Dm3Draft, Dm3Sender
from postroom.crypto.rsa_ed25519 import PrivateKey
from postroom.demo.deployment import DemoDeployment, envelope_of, until
from postroom.demo.names import ALICE, BOB, Names
from postroom.demo.scenes import Story
from postroom.demo.stack import BUFFER, SUBJECT, Correspondent, DemoStack
from postroom.demo.webhooks import WebhookReceiver
from postroom.local.gateway import GatewayRequest, GatewayResponse
from postroom.local.patience import PATIENT_SETTINGS
from postroom.net.https import HttpsClient
from postroom.protocols.dm3.keys import UserKeys
from postroom.protocols.nlweb.schema import NLWEB
from postroom.protocols.nlweb.subjects import SubjectRule, Treatment
from postroom.storage.directory.domains import Dm3Mailbox, Domain

# One stack serves all of these: they run in one process.
pytestmark = pytest.mark.xdist_group("demo")

SAFE, HOOK = "safe.example", "hook.safe.example"
DM3 = f"dm3.{SAFE}"
NEWCOMER = "newcomer.eth"
"""In no document."""
NAMES = ("SigningKeys", "DeliveryServiceKeys", "TokenKeys", "WebhookKeys", "ChainEndpoints")
API_KEY = base64.urlsafe_b64encode(secrets.token_bytes(24)).decode()
"""Of a provider, in the URL of an endpoint that does not answer."""


@dataclass
class RecordedDeployment:
    """A deployment, and all that anybody was answered by it, or sent by it."""

    demo_stack: DemoStack
    demo_deployment: DemoDeployment
    names: Names
    seen: dict[str, bytes] = field(default_factory=dict)

    def secret(self, name: str) -> Any:
        return json.loads(self._client().get_secret_value(SecretId=self._id(name))["SecretString"])

    def write(self, name: str, value: object) -> None:
        text = value if isinstance(value, str) else json.dumps(value)
        self._client().put_secret_value(SecretId=self._id(name), SecretString=text)

    def ask(self, method: str, url: str, body: object = None, token: str = "") -> httpx.Response:
        host, trusted = httpx.URL(url).host, ssl.create_default_context(cafile=self.demo_stack.stack.authority.pem)
        headers = {"host": host} | ({"authorization": f"Bearer {token}"} if token else {})
        with httpx.Client(verify=trusted, trust_env=False, timeout=PATIENCE) as client:
            at = httpx.URL(url).copy_with(host="127.0.0.1", port=self.demo_stack.stack.edge.port)
            answer = client.request(method, at, json=body, headers=headers, extensions={"sni_hostname": host})
        self.see(f"answer to {method} {url}", answer.content + repr(dict(answer.headers)).encode())
        return answer

    def in_hand(self, queue: str) -> int:
        """How many messages of a queue are being worked on."""
        name = "ApproximateNumberOfMessagesNotVisible"
        sqs, url = self.demo_deployment.deployment.client("sqs"), self.demo_deployment.deployment.outputs[queue]
        return int(sqs.get_queue_attributes(QueueUrl=url, AttributeNames=[name])["Attributes"][name])

    def end_between_messages(self, function: str, queue: str) -> None:
        """End the instances of a function that works off a queue, while it works on no message."""
        client, name = (
            self.demo_deployment.deployment.client("lambda"),
            self.demo_deployment.deployment.outputs[function],
        )
        mappings = client.list_event_source_mappings(FunctionName=name)["EventSourceMappings"]
        for mapping in mappings:
            client.update_event_source_mapping(UUID=mapping["UUID"], Enabled=False)
        until(f"{function} is at no message", lambda: self.in_hand(queue) == 0 or None)
        self.demo_deployment.end_instances(function)
        for mapping in mappings:
            client.update_event_source_mapping(UUID=mapping["UUID"], Enabled=True)

    def see(self, what: str, data: bytes) -> None:
        self.seen[f"{what} ({len(self.seen)})"] = data

    def said(self, name: str) -> str:
        """How the logs begin to say that a secret is of another form."""
        return f"secret {self._id(name)}: it must contain"

    def _client(self) -> Any:
        return self.demo_deployment.deployment.client("secretsmanager")

    def _id(self, name: str) -> str:
        return self.demo_deployment.deployment.outputs[f"{name}Secret"]


@pytest.fixture(scope="module")
def recorded(demo_stack: DemoStack, tmp_path_factory: pytest.TempPathFactory) -> RecordedDeployment:
    folder = tmp_path_factory.mktemp("safe")
    demo_deployment = DemoDeployment(
        SAFE, demo_stack.stack.deploy("safe", {"NotifyIntervalSeconds": "1"}, PATIENT_SETTINGS)
    )
    ours = Correspondent(SAFE, "pk1", PrivateKey.generate("ed25519"))
    demo_stack.publish(ours)
    demo_deployment.signing_keys.put(SAFE, ours.selector, ours.key)
    demo_deployment.operators.put_subject(SAFE, SubjectRule(SUBJECT, Treatment.MAILBOX, SAFE))
    demo_deployment.operators.put_domain(Domain(SAFE))
    for host in (NLWEB.host(SAFE), DM3):
        demo_deployment.deployment.serve_host(host)
    return RecordedDeployment(demo_stack, demo_deployment, Names(demo_deployment, DM3, folder))


@pytest.fixture(scope="module")
def keys(recorded: RecordedDeployment) -> dict[str, bytes]:
    """What nobody may ever see: of each secret, and what is derived from it to sign by."""
    pem = recorded.secret("SigningKeys")[SAFE]["pem"]
    service = recorded.secret("DeliveryServiceKeys")
    [token], [webhooks] = recorded.secret("TokenKeys").values(), recorded.secret("WebhookKeys").values()
    return {
        "the domain's key": base64.b64decode("".join(pem.splitlines()[1:-1]))[-32:],
        "the delivery service's signing key": base64.b64decode(service["signing"].partition(":")[2]),
        "its encryption key": base64.b64decode(service["encryption"][0]),
        "what tokens are signed by": HKDF(SHA256(), 32, salt=None, info=b"postroom token key").derive(token.encode()),
        "the text that is derived from": token.encode(),
        "the text that webhooks' secrets are derived from": webhooks.encode(),
        "a provider's API key": API_KEY.encode(),
    }


@pytest.fixture(scope="module")
def played(recorded: RecordedDeployment, keys: dict[str, bytes]) -> RecordedDeployment:
    """All of it."""
    story, demo_stack = Story(recorded.demo_stack, print), recorded.demo_stack
    recorded.write("ChainEndpoints", {"endpoints": [f"http://127.0.0.1:9/{API_KEY}", f"http://localhost:9/{API_KEY}"]})
    good = {name: recorded.secret(name) for name in NAMES}
    broken = {
        "SigningKeys": {SAFE: {"selector": "pk1", "pem": good["SigningKeys"][SAFE]["pem"].partition("\n")[2]}},
        "DeliveryServiceKeys": {**good["DeliveryServiceKeys"], "signing": good["DeliveryServiceKeys"]["encryption"][0]},
        "TokenKeys": {text: number for number, text in good["TokenKeys"].items()},
        "WebhookKeys": json.dumps(good["WebhookKeys"])[:-1],
        "ChainEndpoints": {API_KEY: good["ChainEndpoints"]["endpoints"]},
    }
    for name, value in broken.items():
        recorded.write(name, value)
    at = f"https://{NLWEB.host(SAFE)}"
    owner = PrivateKey.generate("ed25519")
    recorded.demo_deployment.mailboxes.set_keys(SAFE, [base64.b64encode(owner.public.spki()).decode()])

    # Nothing that needs them is done, and nobody is told more than that.
    assert recorded.ask("GET", f"{at}/auth/{SAFE}").json()["reason"] == "SigningKeyUnavailable"
    alice = Dm3Sender(ALICE, recorded.names.users[ALICE], recorded.names.profiles, _https(demo_stack))
    assert alice.send(Dm3Draft(BOB, "too early")).fate is SendOutcome.NOT_NOW
    forged = story.envelope(
        Correspondent(demo_stack.sender.domain, demo_stack.sender.selector, PrivateKey.generate("ed25519")), to=SAFE
    )
    assert recorded.ask("POST", f"{at}/inbox", forged).status_code == 200
    until("its Feedback waits", lambda: recorded.said("SigningKeys") in _logs(recorded) or None)
    recorded.write("TokenKeys", good["TokenKeys"])
    recorded.demo_deployment.end_instances("MailboxFunction")
    token = until("tokens are signed", lambda: _sign_in(recorded, at, owner))
    recorded.demo_deployment.operators.put_dm3_mailbox(Dm3Mailbox(NEWCOMER))
    assert _ask_for_token(recorded, at, NEWCOMER, owner).json()["reason"] == "ProfileLookupFailed"
    targets = f"{at}/mailboxes/{SAFE}/notifications"
    hook = {"kind": "webhook", "to": f"https://{HOOK}/mail"}
    assert recorded.ask("POST", targets, hook, token).json()["reason"] == "SigningKeyUnavailable"
    assert recorded.ask("GET", targets, token=token[:-2]).status_code == 401

    # Mended, all is done.
    for name, value in good.items():
        recorded.write(name, value)
    # Otherwise they would keep what they have read for most of a minute.
    for function in ("MailboxFunction", "DcpFunction", "Dm3Function"):
        recorded.demo_deployment.end_instances(function)
    recorded.end_between_messages("CourierFunction", "CourierQueueUrl")
    recorded.end_between_messages("FeedbackFunction", "FeedbackQueueUrl")
    assert _ask_for_token(recorded, at, NEWCOMER, owner).json()["reason"] == "ProfileLookupFailed"
    newcomer = Dm3Sender(NEWCOMER, UserKeys.random(), recorded.names.profiles, _https(demo_stack))
    assert newcomer.send(Dm3Draft(BOB, "who am I?")).fate is SendOutcome.NOT_NOW
    receiver = WebhookReceiver()

    def take(request: GatewayRequest) -> GatewayResponse:
        recorded.see("request to a webhook", request.body + repr(request.headers).encode())
        return receiver(request)

    demo_stack.stack.tree.put(HOOK, "@ IN A 127.0.0.1\n")
    demo_stack.stack.edge.serve_handler(HOOK, take)
    made = until("the secret is read again", lambda: _added(recorded, targets, hook, token))
    receiver.secret = made["secret"]
    code = until("the code comes", lambda: receiver.first("postroom.verify"))["data"]["code"]
    assert recorded.ask("POST", f"{targets}/{made['id']}/verify", {"code": code}, token).status_code == 200
    until(
        "the message is accepted", lambda: alice.send(Dm3Draft(BOB, "good morning")).fate is SendOutcome.TAKEN or None
    )
    until("it is filed, with a postmark", lambda: recorded.demo_deployment.filed(BOB) or None)
    sent = story.envelope(demo_stack.sender, {"Text": "Good morning"}, to=SAFE)
    assert recorded.ask("POST", f"{at}/inbox", sent).status_code == 200
    story.find_filed(recorded.demo_deployment, SAFE, sent)
    until("the webhook is told", lambda: receiver.first("postroom.waiting"))
    correlation = forged["Header"]["Correlation"]  # type: ignore[index, call-overload]

    def feedback() -> object:
        filed = demo_stack.buffer.filed(demo_stack.sender.domain, f"feedback:{correlation}")
        return next((it for it in filed if envelope_of(it)["Header"]["From"] == SAFE), None)

    until("the sender's buffer has our Feedback", feedback)
    with Mailbox(at, SAFE, owner, ca_file=demo_stack.stack.authority.pem, connect=_gateway(demo_stack)) as mailbox:
        for message in mailbox.unread():
            message.acknowledge()
    recorded.demo_deployment.settle()
    demo_stack.stack.edge.drop_host(HOOK)
    return recorded


def _gateway(demo_stack: DemoStack) -> tuple[str, int]:
    return "127.0.0.1", demo_stack.stack.edge.port


def _https(demo_stack: DemoStack) -> HttpsClient:
    trusted = str(demo_stack.stack.authority.pem)
    return HttpsClient(lambda _: ["127.0.0.1"], port=demo_stack.stack.edge.port, allow_private=True, ca_file=trusted)


def _logs(recorded: RecordedDeployment) -> str:
    return "\n".join(line.text for line in recorded.demo_deployment.deployment.logs())


def _sign_in(recorded: RecordedDeployment, at: str, owner: PrivateKey) -> str | None:
    answer = _ask_for_token(recorded, at, SAFE, owner)
    return str(answer.json()) if answer.status_code == 200 else None


def _ask_for_token(recorded: RecordedDeployment, at: str, name: str, owner: PrivateKey) -> httpx.Response:
    challenge = recorded.ask("GET", f"{at}/auth/{name}")
    if challenge.status_code != 200:
        return challenge
    signature = base64.b64encode(owner.sign(challenge.json().encode())).decode()
    return recorded.ask("POST", f"{at}/auth/{name}", {"challenge": challenge.json(), "signature": signature})


def _added(recorded: RecordedDeployment, targets: str, hook: dict[str, str], token: str) -> Any:
    answer = recorded.ask("POST", targets, hook, token)
    return answer.json() if answer.status_code == 200 else None


def everything(recorded: RecordedDeployment) -> dict[str, bytes]:
    """What anybody may come to see, here and where Feedback of ours was filed."""
    return {
        **left_behind(recorded.demo_deployment.deployment),
        **{f"{BUFFER}: {place}": data for place, data in left_behind(recorded.demo_stack.buffer.deployment).items()},
        **files_in(recorded.demo_stack.stack.emulator.directory),
        **recorded.seen,
    }


def test_no_key_is_found_outside_its_secret(played: RecordedDeployment, keys: dict[str, bytes]) -> None:
    left = everything(played)
    looked_at = {place.split(" ")[0] for place, data in left.items() if data}
    assert looked_at >= {"log", "table", "object", "function", "stack", "file", "answer", "request"}
    assert leaks(left, keys) == []


def test_an_invalid_secret_is_reported_by_its_name(played: RecordedDeployment) -> None:
    said = _logs(played)
    assert [name for name in NAMES if played.said(name) not in said] == []


@pytest.fixture
def planted(played: RecordedDeployment, keys: dict[str, bytes]) -> Iterator[list[str]]:
    """The domain's key, written down in each place there is; what is found of it."""
    client, outputs = played.demo_deployment.deployment.client, played.demo_deployment.deployment.outputs
    key = keys["the domain's key"]
    logs, group = client("logs"), "/aws/lambda/planted"
    client("dynamodb").put_item(
        TableName=outputs["LimitsTable"], Item={"pk": {"S": "planted"}, "k": {"M": {"a": {"B": key}}}}
    )
    client("s3").put_object(Bucket=outputs["Bucket"], Key="planted", Body=b"\x00" + key.hex().encode())
    client("sqs").send_message(
        QueueUrl=outputs["DeadLetterQueueUrl"], MessageBody=json.dumps({"k": base64.b64encode(key).decode()})
    )
    logs.create_log_group(logGroupName=group)
    logs.create_log_stream(logGroupName=group, logStreamName="s")
    event = {"timestamp": 1_795_253_400_000, "message": f"ValueError: {key[:20]!r} is no key"}
    logs.put_log_events(logGroupName=group, logStreamName="s", logEvents=[event])  # type: ignore[list-item]
    name = client("lambda").list_functions()["Functions"][0]["FunctionName"]
    before = client("lambda").get_function_configuration(FunctionName=name)["Environment"]["Variables"]
    pem = played.secret("SigningKeys")[SAFE]["pem"]
    client("lambda").update_function_configuration(FunctionName=name, Environment={"Variables": {**before, "KEY": pem}})
    played.see("answer that tells", json.dumps([*key]).encode())
    file = Path(played.demo_stack.stack.emulator.directory) / "planted"
    file.write_text(base64.urlsafe_b64encode(b"x" + key).decode())
    yield leaks(everything(played), keys)
    file.unlink()


def test_a_leaked_key_would_be_found(planted: list[str]) -> None:
    places = {found.partition(":")[0].split(" ")[0] for found in planted}
    assert places == {"table", "object", "queue", "log", "function", "answer", "file"}
    assert {found.rpartition(": ")[2].partition(",")[0] for found in planted} == {"the domain's key"}
