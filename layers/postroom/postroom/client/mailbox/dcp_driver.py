"""The drivers of a mailbox over DCP: an owner's requests as operations of a connection, each authorized by its key."""

import os
from typing import TypeAlias

import httpx

from postroom.client.dcp.blocking import Connection
from postroom.client.dcp.connection import AsyncConnection
from postroom.client.dcp.errors import DcpError
from postroom.client.dcp.keys import load_ethereum_key
from postroom.client.mailbox.exchange import Answer, MailboxRequest
from postroom.client.mailbox.http import HostRoute
from postroom.client.mailbox.keys import Key, load_key
from postroom.client.mailbox.over_dcp import failure_of, operation_of, response_to
from postroom.client.mailbox.session import Retries, Signer
from postroom.core.errors import OurError
from postroom.crypto.ethereum import Address
from postroom.crypto.ethereum_keys import EthereumKey
from postroom.protocols.dm3.keys import PrivateSigningKey, UserKeys

OwnerKey: TypeAlias = Key | EthereumKey
_ONCE_MORE = Retries(attempts=2, first_seconds=0.2)
"""Of the same message, which counts once. The retries of the mailbox are requests of their own."""


class _AnyIdentity:
    """Remembers no addresses: the host proves itself by its certificate, and its operator may rotate the identity."""

    def address_at(self, url: str) -> Address | None:
        """None."""

    def remember(self, url: str, address: Address) -> None:
        """Do nothing."""

    def clear(self, address: Address | None = None) -> None:
        """Do nothing."""


class AsyncDcpDriver:
    """Sends an owner's requests over a connection of DCP. Parameters as for AsyncMailbox."""

    def __init__(
        self,
        url: str,
        key: OwnerKey,
        *,
        route: HostRoute,
        timeout: float,
        transport: httpx.AsyncBaseTransport | None,
    ) -> None:
        """Raises SettingsError, OSError, OurError."""
        self.key, self._owner = _keys(key)
        self._connection = AsyncConnection(
            _guardian_at(url), self._owner, http_transport=transport, ca_file=route.ca_file, connect=route.connect,
            timeout=timeout, retries=_ONCE_MORE, identities=_AnyIdentity(),
        )  # fmt: skip

    async def ask(self, request: MailboxRequest) -> Answer | None:
        """The answer to a request; None: it is not an operation of DCP. Raises UnexpectedAnswerError."""
        call = operation_of(request)
        if call is None:
            return None
        try:
            result = await self._connection.request(call.operation, call.data).send(self._owner)
        except DcpError as error:
            return failure_of(error)
        return response_to(call, result)

    async def aclose(self) -> None:
        """Close the session."""
        await self._connection.close()


class DcpDriver:
    """The same for programs without asyncio."""

    def __init__(
        self, url: str, key: OwnerKey, *, route: HostRoute, timeout: float, transport: httpx.BaseTransport | None
    ) -> None:
        """Raises SettingsError, OSError, OurError."""
        if transport is not None and not isinstance(transport, httpx.AsyncBaseTransport):
            raise OurError("with dcp=True, the transport must be one for asyncio, too: the connection uses that")
        self.key, self._owner = _keys(key)
        self._connection = Connection(
            _guardian_at(url), self._owner, http_transport=transport, ca_file=route.ca_file, connect=route.connect,
            timeout=timeout, retries=_ONCE_MORE, identities=_AnyIdentity(),
        )  # fmt: skip

    def ask(self, request: MailboxRequest) -> Answer | None:
        """The answer to a request; None: it is not an operation of DCP. Raises UnexpectedAnswerError."""
        call = operation_of(request)
        if call is None:
            return None
        try:
            result = self._connection.request(call.operation, call.data).send(self._owner)
        except DcpError as error:
            return failure_of(error)
        return response_to(call, result)

    def close(self) -> None:
        """Close the session."""
        self._connection.close()


def _guardian_at(url: str) -> str:
    return f"{url.rstrip('/')}/dcp"


def _keys(key: OwnerKey) -> tuple[Signer | UserKeys, EthereumKey]:
    """The key by which an owner signs in and opens messages, and that by which requests are authorized."""
    match key:
        case EthereumKey():
            return key, key
        case str() | os.PathLike():
            owner = load_ethereum_key(key)
            try:
                return load_key(key), owner
            except OurError:  # a keystore, or a PEM of secp256k1
                return owner, owner
    signing = key.signing if isinstance(key, UserKeys) else key
    found = signing.ethereum_key if isinstance(signing, PrivateSigningKey) else None
    if found is None:
        raise OurError("with dcp=True, the key must be one of secp256k1")
    return key, found
