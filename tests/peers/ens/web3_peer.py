"""web3.py, as published, behind lines of JSON, as peer.js has viem and ethers. It runs in an environment of its own."""

import json
import sys
from collections.abc import Callable
from typing import Any

from ens import ENS
from web3 import Web3


def ens_at(url: str) -> ENS:
    """The names on the chain behind an endpoint."""
    return ENS.from_web3(Web3(Web3.HTTPProvider(url)))


CLIENTS: dict[str, Callable[..., Any]] = {
    "web3.text": lambda url, name, key: ens_at(url).get_text(name, key),
    "web3.address": lambda url, name: ens_at(url).address(name),
}


def answer(line: str, functions: dict[str, Callable[..., Any]]) -> dict[str, Any]:
    """The answer to a call."""
    called = json.loads(line)
    try:
        return {"result": functions[called["call"]](*called["args"])}
    except Exception as error:
        return {"error": type(error).__name__}


def serve(functions: dict[str, Callable[..., Any]]) -> None:
    """Answer calls until there are no more."""
    for line in sys.stdin:
        print(json.dumps(answer(line, functions)), flush=True)


if __name__ == "__main__":
    serve(CLIENTS)
