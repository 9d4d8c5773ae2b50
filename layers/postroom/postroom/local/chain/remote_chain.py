"""A chain by its JSON-RPC, for transactions that another process sends it."""

from typing import Final, NamedTuple, Protocol

import orjson

from postroom.core.errors import TheirError
from postroom.core.ijson import JsonValue, parse
from postroom.crypto.encodings import read_hex, write_hex
from postroom.local.chain.evm import TransactionRefusedError
from postroom.local.patience import PATIENCE_SECONDS

MAX_ANSWER_BYTES: Final = 1 << 20


class JsonRpcHost(Protocol):
    """Where JSON-RPC is posted; see EndpointClient."""

    def post(self, body: bytes, seconds: float) -> bytes:
        """The body of the answer. Raises EndpointError."""
        ...


class Receipt(NamedTuple):
    """What became of a transaction."""

    succeeded: bool


class RemoteChain:
    """A chain at an endpoint. All methods raise EndpointError, and TransactionRefusedError with what the chain said."""

    def __init__(self, endpoint: JsonRpcHost) -> None:
        self._endpoint = endpoint

    def nonce(self, account: bytes) -> int:
        """How many transactions an account has made."""
        return int(str(self._result("eth_getTransactionCount", write_hex(account), "latest")), 16)

    def send(self, *transactions: bytes) -> list[bytes]:
        """Send signed transactions, one after the other; their hashes."""
        return [read_hex(self._result("eth_sendRawTransaction", write_hex(each))) or b"" for each in transactions]

    def transaction(self, digest: bytes) -> Receipt | None:
        """The transaction of a hash; None: there is none."""
        receipt = self._result("eth_getTransactionReceipt", write_hex(digest))
        return Receipt(receipt.get("status") == "0x1") if isinstance(receipt, dict) else None

    def _result(self, method: str, *params: JsonValue) -> JsonValue:
        body = orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        try:
            root = parse(self._endpoint.post(body, PATIENCE_SECONDS), max_bytes=MAX_ANSWER_BYTES)
        except TheirError:
            raise TransactionRefusedError("the endpoint does not answer in JSON") from None
        answer = root if isinstance(root, dict) else {}
        error = answer.get("error")
        if "result" not in answer:
            raise TransactionRefusedError(str(error.get("message")) if isinstance(error, dict) else "no result")
        return answer["result"]
