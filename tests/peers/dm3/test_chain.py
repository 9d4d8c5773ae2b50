"""The reference looks names up in ENS by its own ethers, on our chain, and finds what is published there."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
from tests.fakes.endpoints import fake_endpoint
from tests.peers.dm3.test_reference import ALICE, BOB, BOBS_PROFILE, REGISTRY, SERVICE, keys_of, new_message
from tests.peers.node import Reference

from postroom.local.chain.ens_names import PUBLIC_RESOLVER
from postroom.local.chain.evm import ChainCall
from postroom.local.chain.json_rpc import answer_json_rpc
from postroom.local.chain.local_ethereum import LocalEthereum
from postroom.names.ens.calls import read_text, text_call
from postroom.names.ens.lookup import Contracts
from postroom.names.registry import PROFILE_KEY
from postroom.protocols.dm3.profile import profile_of_uri, read_user_profile


@dataclass(frozen=True)
class Published:
    """A chain with the names of REGISTRY. `url`: of its JSON-RPC."""

    ethereum: LocalEthereum
    url: str


@contextmanager
def published() -> Iterator[Published]:
    ethereum = LocalEthereum(time.time)
    ethereum.ens.register("eth")
    for name, entry in REGISTRY.items():
        ethereum.ens.register(name, PUBLIC_RESOLVER)
        for key, text in entry["texts"].items():
            ethereum.ens.set_text(name, key, text)
        if entry["address"]:
            ethereum.ens.set_address(name, bytes.fromhex(entry["address"][2:]))
    ethereum.ens.commit()
    with fake_endpoint(lambda body: answer_json_rpc(ethereum.chain, body)) as endpoint:
        yield Published(ethereum, f"http://127.0.0.1:{endpoint.port}/")


@pytest.fixture(scope="module")
def chain() -> Iterator[Published]:
    with published() as chain:
        yield chain


def test_it_finds_the_profiles_of_users_and_of_services(reference: Reference, chain: Published) -> None:
    signed = reference.call("chain.getUserProfile", "bob.eth", chain.url)
    assert signed == json.loads(BOB["signedProfileStringified"])
    service = reference.call("chain.getDeliveryServiceProfile", SERVICE["ensName"], chain.url)
    assert service == SERVICE["profile"]


def test_its_client_writes_to_whom_it_finds_there(reference: Reference, chain: Published) -> None:
    sent = reference.call("chain.createEnvelop", new_message(reference), chain.url, keys_of(ALICE))
    assert sent["deliveryServiceUrl"] == SERVICE["profile"]["url"]
    opened = reference.call("delivery.handleIncomingMessage", sent["encryptedEnvelop"], SERVICE["keys"], BOBS_PROFILE)
    assert opened["decryptedDeliveryInformation"] == {"to": "bob.eth", "from": "alice.eth"}


def test_a_name_that_nobody_has_has_no_profile(reference: Reference, chain: Published) -> None:
    assert reference.call("chain.getUserProfile", "nobody.eth", chain.url) is None


def test_we_read_the_profile_that_it_publishes(chain: Published) -> None:
    call = text_call(Contracts().resolver, "bob.eth", PROFILE_KEY)
    text, _ = read_text(chain.ethereum.chain.call(ChainCall(call.to, call.data)).data)
    assert text == BOB["dataUri"]
    profile = read_user_profile(profile_of_uri(text))
    assert profile.delivery_services == (SERVICE["ensName"],)
