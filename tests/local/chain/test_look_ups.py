"""Our look-ups find names on a local chain, through its gateways, and believe no gateway that is not to be believed."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from tests.local.chain.conftest import QUORUM, ServedChain
from tests.local.chain.names import ALICE, CAROL, KEY, NAMES, Known

from postroom.core.errors import NotNowError
from postroom.local.chain.accounts import ChainAccount
from postroom.local.chain.ccip_gateway import CcipGateway
from postroom.local.chain.hosts import CCIP_HOST, IPFS_HOST
from postroom.local.edge import Handler
from postroom.local.gateway import GatewayRequest, GatewayResponse
from postroom.names.ens.accounts import AccountDemands
from postroom.names.ipfs.car import read_blocks
from postroom.names.ipfs.cid import Cid
from postroom.names.ipfs.unixfs import read_file
from postroom.protocols.dm3.reasons import PROFILE_LOOKUP_FAILED

FOUND = {kind: known for kind, known in NAMES.items() if known.absent != "reverts"}


@pytest.mark.parametrize("known", FOUND.values(), ids=FOUND)
def test_a_name_of_every_kind_is_found_with_its_evidence(served_chain: ServedChain, known: Known) -> None:
    answer = served_chain.look_up.text(known.name, KEY)
    found = answer.found
    assert (found.value, found.absent, found.rounds, found.ttl) == (
        known.text, known.absent, known.rounds, known.ttl,
    )  # fmt: skip
    assert len(found.gateways) == known.rounds
    assert [agreed.alike for agreed in answer.agreed] == [QUORUM] * (1 + known.rounds)


def test_what_a_resolver_reverts_with_proves_nothing(served_chain: ServedChain) -> None:
    name = NAMES["a contract that is no resolver as resolver"].name
    with pytest.raises(NotNowError, match="the universal resolver reverted with ResolverError"):
        served_chain.look_up.text(name, KEY)


def test_a_name_has_its_address_on_chain_and_off_chain(served_chain: ServedChain) -> None:
    addresses = {known.name: known.address for known in FOUND.values() if known.text}
    assert {name: served_chain.look_up.address(name).found.value for name in addresses} == addresses
    assert {ALICE.address, CAROL.address} < set(addresses.values())


# --- gateways that are not to be believed --------------------------------------------------------------------------


class OtherGateway:
    """A gateway that answers with what an honest one would answer to another request, or with some of it changed."""

    def __init__(self, ccip: CcipGateway, *, name: bytes = b"carol", offset: int | None = None) -> None:
        self._ccip, self._name, self._offset = ccip, name, offset

    def __call__(self, request: GatewayRequest) -> GatewayResponse:
        _, sender, data = request.target.split("/")
        calldata = bytes.fromhex(data.removeprefix("0x").removesuffix(".json"))
        answer = bytearray(self._ccip.answer(bytes.fromhex(sender[2:]), calldata.replace(b"carol", self._name)))
        if self._offset is not None:
            answer[self._offset] ^= 1
        return GatewayResponse(200, (), json.dumps({"data": f"0x{answer.hex()}"}).encode())


@contextmanager
def with_gateway(chain: ServedChain, gateway: Handler) -> Iterator[None]:
    """While this is the gateway of carol.team.eth."""
    chain.edge.serve_handler(CCIP_HOST, gateway)
    try:
        yield
    finally:
        chain.edge.serve_handler(CCIP_HOST, chain.ethereum.ccip)


def assert_not_believed(chain: ServedChain, gateway: Handler) -> None:
    with with_gateway(chain, gateway), pytest.raises(NotNowError, match="ResolverError") as caught:
        chain.look_up.text("carol.team.eth", KEY)
    assert caught.value.reason == PROFILE_LOOKUP_FAILED


def signing(account: ChainAccount, seconds_ago: float = 0) -> CcipGateway:
    gateway = CcipGateway(account, lambda: time.time() - seconds_ago)
    for name in ("carol.team.eth", "david.team.eth"):
        gateway.set_text(name, KEY, f"data:,{name}")
    return gateway


def test_a_gateway_with_the_signers_key_is_believed(served_chain: ServedChain) -> None:
    with with_gateway(served_chain, OtherGateway(signing(served_chain.ethereum.gateway_account))):
        assert served_chain.look_up.text("carol.team.eth", KEY).found.value == "data:,carol.team.eth"


def test_a_gateway_with_another_key_is_not(served_chain: ServedChain) -> None:
    assert_not_believed(served_chain, signing(ChainAccount.of_label("mallory")))


def test_an_answer_of_yesterday_is_not(served_chain: ServedChain) -> None:
    assert_not_believed(served_chain, signing(served_chain.ethereum.gateway_account, seconds_ago=86_400))


def test_the_answer_for_another_name_is_not(served_chain: ServedChain) -> None:
    assert_not_believed(served_chain, OtherGateway(signing(served_chain.ethereum.gateway_account), name=b"david"))


RESULT, EXPIRES, SIGNATURE = 128 + 64, 32 + 31, 224 + 32
"""Where in an answer are a byte of the text, of the time until when it counts, and of the signature."""


@pytest.mark.parametrize("offset", [RESULT, EXPIRES, SIGNATURE, SIGNATURE + 40, SIGNATURE + 64])
def test_an_answer_that_was_changed_on_the_way_is_not(served_chain: ServedChain, offset: int) -> None:
    assert_not_believed(served_chain, OtherGateway(signing(served_chain.ethereum.gateway_account), offset=offset))


def test_an_answer_for_another_contract_is_not(served_chain: ServedChain) -> None:
    honest = signing(served_chain.ethereum.gateway_account)

    def for_another(request: GatewayRequest) -> GatewayResponse:
        _, sender, data = request.target.split("/")
        return honest(replace(request, target=f"/{sender[:-1]}{'0' if sender[-1] == '1' else '1'}/{data}"))

    assert_not_believed(served_chain, for_another)


# --- accounts ------------------------------------------------------------------------------------------------------


def reaches(chain: ServedChain, account: bytes, **demands: Any) -> bool:
    wanted = AccountDemands(**demands)
    return chain.endpoints.agree(
        wanted.questions(account), lambda outcomes: wanted.are_reached(account, outcomes), seconds=60, now=time.time()
    ).said


def test_an_account_has_transactions_ether_and_tokens_or_has_not(served_chain: ServedChain) -> None:
    ens, newcomer = served_chain.ethereum.ens, ChainAccount.of_label("newcomer")
    assert not reaches(served_chain, newcomer.address, nonce=1)
    assert not reaches(served_chain, newcomer.address, balance=1)
    token = ens.deploy_token(1000)
    ens.give(newcomer.address, 10**18)
    ens.give_token(token, newcomer.address, 7)
    ens.commit()
    assert reaches(served_chain, newcomer.address, balance=10**18, token=token, token_balance=7)
    assert not reaches(served_chain, newcomer.address, balance=10**18 + 1)
    assert not reaches(served_chain, newcomer.address, token=token, token_balance=8)
    assert not reaches(served_chain, newcomer.address, token=ALICE.address, token_balance=1)
    served_chain.ethereum.chain.send(newcomer.transaction(0, ALICE.address, value=1))
    assert reaches(served_chain, newcomer.address, nonce=1)
    assert not reaches(served_chain, newcomer.address, nonce=2)


# --- files ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("length", "blocks"), [(0, 1), (1000, 1), (1001, 3), (20_000, 21)])
def test_a_file_of_ipfs_is_read_from_its_blocks(served_chain: ServedChain, length: int, blocks: int) -> None:
    content = bytes(number % 251 for number in range(length))
    cid = served_chain.ethereum.ipfs.add(content, chunk_bytes=1000)
    answer = served_chain.gateways.get(f"https://{IPFS_HOST}/ipfs/{cid}?format=car", "application/vnd.ipld.car")
    assert answer.headers["content-type"] == "application/vnd.ipld.car; version=1"
    found = read_blocks(answer.body)
    assert (read_file(cid, (), found), len(found)) == (content, blocks)


def test_a_gateway_of_ipfs_gives_no_file_without_proof_and_none_that_it_lacks(served_chain: ServedChain) -> None:
    cid = served_chain.ethereum.ipfs.add(b"here")
    other = str(Cid(1, cid.codec, bytes(32)))
    statuses = [
        served_chain.gateways.get(f"https://{IPFS_HOST}/ipfs/{path}", "*/*").status
        for path in (f"{cid}", f"{cid}?format=car", f"{other}?format=car", "x?format=car")
    ]
    assert statuses == [400, 200, 404, 404]
