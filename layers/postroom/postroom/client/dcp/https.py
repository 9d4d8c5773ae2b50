"""A transport that posts each message over HTTPS; the answer to a message is the body of its response."""

import asyncio
import os
from typing import Final
from urllib.parse import urlsplit

import httpx

from postroom.client.dcp.errors import TransportError
from postroom.client.dcp.unsigned_answers import check_answer
from postroom.client.mailbox.aio import fetch_answer
from postroom.client.mailbox.exchange import MailboxRequest
from postroom.client.mailbox.http import choose_route, choose_tls, read_address
from postroom.core.errors import SettingsError

_HEADERS: Final = {"Content-Type": "application/json"}
_FORM: Final = "it must be https://, a host and a path, such as https://nlweb.receiver.example/dcp"


class HttpsTransport:
    """The transport to the target at a URL; see AsyncMailbox for `ca_file`, `connect` and `local`.

    `timeout`: seconds for each request, as there. Raises SettingsError, OurError.
    """

    def __init__(
        self,
        url: str,
        *,
        ca_file: str | os.PathLike[str] | None = None,
        connect: tuple[str, int] | None = None,
        local: str | os.PathLike[str] | None = None,
        timeout: float = 30.0,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        route = choose_route(ca_file, connect, local)
        try:
            parts = urlsplit(url)
            self._address = read_address(f"{parts.scheme}://{parts.netloc}", route.connect)
        except (ValueError, SettingsError):
            raise SettingsError(f"the target's URL is {url!r}; {_FORM}") from None
        if parts.query or parts.fragment:
            raise SettingsError(f"the target's URL is {url!r}; {_FORM}")
        self._path = parts.path or "/"
        self._timeout = timeout
        self._answers: asyncio.Queue[bytes] = asyncio.Queue()
        # A proxy of the environment could not reach this address.
        self._client = httpx.AsyncClient(
            verify=choose_tls(route.ca_file), transport=transport, trust_env=route.connect is None
        )

    async def send(self, message: bytes) -> None:
        """Post a message, and keep the answer for `receive`. Raises TransportError, MessageRefusedError."""
        if self._client.is_closed:
            raise TransportError("the transport is closed")
        request = MailboxRequest("POST", self._path, headers=_HEADERS, body=message)
        answer = await fetch_answer(self._client, self._address, request, self._timeout)
        self._answers.put_nowait(check_answer(answer))

    async def receive(self) -> bytes:
        """The next answer."""
        return await self._answers.get()

    async def aclose(self) -> None:
        """Close the connections to the target's host."""
        await self._client.aclose()
