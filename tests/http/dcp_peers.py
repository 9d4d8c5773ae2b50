"""Owners of mailboxes with sessions of DCP at the mailbox API."""

import json
from base64 import b64decode, b64encode
from dataclasses import dataclass
from itertools import count
from typing import Any

from tests.http.api_stack import BOB_KEY, HOST, NOW, SHOP, SHOP_KEY, ApiStack
from tests.protocols.dcp.guarded import Peer

from postroom.crypto.ethereum_keys import EthereumKey
from postroom.http.request import HttpRequest
from postroom.http.response import HttpResponse
from postroom.protocols.dcp.signed_message import read_signed_message
from postroom.protocols.dm3.keys import PrivateSigningKey

Json = dict[str, Any]


def ethereum_key(key: PrivateSigningKey) -> EthereumKey:
    """The key of the same secret."""
    return EthereumKey.from_secret(b64decode(key.encode().removeprefix("secp256k1:")))


OWNER_SIGNING_KEY = PrivateSigningKey.generate()
OWNER = ethereum_key(OWNER_SIGNING_KEY)
"""A key of the mailbox shop.com."""
BOB_RESOURCE = ethereum_key(BOB_KEY)
WES, JACK = EthereumKey.generate(), EthereumKey.generate()
_NUMBERS = count(1)


@dataclass
class DcpApi:
    """`/dcp` of the mailbox API, as a guardian."""

    api: ApiStack

    def post(self, data: bytes) -> HttpResponse:
        return self.api.ask("POST", "/dcp", body=data, headers={"content-type": "application/json"})

    def answer(self, data: bytes, now: float = NOW) -> Json:
        """The body of the answer at the API's own time."""
        return self._read(self.post(data))

    def over_socket(self, data: bytes, connection: str = "L0SM9cOFvHcCIhw=") -> Json:
        """The same for a message that came by a WebSocket."""
        return self._read(self.post_over_socket(data, connection))

    def post_over_socket(self, data: bytes, connection: str = "L0SM9cOFvHcCIhw=") -> HttpResponse:
        headers = {"content-type": "application/json"}
        request = HttpRequest("POST", "/dcp", HOST, {}, headers, data, connection=connection, answer_bytes=100_000)
        return self.api.answer(request)

    def _read(self, response: HttpResponse) -> Json:
        assert response.status == 200, response.body
        answer = read_signed_message(response.body)
        assert f"0x{answer.owner}" in self.identities()
        return dict(answer.body)

    def described(self) -> Json:
        described: Json = json.loads(self.api.ask("GET", "/dcp", host=HOST).body)
        return described

    def identities(self) -> list[str]:
        return [f"0x{each.key.address}" for each in self.api.dcp_identities.newest_first()]

    def peer(self, key: EthereumKey = OWNER) -> Peer:
        """A peer with a session."""
        guardian = self.api.dcp_identities.newest_first()[0].key.address
        return DcpPeer.connected(self, key, guardian=guardian, half=f"{next(_NUMBERS):021}", now=self.api.clock.now)


@dataclass
class DcpPeer(Peer):
    """A peer whose clock is that of the API."""

    def request(
        self, operation: str = "add", data: Any = None, keys: tuple[EthereumKey, ...] = (), **members: Any
    ) -> Json:
        """A request with everything right that `members` do not change."""
        assert isinstance(self.bank, DcpApi)
        self.now = self.bank.api.clock.now
        return super().request(operation, data, keys, **members)


def give_keys(api: ApiStack) -> None:
    """Let the owner of shop.com sign in by OWNER, too."""
    keys = [SHOP_KEY.public.spki(), b64decode(OWNER_SIGNING_KEY.public.encode())]
    api.mailboxes.set_keys(SHOP, [b64encode(key).decode() for key in keys])
    api.directory.forget(SHOP)


def do(peer: Peer, operation: str, *, keys: tuple[EthereumKey, ...] | None = None, **data: Any) -> Json:
    """The answer to an operation of a mailbox, authorized by the peer itself."""
    request = peer.request(operation, {"mailbox": SHOP, **data}, keys=(peer.key,) if keys is None else keys)
    return peer.send(request)
