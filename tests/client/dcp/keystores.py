"""Keystores that open in no time."""

import json
import secrets
from typing import Final

from postroom.crypto.ethereum_keys import EthereumKey
from postroom.crypto.keystore import lock

PASSPHRASE: Final = "geheim"
_LITTLE_WORK: Final = 2


def keystore_of(key: EthereumKey, passphrase: str = PASSPHRASE) -> str:
    salt, vector = secrets.token_bytes(32), secrets.token_bytes(16)
    return json.dumps(lock(key, passphrase, salt=salt, vector=vector, uuid="1", work=_LITTLE_WORK))
