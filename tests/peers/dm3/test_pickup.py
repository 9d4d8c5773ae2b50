"""dm3's reference picks its mail up here: its key signs the challenge, its paths fetch and acknowledge.

The requests are those of its messenger (ServerSideConnector, DeliveryServiceConnector), which is in no package; what
signs, opens and names messages is its libraries, as published.
"""

import json
from base64 import b64decode
from typing import Any

import pytest
from tests.aws import clients as clients
from tests.aws import deployed as deployed
from tests.http.counter import Counter, reason, said
from tests.peers.dm3.reference import Reference
from tests.peers.dm3.test_exchange import Town, town
from tests.pipeline.conftest import stack as stack
from tests.pipeline.delivery_service import ALICE, BOB, SERVICE

from postroom.api.reasons import NOT_THE_OWNER, TOKEN_INVALID
from postroom.storage.directory.domains import Dm3Mailbox

__all__ = ["town"]


@pytest.fixture
def counter(town: Town) -> Counter:
    """The counter of the town's delivery service, which knows Bob by the profile that his client published."""
    counter = Counter(town.service.stack.deployed)
    counter.users.keys = {BOB: town.bob.ours.signing}
    counter.operators.put_dm3_mailbox(Dm3Mailbox(BOB))
    return counter


def their_sign_in(town: Town, counter: Counter, keys: Any, name: str = BOB) -> Any:
    """`reAuth` of their messenger; what the server answers."""
    challenge = said(counter.ask("GET", f"/auth/{name}"))
    signature = town.reference.call("crypto.sign", keys["signingKeyPair"]["privateKey"], challenge)
    return counter.ask("POST", f"/auth/{name}", body={"signature": signature, "challenge": challenge})


def opened(reference: Reference, keys: Any, envelope: Any) -> Any:
    sealed = json.loads(envelope["message"])
    return json.loads(reference.call("crypto.decryptAsymmetric", keys["encryptionKeyPair"], sealed))


def test_their_client_signs_in_fetches_opens_and_acknowledges(town: Town, counter: Counter) -> None:
    texts = ["first", "second", "grüße 👋"]
    for text in texts:
        town.filed(town.their_envelope(town.their_message(text)))
    token = said(their_sign_in(town, counter, town.bob.keys))
    assert len(token.split(".")) == 3
    waiting = said(counter.ask("GET", f"/delivery/messages/incoming/{BOB}/", token=token))
    assert [opened(town.reference, town.bob.keys, each)["message"] for each in waiting] == texts
    acknowledgements = [
        {"contactAddress": ALICE, "messageHash": each["metadata"]["encryptedMessageHash"]} for each in waiting[:2]
    ]
    for each in acknowledgements:
        assert town.reference.call("schema.fits", "delivery", "Acknowledgement", each)
    path = f"/delivery/messages/{BOB}/syncAcknowledgements/"
    counter.ask("POST", path, token=token, body={"acknowledgements": acknowledgements})
    left = said(counter.ask("GET", f"/delivery/messages/incoming/{BOB}/", token=token))
    assert left == waiting[2:]


def test_a_token_of_ours_lasts_as_their_middleware_has_it(town: Town, counter: Counter) -> None:
    token = said(their_sign_in(town, counter, town.bob.keys))
    claims = json.loads(b64decode(token.split(".")[1] + "=="))
    assert claims["exp"] - claims["iat"] <= 3600
    counter.clock.now += 3600
    answer = counter.ask("GET", f"/delivery/messages/incoming/{BOB}/", token=token)
    assert (answer.status, reason(answer)) == (401, str(TOKEN_INVALID)), "which makes it sign in again"


def test_somebody_elses_client_does_not_sign_in(town: Town, counter: Counter) -> None:
    assert reason(their_sign_in(town, counter, town.alice.keys)) == str(NOT_THE_OWNER)


def test_their_client_signs_up_with_its_profile_and_signs_in_once_its_token_is_refused(town: Town) -> None:
    """`login` of their messenger: `_signUp` submits what it published, and `onError` signs in upon a 401."""
    counter, name = Counter(town.service.stack.deployed, service=SERVICE), "bobby.eth"
    users, keys = counter.users, town.bob.ours
    users.keys, users.services, users.sealed_to = {name: keys.signing}, (SERVICE,), keys.encryption.public
    assert counter.ask("GET", f"/profile/{name}").status == 405, "which they take for: not signed up yet"
    assert reason(their_sign_in(town, counter, town.bob.keys, name)) == str(NOT_THE_OWNER)
    token = said(counter.ask("POST", f"/profile/{name}", body=town.bob.signed_profile))
    path = f"/delivery/messages/incoming/{name}/"
    assert counter.ask("GET", path, token=token).status == 401
    token = said(their_sign_in(town, counter, town.bob.keys, name))
    assert said(counter.ask("GET", path, token=token)) == []
