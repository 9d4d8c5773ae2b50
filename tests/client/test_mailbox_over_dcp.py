"""A mailbox over DCP: what differs from requests with a token. The tests of mailboxes run over both."""

import json
import os
from base64 import b64decode
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256K1, derive_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from tests.client.mailbox_net import Host, Open, dm3_message, lost_after
from tests.http.api_stack import BOB, BOB_KEY, SHOP, SHOP_KEY, ApiStack, RouterOfBoth
from tests.http.dcp_peers import OWNER, OWNER_SIGNING_KEY

from postroom.client import RefusedError
from postroom.core.errors import OurError
from postroom.crypto.x25519 import EncryptionKey
from postroom.http.dcp_service import DcpService
from postroom.protocols.dm3.keys import UserKeys

over_dcp = pytest.mark.parametrize("opened", ["sync over DCP", "async over DCP"], indirect=True)
pytestmark = over_dcp


def test_there_is_no_token_and_each_request_is_signed(host: Host, api: ApiStack, mailbox: Any) -> None:
    api.file('{"Say":"hi"}')
    [message] = mailbox.unread()
    assert mailbox.status().waiting == 1
    mailbox.acknowledge([message.id])
    mailbox.close()
    assert set(host.paths()) == {"POST /dcp"}
    assert all("authorization" not in request.headers for request in host.requests)
    operations = [json.loads(request.content)["body"]["payload"]["operation"] for request in host.requests]
    assert operations == ["connect", "messages", "status", "acknowledge", "close"]


def test_the_key_is_an_object_or_a_file_of_any_form(host: Host, opened: Open, tmp_path: Path) -> None:
    secret = b64decode(OWNER_SIGNING_KEY.encode().removeprefix("secp256k1:"))
    ec_key = derive_private_key(int.from_bytes(secret), SECP256K1())
    (tmp_path / "key.pem").write_bytes(ec_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    user = UserKeys(OWNER_SIGNING_KEY, EncryptionKey.generate())
    (tmp_path / "user.json").write_text(json.dumps(user.as_json()))
    for key in (OWNER, OWNER_SIGNING_KEY, user, tmp_path / "key.pem", str(tmp_path / "user.json")):
        assert opened(SHOP, key).status().waiting == 0


def test_a_key_of_another_kind_is_told(host: Host, opened: Open) -> None:
    with pytest.raises(OurError, match="secp256k1"):
        opened(SHOP, SHOP_KEY)


def test_dm3_messages_are_opened_with_the_keys_of_the_file(
    host: Host, api: ApiStack, opened: Open, tmp_path: Path
) -> None:
    keys = UserKeys(BOB_KEY, EncryptionKey.generate())
    (tmp_path / "bob.json").write_text(json.dumps(keys.as_json()))
    api.file(dm3_message(keys.encryption, "Good morning"), mailbox=BOB)
    [message] = opened(BOB, tmp_path / "bob.json").unread()
    assert message.open().message == "Good morning"


def test_a_large_container_is_stored_and_read_in_parts_that_fit_into_messages(mailbox: Any) -> None:
    key, data = f"0x{5:064x}", os.urandom(3_500_000)
    etag = mailbox.put_container(key, data, etag=None)
    found = mailbox.get_container(key)
    assert (found.data, found.etag) == (data, etag)


def test_after_a_lost_answer_another_request_finds_out(host: Host, api: ApiStack, mailbox: Any) -> None:
    ids = api.file("{}", "{}")
    assert mailbox.status().waiting == 2
    host.faults = [lost_after]
    done = mailbox.acknowledge(ids)
    assert (done.acknowledged, done.unknown, done.again) == (ids, [], [])
    assert mailbox.status().waiting == 0


def test_a_session_that_was_not_used_for_too_long_is_replaced(host: Host, api: ApiStack, mailbox: Any) -> None:
    ids = api.file("{}")
    assert mailbox.status().waiting == 1
    api.clock.now += 2 * 3600
    assert mailbox.acknowledge(ids).acknowledged == ids


def describes(api: ApiStack, socket: str) -> None:
    """Let the guardian say that it is at a WebSocket, too."""
    service = api.parts().mailbox_api.dcp
    api.router = replaced_dcp(api, replace(service, socket_url=socket))


def replaced_dcp(api: ApiStack, service: DcpService) -> RouterOfBoth:
    made = api.parts().mailbox_api
    made.dcp = service
    return RouterOfBoth.of(made)


def test_messages_are_waited_for_over_https_while_the_websocket_cannot_be_reached(
    host: Host, api: ApiStack, mailbox: Any
) -> None:
    describes(api, "wss://nobody.invalid/dcp")
    assert list(mailbox.unread(wait=25)) == []
    api.file('{"Say":"hi"}')
    [message] = mailbox.unread(wait=5)
    assert message.json == {"Say": "hi"}
    assert host.paths().count("GET /dcp") == 1, "another try comes some time later"


@pytest.mark.parametrize("socket", ["", "https://nobody.invalid/dcp"])
def test_a_guardian_without_websockets_is_asked_for_them_once(
    host: Host, api: ApiStack, mailbox: Any, socket: str
) -> None:
    describes(api, socket)
    assert list(mailbox.unread(wait=45)) == []
    assert host.paths().count("GET /dcp") == 1
    waits = [json.loads(request.content)["body"]["payload"]["data"]["query"]["wait"]
             for request in host.requests
             if request.method == "POST" and b'"wait"' in request.content]  # fmt: skip
    assert max(map(float, waits)) == 20


def test_after_signing_out_requests_of_the_next_minute_are_refused(api: ApiStack, mailbox: Any) -> None:
    mailbox.sign_out()
    api.directory.forget(SHOP)
    with pytest.raises(RefusedError) as caught:
        mailbox.status()
    assert caught.value.reason == "DcpAuthorizationRevoked"


def test_a_new_identity_of_the_guardian_is_no_error(api: ApiStack, mailbox: Any, opened: Open) -> None:
    assert mailbox.status().waiting == 0
    api.dcp_identities.add("x" * 64, int(api.clock.now) + 1, drop_before=0)
    api.clock.now += 60
    assert mailbox.status().waiting == 0
    assert opened().status().waiting == 0
