"""Fuzzing of look-ups of names: encodings of contracts, answers of endpoints and gateways, and records of dm3."""

import re
from typing import Final

from tests.fuzz.entry import LONG, Entry, fuzzed, outcome_of
from tests.fuzz.samples import compact
from tests.names.ens.vectors import NAMES, RESOLVER, raw

from postroom.core.errors import TheirError
from postroom.names.dm3_records import read_texts
from postroom.names.ens.abi import WORD, AbiError, decode, encode
from postroom.names.ens.calls import BalanceOf, Call, NonceOf, Outcome, Returned, Reverted
from postroom.names.ens.ccip import (
    BATCH_GATEWAY,
    MAX_REQUESTS,
    GatewayError,
    Gateways,
    OffchainAnswer,
    OffchainLookup,
)
from postroom.names.ens.rpc import MAX_ANSWER_BYTES, ChainAnswerError, read_batch
from postroom.names.registry import PROFILE_KEY, SERVICE_KEY
from postroom.protocols.dm3.reasons import PROFILE_INVALID

ABI: Final = NAMES["abi"]
TYPES: Final = tuple(dict.fromkeys(row["types"] for row in (*ABI["encoded"], *ABI["refused"])))
ENCODED: Final = tuple(
    bytes([TYPES.index(row["types"])]) + raw(row.get("encoded") or row["data"])
    for row in (*ABI["encoded"], *ABI["refused"])
)


@fuzzed("names.ens.abi", seeds=ENCODED)
def ens_encodings(data: bytes) -> None:
    """Values of any bytes, by types of the first one, or an error; what was decoded is encoded and decoded again."""
    types = TYPES[data[0] % len(TYPES)] if data else TYPES[0]
    try:
        values = decode(types, data[1:])
    except AbiError:
        return
    encoded = encode(types, values)
    assert decode(types, encoded) == values
    assert len(encoded) <= 2 * len(data) + WORD, "no byte counts twice; padding may be missing in the first one"


NOW: Final = 1_800_000_000
QUESTIONS: Final = (Call(bytes(20), b"\1"), NonceOf(bytes(20)), BalanceOf(bytes(20)))
ERRORS: Final = NAMES["rpc_errors"]


def batch(*answers: dict[str, object], time: int = NOW) -> bytes:
    """The answer to a batch for `QUESTIONS`, of which the last ones are given."""
    results = ["0x1", {"number": "0x10", "timestamp": hex(time)}, "0x00ff", "0x7", "0xde0b6b3a7640000"]
    first = [{"result": each} for each in results[: len(results) - len(answers)]]
    return compact([{"jsonrpc": "2.0", "id": number, **each} for number, each in enumerate([*first, *answers])])


def answered(outcome: Outcome) -> dict[str, object]:
    """An outcome as geth says it."""
    if isinstance(outcome, Reverted):
        return {"error": {"code": 3, "message": "execution reverted", "data": f"0x{outcome.data.hex()}"}}
    return {"result": f"0x{outcome.data.hex()}"}


RPC_ANSWERS: Final = (
    batch(),
    batch(time=NOW - 1_000),
    compact({"jsonrpc": "2.0", "id": None, "error": {"code": -32005, "message": "too many requests"}}),
    *(batch({"error": row["error"]}, {"result": "0x0"}, {"result": "0x0"}) for row in ERRORS["rows"]),
)


@fuzzed("names.ens.rpc", seeds=RPC_ANSWERS, is_json=True, max_bytes=MAX_ANSWER_BYTES + 1)
def endpoint_answers(data: bytes) -> None:
    """An endpoint's answer of any bytes: an outcome for each question, or why not; written by geth, it is the same."""
    try:
        block, (called, nonce, balance) = read_batch(data, QUESTIONS, chain=1, now=NOW)
    except ChainAnswerError as error:
        assert len(str(error)) < 100, "nothing of what a provider wrote is shown"
        return
    assert isinstance(nonce, Returned)
    assert isinstance(balance, Returned)
    assert len(nonce.data) == len(balance.data) == WORD
    again = batch(answered(called), answered(nonce), answered(balance), time=block.time)
    if len(again) <= MAX_ANSWER_BYTES:
        read, outcomes = read_batch(again, QUESTIONS, chain=1, now=NOW)
        assert (read.time, outcomes) == (block.time, (called, nonce, balance))


HOST: Final = re.compile("https://[^/?#]+")
URLS: Final = ["https://a.example/{sender}/{data}", "http://b.example/", "https://c.example/"]
BATCH: Final = bytes.fromhex("a780bab6") + encode("(address,string[],bytes)[]", [[(bytes(20), URLS, b"\1")] * 3])


def lookup(urls: list[str], data: bytes) -> bytes:
    arguments = (RESOLVER, urls, data, b"back", b"extra")
    return bytes.fromhex("556f1830") + encode("address,string[],bytes,bytes4,bytes", arguments)


LOOKUPS: Final = tuple(
    len(reverted).to_bytes(2) + reverted + answers
    for reverted in (lookup(URLS, b"\2"), lookup([BATCH_GATEWAY], BATCH), raw(NAMES["exchanges"]["ccip"][0]["revert"]))
    for answers in (b'{"data":"0x01"}\0{"data":"0x0203"}', b"", b'no JSON\0{"data":7}\0{"data":"0x"}')
)


@fuzzed("names.ens.ccip", seeds=LOOKUPS, max_bytes=LONG)
def offchain_lookups(data: bytes) -> None:
    """A revert of any bytes leads to hosts that are named in it, by https, not too often; it ends with data, or not.

    Behind the revert, whose length is in two bytes, are the answers of gateways; an empty one is none, and some have
    the status 404.
    """
    reverted, rest = data[2 : 2 + int.from_bytes(data[:2])], data[2 + int.from_bytes(data[:2]) :]
    answers = iter(rest.split(b"\0"))
    try:
        wanted = OffchainLookup.read(reverted)
    except AbiError:
        return
    gateways = Gateways()
    fetching, answer = gateways.fetch(wanted), None
    try:
        while True:
            request = fetching.send(answer)
            host = HOST.match(request.url)
            assert host
            assert host.group().encode() in reverted
            body = next(answers, b"")
            answer = OffchainAnswer(200 if len(body) % 5 else 404, body, "said") if body else None
    except StopIteration as done:
        callback = wanted.callback_call(done.value)
        assert callback.to == wanted.sender
        assert decode("bytes,bytes", callback.data[4:]) == (done.value, wanted.extra)
    except GatewayError as error:
        assert error.encoded
    assert len(gateways.urls) <= MAX_REQUESTS


def records(*texts: str) -> bytes:
    return "\0".join(texts).encode()


RECORDS: Final = tuple(records(*row["txt"]) for row in (NAMES["dns"], *NAMES["dns"]["also"], *NAMES["dns"]["refused"]))


@fuzzed("names.dm3_records", seeds=RECORDS, max_bytes=LONG)
def dm3_records(data: bytes) -> None:
    """Records of any bytes, parted by NUL: texts by their keys, or ProfileInvalid; written again, they are the same."""
    found = outcome_of(lambda: read_texts(data.split(b"\0")), PROFILE_INVALID)
    if isinstance(found, dict):
        assert set(found) <= {PROFILE_KEY, SERVICE_KEY}
        assert read_texts(f"{key}={text}".encode() for key, text in found.items()) == found
    else:
        assert isinstance(found, TheirError)


ENTRIES: tuple[Entry, ...] = (ens_encodings, endpoint_answers, offchain_lookups, dm3_records)
