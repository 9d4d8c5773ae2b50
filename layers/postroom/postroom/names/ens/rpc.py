"""JSON-RPC of a chain's endpoints: one batch of calls, and what each answer says.

What a node may answer is much: providers say in many ways that a call reverted, and all that is not understood here is
a failure of the endpoint.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import orjson

from postroom.core.errors import TheirError
from postroom.core.ijson import MAX_EXACT_INTEGER, JsonValue, parse
from postroom.crypto.encodings import read_hex, write_hex
from postroom.names.ens.abi import WORD
from postroom.names.ens.calls import BalanceOf, Call, CodeOf, NonceOf, Outcome, Outcomes, Question, Returned, Reverted

MAX_ANSWER_BYTES: Final = 256 * 1024
"""Of a whole batch. A text of 64 kB has 128 kB as hexadecimal digits."""
BLOCK_OLD_SECONDS: Final = 180
BLOCK_AHEAD_SECONDS: Final = 60
"""A block comes every 12 s. An endpoint whose newest one is older does not follow the chain."""
_QUANTITY: Final = re.compile(r"0x[0-9a-fA-F]{1,64}")
_EXECUTION_REVERTED: Final = 3
"""The code with which most nodes say so."""


class ChainAnswerError(Exception):
    """An answer is not that of a node of the chain. The sentence may be shown to anybody."""


@dataclass(frozen=True, slots=True)
class Block:
    """The newest block that an endpoint knows. `time`: seconds since the epoch."""

    number: int
    time: int


def write_batch(questions: Sequence[Question]) -> bytes:
    """The body of a request for the chain's id, the newest block, and these questions about that block's state."""
    requests: list[tuple[str, list[JsonValue]]] = [("eth_chainId", []), ("eth_getBlockByNumber", ["latest", False])]
    requests += [_request(question) for question in questions]
    return orjson.dumps(
        [
            {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            for number, (method, params) in enumerate(requests)
        ]
    )


def _request(question: Question) -> tuple[str, list[JsonValue]]:
    match question:
        case Call(to=to, data=data):
            return "eth_call", [{"to": write_hex(to), "data": write_hex(data)}, "latest"]
        case NonceOf(account=account):
            return "eth_getTransactionCount", [write_hex(account), "latest"]
        case BalanceOf(account=account):
            return "eth_getBalance", [write_hex(account), "latest"]
        case CodeOf(contract=contract):
            return "eth_getCode", [write_hex(contract), "latest"]


def read_batch(data: bytes, questions: Sequence[Question], *, chain: int, now: float) -> tuple[Block, Outcomes]:
    """The newest block, and what each question brought, of the answer to `write_batch`.

    `chain`: the id that the chain must have; `now`: seconds since the epoch. Raises ChainAnswerError.
    """
    chain_answer, block_answer, *answers = _answers(data, len(questions) + 2)
    found = _number(chain_answer.get("result"))
    if found is None or found > MAX_EXACT_INTEGER:
        raise ChainAnswerError(f"it tells no chain id{_said(chain_answer)}")
    if found != chain:
        raise ChainAnswerError(f"it is of the chain {found}, not {chain}")
    block = _block(block_answer.get("result"))
    if block.time < now - BLOCK_OLD_SECONDS:
        raise ChainAnswerError(f"its newest block is {now - block.time:.0f} s old")
    if block.time > now + BLOCK_AHEAD_SECONDS:
        raise ChainAnswerError(f"its newest block is {block.time - now:.0f} s in the future")
    return block, tuple(_outcome(question, answer) for question, answer in zip(questions, answers, strict=True))


def _answers(data: bytes, number: int) -> list[dict[str, JsonValue]]:
    """The answers of a batch, in the order of their ids."""
    try:
        root = parse(data, max_bytes=MAX_ANSWER_BYTES)
    except TheirError:
        raise ChainAnswerError("its answer is not JSON") from None
    if not isinstance(root, list):
        # A provider that takes no batches, or has a limit of requests, answers with one error.
        raise ChainAnswerError(f"it answers no batch{_said(root)}")
    found: dict[int, dict[str, JsonValue]] = {}
    for answer in root:
        name = answer.get("id") if isinstance(answer, dict) else None
        if not isinstance(answer, dict) or type(name) is not int or name in found:
            raise ChainAnswerError("its batch has an answer without an id of ours, or two with one")
        found[name] = answer
    if found.keys() != set(range(number)):
        raise ChainAnswerError("its batch has not one answer for each request")
    return [found[name] for name in range(number)]


def _outcome(question: Question, answer: dict[str, JsonValue]) -> Outcome:
    result = answer.get("result")
    if isinstance(question, NonceOf | BalanceOf):
        number = None if "error" in answer else _number(result)
        if number is None:
            raise ChainAnswerError(f"a nonce or a balance is no number{_said(answer)}")
        return Returned(number.to_bytes(WORD))
    data = None if "error" in answer else read_hex(result)
    if data is not None:
        return Returned(data)
    reverted = _revert_data(answer.get("error")) if isinstance(question, Call) else None
    if reverted is None:
        raise ChainAnswerError(f"a call failed{_said(answer)}")
    return Reverted(reverted)


def _revert_data(error: JsonValue) -> bytes | None:
    """What a call reverted with, in any of the forms in which nodes say that; None: the error is another one."""
    if not isinstance(error, dict):
        return None
    if "data" not in error:
        return b"" if error.get("code") == _EXECUTION_REVERTED else None
    data = error["data"]
    if isinstance(data, dict):  # Hardhat
        data = data.get("data")
    return read_hex(data.removeprefix("Reverted ") if isinstance(data, str) else data)


def _block(value: JsonValue) -> Block:
    number, time = (_number(value.get(name)) if isinstance(value, dict) else None for name in ("number", "timestamp"))
    # The number is filed with messages, and larger integers are not written as JSON.
    if number is None or time is None or max(number, time) > MAX_EXACT_INTEGER:
        raise ChainAnswerError("it tells no newest block")
    return Block(number, time)


def _number(value: JsonValue) -> int | None:
    return int(value, 16) if isinstance(value, str) and _QUANTITY.fullmatch(value) else None


def _said(answer: JsonValue) -> str:
    """The code of an error, which is a number; its text is the provider's, and may quote the URL with its key."""
    error = answer.get("error") if isinstance(answer, dict) else None
    code = error.get("code") if isinstance(error, dict) else None
    return f": code {code}" if type(code) is int and abs(code) < 1_000_000 else ""
