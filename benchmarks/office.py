"""A local post office with honest users, for the attacks of the benchmark `hostile`: how long each of them waits."""

import json
import secrets
import time
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from http import HTTPStatus
from itertools import count
from math import inf
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final
from uuid import uuid4

from tests.patience import PATIENCE

from postroom.api.http import JSON
from postroom.api.states import State
from postroom.client import Mailbox
from postroom.client.mailbox import UnavailableError
from postroom.core.ijson import JsonValue
from postroom.core.settings import DeploymentSettings, read_outputs
from postroom.crypto.ethereum_keys import EthereumKey
from postroom.crypto.rsa_ed25519 import PrivateKey
from postroom.local.emulator import Processes
from postroom.local.gateway import GatewayRequest, GatewayResponse
from postroom.local.stack import LocalStack
from postroom.names.publishing import text_record
from postroom.names.registry import PROFILE_KEY
from postroom.net.https import HttpsClient, HttpsResponse
from postroom.protocols.dcp.messages import REQUEST_BATCH, Allowance
from postroom.protocols.dcp.payload import NewRequest, new_payload, request_body
from postroom.protocols.dcp.signed_message import SignedMessage, read_signed_message, sign_body
from postroom.protocols.dm3.envelope import DeliveryInformation, message_hash, write_envelope
from postroom.protocols.dm3.keys import PrivateSigningKey, UserKeys
from postroom.protocols.dm3.message import MessageMetadata
from postroom.protocols.dm3.profile import UserProfile, data_uri
from postroom.protocols.dm3.service import ServiceKeys
from postroom.protocols.dm3.sign import sign_message
from postroom.protocols.nlweb.key_record import record_text, zone_line
from postroom.protocols.nlweb.manifest import manifest_of
from postroom.protocols.nlweb.schema import NLWEB
from postroom.protocols.nlweb.sign import Draft, sign
from postroom.protocols.nlweb.subjects import SubjectRule, Treatment
from postroom.runtime.deployment import Deployment
from postroom.storage.directory.domains import Dm3Mailbox, Domain
from postroom.storage.layout import seen_key_dm3, seen_key_nlweb

SUBJECT: Final = "Hello@Host"
UNKNOWN_SUBJECT: Final = "Hello@Nobody"
SELECTOR: Final = "pk1"
_POLL_SECONDS: Final = 0.01
_REFUSED_SECONDS: Final = 0.5
"""When an honest user tries again who was refused for now. That is part of the time."""
_NO_RUN_SECONDS: Final = 0.02
LONGEST_SECONDS: Final = 30.0
"""When an honest user gives up, between two tries. It is longer than any goal, so that the goal is missed."""
DM3_SENDER: Final = "dm3-sender.example"
DM3_RECEIVER: Final = "bob.eth"
DM3_USERS: Final = {name: UserKeys.random() for name in (DM3_SENDER, DM3_RECEIVER)}


class GaveUpError(Exception):
    """An honest user has waited for `LONGEST_SECONDS`."""


class Office:
    """A deployment, its honest users, and how to post to it as a stranger.

    `newcomers`: how many new senders there are; `parameters`: of its template.
    """

    def __init__(self, stack: LocalStack, name: str, newcomers: int, parameters: Mapping[str, str]) -> None:
        self.stack = stack
        self._gives_up_at = inf
        self.domain, self.partner = f"{name}.example", f"{name}-partner.example"
        self.key = PrivateKey.generate("ed25519")
        self.owner_key = EthereumKey.generate()
        self.new_senders = [f"{name}-new{number}.example" for number in range(newcomers)]
        self._newcomers = iter(self.new_senders)
        self._proven = f"{name}-proven.example"
        self._misled = f"{name}-misled.example"
        self._told_at: dict[str, float] = {}
        for domain in (self._proven, self._misled, *self.new_senders):
            stack.tree.put(domain, zone_line(NLWEB.key_name(domain, SELECTOR), record_text(self.key.public)) + "\n")
        self.deployment = stack.deploy(name, parameters)
        self.storage = Deployment(read_outputs(self.deployment.outputs), self.deployment.client).storage
        self.storage.signing_keys.put(self.domain, SELECTOR, self.key)
        for domain in (self.domain, self.partner):
            stack.tree.put(domain, "nlweb IN A 127.0.0.1\n")
            self.deployment.serve_host(NLWEB.host(domain))
            self.storage.operators.put_domain(Domain(domain, inbox=True, signs=domain == self.domain))
            self.storage.operators.put_subject(domain, SubjectRule("*@Host", Treatment.MAILBOX, domain))
        self.give_mailbox(self.domain)
        stack.tree.put(self._misled, "nlweb IN A 127.0.0.1\n")
        stack.edge.serve_handler(NLWEB.host(self._misled), self._host_of_misled)
        self._https = HttpsClient(
            lambda _: ["127.0.0.1"], port=stack.edge.port, allow_private=True, ca_file=str(stack.authority.pem),
            connect_timeout=PATIENCE, total_timeout=PATIENCE, max_response_bytes=1 << 24,
        )  # fmt: skip
        self._dcp = DcpPeer(self, self.owner_key, self._pause)
        self.service_keys = ServiceKeys.generate()
        self._open_delivery_service()

    def _host_of_misled(self, request: GatewayRequest) -> GatewayResponse:
        """The answer of a sender's host, to which Feedback is sent."""
        if request.method == "GET":
            return GatewayResponse(HTTPStatus.OK, (), manifest_of(self._misled, self._misled).encode())
        self._told_at.setdefault(json.loads(request.body)["Body"]["Correlation"], time.perf_counter())
        return GatewayResponse(HTTPStatus.OK, (), b"{}")

    def _open_delivery_service(self) -> None:
        """Receive dm3 messages, to a name that the operator pins, of one that is published in DNS."""
        self.storage.delivery_service_keys.put(self.service_keys)
        self.stack.tree.put(DM3_SENDER, text_record(DM3_SENDER, PROFILE_KEY, _profile(DM3_USERS[DM3_SENDER])))
        texts = {DM3_RECEIVER: {PROFILE_KEY: _profile(DM3_USERS[DM3_RECEIVER])}}
        document = json.dumps(texts).encode()
        self.storage.objects.replace(DeploymentSettings().dm3_registry, document, "application/json")
        self.storage.operators.put_dm3_mailbox(Dm3Mailbox(DM3_RECEIVER))

    def give_mailbox(self, name: str) -> None:
        """Open a mailbox for the owner's keys."""
        secp = PrivateSigningKey.decode(f"secp256k1:{b64encode(self.owner_key.secret).decode()}")
        keys = [b64encode(self.key.public.spki()).decode(), secp.public.encode()]
        self.storage.mailboxes.set_keys(name, keys)

    def forget_queued(self) -> None:
        """Empty the queues: they may hold what an attack left."""
        sqs = self.deployment.client("sqs")
        for name, url in self.deployment.outputs.items():
            if name.endswith("QueueUrl"):
                sqs.purge_queue(QueueUrl=url)

    # --- what anybody can do -----------------------------------------------------------------------------------------
    def envelope(self, sender: str, subject: str = SUBJECT, receiver: str = "") -> dict[str, JsonValue]:
        """A message, signed by a key that the sender's domain may have or not."""
        at_ms, body = int(time.time() * 1000), {"Domain": self.domain}
        draft = Draft(sender, receiver or self.domain, subject, str(uuid4()), at_ms, body, selector=SELECTOR)
        return sign(draft, self.key)

    def post(self, path: str, body: bytes) -> HttpsResponse:
        """The answer to a POST of JSON."""
        return self._https.post(f"https://{NLWEB.host(self.domain)}{path}", body, JSON)

    def submission(self, sender: str, keys: UserKeys) -> tuple[bytes, str]:
        """A dm3 message that says it is from `sender`, as a call of JSON-RPC; and its message hash."""
        metadata = MessageMetadata(DM3_RECEIVER, sender, int(time.time() * 1000))
        envelope = write_envelope(
            sign_message(str(uuid4()), metadata, keys.signing),
            delivery=DeliveryInformation(DM3_RECEIVER, sender),
            receiver_key=DM3_USERS[DM3_RECEIVER].encryption.public,
            service_key=self.service_keys.encryption[0].public,
            signing=keys.signing,
        )
        call = {"jsonrpc": "2.0", "method": "dm3_submitMessage", "params": [envelope.as_json()], "id": 1}
        return json.dumps(call).encode(), message_hash(envelope)

    # --- honest users: the seconds that each of them waits -----------------------------------------------------------
    def proven_sender(self) -> float:
        """From posting a message of a sender whose key is in memory, until it is filed."""
        return self._filed(self._proven)

    def new_sender(self) -> float:
        """The same for a sender of whom nothing is known."""
        return self._filed(next(self._newcomers))

    def post_a_discard(self) -> tuple[float, str]:
        """When a message with a subject that nobody reads began to be posted, and its Correlation; "": it gave up."""
        began = time.perf_counter()
        with suppress(GaveUpError), self._giving_up():
            return began, self._post(self._misled, UNKNOWN_SUBJECT)
        return began, ""

    def sender_of_a_discard(self, began: float, correlation: str) -> float:
        """From posting the message until its sender had the Feedback, or gave up."""
        while correlation not in self._told_at and time.perf_counter() < began + LONGEST_SECONDS:
            time.sleep(_POLL_SECONDS)
        return self._told_at.get(correlation, began + LONGEST_SECONDS) - began

    def dm3_sender(self) -> float:
        """From submitting a dm3 message of a sender who is known, until it is filed."""
        began = time.perf_counter()
        body, digest = self.submission(DM3_SENDER, DM3_USERS[DM3_SENDER])
        while (answer := self.post("/rpc", body)).status != 200 or "error" in json.loads(answer.body):
            self._pause(_REFUSED_SECONDS)
        self._wait_until_filed(seen_key_dm3(DM3_RECEIVER, DM3_SENDER, digest, verified=True))
        return time.perf_counter() - began

    def owner_lists(self) -> float:
        """Signing in over HTTPS, and listing a mailbox."""
        with self.open() as mailbox:
            began = time.perf_counter()
            self._insist(lambda: next(iter(mailbox.unread()), None))
            return time.perf_counter() - began

    def owner_asks_over_dcp(self) -> float:
        """A request over DCP, in a session that is open."""
        began = time.perf_counter()
        while not self._dcp.ask("status", {"mailbox": self.domain}, self.owner_key)["success"]:
            self._pause(_REFUSED_SECONDS)
        return time.perf_counter() - began

    def owner_waits(self) -> float:
        """From posting a message until the owner is told, who waits for it."""
        with self.open() as mailbox, ThreadPoolExecutor(1) as pool:
            for message in mailbox.unread():
                message.acknowledge()
            told = pool.submit(lambda: self._insist(lambda: next(iter(mailbox.unread(wait=LONGEST_SECONDS)), None)))
            time.sleep(_REFUSED_SECONDS)
            began = time.perf_counter()
            self._post(self._proven)
            if told.result(PATIENCE) is None:
                raise GaveUpError
            return time.perf_counter() - began

    def owner_sends(self) -> float:
        """From queueing a message until it is delivered."""
        with self.open() as mailbox:
            began = time.perf_counter()
            sent = self._insist(
                lambda: mailbox.send(self.partner, SUBJECT, {"Hello": "there"}, token=secrets.token_hex(16))
            )
            while (found := self.storage.outbox.find(self.domain, sent.correlation)) is None or (
                found.state is not State.DELIVERED
            ):
                self._pause(_POLL_SECONDS)
            return time.perf_counter() - began

    def visit(self, waits: Callable[["Office"], float]) -> float:
        """The seconds that an honest user waits, or has waited until it gave up."""
        with suppress(GaveUpError), self._giving_up():
            return waits(self)
        return LONGEST_SECONDS

    # --- how it is done ----------------------------------------------------------------------------------------------
    @contextmanager
    def _giving_up(self) -> Iterator[None]:
        """Within it, an honest user gives up after LONGEST_SECONDS."""
        self._gives_up_at = time.perf_counter() + LONGEST_SECONDS
        try:
            yield
        finally:
            self._gives_up_at = inf

    def open(self, mailbox: str = "") -> Mailbox:
        """The mailbox of an owner."""
        edge = ("127.0.0.1", self.stack.edge.port)
        return Mailbox(
            f"https://{NLWEB.host(self.domain)}",
            mailbox or self.domain,
            self.key,
            ca_file=self.stack.authority.pem,
            connect=edge,
            timeout=PATIENCE,
        )

    def _pause(self, seconds: float) -> None:
        """Wait between two tries. Raises GaveUpError."""
        if time.perf_counter() > self._gives_up_at:
            raise GaveUpError
        time.sleep(seconds)

    def _insist(self, step: Callable[[], Any]) -> Any:
        """The result of a step that is made again while it is refused for now."""
        while True:
            try:
                return step()
            except UnavailableError:
                self._pause(_REFUSED_SECONDS)

    def _filed(self, sender: str) -> float:
        began = time.perf_counter()
        correlation = self._post(sender)
        self._wait_until_filed(seen_key_nlweb(self.domain, sender, correlation))
        return time.perf_counter() - began

    def _wait_until_filed(self, key: str) -> None:
        while (home := self.storage.seen.find(key, now=int(time.time()))) is None or (
            home.home is None or self.storage.register.find(home.home) is None
        ):
            self._pause(_POLL_SECONDS)

    def _post(self, sender: str, subject: str = SUBJECT) -> str:
        """The Correlation of a message that was accepted, after as many tries as it takes."""
        envelope = self.envelope(sender, subject)
        while self.post("/inbox", json.dumps(envelope).encode()).status != 200:
            self._pause(_REFUSED_SECONDS)
        header = envelope["Header"]
        assert isinstance(header, dict)
        return str(header["Correlation"])


def _profile(keys: UserKeys) -> str:
    return data_uri(UserProfile(keys.encryption.public, keys.signing.public, ("ds.eth",)).as_json())


class DcpPeer:
    """A peer with a session over HTTPS."""

    def __init__(self, office: Office, key: EthereumKey, pause: Callable[[float], None] = time.sleep) -> None:
        self._office, self.key, self._pause = office, key, pause
        self._numbers = count()
        self._dcpsid = self._nonce = self._guardian = ""

    def connect(self) -> None:
        """Open a session."""
        payload = new_payload("connect", {"version": "4.0.0", "sid": secrets.token_hex(11)[:21]})
        body = {**request_body(NewRequest(payload), payload, "connect", hex_prefix=False), "nonce": None}
        answered = self._post(sign_body(body, self.key))
        self._guardian = answered.owner
        self._dcpsid, self._nonce = str(answered.body["dcpsid"]), str(answered.body["nonce"])

    def ask(self, operation: str, data: JsonValue, *signers: EthereumKey) -> Mapping[str, Any]:
        """The response to a request that these keys authorize."""
        return self._send(self._request(operation, data, *signers))

    def ask_all(self, operation: str, several: Sequence[JsonValue]) -> Mapping[str, Any]:
        """The responses to several requests in one message, which only this peer authorizes."""
        requests: list[JsonValue] = [self._request(operation, data, self.key) for data in several]
        return self._send({"type": REQUEST_BATCH, "id": self._new_id(), "payload": requests})

    def _request(self, operation: str, data: JsonValue, *signers: EthereumKey) -> dict[str, JsonValue]:
        if not self._dcpsid:
            self.connect()
        at = int(time.time())
        allow = [Allowance(key.address, self._guardian, self.key.address) for key in signers]
        validity = {"time": at, "stamp": secrets.token_hex(16), "ttl": 300}
        payload = new_payload(operation, data, validity=validity, allow=allow)
        return request_body(NewRequest(payload, signers), payload, self._new_id(), hex_prefix=False)

    def _new_id(self) -> str:
        return f"{next(self._numbers)}{uuid4()}"

    def _send(self, body: Mapping[str, JsonValue]) -> Mapping[str, Any]:
        message = sign_body({**body, "dcpsid": self._dcpsid, "nonce": self._nonce}, self.key)
        answered = self._post(message).body
        self._nonce = str(answered["nonce"])
        return answered

    def _post(self, message: bytes) -> SignedMessage:
        """The answer to a message, which is sent again while there is no free run for it."""
        while (answer := self._office.post("/dcp", message)).status != 200:
            self._pause(_NO_RUN_SECONDS)
        return read_signed_message(answer.body)


VISITS: Final[Mapping[str, Callable[[Office], float]]] = {
    "proven sender": Office.proven_sender,
    "new sender": Office.new_sender,
    "dm3 sender": Office.dm3_sender,
    "owner lists": Office.owner_lists,
    "owner asks over DCP": Office.owner_asks_over_dcp,
    "owner waits": Office.owner_waits,
    "owner sends": Office.owner_sends,
}
"""The honest users who come one after the other, and what each of them does."""
DISCARD: Final = "sender of a discard"
"""Who posts before the others come, and waits meanwhile: else the attack would go on for as much longer."""
USERS: Final = (*VISITS, DISCARD)


def visits(office: Office, rounds: int, most: Mapping[str, float] = MappingProxyType({})) -> dict[str, float]:
    """The mean seconds of each honest user in so many rounds.

    `most`: how long each may be. There are no more rounds once one of these is exceeded, however short the others are.
    """
    seconds = dict.fromkeys(USERS, 0.0)
    discards = []
    for _ in range(rounds):
        discards.append(office.post_a_discard())
        for user, waits in VISITS.items():
            seconds[user] += office.visit(waits) / rounds
            if seconds[user] > most.get(user, inf):
                return seconds
    seconds[DISCARD] = sum(office.sender_of_a_discard(*each) / rounds for each in discards)
    return seconds


@contextmanager
def open_offices(
    template: Path, newcomers: int, parameters: Mapping[str, str], processes: Processes
) -> Iterator[tuple[Office, Office]]:
    """A new local stack with two post offices, which share the machine and the embedded AWS, and nothing else."""
    with LocalStack(template, processes=processes) as stack:
        yield Office(stack, "office", newcomers, parameters), Office(stack, "other", newcomers, parameters)
