"""Waiting for mail over a WebSocket at the local post office: an owner is told as soon as a message is filed."""

import asyncio
from base64 import b64encode
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from tests.patience import PATIENCE

from postroom.client import AsyncMailbox, Mailbox
from postroom.crypto.ethereum_keys import EthereumKey
from postroom.demo.scenes import Story
from postroom.demo.stack import SUBJECT, DemoStack
from postroom.protocols.dm3.keys import PrivateSigningKey
from postroom.protocols.nlweb.schema import NLWEB
from postroom.protocols.nlweb.subjects import SubjectRule, Treatment
from postroom.storage.directory.domains import Domain

# One stack serves all of these: they run in one process.
pytestmark = pytest.mark.xdist_group("demo")

OWNER = "watch.example"
URL = f"https://{NLWEB.host(OWNER)}"
KEY = EthereumKey.generate()


@pytest.fixture(scope="module")
def reached(demo_stack: DemoStack) -> dict[str, Any]:
    """How to reach the stack, which serves watch.example from now on."""
    served = demo_stack.receiver
    served.operators.put_subject(OWNER, SubjectRule(SUBJECT, Treatment.MAILBOX, OWNER))
    served.operators.put_domain(Domain(OWNER))
    served.deployment.serve_host(NLWEB.host(OWNER))
    public = PrivateSigningKey.decode(f"secp256k1:{b64encode(KEY.secret).decode()}").public
    served.mailboxes.set_keys(OWNER, [public.encode()])
    return {
        "ca_file": demo_stack.stack.authority.pem,
        "connect": ("127.0.0.1", demo_stack.stack.edge.port),
        "dcp": True,
    }


def watches(demo_stack: DemoStack) -> list[str]:
    """The ids of the targets that wait for mail."""
    return [target.id for target in demo_stack.receiver.storage.targets.of(OWNER)]


async def until(what: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not what():
            await asyncio.sleep(0.1)


def test_an_owner_who_waits_is_told_of_a_message(story: Story, demo_stack: DemoStack, reached: dict[str, Any]) -> None:
    async def wait_for_one() -> None:
        async with AsyncMailbox(URL, OWNER, KEY, **reached) as mailbox:
            before = watches(demo_stack)
            next_one = asyncio.ensure_future(anext(mailbox.unread(wait=True)))
            await until(lambda: watches(demo_stack) != before)
            [waits] = watches(demo_stack)
            sent = story.envelope(demo_stack.sender, {"Text": "Good morning"}, to=OWNER)
            assert (await asyncio.to_thread(story.post, sent, NLWEB.inbox_url(OWNER)))[0] == 200
            message = await next_one
            assert waits not in watches(demo_stack), "the courier has answered it"
            assert await message.json == sent
            await message.acknowledge()

    asyncio.run(wait_for_one())


def test_a_program_without_asyncio_waits_in_the_same_way(
    story: Story, demo_stack: DemoStack, reached: dict[str, Any]
) -> None:
    with Mailbox(URL, OWNER, KEY, **reached) as mailbox, ThreadPoolExecutor(1) as pool:
        before = watches(demo_stack)
        next_one = pool.submit(next, mailbox.unread(wait=True))
        asyncio.run(until(lambda: watches(demo_stack) != before))
        sent = story.envelope(demo_stack.sender, {"Text": "Good evening"}, to=OWNER)
        assert story.post(sent, NLWEB.inbox_url(OWNER))[0] == 200
        message = next_one.result(PATIENCE)
        assert message.json == sent
        message.acknowledge()


def test_a_watch_whose_websocket_is_closed_is_answered_nowhere_and_ends_when_mail_comes(
    story: Story, demo_stack: DemoStack, reached: dict[str, Any]
) -> None:
    async def wait_and_leave() -> str:
        async with AsyncMailbox(URL, OWNER, KEY, **reached) as mailbox:
            before = watches(demo_stack)
            next_one = asyncio.ensure_future(anext(mailbox.unread(wait=True)))
            await until(lambda: watches(demo_stack) != before)
            next_one.cancel()
            [waits] = set(watches(demo_stack)) - set(before)
            return waits

    waits = asyncio.run(wait_and_leave())
    assert waits in watches(demo_stack), "nobody has tried to answer it yet"
    sent = story.envelope(demo_stack.sender, {"Text": "Good night"}, to=OWNER)
    assert story.post(sent, NLWEB.inbox_url(OWNER))[0] == 200
    asyncio.run(until(lambda: waits not in watches(demo_stack)))
    with Mailbox(URL, OWNER, KEY, **reached) as mailbox:
        message = next(mailbox.unread())
        assert message.json == sent
        message.acknowledge()
