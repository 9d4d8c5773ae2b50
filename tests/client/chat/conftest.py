"""People who chat."""

import pytest
from tests.client.chat.network import ALICE, BOB, CAROL, ChatNetwork, Device


@pytest.fixture
def network() -> ChatNetwork:
    return ChatNetwork()


@pytest.fixture
def alice(network: ChatNetwork) -> Device:
    return network.device(ALICE)


@pytest.fixture
def bob(network: ChatNetwork) -> Device:
    return network.device(BOB)


@pytest.fixture
def carol(network: ChatNetwork) -> Device:
    return network.device(CAROL)
