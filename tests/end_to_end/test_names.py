"""Senders whom no operator has written down write to bob.eth: found in the stack's signed zones, and in ENS."""

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from tests.end_to_end.test_dm3 import find, write
from tests.end_to_end.test_dm3 import https as https
from tests.fakes.endpoints import fake_endpoint
from tests.names.ens.nodes import TextNode

from postroom.client import SendOutcome
from postroom.demo.stack import DemoStack
from postroom.names.registry import PROFILE_KEY
from postroom.net.https import HttpsClient
from postroom.protocols.dm3.keys import UserKeys
from postroom.protocols.dm3.profile import UserProfile, data_uri

pytestmark = pytest.mark.xdist_group("demo")

DAN, ERIN = "dan.example", "erin.eth"
"""In DNS, and in ENS."""


@pytest.fixture(scope="module")
def keys() -> UserKeys:
    return UserKeys.random()


def uri_of(keys: UserKeys) -> str:
    return data_uri(UserProfile(keys.encryption.public, keys.signing.public, ("ds.eth",)).as_json())


@pytest.fixture
def erin_on_chain(demo_stack: DemoStack, keys: UserKeys) -> Iterator[TextNode]:
    """A chain with ERIN's profile, of which two endpoints are stored."""
    deployment = demo_stack.receiver.deployment
    client, secret = deployment.client("secretsmanager"), deployment.outputs["ChainEndpointsSecret"]
    node = TextNode({ERIN: {PROFILE_KEY: uri_of(keys)}})
    node.clock = time.time
    with ExitStack() as undo:
        urls = [f"http://127.0.0.1:{undo.enter_context(fake_endpoint(node)).port}/" for _ in range(2)]
        client.put_secret_value(SecretId=secret, SecretString=json.dumps({"endpoints": urls}))
        # They remember for a while that there were none.
        demo_stack.receiver.end_instances("Dm3Function")
        yield node
        client.put_secret_value(SecretId=secret, SecretString="{}")


def test_a_sender_in_the_signed_zone_of_a_domain_is_verified(
    demo_stack: DemoStack, https: HttpsClient, keys: UserKeys
) -> None:
    text = f"{PROFILE_KEY}={uri_of(keys)}"
    strings = " ".join(json.dumps(text[at : at + 255]) for at in range(0, len(text), 255))
    demo_stack.stack.tree.put(DAN, f"_dm3 60 TXT {strings}")
    receipt = find(demo_stack, write(demo_stack, https, "You do not know me yet", DAN, keys)).line.receipt
    assert (receipt["key_fingerprint"], receipt["unverified"]) == (keys.signing.public.fingerprint, None)


def test_a_sender_in_ens_is_verified_by_endpoints_that_agree(
    demo_stack: DemoStack, https: HttpsClient, keys: UserKeys, erin_on_chain: TextNode
) -> None:
    receipt = find(demo_stack, write(demo_stack, https, "You do not know me yet", ERIN, keys)).line.receipt
    assert (receipt["key_fingerprint"], receipt["unverified"]) == (keys.signing.public.fingerprint, None)
    assert len(erin_on_chain.calls) >= 2


def test_a_name_of_ens_does_not_help_who_has_not_its_key(
    demo_stack: DemoStack, https: HttpsClient, erin_on_chain: TextNode
) -> None:
    sent = write(demo_stack, https, "I am not she", ERIN, UserKeys.random())
    assert sent.fate is SendOutcome.REFUSED
    assert erin_on_chain.calls
