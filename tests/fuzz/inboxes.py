"""Fuzzing of both inboxes and the inbox function, with the judges: the worker can file what an inbox accepts."""

import json

from tests.functions.samples import http
from tests.fuzz.entry import LONG, Entry, fields_of, fuzzed, json_of
from tests.fuzz.functions import answered, started
from tests.fuzz.nlweb_texts import CONTENTS
from tests.fuzz.samples import ALICES, BOBS, CALL, ENVELOPES, KEY, SERVICES, compact
from tests.fuzz.stack import DM3_INBOX, DM3_JUDGE, NLWEB_INBOX, NLWEB_JUDGE, PROFILES, QUEUE, empty, queued

from postroom.core.ijson import JsonValue
from postroom.core.reason import Kind
from postroom.crypto.x25519 import EncryptionKey
from postroom.http.cors import Cors
from postroom.http.response import HttpResponse
from postroom.pipeline.nlweb_inbox import Posted
from postroom.pipeline.verdicts import Accepted, Discarded, Judge
from postroom.protocols.dm3.codes import INTERNAL_ERROR
from postroom.protocols.dm3.dialect import encrypted_message_hash, sign_struct
from postroom.protocols.dm3.explain import explain
from postroom.protocols.dm3.jsonrpc import MAX_BATCH, RpcRequest, first_param, read_calls
from postroom.protocols.dm3.sealing import seal
from postroom.protocols.nlweb.sign import seal as sign_and_seal
from postroom.runtime.dm3_routes import dm3_router
from postroom.runtime.inbox_routes import inbox_router
from postroom.storage.mail.segments import Line, decode_line


def settled(answer: HttpResponse, judge: Judge) -> Accepted | None:
    """Hold what an inbox's answer promises: a refusal says why; what is queued the worker can judge and file."""
    if not QUEUE.bodies:
        return None
    claim = queued().claim
    assert claim.id in {part.about.get("claim") for part in (answer, *answer.parts)}, "queued, and not said"
    verdict = judge.judge(claim)
    assert isinstance(verdict, Accepted | Discarded), f"what the inbox accepted the worker cannot judge: {verdict}"
    if isinstance(verdict, Discarded):
        assert verdict.reason.kind is Kind.DISCARD
        return None
    line = Line(claim.row, verdict.conversation, verdict.text, verdict.receipt)
    assert decode_line(line.encode()) == line
    return verdict


def post(body: bytes, content_type: str = "application/json", encoding: str = "") -> Accepted | None:
    answer = NLWEB_INBOX.post(Posted(body, content_type, encoding, "192.0.2.1"))
    said = json.loads(answer.body)
    assert (answer.reason is None) is (answer.status == 200)
    if answer.reason is not None:
        assert answer.reason.kind is not Kind.RETRY, f"nothing is away, and yet: {answer.body}"
        assert said["reason"] == str(answer.reason)
        assert not QUEUE.bodies, "refused and queued"
    return settled(answer, NLWEB_JUDGE)


POSTED = tuple(b"application/json\0\0" + message for message in ENVELOPES)


@fuzzed(
    "pipeline.nlweb_inbox", "protocols.nlweb.envelope", "protocols.nlweb.verify",
    seeds=(*POSTED, b'application/json; charset="utf-8"\0identity\0{}', b"text/plain\0gzip\0\x1f\x8b"),
    max_bytes=LONG,
)  # fmt: skip
def nlweb_inbox(data: bytes) -> None:
    """Any headers and body: an answer with a reason, or a claim that the worker judges and files as it was posted."""
    content_type, encoding, body = (*data.split(b"\0", 2), b"", b"")[:3]
    accepted = post(body, content_type.decode("latin-1"), encoding.decode("latin-1"))
    assert accepted is None or accepted.text.encode() == body


@fuzzed(
    "pipeline.nlweb_inbox",
    "pipeline.judges.nlweb",
    "pipeline.synchronous",
    "pipeline.intake",
    seeds=CONTENTS,
    is_json=True,
)
def signed_messages(data: bytes) -> None:
    """The same for any Header and Body that are rightly signed: what is taken in is judged; nothing is our fault."""
    content = json_of(data)
    if isinstance(content, dict) and isinstance(content.get("Header"), dict):
        signed = sign_and_seal({name: content[name] for name in ("Header", "Body") if name in content}, KEY)
        post(compact({**content, **signed}))


CALLS = (
    compact(CALL), compact([CALL, {**CALL, "id": "two"}, {"jsonrpc": "2.0", "method": "dm3_none"}, 5]),
    compact({**CALL, "params": [json.dumps(CALL["params"][0]), "a token"]}), b"[]", b"", b'{"jsonrpc":"1.0","id":[]}',
    compact({"jsonrpc": "2.0", "method": "dm3_getProfileExtension", "params": ["BOB.eth"], "id": 0.5}),
    compact({"jsonrpc": "2.0", "method": "dm3_getDeliveryServiceProperties", "id": None}), b"[1" + b",1" * 60 + b"]",
    compact({"jsonrpc": "2.0", "method": "dm3_billboard_x", "params": {"by": "name"}, "id": "x" * 300}),
)  # fmt: skip


@fuzzed("protocols.dm3.jsonrpc", "pipeline.dm3_inbox", seeds=CALLS, is_json=True, max_bytes=LONG)
def dm3_inbox(data: bytes) -> None:
    """Any body: an answer to each call, by its id, never an internal error; claims are judged."""
    calls = read_calls(data, max_bytes=len(data) + 1)
    assert 1 <= len(calls.items) <= MAX_BATCH
    for item in calls.items:
        if isinstance(item, RpcRequest) and isinstance(item.params, list) and item.params:
            assert first_param(item) == item.params[0]
    answer = DM3_INBOX.post(data, "192.0.2.1")
    settled(answer, DM3_JUDGE)
    said = json.loads(answer.body)
    assert isinstance(said, list) is calls.is_batch
    answers = said if calls.is_batch else [said]
    assert [each["id"] for each in answers] == [item.id for item in calls.items]
    assert all(each.get("error", {}).get("code") != INTERNAL_ERROR for each in answers), answer.body


DM3_MESSAGES = tuple(
    compact({"delivery": {"to": to, "from": "alice.eth"}, "message": {
        "message": "Good morning", "signature": "none", "metadata": {
            "to": to, "from": "alice.eth", "timestamp": 1, "type": "NEW",
        }}, "metadata": further, "extra": {"more": 1e20}})
    for to, further in (("bob.eth", {}), ("BOB.eth", {"messageHash": "00"}), ("open.eth", {"x": None}), ("no.eth", {}))
)  # fmt: skip


@fuzzed(
    "pipeline.dm3_inbox", "pipeline.judges.dm3", "protocols.dm3.explain", "protocols.dm3.envelope",
    "protocols.dm3.postmark", seeds=DM3_MESSAGES, is_json=True,
)  # fmt: skip
def dm3_messages(data: bytes) -> None:
    """Whatever alice seals and signs: refused, or filed with a postmark that its receiver can open and finds true."""
    plan = json_of(data)
    if not isinstance(plan, dict):
        return
    envelope = _envelope(plan)
    answer = DM3_INBOX.post(
        compact({"jsonrpc": "2.0", "method": "dm3_submitMessage", "params": [envelope], "id": 1}), ""
    )
    assert json.loads(answer.body).get("error", {}).get("code") != INTERNAL_ERROR, answer.body
    accepted = settled(answer, DM3_JUDGE)
    told = explain(accepted.text.encode() if accepted else compact(envelope), BOBS, PROFILES)
    assert told.as_json()["checks"]
    if accepted:
        failed = {check.name for check in told.checks if not check.ok}
        assert not failed & {"json", "envelope", "postmark", "postmark hash"}, failed


def _envelope(plan: dict[str, JsonValue]) -> JsonValue:
    """An envelope around any values, sealed in the same way each time, and rightly signed."""

    def seal_to(value: JsonValue, key: EncryptionKey) -> str:
        return seal(compact(value), key.public, ephemeral=ALICES.encryption, nonce=bytes(12))

    message = seal_to(plan.get("message"), BOBS.encryption)
    given, extra = plan.get("metadata"), plan.get("extra")
    metadata: dict[str, JsonValue] = {
        "version": "1.0",
        "encryptedMessageHash": encrypted_message_hash(message),
        "deliveryInformation": seal_to(plan.get("delivery"), SERVICES.encryption),
        **(given if isinstance(given, dict) else {}),
    }
    signed = {**metadata, "signature": sign_struct(metadata, ALICES.signing)}
    return {**(extra if isinstance(extra, dict) else {}), "message": message, "metadata": signed}


REQUESTS = tuple(
    f"{method}\n{target}\n{content_type}\n{encoding}\n{origin}\nnlweb.receiver.example\n\n".encode() + body
    for method, target, content_type, encoding, origin, body in (
        ("POST", "/inbox", "application/json", "", "", ENVELOPES[0]),
        ("POST", "/inbox", "application/octet-stream", "gzip", "", b"\x1f\x8b\x08\0\xff"),
        ("GET", "/manifest", "", "", "", b""),
        ("HEAD", "/inbox", "", "", "", b""),
        ("OPTIONS", "/rpc", "", "", "https://a.example", b""),
        ("DELETE", "/inbox", "", "", "", b""),
        ("POST", "/dm3", "application/json", "", "https://b.example", compact(CALL)),
        ("POST", "/", "application/json", "", "", compact(CALL)),
        ("POST", "/", "", "", "", b"{}"),
        ("POST", "/%64m3?x=1", "text/plain", "", "null", b"\xff\xfe"),
        ("GET", "/none/../x", "", "", "", b""),
    )
)
NAMES = ("content-type", "content-encoding", "origin", "host")


@fuzzed("http.cors", "http.answers", "pipeline.nlweb_inbox", seeds=REQUESTS, max_bytes=LONG)
def inbox_function(data: bytes) -> None:
    """Any request through API Gateway, its body as text or base64: an answer of its protocol, and never a 5xx."""
    head, _, body = data.partition(b"\n\n")
    method, target, *headers = (head.decode("latin-1").split("\n") + [""] * 6)[:6]
    given = {name: value for name, value in zip(NAMES, headers, strict=True) if value}
    event = http(method or "GET", "https://nlweb.receiver.example/", 0, body, given)
    event["rawPath"] = fields_of(target.encode(), 1)[0]
    for function in FUNCTIONS:
        answered(function, event)
        empty()


FUNCTIONS = (
    started("inbox", inbox_router(NLWEB_INBOX)),
    started("dm3", dm3_router(DM3_INBOX, Cors("https://a.example", "DM3_CORS_ORIGINS"))),
)
ENTRIES: tuple[Entry, ...] = (nlweb_inbox, signed_messages, dm3_inbox, dm3_messages, inbox_function)
