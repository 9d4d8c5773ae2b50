"""docs/receive/preferences.md, whose commands a shell runs at the local post office."""

import json
import re
from base64 import b64encode
from pathlib import Path

import pytest
from tests.end_to_end.shells import Shell, open_shell

from postroom.cli.dm3.inputs import REGISTRY_OBJECT
from postroom.core.reasons import SENDER_NOT_WANTED
from postroom.crypto.rsa_ed25519 import PrivateKey
from postroom.demo.deployment import until
from postroom.demo.names import SERVICE
from postroom.demo.scenes import Story
from postroom.demo.stack import DM3_HOST, RECEIVER, Correspondent, DemoStack
from postroom.names.registry import PROFILE_KEY
from postroom.protocols.dm3.keys import UserKeys
from postroom.protocols.dm3.profile import UserProfile, data_uri
from postroom.protocols.nlweb.schema import NLWEB
from postroom.storage.directory.domains import Dm3Mailbox, Domain

# One stack serves all of these: they run in one process.
pytestmark = pytest.mark.xdist_group("demo")

PAGE = (Path(__file__).parents[2] / "docs" / "receive" / "preferences.md").read_text(encoding="utf-8")
SETTINGS, OPENING = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
HOME, CAROL = "owners.example", "carol.eth"
"""Nobody has asked for either before: what is set for them is seen at once. The page's domain has other guests."""
ORDERS, JUNK = f"orders.{HOME}", "mail.junk.example"


@pytest.fixture
def shell(demo_stack: DemoStack, tmp_path: Path) -> Shell:
    """A shell in which `postroom` finds the local stack."""
    return open_shell(demo_stack, tmp_path)


def test_the_commands_of_the_page_set_blocks_and_subjects(
    story: Story, demo_stack: DemoStack, shell: Shell, tmp_path: Path
) -> None:
    demo_deployment, key = demo_stack.receiver, PrivateKey.generate("ed25519")
    demo_deployment.operators.put_domain(Domain(HOME))
    demo_deployment.deployment.serve_host(NLWEB.host(HOME))
    mailboxes = demo_deployment.mailboxes
    for name in (HOME, ORDERS):
        mailboxes.set_keys(name, [b64encode(key.public.spki()).decode()])
    (tmp_path / f"{HOME}.pem").write_bytes(key.to_pem())
    shown = shell(SETTINGS.replace(RECEIVER, HOME)).splitlines()
    assert shown[:2] == ["blocks=[]", "subjects={}"]
    changed = shown[len(shown) // 2 :]
    assert changed[:2] == ['blocks=["spam.example", "*.junk.example"]', f'subjects.Order@Shop="{ORDERS}"']

    junk = Correspondent(JUNK, "pk1", PrivateKey.generate("ed25519"))
    demo_stack.publish(junk)
    answers = []
    for who in (junk, demo_stack.sender):
        envelope = story.envelope(who, {"Text": "an order"}, to=HOME, subject="Order@Shop")
        status, answer = story.post(envelope, NLWEB.inbox_url(HOME))
        answers.append((status, answer["Status"]))
    story.find_filed(demo_deployment, ORDERS, envelope)
    assert answers == [(200, "Queued")] * 2
    blocked = until(
        "the message of a blocked sender is discarded",
        lambda: next((row for row in demo_deployment.rows() if row.key.mailbox == ORDERS and row.discarded), None),
    )
    assert blocked.discarded is SENDER_NOT_WANTED
    assert len(demo_deployment.filed(ORDERS)) == 1


def test_the_commands_of_the_page_open_a_mailbox(
    story: Story, demo_stack: DemoStack, shell: Shell, tmp_path: Path
) -> None:
    demo_deployment, keys = demo_stack.receiver, UserKeys.random()
    (tmp_path / f"{CAROL}.json").write_text(json.dumps(keys.as_json()))
    profile = UserProfile(keys.encryption.public, keys.signing.public, (SERVICE,))
    texts = json.loads(demo_deployment.objects.get(REGISTRY_OBJECT))
    texts[CAROL] = {PROFILE_KEY: data_uri(profile.as_json())}
    demo_deployment.objects.replace(REGISTRY_OBJECT, json.dumps(texts).encode(), "application/json")

    def opened() -> str | None:
        try:
            return shell(OPENING)
        except AssertionError:
            # The registry was read a moment before it was written.
            return None

    assert until("Carol opens her mailbox", opened) == f"{CAROL}: open\nthere are no messages in {CAROL}\n"
    assert Dm3Mailbox(CAROL, by_owner=True) in demo_deployment.operators.dm3_mailboxes()
    asked = {"jsonrpc": "2.0", "method": "dm3_getProfileExtension", "params": [CAROL], "id": 1}
    assert story.post(asked, f"https://{DM3_HOST}/rpc")[1]["result"]["supportedMessageTypes"] == ["NEW"]  # type: ignore[index]


def test_every_block_of_the_page_is_run() -> None:
    assert PAGE.count("```sh") == len((SETTINGS, OPENING))
