"""Counts of the AWS requests and log lines of the functions: the real handlers on the embedded AWS.

    with counted_stack() as stack:
        inbox, claims = stack.take_in("nlweb", [stack.message("nlweb", 0)])
        worker = stack.work(claims)

The clock is frozen, so that values cached for seconds are not read again during a count, however busy the machine.
Requests are counted where botocore sends them, including retries. DynamoDB's units are those that it reports; a write
whose condition fails reports none, and costs the units of the existing item, by its size.
"""

import io
import json
import os
import time
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock, get_ident
from typing import Any, Final, Literal
from unittest.mock import patch

import boto3
from tests.aws import Clients, Deployed, deploy
from tests.cost.items import Item, item_bytes, write_units
from tests.fakes.clock import FakeClock
from tests.fakes.post_offices import FakePostOffices
from tests.fakes.servers import running_server
from tests.functions.delivery_service import open_service
from tests.functions.samples import (
    ALICE,
    BOB,
    DM3_URL,
    dcp_event,
    dcp_socket_event,
    dm3_submit,
    http,
    profile_uri,
    service_keys,
    sqs,
    user_keys,
)
from tests.functions.stack import MOTO_REGION, FunctionsStack, functions_stack

from postroom.api.http import DCP_PATH
from postroom.cost import counted as counted_values
from postroom.crypto.rsa_ed25519 import PrivateKey
from postroom.local.authority import Authority
from postroom.local.dns import DnsServer
from postroom.local.emulator import Emulator
from postroom.local.zones import ZoneTree
from postroom.outbound.notification_messages import MailWaiting
from postroom.protocols.dm3.keys import PrivateSigningKey
from postroom.protocols.nlweb.key_record import record_text, zone_line
from postroom.protocols.nlweb.schema import NLWEB
from postroom.protocols.nlweb.sign import Draft, sign
from postroom.protocols.nlweb.subjects import SubjectRule, Treatment
from postroom.runtime.socket_connections import ApiGatewayConnections
from postroom.storage.directory.domains import Dm3Mailbox, Domain
from postroom.storage.layout import RowKey
from postroom.storage.mail.register import Register

Protocol = Literal["nlweb", "dm3"]
SENDER, RECEIVER, SUBJECT = "sender.example", "receiver.example", "Hello@Host"
ELSEWHERE = "elsewhere.example"
SMALL: Final = counted_values.SMALL_BYTES
"""The bytes of an ordinary envelope."""
OVERSIZE: Final = 1_000_000
"""The bytes of an envelope that is too large for a queue message."""
_ACCOUNT: Final = "123456789012"
_TRACE: Final = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=0"
"""A trace header, which Lambda sets even without tracing."""
_PATIENCE: Final = {"DM3_LOOKUP_SECONDS": "20", "DNS_TRY_SECONDS": "10", "DNS_BUDGET_SECONDS": "20"}
"""No batching window, because the counts do not depend on it."""
_AGE_SECONDS: Final = 1.234
"""The age of a claim when it is processed."""
_WRITES: Final = {"PutItem", "UpdateItem", "DeleteItem"}


@dataclass
class Counted:
    """The requests to AWS by service and operation, and what was written: `items` as they were put."""

    requests: Counter[str] = field(default_factory=Counter)
    write_units: float = 0.0
    read_units: float = 0.0
    items: list[Item] = field(default_factory=list)
    log: str = ""
    answer_bytes: int = 0

    def of(self, service: str) -> int:
        """The number of requests to a service."""
        return sum(number for name, number in self.requests.items() if name.startswith(f"{service} "))

    @property
    def log_lines(self) -> list[str]:
        return self.log.splitlines()

    def metrics(self) -> set[str]:
        """The names of the metrics that were written."""
        documents = [json.loads(line).get("_aws", {}) for line in self.log_lines]
        return {
            metric["Name"]
            for document in documents
            for directive in document.get("CloudWatchMetrics", [])
            for metric in directive["Metrics"]
        }


class CountedStack:
    """A deployment whose functions are counted."""

    def __init__(
        self, running: FunctionsStack, key: PrivateKey, session: boto3.Session, clock: FakeClock, zones: ZoneTree
    ) -> None:
        self.running = running
        self._clock = clock
        self._zones = zones
        self._key = key
        self._counted = Counted()
        self._bodies: list[str] = []
        self._output = io.StringIO()
        self._lock = Lock()
        events: Any = session.events
        events.register("before-send.*", self._on_request)
        events.register("before-parameter-build.dynamodb.*", self._on_dynamodb)
        events.register("before-parameter-build.sqs.SendMessage", self._on_message)
        events.register("after-call.dynamodb.*", self._on_answer)

    # ---- messages --------------------------------------------------------------------------------------------
    def message(self, protocol: Protocol, number: int) -> bytes:
        """A valid message, ready to be posted. `number`: makes it unique."""
        if protocol == "dm3":
            return json.dumps(dm3_submit(int(time.time()), f"Good morning {number:04d}")).encode()
        return self.nlweb(number)

    def forged(self, number: int) -> bytes:
        """An NLWeb message with the signature of another one."""
        forged = json.loads(self.nlweb(number))
        return json.dumps(forged | {"Signature": json.loads(self.nlweb(number + 1))["Signature"]}).encode()

    def nlweb(self, number: int, size: int = SMALL) -> bytes:
        """An NLWeb message of `size` bytes."""

        def envelope(filling: int) -> bytes:
            draft = Draft(
                SENDER, RECEIVER, SUBJECT, f"5f0d8f9e-0000-4000-8000-{number:012d}", at_ms, {"Text": "." * filling}
            )
            return json.dumps(sign(draft, self._key), ensure_ascii=False, separators=(",", ":")).encode()

        at_ms = int(time.time() * 1000)
        return envelope(size - len(envelope(0)))

    def rows(self) -> list[RowKey]:
        """The keys of all registers, oldest first."""
        return [RowKey(row["pk"]["S"], row["sk"]["S"]) for row in self.running.deployed.rows("PostTable")]

    # ---- functions -------------------------------------------------------------------------------------------
    def take_in(self, protocol: Protocol, messages: Sequence[bytes]) -> tuple[Counted, list[str]]:
        """Post messages one by one; returns the counts of the inbox, and the claims that it queued."""
        function, url = (
            ("Dm3Function", DM3_URL)
            if protocol == "dm3"
            else ("InboxFunction", f"https://{NLWEB.host(RECEIVER)}/inbox")
        )
        with self.counting() as counted:
            for message in messages:
                headers = {"content-type": "application/json"}
                answer = self._invoke(function, http("POST", url, int(time.time()), message, headers))
                assert answer["statusCode"] == 200, answer
                assert "error" not in json.loads(answer["body"]), answer
                counted.answer_bytes += len(answer["body"])
        bodies, self._bodies = self._bodies, []
        return counted, bodies

    def work(self, claims: Sequence[str]) -> Counted:
        """Process claims in one batch of the worker; returns its counts."""
        event = sqs("ClaimsQueue", int(time.time()), *claims)
        self._clock.now += _AGE_SECONDS
        with self.counting() as counted:
            assert self._invoke("WorkerFunction", event) == {"batchItemFailures": []}
        self._clock.now -= _AGE_SECONDS
        self._bodies = []
        return counted

    def go_round(self) -> Counted:
        """The counts of one run of the dead-letter handler, without dead letters."""
        with self.counting() as counted:
            self._invoke("DeadLetterFunction", {})
        return counted

    def acknowledge(self, rows: Sequence[RowKey]) -> Counted:
        """The counts of an owner's acknowledgement of messages."""
        store = self.running.deployed
        with self.counting() as counted:
            register = Register(boto3.client("dynamodb"), store.tables["PostTable"])
            assert all(register.acknowledge(row, int(time.time()) + 1) for row in rows)
        return counted

    # ---- strangers ---------------------------------------------------------------------------------------------
    def let_register(self, service: str) -> None:
        """Let owners open mailboxes, from the next start of each function on, which is now."""
        self.running.settings |= {"DM3_SELF_REGISTRATION": service}
        self.running.end()

    def ask_at(
        self, routes: Sequence[str], function: str, method: str, path: str, body: bytes, headers: Mapping[str, str]
    ) -> tuple[Counted, Any]:
        """The counts of one request at one of these routes, whatever the answer, and the answer."""
        given = {"content-type": "application/json", **headers}
        event = http(method, f"https://{NLWEB.host(RECEIVER)}{path}", int(time.time()), body, given)
        assert event["routeKey"].removeprefix("ANY ") in routes, event["routeKey"]
        with self.counting() as counted:
            answer = self._invoke(function, event)
            counted.answer_bytes += len(answer["body"].encode())
        self._bodies = []
        return counted, answer

    # ---- the outbox --------------------------------------------------------------------------------------------
    @contextmanager
    def sending(self, folder: Path) -> Iterator[str]:
        """Let receiver.example send to elsewhere.example, which has a post office within the block.

        Yields a token of the owner. `folder`: for certificates.
        """
        store, authority = self.running.deployed, Authority(folder)
        store.storage.operators.put_domain(Domain(RECEIVER, signs=True))
        store.storage.mailboxes.set_keys(RECEIVER, [b64encode(self._key.public.spki()).decode()])
        store.storage.signing_keys.put(RECEIVER, "pk1", self._key)
        self._zones.put(ELSEWHERE, "nlweb IN A 127.0.0.1\n")
        with running_server(FakePostOffices(authority, {ELSEWHERE: ELSEWHERE})) as server:
            self.running.settings |= {
                "OUTBOUND_PORT": str(server.server_port),
                "OUTBOUND_CA_FILE": str(authority.pem),
                "OUTBOUND_ALLOW_PRIVATE": "true",
            }
            yield self._sign_in()

    def send(self, token: str, tokens: Sequence[str], size: int = SMALL) -> tuple[Counted, list[str]]:
        """Send messages one by one, with `tokens`; returns the counts of the mailbox API, and what it queued."""
        with self.counting() as counted:
            for each in tokens:
                message = {"token": each, "to": ELSEWHERE, "subject": SUBJECT, "body": {"Text": "." * size}}
                answer = self._ask("POST", f"/mailboxes/{RECEIVER}/outbox", message, token)
                assert answer["state"] == "queued", answer
        bodies, self._bodies = self._bodies, []
        return counted, bodies

    def carry(self, bodies: Sequence[str]) -> Counted:
        """The counts of the courier for queue messages, in one batch."""
        with self.counting() as counted:
            event = sqs("CourierQueue", int(time.time()), *bodies)
            assert self._invoke("CourierFunction", event) == {"batchItemFailures": []}
        return counted

    # ---- owners over DCP -----------------------------------------------------------------------------------------
    def let_in(self, key: PrivateSigningKey) -> str:
        """Let an owner of receiver.example sign in, over DCP by a key; returns a token for HTTP."""
        keys = [self._key.public.spki(), b64decode(key.public.encode())]
        self.running.deployed.storage.mailboxes.set_keys(RECEIVER, [b64encode(each).decode() for each in keys])
        return self._sign_in()

    def described(self) -> dict[str, Any]:
        """What the guardian says of itself."""
        described: dict[str, Any] = self._ask("GET", DCP_PATH)
        return described

    def status(self, token: str) -> None:
        """Ask for the status of the mailbox over HTTP."""
        self._ask("GET", f"/mailboxes/{RECEIVER}/status", token=token)

    def answer(self, data: bytes, _now: float = 0.0) -> dict[str, Any]:
        """The body of the guardian's answer to a message of DCP, at the frozen time."""
        return self._answer(dcp_event(data, int(time.time())))

    def answer_over_socket(self, data: bytes) -> dict[str, Any]:
        """The same for a message that came by a WebSocket."""
        return self._answer(dcp_socket_event(data, int(time.time())))

    def _answer(self, event: Mapping[str, object]) -> dict[str, Any]:
        answer = self._invoke("DcpFunction", event)
        assert answer["statusCode"] == 200, answer
        self._counted.answer_bytes += len(answer["body"])
        body: dict[str, Any] = json.loads(answer["body"])["body"]
        return body

    # ---- owners who wait for mail --------------------------------------------------------------------------------
    def pass_time(self, seconds: float) -> None:
        """Let time pass, so that what is cached for less is read again."""
        self._clock.now += seconds

    def list_messages(self, token: str) -> None:
        """List the messages of the mailbox over HTTP."""
        self._ask("GET", f"/mailboxes/{RECEIVER}/messages", token=token)

    @contextmanager
    def sleeping(self) -> Iterator[None]:
        """Within the block, functions that sleep let time pass instead; they are started anew for that."""
        here, real = get_ident(), time.sleep

        def sleep(seconds: float) -> None:
            # Other threads of this process, of servers that earlier tests need, must not let time pass.
            (self.pass_time if get_ident() == here else real)(seconds)

        self.running.end()
        with patch.object(time, "sleep", sleep):
            yield
        self.running.end()

    def wait_for_message(self, token: str, seconds: int) -> None:
        """Wait for a message by a request over HTTP, while `sleeping`."""
        self._ask("GET", f"/mailboxes/{RECEIVER}/messages?wait={seconds}", token=token)

    def tell(self) -> tuple[Counted, Counted, list[bytes]]:
        """What the courier does when the worker says that the mailbox has mail, and then for the only target of it,
        which is a session; and what it sends by the WebSocket."""
        sent: list[bytes] = []

        def send(_: ApiGatewayConnections, _connection: str, message: bytes) -> bool:
            sent.append(message)
            return True

        with patch.object(ApiGatewayConnections, "send", send):
            spreading = self.carry([MailWaiting(RECEIVER).encode()])
            [notification], self._bodies = self._bodies, []
            return spreading, self.carry([notification]), sent

    def _sign_in(self) -> str:
        challenge = self._ask("GET", f"/auth/{RECEIVER}")
        signature = b64encode(self._key.sign(challenge.encode())).decode()
        token: str = self._ask("POST", f"/auth/{RECEIVER}", {"challenge": challenge, "signature": signature})
        return token

    def _ask(self, method: str, path: str, body: object = None, token: str = "") -> Any:
        """The response of the mailbox API."""
        data = b"" if body is None else json.dumps(body).encode()
        headers = {"content-type": "application/json", **({"authorization": f"Bearer {token}"} if token else {})}
        url = f"https://{NLWEB.host(RECEIVER)}{path}"
        function = "DcpFunction" if path == DCP_PATH else "MailboxFunction"
        answer = self._invoke(function, http(method, url, int(time.time()), data, headers))
        assert (answer["statusCode"], answer["isBase64Encoded"]) == (200, False), answer
        self._counted.answer_bytes += len(answer["body"])
        return json.loads(answer["body"])

    def _invoke(self, function: str, event: Mapping[str, object]) -> Any:
        with redirect_stdout(self._output):
            return self.running.handle(function, dict(event))

    @contextmanager
    def counting(self) -> Iterator[Counted]:
        """What the functions do within the block."""
        self._counted = Counted()
        self._output.seek(0)
        self._output.truncate()
        counted = self._counted
        yield counted
        counted.log = self._output.getvalue()
        # What is done outside of a block is nobody's.
        self._counted = Counted()

    # ---- events of botocore -----------------------------------------------------------------------------------
    def _on_request(self, event_name: str, **_: object) -> None:
        _, service, operation = event_name.split(".")
        with self._lock:
            self._counted.requests[f"{service} {operation}"] += 1

    def _on_dynamodb(self, params: dict[str, Any], **_: object) -> None:
        # `params` is botocore's own copy: the arguments of the functions are not changed.
        params["ReturnConsumedCapacity"] = "TOTAL"
        if "Item" in params:
            with self._lock:
                self._counted.items.append(params["Item"])

    def _on_message(self, params: dict[str, Any], **_: object) -> None:
        self._bodies.append(params["MessageBody"])

    def _on_answer(self, parsed: dict[str, Any], model: Any, context: dict[str, Any], **_: object) -> None:
        writes = model.name in _WRITES
        if "ConsumedCapacity" in parsed:
            units = parsed["ConsumedCapacity"]["CapacityUnits"]
        else:
            assert parsed["Error"]["Code"] == "ConditionalCheckFailedException", parsed
            units = write_units(item_bytes(parsed["Item"]))
        with self._lock:
            if writes:
                self._counted.write_units += units
            else:
                self._counted.read_units += units


@contextmanager
def counted_stack() -> Iterator[CountedStack]:
    """A new deployment of the template's store in an embedded AWS of its own, with its functions in this process."""
    key = PrivateKey.generate("ed25519")
    with ExitStack() as stack:
        clock = FakeClock(time.time())
        stack.enter_context(patch.object(time, "time", clock))
        zones = ZoneTree(clock=clock)
        zones.put(SENDER, zone_line(NLWEB.key_name(SENDER, "nlweb"), record_text(key.public)) + "\n")
        dns = stack.enter_context(DnsServer(zones))
        emulator = stack.enter_context(Emulator())
        aws = {"AWS_ENDPOINT_URL": emulator.endpoint, "_X_AMZN_TRACE_ID": _TRACE}
        stack.enter_context(patch.dict(os.environ, aws))
        deployed = deploy(_clients(_session(emulator)))
        _set_up(deployed)
        running = stack.enter_context(
            functions_stack(deployed, Resolvers=f"udp://{dns.address}", TrustAnchors=zones.anchor_text.strip())
        )
        running.settings |= _PATIENCE
        counted = _session(emulator)
        stack.enter_context(patch.object(boto3, "DEFAULT_SESSION", counted))
        yield CountedStack(running, key, counted, clock, zones)


def _session(emulator: Emulator) -> boto3.Session:
    # To the embedded AWS, requests signed with an account number are those of its root.
    return boto3.Session(_ACCOUNT, emulator.secret, region_name=MOTO_REGION)


def _clients(session: boto3.Session) -> Clients:
    return Clients(*(session.client(name) for name in ("dynamodb", "s3", "sqs", "secretsmanager")))


def _set_up(deployed: Deployed) -> None:
    operators = deployed.storage.operators
    operators.put_domain(Domain(RECEIVER))
    operators.put_subject(RECEIVER, SubjectRule(SUBJECT, Treatment.MAILBOX, RECEIVER))
    profiles = {name: profile_uri(user_keys(name)) for name in (ALICE, BOB)}
    open_service(deployed, service_keys(), profiles, [Dm3Mailbox(BOB)])
