"""Answers that are changed before they are sent: of endpoints that lie, and of a gateway of off-chain names."""

from dataclasses import replace
from typing import Final

import orjson

from postroom.crypto.encodings import read_hex, write_hex
from postroom.local.chain.ccip_gateway import CcipGateway
from postroom.local.chain.ens_names import CONTRACTS
from postroom.local.edge import Handler
from postroom.local.gateway import GatewayRequest, GatewayResponse
from postroom.names.ens.abi import decode, encode
from postroom.names.ens.calls import text_call
from postroom.names.registry import PROFILE_KEY

_RESOLVER: Final = write_hex(CONTRACTS.resolver)


class LyingEndpoints:
    """Endpoints of one chain, by their paths, as a host's handler. `honest`: answers for the chain.

    `texts`: what an endpoint says the text of every name is; one without says what the chain says. `lied`: the paths of
    those that did, for each changed result.
    """

    def __init__(self, honest: Handler) -> None:
        self._honest = honest
        self.texts: dict[str, str] = {}
        self.lied: list[str] = []

    def __call__(self, request: GatewayRequest) -> GatewayResponse:
        """Answer a batch of JSON-RPC."""
        answer = self._honest(request)
        text = self.texts.get(request.target)
        if text is None:
            return answer
        results = orjson.loads(answer.body)
        for call, result in zip(orjson.loads(request.body), results, strict=True):
            if call["method"] == "eth_call" and call["params"][0]["to"] == _RESOLVER and "result" in result:
                _, resolver = decode("bytes,address", _bytes(result["result"]))
                result["result"] = write_hex(encode("bytes,address", (encode("string", (text,)), resolver)))
                self.lied.append(request.target)
        return replace(answer, body=orjson.dumps(results))


class RecordedHandler:
    """Answers as another handler. `requests`: those that it answered."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self.requests: list[GatewayRequest] = []

    def __call__(self, request: GatewayRequest) -> GatewayResponse:
        """Answer a request."""
        self.requests.append(request)
        return self._handler(request)


def with_other_text(gateway: CcipGateway, text: str) -> Handler:
    """The gateway's answers with another text in them, under its signature of the right one."""

    def answer(request: GatewayRequest) -> GatewayResponse:
        right = gateway(request)
        _, expires, signature = decode("bytes,uint64,bytes", _bytes(orjson.loads(right.body)["data"]))
        data = encode("bytes,uint64,bytes", (encode("string", (text,)), expires, signature))
        return replace(right, body=orjson.dumps({"data": write_hex(data)}))

    return answer


def of_other_name(gateway: CcipGateway, name: str) -> Handler:
    """The gateway's answers to what is asked about this name, which it signs for it."""
    data = write_hex(text_call(CONTRACTS.resolver, name, PROFILE_KEY).data)

    def answer(request: GatewayRequest) -> GatewayResponse:
        sender = request.target.rpartition("/")[0]
        return gateway(replace(request, target=f"{sender}/{data}.json"))

    return answer


def _bytes(digits: str) -> bytes:
    data = read_hex(digits)
    assert data is not None  # noqa: S101 - for the type checker
    return data
