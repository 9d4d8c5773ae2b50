"""Senders whom no operator has written down write to bob.eth: found in the stack's signed zones; ENS: test_chain."""

import json

import pytest
from tests.end_to_end.test_dm3 import find, write
from tests.end_to_end.test_dm3 import https as https

from postroom.demo.stack import DemoStack
from postroom.names.registry import PROFILE_KEY
from postroom.net.https import HttpsClient
from postroom.protocols.dm3.keys import UserKeys
from postroom.protocols.dm3.profile import UserProfile, data_uri

pytestmark = pytest.mark.xdist_group("demo")

DAN = "dan.example"


@pytest.fixture(scope="module")
def keys() -> UserKeys:
    return UserKeys.random()


def uri_of(keys: UserKeys) -> str:
    return data_uri(UserProfile(keys.encryption.public, keys.signing.public, ("ds.eth",)).as_json())


def test_a_sender_in_the_signed_zone_of_a_domain_is_verified(
    demo_stack: DemoStack, https: HttpsClient, keys: UserKeys
) -> None:
    text = f"{PROFILE_KEY}={uri_of(keys)}"
    strings = " ".join(json.dumps(text[at : at + 255]) for at in range(0, len(text), 255))
    demo_stack.stack.tree.put(DAN, f"_dm3 60 TXT {strings}")
    receipt = find(demo_stack, write(demo_stack, https, "You do not know me yet", DAN, keys)).line.receipt
    assert (receipt["key_fingerprint"], receipt["unverified"]) == (keys.signing.public.fingerprint, None)
