"""Calls of ENS's contracts: the bytes that are sent, and what is read of what they return."""

from typing import Any

import pytest
from tests.names.ens.vectors import EXCHANGES, NAMES, raw

from postroom.crypto.ethereum import keccak_256
from postroom.names.ens import calls
from postroom.names.ens.abi import AbiError, encode
from postroom.names.ens.calls import (
    Reverted,
    address_call,
    balance_call,
    dns_form,
    namehash,
    read_address,
    read_number,
    read_text,
    text_call,
    ttl_call,
)

SELECTORS = NAMES["selectors"]
ON_CHAIN = EXCHANGES["on_chain"]
OF_TEXTS = [row for row in ON_CHAIN if row["function"].startswith("text(")]
OF_ADDRESSES = [row for row in ON_CHAIN if row["function"] == "addr(bytes32)"]
PROFILE = 'data:application/json,{"publicEncryptionKey":"Dy6tWgGpBd43CIRkwZyLqMwqUdBXmMOBaxpW2N5w6mw=",'


@pytest.mark.parametrize("row", NAMES["names"]["rows"], ids=lambda row: row["name"][:40])
def test_names_are_hashed_and_written_as_published(row: dict[str, Any]) -> None:
    assert namehash(row["name"]) == raw(row["namehash"])
    assert dns_form(row["name"]) == raw(row["dns"])


@pytest.mark.parametrize("name", ["a..eth", ".eth", f"{'a' * 256}.eth"])
def test_an_empty_or_too_long_label_has_no_dns_form(name: str) -> None:
    with pytest.raises(ValueError, match="label"):
        dns_form(name)


def test_selectors_are_those_of_the_functions_and_errors() -> None:
    told = {**SELECTORS["function"], **SELECTORS["error"]}
    assert {name: raw(selector) for name, selector in told.items()} == {
        name: keccak_256(name.encode())[:4] for name in told
    }
    known = {data for name, data in vars(calls).items() if name.isupper() and isinstance(data, bytes)}
    assert known <= {raw(selector) for selector in told.values()}
    errors = {raw(selector): name.partition("(")[0] for name, selector in SELECTORS["error"].items()}
    assert {selector: Reverted(selector).error for selector in errors} == errors


@pytest.mark.parametrize("row", OF_TEXTS, ids=lambda row: row["name"])
def test_a_text_is_asked_of_the_universal_resolver_and_read(row: dict[str, Any]) -> None:
    call = text_call(raw(row["to"]), row["name"], row["key"])
    assert (call.to, call.data) == (raw(row["to"]), raw(row["data"]))
    if "result" in row:
        text, resolver = read_text(raw(row["result"]))
        assert text.startswith(PROFILE) if row["name"] == "alice.eth" else text == ""
        assert resolver == raw(EXCHANGES["addresses"]["public_resolver"])


@pytest.mark.parametrize("row", OF_ADDRESSES, ids=lambda row: row["name"])
def test_an_address_is_asked_of_the_universal_resolver_and_read(row: dict[str, Any]) -> None:
    assert address_call(raw(row["to"]), row["name"]).data == raw(row["data"])
    if "result" in row:
        address, _ = read_address(raw(row["result"]))
        assert address == (raw("f39fd6e51aad88f6f4ce6ab8827279cfffb92266") if row["name"] == "alice.eth" else None)


def test_what_a_name_reverts_with_says_why_it_has_no_text() -> None:
    reverted = {row["name"]: Reverted(raw(row["revert"])).error for row in OF_TEXTS if "revert" in row}
    assert reverted == {
        "nobody.eth": "ResolverNotFound",
        "sub.alice.eth": "ResolverNotFound",
        "hollow.eth": "ResolverNotContract",
    }


def test_the_registry_is_asked_for_the_ttl() -> None:
    [row] = [row for row in ON_CHAIN if row["function"] == "ttl(bytes32)"]
    call = ttl_call(raw(row["to"]), row["name"])
    assert (call.to, call.data) == (raw(row["to"]), raw(row["data"]))
    assert read_number(raw(row["result"])) == 300


def test_a_token_is_asked_for_the_balance_of_an_account() -> None:
    rules = NAMES["filter"]
    call = balance_call(raw(rules["token"]), raw(rules["account"]))
    assert (call.to, call.data) == (raw(rules["token"]), raw(rules["balanceOf"]))


@pytest.mark.parametrize("result", [b"", bytes(31), bytes(33)], ids=len)
def test_what_is_not_one_word_is_no_number(result: bytes) -> None:
    with pytest.raises(AbiError):
        read_number(result)


@pytest.mark.parametrize("inner", [b"", bytes(31), encode("string", ["Ä"])[:64]])
def test_a_result_that_is_no_text_is_refused(inner: bytes) -> None:
    with pytest.raises(AbiError):
        read_text(encode("bytes,address", [inner, bytes(20)]))
