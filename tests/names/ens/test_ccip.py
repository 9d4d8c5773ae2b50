"""Off-chain look-ups: the requests to gateways, and what a contract is given of their answers."""

import json
from collections.abc import Callable
from typing import Any

import coincurve
import pytest
from tests.names.ens.vectors import EXCHANGES, NAMES, raw

from postroom.crypto.ethereum import address_of_digits, keccak_256
from postroom.crypto.ethereum_keys import address_of_key
from postroom.names.ens.abi import AbiError, decode, encode
from postroom.names.ens.ccip import (
    BATCH_GATEWAY,
    MAX_BATCH,
    MAX_NESTING,
    MAX_REQUESTS,
    MAX_URLS,
    GatewayError,
    Gateways,
    OffchainAnswer,
    OffchainLookup,
    OffchainRequest,
    write_request,
)

SENDER = b"\xab" * 20
QUERY = raw(NAMES["selectors"]["function"]["query((address,string[],bytes)[])"])
Answer = Callable[[OffchainRequest], OffchainAnswer | None]
ROWS = EXCHANGES["ccip"]


def of(urls: list[str], data: bytes = b"\x01") -> OffchainLookup:
    return OffchainLookup(SENDER, tuple(urls), data, b"call", b"extra")


def batch(*requests: tuple[bytes, list[str], bytes]) -> bytes:
    return QUERY + encode("(address,string[],bytes)[]", [list(requests)])


def fetch(lookup: OffchainLookup, answer: Answer, gateways: Gateways | None = None) -> bytes:
    """What a contract is given."""
    fetching = (gateways or Gateways()).fetch(lookup)
    try:
        request = next(fetching)
        while True:
            request = fetching.send(answer(request))
    except StopIteration as done:
        return bytes(done.value)


def says(data: bytes) -> Answer:
    return lambda _: OffchainAnswer(200, json.dumps({"data": f"0x{data.hex()}"}).encode())


def status(code: int, phrase: str = "") -> OffchainAnswer:
    return OffchainAnswer(code, b"", phrase)


# --- known answers ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["http"]["method"])
def test_a_lookup_is_read_and_answered_as_by_the_real_contracts(row: dict[str, Any]) -> None:
    lookup, told = OffchainLookup.read(raw(row["revert"])), row["lookup"]
    assert (lookup.sender, list(lookup.urls), lookup.data, lookup.callback, lookup.extra) == (
        raw(told["sender"]), told["urls"], raw(told["callData"]), raw(told["callbackFunction"]), raw(told["extraData"]),
    )  # fmt: skip
    requests: list[OffchainRequest] = []

    def answer(request: OffchainRequest) -> OffchainAnswer:
        requests.append(request)
        return OffchainAnswer(200, json.dumps(row["answer"]).encode())

    found = fetch(lookup, answer)
    [request] = requests
    assert request.url == row["http"]["url"]
    posted = row["http"].get("json")
    assert (None if request.body is None else json.loads(request.body)) == posted
    assert found == raw(row["batch_answer"])
    assert lookup.callback_call(found).data == raw(row["callback"])


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["http"]["method"])
def test_what_a_gateway_refuses_is_told_to_the_contract(row: dict[str, Any]) -> None:
    lookup = OffchainLookup.read(raw(row["revert"]))
    found = fetch(lookup, lambda _: status(404, "Not Found"))
    refused = row["refused_callbacks"]["HttpError 404 from the local batch gateway"]
    assert lookup.callback_call(found).data == raw(refused["data"])


def test_a_gateway_of_2022_signed_its_answer() -> None:
    row = NAMES["mainnet_2022"]
    answer = fetch(of(["https://gateway.example/"]), lambda _: OffchainAnswer(200, json.dumps(row["answer"]).encode()))
    result, expires, signature = decode("bytes,uint64,bytes", answer)
    assert (expires, decode("address", result)[0]) == (row["expires"], raw(row["address"]))
    signed = b"\x19\x00" + raw(row["resolver"]) + expires.to_bytes(8)
    digest = keccak_256(signed + keccak_256(raw(row["request"])) + keccak_256(result))
    # In the compact form: the first bit of s is the parity (EIP-2098).
    recoverable = signature[:32] + bytes([signature[32] & 0x7F]) + signature[33:] + bytes([signature[32] >> 7])
    key = coincurve.PublicKey.from_signature_and_message(recoverable, digest, hasher=None)
    assert address_of_key(key) == address_of_digits(row["signer"].removeprefix("0x"))


# --- requests --------------------------------------------------------------------------------------------------------


def test_data_in_the_url_makes_a_get_and_every_placeholder_is_filled_in() -> None:
    url = "https://g.example/{sender}/{sender}/{data}?again={data}"
    sender, data = f"0x{SENDER.hex()}", "0x01ff"
    expected = OffchainRequest(f"https://g.example/{sender}/{sender}/{data}?again={data}", None)
    assert write_request(url, SENDER, b"\x01\xff") == expected


@pytest.mark.parametrize("url", ["https://g.example", "https://g.example/{sender}", "https://g.example/?a={Data}"])
def test_without_data_in_the_url_it_is_posted(url: str) -> None:
    request = write_request(url, SENDER, b"\x01\xff")
    assert request is not None
    assert request.body is not None
    assert json.loads(request.body) == {"data": "0x01ff", "sender": f"0x{SENDER.hex()}"}


@pytest.mark.parametrize(
    "url",
    [
        "", "http://g.example/{data}", "file:///etc/passwd", "data:application/json,{}", "//g.example/", "https://",
        "https:///x", "https://{data}.g.example/", "https://{sender}/", "https://user:pw@g.example/",
        "https://g.example/a b", "https://g.example\\@h.example/", "https://g.example/\n", "https://g.example/ü",
        "HTTPS://g.example/", "https://g.example\\.h.example/", BATCH_GATEWAY,
    ],
)  # fmt: skip
def test_a_url_that_is_not_asked(url: str) -> None:
    assert write_request(url, SENDER, b"") is None


# --- answers ---------------------------------------------------------------------------------------------------------


def test_the_next_url_is_asked_when_one_does_not_answer_or_fails() -> None:
    urls = [f"https://{name}.example/" for name in ("down", "broken", "html", "good")]
    brought = {
        "https://down.example/": None, "https://broken.example/": status(500),
        "https://html.example/": OffchainAnswer(200, b"<html>"), "https://good.example/": says(b"yes")(None),  # type: ignore[arg-type]
    }  # fmt: skip
    gateways = Gateways()
    assert fetch(of(urls), lambda request: brought[request.url], gateways) == b"yes"
    assert gateways.urls == urls


@pytest.mark.parametrize("code", [400, 404, 429, 499])
def test_a_4xx_ends_it(code: int) -> None:
    gateways = Gateways()
    with pytest.raises(GatewayError, match=f"status {code}"):
        fetch(of(["https://a.example/", "https://b.example/"]), lambda _: status(code), gateways)
    assert gateways.urls == ["https://a.example/"]


@pytest.mark.parametrize("code", [204, 301, 302, 308, 500, 503])
def test_a_redirect_or_another_status_is_no_answer(code: int) -> None:
    with pytest.raises(GatewayError, match=f"status {code}"):
        fetch(of(["https://a.example/"]), lambda _: OffchainAnswer(code, b'{"data":"0x01"}'))


@pytest.mark.parametrize(
    "body",
    [b"", b"{}", b"[]", b'{"data":"0x1"}', b'{"data":"01"}', b'{"data":1}', b'{"data":"0xzz"}', b'{"data":null}',
     b'{"data":"0x"' + b" " * 262_144 + b"}"],
)  # fmt: skip
def test_an_answer_without_data_is_none(body: bytes) -> None:
    with pytest.raises(GatewayError, match="no data"):
        fetch(of(["https://a.example/"]), lambda _: OffchainAnswer(200, body))


@pytest.mark.parametrize("urls", [[], ["http://a.example/"], ["ipfs://x"]])
def test_without_a_url_that_may_be_asked_nobody_is(urls: list[str]) -> None:
    with pytest.raises(GatewayError, match="no URL"):
        fetch(of(urls), says(b""))


def test_only_the_first_urls_are_tried() -> None:
    gateways = Gateways()
    with pytest.raises(GatewayError):
        fetch(of([f"https://{number}.example/" for number in range(40)]), lambda _: None, gateways)
    assert len(gateways.urls) == MAX_URLS


# --- batches ---------------------------------------------------------------------------------------------------------


def test_we_are_the_batch_gateway_whatever_else_is_listed() -> None:
    requests = [(SENDER, [f"https://{name}.example/"], name.encode()) for name in ("a", "b")]
    lookup = of(["https://outside.example/", BATCH_GATEWAY], batch(*requests))
    gateways = Gateways()

    def answer(request: OffchainRequest) -> OffchainAnswer | None:
        return says(b"of a")(request) if "//a." in request.url else status(404, "Not Found")

    failures, answers = decode("bool[],bytes[]", fetch(lookup, answer, gateways))
    assert (failures, answers[0], decode("uint16,string", answers[1][4:])) == (
        [False, True],
        b"of a",
        (404, "Not Found"),
    )
    assert gateways.urls == ["https://a.example/", "https://b.example/"]


def test_what_no_gateway_answers_is_an_error_for_the_contract() -> None:
    lookup = of([BATCH_GATEWAY], batch((SENDER, ["https://a.example/"], b"")))
    [failed], [answer] = decode("bool[],bytes[]", fetch(lookup, lambda _: None))
    assert failed
    assert answer[:4] == raw(NAMES["selectors"]["error"]["Error(string)"])
    assert decode("string", answer[4:]) == ("a gateway did not answer",)


@pytest.mark.parametrize(
    "data",
    [b"", QUERY, QUERY + b"\x01", batch(), batch(*[(SENDER, [], b"")] * (MAX_BATCH + 1)),
     b"else" + batch((SENDER, [], b""))[4:]],
)  # fmt: skip
def test_a_batch_gateway_is_asked_for_a_few_requests_and_nothing_else(data: bytes) -> None:
    with pytest.raises(GatewayError, match="batch gateway"):
        fetch(of([BATCH_GATEWAY], data), says(b""))


def nested(times: int) -> bytes:
    data = batch((SENDER, ["https://a.example/"], b""))
    for _ in range(times - 1):
        data = batch((SENDER, [BATCH_GATEWAY], data))
    return data


def test_a_batch_may_be_within_another_and_not_deeper() -> None:
    def innermost(answer: bytes) -> tuple[bool, bytes]:
        [failed], [inner] = decode("bool[],bytes[]", answer)
        try:
            return innermost(inner)
        except AbiError:
            return failed, inner

    assert innermost(fetch(of([BATCH_GATEWAY], nested(MAX_NESTING)), says(b"yes"))) == (False, b"yes")
    failed, error = innermost(fetch(of([BATCH_GATEWAY], nested(MAX_NESTING + 1)), says(b"yes")))
    assert failed
    assert "nested" in decode("string", error[4:])[0]


def test_gateways_are_asked_a_few_times_in_a_look_up() -> None:
    many = [[f"https://{number}.{place}.example/" for place in range(MAX_URLS)] for number in range(2)]
    requests = [(SENDER, urls, b"") for urls in (*many, ["ipfs://x"], ["https://more.example/"])]
    gateways = Gateways()
    failures, errors = decode("bool[],bytes[]", fetch(of([BATCH_GATEWAY], batch(*requests)), lambda _: None, gateways))
    assert (failures, len(gateways.urls)) == ([True] * 4, MAX_REQUESTS)
    assert [decode("string", error[4:])[0] for error in errors] == [
        "a gateway did not answer",
        "a gateway did not answer",
        "no URL of a gateway that can be asked",
        f"gateways were asked {MAX_REQUESTS} times",
    ]


@pytest.mark.parametrize("cut", [0, 3, 4, 36, 100])
def test_a_revert_that_is_no_lookup_is_refused(cut: int) -> None:
    with pytest.raises(AbiError):
        OffchainLookup.read(raw(ROWS[0]["revert"])[:cut])
