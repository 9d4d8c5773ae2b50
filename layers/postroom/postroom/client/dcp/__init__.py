"""Connections of DCP: an initiator and targets, over HTTPS, WebSockets, in memory, or by transports of one's own.

async with AsyncConnection("https://nlweb.receiver.example/dcp", key) as connection:
    print(await connection.send("echo", {"Say": "hi"}))

connection = await accept(transport, key, on_request=lambda request: request.respond(request.data))
"""

from postroom.client.dcp.acceptance import AcceptedConnection, accept
from postroom.client.dcp.blocking import Connection
from postroom.client.dcp.connection import AsyncConnection
from postroom.client.dcp.errors import (
    ConnectionClosedError,
    DcpError,
    MessageRefusedError,
    NotConnectedError,
    OutcomeUnknownError,
    RequestFailedError,
    RequestNotSentError,
    TransportError,
)
from postroom.client.dcp.https import HttpsTransport
from postroom.client.dcp.identities import IdentityCache, IdentityFile, IdentityMemory
from postroom.client.dcp.keys import load_ethereum_key
from postroom.client.dcp.keystores import Keystore
from postroom.client.dcp.memory import MemoryTransport, memory_pair
from postroom.client.dcp.requests import AnsweredBeforeError, IncomingRequest, IncomingV3, OutgoingRequest
from postroom.client.dcp.transport import Transport, register
from postroom.client.dcp.websocket import AcceptedWebSocket, TextPing, WebSocketTransport
from postroom.crypto.ethereum_keys import EthereumKey
from postroom.protocols.dcp.endpoint import SendOptions
from postroom.protocols.dcp.error_payload import ErrorPayload
from postroom.protocols.dcp.receiving import ReceiveLimits

__all__ = [
    "AcceptedConnection",
    "AcceptedWebSocket",
    "AnsweredBeforeError",
    "AsyncConnection",
    "Connection",
    "ConnectionClosedError",
    "DcpError",
    "ErrorPayload",
    "EthereumKey",
    "HttpsTransport",
    "IdentityCache",
    "IdentityFile",
    "IdentityMemory",
    "IncomingRequest",
    "IncomingV3",
    "Keystore",
    "MemoryTransport",
    "MessageRefusedError",
    "NotConnectedError",
    "OutcomeUnknownError",
    "OutgoingRequest",
    "ReceiveLimits",
    "RequestFailedError",
    "RequestNotSentError",
    "SendOptions",
    "TextPing",
    "Transport",
    "TransportError",
    "WebSocketTransport",
    "accept",
    "load_ethereum_key",
    "memory_pair",
    "register",
]
