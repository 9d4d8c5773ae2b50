"""A sender whom no operator has written down writes to bob.eth: found in the stack's signed zones; ENS: test_chain."""

import pytest
from tests.end_to_end.test_dm3 import find, write
from tests.end_to_end.test_dm3 import https as https

from postroom.client import SendOutcome
from postroom.demo.stack import DAN, DemoStack
from postroom.net.https import HttpsClient
from postroom.protocols.dm3.keys import UserKeys

pytestmark = pytest.mark.xdist_group("demo")


def test_a_sender_in_the_signed_zone_of_a_domain_is_verified(demo_stack: DemoStack, https: HttpsClient) -> None:
    keys = demo_stack.names.keys_of(DAN)
    receipt = find(demo_stack, write(demo_stack, https, "You do not know me yet", DAN, keys)).line.receipt
    assert (receipt["key_fingerprint"], receipt["unverified"]) == (keys.signing.public.fingerprint, None)
    assert receipt["evidence"] == {"registry": "dns", "dnssec": "secure", "uri": "data"}


def test_nobody_else_is_verified_by_that_name(demo_stack: DemoStack, https: HttpsClient) -> None:
    sent = write(demo_stack, https, "I am somebody else", DAN, UserKeys.random())
    assert sent.fate is SendOutcome.REFUSED
    assert "SenderSignatureInvalid" in str(sent)
