"""The generator of the sample events in events/: `python tests/functions/samples.py` writes them as committed.

`python tests/functions/samples.py now` writes them with the current time, so that their messages are accepted by `sam
local invoke`; a number of epoch seconds instead of `now` writes them with that time.

They are signed with keys that anyone can derive from SEED. These keys are only for these files: never use them for
anything else, and trust nothing that is signed with them.
"""

import base64
import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from postroom.core.ijson import JsonValue
from postroom.crypto.ethereum_keys import EthereumKey
from postroom.crypto.rsa_ed25519 import PrivateKey
from postroom.crypto.x25519 import EncryptionKey
from postroom.local import gateway, socket_gateway
from postroom.local.clients import REGION
from postroom.names.registry import PROFILE_KEY
from postroom.outbound.discard_messages import DiscardNotification, DiscardSummaryDue
from postroom.outbound.notification_messages import MailWaiting
from postroom.pipeline.claim_details import NlwebDetails
from postroom.pipeline.claims import Claim, QueuedClaim
from postroom.protocols.dcp.connect import VERSION
from postroom.protocols.dcp.operations import CONNECT
from postroom.protocols.dcp.payload import NewRequest, new_payload, request_body
from postroom.protocols.dcp.signed_message import sign_body
from postroom.protocols.dm3.envelope import DeliveryInformation, write_envelope
from postroom.protocols.dm3.keys import PrivateSigningKey, UserKeys
from postroom.protocols.dm3.message import MessageMetadata
from postroom.protocols.dm3.profile import UserProfile, data_uri
from postroom.protocols.dm3.sealing import seal
from postroom.protocols.dm3.service import ServiceKeys
from postroom.protocols.dm3.sign import sign_message
from postroom.protocols.nlweb.reasons import SIGNATURE_INVALID
from postroom.protocols.nlweb.schema import NLWEB
from postroom.protocols.nlweb.sign import Draft, sign
from postroom.protocols.nlweb.subjects import SubjectRule, Treatment, find_rule
from postroom.storage.layout import RowKey, row_key
from postroom.storage.limits.feedback import HOUR_SECONDS

EVENTS = Path(__file__).parent.parent.parent / "events"
SEED = b"postroom sample events: a published key, never to be used for anything else"
MADE_AT = 1_795_253_400
"""2026-11-21T09:30:00Z."""
ACCOUNT = "123456789012"
SOCKET_HOST, SOCKET = f"s0ck3ts.execute-api.{REGION}.amazonaws.com", "L0SM9cOFvHcCIhw="
"""The host of the WebSocket API, and the id of an open WebSocket."""
SENDER, RECEIVER, BUFFER = "sender.example", "receiver.example", "buffer.example"
SELECTOR, SUBJECT = "pk1", "Hello@Host"
ALICE, BOB, SERVICE = "alice.eth", "bob.eth", "ds.eth"
"""Two dm3 users, and the name of the delivery service."""
ROUTES = (
    *(gateway.GatewayRoute(key, "InboxFunction") for key in ("ANY /inbox", "ANY /manifest", "$default")),
    *(gateway.GatewayRoute(key, "Dm3Function") for key in ("ANY /dm3", "ANY /rpc", "POST /", "OPTIONS /")),
    *(
        gateway.GatewayRoute(key, "MailboxFunction")
        for key in (
            "ANY /auth/{name}", "ANY /mailboxes/{proxy+}", "ANY /delivery/{proxy+}", "ANY /profile/{name}",
            "ANY /storage/{proxy+}", "ANY /openapi.json",
        )
    ),
    gateway.GatewayRoute("ANY /dcp", "DcpFunction"),
)  # fmt: skip
"""The routes of the API with their functions, as in the template."""
CORRELATION = "5f0d8f9e-0000-4000-8000-00000000000{}"

DM3_URL = "https://ds.example/dm3"

Json = dict[str, Any]


def published_key() -> PrivateKey:
    """The key of the sample events: SHA-256 of SEED as an Ed25519 seed."""
    key = Ed25519PrivateKey.from_private_bytes(_derived(""))
    return PrivateKey.from_pem(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))


def user_keys(name: str) -> UserKeys:
    """The published dm3 keys of ALICE, BOB or SERVICE."""
    signing = PrivateSigningKey.decode(f"secp256k1:{base64.b64encode(_derived(f'{name} signs')).decode()}")
    return UserKeys(signing, EncryptionKey.from_seed(_derived(f"{name} opens")))


def service_keys() -> ServiceKeys:
    """The published keys of the delivery service."""
    keys = user_keys(SERVICE)
    return ServiceKeys(keys.signing, (keys.encryption,))


def profile_uri(keys: UserKeys) -> str:
    """The profile of a user whose delivery service is SERVICE, as a registry has it."""
    return data_uri(UserProfile(keys.encryption.public, keys.signing.public, (SERVICE,)).as_json())


def _derived(purpose: str) -> bytes:
    digest = hashes.Hash(hashes.SHA256())
    digest.update(SEED + purpose.encode())
    return digest.finalize()


def envelope(number: int, at: int, body: JsonValue, subject: str = SUBJECT) -> dict[str, JsonValue]:
    """A signed message of sender.example. `number`: determines its Correlation."""
    draft = Draft(
        sender=SENDER, receiver=RECEIVER, subject=subject, correlation=CORRELATION.format(number),
        timestamp_ms=at * 1000, body=body, selector=SELECTOR,
    )  # fmt: skip
    return sign(draft, published_key())


def dm3_submit(at: int, text: str, *, sender: str = ALICE, receiver: str = BOB) -> dict[str, JsonValue]:
    """A call that submits a message, sealed with fixed keys and nonces, so that files do not change.

    Whatever its `sender` and `receiver`, it is signed by ALICE, and for the key of BOB.
    """

    def seal_to(plaintext: bytes, recipient: bytes) -> str:
        purpose = plaintext.decode() + recipient.hex()
        return seal(
            plaintext,
            recipient,
            ephemeral=EncryptionKey.from_seed(_derived(f"ephemeral {purpose}")),
            nonce=_derived(f"nonce {purpose}")[:12],
        )

    alice = user_keys(ALICE)
    submitted = write_envelope(
        sign_message(text, MessageMetadata(to=receiver, sender=sender, timestamp_ms=at * 1000), alice.signing),
        delivery=DeliveryInformation(receiver, sender),
        receiver_key=user_keys(BOB).encryption.public,
        service_key=user_keys(SERVICE).encryption.public,
        signing=alice.signing,
        seal_to=seal_to,
    )
    return {"jsonrpc": "2.0", "method": "dm3_submitMessage", "params": [submitted.as_json()], "id": 1}


def dcp_key() -> EthereumKey:
    """The published key of a peer of DCP."""
    return EthereumKey.from_secret(_derived("peer of DCP"))


def dcp_connect() -> bytes:
    """A message that requests a session of DCP."""
    payload = new_payload(CONNECT, {"version": VERSION, "sid": "sample-sample-sample."})
    return sign_body({**request_body(NewRequest(payload), payload, "1", hex_prefix=False), "nonce": None}, dcp_key())


def dcp_event(message: bytes, at: int = MADE_AT) -> Json:
    """The API Gateway event for a message of DCP."""
    return http("POST", f"https://{NLWEB.host(RECEIVER)}/dcp", at, message, {"content-type": "application/json"})


def dcp_socket_event(message: bytes, at: int = MADE_AT) -> Json:
    """The event for a message of DCP over a WebSocket."""
    api = socket_gateway.SocketApi(ACCOUNT, "s0ck3ts", "dcp", {"$default": "DcpFunction"})
    connection = socket_gateway.SocketConnection(SOCKET, SOCKET_HOST, "203.0.113.7", float(at))
    return socket_gateway.build_message_event(
        api, connection, message.decode(), float(at), "8f5f4bd2-6a2e-4a0b-a1c5-3f0de3a9a001"
    )


def text_of(value: JsonValue) -> str:
    """JSON as a sender may write it."""
    return json.dumps(value, ensure_ascii=False)


def http(method: str, url: str, at: int, body: bytes = b"", headers: Mapping[str, str] | None = None) -> Json:
    """The API Gateway event for a request."""
    parts = urlsplit(url)
    given = {"host": parts.netloc, "user-agent": "sample", **(headers or {})}
    target = f"{parts.path}?{parts.query}" if parts.query else parts.path
    request = gateway.GatewayRequest(
        method, target, tuple(given.items()), body, parts.netloc, "203.0.113.7", "HTTP/1.1"
    )
    found = gateway.find_route(ROUTES, method, parts.path)
    assert found is not None
    api = gateway.Api(ACCOUNT, "a1b2c3d4e5", ROUTES)
    return gateway.build_event(request, api, found[0], found[1], float(at), "8f5f4bd2-6a2e-4a0b-a1c5-3f0de3a9a001")


def sqs(queue: str, at: int, *bodies: str, received: int = 1, group: str = "") -> Json:
    """The Lambda event for messages in a queue. `group`: their message group, if any."""
    return {
        "Records": [
            {
                "messageId": f"059f36b4-87a3-44ab-83d2-66197551{number:04d}",
                "receiptHandle": f"handle-{number}",
                "body": body,
                "attributes": {
                    "ApproximateReceiveCount": str(received),
                    "SentTimestamp": str(at * 1000),
                    "SenderId": "AROAEXAMPLE",
                    "ApproximateFirstReceiveTimestamp": str(at * 1000 + 10),
                    **({"MessageGroupId": group} if group else {}),
                },
                "messageAttributes": {},
                "md5OfBody": "",
                "eventSource": "aws:sqs",
                "eventSourceARN": f"arn:aws:sqs:{REGION}:{ACCOUNT}:{queue}",
                "awsRegion": REGION,
            }
            for number, body in enumerate(bodies, start=1)
        ]
    }


HELLO = SubjectRule(SUBJECT, Treatment.MAILBOX, RECEIVER)


def claim(number: int, at: int, message: str, *rules: SubjectRule) -> Claim:
    """The claim that the inbox makes of a message. `rules`: in addition to that for the usual subject."""
    try:
        rule = find_rule(json.loads(message)["Header"]["Subject"], (HELLO, *rules))
    except ValueError:
        rule = HELLO
    claim_id = f"{number:032x}"
    row = row_key(RECEIVER, 1, at * 1000, claim_id)
    return Claim(claim_id, at * 1000, RECEIVER, row, "203.0.113.7", message, NlwebDetails(rule))


def discarded_row(at: int) -> RowKey:
    """The register of the discard in feedback-discard.json."""
    return row_key(RECEIVER, 1, at * 1000, f"{9:032x}")


def forged(number: int, at: int) -> dict[str, JsonValue]:
    """A message with the signature of another one."""
    return {**envelope(number, at, {"Text": "Send money"}), "Signature": envelope(0, at, None)["Signature"]}


def summed_up_hour(at: int) -> int:
    """An hour whose discards are summed up at `at`: the last one may still be within its two minutes of grace."""
    return at // HOUR_SECONDS - 2


def events(at: int = MADE_AT) -> dict[str, Json]:
    """All sample events by file name; `at`: the time of their messages, epoch seconds."""
    inbox = f"https://{NLWEB.host(RECEIVER)}/inbox"
    hello = text_of(envelope(1, at, {"Text": "Good morning ☀"})).encode()
    base64_event = http("POST", inbox, at, hello, {"content-type": "application/json; charset=utf-8"})
    base64_event |= {"body": base64.b64encode(hello).decode(), "isBase64Encoded": True}
    identity = text_of(envelope(2, at, {"Domain": RECEIVER}, "Identity@Graph")).encode()
    feedback = DiscardNotification(
        discarded_row(at), SIGNATURE_INVALID, RECEIVER, SENDER, CORRELATION.format(9),
        "0" * 64, NLWEB, at * 1000,
    )  # fmt: skip
    submit = text_of(dm3_submit(at, "Good morning, Bob ☀")).encode()
    summary = DiscardSummaryDue(RECEIVER, SENDER, summed_up_hour(at), NLWEB)
    return {
        "inbox-post.json": http("POST", inbox, at, hello, {"content-type": "application/json"}),
        "inbox-post-base64.json": base64_event,
        "inbox-get.json": http("GET", inbox, at),
        "inbox-head.json": http("HEAD", inbox, at),
        "inbox-manifest.json": http("GET", inbox.replace("/inbox", "/manifest"), at),
        "inbox-identity.json": http("POST", inbox, at, identity, {"content-type": "application/json"}),
        "inbox-elsewhere.json": http("GET", inbox.replace("/inbox", "/favicon.ico"), at),
        "dm3-submit.json": http("POST", DM3_URL, at, submit, {"content-type": "application/json"}),
        "mailbox-challenge.json": http("GET", inbox.replace("/inbox", f"/auth/{RECEIVER}"), at),
        "dcp.json": dcp_event(dcp_connect(), at),
        "dcp-socket.json": dcp_socket_event(dcp_connect(), at),
        "mailbox-messages.json": http("GET", inbox.replace("/inbox", f"/mailboxes/{RECEIVER}/messages?limit=10"), at),
        "mailbox-container.json": http(
            "PUT", inbox.replace("/inbox", f"/storage/{RECEIVER}/containers/0x{1:064x}"), at, b"\xffsealed",
            {"content-type": "application/octet-stream", "if-none-match": "*"},
        ),
        "worker-claims.json": sqs(
            "ClaimsQueue", at,
            QueuedClaim(claim(1, at, hello.decode())).body(),
            QueuedClaim(claim(3, at, text_of(forged(3, at)))).body(),
        ),
        "worker-retries.json": sqs(
            "RetryQueue", at, QueuedClaim(claim(4, at, text_of(envelope(4, at, [1, 2]))), tries=3).body()
        ),
        "worker-suspects.json": sqs(
            "SuspectsQueue", at, QueuedClaim(claim(5, at, text_of(envelope(5, at, "once more")))).body(), received=2
        ),
        "waiting-claims.json": sqs(
            "WaitingQueue", at,
            QueuedClaim(claim(6, at, text_of(envelope(6, at, "later"))))
            .awaiting(NLWEB.key_name(SENDER, SELECTOR)).body(),
        ),
        "waiting-names.json": sqs("NamesQueue", at, json.dumps({"name": "alice.eth", "key": PROFILE_KEY})),
        "dead-letters-round.json": {
            "version": "0",
            "id": "8f5f4bd2-6a2e-4a0b-a1c5-3f0de3a9a001",
            "detail-type": "Scheduled Event",
            "source": "aws.scheduler",
            "account": ACCOUNT,
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at)),
            "region": REGION,
            "resources": [f"arn:aws:scheduler:{REGION}:{ACCOUNT}:schedule/default/postroom-DeadLetterFunctionRound"],
            "detail": "{}",
        },
        "feedback-discard.json": sqs("FeedbackQueue", at, feedback.encode()),
        "feedback-summary.json": sqs("FeedbackQueue", at, summary.encode()),
        "courier-waiting.json": sqs("CourierQueue", at, MailWaiting(RECEIVER).encode()),
    }  # fmt: skip


def written(event: Json) -> str:
    """The text of an event in its file."""
    return json.dumps(event, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    [*given] = sys.argv[1:]
    made_at = MADE_AT if not given else int(time.time()) if given == ["now"] else int(given[0])
    for name, content in events(made_at).items():
        (EVENTS / name).write_text(written(content), encoding="utf-8")
