"""The mailbox API's OpenAPI 3.1 document, written from the list of its operations."""

import re
from functools import lru_cache
from http import HTTPStatus
from typing import Any, Final

import msgspec

from postroom.api.http import BYTES, ETAGS_PATTERN, IF_MATCH, IF_NONE_MATCH, JSON, RANGE, Authentication
from postroom.api.operations import OPERATIONS, Operation
from postroom.api.reasons import (
    ANOTHERS_MAILBOX,
    COUNTER_CLOSED,
    NO_MAILBOX_NAME,
    NOT_A_REQUEST,
    TOKEN_INVALID,
    TOO_MANY_REQUESTS,
)
from postroom.api.schemas import Problem
from postroom.core.reason import Reason
from postroom.core.reasons import SIGNING_KEY_UNAVAILABLE, STORE_UNAVAILABLE, WRONG_CONTENT_ENCODING, WRONG_CONTENT_TYPE
from postroom.protocols.dm3.reasons import PROFILE_LOOKUP_FAILED

Json = dict[str, Any]

_SCHEMAS: Final = "#/components/schemas/{name}"
_SOMETHING: Final[Json] = {"type": "string", "minLength": 1}
_PATH_SCHEMAS: Final[dict[str, Json]] = {"key": {"type": "string", "pattern": "^0x[0-9a-f]{64}$"}}
_CONDITION: Final[Json] = {"type": "string", "pattern": rf"^(?:\*|{ETAGS_PATTERN})$"}
_HEADER_SCHEMAS: Final[dict[str, Json]] = {
    IF_MATCH: _CONDITION, IF_NONE_MATCH: _CONDITION, RANGE: {"type": "string"},
}  # fmt: skip
_RETRY_AFTER: Final[Json] = {
    "description": "Too many requests wait for messages, so this one did not. Wait again after these seconds.",
    "schema": {"type": "integer"},
}
_TOKEN: Final = "token"  # noqa: S105 - the name of a scheme
_SECURITY: Final[dict[Authentication, list[Json]]] = {Authentication.NONE: [], Authentication.BEARER: [{_TOKEN: []}]}
_REFUSALS: Final[dict[Authentication, tuple[Reason, ...]]] = {
    Authentication.NONE: (), Authentication.BEARER: (TOKEN_INVALID, ANOTHERS_MAILBOX, TOO_MANY_REQUESTS),
}  # fmt: skip
_ALWAYS: Final = (
    NO_MAILBOX_NAME, COUNTER_CLOSED, STORE_UNAVAILABLE, SIGNING_KEY_UNAVAILABLE, PROFILE_LOOKUP_FAILED,
)  # fmt: skip


@lru_cache(1)
def document() -> bytes:
    """The document in JSON."""
    shapes = {shape for it in OPERATIONS for shape in (it.answer, it.body) if shape not in (None, bytes)} | {Problem}
    _, components = msgspec.json.schema_components(sorted(shapes, key=lambda it: it.__name__), ref_template=_SCHEMAS)
    paths: dict[str, Json] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _described(operation)
    return msgspec.json.encode(
        {
            "openapi": "3.1.0",
            "info": {
                "title": "postroom mailbox API",
                "version": "1",
                "description": "Owners of mailboxes pick up their mail.",
                "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
            },
            "servers": [{"url": "/"}],
            "paths": paths,
            "components": {
                "schemas": components,
                "securitySchemes": {_TOKEN: {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}},
            },
        }
    )


def _described(operation: Operation) -> Json:
    described: Json = {
        "operationId": operation.id,
        "summary": operation.summary,
        "tags": [operation.tag],
        "parameters": [*_of_path(operation), *_of_query(operation), *_of_headers(operation)],
        "responses": _responses(operation),
        "security": _SECURITY[operation.authentication],
    }
    if operation.body:
        content = {operation.body_type: {"schema": _schema(operation.body)}}
        described["requestBody"] = {"required": True, "content": content}
    return described


def _of_path(operation: Operation) -> list[Json]:
    return [
        {"name": name, "in": "path", "required": True, "schema": _PATH_SCHEMAS.get(name, _SOMETHING)}
        for name in re.findall(r"{(\w+)}", operation.path)
    ]


def _of_query(operation: Operation) -> list[Json]:
    if operation.query is None:
        return []
    shape = msgspec.json.schema(operation.query, ref_template=_SCHEMAS)["$defs"][operation.query.__name__]
    return [
        {"name": name, "in": "query", "required": False, "schema": schema}
        for name, schema in shape["properties"].items()
    ]


def _of_headers(operation: Operation) -> list[Json]:
    needed = [IF_MATCH] if operation.matches else []
    taken = [*operation.conditions, *([RANGE] if operation.ranged else [])]
    return [
        {"name": name, "in": "header", "required": name in needed, "schema": _HEADER_SCHEMAS[name]}
        for name in (*needed, *taken)
    ]


def _responses(operation: Operation) -> Json:
    media_type = BYTES if operation.answer is bytes else JSON
    responses: Json = {"200": {"description": "Done.", "content": {media_type: {"schema": _schema(operation.answer)}}}}
    if operation.waits:
        responses["200"]["headers"] = {"Retry-After": _RETRY_AFTER}
    if operation.ranged:
        responses["206"] = {"description": "A part.", "content": {media_type: {}}}
    if operation.method == "GET" and IF_NONE_MATCH in operation.conditions:
        responses["304"] = {"description": "It is there already."}
    by_status: dict[int, list[Reason]] = {}
    for reason in _refusals(operation):
        by_status.setdefault(reason.status, []).append(reason)
    for status, reasons in sorted(by_status.items()):
        responses[str(status)] = {
            "description": f"{HTTPStatus(status).phrase}: {', '.join(dict.fromkeys(map(str, reasons)))}.",
            "content": {"application/problem+json": {"schema": _ref(Problem)}},
        }
    return responses


def _refusals(operation: Operation) -> list[Reason]:
    found = [*operation.refusals, *_REFUSALS[operation.authentication]]
    if operation.query or operation.body:
        found.append(NOT_A_REQUEST)
    if operation.body:
        found += (WRONG_CONTENT_TYPE, WRONG_CONTENT_ENCODING)
    if "{" in operation.path:
        found += _ALWAYS
    return found


def _schema(shape: type[msgspec.Struct | bytes] | None) -> Json:
    if shape is None:
        return {}
    return {"type": "string", "format": "binary"} if issubclass(shape, bytes) else _ref(shape)


def _ref(shape: type[msgspec.Struct]) -> Json:
    return {"$ref": _SCHEMAS.format(name=shape.__name__)}
