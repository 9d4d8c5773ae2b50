"""The TLS edge: HTTPS and WebSockets in front of deployed APIs, which stands in for API Gateway with custom domains.

It sends functions the events that API Gateway would (`gateway`), and calls them through the Lambda API, because the
emulator's own HTTP endpoint corrupts bodies that are not UTF-8. The deployment of a host may be changed at any time;
the certificate for a host is created at its first connection.
"""

import asyncio
import json
import socket
import ssl
import threading
import time
import uuid
import weakref
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, cast

from hypercorn.asyncio import serve
from hypercorn.config import Config, Sockets

from postroom.local import gateway
from postroom.local.authority import Authority
from postroom.local.clients import Clients
from postroom.local.edge_sockets import EdgeSockets, SocketTarget
from postroom.local.gateway import Api, GatewayRequest, GatewayResponse, GatewayRoute
from postroom.local.invoke import InvocationError, invoke
from postroom.local.patience import PATIENCE_SECONDS
from postroom.local.ports import HOST
from postroom.local.routes import find_functions
from postroom.local.socket_gateway import SocketLimits

STOP_SECONDS = 1.0
"""How long running requests may take when the edge closes."""

_BADLY_CLOSED = (ssl.SSLError, TimeoutError)
"""A client was still sending when its connection was closed, or did not confirm that."""
_Receive = Callable[[], Awaitable[dict[str, Any]]]
_Send = Callable[[dict[str, Any]], Awaitable[None]]


@dataclass(frozen=True)
class EdgeTarget:
    """The target of a host: an HTTP API, and the clients of the account of its functions."""

    api: Api
    clients: Clients


Handler = Callable[[GatewayRequest], GatewayResponse]
"""The target of a host without a deployment, such as a webhook's receiver."""


def find_target(api_id: str, clients: Clients) -> EdgeTarget:
    """Ask the embedded AWS for the routes of an API and their functions."""
    routes = tuple(GatewayRoute(key, function) for key, function in find_functions(api_id, clients).items())
    return EdgeTarget(Api(clients.account, api_id, routes), clients)


class Edge:
    """An HTTPS server on a loopback port, in a thread of its own; a context manager.

    `idle_seconds`: how long a client may be silent within a request, or before its next one; `socket_limits`: of
    WebSockets.
    """

    def __init__(
        self,
        authority: Authority,
        port: int = 0,
        *,
        idle_seconds: float = PATIENCE_SECONDS,
        socket_limits: SocketLimits | None = None,
    ) -> None:
        self._authority = authority
        self._idle_seconds = idle_seconds
        self._targets: dict[str, EdgeTarget] = {}
        self._handlers: dict[str, Handler] = {}
        self._contexts: dict[str, ssl.SSLContext] = {}
        self._pool = ThreadPoolExecutor(32, thread_name_prefix="edge")
        self._sockets = EdgeSockets(self._pool, socket_limits or SocketLimits())
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop = asyncio.Event()
        # It listens from here on: a client that connects early waits instead of being refused.
        self._listener = _Listener(fileno=socket.create_server((HOST, port), backlog=128).detach())
        self.port = int(self._listener.getsockname()[1])
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run, name="edge", daemon=True)

    def __enter__(self) -> "Edge":
        self._thread.start()
        self._started.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def serve_host(self, host: str, target: EdgeTarget) -> None:
        """Send requests to `host` to `target` from now on."""
        self._targets[host.lower()] = target

    def serve_sockets(self, host: str, target: SocketTarget) -> None:
        """Send messages of WebSockets at `host` to `target` from now on."""
        self._sockets.serve(host.lower(), target)

    def serve_handler(self, host: str, handler: Handler) -> None:
        """Let `handler` answer requests to `host` from now on, in a thread of the edge."""
        self._handlers[host.lower()] = handler

    def drop_host(self, host: str) -> None:
        """Make `host` unknown (404) from now on."""
        self._targets.pop(host.lower(), None)
        self._handlers.pop(host.lower(), None)
        self._sockets.drop(host.lower())

    def close(self) -> None:
        """Stop the server; running requests get a moment. May be called twice."""
        if self._loop is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join()
        self._listener.close()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._loop.set_exception_handler(_log_own_errors)
        self._started.set()
        config = _HypercornConfig(self._tls_context(), self._listener, self._idle_seconds)
        server = asyncio.create_task(serve(self._app, config, shutdown_trigger=self._stop.wait))  # type: ignore[arg-type]
        await self._stop.wait()
        await asyncio.wait({server}, timeout=STOP_SECONDS)
        # A client that falls silent must not delay the end of the stack.
        self._listener.hang_up()
        try:
            await server
        except* _BADLY_CLOSED:
            pass

    def _tls_context(self) -> ssl.SSLContext:
        context = self._authority.server_context("localhost", HOST)
        context.sni_callback = self._on_server_name
        return context

    def _on_server_name(self, tls: ssl.SSLObject, name: str | None, _context: ssl.SSLContext) -> None:
        host = (name or "").lower()
        if host in self._targets or host in self._handlers or host in self._sockets:
            if host not in self._contexts:
                self._contexts[host] = self._authority.server_context(host)
            tls.context = self._contexts[host]

    async def _app(self, scope: dict[str, Any], receive: _Receive, send: _Send) -> None:
        """Answer one request, or serve one WebSocket (ASGI)."""
        if scope["type"] == "websocket":
            await self._sockets.answer(scope, _host(_headers(scope)), receive, send)
        if scope["type"] != "http":
            return
        request_id = str(uuid.uuid4())
        body = await self._read_body(receive)
        if body is None:
            return
        if isinstance(body, HTTPStatus):
            answer = gateway.failure(body)
        else:
            answer = await self._answer(_request(scope, body), request_id)
        headers = [(name.encode("latin-1"), value.encode("latin-1", "replace")) for name, value in answer.headers]
        headers.append((b"apigw-requestid", request_id.encode()))
        if answer.status not in (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED):
            headers.append((b"content-length", str(len(answer.body)).encode()))
        await send({"type": "http.response.start", "status": int(answer.status), "headers": headers})
        await send({"type": "http.response.body", "body": answer.body})

    async def _read_body(self, receive: _Receive) -> bytes | HTTPStatus | None:
        """Return the body, the status of a refusal, or None if the client has disconnected.

        A body that is too large is still read to its end, and discarded: most clients read no answer before they have
        sent everything, and Hypercorn blocks if nobody reads what arrives.
        """
        chunks: list[bytes] = []
        size = 0
        while True:
            try:
                message = await asyncio.wait_for(receive(), self._idle_seconds)
            except TimeoutError:
                return HTTPStatus.REQUEST_TIMEOUT
            if message["type"] == "http.disconnect":
                return None
            chunk = cast("bytes", message.get("body", b""))
            size += len(chunk)
            if size > gateway.MAX_REQUEST_BYTES:
                chunks.clear()
            else:
                chunks.append(chunk)
            if not message.get("more_body", False):
                break
        if size > gateway.MAX_REQUEST_BYTES:
            return HTTPStatus.REQUEST_ENTITY_TOO_LARGE
        return b"".join(chunks)

    async def _answer(self, request: GatewayRequest, request_id: str) -> GatewayResponse:
        # These stand for servers that web pages do not use. A page must not send a transaction, or to a WebSocket.
        of_servers = request.host in self._handlers or request.host in self._sockets
        if of_servers and any(name == "origin" for name, _ in request.headers):
            return gateway.failure(HTTPStatus.FORBIDDEN)
        if handler := self._handlers.get(request.host):
            return await asyncio.get_running_loop().run_in_executor(self._pool, handler, request)
        if request.host in self._sockets:
            return await self._sockets.manage(request)
        target = self._targets.get(request.host)
        path, _ = gateway.split_target(request.target)
        found = target and gateway.find_route(target.api.routes, request.method, path)
        if not target or not found:
            return gateway.failure(HTTPStatus.NOT_FOUND)
        route, parameters = found
        event = gateway.build_event(request, target.api, route, parameters, time.time(), request_id)
        payload = json.dumps(event).encode()
        if len(payload) > gateway.MAX_PAYLOAD_BYTES:
            return gateway.failure(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        call = asyncio.get_running_loop().run_in_executor(self._pool, _invoke, target.clients, route.function, payload)
        try:
            return await asyncio.wait_for(call, PATIENCE_SECONDS)
        except TimeoutError:
            return gateway.failure(HTTPStatus.SERVICE_UNAVAILABLE)


def _log_own_errors(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    if not isinstance(context.get("exception"), _BADLY_CLOSED):
        loop.default_exception_handler(context)


def _invoke(clients: Clients, function: str, payload: bytes) -> GatewayResponse:
    try:
        return gateway.read_result(invoke(clients, function, payload))
    except InvocationError as error:
        return gateway.failure(error.status)


def _request(scope: dict[str, Any], body: bytes) -> GatewayRequest:
    headers = _headers(scope)
    query = scope["query_string"].decode("latin-1")
    target = scope["raw_path"].decode("latin-1") + (f"?{query}" if query else "")
    return GatewayRequest(
        method=scope["method"],
        target=target,
        headers=headers,
        body=body,
        host=_host(headers),
        source_ip=scope["client"][0] if scope["client"] else HOST,
        protocol=f"HTTP/{scope['http_version']}",
    )


def _headers(scope: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple((name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in scope["headers"])


def _host(headers: tuple[tuple[str, str], ...]) -> str:
    host = next((value for name, value in headers if name in ("host", ":authority")), "")
    return host.rpartition(":")[0].lower() if ":" in host else host.lower()


class _Listener(socket.socket):
    """A listening socket that can close every connection that it accepted."""

    def __init__(self, *, fileno: int) -> None:
        super().__init__(fileno=fileno)
        self._taken: weakref.WeakSet[socket.socket] = weakref.WeakSet()

    def accept(self) -> tuple[socket.socket, Any]:
        connection, address = super().accept()
        self._taken.add(connection)
        return connection, address

    def hang_up(self) -> None:
        for connection in list(self._taken):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


class _HypercornConfig(Config):
    """Hypercorn with a given TLS context and socket, instead of ones created from file names."""

    errorlog = None

    def __init__(self, context: ssl.SSLContext, listener: socket.socket, idle_seconds: float) -> None:
        super().__init__()
        self.keep_alive_timeout = idle_seconds
        self._context = context
        self._listener = listener

    @property
    def ssl_enabled(self) -> bool:
        return True

    def create_sockets(self) -> Sockets:
        return Sockets([self._listener], [], [])

    def create_ssl_context(self) -> ssl.SSLContext:
        return self._context
