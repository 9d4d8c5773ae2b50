"""A chain at an endpoint: names are changed on it as on one in this process, also by others in between."""

import json
import time

import pytest
from tests.local.chain.names import KEY

from postroom.local.chain.accounts import ChainAccount
from postroom.local.chain.ens_names import OWNER, PUBLIC_RESOLVER, LocalEns
from postroom.local.chain.evm import TransactionRefusedError
from postroom.local.chain.json_rpc import answer_json_rpc
from postroom.local.chain.local_ethereum import LocalEthereum
from postroom.local.chain.remote_chain import RemoteChain
from postroom.names.publishing import set_text_data


class Served:
    """JSON-RPC of a chain. `instead`: an answer in the place of the chain's."""

    def __init__(self) -> None:
        self.ethereum = LocalEthereum(time.time)
        self.instead: bytes | None = None

    def post(self, body: bytes, seconds: float) -> bytes:
        assert seconds > 0
        return answer_json_rpc(self.ethereum.chain, body) if self.instead is None else self.instead


@pytest.fixture(scope="module")
def served() -> Served:
    served = Served()
    served.ethereum.ens.register("eth")
    served.ethereum.ens.commit()
    return served


def test_names_are_changed_in_turn_here_and_there(served: Served) -> None:
    here, there = served.ethereum.ens, LocalEns(RemoteChain(served), ChainAccount.of_label(OWNER))
    for ens, name in ((there, "a.eth"), (here, "b.eth"), (there, "c.eth")):
        ens.register(name, PUBLIC_RESOLVER)
        ens.set_text(name, KEY, name)
        ens.commit()
    assert there.is_new is here.is_new is False


def test_a_change_that_reverts_is_refused(served: Served) -> None:
    there = LocalEns(RemoteChain(served), ChainAccount.of_label(OWNER))
    there.set_text("nobody.eth", KEY, "x")
    with pytest.raises(TransactionRefusedError, match="reverts"):
        there.commit()


def test_a_transaction_that_the_chain_does_not_take_is_refused(served: Served) -> None:
    poor = ChainAccount.of_label("poor")
    transaction = poor.transaction(0, PUBLIC_RESOLVER, set_text_data("a.eth", KEY, "x"))
    with pytest.raises(TransactionRefusedError, match="balance"):
        RemoteChain(served).send(transaction)
    assert RemoteChain(served).transaction(bytes(32)) is None


@pytest.mark.parametrize("answer", [b"", b"<html>", b"[]", b"{}", json.dumps({"error": "no"}).encode()])
def test_an_answer_that_is_none_of_json_rpc_is_a_refusal(served: Served, answer: bytes) -> None:
    served.instead = answer
    try:
        with pytest.raises(TransactionRefusedError):
            RemoteChain(served).nonce(bytes(20))
    finally:
        served.instead = None
