"""A gateway for off-chain names (EIP-3668): it signs what the contract `offchain_resolver` then believes."""

import re
from collections.abc import Callable
from http import HTTPStatus
from typing import Final

import orjson

from postroom.core.errors import TheirError
from postroom.core.ijson import parse
from postroom.crypto.encodings import read_hex, write_hex
from postroom.crypto.ethereum import keccak_256
from postroom.local.chain.accounts import ChainAccount
from postroom.local.gateway import GatewayRequest, GatewayResponse
from postroom.names.ens.abi import ADDRESS_BYTES, AbiError, decode, encode

MAX_REQUEST_BYTES: Final = 1 << 16
_PATH: Final = re.compile(r".*/(?P<sender>[^/]*)/(?P<data>[^/]*)\.json")
_RESOLVE: Final = bytes.fromhex("9061b923")
_TEXT: Final = bytes.fromhex("59d1d43c")
_ADDRESS: Final = bytes.fromhex("3b3b57de")
_VALID_SECONDS: Final = 300


class CcipGateway:
    """Texts and addresses of off-chain names. `signer`: whose signatures the contracts believe.

    `clock`: seconds since the epoch. Called with a request, it answers: it is a host's handler.
    """

    def __init__(self, signer: ChainAccount, clock: Callable[[], float]) -> None:
        self._signer, self._clock = signer, clock
        self._texts: dict[tuple[str, str], str] = {}
        self._addresses: dict[str, bytes] = {}

    def set_text(self, name: str, key: str, text: str) -> None:
        """Set a text of a name."""
        self._texts[name, key] = text

    def set_address(self, name: str, address: bytes) -> None:
        """Set the address of a name."""
        self._addresses[name] = address

    def __call__(self, request: GatewayRequest) -> GatewayResponse:
        """Answer GET `/{sender}/{data}.json`, or POST of `{"data", "sender"}` to any path."""
        try:
            sender, data = _read_request(request)
            status, answer = HTTPStatus.OK, {"data": write_hex(self.answer(sender, data))}
        except (AbiError, TheirError, ValueError) as error:
            status, answer = HTTPStatus.BAD_REQUEST, {"message": str(error)}
        return GatewayResponse(status, (("content-type", "application/json"),), orjson.dumps(answer))

    def answer(self, sender: bytes, request: bytes) -> bytes:
        """What a contract (by its address) gets for a call of `resolve(bytes,bytes)`. Raises AbiError, ValueError.

        A text or an address that a name lacks is empty. The signature is by EIP-191, version 0: it is for one contract.
        """
        if request[:4] != _RESOLVE:
            raise ValueError("the data is no call of resolve(bytes,bytes)")
        name, call = decode("bytes,bytes", request[4:])
        result = self._result(_read_name(name), call)
        expires = int(self._clock()) + _VALID_SECONDS
        signed = b"\x19\x00" + sender + expires.to_bytes(8) + keccak_256(request) + keccak_256(result)
        return encode("bytes,uint64,bytes", (result, expires, self._signer.sign(keccak_256(signed))))

    def _result(self, name: str, call: bytes) -> bytes:
        if call[:4] == _TEXT:
            _, key = decode("bytes32,string", call[4:])
            return encode("string", (self._texts.get((name, key), ""),))
        if call[:4] == _ADDRESS:
            return encode("address", (self._addresses.get(name, bytes(ADDRESS_BYTES)),))
        raise ValueError("only texts and addresses are known here")


def _read_request(request: GatewayRequest) -> tuple[bytes, bytes]:
    """The contract and its data. Raises TheirError, ValueError."""
    root: object
    if request.method == "GET":
        found = _PATH.fullmatch(request.target)
        root = found.groupdict() if found else None
    else:
        root = parse(request.body, max_bytes=MAX_REQUEST_BYTES)
    members = root if isinstance(root, dict) else {}
    sender, data = read_hex(members.get("sender")), read_hex(members.get("data"))
    if sender is None or data is None or len(sender) != ADDRESS_BYTES:
        raise ValueError("a request has an address as its sender, and data")
    return sender, data


def _read_name(form: bytes) -> str:
    """The name in DNS form (ENSIP-10). Raises ValueError."""
    labels, at = [], 0
    while at < len(form) and form[at]:
        end = at + 1 + form[at]
        labels.append(form[at + 1 : end].decode())
        at = end
    if at != len(form) - 1:
        raise ValueError("the name is not in DNS form")
    return ".".join(labels)
