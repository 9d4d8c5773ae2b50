"""Calls of functions by lines of JSON, as lines.js has them. docs/evidence/peers.md says how tests make them."""

import json
import sys
from collections.abc import Callable, Mapping
from typing import Any

Functions = Mapping[str, Callable[..., Any]]


def serve(functions: Functions) -> None:
    """Answer the calls of standard input on standard output, until there are no more."""
    for line in sys.stdin:
        print(json.dumps(_answer(line, functions)), flush=True)


def _answer(line: str, functions: Functions) -> dict[str, Any]:
    called = json.loads(line)
    try:
        return {"result": functions[called["call"]](*called["args"])}
    except Exception as error:
        return {"error": type(error).__name__}
