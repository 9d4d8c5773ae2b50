"""The `pollyweb` client as PyPI has it, and the deployed template: from its `send` to what is filed."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from postroom.crypto.rsa_ed25519 import PrivateKey
from postroom.demo.deployment import DemoDeployment, until
from postroom.local import pollyweb
from postroom.local.checkout import template_path
from postroom.local.guest import run_guest
from postroom.local.patience import PATIENT_SETTINGS
from postroom.local.stack import LocalStack
from postroom.protocols.nlweb.key_record import record_text, zone_line
from postroom.protocols.nlweb.subjects import SubjectRule, Treatment
from postroom.storage.directory.domains import Domain
from postroom.storage.mail.reader import Filed

SENDER, RECEIVER, SUBJECT = "polly.example", "receiver.example", "Hello@Host"
WALLET = "6f9619ff-8b86-d011-b42d-00cf4fc964ff"
KEY = PrivateKey.generate("ed25519")

# One stack for all of them.
pytestmark = [pytest.mark.xdist_group("pollyweb"), pytest.mark.stack]


@pytest.fixture(scope="module")
def stack() -> Iterator[LocalStack]:
    with LocalStack(template_path()) as stack:
        stack.tree.put(RECEIVER, "pw A 127.0.0.1")
        stack.tree.put(SENDER, zone_line(f"pw1._domainkey.pw.{SENDER}", record_text(KEY.public)))
        yield stack


@pytest.fixture(scope="module")
def demo_deployment(stack: LocalStack) -> DemoDeployment:
    demo_deployment = DemoDeployment(RECEIVER, stack.deploy("receiver", settings=PATIENT_SETTINGS))
    demo_deployment.deployment.serve_host(f"pw.{RECEIVER}")
    demo_deployment.operators.put_domain(Domain(RECEIVER))
    demo_deployment.operators.put_subject(RECEIVER, SubjectRule(SUBJECT, Treatment.MAILBOX, RECEIVER))
    demo_deployment.operators.put_wallet(WALLET, KEY.public.spki())
    return demo_deployment


@pytest.fixture
def where(stack: LocalStack, demo_deployment: DemoDeployment) -> dict[str, Any]:
    return {"dns_address": stack.dns.address, "https_port": stack.edge.port, "ca": stack.authority.pem}


def send(where: dict[str, Any], body: Any) -> pollyweb.PollywebExchange:
    return pollyweb.send(sender=SENDER, key_pem=KEY.to_pem(), receiver=RECEIVER, subject=SUBJECT, body=body, **where)


def find_filed(demo_deployment: DemoDeployment, correlation: str) -> Filed:
    return until(
        "the message is filed",
        lambda: next((m for m in demo_deployment.filed(RECEIVER) if correlation in m.line.envelope), None),
    )


def test_its_message_is_queued_and_filed_by_a_key_proven_from_the_root(
    demo_deployment: DemoDeployment, where: dict[str, Any]
) -> None:
    sent = send(where, {"Text": "Hello from 2026"})
    correlation = sent.envelope["Header"]["Correlation"]
    assert (sent.status, sent.answer) == (200, {"Correlation": correlation, "Status": "Queued"})
    message = find_filed(demo_deployment, correlation)
    assert json.loads(message.line.envelope) == sent.envelope
    receipt = message.line.receipt
    assert (receipt["dialect"], receipt["selector"]) == ("pollyweb.org/MSG:1.0", "pw1")
    assert receipt["key_fingerprint"] == KEY.public.fingerprint
    assert [link["zone"] for link in receipt["evidence"]["chain"]] == [".", "example.", "polly.example."]


def test_a_message_that_is_not_rfc_8785_text_is_refused_at_once(
    demo_deployment: DemoDeployment, where: dict[str, Any]
) -> None:
    rows = demo_deployment.rows()
    sent = send(where, {"Amount": 1.0})
    assert (sent.status, sent.answer["reason"]) == (422, "HashMismatch")
    assert demo_deployment.rows() == rows


def test_its_wallet_is_verified_by_its_registered_key(demo_deployment: DemoDeployment, where: dict[str, Any]) -> None:
    script = f"""
import json, sys
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from pollyweb import KeyPair, Msg, Wallet
wallet = Wallet(KeyPair(load_pem_private_key(sys.stdin.read().encode(), None)), {WALLET!r})
print(json.dumps(wallet.send(Msg({RECEIVER!r}, {SUBJECT!r}, Body={{"Text": "from a wallet"}}))))
"""
    ran = run_guest(script, **where, stdin=KEY.to_pem().decode())
    assert ran.returncode == 0, ran.stderr
    receipt = find_filed(demo_deployment, json.loads(ran.stdout)["Correlation"]).line.receipt
    assert (receipt["evidence"], receipt["key_fingerprint"]) == ("pre-shared", KEY.public.fingerprint)
