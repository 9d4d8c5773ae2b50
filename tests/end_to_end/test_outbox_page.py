"""docs/send/outbox.md: an owner runs its shell block at the local post office."""

import json
import re
from base64 import b64encode
from pathlib import Path

import pytest
from tests.end_to_end.shells import Shell, open_shell

from postroom.crypto.rsa_ed25519 import PrivateKey
from postroom.demo.deployment import until
from postroom.demo.stack import RECEIVER, SUBJECT, DemoStack
from postroom.protocols.nlweb.key_record import record_text, zone_line
from postroom.protocols.nlweb.schema import NLWEB
from postroom.protocols.nlweb.subjects import SubjectRule, Treatment
from postroom.storage.directory.domains import Domain

# One stack serves all of these: they run in one process.
pytestmark = pytest.mark.xdist_group("demo")

DOCS = Path(__file__).parents[2] / "docs"
SHOP = "shop.example"
OWNER = PrivateKey.generate("ed25519")


def blocks(page: str) -> list[str]:
    return re.findall(r"^```sh\n(.*?)^```$", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


[SEND] = blocks("send/outbox.md")


@pytest.fixture(scope="module")
def shop(demo_stack: DemoStack) -> None:
    """shop.example is served here, has a key to sign by, and an owner."""
    demo_deployment, key = demo_stack.receiver, PrivateKey.generate("ed25519")
    record = zone_line(NLWEB.key_name(SHOP, "pk1"), record_text(key.public))
    demo_stack.stack.tree.put(SHOP, f"nlweb IN A 127.0.0.1\n{record}\n")
    demo_deployment.signing_keys.put(SHOP, "pk1", key)
    demo_deployment.operators.put_subject(SHOP, SubjectRule(SUBJECT, Treatment.MAILBOX, SHOP))
    demo_deployment.operators.put_domain(Domain(SHOP, signs=True))
    demo_deployment.deployment.serve_host(NLWEB.host(SHOP))
    mailboxes = demo_deployment.mailboxes
    mailboxes.set_keys(SHOP, [b64encode(OWNER.public.spki()).decode()])


@pytest.fixture
def shell(demo_stack: DemoStack, shop: None, tmp_path: Path) -> Shell:
    """A shell in a folder with the key that the page speaks of, in which `postroom` finds the local stack."""
    (tmp_path / "owner.pem").write_bytes(OWNER.to_pem())
    return open_shell(demo_stack, tmp_path)


def test_an_owner_sends_as_the_page_says(demo_stack: DemoStack, shell: Shell) -> None:
    printed = shell(SEND)
    assert printed.startswith("delivered\n")
    [correlation] = re.findall(r"^  correlation: (.*)$", printed, re.MULTILINE)

    def filed() -> bool | None:
        envelopes = [json.loads(each.line.envelope) for each in demo_stack.receiver.filed(RECEIVER, SHOP)]
        return ("Hi", correlation) in [(it["Body"]["Text"], it["Header"]["Correlation"]) for it in envelopes] or None

    assert until("it is filed", filed)
    traced = json.loads(shell(f"postroom trace {correlation} --json"))
    [sent], [came] = traced["sent"], traced["messages"]
    assert (sent["mailbox"], sent["to"], sent["state"]) == (SHOP, RECEIVER, "delivered")
    assert [event["event"] for event in sent["events"]] == ["delivered"]
    assert (came["mailbox"], came["from"], came["state"]) == (RECEIVER, SHOP, "filed")
    assert [event["event"] for event in came["events"]] == ["queued", "accepted"]
