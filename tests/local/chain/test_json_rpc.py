"""The JSON-RPC of a local chain: results, errors, batches."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.local.chain.accounts import ChainAccount, contract_address
from postroom.local.chain.ens_names import CONTRACTS, ens_accounts
from postroom.local.chain.evm import LocalChain
from postroom.local.chain.json_rpc import answer_json_rpc
from postroom.names.ens.calls import text_call

OWNER = ChainAccount.of_label("owner")
OTHER = ChainAccount.of_label("other")
NOW = 1_800_000_000


def new_chain() -> LocalChain:
    return LocalChain(ens_accounts(OWNER), lambda: NOW)


@pytest.fixture
def chain() -> LocalChain:
    return new_chain()


def answered(chain: LocalChain, method: str, *params: Any) -> Any:
    request = {"jsonrpc": "2.0", "id": "a", "method": method, "params": params}
    answer = json.loads(answer_json_rpc(chain, json.dumps(request).encode()))
    assert (answer.pop("jsonrpc"), answer.pop("id")) == ("2.0", "a")
    return answer


def result(chain: LocalChain, method: str, *params: Any) -> Any:
    return answered(chain, method, *params)["result"]


def hexed(data: bytes) -> str:
    return f"0x{data.hex()}"


def test_the_chain_is_mainnets_by_its_id(chain: LocalChain) -> None:
    assert (result(chain, "eth_chainId"), result(chain, "net_version")) == ("0x1", "1")


def test_a_batch_is_answered_with_one_answer_for_each_request(chain: LocalChain) -> None:
    batch = [{"jsonrpc": "2.0", "id": number, "method": "eth_chainId", "params": []} for number in (7, 3)]
    answer = json.loads(answer_json_rpc(chain, json.dumps([*batch, 5]).encode()))
    assert answer == [
        {"jsonrpc": "2.0", "id": 7, "result": "0x1"},
        {"jsonrpc": "2.0", "id": 3, "result": "0x1"},
        {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "a request is an object"}},
    ]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", -32700), (b"[]", -32600), (b"1", -32600), (b'{"id": 1}', -32600),
        (b'{"id": 1, "method": "eth_chainId", "params": {}}', -32600),
        (b'{"id": 1, "method": "eth_sign", "params": []}', -32601),
        (b'{"id": 1, "method": "eth_getBalance", "params": []}', -32602),
        (b'{"id": 1, "method": "eth_getBalance", "params": ["0x12", "latest"]}', -32602),
        (b'{"id": 1, "method": "eth_call", "params": ["0x12", "latest"]}', -32602),
        (b'{"id": 1, "method": "eth_call", "params": [{"value": "0xz"}]}', -32602),
        (b'{"id": 1, "method": "eth_getBlockByNumber", "params": [5]}', -32602),
        (b'{"id": 1, "method": "eth_getBalance", "params": ["0x%s", "0x99"]}' % (b"11" * 20), -32001),
        (b'{"id": 1, "method": "eth_sendRawTransaction", "params": ["0x1234"]}', -32000),
    ],
)  # fmt: skip
def test_what_cannot_be_answered_has_its_code(chain: LocalChain, body: bytes, code: int) -> None:
    assert json.loads(answer_json_rpc(chain, body))["error"]["code"] == code


def test_a_call_that_reverts_brings_what_it_reverted_with(chain: LocalChain) -> None:
    call = text_call(CONTRACTS.resolver, "nobody.eth", "key")
    found = answered(chain, "eth_call", {"to": hexed(call.to), "data": hexed(call.data)}, "latest")
    assert (found["error"]["code"], found["error"]["data"][:10]) == (3, "0x77209fe8")
    by_its_new_name = {"to": hexed(call.to), "input": hexed(call.data)}
    assert answered(chain, "eth_call", by_its_new_name) == found
    assert answered(chain, "eth_estimateGas", by_its_new_name) == found


def test_a_transaction_is_found_with_its_receipt_and_in_its_block(chain: LocalChain) -> None:
    digest = result(chain, "eth_sendRawTransaction", hexed(OWNER.transaction(0, OTHER.address, value=7)))
    receipt, transaction = (result(chain, f"eth_getTransaction{each}", digest) for each in ("Receipt", "ByHash"))
    block = result(chain, "eth_getBlockByNumber", "latest", False)
    place = {"blockHash": block["hash"], "blockNumber": block["number"], "transactionIndex": "0x0"}
    assert place.items() <= receipt.items()
    assert place.items() <= transaction.items()
    assert (receipt["status"], receipt["gasUsed"], receipt["logs"], receipt["contractAddress"]) == (
        "0x1", "0x5208", [], None,
    )  # fmt: skip
    assert (transaction["from"], transaction["to"]) == (hexed(OWNER.address), hexed(OTHER.address))
    assert (transaction["nonce"], transaction["value"], transaction["input"]) == ("0x0", "0x7", "0x")
    assert block["transactions"] == [digest]
    assert result(chain, "eth_getBlockByNumber", block["number"], True)["transactions"] == [transaction]
    assert result(chain, "eth_getTransactionCount", hexed(OWNER.address), "latest") == "0x1"
    assert result(chain, "eth_getBalance", hexed(OTHER.address), "latest") == "0x7"


def test_a_receipt_names_the_contract_that_was_deployed_and_what_it_logged(chain: LocalChain) -> None:
    # A contract with one byte of code, STOP, and LOG1 of nothing under the topic 7 on its way.
    raw = OWNER.transaction(0, b"", bytes.fromhex("60075f5fa160015ff3"))
    receipt = result(chain, "eth_getTransactionReceipt", result(chain, "eth_sendRawTransaction", hexed(raw)))
    address = hexed(contract_address(OWNER.address, 0))
    assert (receipt["to"], receipt["contractAddress"]) == (None, address)
    assert [(log["address"], log["topics"], log["data"]) for log in receipt["logs"]] == [
        (address, [hexed((7).to_bytes(32))], "0x")
    ]
    assert result(chain, "eth_getCode", address, "latest") == "0x00"


def test_a_transaction_that_reverts_is_in_a_block_and_has_failed(chain: LocalChain) -> None:
    raw = OWNER.transaction(0, b"", bytes.fromhex("5f5ffd"))
    receipt = result(chain, "eth_getTransactionReceipt", result(chain, "eth_sendRawTransaction", hexed(raw)))
    assert receipt["status"] == "0x0"


def test_what_there_is_not_is_null(chain: LocalChain) -> None:
    absent = hexed(bytes(32))
    assert [
        result(chain, "eth_getTransactionReceipt", absent), result(chain, "eth_getTransactionByHash", absent),
        result(chain, "eth_getBlockByNumber", "0x99", False),
    ] == [None] * 3  # fmt: skip
    assert result(chain, "eth_getCode", hexed(OTHER.address), "latest") == "0x"


def test_the_first_block_is_named_by_a_word(chain: LocalChain) -> None:
    assert result(chain, "eth_getBlockByNumber", "earliest", False)["number"] == "0x0"
    assert result(chain, "eth_getBalance", hexed(OWNER.address), "earliest") == hex(10**24)


CHAIN = new_chain()
NUMBER = st.integers(0, 1 << 260).map(hex)
ACCOUNT = st.sampled_from([hexed(OWNER.address), hexed(OTHER.address), hexed(CONTRACTS.resolver)])
CALL = st.fixed_dictionaries(
    {}, optional={"to": ACCOUNT, "from": ACCOUNT, "value": NUMBER, "data": st.binary(max_size=70).map(hexed)}
)
PARAM = st.none() | st.booleans() | st.integers(0, 9) | st.text() | NUMBER | ACCOUNT | CALL


@given(
    method=st.sampled_from(
        ["eth_call", "eth_estimateGas", "eth_getCode", "eth_getBlockByNumber", "eth_sendRawTransaction", "x"]
    ),
    params=st.lists(PARAM, max_size=3),
)
def test_every_request_is_answered_with_a_result_or_an_error(method: str, params: list[Any]) -> None:
    assert len(answered(CHAIN, method, *params).keys() & {"result", "error"}) == 1
