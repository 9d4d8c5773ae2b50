"""The JSON-RPC of a local chain (ethereum.github.io/execution-apis): what look-ups, viem and ethers make use of."""

import re
from collections.abc import Callable
from typing import Final

import orjson
import rlp
from eth.abc import BlockAPI, SignedTransactionAPI

from postroom.core.errors import TheirError
from postroom.core.ijson import JsonValue, parse
from postroom.crypto.encodings import read_hex, write_hex
from postroom.local.chain.accounts import contract_address
from postroom.local.chain.evm import (
    CHAIN_ID,
    ChainCall,
    LocalChain,
    MinedTransaction,
    TransactionRefusedError,
)
from postroom.names.ens.abi import ADDRESS_BYTES
from postroom.names.ens.calls import Reverted

MAX_REQUEST_BYTES: Final = 1 << 20
_HASH_BYTES: Final = 32
_QUANTITY: Final = re.compile(r"0x[0-9a-fA-F]{1,64}")
_PRIORITY_FEE: Final = 10**9
_NEWEST: Final = ("latest", "pending", "safe", "finalized", None)
Json = dict[str, JsonValue]


class JsonRpcError(Exception):
    """What a request is answered with instead of a result. `code`: of JSON-RPC, or of EIP-1474."""

    def __init__(self, code: int, message: str, data: str | None = None) -> None:
        super().__init__(message)
        self.code, self.data = code, data


def answer_json_rpc(chain: LocalChain, body: bytes) -> bytes:
    """The answer to a request, or to a batch of them."""
    try:
        root = parse(body, max_bytes=MAX_REQUEST_BYTES)
    except TheirError as error:
        return orjson.dumps(_failure(None, JsonRpcError(-32700, str(error))))
    if isinstance(root, list) and root:
        return orjson.dumps([_answer(chain, each) for each in root])
    return orjson.dumps(_answer(chain, root))


def _answer(chain: LocalChain, request: JsonValue) -> Json:
    if not isinstance(request, dict):
        return _failure(None, JsonRpcError(-32600, "a request is an object"))
    name = request.get("id")
    try:
        return {"jsonrpc": "2.0", "id": name, "result": _result(chain, request)}
    except JsonRpcError as error:
        return _failure(name, error)


def _result(chain: LocalChain, request: Json) -> JsonValue:
    method, params = request.get("method"), request.get("params", [])
    if not isinstance(method, str) or not isinstance(params, list):
        raise JsonRpcError(-32600, "a request has a method, and its parameters in an array")
    if method not in _METHODS:
        raise JsonRpcError(-32601, f"the method {method} is not known")
    try:
        return _METHODS[method](chain, _Params(params))
    except LookupError as error:
        raise JsonRpcError(-32001, str(error)) from None
    except TransactionRefusedError as error:
        raise JsonRpcError(-32000, str(error)) from None


def _failure(name: JsonValue, error: JsonRpcError) -> Json:
    shown: Json = {"code": error.code, "message": str(error)}
    if error.data is not None:
        shown["data"] = error.data
    return {"jsonrpc": "2.0", "id": name, "error": shown}


class _Params:
    """The parameters of a request. All methods raise JsonRpcError."""

    def __init__(self, values: list[JsonValue]) -> None:
        self._values = values

    def get(self, place: int) -> JsonValue:
        return self._values[place] if place < len(self._values) else None

    def data(self, place: int) -> bytes:
        return _data(self.get(place))

    def address(self, place: int) -> bytes:
        return _data(self.get(place), ADDRESS_BYTES)

    def digest(self, place: int) -> bytes:
        return _data(self.get(place), _HASH_BYTES)

    def block(self, place: int) -> int | None:
        """The number of a block; None: the newest."""
        value = self.get(place)
        if value in _NEWEST:
            return None
        return 0 if value == "earliest" else _quantity(value)

    def call(self, place: int) -> ChainCall:
        value = self.get(place)
        if not isinstance(value, dict):
            raise JsonRpcError(-32602, "a call is an object")
        to, sender, data = value.get("to"), value.get("from"), value.get("input", value.get("data"))
        return ChainCall(
            to=_data(to, ADDRESS_BYTES) if to is not None else b"",
            data=_data(data) if data is not None else b"",
            sender=_data(sender, ADDRESS_BYTES) if sender is not None else bytes(ADDRESS_BYTES),
            value=_quantity(value.get("value", "0x0")),
        )


def _data(value: JsonValue, length: int | None = None) -> bytes:
    data = read_hex(value)
    if data is None or length not in (None, len(data)):
        raise JsonRpcError(-32602, "a parameter is not 0x and the digits of as many bytes as it has")
    return data


def _quantity(value: JsonValue) -> int:
    if not isinstance(value, str) or not _QUANTITY.fullmatch(value):
        raise JsonRpcError(-32602, "a number is not 0x and at most 64 digits")
    return int(value, 16)


def _call(chain: LocalChain, params: _Params) -> JsonValue:
    outcome = chain.call(params.call(0), params.block(1))
    if isinstance(outcome, Reverted):
        raise _reverted(outcome)
    return write_hex(outcome.data)


def _estimate(chain: LocalChain, params: _Params) -> JsonValue:
    gas = chain.estimate_gas(params.call(0))
    if isinstance(gas, Reverted):
        raise _reverted(gas)
    return hex(gas)


def _reverted(outcome: Reverted) -> JsonRpcError:
    return JsonRpcError(3, "execution reverted", write_hex(outcome.data))


def _send(chain: LocalChain, params: _Params) -> JsonValue:
    [digest] = chain.send(params.data(0))
    return write_hex(digest)


def _block(chain: LocalChain, params: _Params) -> JsonValue:
    try:
        block = chain.block(params.block(0))
    except LookupError:
        return None
    header = block.header
    mined = [chain.transaction(each.hash) for each in block.transactions]
    return {
        "number": hex(header.block_number),
        "hash": write_hex(header.hash),
        "parentHash": write_hex(header.parent_hash),
        "timestamp": hex(header.timestamp),
        "nonce": write_hex(header.nonce),
        "sha3Uncles": write_hex(header.uncles_hash),
        "logsBloom": write_hex(header.bloom.to_bytes(256)),
        "transactionsRoot": write_hex(header.transaction_root),
        "stateRoot": write_hex(header.state_root),
        "receiptsRoot": write_hex(header.receipt_root),
        "miner": write_hex(header.coinbase),
        "difficulty": hex(header.difficulty),
        "extraData": write_hex(header.extra_data),
        "size": hex(len(rlp.encode(block))),
        "gasLimit": hex(header.gas_limit),
        "gasUsed": hex(header.gas_used),
        "baseFeePerGas": hex(_base_fee(block)),
        "mixHash": write_hex(header.mix_hash),
        "uncles": [],
        "transactions": [
            _transaction(each) if params.get(1) is True else write_hex(each.transaction.hash) for each in mined if each
        ],
    }


def _transaction(mined: MinedTransaction) -> Json:
    transaction = mined.transaction
    return {
        **_place(mined),
        "hash": write_hex(transaction.hash),
        "from": write_hex(transaction.sender),
        "to": _to(transaction),
        "nonce": hex(transaction.nonce),
        "value": hex(transaction.value),
        "input": write_hex(transaction.data),
        "gas": hex(transaction.gas),
        "gasPrice": hex(_price(mined)),
        "chainId": hex(CHAIN_ID),
        "type": hex(transaction.type_id or 0),
        "v": hex(transaction.y_parity if transaction.type_id else 27 + transaction.y_parity),
        "r": hex(transaction.r),
        "s": hex(transaction.s),
    }


def _transaction_of_hash(chain: LocalChain, params: _Params) -> JsonValue:
    mined = chain.transaction(params.digest(0))
    return _transaction(mined) if mined else None


def _receipt(chain: LocalChain, params: _Params) -> JsonValue:
    mined = chain.transaction(params.digest(0))
    if mined is None:
        return None
    transaction, receipt = mined.transaction, mined.receipt
    place = _place(mined)
    deployed = contract_address(transaction.sender, transaction.nonce)
    logs: list[JsonValue] = [
        {
            **place,
            "transactionHash": write_hex(transaction.hash),
            "address": write_hex(log.address),
            "topics": [write_hex(topic.to_bytes(_HASH_BYTES)) for topic in log.topics],
            "data": write_hex(log.data),
            "logIndex": hex(number),
            "removed": False,
        }
        for number, log in enumerate(receipt.logs)
    ]
    return {
        **place,
        "transactionHash": write_hex(transaction.hash),
        "from": write_hex(transaction.sender),
        "to": _to(transaction),
        "contractAddress": None if transaction.to else write_hex(deployed),
        "status": "0x1" if mined.succeeded else "0x0",
        "gasUsed": hex(mined.gas_used),
        "cumulativeGasUsed": hex(receipt.gas_used),
        "effectiveGasPrice": hex(_price(mined)),
        "type": hex(transaction.type_id or 0),
        "logsBloom": write_hex(receipt.bloom.to_bytes(256)),
        "logs": logs,
    }


def _place(mined: MinedTransaction) -> Json:
    header = mined.block.header
    return {
        "blockHash": write_hex(header.hash),
        "blockNumber": hex(header.block_number),
        "transactionIndex": hex(mined.place),
    }


def _to(transaction: SignedTransactionAPI) -> str | None:
    return write_hex(transaction.to) if transaction.to else None


def _price(mined: MinedTransaction) -> int:
    """Wei that were paid for each unit of gas (EIP-1559)."""
    transaction = mined.transaction
    return min(_base_fee(mined.block) + transaction.max_priority_fee_per_gas, transaction.max_fee_per_gas)


def _base_fee(block: BlockAPI) -> int:
    return block.header.base_fee_per_gas or 0


_METHODS: Final[dict[str, Callable[[LocalChain, _Params], JsonValue]]] = {
    "eth_blockNumber": lambda chain, _: hex(chain.block().number),
    "eth_call": _call,
    "eth_chainId": lambda _, __: hex(CHAIN_ID),
    "eth_estimateGas": _estimate,
    "eth_gasPrice": lambda chain, _: hex(_base_fee(chain.block()) + _PRIORITY_FEE),
    "eth_getBalance": lambda chain, params: hex(chain.balance(params.address(0), params.block(1))),
    "eth_getBlockByNumber": _block,
    "eth_getCode": lambda chain, params: write_hex(chain.code(params.address(0), params.block(1))),
    "eth_getTransactionByHash": _transaction_of_hash,
    "eth_getTransactionCount": lambda chain, params: hex(chain.nonce(params.address(0), params.block(1))),
    "eth_getTransactionReceipt": _receipt,
    "eth_maxPriorityFeePerGas": lambda _, __: hex(_PRIORITY_FEE),
    "eth_sendRawTransaction": _send,
    "net_version": lambda _, __: str(CHAIN_ID),
}
