import asyncio

import httpx
import msgspec
from tests.http.dcp_peers import OWNER
from tests.patience import PATIENCE

from postroom.api.dcp import GuardianDescription
from postroom.client.mailbox.dcp_driver import AsyncDcpDriver
from postroom.client.mailbox.exchange import Answer, MailboxRequest, MailboxResponse, NoAnswer
from postroom.client.mailbox.http import HostRoute

WAIT = MailboxRequest("GET", "/mailboxes/shop.com/messages", {"wait": "20"}, wait=20)


def test_a_driver_that_is_closed_while_it_asks_for_a_websocket_opens_none() -> None:
    described = GuardianDescription(f"0x{OWNER.address}", [], {}, 0, 1, 1, "wss://nlweb.shop.com/dcp")
    connected: list[object] = []

    async def answered() -> Answer | None:
        async def describe() -> Answer:
            await driver.aclose()
            return MailboxResponse(200, {}, msgspec.json.encode(described))

        async with await asyncio.start_server(lambda *it: connected.append(it), "127.0.0.1", 0) as server:
            driver = AsyncDcpDriver(
                "https://nlweb.shop.com", OWNER, route=HostRoute(connect=server.sockets[0].getsockname()),
                timeout=PATIENCE, transport=httpx.MockTransport(lambda _: httpx.Response(500)), describe=describe,
            )  # fmt: skip
            return await driver.ask(WAIT)

    answer = asyncio.run(answered())
    assert isinstance(answer, NoAnswer)
    assert "is closed" in answer.detail
    assert not connected
