"""A local chain: blocks, transactions, what reverts, and the file from which it is played again."""

import subprocess
import sys
from pathlib import Path

import pytest
import rlp
from eth.vm.forks.cancun import CancunVM
from eth_keys.datatypes import PrivateKey
from eth_typing import Address
from hypothesis import given
from hypothesis import strategies as st
from tests.local.chain.names import KEY, NAMES, register_names

from postroom.core.errors import SettingsError
from postroom.local.chain.accounts import ChainAccount, contract_address
from postroom.local.chain.ccip_gateway import CcipGateway
from postroom.local.chain.ens_names import CONTRACTS, PUBLIC_RESOLVER, LocalEns, ens_accounts
from postroom.local.chain.evm import (
    BLOCK_SECONDS,
    ChainCall,
    GenesisAccount,
    LocalChain,
    TransactionRefusedError,
)
from postroom.local.chain.transaction_file import TransactionFile
from postroom.names.ens.calls import Returned, Reverted, balance_call, read_text, text_call

OWNER = ChainAccount.of_label("owner")
OTHER = ChainAccount.of_label("other")
NOW = 1_800_000_000


class Clock:
    now = NOW

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def chain(clock: Clock) -> LocalChain:
    return LocalChain(ens_accounts(OWNER), clock)


def called(chain: LocalChain, name: str = "alice.eth") -> str:
    call = text_call(CONTRACTS.resolver, name, KEY)
    outcome = chain.call(ChainCall(call.to, call.data))
    assert isinstance(outcome, Returned)
    return read_text(outcome.data)[0]


def register_alice(chain: LocalChain) -> LocalEns:
    ens = LocalEns(chain, OWNER)
    ens.register("eth")
    ens.register("alice.eth", PUBLIC_RESOLVER)
    ens.set_text("alice.eth", KEY, "first")
    ens.commit()
    return ens


def test_deep_json_is_an_error_and_no_crash_beside_a_chain() -> None:
    """py-evm and what it imports raise the recursion limit of the process to 100,000."""
    code = """
import json
import postroom.local.chain.local_ethereum
try:
    json.loads("[" * 1_000_000)
except RecursionError:
    print("refused")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "refused\n", done.stderr


def test_contracts_that_call_each_other_too_deeply_are_refused_and_the_chain_goes_on(clock: Clock) -> None:
    calls_itself = b"\x11" * 20
    code = bytes.fromhex("6000" * 5 + "305af1")  # CALL(gas, address(this), 0, 0, 0, 0, 0)
    chain = LocalChain({**ens_accounts(OWNER), calls_itself: GenesisAccount(code=code)}, clock)
    for run in (
        lambda: chain.call(ChainCall(calls_itself, b"")),
        lambda: chain.estimate_gas(ChainCall(calls_itself, b"")),
        lambda: chain.send(OWNER.transaction(0, calls_itself)),
    ):
        with pytest.raises(TransactionRefusedError, match="too deeply"):
            run()
    register_alice(chain)
    assert called(chain) == "first"


def test_what_is_sent_is_in_a_block_at_once(chain: LocalChain) -> None:
    before = chain.block().number
    [digest] = chain.send(OWNER.transaction(0, OTHER.address, value=5))
    mined = chain.transaction(digest)
    assert mined is not None
    assert (mined.block.number, mined.place, mined.succeeded, mined.gas_used) == (before + 1, 0, True, 21_000)
    assert (chain.balance(OTHER.address), chain.balance(OTHER.address, before), chain.nonce(OWNER.address)) == (5, 0, 1)


def test_the_newest_block_is_never_older_than_it_would_be_on_mainnet(chain: LocalChain, clock: Clock) -> None:
    first = chain.block()
    clock.now += BLOCK_SECONDS - 1
    assert chain.block().hash == first.hash
    clock.now += 1
    second = chain.block()
    assert (second.number, second.header.timestamp) == (first.number + 1, clock.now)
    assert second.header.parent_hash == first.hash


def test_blocks_of_one_second_have_times_one_after_the_other(chain: LocalChain) -> None:
    for nonce in range(3):
        chain.send(OWNER.transaction(nonce, OTHER.address))
    assert chain.block().header.timestamp == NOW + 2


def test_a_block_that_there_is_not_is_none(chain: LocalChain) -> None:
    with pytest.raises(LookupError, match="there is no block 99"):
        chain.block(99)


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (OWNER.transaction(1, OTHER.address), "nonce"),
        (OTHER.transaction(0, OWNER.address), "afford"),
        (OWNER.transaction(0, OTHER.address, value=10**30), "enough balance"),
        (b"", "no signed transaction"),
    ],
    ids=["a nonce too high", "no ether for gas", "more ether than there is", "nothing"],
)
def test_a_transaction_that_cannot_be_made_is_refused_and_changes_nothing(
    chain: LocalChain, raw: bytes, why: str
) -> None:
    before = chain.block().hash
    with pytest.raises(TransactionRefusedError, match=why):
        chain.send(raw)
    assert chain.block().hash == before
    chain.send(OWNER.transaction(0, OTHER.address))


SOUND = OTHER.transaction(0, OWNER.address)
POOR = LocalChain({}, lambda: NOW)
"""A chain on which nobody has any ether, so that nobody can make a transaction."""


@given(
    st.binary(max_size=200)
    | st.builds(
        lambda place, byte: SOUND[:place] + byte + SOUND[place + 1 :],
        st.integers(0, len(SOUND)),
        st.binary(min_size=1, max_size=1),
    )
    | st.builds(lambda kind, fields: bytes([kind]) + rlp.encode(fields), st.integers(0, 5), st.lists(
        st.integers(0, 200) | st.binary(max_size=33) | st.just([]), max_size=15,
    ))
)  # fmt: skip
def test_bytes_that_are_no_transaction_are_refused(raw: bytes) -> None:
    with pytest.raises(TransactionRefusedError):
        POOR.send(raw)


def test_a_transaction_for_another_chain_is_refused(chain: LocalChain) -> None:
    key = PrivateKey(OWNER.secret)
    unsigned = CancunVM.create_unsigned_transaction(
        nonce=0, gas_price=10**10, gas=21_000, to=Address(OTHER.address), value=1, data=b""
    )
    with pytest.raises(TransactionRefusedError, match="for the chain 5"):
        chain.send(unsigned.as_signed_transaction(key, chain_id=5).encode())


def test_a_call_that_gives_more_ether_than_there_is_is_refused(chain: LocalChain) -> None:
    for tried in (chain.call, chain.estimate_gas):
        with pytest.raises(TransactionRefusedError, match="balance"):
            tried(ChainCall(OWNER.address, b"", OTHER.address, value=5))


def test_a_name_is_changed_by_its_owner_and_nobody_else(chain: LocalChain) -> None:
    ens = register_alice(chain)
    ens.set_text("alice.eth", KEY, "second")
    ens.commit()
    assert called(chain) == "second"
    ens.give(OTHER.address, 10**20)
    ens.commit()
    mallory = LocalEns(chain, OTHER)
    mallory.set_text("alice.eth", KEY, "mallory")
    with pytest.raises(TransactionRefusedError, match="a change of ENS reverts"):
        mallory.commit()
    assert called(chain) == "second"


def test_a_call_changes_nothing(chain: LocalChain) -> None:
    register_alice(chain)
    before = chain.block().header.state_root
    call = ChainCall(OTHER.address, b"", OWNER.address, value=5)
    assert chain.call(call) == Returned(b"")
    assert (chain.balance(OTHER.address), chain.block().header.state_root) == (0, before)


def test_a_call_sees_the_state_of_the_block_it_names(chain: LocalChain) -> None:
    before = chain.block().number
    register_alice(chain)
    call = text_call(CONTRACTS.resolver, "alice.eth", KEY)
    assert isinstance(chain.call(ChainCall(call.to, call.data), before), Reverted)
    assert called(chain) == "first"


def test_gas_is_estimated_so_that_the_transaction_succeeds_with_it(chain: LocalChain) -> None:
    gas = chain.estimate_gas(ChainCall(OTHER.address, b"", OWNER.address, value=1))
    assert isinstance(gas, int)
    assert 21_000 <= gas <= 22_000
    call = text_call(CONTRACTS.resolver, "nobody.eth", KEY)
    assert isinstance(chain.estimate_gas(ChainCall(call.to, call.data)), Reverted)


def test_a_token_is_moved_only_by_whom_it_belongs_to(chain: LocalChain) -> None:
    ens = LocalEns(chain, OWNER)
    token = ens.deploy_token(100)
    ens.give_token(token, OTHER.address, 40)
    ens.commit()
    assert token == contract_address(OWNER.address, 0)
    balances = [chain.call(ChainCall(token, balance_call(token, account.address).data)) for account in (OWNER, OTHER)]
    assert balances == [Returned((60).to_bytes(32)), Returned((40).to_bytes(32))]
    ens.give_token(token, OTHER.address, 61)
    with pytest.raises(TransactionRefusedError):
        ens.commit()


# --- the file of transactions --------------------------------------------------------------------------------------


def test_a_chain_is_played_again_with_the_same_names_addresses_and_times(tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "state" / "chain.jsonl"
    first = LocalChain(ens_accounts(OWNER), clock, TransactionFile(path))
    ens = LocalEns(first, OWNER)
    register_names(ens, CcipGateway(OTHER, clock), OTHER, "https://ccip.example")
    clock.now += 1000
    first.send(OWNER.transaction(first.nonce(OWNER.address), OTHER.address, value=7))
    clock.now += 1000
    again = LocalChain(ens_accounts(OWNER), clock, TransactionFile(path))
    assert called(again) == NAMES["on chain"].text
    assert again.block().header.state_root == first.block().header.state_root
    assert again.block().header.timestamp == first.block().header.timestamp == clock.now
    clock.now += 1
    LocalEns(again, OWNER).commit()
    again.send(OWNER.transaction(again.nonce(OWNER.address), OTHER.address, value=1))
    assert LocalChain(ens_accounts(OWNER), clock, TransactionFile(path)).balance(OTHER.address) == 8


def test_a_line_that_was_not_written_to_its_end_is_removed(tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "chain.jsonl"
    chain = LocalChain(ens_accounts(OWNER), clock, TransactionFile(path))
    chain.send(OWNER.transaction(0, OTHER.address, value=1))
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:40])
    again = LocalChain(ens_accounts(OWNER), clock, TransactionFile(path))
    assert path.read_bytes() == whole
    again.send(OWNER.transaction(1, OTHER.address, value=1))
    assert LocalChain(ens_accounts(OWNER), clock, TransactionFile(path)).balance(OTHER.address) == 2
    path.write_bytes(whole[:40])
    assert TransactionFile(path).read() == []
    assert path.read_bytes() == b""


@pytest.mark.parametrize("text", ["{}\n", "[1]\n", '{"time": 1, "transactions": ["zz"]}\n', "\xff\n"])
def test_a_file_that_is_none_of_transactions_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "chain.jsonl"
    path.write_text(text)
    with pytest.raises(SettingsError, match=r"chain\.jsonl is no file of transactions"):
        TransactionFile(path).read()
