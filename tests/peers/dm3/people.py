"""Users with keys in both forms: created by the reference's client from a wallet, and converted to ours."""

import base64
import json
from dataclasses import dataclass
from typing import Any

from tests.peers.dm3.reference import HERE
from tests.peers.node import Reference

from postroom.crypto.x25519 import EncryptionKey
from postroom.protocols.dm3.keys import PrivateSigningKey, UserKeys
from postroom.protocols.dm3.profile import data_uri

WALLETS = json.loads((HERE.parents[1] / "vectors" / "dm3.json").read_bytes())["variants"]["npm-1.7.1"]["profiles"]


@dataclass(frozen=True)
class Person:
    """A user. `keys`: in the reference's form. `signed_profile`: {profile, signature}, as published by it."""

    name: str
    wallet: str
    address: str
    nonce: str
    keys: dict[str, Any]
    signed_profile: dict[str, Any]

    @property
    def ours(self) -> UserKeys:
        return UserKeys(private_signing_key(self.keys), encryption_key(self.keys))

    @property
    def signing_key(self) -> str:
        """The public encryption key."""
        return str(self.keys["signingKeyPair"]["publicKey"])

    @property
    def uri(self) -> str:
        return data_uri(self.signed_profile)


def person(reference: Reference, who: str, delivery_service: str) -> Person:
    """A user whose keys and profile are created by the reference's client. `who`: alice or bob."""
    known = WALLETS[who]
    made = reference.call("wallet.createProfile", known["walletPrivateKey"], [delivery_service])
    return Person(
        name=known["ensName"],
        wallet=known["walletPrivateKey"],
        address=known["address"],
        nonce=made["nonce"],
        keys=made["keys"],
        signed_profile=made["signedProfile"],
    )


def private_signing_key(keys: dict[str, Any]) -> PrivateSigningKey:
    """Our key from the reference's, which is the seed and the public key."""
    return PrivateSigningKey.from_seed(base64.b64decode(keys["signingKeyPair"]["privateKey"])[:32])


def encryption_key(keys: dict[str, Any]) -> EncryptionKey:
    return EncryptionKey.from_private(base64.b64decode(keys["encryptionKeyPair"]["privateKey"]))


def unsigned(struct: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in struct.items() if name != "signature"}
