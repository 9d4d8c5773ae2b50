"""Bad input: one table, one test. `python -m tests.test_bad_input` writes it into docs/reference/bad-input.md."""

import json
import re
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import httpcore
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from moto import mock_aws
from tests.aws import Clients, deploy
from tests.aws import clients as clients
from tests.client.chat import bad_bodies
from tests.client.chat.bad_bodies import BodyRow
from tests.client.chat.domain_network import BANK, SHOP, DomainNetwork
from tests.contents import with_contents
from tests.fakes.web import fake_web
from tests.functions import bad_dcp_rows, bad_dm3, bad_dm3_rows, bad_documents, bad_ens, bad_ens_rows, bad_names
from tests.functions import bad_requests as bad
from tests.functions.bad_dcp_rows import DcpRow
from tests.functions.bad_requests import Row, Sent, Then
from tests.functions.delivery_service import open_service
from tests.functions.samples import ROUTES, sqs
from tests.functions.stack import FunctionsStack, Json, functions_stack
from tests.protocols.dcp.guarded import WES, Peer
from tests.protocols.status import bad_rows as bad_chats
from tests.protocols.status.bad_rows import ChatRow, Effect
from tests.protocols.status.media import bad_media
from tests.protocols.status.media.bad_media import MediaRow
from tests.protocols.status.media.held import held as cleaned_or_refused
from tests.tiers import examples

from postroom.client.archive import MemoryHome
from postroom.client.chat.nlweb_carrier import SUBJECT
from postroom.core.canonical import NotCanonicalError
from postroom.core.errors import TheirError
from postroom.core.reason import Audience, Kind, Reason
from postroom.core.reasons import TOO_LARGE
from postroom.crypto.ethereum import read_address
from postroom.local import gateway
from postroom.local.dns import DnsServer
from postroom.local.zones import Mode, ZoneTree
from postroom.names import ens_registry
from postroom.names.ens import endpoints as endpoints_of_chain
from postroom.net import pinned_connection
from postroom.protocols.dcp.error_payload import ErrorCode
from postroom.protocols.dcp.reasons import ANSWER_TOO_LARGE, DCP_AUTHORIZATION_REVOKED, DCP_VERSION_UNSUPPORTED
from postroom.protocols.dcp.signed_message import read_signed_message
from postroom.protocols.dm3.codes import TEXTS
from postroom.protocols.dm3.envelope import open_delivery, read_envelope
from postroom.protocols.dm3.names import normalize
from postroom.protocols.dm3.postmark import check_postmark, read_postmark
from postroom.protocols.dm3.reasons import SENDER_SIGNATURE_INVALID
from postroom.protocols.dm3.sealing import open_sealed
from postroom.protocols.nlweb.subjects import SubjectRule, Treatment
from postroom.protocols.status import reasons as status_reasons
from postroom.protocols.status.chat_view import ChatView
from postroom.protocols.status.explain import explain
from postroom.protocols.status.fold import HistoryLine, fold
from postroom.protocols.status.reasons import CHAT_UNKNOWN, MEDIA_INVALID, MEDIA_TOO_LARGE
from postroom.protocols.status.view_json import view_as_json
from postroom.reasons import REASONS, reason_of
from postroom.storage.directory.domains import Domain
from postroom.storage.secrets.chain_endpoints import ChainEndpointUrls

DOCUMENT = Path(__file__).parent.parent / "docs" / "reference" / "bad-input.md"
ROWS = [*bad.rows(), *bad_dm3_rows.rows()]
DCP_ROWS = list(bad_dcp_rows.rows())
MEDIA_ROWS = list(bad_media.rows())
CUT_BYTES = 4000
"""Pictures and sounds with fewer are cut at every byte."""
CHAT_ROWS = list(bad_chats.rows())
DOMAINS = DomainNetwork()
BODY_ROWS = list(bad_bodies.rows(DOMAINS))
LOOK_UP_FAILED = -32002
HOST = f"nlweb.{bad.RECEIVER}"
READS = {"dynamodb:BatchGetItem", "dynamodb:GetItem", "dynamodb:Query", "s3:GetObject", "secretsmanager:GetSecretValue"}
LOOKED_UP = re.compile(rf"[a-z0-9._-]*{bad.MARK}[a-z-]*\.example\.")
"""A DNS name that was asked for: the one thing of the sender's that an answer to a synchronous request may name."""


def document() -> str:
    """docs/reference/bad-input.md as it follows from the table."""
    lines = [
        "# Bad input",
        "",
        "The answer to each kind of invalid request, for anyone who writes a sender or reviews the inbox.",
        "`tests/test_bad_input.py` sends each row to the real handlers, and compares everything that is stored before",
        "and after. A refusal is a problem document (RFC 9457) whose member `reason` is the code below; it repeats",
        "nothing that the sender wrote, except for the DNS names that were looked up for a synchronous request. A",
        "message that is queued is answered 200; the code is then that of the discard: a tombstone in the mailbox's",
        "register, and nothing else of the message.",
        "",
        "At /dm3 and /rpc, and at / if there is a call in the body, a JSON-RPC refusal is answered 200 with an error",
        "object: its `code` as below, the reason in `data.reason`; nothing that the sender wrote is repeated but the",
        "`id`. An accepted message is always filed. After each look-up of a name that finds no profile, one of",
        "another name succeeds.",
        "",
        "At /dcp, what is signed by its owner is answered 200 under our signature, with an error of DCP: its `code`",
        "as below, and a message that begins with the reason's sentence. The code is the reason itself if the text of",
        "DCP has none for it. Other messages are refused with a problem document.",
        "",
        "What is in a chat is a message of Status in its wrapper, whatever carries it: whoever has the chat reads it,",
        "not the inbox. The reason is the one that `postroom chat explain` and `postroom chat fold` give. An NLWeb",
        "message with such a Body is stored in the archive, and no chat shows anything of it.",
        "",
        "`tests/test_bad_input_tls.py` does the same byte by byte at the TLS server of the local stack: a",
        "Content-Length that is shorter or longer than the body, or not a number; chunks that end early; compressed",
        "bodies; unusual paths.",
        "",
        "Pictures and sounds of chats are cleaned where they are sent and where they are shown, not by a function.",
        f"Those of fewer than {CUT_BYTES:,} bytes are also cut at every byte.",
    ]
    section, rpc = "", False
    for row in (*ROWS, *DCP_ROWS):
        if row.section != section:
            section = row.section
            rpc = row.code is not None
            head = ["Request", "Status", *["Code"] * rpc, "Reason", "Then"]
            lines += ["", f"## {section}", "", f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
        reason = f"`{row.reason}`" if row.reason else ""
        cells = [row.what.replace("|", "&#124;"), row.status, *[row.code] * rpc, reason, row.then]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    for chat_row in CHAT_ROWS:
        if chat_row.section != section:
            section = chat_row.section
            lines += ["", f"## {section}", "", "| What comes | Reason | Then |", "|---|---|---|"]
        reason = f"`{chat_row.reason}`" if chat_row.reason else ""
        lines.append(f"| {chat_row.what} | {reason} | {chat_row.then} |")
    lines += ["", "## Bodies of NLWeb messages with chats", "", "| Body of Payload@Status | Reason |", "|---|---|"]
    lines += [f"| {each.what} | `{each.reason}` |" for each in BODY_ROWS]
    lines += ["", "## Pictures and sounds of chats", "", "| Picture or sound | Reason | Then |", "|---|---|---|"]
    lines += [f"| {each.what} | {f'`{each.reason}`' if each.reason else ''} | {each.then} |" for each in MEDIA_ROWS]
    return with_contents("\n".join(lines) + "\n")


@pytest.fixture(scope="module")
def tree() -> ZoneTree:
    tree = ZoneTree()
    tree.put(bad.SENDER, bad.zone())
    tree.put(bad.UNSIGNED, bad.plain_zone(bad.UNSIGNED), Mode.UNSIGNED)
    tree.put(bad.BOGUS, bad.plain_zone(bad.BOGUS), Mode.BOGUS)
    for host in bad_documents.hosts():
        tree.put(host, bad_documents.ZONE)
    for name, found in bad_names.names_in_dns().items():
        tree.put(name, found.zone, found.mode)
    for host, zone in bad_ens_rows.zones().items():
        tree.put(host, zone)
    return tree


@pytest.fixture(scope="module")
def running(clients: Clients, tree: ZoneTree, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FunctionsStack]:
    names = [*bad_ens_rows.names_in_ens(), *bad_ens.next_names(len(ROWS))]
    pages = bad_documents.hosts() | bad_ens.gateways(names)
    with (
        mock_aws(),
        DnsServer(tree) as server,
        fake_web(tmp_path_factory.mktemp("ca"), pages, bad_ens.CERTIFICATES) as web,
        bad_ens.Chain(names).served() as endpoints,
        pytest.MonkeyPatch.context() as patch,
    ):
        # Each row is a look-up, and an instance may begin only so many in a row.
        patch.setattr(ens_registry, "BURST_SECONDS", len(ROWS))
        deployed = deploy(clients)
        operators = deployed.storage.operators
        deployed.storage.mailboxes.set_keys(bad_dcp_rows.OWNED, [b64encode(WES.spki()).decode()])
        for domain in (bad.RECEIVER, bad.IDN_RECEIVER):
            operators.put_domain(Domain(domain))
            operators.put_subject(domain, SubjectRule("*@Host", Treatment.MAILBOX, domain))
        operators.put_subject(bad.RECEIVER, SubjectRule(bad.FULL, Treatment.MAILBOX, f"full.{bad.RECEIVER}"))
        mailboxes = deployed.storage.mailboxes
        for full in (f"full.{bad.RECEIVER}", bad_dm3.FULL):
            mailboxes.set_quota(full, messages=1)
            deployed.storage.usages.add(full, 1, 1000)
        texts = {name: each.text for name, each in bad_documents.published().items()}
        open_service(deployed, bad_dm3.service(), bad_dm3.profiles() | texts, bad_dm3.mailboxes())
        ChainEndpointUrls(clients.secrets, deployed.secrets["ChainEndpoints"], time.time).put(endpoints)
        with (
            functions_stack(
                deployed,
                Resolvers=f"udp://{server.address}",
                TrustAnchors=tree.anchor_text.strip(),
                IpfsGateways=bad_documents.GATEWAYS,
            ) as office_running,
            pytest.MonkeyPatch.context() as impatient,
        ):
            impatient.setattr(endpoints_of_chain, "LATE_SECONDS", 0.2)
            office_running.settings |= web.settings
            yield office_running


@pytest.fixture(scope="module")
def usual_settings(running: FunctionsStack) -> dict[str, str]:
    return dict(running.settings)


class Connections(httpcore.SyncBackend):
    """Connects to this machine only. `reached`: the addresses that were to be connected to at the port of `web`."""

    def __init__(self, port: int, tree: ZoneTree) -> None:
        self._port, self._tree, self._connect = port, tree, httpcore.SyncBackend.connect_tcp
        self.reached: list[str] = []

    def connect_tcp(self, host: str, port: int, *more: Any) -> httpcore.NetworkStream:
        if port == self._port:
            self.reached.append(host)
        if host == bad_ens.PUBLIC_ADDRESS:
            self._tree.put(bad_ens_rows.REBOUND, bad_ens_rows.rebound_zone(bad_ens.LOOPBACK))
        if host != bad_ens.LOOPBACK:
            raise httpcore.ConnectError
        return self._connect(self, host, port, *more)


@pytest.fixture
def connections(running: FunctionsStack, tree: ZoneTree, monkeypatch: pytest.MonkeyPatch) -> Connections:
    # Otherwise what a request reaches would depend on those before it.
    monkeypatch.setattr(pinned_connection, "KEPT_SECONDS", -1.0)
    connections = Connections(int(running.settings["OUTBOUND_PORT"]), tree)
    monkeypatch.setattr(httpcore, "SyncBackend", lambda: connections)
    return connections


def send(office: FunctionsStack, sent: Sent) -> Json:
    """Send a request to its function as API Gateway does."""
    headers = ({"host": HOST} | dict(sent.headers)).items()
    request = gateway.GatewayRequest(sent.method, sent.path, tuple(headers), sent.body, HOST, "203.0.113.7", "HTTP/1.1")
    found = gateway.find_route(ROUTES, sent.method, sent.path)
    assert found is not None
    event = gateway.build_event(request, gateway.Api("1", "a", ROUTES), *found, time.time(), "r")
    answer: Json = office.invoke(found[0].function, event)
    # As Lambda's runtime writes it; what is longer is answered 500 by API Gateway.
    assert len(json.dumps(answer)) < gateway.MAX_PAYLOAD_BYTES
    return answer


def work_off(office: FunctionsStack) -> Any:
    """Let the worker have what is in its queues, and take from them what it does not hand back, as Lambda does."""
    client, answer = office.deployed.clients.sqs, None
    for queue in ("ClaimsQueue", "LookUpsQueue"):
        url = office.deployed.queues[queue]
        messages = client.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", [])
        if messages or queue == "ClaimsQueue":
            bodies = [message["Body"] for message in messages]
            answer = office.invoke("WorkerFunction", sqs(queue, int(time.time()), *bodies))
        for message in messages:
            client.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    return answer


def difference(before: Json, after: Json) -> Json:
    """What is stored after and was not before, by place; nothing that was there may be missing or changed."""
    fresh = {}
    for place, held in before.items():
        if isinstance(held, dict):
            assert held.items() <= after[place].items()
            new: Any = {name: after[place][name] for name in after[place].keys() - held.keys()}
        else:
            new = [*after[place]]
            for entry in held:
                assert entry in new, f"changed or gone in {place}"
                new.remove(entry)
        if new:
            fresh[place] = new
    return fresh


@pytest.fixture(scope="module")
def last_look(running: FunctionsStack) -> Json:
    """Everything that is stored, as the last test that looked found it."""
    return running.deployed.dump()


@pytest.fixture
def added(running: FunctionsStack, last_look: Json) -> Callable[[], Json]:
    """What has been stored since the test began."""
    before = {**last_look}
    return lambda: difference(before, look_again(running, last_look))


def look_again(running: FunctionsStack, last_look: Json) -> Json:
    """Everything that is stored after a call of a function."""
    # To look takes long. What the function only read is as it was.
    if {call.action for call in running.calls} - READS:
        running.wait_for_look_ups()
        last_look.update(running.deployed.dump())
    return last_look


def check_problem(answer: Json) -> Reason:
    """The answer is a problem document of our vocabulary, and no more than that."""
    assert answer["headers"]["Content-Type"] == "application/problem+json"
    told = json.loads(answer["body"])
    assert set(told) == {"title", "status", "detail", "reason"}
    reason = reason_of(told["reason"])
    assert answer["statusCode"] == told["status"] == reason.status
    assert told["detail"].startswith(reason.sentence)
    assert reason.kind is not Kind.RETRY
    assert "Traceback" not in answer["body"]
    return reason


def check_error(answer: Json) -> Json:
    """The answer is an error of JSON-RPC in our vocabulary, and no more than that; its error object."""
    assert answer["headers"]["Content-Type"] == "application/json"
    told = json.loads(answer["body"])
    assert set(told) == {"jsonrpc", "error", "id"}
    assert told["jsonrpc"] == "2.0"
    error: Json = told["error"]
    assert set(error) == {"code", "message", "data"}
    assert error["message"] == TEXTS[error["code"]]
    assert set(error["data"]) == {"reason", "detail"}
    assert error["data"]["detail"]
    assert "Traceback" not in answer["body"]
    return error


def check_refusal(answer: Json, row: Row) -> None:
    """The answer to a row, and whose text is not in it."""
    assert row.reason is not None
    if row.code is None:
        assert check_problem(answer) is row.reason
    else:
        said = json.loads(answer["body"])
        last = said[-1] if isinstance(said, list) else said
        error = check_error({**answer, "body": json.dumps(last)})
        assert (error["code"], error["data"]["reason"]) == (row.code, str(row.reason))
    told = json.dumps(answer, ensure_ascii=False).lower()
    if row.reason.kind is Kind.DISCARD:
        told = LOOKED_UP.sub("", told)
    for theirs in (bad.MARK, bad.CORRELATION):
        assert theirs not in told


def check_filed(segment: bytes, sent: Sent, row: Row) -> None:
    """What was filed is what came; of dm3 with our postmark, and marked where it could not be verified."""
    line = json.loads(segment)
    if not row.is_dm3:
        assert line["envelope"] == sent.body.decode()
        return
    [param, *_] = json.loads(sent.body)["params"]
    submitted: Json = json.loads(param) if isinstance(param, str) else param
    filed = json.loads(line["envelope"])
    assert {**submitted, "postmark": filed["postmark"]} == filed
    assert submitted.get("postmark") != filed["postmark"]
    envelope, service = read_envelope(filed), bad_dm3.service()
    delivery = open_delivery(envelope, service.encryption)
    postmark = read_postmark(open_sealed(filed["postmark"], [bad_dm3.keys(normalize(delivery.to)).encryption]))
    check_postmark(postmark, envelope, service.signing.public)
    assert postmark.delivery == delivery
    assert line["receipt"]["unverified"] == (str(row.reason) if row.then is Then.MARKED else None)


def use(running: FunctionsStack, settings: dict[str, str]) -> None:
    """Run the functions with these settings."""
    if running.settings != settings:
        running.end()
        running.settings = settings


@contextmanager
def endpoints_for(running: FunctionsStack, row: Row) -> Iterator[None]:
    """Those that a row needs are stored, and then those that all others need."""
    if row.has_endpoints:
        yield
        return
    stored = running.deployed.storage.chain_endpoints
    usual = stored.get()
    stored.put([])
    running.end()
    try:
        yield
    finally:
        stored.put(usual)
        running.end()


def check_next_look_up(running: FunctionsStack, row: Row) -> None:
    """The next name is found, whatever became of this one: its sender is known not to have signed."""
    answer = send(running, bad_ens.from_next_name(off_chain=not row.settings))
    assert check_error(answer)["data"]["reason"] == str(SENDER_SIGNATURE_INVALID)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.section}: {row.what}")
def test_bad_input(
    running: FunctionsStack,
    usual_settings: dict[str, str],
    connections: Connections,
    added: Callable[[], Json],
    row: Row,
) -> None:
    use(running, {**usual_settings, **row.settings})
    sent = row.make()
    with endpoints_for(running, row):
        answer = send(running, sent)
    taken_in = added()
    assert answer["statusCode"] == row.status
    if row.reached is not None:
        assert tuple(connections.reached) == row.reached
    if row.then in (Then.NOTHING, Then.LATER):
        check_refusal(answer, row)
        assert set(taken_in) == ({"NamesQueue", "LimitsTable"} if row.then is Then.LATER else set())
        if row.code == LOOK_UP_FAILED:
            check_next_look_up(running, row)
        return
    if row.is_dm3:
        assert json.loads(answer["body"]) == {"jsonrpc": "2.0", "result": "accepted", "id": bad_dm3.ID}
    assert set(taken_in) == {"ClaimsQueue"}
    assert work_off(running) == {"batchItemFailures": []}
    new = added()
    # That a key of the sender was proven is remembered, whatever becomes of the message.
    assert all(known["pk"]["S"].startswith("proven#") for known in new.pop("LimitsTable", []))
    [register] = new.pop("PostTable")
    if row.then in (Then.FILED, Then.MARKED):
        assert register["st"]["S"] == "L"
        assert set(new) == {"SeenTable", "objects"}
        [segment] = new["objects"].values()
        check_filed(segment, sent, row)
        return
    assert set(register) == {"pk", "sk", "st", "why", "ttl"}
    assert register["why"]["S"] == f"discarded:{row.reason}"
    notices = new.pop("FeedbackQueue", [])
    assert [json.loads(notice)["reason"] for notice in notices] == [str(row.reason)] * (row.then is Then.TOLD)
    assert new == {}


NUMBERS = count()


@dataclass
class DcpOf:
    """`/dcp` of the functions, as a guardian."""

    running: FunctionsStack

    def answer(self, data: bytes, now: float = 0) -> Json:
        """The body of the signed answer."""
        del now  # the functions have a clock of their own
        return dict(read_signed_message(send(self.running, bad_dcp_rows.post(data))["body"].encode()).body)

    def peer(self) -> Peer:
        described = json.loads(send(self.running, Sent(b"", {}, "GET", "/dcp"))["body"])
        half = f"{next(NUMBERS):021}"  # its stamps begin with it, and must not be those of another test
        return Peer.connected(self, WES, half=half, now=time.time(), guardian=read_address(described["identity"]))


@pytest.mark.parametrize("row", DCP_ROWS, ids=lambda row: f"{row.section}: {row.what}")
def test_bad_input_of_dcp(running: FunctionsStack, last_look: Json, row: DcpRow) -> None:
    sent = row.make(DcpOf(running).peer())
    last_look["DcpTable"] = running.deployed.rows("DcpTable")  # its session is there
    before = {**last_look}
    answer = send(running, sent)
    assert answer["statusCode"] == row.status
    if row.code is None:
        assert check_problem(answer) is row.reason
    else:
        check_answer_of_dcp(dict(read_signed_message(answer["body"].encode()).body), row)
    assert bad.MARK not in answer["body"]
    stored = difference(before, look_again(running, last_look))
    assert {place: len(new) for place, new in stored.items()} == STORED[row.then]


STORED = {Then.NOTHING: {}, Then.NONCE: {"DcpTable": 1}, Then.USED: {"DcpTable": 3}}
"""How many rows are new: the session, the id, the stamp."""


def check_answer_of_dcp(body: Json, row: DcpRow) -> None:
    """The answer refuses what the row says, and gives a nonce only if one was used."""
    last = body["payload"][-1] if body["type"] == "response-batch" else body
    assert not last["success"]
    error = last["payload"]
    assert error["code"] == row.code
    sentence = "^4.0.0" if row.reason is DCP_VERSION_UNSUPPORTED else row.reason.sentence
    assert error["message"].startswith(sentence)
    assert (body["nonce"] is None) == (row.then is Then.NOTHING)


def chats_of(lines: list[HistoryLine]) -> Any:
    """What is shown of a history, but the clocks of its chats, which everything in a chat moves."""
    chats: Any = view_as_json(ChatView(fold(lines, bad_chats.OWN).log))["chats"]
    return [{name: value for name, value in chat.items() if name != "clock"} for chat in chats]


@pytest.mark.parametrize("row", CHAT_ROWS, ids=lambda row: f"{row.section}: {row.what}")
def test_bad_input_of_chats(row: ChatRow) -> None:
    before = chats_of(list(row.before))
    for line in row.make():
        lines = [*row.before, line]
        folded = fold(lines, bad_chats.OWN)
        explained = explain(line.wrapper, at_ms=line.at_ms, named=line.type, carrier=line.carrier, own=bad_chats.OWN)
        json.dumps(explained.as_json())
        if row.then is Effect.NONE:
            assert [(each.number, each.error.reason) for each in folded.discarded] == [(len(lines), row.reason)]
            assert explained.reason is row.reason
            assert len(folded.log) == len(row.before)
        elif row.then is Effect.UNSEEN:
            found = [why for fact, why in ChatView(folded.log).not_shown() if fact.message is not None]
            assert found == [row.reason]
            # What one is in is not known of one message alone.
            assert explained.reason is (None if row.reason is CHAT_UNKNOWN else row.reason)
        shown = chats_of(lines)
        if row.then in (Effect.NONE, Effect.UNSEEN, Effect.SAME):
            assert shown == before
        else:
            [chat] = shown
            check_shown(chat["messages"][0], row.then)
    assert chats_of([*row.before, *row.make()]) == before or row.then not in (
        Effect.NONE,
        Effect.UNSEEN,
        Effect.SAME,
    )


def check_shown(message: Any, effect: Effect) -> None:
    """What is accepted all the same is shown with what there is to know about it."""
    assert message["marks"] == {Effect.LATE: ["late"], Effect.HIGH_S: ["high-s"]}.get(effect, [])
    if effect is Effect.WITHOUT:
        assert message["media"]["reason"] in (str(MEDIA_INVALID), str(MEDIA_TOO_LARGE))
    else:
        assert message["media"] is None


def test_every_reason_of_chats_has_a_row() -> None:
    declared = {reason for reason in vars(status_reasons).values() if isinstance(reason, Reason)}
    assert {row.reason for row in CHAT_ROWS if row.reason} == {*declared, TOO_LARGE}


@pytest.mark.parametrize("row", BODY_ROWS, ids=lambda row: row.what)
def test_bad_input_of_nlweb_messages_with_chats(row: BodyRow) -> None:
    DOMAINS.domain(SHOP).office.deliver(BANK, SUBJECT, row.body)
    device = DOMAINS[BANK].device(MemoryHome())
    device.pull()
    device.chats.refresh()
    assert DOMAINS[BANK].service.waiting == []
    assert [each.error.reason for each in device.chats.memory.discarded] == [row.reason]
    assert (device.chats.chats(), len(device.chats.memory.log)) == ([], 0)
    assert len(device.archive.open(SHOP)) == 1


@pytest.mark.parametrize("row", MEDIA_ROWS, ids=lambda row: row.what)
def test_bad_input_of_media(row: MediaRow) -> None:
    found = cleaned_or_refused(row.data, row.kind)
    if isinstance(found, TheirError):
        assert found.reason == row.reason
    else:
        assert row.reason is None
        assert tuple(found.dropped) == row.dropped
        assert not [secret for secret in bad_media.SECRETS if secret in found.data]
    if len(row.data) < CUT_BYTES:
        for end in range(len(row.data)):
            cleaned_or_refused(row.data[:end], row.kind)


def test_the_page_is_generated_from_the_table() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == document()


def test_no_two_rows_are_the_same() -> None:
    said = [(row.section, row.what) for row in (*ROWS, *DCP_ROWS, *CHAT_ROWS)]
    said += [("media", row.what) for row in MEDIA_ROWS]
    assert len(set(said)) == len(said)


def test_every_refusal_that_senders_can_get_has_a_row() -> None:
    senders = Audience.NLWEB | Audience.DM3
    told = {reason for reason in REASONS if reason.kind is Kind.REFUSAL and reason.audience & senders}
    assert told == {row.reason for row in ROWS if row.reason and row.reason.kind is Kind.REFUSAL}


def test_every_refusal_that_peers_of_dcp_can_get_has_a_row() -> None:
    told = {reason for reason in REASONS if reason.kind is Kind.REFUSAL and Audience.DCP in reason.audience}
    # tests/http/test_dcp.py has those that owners get, for requests that are otherwise good.
    assert told - {ANSWER_TOO_LARGE, DCP_AUTHORIZATION_REVOKED} <= {row.reason for row in DCP_ROWS}
    texts = {ErrorCode.ETARGETVERSION, ErrorCode.EADDRCHANGE}  # only an initiator says these, to itself
    assert set(ErrorCode) - texts <= {row.code for row in DCP_ROWS}


def test_the_reason_of_every_row_is_for_its_audience() -> None:
    misses = [
        f"{row.section}: {row.what}: {row.reason} is for {row.reason.audience}"
        for row in ROWS
        if row.reason and row.then in (Then.NOTHING, Then.TOLD)
        if (Audience.DM3 if row.is_dm3 else Audience.NLWEB) not in row.reason.audience
    ]
    assert misses == []


# --- whatever anybody sends ------------------------------------------------------------------------------------------


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
HEADER_MEMBERS = st.sampled_from(["From", "To", "Subject", "Correlation", "Timestamp", "DKIM", "Schema", "X"])
MEMBERS = st.sampled_from(["🤝", "Header", "Body", "Hash", "Signature", "X"])


@st.composite
def cut_up(draw: st.DrawFn) -> bytes:
    """A good envelope whose bytes were damaged in a few places."""
    data = bytearray(bad.text(bad.fresh()))
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, len(data)))
        data[place : place + draw(st.integers(0, 3))] = draw(st.binary(max_size=3))
    return bytes(data)


@st.composite
def altered(draw: st.DrawFn) -> bytes:
    """A good envelope with other values in some of its members, and a Hash that fits them where there can be one."""
    members = draw(st.dictionaries(HEADER_MEMBERS, JSON_VALUES | st.text(), max_size=3))
    body = draw(JSON_VALUES)
    try:
        whole = bad.fresh(body, **members)
    except TheirError:  # it has no canonical form, so no Hash either
        whole = {**bad.fresh(), "Header": bad.header(**members), "Body": body}
    whole |= draw(st.dictionaries(MEMBERS, JSON_VALUES, max_size=1))
    return json.dumps(whole, ensure_ascii=draw(st.booleans())).encode("utf-8", "surrogatepass")


@pytest.mark.parametrize(
    "sent",
    [st.binary(), JSON_VALUES.map(bad.text), cut_up(), altered()],
    ids=["bytes", "JSON", "a damaged envelope", "an altered envelope"],
)
def test_any_request_is_queued_or_refused_with_a_reason_and_never_stops_the_worker(
    running: FunctionsStack, sent: st.SearchStrategy[bytes]
) -> None:
    @settings(max_examples=examples(100))
    @given(sent)
    def check(data: bytes) -> None:
        answer = send(running, Sent(data))
        if answer["statusCode"] == 200:
            assert json.loads(answer["body"])["Status"] == "Queued"
            assert work_off(running) == {"batchItemFailures": []}
        else:
            check_problem(answer)

    check()


@st.composite
def altered_call(draw: st.DrawFn) -> bytes:
    """A good call with other values in some members of it and its envelope, signed and sealed as if they were meant."""
    delivery: Json = {"to": bad_dm3.RECEIVER, "from": bad_dm3.SENDER}
    delivery |= draw(
        st.dictionaries(st.sampled_from(["to", "from", "deliveryInstruction", "x"]), JSON_VALUES, max_size=1)
    )
    metadata: Json = draw(
        st.dictionaries(st.sampled_from(["version", "encryptionScheme", "x"]), JSON_VALUES, max_size=1)
    )
    try:
        envelope = bad_dm3.envelope(bad_dm3.to_service(bad.text(delivery)), **metadata)
    except NotCanonicalError:  # it cannot be signed
        envelope = bad_dm3.envelope()
        envelope["metadata"] |= metadata
    envelope |= draw(
        st.dictionaries(st.sampled_from(["message", "metadata", "postmark", "x"]), JSON_VALUES, max_size=1)
    )
    members = st.sampled_from(["jsonrpc", "method", "params", "id", "x"])
    call = bad_dm3.call(**({"params": [envelope]} | draw(st.dictionaries(members, JSON_VALUES, max_size=1))))
    whole = [call] * draw(st.integers(1, 3)) if draw(st.booleans()) else call
    return json.dumps(whole, ensure_ascii=draw(st.booleans())).encode("utf-8", "surrogatepass")


@st.composite
def cut_up_call(draw: st.DrawFn) -> bytes:
    """A good call whose bytes were damaged in a few places, some of them within what is sealed."""
    data = bytearray(json.dumps(bad_dm3.call()).encode())
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.integers(0, len(data)) | st.integers(0, 60) | st.integers(-300, -1))
        data[place : place + draw(st.integers(0, 3))] = draw(st.binary(max_size=3))
    return bytes(data)


@pytest.mark.parametrize(
    "sent",
    [st.binary(), JSON_VALUES.map(bad.text), cut_up_call(), altered_call()],
    ids=["bytes", "JSON", "a damaged call", "an altered call"],
)
def test_any_request_to_the_delivery_service_is_accepted_or_refused_with_a_reason(
    running: FunctionsStack, sent: st.SearchStrategy[bytes]
) -> None:
    @settings(max_examples=examples(100))
    @given(sent)
    def check(data: bytes) -> None:
        answer = send(running, bad_dm3.raw(data))
        assert answer["statusCode"] == 200
        said = json.loads(answer["body"])
        for each in said if isinstance(said, list) else [said]:
            if "error" in each:
                check_error({**answer, "body": json.dumps(each)})
        if running.deployed.bodies("ClaimsQueue"):
            assert work_off(running) == {"batchItemFailures": []}

    check()


if __name__ == "__main__":
    DOCUMENT.write_text(document(), encoding="utf-8")
