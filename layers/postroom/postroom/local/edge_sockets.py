"""The WebSockets of the TLS edge, in front of deployed WebSocket APIs, and what backends ask of them."""

import asyncio
import base64
import json
import logging
import os
import time
import uuid
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from postroom.core.errors import OurError
from postroom.local import gateway, socket_gateway
from postroom.local.clients import Clients
from postroom.local.gateway import GatewayRequest, GatewayResponse
from postroom.local.invoke import InvocationError, invoke
from postroom.local.patience import PATIENCE_SECONDS
from postroom.local.ports import HOST
from postroom.local.routes import find_fixed_answers, find_functions
from postroom.local.socket_gateway import SocketApi, SocketConnection, SocketLimits

log = logging.getLogger(__name__)

_GOING_AWAY, _TOO_LONG = 1001, 1009
"""Codes that a WebSocket is closed with (RFC 6455 §7.4.1)."""
_Receive = Callable[[], Awaitable[dict[str, Any]]]
_Send = Callable[[dict[str, Any]], Awaitable[None]]


@dataclass(frozen=True)
class SocketTarget:
    """The target of a host: a WebSocket API, and the clients of the account of its functions."""

    api: SocketApi
    clients: Clients


@dataclass(frozen=True)
class _OpenSocket:
    connection: SocketConnection
    send: _Send


def find_socket_target(api_id: str, clients: Clients) -> SocketTarget:
    """Ask the embedded AWS for the stage and the routes of a WebSocket API, and what answers there.

    Raises OurError for routes that are not known here.
    """
    client = clients("apigatewayv2")
    selection = client.get_api(ApiId=api_id).get("RouteSelectionExpression")
    if selection != socket_gateway.ROUTE_SELECTION:
        raise OurError(f"the local stack does not know WebSocket APIs whose routes are selected by {selection!r}")
    [stage] = client.get_stages(ApiId=api_id)["Items"]
    functions, answers = find_functions(api_id, clients), find_fixed_answers(api_id, clients)
    return SocketTarget(SocketApi(clients.account, api_id, stage["StageName"], functions, answers), clients)


class EdgeSockets:
    """Answers the messages of WebSockets by functions. `pool`: for the calls of functions."""

    def __init__(self, pool: Executor, limits: SocketLimits) -> None:
        self._pool = pool
        self._limits = limits
        self._targets: dict[str, SocketTarget] = {}
        self._open: dict[tuple[str, str], _OpenSocket] = {}

    def __contains__(self, host: str) -> bool:
        return host in self._targets

    def serve(self, host: str, target: SocketTarget) -> None:
        """Send messages of WebSockets at `host` to `target` from now on."""
        self._targets[host] = target

    def drop(self, host: str) -> None:
        """Refuse WebSockets at `host` from now on."""
        self._targets.pop(host, None)

    async def answer(self, scope: dict[str, Any], host: str, receive: _Receive, send: _Send) -> None:
        """Serve one WebSocket (ASGI), until it is closed, idle for too long, or too old."""
        target = self._targets.get(host)
        await receive()  # websocket.connect
        if target is None or scope["path"] != f"/{target.api.stage}":
            await send({"type": "websocket.close"})  # a 403
            return
        await send({"type": "websocket.accept"})
        source = scope["client"][0] if scope["client"] else HOST
        name = base64.b64encode(os.urandom(11)).decode()
        connection = SocketConnection(name, host, source, time.time())
        self._open[host, name] = _OpenSocket(connection, send)
        messages: set[asyncio.Task[None]] = set()
        try:
            async with asyncio.timeout(self._limits.seconds):
                while True:
                    async with asyncio.timeout(self._limits.idle_seconds):
                        received = await receive()
                    if received["type"] == "websocket.disconnect":
                        return
                    text = received.get("text")
                    message: str | bytes = received["bytes"] if text is None else text
                    if socket_gateway.is_too_long(message):
                        await send({"type": "websocket.close", "code": _TOO_LONG})
                        return
                    task = asyncio.create_task(self._answer_message(target, connection, message, send))
                    messages.add(task)
                    task.add_done_callback(messages.discard)
        except TimeoutError:
            await send({"type": "websocket.close", "code": _GOING_AWAY})
        finally:
            del self._open[host, name]
            for task in messages:
                task.cancel()

    async def manage(self, request: GatewayRequest) -> GatewayResponse:
        """Answer a request of a backend to one WebSocket (`@connections`)."""
        target = self._targets[request.host]
        name = socket_gateway.find_connection(request.target, target.api.stage)
        if name is None:
            return gateway.failure(HTTPStatus.NOT_FOUND)
        if not dict(request.headers).get("authorization", "").startswith("AWS4-HMAC-SHA256 "):
            return gateway.failure(HTTPStatus.FORBIDDEN)
        found = self._open.get((request.host, name))
        if found is None:
            return gateway.failure(HTTPStatus.GONE)
        match request.method:
            case "POST" if len(request.body) > socket_gateway.MAX_MESSAGE_BYTES:
                return gateway.failure(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
            case "POST":
                await found.send({"type": "websocket.send", "text": request.body.decode(errors="replace")})
                return GatewayResponse(HTTPStatus.OK, (), b"")
            case "GET":
                described = socket_gateway.describe_connection(found.connection)
                return GatewayResponse(HTTPStatus.OK, (("content-type", "application/json"),), described)
            case "DELETE":
                await found.send({"type": "websocket.close", "code": _GOING_AWAY})
                return GatewayResponse(HTTPStatus.NO_CONTENT, (), b"")
            case _:
                return gateway.failure(HTTPStatus.METHOD_NOT_ALLOWED)

    async def _answer_message(
        self, target: SocketTarget, connection: SocketConnection, message: str | bytes, send: _Send
    ) -> None:
        answer = socket_gateway.find_answer(target.api, message)
        if answer is None:
            answer = await self._answer_by_function(target, connection, message)
        if answer is not None:
            with suppress(OSError):  # it may be closed by now
                await send({"type": "websocket.send", "text": answer})

    async def _answer_by_function(
        self, target: SocketTarget, connection: SocketConnection, message: str | bytes
    ) -> str | None:
        request_id = str(uuid.uuid4())
        event = socket_gateway.build_message_event(target.api, connection, message, time.time(), request_id)
        function = target.api.routes[socket_gateway.DEFAULT_ROUTE]
        call = asyncio.get_running_loop().run_in_executor(
            self._pool, invoke, target.clients, function, json.dumps(event).encode()
        )
        try:
            result = await asyncio.wait_for(call, PATIENCE_SECONDS)
            return socket_gateway.read_socket_result(result)
        except (TimeoutError, InvocationError):
            return socket_gateway.write_failure(connection.id, request_id)
        except ValueError as error:
            log.warning("function %s returned an invalid result: %s", function, error)
            return socket_gateway.write_failure(connection.id, request_id)
