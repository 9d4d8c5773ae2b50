"""JSON-RPC of endpoints: the batch that is sent, and which answers are those of a node of the chain."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.names.ens.vectors import NAMES, raw

from postroom.core.ijson import MAX_EXACT_INTEGER
from postroom.names.ens.calls import BalanceOf, Call, NonceOf, Question, Returned, Reverted
from postroom.names.ens.rpc import (
    BLOCK_AHEAD_SECONDS,
    BLOCK_OLD_SECONDS,
    MAX_ANSWER_BYTES,
    Block,
    ChainAnswerError,
    read_batch,
    write_batch,
)

NOW = 1_800_000_000
ERRORS = NAMES["rpc_errors"]
CALLS = [Call(b"\x01" * 20, b"\x02\x03"), Call(b"\x04" * 20, b"\x05")]


def answers(*results: Any, chain: str = "0x1", time: int = NOW) -> list[dict[str, Any]]:
    """The answers to a batch; `results`: those of its calls."""
    block = {"number": "0x10", "timestamp": hex(time), "hash": "0x00"}
    found = [chain, block, *results]
    return [{"jsonrpc": "2.0", "id": number, "result": result} for number, result in enumerate(found)]


def failed(error: Any) -> list[dict[str, Any]]:
    return [*answers("0x"), {"jsonrpc": "2.0", "id": 3, "error": error}]


def read(batch: Any, questions: Sequence[Question] = tuple(CALLS), chain: int = 1) -> Any:
    data = batch if isinstance(batch, bytes) else json.dumps(batch).encode()
    return read_batch(data, questions, chain=chain, now=NOW)


def test_a_batch_asks_for_the_chain_the_newest_block_and_each_call() -> None:
    assert json.loads(write_batch(CALLS)) == [
        {"jsonrpc": "2.0", "id": 0, "method": "eth_chainId", "params": []},
        {"jsonrpc": "2.0", "id": 1, "method": "eth_getBlockByNumber", "params": ["latest", False]},
        {
            "jsonrpc": "2.0", "id": 2, "method": "eth_call",
            "params": [{"to": f"0x{'01' * 20}", "data": "0x0203"}, "latest"],
        },
        {
            "jsonrpc": "2.0", "id": 3, "method": "eth_call",
            "params": [{"to": f"0x{'04' * 20}", "data": "0x05"}, "latest"],
        },
    ]  # fmt: skip


def test_answers_may_come_in_any_order() -> None:
    batch = answers("0x0a", "0xFf")
    assert read(batch) == read(batch[::-1]) == (Block(16, NOW), (Returned(b"\x0a"), Returned(b"\xff")))


@pytest.mark.parametrize("row", ERRORS["rows"], ids=lambda row: row["who"])
def test_a_revert_is_read_in_every_form_in_which_nodes_say_it(row: dict[str, Any]) -> None:
    _, outcomes = read(failed(row["error"]))
    assert outcomes == (Returned(b""), Reverted(raw(ERRORS["revert_data"])))


@pytest.mark.parametrize("error", [{"code": 3, "message": ""}, {"code": -32000, "message": "", "data": "0x"}], ids=str)
def test_a_revert_may_have_no_data(error: dict[str, Any]) -> None:
    assert read(failed(error))[1][1] == Reverted(b"")


@pytest.mark.parametrize(
    "row", [row for row in ERRORS["no_revert"] if row["who"] != "none"], ids=lambda row: row["who"]
)
def test_any_other_error_is_a_failure_of_the_endpoint(row: dict[str, Any]) -> None:
    with pytest.raises(ChainAnswerError):
        read(failed(row["error"]))


def test_an_error_shows_the_code_and_nothing_that_the_provider_wrote() -> None:
    with pytest.raises(ChainAnswerError) as caught:
        read(failed({"code": -32005, "message": "https://rpc.example/v2/KEY has no requests left"}))
    assert str(caught.value) == "a call failed: code -32005"


@pytest.mark.parametrize("result", [None, 1, "0xabc", "0xzz", "abcd", "", "0x ab", ["0x"]], ids=str)
def test_a_result_that_is_no_data_is_a_failure(result: Any) -> None:
    with pytest.raises(ChainAnswerError):
        read(answers("0x", result))


def test_a_result_beside_an_error_is_a_failure() -> None:
    batch = answers("0x", "0x")
    batch[3]["error"] = {"code": -32000, "message": ""}
    with pytest.raises(ChainAnswerError):
        read(batch)


@pytest.mark.parametrize("chain", ["0x2", "0x0", "1", None, "0x", f"0x{'f' * 65}"], ids=str)
def test_another_chain_is_a_failure(chain: Any) -> None:
    with pytest.raises(ChainAnswerError, match="chain"):
        read(answers("0x", "0x", chain=chain))


@pytest.mark.parametrize("told", [1, 9, 11, 11155111])
def test_a_chain_with_a_lower_or_a_higher_id_is_another_chain(told: int) -> None:
    assert read(answers("0x", "0x", chain=hex(10)), chain=10)
    with pytest.raises(ChainAnswerError, match=f"of the chain {told}, not 10"):
        read(answers("0x", "0x", chain=hex(told)), chain=10)


@pytest.mark.parametrize("number", [MAX_EXACT_INTEGER + 1, 2**256 - 1])
def test_a_number_that_no_chain_has_is_not_shown(number: int) -> None:
    for wrong in (answers("0x", "0x", chain=hex(number)), answers("0x", "0x", time=number)):
        with pytest.raises(ChainAnswerError) as error:
            read(wrong)
        assert str(number) not in str(error.value)


@pytest.mark.parametrize(("of", "ok"), [(-BLOCK_OLD_SECONDS, True), (BLOCK_AHEAD_SECONDS, True)])
def test_the_newest_block_may_be_minutes_old_or_a_minute_ahead(of: int, ok: bool) -> None:
    assert read(answers("0x", "0x", time=NOW + of))[0].time == NOW + of
    with pytest.raises(ChainAnswerError, match="newest block"):
        read(answers("0x", "0x", time=NOW + of + (1 if of > 0 else -1)))


@pytest.mark.parametrize(
    "block",
    [
        None,
        {},
        {"number": "0x1"},
        {"number": 1, "timestamp": hex(NOW)},
        [],
        {"number": hex(MAX_EXACT_INTEGER + 1), "timestamp": hex(NOW)},
        {"number": "0x1", "timestamp": hex(MAX_EXACT_INTEGER + 1)},
    ],
    ids=str,
)
def test_without_a_newest_block_it_is_a_failure(block: Any) -> None:
    batch = answers("0x", "0x")
    batch[1]["result"] = block
    with pytest.raises(ChainAnswerError, match="newest block"):
        read(batch)


BATCH = answers("0x", "0x")


@pytest.mark.parametrize(
    "data",
    [
        b"", b"<html>", b"\x1f\x8b\x08", b"[]", b"{}", b"null", json.dumps(BATCH[:3]).encode(),
        json.dumps([*BATCH, BATCH[0]]).encode(), json.dumps([*BATCH[:3], {**BATCH[3], "id": 4}]).encode(),
        json.dumps([*BATCH[:3], {**BATCH[3], "id": "3"}]).encode(), json.dumps([*BATCH[:3], [3]]).encode(),
        json.dumps([*BATCH[:3], {**BATCH[3], "id": True}]).encode(),
        json.dumps({"jsonrpc": "2.0", "id": None, "error": {"code": -32005, "message": "slow down"}}).encode(),
    ],
)  # fmt: skip
def test_what_is_not_one_answer_for_each_request_is_a_failure(data: bytes) -> None:
    with pytest.raises(ChainAnswerError):
        read(data)


def test_one_error_for_a_batch_shows_its_code() -> None:
    with pytest.raises(ChainAnswerError, match="it answers no batch: code -32005"):
        read({"jsonrpc": "2.0", "id": None, "error": {"code": -32005, "message": "slow down"}})


def test_an_answer_has_a_limit() -> None:
    size = MAX_ANSWER_BYTES - len(json.dumps(answers("0x", "0x")))
    assert read(answers("0x", "0x" + "ab" * (size // 2)))
    with pytest.raises(ChainAnswerError):
        read(answers("0x", "0x" + "ab" * (size // 2 + 1)))


@given(st.binary(max_size=200) | st.recursive(st.none() | st.integers() | st.text(), st.lists).map(json.dumps))
def test_any_answer_is_read_or_a_failure(data: bytes | str) -> None:
    with pytest.raises(ChainAnswerError):
        read(data if isinstance(data, bytes) else data.encode())


ACCOUNT = b"\xee" * 20
OF_AN_ACCOUNT = (NonceOf(ACCOUNT), BalanceOf(ACCOUNT))


def test_the_nonce_and_the_balance_of_an_account_are_numbers() -> None:
    asked = [(each["method"], each["params"]) for each in json.loads(write_batch(OF_AN_ACCOUNT))[2:]]
    address = f"0x{ACCOUNT.hex()}"
    assert asked == [("eth_getTransactionCount", [address, "latest"]), ("eth_getBalance", [address, "latest"])]
    _, outcomes = read(answers("0x1", "0xde0b6b3a7640000"), OF_AN_ACCOUNT)
    assert outcomes == (Returned((1).to_bytes(32)), Returned((10**18).to_bytes(32)))


@pytest.mark.parametrize("result", ["0x", "1", None, 1, f"0x{'f' * 65}"], ids=str)
def test_a_nonce_that_is_no_number_is_a_failure(result: Any) -> None:
    with pytest.raises(ChainAnswerError, match="no number"):
        read(answers(result, "0x1"), OF_AN_ACCOUNT)


def test_a_nonce_is_never_reverted() -> None:
    with pytest.raises(ChainAnswerError, match="no number: code 3"):
        read(failed({"code": 3, "message": "execution reverted", "data": "0x"}), (CALLS[0], NonceOf(ACCOUNT)))
