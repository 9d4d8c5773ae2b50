"""The people and the network of tests/client/chat, for the commands."""

from tests.client.chat.conftest import alice, bob, carol, network  # noqa: F401 - fixtures
