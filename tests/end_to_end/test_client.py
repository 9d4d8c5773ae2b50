"""An owner's program reads messages that came through the real inbox, over HTTPS, and acknowledges them."""

import asyncio
import json
from base64 import b64encode
from typing import Any

import pytest

from postroom.client import AsyncMailbox, Mailbox
from postroom.client.mailbox import MessageGoneError, NotTheOwnerError, UntrustedHostError
from postroom.crypto.rsa_ed25519 import PrivateKey
from postroom.demo.names import BOB
from postroom.demo.scenes import Story
from postroom.demo.stack import DM3_HOST, SUBJECT, DemoStack
from postroom.protocols.nlweb.schema import NLWEB
from postroom.protocols.nlweb.subjects import SubjectRule, Treatment
from postroom.storage.directory.domains import Domain

# One stack serves all of these: they run in one process.
pytestmark = pytest.mark.xdist_group("demo")

OWNER = "owner.example"
URL = f"https://{NLWEB.host(OWNER)}"
KEY = PrivateKey.generate("ed25519")


@pytest.fixture(scope="module")
def reached(demo_stack: DemoStack) -> dict[str, Any]:
    """How to reach the stack, which serves owner.example from now on."""
    demo_deployment = demo_stack.receiver
    demo_deployment.operators.put_subject(OWNER, SubjectRule(SUBJECT, Treatment.MAILBOX, OWNER))
    demo_deployment.operators.put_domain(Domain(OWNER))
    demo_deployment.deployment.serve_host(NLWEB.host(OWNER))
    mailboxes = demo_deployment.mailboxes
    mailboxes.set_keys(OWNER, [b64encode(KEY.public.spki()).decode()])
    return {"ca_file": demo_stack.stack.authority.pem, "connect": ("127.0.0.1", demo_stack.stack.edge.port)}


def test_a_domains_program_reads_and_acknowledges_a_message(
    story: Story, demo_stack: DemoStack, reached: dict[str, Any]
) -> None:
    sent = story.envelope(demo_stack.sender, {"Text": "Good morning 🤝"}, to=OWNER)
    with Mailbox(URL, OWNER, KEY, **reached) as mailbox:
        unread = mailbox.unread(wait=60)
        assert story.post(sent, NLWEB.inbox_url(OWNER))[0] == 200
        message = next(each for each in unread if each.json == sent)
        assert message.envelope == json.dumps(sent, ensure_ascii=False)
        assert (message.partner, message.unverified) == (demo_stack.sender.domain, None)
        assert message.receipt["key_fingerprint"] == demo_stack.sender.key.public.fingerprint
        message.acknowledge()
        with pytest.raises(MessageGoneError):
            mailbox.message(message.id)
        assert message.id not in [each.id for each in mailbox.unread()]


def test_a_domains_asyncio_program_reads_and_acknowledges_a_message(
    story: Story, demo_stack: DemoStack, reached: dict[str, Any]
) -> None:
    sent = story.envelope(demo_stack.sender, {"Text": "Good evening"}, to=OWNER)

    async def read() -> str:
        async with AsyncMailbox(URL, OWNER, KEY, **reached) as mailbox:
            await asyncio.to_thread(story.post, sent, NLWEB.inbox_url(OWNER))
            async for message in mailbox.unread(wait=60):
                if await message.json == sent:
                    await message.acknowledge()
                    return message.id
        pytest.fail("it did not come")

    message_id = asyncio.run(read())
    with Mailbox(URL, OWNER, KEY, **reached) as mailbox, pytest.raises(MessageGoneError):
        mailbox.message(message_id)


def test_a_dm3_user_signs_in_with_the_key_of_the_profile(demo_stack: DemoStack, reached: dict[str, Any]) -> None:
    with Mailbox(f"https://{DM3_HOST}", BOB, demo_stack.names.users[BOB], **reached) as mailbox:
        assert mailbox.status().waiting >= 0
        assert mailbox.settings().unverified is not None


def test_another_key_does_not_sign_in(demo_stack: DemoStack, reached: dict[str, Any]) -> None:
    with Mailbox(URL, OWNER, demo_stack.sender.key, **reached) as mailbox, pytest.raises(NotTheOwnerError):
        mailbox.status()


def test_an_untrusted_host_is_refused(demo_stack: DemoStack, reached: dict[str, Any]) -> None:
    slept: list[float] = []
    untrusting = {"connect": reached["connect"], "sleep": slept.append}
    with Mailbox(URL, OWNER, demo_stack.sender.key, **untrusting) as mailbox, pytest.raises(UntrustedHostError):
        mailbox.status()
    # Nor one that proves to be another.
    elsewhere = "https://nobody.example"
    with Mailbox(elsewhere, OWNER, demo_stack.sender.key, **reached) as mailbox, pytest.raises(UntrustedHostError):
        mailbox.status()
    assert slept == []
