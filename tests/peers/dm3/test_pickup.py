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
from tests.http.api_stack import ApiStack, reason, said
from tests.peers.dm3.test_exchange import Dm3Exchange, exchange
from tests.peers.node import Reference
from tests.pipeline.conftest import stack as stack
from tests.pipeline.delivery_service import ALICE, BOB, SERVICE

from postroom.api.reasons import NOT_THE_OWNER, TOKEN_INVALID
from postroom.storage.directory.domains import Dm3Mailbox

__all__ = ["exchange"]


@pytest.fixture
def api(exchange: Dm3Exchange) -> ApiStack:
    """The mailbox API of our delivery service, which knows Bob by the profile that his client published."""
    api = ApiStack(exchange.service.stack.deployed)
    api.users.keys = {BOB: exchange.bob.ours.signing}
    api.operators.put_dm3_mailbox(Dm3Mailbox(BOB))
    return api


def their_sign_in(exchange: Dm3Exchange, api: ApiStack, keys: Any, name: str = BOB) -> Any:
    """`reAuth` of their messenger; what the server answers."""
    challenge = said(api.ask("GET", f"/auth/{name}"))
    signature = exchange.reference.call("crypto.sign", keys["signingKeyPair"]["privateKey"], challenge)
    return api.ask("POST", f"/auth/{name}", body={"signature": signature, "challenge": challenge})


def opened(reference: Reference, keys: Any, envelope: Any) -> Any:
    sealed = json.loads(envelope["message"])
    return json.loads(reference.call("crypto.decryptAsymmetric", keys["encryptionKeyPair"], sealed))


def test_their_client_signs_in_fetches_opens_and_acknowledges(exchange: Dm3Exchange, api: ApiStack) -> None:
    texts = ["first", "second", "grüße 👋"]
    for text in texts:
        exchange.filed(exchange.their_envelope(exchange.their_message(text)))
    token = said(their_sign_in(exchange, api, exchange.bob.keys))
    assert len(token.split(".")) == 3
    waiting = said(api.ask("GET", f"/delivery/messages/incoming/{BOB}/", token=token))
    assert [opened(exchange.reference, exchange.bob.keys, each)["message"] for each in waiting] == texts
    acknowledgements = [
        {"contactAddress": ALICE, "messageHash": each["metadata"]["encryptedMessageHash"]} for each in waiting[:2]
    ]
    for each in acknowledgements:
        assert exchange.reference.call("schema.fits", "delivery", "Acknowledgement", each)
    path = f"/delivery/messages/{BOB}/syncAcknowledgements/"
    api.ask("POST", path, token=token, body={"acknowledgements": acknowledgements})
    left = said(api.ask("GET", f"/delivery/messages/incoming/{BOB}/", token=token))
    assert left == waiting[2:]


def test_our_token_is_valid_as_long_as_their_middleware_expects(exchange: Dm3Exchange, api: ApiStack) -> None:
    token = said(their_sign_in(exchange, api, exchange.bob.keys))
    claims = json.loads(b64decode(token.split(".")[1] + "=="))
    assert claims["exp"] - claims["iat"] <= 3600
    api.clock.now += 3600
    answer = api.ask("GET", f"/delivery/messages/incoming/{BOB}/", token=token)
    assert (answer.status, reason(answer)) == (401, str(TOKEN_INVALID)), "which makes it sign in again"


def test_another_users_client_does_not_sign_in(exchange: Dm3Exchange, api: ApiStack) -> None:
    assert reason(their_sign_in(exchange, api, exchange.alice.keys)) == str(NOT_THE_OWNER)


def test_their_client_signs_up_with_its_profile_and_signs_in_once_its_token_is_refused(exchange: Dm3Exchange) -> None:
    """`login` of their messenger: `_signUp` submits what it published, and `onError` signs in upon a 401."""
    api, name = ApiStack(exchange.service.stack.deployed, service=SERVICE), "bobby.eth"
    users, keys = api.users, exchange.bob.ours
    users.keys, users.services, users.encryption_key = {name: keys.signing}, (SERVICE,), keys.encryption.public
    assert api.ask("GET", f"/profile/{name}").status == 405, "which they take for: not signed up yet"
    assert reason(their_sign_in(exchange, api, exchange.bob.keys, name)) == str(NOT_THE_OWNER)
    token = said(api.ask("POST", f"/profile/{name}", body=exchange.bob.signed_profile))
    path = f"/delivery/messages/incoming/{name}/"
    assert api.ask("GET", path, token=token).status == 401
    token = said(their_sign_in(exchange, api, exchange.bob.keys, name))
    assert said(api.ask("GET", path, token=token)) == []
