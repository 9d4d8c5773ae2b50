"""The check of every request to the embedded AWS: signed by a key of this stack, for its own address, by no web page.

MiniStack takes every request that names an account as signed by its root, answers a web page's preflights, and has
paths of its own (`/_ministack/reset`) that need no credential. Its port is on loopback, where any web page that the
developer opens can send requests, too. A page cannot read this stack's secret, so it cannot sign (AWS, "Signature
Version 4 signing process").

| request | answer |
|---|---|
| with an `Origin`, or with another `Host` (a name that was pointed at loopback) | 403 |
| to a path below `/_`, which is MiniStack's own and no bucket's | 403; a root may look into queues |
| unsigned, signed in another way, with the wrong secret, or at another time | 403, with the code that AWS has for it |
| of a WebSocket | refused: the edge serves these |

A body is read only if what stands before it passes.
"""

import hashlib
import hmac
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qs, quote

from ministack.core import iam_actions, iam_evaluator, lambda_runtime, responses, sigv4
from ministack.services import lambda_svc, sts

_Receive = Callable[[], Awaitable[dict[str, Any]]]
_Send = Callable[[dict[str, Any]], Awaitable[None]]
Asgi = Callable[[dict[str, Any], _Receive, _Send], Awaitable[None]]
"""An ASGI application."""

_SIGV4: Final = re.compile(
    r"AWS4-HMAC-SHA256 Credential=[^\s,=]+, ?SignedHeaders=[a-z0-9;._-]+, ?Signature=[0-9a-f]{64}", re.ASCII
)
"""Nothing more: MiniStack would look for the key elsewhere in the header than the check does."""
_OWN_PATHS: Final = "/_"
_QUEUES: Final = "/_ministack/sqs/messages"
"""The messages of all queues, also hidden ones; tests look into them."""
_UNSIGNED_BODIES: Final = ("UNSIGNED-PAYLOAD", "STREAMING-")
"""How the header of a body's hash begins if a client does not sign the body as a whole."""


@dataclass(frozen=True)
class RefusedRequest:
    """Why a request is refused: AWS's code, and a sentence. `service`: that it is signed for, if any."""

    code: str
    message: str
    service: str = ""


class SignedRequests:
    """An ASGI application that passes signed requests on to another one, and refuses all others.

    `host`: the only value of the Host header, such as `127.0.0.1:4566`.
    """

    def __init__(self, app: Asgi, host: str) -> None:
        self._app, self._host = app, host

    async def __call__(self, scope: dict[str, Any], receive: _Receive, send: _Send) -> None:
        """Answer one request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await receive()
            await send({"type": "websocket.close"})
            return
        headers = _headers(scope)
        signature = self._read_signature(scope, headers)
        if isinstance(signature, RefusedRequest):
            await _refuse(signature, headers, send)
            return
        body = await _read_body(receive)
        if body is None:
            return
        if refused := _check(scope, headers, signature, body):
            await _refuse(refused, headers, send)
            return
        await self._app(scope, _again(body, receive), send)

    def _read_signature(
        self, scope: Mapping[str, Any], headers: Mapping[str, str]
    ) -> sigv4.HeaderSignature | RefusedRequest:
        """The signature of a request that may be one of this stack's clients."""
        if "origin" in headers:
            return RefusedRequest("AccessDenied", "The embedded AWS answers no web pages: the request has an Origin.")
        if headers.get("host") != self._host:
            return RefusedRequest("AccessDenied", f"The Host of a request to the embedded AWS must be {self._host}.")
        if scope["path"].startswith(_OWN_PATHS) and (scope["method"], scope["path"]) != ("GET", _QUEUES):
            return RefusedRequest("AccessDenied", "Paths below /_ are not served here.")
        signed, query = headers.get("authorization", ""), _query(scope)
        if not signed:
            return RefusedRequest(
                "MissingAuthenticationToken", "A request to the embedded AWS must be signed by a key of this stack."
            )
        if not _SIGV4.fullmatch(signed) or any(name.lower().startswith("x-amz-cred") for name in query):
            return RefusedRequest(
                "UnsupportedSignature", "The embedded AWS accepts AWS4-HMAC-SHA256 in the Authorization header alone."
            )
        read = sigv4.parse_header_signature(headers)
        if isinstance(read, tuple):
            return RefusedRequest(*read)
        if skewed := sigv4.request_time_failure(read):
            return RefusedRequest(skewed[0], skewed[1], read.service)
        if scope["path"] == _QUEUES and not iam_evaluator.is_root_access_key(read.access_key_id):
            return RefusedRequest("AccessDenied", "Only the root of an account may look into queues.")
        return read


def _check(
    scope: Mapping[str, Any], headers: Mapping[str, str], signature: sigv4.HeaderSignature, body: bytes
) -> RefusedRequest | None:
    secret = _secret_of(signature.access_key_id)
    if secret is None:
        return RefusedRequest(
            "UnrecognizedClientException", "The security token included in the request is invalid.", signature.service
        )
    claimed = headers.get("x-amz-content-sha256", "")
    if claimed and not claimed.startswith(_UNSIGNED_BODIES) and claimed != hashlib.sha256(body).hexdigest():
        return RefusedRequest(
            "XAmzContentSHA256Mismatch",
            "The provided 'x-amz-content-sha256' header does not match what was computed.",
            signature.service,
        )
    path = (scope.get("raw_path") or quote(scope["path"]).encode()).decode("latin-1")
    failure = sigv4.header_signature_failure(signature, secret, scope["method"], path, _query(scope), headers, body)
    return RefusedRequest(failure[0], failure[1], signature.service) if failure else None


def _secret_of(key: str) -> str | None:
    """The secret of an access key: this stack's for the root of an account, or its own."""
    if not key:
        return None
    try:
        account = iam_evaluator.find_iam_access_key_account(key)
    except iam_evaluator.AmbiguousAccessKeyError:
        return None
    owner = account or responses._account_from_sts_session(key) or key
    found = iam_evaluator.resolve_credential(key, owner)
    return found.secret_access_key if isinstance(found, iam_evaluator.ResolvedCredential) else None


def _headers(scope: Mapping[str, Any]) -> dict[str, str]:
    """The headers by lower-case name; those of one name are joined by a comma, as SigV4 signs them."""
    joined: dict[str, str] = {}
    for raw_name, raw in scope["headers"]:
        name, value = raw_name.decode("latin-1").lower(), sigv4.decode_header_value(raw)
        joined[name] = f"{joined[name]},{value}" if name in joined else value
    return joined


def _query(scope: Mapping[str, Any]) -> dict[str, list[str]]:
    return parse_qs(scope["query_string"].decode("utf-8", "replace"), keep_blank_values=True)


async def _read_body(receive: _Receive) -> bytes | None:
    """The whole body; None: the client has gone."""
    chunks: list[bytes] = []
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        chunks.append(message.get("body", b""))
        more = message.get("more_body", False)
    return b"".join(chunks)


def _again(body: bytes, receive: _Receive) -> _Receive:
    """A `receive` that gives the body that was read, and then goes on."""
    waiting = [body]

    async def given() -> dict[str, Any]:
        return {"type": "http.request", "body": waiting.pop(), "more_body": False} if waiting else await receive()

    return given


async def _refuse(refused: RefusedRequest, headers: Mapping[str, str], send: _Send) -> None:
    """Answer in the form of the service, so that a client with a wrong secret reads the code and the sentence."""
    status, said, body = iam_actions.access_denied_response(
        refused.service, "", "", "", error_code=refused.code, message=refused.message, headers=dict(headers)
    )
    responses.fix_error_content_type(refused.service, status, said)
    content = body if isinstance(body, bytes) else str(body).encode()
    raw = [(name.lower().encode(), str(value).encode()) for name, value in said.items()]
    raw += [(b"content-length", str(len(content)).encode()), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": status, "headers": raw})
    await send({"type": "http.response.body", "body": content})


def draw_secrets_of_functions(secret: str) -> None:
    """Derive the credentials of a function's role from this stack's secret.

    MiniStack derives them from the function's name and its role's alone, which others may know.
    """

    def derived(config: Mapping[str, Any]) -> dict[str, str]:
        account, _region = lambda_runtime._account_region_from_function_config(config)
        function, role = config["FunctionArn"], config.get("Role", "")
        key, secret_key, token = (
            hmac.new(secret.encode(), f"{what}:{function}:{role}".encode(), hashlib.sha256).hexdigest()
            for what in ("key", "secret", "token")
        )
        user = f"{role.rpartition('/')[2]}:{config.get('FunctionName', '')[:64]}"
        given = {
            "AWS_ACCESS_KEY_ID": f"ASIA{key[:16].upper()}",
            "AWS_SECRET_ACCESS_KEY": secret_key,
            "AWS_SESSION_TOKEN": token,
        }
        session = {
            "Arn": f"arn:aws:sts::{account}:assumed-role/{user.replace(':', '/')}",
            "UserId": user,
            "SecretAccessKey": secret_key,
            "SessionToken": token,
        }
        sts.register_session(given["AWS_ACCESS_KEY_ID"], session)
        return given

    for module in (lambda_runtime, lambda_svc):
        module.execution_credentials = derived
