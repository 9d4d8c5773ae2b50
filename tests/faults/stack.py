"""The functions of the template on the embedded AWS: the real handlers, each with a cold start when first needed."""

import base64
import gc
import io
import json
import os
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import boto3
import botocore.session
import urllib3
from aws_lambda_powertools.utilities.typing import LambdaContext
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials
from tests.aws import Clients, Deployed, deploy
from tests.fakes.executor import SerialExecutor
from tests.faults.clock import CLOCK
from tests.faults.cold import Clients as ColdClients
from tests.faults.fake_internet import SELECTOR, FakeInternet
from tests.faults.fork import in_a_process
from tests.faults.tap import Tap
from tests.functions.delivery_service import open_service
from tests.functions.samples import ALICE, BOB, RECEIVER, dcp_key, profile_uri, published_key, service_keys, user_keys
from tests.functions.stack import ACCOUNT, MOTO_REGION, FunctionsStack
from tests.sessions import share_descriptions

from postroom.local.account import LocalAccount
from postroom.pipeline.look_ups import LookUps
from postroom.protocols.nlweb.subjects import SubjectRule, Treatment
from postroom.runtime import system
from postroom.storage.directory.domains import Dm3Mailbox, Domain
from postroom.storage.mail.replies import MAX_INLINE_BYTES
from postroom.storage.secrets.signing_keys import SigningKeys

Json = dict[str, Any]
HELLO, ORDER, NEWS, NONSENSE = "Hello@Host", "Order@Host", "News@Host", "Nonsense@Nobody"
"""Subjects: filed in the mailbox, forwarded to a queue, forwarded to an event bus, unknown."""
ASK, WHO = "Ask@Host", "Who@Host"
"""Synchronous subjects: of a function of the operator, and of our handler `identity`."""
AT_LENGTH = "at length"
"""With this body, the operator's function gives a reply that is too long for a row."""
WALLET = "5f0d8f9e-0000-4000-8000-00000000000a"
"""A wallet, whose key the operator has stored; all senders here have the same key."""
ORDERS, NEWS_ROOM = "orders", "news"
"""The queues of operators that get the messages with the Subject ORDER, and those of the event bus."""
FUNCTIONS = (
    "InboxFunction", "Dm3Function", "WorkerFunction", "WaitingFunction", "CourierFunction", "FeedbackFunction",
    "DeadLetterFunction", "MailboxFunction", "DcpFunction",
)  # fmt: skip
_AT_ONCE = 25
_SCAN = {"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": "DynamoDB_20120810.Scan"}
_OF_OPERATORS = "registry/"
"""The prefix of objects that operators put."""
_PATIENT = {"DNS_TRY_SECONDS": "20", "DNS_BUDGET_SECONDS": "30", "MANIFEST_SECONDS": "80"}
"""Long time-outs, so that a run does the same calls however busy this machine is."""
_HANDLER = f"""
import uuid

def handler(event, context):
    return {{"execution": str(uuid.uuid4()), "more": "x" * ({MAX_INLINE_BYTES} if event == {AT_LENGTH!r} else 0)}}
"""
"""The operator's function for ASK: each execution gives another reply."""


@dataclass
class FaultStack:
    """A deployment with operators' settings, and the DNS and hosts of other domains."""

    internet: FakeInternet
    deployed: Deployed
    tap: Tap
    at: LocalAccount
    log: Path
    """The log of the functions, which includes the ledger of the inboxes."""
    outside: dict[str, str] = field(default_factory=dict)
    """The URLs of the operators' queues."""
    _clients: ColdClients = field(default_factory=ColdClients)
    _http: urllib3.PoolManager = field(default_factory=urllib3.PoolManager)
    _functions: FunctionsStack = field(init=False)
    _settings: dict[str, str] = field(default_factory=dict)

    @staticmethod
    def create(at: LocalAccount, internet: FakeInternet, log: Path) -> "FaultStack":
        """Deploy, set up, and load the functions."""
        share_descriptions()
        session = botocore.session.get_session()
        session.set_credentials(at.digits, at.secret)
        session.set_config_variable("region", MOTO_REGION)
        deployed = Deployed(_clients(at))
        made = in_a_process(lambda: _set_up(at, deployed.clients))
        assert isinstance(made, dict)
        deployed.tables, deployed.queues = made["tables"], made["queues"]
        deployed.secrets = {name: name for name in made["secrets"]}
        stack = FaultStack(internet, deployed, Tap(), at, log, made["outside"])
        stack.tap.watch(session)
        stack._load(session)
        # After a fork, garbage collection would copy every page that it touches.
        gc.collect()
        gc.freeze()
        return stack

    def _load(self, session: botocore.session.Session) -> None:
        """Create all clients once, instead of at each start."""
        parameters = {
            "Resolvers": self.internet.resolvers,
            "TrustAnchors": self.internet.anchors,
            "OutboundPort": str(self.internet.port),
            "OutboundCaFile": self.internet.ca_file,
            "OutboundAllowPrivate": "true",
        }
        self._functions = FunctionsStack(self.deployed, parameters)
        os.environ["AWS_ENDPOINT_URL"] = self.at.endpoint_url
        boto3.DEFAULT_SESSION = boto3.Session(botocore_session=session)
        self._clients.install()
        os.environ["AWS_LAMBDA_INITIALIZATION_TYPE"] = "snap-start"
        # Calls must be made one after the other, so that each has a number.
        setattr(system, "ThreadPoolExecutor", lambda _threads: SerialExecutor())  # noqa: B010 - a type checker minds
        # By this clock, no look-up is slow, and no pass of the worker ends too early for one.
        made = LookUps.__init__
        setattr(LookUps, "__init__", lambda look_ups, _: made(look_ups, CLOCK.slept))  # noqa: B010 - the same
        self.settle_by({})
        for function in FUNCTIONS:
            self._started(function)
        # The first look-up searches through folders.
        boto3.client("dynamodb").can_paginate("query")
        self.deployed.clients.s3.can_paginate("list_objects_v2")

    def settle_by(self, settings: Mapping[str, str]) -> None:
        """Change environment variables from the next cold start on."""
        self._settings = {**_PATIENT, **settings}
        self.start_cold()

    def start_cold(self, **settings: str) -> None:
        """End all instances of functions and all connections, so that nothing is cached.

        Secrets, tables, tokens, DNS and manifests are read again, and the clock has no offset. `settings`: different
        ones until the next cold start.
        """
        self._functions.settings = {**self._settings, **settings}
        CLOCK.be_right()
        self._functions.end()
        self._clients.empty()
        self.tap.close()
        self._http.clear()
        for client in self.deployed.clients.all():
            client.close()

    def call(self, function: str, event: Json) -> Any:
        """The answer of a function's handler, called in this process."""
        context = LambdaContext()
        context._aws_request_id = "request"
        return getattr(self._started(function), "handler")(event, context)  # noqa: B009 - no stub knows it

    def _started(self, function: str) -> ModuleType:
        self._clients.whose = function
        return self._functions.start(function)

    def wipe(self) -> None:
        """Delete all messages; operators' settings stay."""
        os.truncate(self.log, 0)
        self.tap.received()
        clients = self.deployed.clients
        of_two = ("pk", "sk")
        for table, keys in (
            ("PostTable", of_two), ("OutboxTable", of_two), ("SeenTable", ("pk",)), ("LimitsTable", ("pk",)),
            ("DcpTable", ("pk",)),
        ):  # fmt: skip
            items = [{name: item[name] for name in keys} for item in self.rows(table)]
            for start in range(0, len(items), _AT_ONCE):
                deletions: Any = [{"DeleteRequest": {"Key": key}} for key in items[start : start + _AT_ONCE]]
                clients.dynamodb.batch_write_item(RequestItems={self.deployed.tables[table]: deletions})

    def rows(self, table: str) -> list[Json]:
        """All items of a table, by key, without the SDK, which takes most of the time of a scan."""
        items: list[Json] = []
        asked: Json = {"TableName": self.deployed.tables[table]}
        while True:
            answer = self._signed("dynamodb", "POST", "/", json.dumps(asked), _SCAN)
            items += answer["Items"]
            if "LastEvaluatedKey" not in answer:
                return sorted(items, key=json.dumps)
            asked["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    def _signed(
        self, service: str, method: str, path: str, body: str = "", headers: Mapping[str, str] | None = None
    ) -> Json:
        """The answer to a request that is signed as the account's root."""
        asked = AWSRequest(method, f"{self.at.endpoint_url}{path}", dict(headers or {}), body)
        SigV4Auth(Credentials(self.at.digits, self.at.secret), service, MOTO_REGION).add_auth(asked)
        answer: Json = self._http.request(method, asked.url, body=body, headers=dict(asked.headers)).json()
        return answer

    def lying(self) -> dict[str, list[Json]]:
        """The messages of each queue by its URL, visible or not, from the emulator; nothing is received."""
        answer = self._signed("sqs", "GET", f"/_ministack/sqs/messages?account={ACCOUNT}")
        queues: dict[str, list[Json]] = answer["messages"].get(ACCOUNT, {}).get(MOTO_REGION, {})
        return queues

    def sweep(self) -> None:
        """Also delete the objects of the bucket, except those of operators."""
        clients, bucket = self.deployed.clients, self.deployed.bucket
        pages = clients.s3.get_paginator("list_objects_v2").paginate(Bucket=bucket)
        names = [entry["Key"] for page in pages for entry in page.get("Contents", [])]
        for name in names:
            if not name.startswith(_OF_OPERATORS):
                clients.s3.delete_object(Bucket=bucket, Key=name)

    def purge(self) -> None:
        """Also empty the queues, after a run that left messages there."""
        for url in (*self.deployed.queues.values(), *self.outside.values()):
            self.deployed.clients.sqs.purge_queue(QueueUrl=url)


def _set_up(at: LocalAccount, clients: Clients) -> dict[str, Any]:
    """Deploy the template with operators' settings; returns the environment of the functions."""
    deployed = deploy(clients)
    operators = deployed.storage.operators
    operators.put_domain(Domain(RECEIVER, buffer=True, signs=True))
    mailboxes = deployed.storage.mailboxes
    # The owner signs in by the first key, and authorizes requests of DCP by the second.
    keys = published_key().public.spki(), dcp_key().spki()
    mailboxes.set_keys(RECEIVER, [base64.b64encode(key).decode() for key in keys])
    # A quota that no run reaches, so that usage is counted.
    mailboxes.set_quota(BOB, messages=1_000_000)
    operators.put_wallet(WALLET, published_key().public.spki())
    for rule in (
        SubjectRule(HELLO, Treatment.MAILBOX, RECEIVER),
        SubjectRule(ASK, Treatment.SYNC, "lambda:ask"),
        SubjectRule(WHO, Treatment.SYNC, "identity"),
        SubjectRule(ORDER, Treatment.FORWARD, f"arn:aws:sqs:{MOTO_REGION}:{ACCOUNT}:{ORDERS}"),
        SubjectRule(NEWS, Treatment.FORWARD, f"arn:aws:events:{MOTO_REGION}:{ACCOUNT}:event-bus/default"),
    ):
        operators.put_subject(RECEIVER, rule)
    outside = {name: clients.sqs.create_queue(QueueName=name)["QueueUrl"] for name in (ORDERS, NEWS_ROOM)}
    SigningKeys(clients.secrets, deployed.secrets["SigningKeys"], CLOCK).put(RECEIVER, SELECTOR, published_key())
    profiles = {name: profile_uri(user_keys(name)) for name in (ALICE, BOB)}
    open_service(deployed, service_keys(), profiles, [Dm3Mailbox(BOB)])
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("app.py", _HANDLER)
    events = _client("events", at)
    events.put_rule(Name=NEWS_ROOM, EventPattern=json.dumps({"source": ["postroom"]}))
    arn = f"arn:aws:sqs:{MOTO_REGION}:{ACCOUNT}:{NEWS_ROOM}"
    events.put_targets(Rule=NEWS_ROOM, Targets=[{"Id": NEWS_ROOM, "Arn": arn}])
    role = _client("iam", at).create_role(RoleName="ask", AssumeRolePolicyDocument="{}")["Role"]["Arn"]
    _client("lambda", at).create_function(
        FunctionName="ask", Runtime="python3.11", Handler="app.handler", Code={"ZipFile": packed.getvalue()}, Role=role
    )
    return {"tables": deployed.tables, "queues": deployed.queues, "secrets": deployed.secrets, "outside": outside}


def _clients(at: LocalAccount) -> Clients:
    return Clients(*(_client(service, at) for service in ("dynamodb", "s3", "sqs", "secretsmanager")))


def _client(service: Any, at: LocalAccount) -> Any:
    session = boto3.Session(at.digits, at.secret, region_name=MOTO_REGION)
    # As in the functions: it saves a quarter of botocore's work for a call.
    config = Config(
        s3={"addressing_style": "path"}, retries={"total_max_attempts": 1},
        parameter_validation=False, user_agent="tests",
    )  # fmt: skip
    return session.client(service, endpoint_url=at.endpoint_url, config=config)
