"""Our contracts return what the published ones of ENS and OpenZeppelin return to the same calls, byte for byte."""

from collections.abc import Iterable
from typing import Any

import pytest
from tests.local.chain.names import ALICE, KEY, NAMES
from tests.patience import PATIENCE
from tests.peers.ens.anvil import OWNER
from tests.peers.ens.conftest import Chains, ReadChain

from postroom.crypto.ethereum import keccak_256
from postroom.local.chain.ens_names import CONTRACTS, PUBLIC_RESOLVER
from postroom.names.ens.abi import decode, encode
from postroom.names.ens.calls import (
    Call,
    Outcome,
    Returned,
    Reverted,
    address_call,
    namehash,
    text_call,
)
from postroom.names.ens.ccip import OffchainLookup

ALL = [*(known.name for known in NAMES.values()), "eth", "team.eth", ""]
ON_CHAIN = [known.name for known in NAMES.values() if not known.rounds]
OFF_CHAIN = [known.name for known in NAMES.values() if known.rounds]
INTERFACES = ["01ffc9a7", "3b3b57de", "59d1d43c", "9061b923", "ffffffff"]


def call(contract: bytes, function: str, *values: Any) -> Call:
    types = function[function.index("(") + 1 : -1]
    arguments = encode(types, values) if values else b""
    return Call(contract, keccak_256(function.encode())[:4] + arguments)


def outcomes(chain: ReadChain, calls: Iterable[Call]) -> list[Outcome]:
    agreed = chain.look_up.endpoints.agree(list(calls), lambda said: said, seconds=PATIENCE, now=chain.look_up.clock())
    return list(agreed.said)


def resolver_of(chains: Chains, name: str) -> bytes:
    [[found]] = [
        decode("address", outcome.data)
        for outcome in outcomes(
            chains.by_kind["py-evm"], [call(CONTRACTS.registry, "resolver(bytes32)", namehash(name))]
        )
    ]
    assert isinstance(found, bytes)
    return found


def assert_alike(chains: Chains, calls: list[Call]) -> list[Outcome]:
    ours, theirs = (outcomes(chain, calls) for chain in chains.by_kind.values())
    assert ours == theirs
    return ours


@pytest.mark.parametrize("function", ["owner", "resolver", "ttl"])
def test_the_registry_says_the_same_of_every_name(chains: Chains, function: str) -> None:
    found = assert_alike(chains, [call(CONTRACTS.registry, f"{function}(bytes32)", namehash(name)) for name in ALL])
    assert len(set(found)) > 1


def test_the_public_resolver_says_the_same_of_every_name(chains: Chains) -> None:
    found = assert_alike(
        chains,
        [
            each
            for name in ALL
            for each in (
                call(PUBLIC_RESOLVER, "text(bytes32,string)", namehash(name), KEY),
                call(PUBLIC_RESOLVER, "addr(bytes32)", namehash(name)),
            )
        ],
    )
    assert len(set(found)) > 2


def test_resolvers_have_the_same_interfaces(chains: Chains) -> None:
    for resolver in (PUBLIC_RESOLVER, resolver_of(chains, "team.eth")):
        found = assert_alike(
            chains, [call(resolver, "supportsInterface(bytes4)", bytes.fromhex(each)) for each in INTERFACES]
        )
        assert len(set(found)) == 2


def test_the_universal_resolver_returns_the_same_over_either(chains: Chains) -> None:
    found = assert_alike(
        chains,
        [
            each
            for name in ON_CHAIN
            for each in (text_call(CONTRACTS.resolver, name, KEY), address_call(CONTRACTS.resolver, name))
        ],
    )
    assert {type(outcome) for outcome in found} == {Returned, Reverted}


@pytest.mark.parametrize("name", OFF_CHAIN)
def test_the_same_gateways_are_to_be_asked_the_same(chains: Chains, name: str) -> None:
    lookups = []
    for chain in chains.by_kind.values():
        [outcome] = outcomes(chain, [text_call(CONTRACTS.resolver, name, KEY)])
        lookups.append(OffchainLookup.read(outcome.data))
    ours, theirs = lookups
    # What a contract lets itself be handed back is its own business.
    assert (ours.sender, ours.urls, ours.callback, ours.data) == (
        theirs.sender, theirs.urls, theirs.callback, theirs.data,
    )  # fmt: skip


def test_tokens_return_the_same(chains: Chains) -> None:
    token = resolver_of(chains, "token.eth")
    found = assert_alike(
        chains,
        [
            call(token, "totalSupply()"),
            call(token, "decimals()"),
            call(token, "balanceOf(address)", OWNER.address),
            call(token, "balanceOf(address)", ALICE.address),
            call(token, "allowance(address,address)", OWNER.address, ALICE.address),
        ],
    )
    assert [int.from_bytes(outcome.data) for outcome in found] == [1, 18, 1, 0, 0]


def test_a_stranger_changes_nothing(chains: Chains) -> None:
    node = namehash("alice.eth")
    calls = [
        call(CONTRACTS.registry, "setResolver(bytes32,address)", node, ALICE.address),
        call(CONTRACTS.registry, "setSubnodeOwner(bytes32,bytes32,address)", node, node, ALICE.address),
        call(PUBLIC_RESOLVER, "setText(bytes32,string,string)", node, KEY, "data:,mallory"),
        call(PUBLIC_RESOLVER, "setAddr(bytes32,address)", node, ALICE.address),
        call(resolver_of(chains, "token.eth"), "transfer(address,uint256)", ALICE.address, 1),
    ]
    for chain in chains.by_kind.values():
        assert {type(outcome) for outcome in outcomes(chain, calls)} == {Reverted}


def test_an_owner_changes_both_alike(chains: Chains) -> None:
    for chain in chains.by_kind.values():
        chain.ens.register("new.eth", PUBLIC_RESOLVER, ttl=60)
        chain.ens.set_text("new.eth", KEY, "data:,new")
        chain.ens.commit()
        assert chain.look_up.text("new.eth", KEY).found.value == "data:,new"
    assert_alike(chains, [text_call(CONTRACTS.resolver, "new.eth", KEY)])
