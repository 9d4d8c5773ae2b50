"""The `pollyweb` client as PyPI has it, in a guest process: as a sender to us, and as a verifier of what we send."""

import base64
import hashlib
import importlib.metadata
import json
import time
import uuid
from pathlib import Path

import pytest

from postroom.core.errors import OurError, TheirError
from postroom.core.reasons import NOT_I_JSON, TOO_LARGE
from postroom.crypto.rsa_ed25519 import PrivateKey
from postroom.local import pollyweb
from postroom.local.zones import Mode
from postroom.protocols.nlweb.feedback import body_of, read_feedback
from postroom.protocols.nlweb.reasons import HASH_MISMATCH, NOT_OURS, SIGNATURE_INVALID, WRONG_SHAPE
from postroom.protocols.nlweb.schema import NLWEB, POLLYWEB
from postroom.protocols.nlweb.sign import Draft, sign
from postroom.protocols.nlweb.subjects import FEEDBACK

SENDER, RECEIVER = "polly.example", "receiver.example"
WALLET = "6f9619ff-8b86-d011-b42d-00cf4fc964ff"
KEY = PrivateKey.generate("ed25519")
RSA_KEY = PrivateKey.generate("rsa")
DOCS = Path(__file__).parents[2] / "docs" / "evidence" / "peers.md"

# Sends each message of {name: {"as": who, …fields of Msg}}; tells {name: what became of it}.
SEND = """
import json, sys, urllib.error
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from pollyweb import Domain, KeyPair, Msg, Wallet

asked = json.load(sys.stdin)
key, rsa_key = (load_pem_private_key(pem.encode(), None) for pem in asked["keys"])
pair = KeyPair(key)
senders = {
    "domain": lambda: Domain("polly.example", KeyPair=pair),
    "rsa": lambda: Domain(
        "polly.example", Selector="rsa", Signer=lambda text: rsa_key.sign(text, PKCS1v15(), hashes.SHA256())
    ),
    "underscore": lambda: Domain("polly.example", Selector="my_key", Signer=key.sign),
    "wallet": lambda: Wallet(pair, asked["wallet"]),
    "short wallet": lambda: Wallet(pair, asked["wallet"].replace("-", "")),
    "nobody": lambda: Wallet(),
}
told = {}
for name, fields in asked["messages"].items():
    sender = senders[fields.pop("as", "domain")]()
    try:
        answer = sender.send(Msg(**{"To": "receiver.example", "Subject": "Hello@Host", "Body": {}, **fields}))
    except Exception as error:
        answer = f"{type(error).__name__}: {error}"
    told[name] = answer
json.dump(told, sys.stdout)
"""
VERIFY = """
import json, sys
from pollyweb import Msg
told = {}
for name, envelope in json.load(sys.stdin).items():
    try:
        told[name] = Msg.parse(envelope).verify()
    except Exception as error:
        told[name] = f"{type(error).__name__}: {error}"
json.dump(told, sys.stdout)
"""


@pytest.fixture(scope="module", autouse=True)
def zones(fake_network):
    fake_network.publish(SENDER, {"pw1": KEY.public, "rsa": RSA_KEY.public, "my_key": KEY.public})
    fake_network.publish("unsigned.example", {"pw1": KEY.public}, Mode.UNSIGNED)
    fake_network.publish("bogus.example", {"pw1": KEY.public}, Mode.BOGUS)


def send(fake_network, messages):
    """What pollyweb said of each message, and what it posted: {name: (answer, bytes or None)}."""
    asked = {"messages": messages, "keys": [KEY.to_pem().decode(), RSA_KEY.to_pem().decode()], "wallet": WALLET}
    fake_network.inbox.posted.clear()
    answers = fake_network.run(SEND, asked)
    posted = iter(fake_network.inbox.posted)
    bodies = {name: next(posted).body if isinstance(said, dict) else None for name, said in answers.items()}
    assert not list(posted)
    return {name: (answers[name], bodies[name]) for name in messages}


def draft(**changes):
    basis = Draft(
        sender=SENDER,
        receiver=RECEIVER,
        subject="Hello@Host",
        correlation=str(uuid.uuid4()),
        timestamp_ms=int(time.time() * 1000),
        body={"Text": "Grüße 🤝", "Numbers": [1, 2.5, -3], "Nothing": None},
        selector="pw1",
        dialect=POLLYWEB,
    )
    return Draft(**{**{name: getattr(basis, name) for name in Draft.__slots__}, **changes})


def test_its_files_are_unchanged():
    distribution = importlib.metadata.distribution("pollyweb")
    assert distribution.version == "1.0.96"
    hashed = [file for file in distribution.files if file.hash]
    assert len(hashed) > 10
    for file in hashed:
        digest = hashlib.new(file.hash.mode, file.locate().read_bytes()).digest()
        assert base64.urlsafe_b64encode(digest).decode().rstrip("=") == file.hash.value, file


# --- as a sender ---------------------------------------------------------------------------------------------

ACCEPTED = {
    "a domain's, Ed25519": {"Body": {"Text": "Grüße 🤝", "Numbers": [1, 2.5, 1e21, None, True]}},
    "a domain's, RSA": {"as": "rsa", "Body": {"Text": "hello"}},
    "a Body that is a string": {"Body": "hello"},
    "no Body": {},
    "a name beyond U+FFFF alone": {"Body": {"😀": 1, "a": 2}},
    "noncharacters": {"Body": {"Text": "\ufffe\uffff"}},
    "To and Correlation in capitals": {"To": "Receiver.Example", "Correlation": str(uuid.uuid4()).upper()},
    "a Timestamp of whole seconds": {"Timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())},
    "a schema code without version": {"Schema": "pollyweb.org/MSG"},
    "a wallet's": {"as": "wallet", "Body": {"Text": "hello"}},
}


@pytest.fixture(scope="module")
def accepted(fake_network):
    return send(fake_network, ACCEPTED)


@pytest.mark.parametrize("name", ACCEPTED)
def test_its_messages_are_accepted_and_verified_by_a_proven_key(fake_network, accepted, name):
    answer, body = accepted[name]
    assert answer == {"Status": "Queued"}
    wallet = ACCEPTED[name].get("as") == "wallet"
    envelope = fake_network.judge(body, KEY.public if wallet else None)
    assert envelope.sender == (WALLET if wallet else SENDER)
    assert envelope.body == ACCEPTED[name].get("Body", {})
    assert envelope.dialect is POLLYWEB


def test_it_posts_to_the_host_and_path_of_its_dialect(fake_network):
    send(fake_network, {"one": {}})
    (posted,) = fake_network.inbox.posted
    assert (f"https://{posted.host}{posted.path}", posted.content_type) == (
        POLLYWEB.inbox_url(RECEIVER),
        "application/json",
    )


def test_a_byte_changed_on_the_way_is_detected(fake_network):
    _, body = send(fake_network, {"one": {"Body": {"Text": "hello"}}})["one"]
    with pytest.raises(TheirError) as caught:
        fake_network.judge(body.replace(b"hello", b"hullo"))
    assert caught.value.reason is HASH_MISMATCH


# As docs/evidence/peers.md has them, row by row.
REFUSED = {
    "the number 1.0": ({"Body": {"n": 1.0}}, HASH_MISMATCH),
    "the number 1e16": ({"Body": {"n": 1e16}}, HASH_MISMATCH),
    "the number 1e-7": ({"Body": {"n": 1e-7}}, HASH_MISMATCH),
    "the number 0.00001": ({"Body": {"n": 0.00001}}, HASH_MISMATCH),
    "the number -0.0": ({"Body": {"n": -0.0}}, HASH_MISMATCH),
    "member names beyond U+FFFF beside U+E000–U+FFFF": ({"Body": {"😀": 1, "\ufb33": 2}}, HASH_MISMATCH),
    "an integer that is not exact as a double": ({"Body": {"n": 2**53 + 1}}, NOT_I_JSON),
    "NaN": ({"Body": {"n": float("nan")}}, NOT_I_JSON),
    "a Body nested 70 deep": ({"Body": {"n": json.loads("[" * 70 + "]" * 70)}}, NOT_I_JSON),
    "a Body of more than 1 MiB": ({"Body": {"Text": "x" * (1 << 20)}}, TOO_LARGE),
    "a Subject of 300 characters": ({"Subject": "x" * 300}, WRONG_SHAPE),
    "a Subject with a line break": ({"Subject": "Hello\n@Host"}, WRONG_SHAPE),
    "a Correlation without hyphens": ({"Correlation": uuid.uuid4().hex}, WRONG_SHAPE),
    "a Correlation as a URN": ({"Correlation": uuid.uuid4().urn}, WRONG_SHAPE),
    "a wallet's UUID without hyphens": ({"as": "short wallet"}, WRONG_SHAPE),
    "a selector with an underscore": ({"as": "underscore"}, WRONG_SHAPE),
    "an anonymous message": ({"as": "nobody"}, WRONG_SHAPE),
    "its request for a manifest": ({"as": "nobody", "Subject": "Manifest@Domain"}, WRONG_SHAPE),
    "a To under `.dom`": ({"To": "receiver.dom"}, NOT_OURS),
}


@pytest.fixture(scope="module")
def refused(fake_network):
    return send(fake_network, {name: fields for name, (fields, _) in REFUSED.items()})


@pytest.mark.parametrize("name", REFUSED)
def test_its_messages_that_we_refuse(fake_network, refused, name):
    answer, body = refused[name]
    assert answer == {"Status": "Queued"}
    with pytest.raises(TheirError) as caught:
        fake_network.judge(body)
    assert caught.value.reason is REFUSED[name][1]


def test_the_messages_that_we_refuse_are_documented():
    section = DOCS.read_text(encoding="utf-8").partition("### What it sends")[2].partition("### ")[0]
    rows = [line.split(" | ")[:2] for line in section.splitlines() if line.startswith("| ")][1:]
    assert rows == [[f"| {name}", f"`{reason}`"] for name, (_, reason) in REFUSED.items()]


def test_its_request_for_a_manifest_is_anonymous_and_unsigned(fake_network):
    fake_network.inbox.posted.clear()
    fake_network.attempt(f"from pollyweb import Domain; Domain({RECEIVER!r}).fetch_manifest()")
    (posted,) = fake_network.inbox.posted
    envelope = json.loads(posted.body)
    assert envelope["Header"]["From"] == "Anonymous"
    assert set(envelope) == {"Header", "Body"}
    with pytest.raises(TheirError) as caught:
        fake_network.check_at_inbox(posted.body)
    assert caught.value.reason is WRONG_SHAPE


def test_messages_that_it_refuses_to_send(fake_network):
    said = send(fake_network, {"to": {"To": str(uuid.uuid4())}, "schema": {"Schema": "nlweb.org/MSG:1.0"}})
    assert said["to"] == ("MsgValidationError: To must be a domain string to send", None)
    assert said["schema"] == ("MsgValidationError: Unsupported schema: nlweb.org/MSG:1.0", None)


# --- the call for the demo -----------------------------------------------------------------------------------


def polly(fake_network, sender=SENDER):
    return pollyweb.send(
        sender=sender,
        key_pem=KEY.to_pem(),
        receiver=RECEIVER,
        subject="Hello@Host",
        body={"Text": "Hello from 2026"},
        **fake_network.where,
    )


def test_one_call_sends_one_message_and_returns_it_with_the_response(fake_network):
    fake_network.inbox.posted.clear()
    sent = polly(fake_network)
    (posted,) = fake_network.inbox.posted
    assert (sent.envelope, sent.status, sent.answer) == (json.loads(posted.body), 200, {"Status": "Queued"})
    assert fake_network.judge(posted.body).body == {"Text": "Hello from 2026"}


def test_a_refusal_is_returned_with_its_status(fake_network, monkeypatch):
    monkeypatch.setattr(fake_network.inbox, "answer", (421, {"reason": "NotOurs"}))
    assert polly(fake_network)[1:] == (421, {"reason": "NotOurs"})


@pytest.mark.parametrize("sender", ["unsigned.example", "bogus.example", "unheard-of.example"])
def test_it_does_not_send_for_a_domain_whose_key_it_cannot_trust(fake_network, sender):
    fake_network.inbox.posted.clear()
    with pytest.raises(OurError, match=rf"MsgValidationError: DNSSEC validation failed for pw\.{sender}"):
        polly(fake_network, sender)
    assert fake_network.inbox.posted == []


# --- as a verifier -------------------------------------------------------------------------------------------


def test_our_messages_pass_its_verification(fake_network):
    feedback = body_of(SENDER, str(uuid.uuid4()), SIGNATURE_INVALID)
    read_feedback(feedback)
    envelopes = {
        "Ed25519": sign(draft(), KEY),
        "RSA": sign(draft(selector="rsa"), RSA_KEY),
        "string": sign(draft(body="hello"), KEY),
        "Feedback": sign(draft(subject=FEEDBACK, body=feedback), KEY),
    }
    before = fake_network.dns.queries[f"pw1._domainkey.pw.{SENDER}.", "TXT"]
    assert fake_network.run(VERIFY, envelopes) == dict.fromkeys(envelopes, True)
    assert fake_network.dns.queries[f"pw1._domainkey.pw.{SENDER}.", "TXT"] == before + 3


def test_forged_and_changed_messages_do_not_pass_its_verification(fake_network):
    changed = sign(draft(body={"Text": "hello"}), KEY)
    changed["Body"] = {"Text": "hullo"}
    envelopes = {"forged": sign(draft(), PrivateKey.generate("ed25519")), "changed": changed}
    assert fake_network.run(VERIFY, envelopes) == {
        "forged": "MsgValidationError: Invalid signature",
        "changed": "MsgValidationError: Hash mismatch",
    }


def test_it_does_not_use_an_unproven_key(fake_network):
    envelopes = {mode: sign(draft(sender=f"{mode}.example"), KEY) for mode in ("unsigned", "bogus")}
    for said in fake_network.run(VERIFY, envelopes).values():
        assert "DNSSEC validation failed for pw." in said


def test_our_messages_that_it_refuses(fake_network):
    envelopes = {
        "the dialect nlweb.org": sign(draft(dialect=NLWEB), KEY),
        "no Body": sign(draft(has_body=False), KEY),
        "a Body of null": sign(draft(body=None), KEY),
        "a Body that is a list": sign(draft(body=[1]), KEY),
        "the number 1e16": sign(draft(body={"n": 1e16}), KEY),
    }
    told = fake_network.run(VERIFY, envelopes)
    section = DOCS.read_text(encoding="utf-8").partition("### What we could send")[2].partition("## ")[0]
    rows = [line.split(" | ") for line in section.splitlines() if line.startswith("| ")][1:]
    assert {row[0].removeprefix("| "): row[1].strip("`") for row in rows} == {
        name: said.removeprefix("MsgValidationError: ") for name, said in told.items()
    }
