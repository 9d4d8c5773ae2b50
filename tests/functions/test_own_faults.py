"""Failures of our own: one table, one test. `python -m …test_own_faults` writes it into docs/operate/own-faults.md.

Each row runs a real handler from its cold start, with one thing wrong around it: a resource is really gone (moto), or
AWS refuses every call of a service in its own words.
"""

import json
import re
import time
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import boto3
import pytest
from botocore.awsrequest import AWSResponse, HTTPHeaders
from botocore.exceptions import ClientError
from tests.aws import resources
from tests.contents import with_contents
from tests.fakes.endpoints import Answer, fake_endpoint
from tests.functions.delivery_service import open_service, put_registry
from tests.functions.logs import log_lines, metrics
from tests.functions.samples import (
    ALICE,
    BOB,
    MADE_AT,
    RECEIVER,
    SENDER,
    SOCKET_HOST,
    SUBJECT,
    dcp_connect,
    dcp_event,
    dcp_key,
    discarded_row,
    envelope,
    events,
    http,
    profile_uri,
    published_key,
    service_keys,
    sqs,
    text_of,
    user_keys,
)
from tests.functions.stack import FunctionsStack, Json
from tests.functions.test_mailbox import sign_in
from tests.functions.test_notifications import hook as hook
from tests.functions.test_notifications import watch
from tests.names.ens.nodes import TextNode

from postroom.core.errors import SettingsError
from postroom.core.settings import DeploymentSettings
from postroom.names.registry import PROFILE_KEY
from postroom.protocols.dcp.messages import Allowance
from postroom.protocols.dcp.payload import NewRequest, new_payload, request_body
from postroom.protocols.dcp.signed_message import read_signed_message, sign_body
from postroom.protocols.nlweb.reasons import SIGNATURE_INVALID
from postroom.protocols.nlweb.subjects import SubjectRule, Treatment
from postroom.storage.directory.domains import Dm3Mailbox, Domain
from postroom.storage.directory.operators import Operators
from postroom.storage.secrets.chain_endpoints import ChainEndpointUrls

DOCUMENT = Path(__file__).parent.parent.parent / "docs" / "operate" / "own-faults.md"
LONG_AGO = MADE_AT - 7 * 86_400
TARGET = "arn:aws:sqs:eu-west-1:123456789012:orders"


class Then(StrEnum):
    """What becomes of what was asked."""

    NOT_QUEUED = "503 `NotQueued`"
    STORE = "503 `StoreUnavailable`"
    NO_HANDLER = "503 `HandlerFailed`"
    CLOSED = "503 `CounterClosed`"
    CONTENT = "503 `ContentUnavailable`"
    NO_KEY = "503 `SigningKeyUnavailable`"
    DCP_STORE = "200, and `StoreUnavailable` in the signed answer"
    DCP_DUPLICATE = "200, and `EDUP` in the signed answer, as without the fault; the id of the request stays used"
    RPC = "503, and -32603 of JSON-RPC"
    RPC_LATER = "503, and -32002 of JSON-RPC"
    RPC_LOOK_UP = "200, and -32002 of JSON-RPC"
    REFUSED = "refused as without the fault, and the WebSocket stays open"
    WAITS = "it stays queued, and is tried again"
    AGAIN = "SQS delivers it again, and in the end moves it to the dead-letter queue"
    STAYS = "the dead letter stays in its queue"
    FAILS = "the run fails; the next one is 15 minutes later"


# --- what the functions are asked ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Work:
    """A function at work. `ready`: makes the event, where nothing is wrong yet; `became`: what its answer means."""

    function: str
    what: str
    ready: Callable[[FunctionsStack], Json]
    became: Callable[[FunctionsStack, Json], Then]


def _problem(_running: FunctionsStack, answer: Json) -> Then:
    return Then(f"{answer['statusCode']} `{json.loads(answer['body'])['reason']}`")


def _rpc(_running: FunctionsStack, answer: Json) -> Then:
    error = json.loads(answer["body"])["error"]
    return Then(f"{answer['statusCode']}, and {error['code']} of JSON-RPC")


def _from_newcomer(running: FunctionsStack) -> Json:
    store, at = running.deployed, DeploymentSettings().dm3_registry
    pinned = json.loads(store.clients.s3.get_object(Bucket=store.bucket, Key=at)["Body"].read())
    put_registry(store, json.dumps({BOB: pinned[BOB]}).encode())
    return events()["dm3-submit.json"]


def _dcp(running: FunctionsStack, answer: Json) -> Then:
    if answer["statusCode"] != 200:
        return _problem(running, answer)
    code = read_signed_message(answer["body"].encode()).body["payload"]["code"]
    if code == "EDUP":
        # Of a session, of the request that the stamp was used by, and the id of this one.
        assert len(running.deployed.rows("DcpTable")) == 4
        return Then.DCP_DUPLICATE
    assert code == "StoreUnavailable"
    return Then.DCP_STORE


def _refused(_running: FunctionsStack, answer: Json) -> Then:
    assert json.loads(answer["body"])["reason"] == "NotJson"
    return Then.REFUSED


def _batch(running: FunctionsStack, answer: Json) -> Then:
    if answer["batchItemFailures"]:
        return Then.AGAIN
    assert sum(len(running.deployed.bodies(queue)) for queue in ("RetryQueue", "CourierQueue", "FeedbackQueue")) == 1
    return Then.WAITS


def _dead_letters(running: FunctionsStack, answer: Json) -> Then:
    assert (answer["decided"], answer["unreadable"]) == (0, 0)
    return Then.STAYS


def _large(_running: FunctionsStack) -> Json:
    body = text_of(envelope(8, MADE_AT, {"Text": "x" * 1_020_000})).encode()
    return http("POST", f"https://nlweb.{RECEIVER}/inbox", MADE_AT, body, {"content-type": "application/json"})


def _to_handler(running: FunctionsStack) -> Json:
    _operators(running).put_subject(RECEIVER, SubjectRule("Order@Shop", Treatment.SYNC, "lambda:orders"))
    body = text_of(envelope(8, MADE_AT, {}, "Order@Shop")).encode()
    return http("POST", f"https://nlweb.{RECEIVER}/inbox", MADE_AT, body, {"content-type": "application/json"})


def _claim(_running: FunctionsStack) -> Json:
    event = events()["worker-claims.json"]
    return event | {"Records": event["Records"][:1]}


def _forged(_running: FunctionsStack) -> Json:
    event = events()["worker-claims.json"]
    return event | {"Records": event["Records"][1:]}


def _large_claim(running: FunctionsStack) -> Json:
    running.invoke("InboxFunction", _large(running))
    return _queued(running)


def _dm3_claim(running: FunctionsStack) -> Json:
    running.invoke("Dm3Function", events()["dm3-submit.json"])
    return _queued(running)


def _to_queue(running: FunctionsStack) -> Json:
    _operators(running).put_subject(RECEIVER, SubjectRule("Order@Shop", Treatment.FORWARD, TARGET))
    body = text_of(envelope(8, MADE_AT, {}, "Order@Shop")).encode()
    posted = http("POST", f"https://nlweb.{RECEIVER}/inbox", MADE_AT, body, {"content-type": "application/json"})
    running.invoke("InboxFunction", posted)
    return _queued(running)


def _queued(running: FunctionsStack) -> Json:
    [body] = running.deployed.bodies("ClaimsQueue")
    return sqs("ClaimsQueue", MADE_AT, body)


def _dead_letter(running: FunctionsStack) -> Json:
    store = running.deployed
    body = events(LONG_AGO)["worker-claims.json"]["Records"][0]["body"]
    store.clients.sqs.send_message(QueueUrl=store.queues["DeadLetterQueue"], MessageBody=body)
    return {}


def _feedback(running: FunctionsStack) -> Json:
    register = running.deployed.storage.register
    register.discard(discarded_row(MADE_AT), SIGNATURE_INVALID, MADE_AT + 86_400)
    return events()["feedback-discard.json"]


def _waiting(_running: FunctionsStack) -> Json:
    return events()["courier-waiting.json"]


def _asking(method: str, path: str, body: object = None) -> Callable[[FunctionsStack], Json]:
    """A request of the mailbox's owner, who is signed in."""

    def ready(running: FunctionsStack) -> Json:
        store = running.deployed
        _operators(running).put_domain(Domain(RECEIVER, buffer=True, signs=True))
        mailboxes = store.storage.mailboxes
        mailboxes.set_keys(RECEIVER, [b64encode(published_key().public.spki()).decode()])
        running.invoke("WorkerFunction", _claim(running))
        headers = {"content-type": "application/json", "authorization": f"Bearer {sign_in(running)}"}
        data = b"" if body is None else json.dumps(body).encode()
        return http(method, f"https://nlweb.{RECEIVER}{path}", MADE_AT, data, headers)

    return ready


def _status(running: FunctionsStack) -> Json:
    return _status_after(running, dcp_connect(), "1")


def _status_again(running: FunctionsStack) -> Json:
    """Another request with the same stamp."""
    first = _status(running)
    return _status_after(running, first["body"].encode(), "2")


def _status_after(running: FunctionsStack, message: bytes, name: str) -> Json:
    """The owner's next request in the session of a message, which is sent first."""
    running.deployed.storage.mailboxes.set_keys(RECEIVER, [b64encode(dcp_key().spki()).decode()])
    answer = read_signed_message(running.invoke("DcpFunction", dcp_event(message))["body"].encode())
    allow = [Allowance(dcp_key().address, answer.owner, dcp_key().address)]
    validity = {"time": MADE_AT, "stamp": "1"}
    payload = new_payload("status", {"mailbox": RECEIVER}, allow=allow, validity=validity)
    members = {"dcpsid": answer.body["dcpsid"], "nonce": answer.body["nonce"]}
    body = {**request_body(NewRequest(payload, (dcp_key(),)), payload, name, hex_prefix=False), **members}
    return dcp_event(sign_body(body, dcp_key()))


def _waiting_session(running: FunctionsStack) -> Json:
    """What is queued for a session that waits for mail, when there is some."""
    watch(running)
    running.invoke("CourierFunction", _waiting(running))
    [body] = running.deployed.bodies("CourierQueue")
    running.deployed.empty("CourierQueue")
    return sqs("CourierQueue", MADE_AT, body)


def _operators(running: FunctionsStack) -> Operators:
    return running.deployed.storage.operators


INBOX = Work("InboxFunction", "a message", lambda _: events()["inbox-post.json"], _problem)
LARGE = Work("InboxFunction", "a message too large for the queue", _large, _problem)
SYNC = Work("InboxFunction", "a synchronous request", _to_handler, _problem)
DM3 = Work("Dm3Function", "a dm3 message", lambda _: events()["dm3-submit.json"], _rpc)
DM3_NEWCOMER = Work("Dm3Function", "a dm3 message of a sender who is not pinned", _from_newcomer, _rpc)
CLAIM = Work("WorkerFunction", "a claim", _claim, _batch)
FORGED = Work("WorkerFunction", "a forged message that requires Feedback", _forged, _batch)
LARGE_CLAIM = Work("WorkerFunction", "a claim too large for the queue", _large_claim, _batch)
DM3_CLAIM = Work("WorkerFunction", "a dm3 message", _dm3_claim, _batch)
FORWARD = Work("WorkerFunction", "a message to forward to an operator's queue", _to_queue, _batch)
SILENT = Work("WaitingFunction", "a claim of a silent zone", lambda _: events()["waiting-claims.json"], _batch)
DEAD = Work("DeadLetterFunction", "a dead letter near its horizon", _dead_letter, _dead_letters)
FEEDBACK = Work("FeedbackFunction", "Feedback", _feedback, _batch)
TELL = Work("CourierFunction", "a notification", _waiting, _batch)
CHALLENGE = Work("MailboxFunction", "a sign-in", lambda _: events()["mailbox-challenge.json"], _problem)
PAGE = Work("MailboxFunction", "a list of messages", _asking("GET", f"/mailboxes/{RECEIVER}/messages"), _problem)
SEND = Work(
    "MailboxFunction", "a message to send",
    _asking("POST", f"/mailboxes/{RECEIVER}/outbox", {"token": "t", "to": SENDER, "subject": SUBJECT, "body": {}}),
    _problem,
)  # fmt: skip
TARGETS = Work(
    "MailboxFunction", "a new webhook",
    _asking("POST", f"/mailboxes/{RECEIVER}/notifications", {"kind": "webhook", "to": "https://hook.example/"}),
    _problem,
)  # fmt: skip
TELL_SESSION = Work("CourierFunction", "a session of DCP that waits for mail", _waiting_session, _batch)
BAD_MESSAGE = Work(
    "DcpFunction", "a bad message of DCP over a WebSocket",
    lambda _: {**events()["dcp-socket.json"], "body": "hello"}, _refused,
)  # fmt: skip
CONNECT = Work("DcpFunction", "a connect of DCP", lambda _: dcp_event(dcp_connect()), _problem)
STATUS = Work("DcpFunction", "a request of DCP", _status, _dcp)
STATUS_AGAIN = Work("DcpFunction", "a request of DCP whose stamp was used", _status_again, _dcp)


# --- what is wrong ---------------------------------------------------------------------------------------------------


TABLE = "A table does not exist"
BUCKET = "The bucket does not exist"
QUEUE = "A queue does not exist"
FUNCTION = "A handler function does not exist"
NO_SECRET = "A secret does not exist"
IN_THE_BIN = "A secret is marked for deletion"
DENIED = "Access is denied"
FUNCTION_DENIED = "Access to a handler function is denied"
QUEUE_DENIED = "Access to a queue is denied"
QUOTA = "AWS is throttling"
NO_KEY = "A domain has no signing key"
ENDPOINT_FAILS = "An endpoint of the chain fails"
ENDPOINTS_DISAGREE = "Endpoints of the chain disagree"
METRICS = {
    QUOTA: "QuotaExhausted",
    ENDPOINT_FAILS: "EndpointFailed",
    ENDPOINTS_DISAGREE: "EndpointDisagreed",
}
"""Of failures that are not `OwnFault`."""


def strike(service: str, status: int, code: str, operation: str = "") -> None:
    """From now on AWS refuses every call of a service, or of one of its operations, to instances that start."""

    def refuse(**_: object) -> tuple[AWSResponse, Json]:
        answer = AWSResponse(f"https://{service}.example/", status, HTTPHeaders(), None)
        said = {"Error": {"Code": code, "Message": code}, "ResponseMetadata": {"HTTPStatusCode": status}}
        return answer, said

    assert boto3.DEFAULT_SESSION
    boto3.DEFAULT_SESSION.events.register(f"before-call.{service}{operation and f'.{operation}'}", refuse)


def denied(service: str, operation: str = "") -> Callable[[FunctionsStack], None]:
    code = "AccessDenied" if service in ("s3", "sqs") else "AccessDeniedException"
    return lambda _: strike(service, 403 if service in ("s3", "sqs", "lambda") else 400, code, operation)


def throttled(service: str, code: str, status: int = 400) -> Callable[[FunctionsStack], None]:
    return lambda _: strike(service, status, code)


def no_table(name: str) -> Callable[[FunctionsStack], None]:
    return lambda running: running.deployed.clients.dynamodb.delete_table(TableName=name) and None


def no_bucket(running: FunctionsStack) -> None:
    store = running.deployed
    for name in store.objects():
        store.clients.s3.delete_object(Bucket=store.bucket, Key=name)
    store.clients.s3.delete_bucket(Bucket=store.bucket)


def no_queue(name: str) -> Callable[[FunctionsStack], None]:
    return lambda running: running.deployed.clients.sqs.delete_queue(QueueUrl=running.deployed.queues[name]) and None


def no_secret(name: str) -> Callable[[FunctionsStack], None]:
    def remove(running: FunctionsStack) -> None:
        store = running.deployed
        store.clients.secrets.delete_secret(SecretId=store.secrets[name], ForceDeleteWithoutRecovery=True)

    return remove


def secret_in_the_bin(name: str) -> Callable[[FunctionsStack], None]:
    def remove(running: FunctionsStack) -> None:
        running.deployed.clients.secrets.delete_secret(SecretId=running.deployed.secrets[name])

    return remove


def bad_secret(name: str, text: str) -> Callable[[FunctionsStack], None]:
    def write(running: FunctionsStack) -> None:
        store = running.deployed
        store.clients.secrets.put_secret_value(SecretId=store.secrets[name], SecretString=text)

    return write


@dataclass(frozen=True)
class Row:
    """One failure. `on`, `action`: what the log names, of secrets without the end that AWS adds to their ARN.

    `sockets`: what API Gateway answers to whoever sends over a WebSocket. `endpoints`: what each endpoint of the chain
    answers, if there are any.
    """

    failure: str
    work: Work
    befalls: Callable[[FunctionsStack], None]
    on: str
    action: str
    then: Then
    sockets: int = 200
    endpoints: tuple[Answer, ...] = ()

    @property
    def what(self) -> str:
        """What the sentence names, as a reader of the page knows it."""
        known = {"bucket bucket": "the bucket", _SOCKETS: "the WebSocket API", _ENDPOINT: "an endpoint"}
        on = known.get(self.on, self.on.replace(_SECRET, "secret "))
        return f"{on}: `{self.action}`" if self.action else on

    @property
    def sentence(self) -> str:
        return SENTENCES[self.failure].format(on=self.on, action=self.action)


_SOCKETS = f"WebSocket API wss://{SOCKET_HOST}/dcp"
_ENDPOINT = "endpoint 127.0.0.1 of the chain"
_SECRET = "secret arn:aws:secretsmanager:eu-west-1:123456789012:secret:"
SECRETS = {
    "SigningKeys": '{{"<domain>": {{"selector": "<selector>", "pem": "<PKCS#8>"}}, …}} (postroom domain add --key)',
    "DeliveryServiceKeys": '{{"signing": "<key>", "encryption": ["<key>", …]}} (postroom dm3 keygen --service)',
    "TokenKeys": '{{"<epoch seconds>": "<random text>", …}}, at least one of them in the past '
    "(postroom mailbox rotate-keys)",
    "WebhookKeys": '{{"0": "<random text>"}}; a different text changes the secret of every webhook',
    "DcpIdentities": '{{"<epoch seconds>": "<random text>", …}}, at least one of them in the past '
    "(postroom dcp identity rotate)",
    "ChainEndpoints": '{{}} or {{"endpoints": ["https://…", …]}} (postroom dm3 chain put)',
}  # fmt: skip
"""What each must hold, as braces are written in a format."""
_DENIED = (
    "{on}: the function's role does not allow {action}. Deploy the stack again%s; if that does not help, look for a "
    "policy that denies it: of the resource, its KMS key, or the organization"
)
SENTENCES = {
    TABLE: (
        "{on}: it does not exist ({action}). Restore it under this name from its backup, and enable again what a "
        "restore does not include: TTL, point-in-time recovery, deletion protection"
    ),
    BUCKET: (
        "{on}: it does not exist ({action}). Create it again under this name, and restore its objects from a copy, if "
        "there is one"
    ),
    QUEUE: (
        "{on}: it does not exist ({action}). Create it again under this name, as in template.yaml; an operator's: as "
        "the Subject's rule names it"
    ),
    FUNCTION: ("{on}: it does not exist ({action}). Create it again, or change the Subject's rule (postroom subject)"),
    NO_SECRET: (
        "{on}: it does not exist ({action}). Restore it (aws secretsmanager restore-secret), or set its value again"
    ),
    IN_THE_BIN: (
        "{on}: it is marked for deletion. Restore it (aws secretsmanager restore-secret) before its recovery window "
        "ends"
    ),
    DENIED: _DENIED % "",
    FUNCTION_DENIED: _DENIED % " (parameter HandlerFunctionArns)",
    QUEUE_DENIED: _DENIED % " (parameter ForwardQueueArns, if it is an operator's)",
    QUOTA: (
        "{on}: AWS is throttling {action}. The request waits, or was refused for now; if this lasts, "
        "raise the limit of the resource or the account's quota (AWS Service Quotas)"
    ),
    NO_KEY: (
        "no signing key is stored for {on}: its messages, including Feedback, wait, and are given up in the end. "
        "Store one (postroom domain add {on} --key … --selector …)"
    ),
    ENDPOINT_FAILS: (
        "{on}: {action}. The next one of the list is used, if there is one; if this lasts, look at the status and the "
        "limits of its provider, or replace it (postroom dm3 chain put)"
    ),
    ENDPOINTS_DISAGREE: (
        "{on}: it does not say what others say, and is not believed. If it is always this one, it does not follow the "
        "chain, or lies: replace it (postroom dm3 chain put)"
    ),
    **{
        f"The content of {name} is malformed": (
            f"{{on}}: it must contain {form}. Restore its previous version (aws secretsmanager "
            "update-secret-version-stage), or set it again"
        )
        for name, form in SECRETS.items()
    },
}


def _of_secrets() -> Iterator[Row]:
    uses: dict[str, dict[Work, Then]] = {
        "SigningKeys": {FEEDBACK: Then.WAITS},
        "DeliveryServiceKeys": {DM3: Then.RPC_LATER, DM3_CLAIM: Then.WAITS},
        "TokenKeys": {CHALLENGE: Then.NO_KEY},
        "WebhookKeys": {TARGETS: Then.NO_KEY},
        "DcpIdentities": {CONNECT: Then.NO_KEY, TELL_SESSION: Then.WAITS},
        "ChainEndpoints": {DM3_NEWCOMER: Then.RPC_LOOK_UP},
    }
    read = "secretsmanager:GetSecretValue"
    for name, works in uses.items():
        for work, then in works.items():
            yield Row(NO_SECRET, work, no_secret(name), _SECRET + name, read, then)
            yield Row(IN_THE_BIN, work, secret_in_the_bin(name), _SECRET + name, read, then)
    for name, works in uses.items():
        for text in ("no JSON", '["a", "list"]', *_MALFORMED[name]):
            for work, then in works.items():
                failure = f"The content of {name} is malformed"
                yield Row(failure, work, bad_secret(name, text), _SECRET + name, "", then)


def _node(texts: dict[str, dict[str, str]]) -> TextNode:
    """A node that knows these texts, at the time of the samples."""
    node = TextNode(texts)
    node.clock = lambda: MADE_AT
    return node


_KEY = "c2VjcmV0LWtleS1ieXRlcy1vZi1vdXItb3duLTMyYnl0ZXM"
_MALFORMED = {
    "SigningKeys": (f'{{"{RECEIVER}": "{_KEY}"}}', f'{{"{RECEIVER}": {{"selector": "pk1", "pem": "{_KEY}"}}}}'),
    "DeliveryServiceKeys": (f'{{"signing": "{_KEY}", "encryption": ["{_KEY}"]}}', f'{{"signing": "{_KEY}"}}'),
    "TokenKeys": (f'{{"{_KEY}": "0"}}', '{"0": 7}', "{}"),
    "WebhookKeys": (f'{{"{_KEY}": "0"}}', '{"0": 7}', "{}"),
    "DcpIdentities": (f'{{"{_KEY}": "0"}}', '{"0": 7}', "{}"),
    "ChainEndpoints": (f'{{"endpoints": "https://rpc.example/{_KEY}"}}', f'{{"endpoints": ["rpc.example/{_KEY}"]}}'),
}
ROWS = [
    Row(TABLE, INBOX, no_table("DirectoryTable"), "table DirectoryTable", "dynamodb:Query", Then.NOT_QUEUED),
    Row(TABLE, DM3, no_table("DirectoryTable"), "table DirectoryTable", "dynamodb:Query", Then.RPC),
    Row(TABLE, SYNC, no_table("SeenTable"), "table SeenTable", "dynamodb:PutItem", Then.NOT_QUEUED),
    Row(TABLE, CLAIM, no_table("DirectoryTable"), "table DirectoryTable", "dynamodb:Query", Then.AGAIN),
    Row(TABLE, CLAIM, no_table("LimitsTable"), "table LimitsTable", "dynamodb:GetItem", Then.AGAIN),
    Row(TABLE, CLAIM, no_table("SeenTable"), "table SeenTable", "dynamodb:PutItem", Then.AGAIN),
    Row(TABLE, CLAIM, no_table("PostTable"), "table PostTable", "dynamodb:PutItem", Then.AGAIN),
    Row(TABLE, FORGED, no_table("PostTable"), "table PostTable", "dynamodb:PutItem", Then.AGAIN),
    Row(TABLE, SILENT, no_table("LimitsTable"), "table LimitsTable", "dynamodb:GetItem", Then.AGAIN),
    Row(TABLE, DEAD, no_table("PostTable"), "table PostTable", "dynamodb:PutItem", Then.STAYS),
    Row(TABLE, FEEDBACK, no_table("SeenTable"), "table SeenTable", "dynamodb:GetItem", Then.AGAIN),
    Row(TABLE, FEEDBACK, no_table("PostTable"), "table PostTable", "dynamodb:GetItem", Then.AGAIN),
    Row(TABLE, FEEDBACK, no_table("LimitsTable"), "table LimitsTable", "dynamodb:UpdateItem", Then.AGAIN),
    Row(TABLE, TELL, no_table("DirectoryTable"), "table DirectoryTable", "dynamodb:UpdateItem", Then.AGAIN),
    Row(TABLE, PAGE, no_table("DirectoryTable"), "table DirectoryTable", "dynamodb:Query", Then.CLOSED),
    Row(TABLE, PAGE, no_table("PostTable"), "table PostTable", "dynamodb:GetItem", Then.CLOSED),
    Row(TABLE, SEND, no_table("OutboxTable"), "table OutboxTable", "dynamodb:PutItem", Then.CLOSED),
    Row(TABLE, STATUS, no_table("DcpTable"), "table DcpTable", "dynamodb:UpdateItem", Then.CLOSED),
    Row(BUCKET, LARGE, no_bucket, "bucket bucket", "s3:PutObject", Then.NOT_QUEUED),
    Row(BUCKET, DM3, no_bucket, "bucket bucket", "s3:GetObject", Then.RPC_LATER),
    Row(BUCKET, CLAIM, no_bucket, "bucket bucket", "s3:PutObject", Then.AGAIN),
    Row(BUCKET, LARGE_CLAIM, no_bucket, "bucket bucket", "s3:GetObject", Then.AGAIN),
    Row(BUCKET, PAGE, no_bucket, "bucket bucket", "s3:GetObject", Then.CONTENT),
    Row(QUEUE, INBOX, no_queue("ClaimsQueue"), "queue ClaimsQueue", "sqs:SendMessage", Then.NOT_QUEUED),
    Row(QUEUE, DM3, no_queue("ClaimsQueue"), "queue ClaimsQueue", "sqs:SendMessage", Then.RPC),
    Row(QUEUE, FORGED, no_queue("FeedbackQueue"), "queue FeedbackQueue", "sqs:SendMessage", Then.AGAIN),
    Row(QUEUE, FORWARD, lambda _: None, "queue orders", "sqs:GetQueueUrl", Then.WAITS),
    Row(QUEUE, SILENT, no_queue("RetryQueue"), "queue RetryQueue", "sqs:SendMessage", Then.AGAIN),
    Row(QUEUE, DEAD, no_queue("DeadLetterQueue"), "queue DeadLetterQueue", "sqs:ReceiveMessage", Then.FAILS),
    Row(QUEUE, SEND, no_queue("CourierQueue"), "queue CourierQueue", "sqs:SendMessage", Then.CLOSED),
    Row(FUNCTION, SYNC, throttled("lambda", "ResourceNotFoundException", 404),
        "function orders", "lambda:Invoke", Then.NO_HANDLER),
    *_of_secrets(),
    Row("The content of DeliveryServiceKeys is malformed", DM3_CLAIM, bad_secret("DeliveryServiceKeys", "{}"),
        _SECRET + "DeliveryServiceKeys", "", Then.WAITS),
    Row(ENDPOINT_FAILS, DM3_NEWCOMER, lambda _: None, _ENDPOINT, "it answered with status 503", Then.RPC_LOOK_UP,
        endpoints=(lambda _: (503, {}, b""), _node({}))),
    Row(ENDPOINTS_DISAGREE, DM3_NEWCOMER, lambda _: None, _ENDPOINT, "", Then.RPC_LOOK_UP,
        endpoints=(_node({}), _node({ALICE: {PROFILE_KEY: "data:,"}}))),
    Row(NO_KEY, FEEDBACK, bad_secret("SigningKeys", "{}"), RECEIVER, "", Then.WAITS),
    Row(DENIED, INBOX, denied("dynamodb"), "table DirectoryTable", "dynamodb:Query", Then.NOT_QUEUED),
    Row(DENIED, DM3, denied("dynamodb"), "table DirectoryTable", "dynamodb:Query", Then.RPC),
    Row(DENIED, DM3, denied("secretsmanager"), _SECRET + "DeliveryServiceKeys", "secretsmanager:GetSecretValue",
        Then.RPC_LATER),
    Row(DENIED, LARGE, denied("s3"), "bucket bucket", "s3:PutObject", Then.NOT_QUEUED),
    Row(DENIED, CLAIM, denied("dynamodb"), "table LimitsTable", "dynamodb:GetItem", Then.AGAIN),
    Row(DENIED, CLAIM, denied("s3"), "bucket bucket", "s3:PutObject", Then.AGAIN),
    Row(DENIED, LARGE_CLAIM, denied("s3"), "bucket bucket", "s3:GetObject", Then.AGAIN),
    Row(DENIED, DM3_CLAIM, denied("secretsmanager"), _SECRET + "DeliveryServiceKeys",
        "secretsmanager:GetSecretValue", Then.WAITS),
    Row(DENIED, SILENT, denied("dynamodb"), "table LimitsTable", "dynamodb:GetItem", Then.AGAIN),
    Row(DENIED, DEAD, denied("dynamodb"), "table PostTable", "dynamodb:PutItem", Then.STAYS),
    Row(DENIED, TELL, denied("dynamodb"), "table DirectoryTable", "dynamodb:UpdateItem", Then.AGAIN),
    Row(DENIED, FEEDBACK, denied("dynamodb"), "table SeenTable", "dynamodb:GetItem", Then.AGAIN),
    Row(DENIED, FEEDBACK, denied("secretsmanager"), _SECRET + "SigningKeys", "secretsmanager:GetSecretValue",
        Then.WAITS),
    Row(DENIED, CHALLENGE, denied("secretsmanager"), _SECRET + "TokenKeys", "secretsmanager:GetSecretValue",
        Then.NO_KEY),
    Row(DENIED, PAGE, denied("dynamodb"), "table DirectoryTable", "dynamodb:Query", Then.CLOSED),
    Row(DENIED, STATUS, denied("dynamodb", "UpdateItem"), "table DcpTable", "dynamodb:UpdateItem", Then.CLOSED),
    Row(DENIED, STATUS, denied("dynamodb", "PutItem"), "table DcpTable", "dynamodb:PutItem", Then.DCP_STORE),
    Row(DENIED, STATUS_AGAIN, denied("dynamodb", "DeleteItem"), "table DcpTable", "dynamodb:DeleteItem",
        Then.DCP_DUPLICATE),
    Row(DENIED, CONNECT, denied("secretsmanager"), _SECRET + "DcpIdentities", "secretsmanager:GetSecretValue",
        Then.NO_KEY),
    Row(DENIED, TELL_SESSION, denied("secretsmanager"), _SECRET + "DcpIdentities", "secretsmanager:GetSecretValue",
        Then.WAITS),
    Row(DENIED, TELL_SESSION, lambda _: None, _SOCKETS, "execute-api:ManageConnections", Then.WAITS, sockets=403),
    Row(DENIED, BAD_MESSAGE, lambda _: None, _SOCKETS, "execute-api:ManageConnections", Then.REFUSED, sockets=403),
    Row(FUNCTION_DENIED, SYNC, denied("lambda"), "function orders", "lambda:Invoke",
        Then.NO_HANDLER),
    Row(QUEUE_DENIED, INBOX, denied("sqs"), "queue ClaimsQueue", "sqs:SendMessage", Then.NOT_QUEUED),
    Row(QUEUE_DENIED, DM3, denied("sqs"), "queue ClaimsQueue", "sqs:SendMessage", Then.RPC),
    Row(QUEUE_DENIED, FORGED, denied("sqs"), "queue FeedbackQueue", "sqs:SendMessage", Then.AGAIN),
    Row(QUEUE_DENIED, SILENT, denied("sqs"), "queue RetryQueue", "sqs:SendMessage", Then.AGAIN),
    Row(QUEUE_DENIED, DEAD, denied("sqs"), "queue DeadLetterQueue", "sqs:ReceiveMessage", Then.FAILS),
    Row(QUEUE_DENIED, SEND, denied("sqs"), "queue CourierQueue", "sqs:SendMessage", Then.CLOSED),
    Row(QUOTA, INBOX, throttled("dynamodb", "ThrottlingException"), "table DirectoryTable",
        "dynamodb:Query", Then.STORE),
    Row(QUOTA, INBOX, throttled("sqs", "RequestThrottled"), "queue ClaimsQueue", "sqs:SendMessage",
        Then.NOT_QUEUED),
    Row(QUOTA, INBOX, throttled("sqs", "KMS.ThrottlingException"), "queue ClaimsQueue", "sqs:SendMessage",
        Then.NOT_QUEUED),
    Row(QUOTA, LARGE, throttled("s3", "SlowDown", 503), "bucket bucket", "s3:PutObject", Then.NOT_QUEUED),
    Row(QUOTA, SYNC, throttled("lambda", "TooManyRequestsException", 429), "function orders",
        "lambda:Invoke", Then.NO_HANDLER),
    Row(QUOTA, DM3, throttled("dynamodb", "RequestLimitExceeded"), "table DirectoryTable",
        "dynamodb:Query", Then.RPC_LATER),
    Row(QUOTA, DM3, throttled("secretsmanager", "ThrottlingException"), _SECRET + "DeliveryServiceKeys",
        "secretsmanager:GetSecretValue", Then.RPC_LATER),
    Row(QUOTA, CLAIM, throttled("dynamodb", "ProvisionedThroughputExceededException"),
        "table LimitsTable", "dynamodb:GetItem", Then.WAITS),
    Row(QUOTA, CLAIM, throttled("s3", "SlowDown", 503), "bucket bucket", "s3:PutObject", Then.WAITS),
    Row(QUOTA, DM3_CLAIM, throttled("secretsmanager", "ThrottlingException"), _SECRET + "DeliveryServiceKeys",
        "secretsmanager:GetSecretValue", Then.WAITS),
    Row(QUOTA, SILENT, throttled("dynamodb", "ThrottlingException"), "table LimitsTable",
        "dynamodb:GetItem", Then.AGAIN),
    Row(QUOTA, DEAD, throttled("dynamodb", "ThrottlingException"), "table PostTable", "dynamodb:PutItem",
        Then.STAYS),
    Row(QUOTA, TELL, throttled("dynamodb", "ThrottlingException"), "table DirectoryTable",
        "dynamodb:UpdateItem", Then.WAITS),
    Row(QUOTA, TELL_SESSION, lambda _: None, _SOCKETS, "execute-api:ManageConnections", Then.WAITS, sockets=429),
    Row(QUOTA, BAD_MESSAGE, lambda _: None, _SOCKETS, "execute-api:ManageConnections", Then.REFUSED, sockets=429),
    Row(QUOTA, FEEDBACK, throttled("dynamodb", "ThrottlingException"), "table SeenTable",
        "dynamodb:GetItem", Then.WAITS),
    Row(QUOTA, PAGE, throttled("dynamodb", "ThrottlingException"), "table DirectoryTable",
        "dynamodb:Query", Then.STORE),
    Row(QUOTA, SEND, throttled("sqs", "OverLimit", 403), "queue CourierQueue", "sqs:SendMessage",
        Then.STORE),
]  # fmt: skip


SETTINGS = [
    ("InboxFunction", "CLAIMS_QUEUE_URL", ""),
    ("InboxFunction", "NLWEB_MAX_AGE_SECONDS", "many"),
    ("Dm3Function", "DM3_KEYS_SECRET", ""),
    ("WorkerFunction", "SEEN_TABLE", ""),
    ("WorkerFunction", "RETAIN_SECONDS", "604800"),
    ("WaitingFunction", "WAITING_QUEUE_URL", ""),
    ("DeadLetterFunction", "DEAD_LETTER_QUEUE_URL", ""),
    ("DeadLetterFunction", "HORIZON_SECONDS", "a week"),
    ("CourierFunction", "WEBHOOK_KEYS_SECRET", ""),
    ("CourierFunction", "OUTBOUND_PORT", "70000"),
    ("FeedbackFunction", "FEEDBACK_QUEUE_URL", ""),
    ("MailboxFunction", "TOKEN_KEYS_SECRET", ""),
    ("DcpFunction", "DCP_TABLE", ""),
    ("DcpFunction", "DCP_IDENTITIES_SECRET", ""),
    ("DcpFunction", "DCP_SESSION_SECONDS", "many"),
    ("MailboxFunction", "MAILBOX_API_REQUESTS_PER_SECOND", "0"),
]
"""What is set otherwise than template.yaml has it: the function, the variable, its value."""
_MUST = {
    "": "is not set; template.yaml sets it for each function that needs it: deploy again",
    "many": "is 'many'; it must be a whole number",
    "a week": "is 'a week'; it must be a whole number",
    "604800": "is 604800; it must be at least HORIZON_SECONDS + 15 days (1900800), so that messages are "
    "remembered longer than any copy is queued, and under 30 days (2592000)",
    "70000": "is 70000; it must be 1 to 65535",
    "0": "is 0; it must be more than 0",
}


INTRODUCTION = """\
# Faults of the deployment

What operators find in the logs if something is wrong with the deployment, not with a message or its sender, and what
happens to messages meanwhile. No request is answered as successful if it was not executed, and no accepted message is
discarded because of such a fault: it waits for up to a week, as for any other reason ([store
protocol](../design/store-protocol.md)). `tests/functions/test_own_faults.py` runs each row with the real handlers.

The function's log has one line at level ERROR for each fault that a run met, however many messages it affected: the
sentence below. It names the resource, never a message, a mailbox, or the content of a secret. The run also counts it:
as `OwnFault`, or as `QuotaExhausted` if nothing is broken and AWS is throttling. The SDK does not repeat a request
that was denied or whose resource is gone; it has tried a throttled one three times by then.

Endpoints of the chain of ENS that fail or disagree have metrics of their own, because single cases are usual: a
provider limits requests, a new block reaches one endpoint later than another, and the contract of a stranger's name may
run too long, or say something else to everybody. Of an endpoint, only the host is shown, never its URL.

An instance reads a secret when it first needs it, and again after 45 seconds at the earliest: it may take that long to
notice that a secret was repaired. Rules and mailboxes of the directory are cached for half a minute.

S3 gives our roles the same answer if stored bytes are missing and if access is denied. The mailbox API then lists the
message under `unreadable`, and counts it as `MailboxApiUnreadable`, which has an alarm of its own. If access to the
registry of names is denied, it looks as if no registry was set: check the role if names in the registry are unknown.
The worker takes a large claim whose object it may not read for one that was decided before. If the claim has no row, it
reports the denied request.
(S3 answers differently to roles that may list the bucket; ours may not, because the bucket holds the names of owners.)

## A setting is invalid or missing

The function does not start: API Gateway answers 500, SQS delivers the batch again. The sentence is the last line of
the error that AWS Lambda logs, and the start counts as one of the function's `Errors`. Correct the template's
parameter, and deploy.

"""


def document() -> str:
    """docs/operate/own-faults.md as it follows from the tables."""
    lines = [
        *INTRODUCTION.splitlines(),
        "| Function | Logged |",
        "|---|---|",
        *(f"| {_service(function)} | `{variable} {_MUST[value]}` |" for function, variable, value in SETTINGS),
    ]
    for failure, sentence in SENTENCES.items():
        rows = [row for row in ROWS if row.failure == failure]
        shown = sentence.format(on="…", action="…")
        metric = METRICS.get(failure, "OwnFault")
        lines += ["", f"## {failure}", "", f"`{metric}`. Logged: `{shown}`", ""]
        lines += ["| Function | Processing | Resource and request | Result |", "|---|---|---|---|"]
        told = (f"| {_service(row.work.function)} | {row.work.what} | {row.what} | {row.then} |" for row in rows)
        lines += dict.fromkeys(told)
    return with_contents("\n".join(lines) + "\n")


def _service(function: str) -> str:
    """The service of a function, as in its metrics."""
    name: str = resources("AWS::Serverless::Function")[function]["Environment"]["Variables"]["POWERTOOLS_SERVICE_NAME"]
    return name


CONSEQUENCES = {"to be delivered again", "messages to be delivered again"}
"""What else is said at level ERROR: of which messages."""


@pytest.fixture
def ready(running: FunctionsStack) -> FunctionsStack:
    """A deployment in which all that is asked for below would be done."""
    open_service(
        running.deployed,
        service_keys(),
        {name: profile_uri(user_keys(name)) for name in (ALICE, BOB)},
        [Dm3Mailbox(BOB)],
    )
    return running


@pytest.fixture
def put_endpoints(ready: FunctionsStack) -> Iterator[Callable[[Sequence[Answer]], None]]:
    """Stores endpoints of the chain, by what they answer with."""
    with ExitStack() as undo:

        def put(answers: Sequence[Answer]) -> None:
            servers = [undo.enter_context(fake_endpoint(answer)) for answer in answers]
            urls = [f"http://127.0.0.1:{server.port}/{_KEY}" for server in servers]
            store = ready.deployed
            ChainEndpointUrls(store.clients.secrets, store.secrets["ChainEndpoints"], time.time).put(urls)

        yield put


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.failure}: {row.on}: {row.work.what}")
def test_own_fault(
    request: pytest.FixtureRequest,
    ready: FunctionsStack,
    row: Row,
    put_endpoints: Callable[[Sequence[Answer]], None],
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    if row.endpoints:
        put_endpoints(row.endpoints)
    if row.work in (TELL_SESSION, BAD_MESSAGE):
        request.getfixturevalue("hook").answers = [row.sockets]
    event = row.work.ready(ready)
    ready.end()
    ready.deployed.empty("ClaimsQueue")
    before = _discarded(ready)
    capsys.readouterr()
    caplog.clear()
    row.befalls(ready)
    try:
        then = row.work.became(ready, ready.handle(row.work.function, event))
    except ClientError:
        then = Then.FAILS
    assert then is row.then
    output = capsys.readouterr().out
    told = [line["message"] for line in log_lines(output) if line["level"] == "ERROR"]
    assert [_plain(message) for message in told if message not in CONSEQUENCES] == [row.sentence]
    metric = METRICS.get(row.failure, "OwnFault")
    assert metrics(output)[metric] == [1]
    assert ({"OwnFault", *METRICS.values()} - {metric}).isdisjoint(metrics(output))
    for said in (output, caplog.text):
        assert _KEY not in said
        # Of what a sentence explains no stack is shown; where the run itself fails, AWS Lambda shows one.
        assert row.failure == QUOTA or "Traceback" not in said
    if row.on != "table PostTable":
        # Of what was forged that was decided, whether or not somebody can be told now.
        assert _discarded(ready) == before + (row.work is FORGED)


def _plain(message: str) -> str:
    """Without what is different each time: the end of a secret's ARN; and the word for having no more."""
    return re.sub(r"(:secret:\w+)-\w{6}|( is throttling \S+) \(\S+\)", r"\1\2", message)


def _discarded(stack: FunctionsStack) -> int:
    """How many messages were, whatever is wrong with us."""
    rows = stack.deployed.rows("PostTable")
    return sum(row.get("why", {"S": ""})["S"].startswith("discarded") for row in rows)


@pytest.mark.parametrize(("function", "variable", "value"), SETTINGS)
def test_a_setting_that_is_wrong_stops_the_start(
    running: FunctionsStack, function: str, variable: str, value: str
) -> None:
    running.settings[variable] = value
    with pytest.raises(SettingsError) as caught:
        running.start(function)
    assert str(caught.value) == f"{variable} {_MUST[value]}"


def test_a_deployment_without_a_delivery_service_reports_no_fault_of_its_own(
    running: FunctionsStack, capsys: pytest.CaptureFixture[str]
) -> None:
    assert running.handle("Dm3Function", events()["dm3-submit.json"])["statusCode"] == 503
    assert "OwnFault" not in metrics(capsys.readouterr().out)


def test_a_fault_is_reported_in_the_run_that_met_it_alone(
    ready: FunctionsStack, capsys: pytest.CaptureFixture[str]
) -> None:
    url = ready.deployed.queues["ClaimsQueue"]
    ready.deployed.clients.sqs.delete_queue(QueueUrl=url)
    assert ready.handle("InboxFunction", events()["inbox-post.json"])["statusCode"] == 503
    ready.deployed.clients.sqs.create_queue(QueueName="ClaimsQueue")
    capsys.readouterr()
    assert ready.handle("InboxFunction", events()["inbox-post.json"])["statusCode"] == 200
    assert metrics(capsys.readouterr().out) == {"Answered": [1]}


def test_a_fault_of_many_messages_of_a_run_is_reported_once(
    ready: FunctionsStack, capsys: pytest.CaptureFixture[str]
) -> None:
    event = events()["worker-claims.json"]
    event["Records"] += events()["worker-retries.json"]["Records"] + events()["worker-suspects.json"]["Records"]
    no_table("DirectoryTable")(ready)
    ready.handle("WorkerFunction", event)
    assert metrics(capsys.readouterr().out)["OwnFault"] == [1]


def test_a_webhook_is_not_added_while_its_secret_cannot_be_shown(
    ready: FunctionsStack,
) -> None:
    """Its owner would never see the secret, and be told that it exists the next time."""
    event = TARGETS.ready(ready)
    target = json.loads(ready.invoke("MailboxFunction", event)["body"])
    other = event | {"body": json.dumps({"kind": "webhook", "to": "https://other.example/"})}
    rotate = event | {"rawPath": f"{event['rawPath']}/{target['id']}/rotate", "body": ""}
    ready.end()
    bad_secret("WebhookKeys", "{}")(ready)
    before = ready.deployed.rows("DirectoryTable")
    for each in (other, rotate):
        assert ready.invoke("MailboxFunction", each)["statusCode"] == 503
    assert ready.deployed.rows("DirectoryTable") == before


def test_the_document_is_the_table() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == document()


def test_every_function_has_its_rows() -> None:
    functions = {
        "InboxFunction", "Dm3Function", "WorkerFunction", "WaitingFunction", "DeadLetterFunction", "CourierFunction",
        "FeedbackFunction", "MailboxFunction", "DcpFunction",
    }  # fmt: skip
    for failure in (TABLE, DENIED, QUOTA):
        assert {row.work.function for row in ROWS if row.failure == failure} == functions
    assert {function for function, _, _ in SETTINGS} == functions


if __name__ == "__main__":
    DOCUMENT.write_text(document(), encoding="utf-8")
