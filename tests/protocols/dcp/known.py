"""Known answers of DCP's reference implementation, and its keys."""

from typing import Any, Final

from tests.crypto.vectors import DCP, SECRETS

from postroom.crypto.ethereum_keys import EthereumKey

KEYS: Final = {name: EthereumKey.from_secret(secret) for name, secret in SECRETS.items()}
MESSAGES: Final[dict[str, dict[str, Any]]] = {each["name"]: each for each in DCP["messages"]}
AUTH: Final[list[dict[str, Any]]] = DCP["auth"]
ODD_SIGNATURES: Final[dict[str, Any]] = DCP["odd_signatures"]
