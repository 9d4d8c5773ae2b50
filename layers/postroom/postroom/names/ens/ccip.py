"""Off-chain look-ups: what gateways are asked for a contract, and what of their answers it gets (EIP-3668, ENSIP-21).

Nothing that a gateway says is believed here: the contract that sent us there judges it.
"""

import re
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import orjson

from postroom.core.errors import TheirError
from postroom.core.ijson import parse
from postroom.crypto.encodings import read_hex, write_hex
from postroom.names.ens.abi import AbiError, decode, encode
from postroom.names.ens.calls import OFFCHAIN_LOOKUP, Call

MAX_ANSWER_BYTES: Final = 256 * 1024
MAX_REQUESTS: Final = 8
"""Of one look-up, to all gateways."""
MAX_URLS: Final = 4
"""Of one request, that are tried one after the other."""
MAX_BATCH: Final = 4
"""Requests in a batch."""
MAX_NESTING: Final = 2
"""Batches within one another."""
BATCH_GATEWAY: Final = "x-batch-gateway:true"
"""The URL that asks the client itself to send the requests of a batch (ENSIP-21)."""

_QUERY: Final = bytes.fromhex("a780bab6")
_HTTP_ERROR: Final = bytes.fromhex("01800152")
_ERROR: Final = bytes.fromhex("08c379a0")
_URL: Final = re.compile(r"https://[^/?#{}@\\\s]+(?:[/?#][!-~]*)?", re.ASCII)
_CLIENT_ERRORS: Final = range(400, 500)
_OK: Final = 200


@dataclass(frozen=True, slots=True)
class OffchainLookup:
    """What a contract reverts with if the answer is elsewhere (EIP-3668).

    `sender`: the address of the contract; `data`: what the gateways are asked; `callback`: the selector of the function
    that is called with a gateway's answer and `extra`.
    """

    sender: bytes
    urls: tuple[str, ...]
    data: bytes
    callback: bytes
    extra: bytes

    @classmethod
    def read(cls, reverted: bytes) -> "OffchainLookup":
        """Read the data of a revert. Raises AbiError."""
        if reverted[:4] != OFFCHAIN_LOOKUP:
            raise AbiError("it is no OffchainLookup")
        sender, urls, data, callback, extra = decode("address,string[],bytes,bytes4,bytes", reverted[4:])
        return cls(sender, tuple(urls), data, callback, extra)

    def callback_call(self, answer: bytes) -> Call:
        """The call that has the contract judge a gateway's answer."""
        return Call(self.sender, self.callback + encode("bytes,bytes", (answer, self.extra)))


@dataclass(frozen=True, slots=True)
class OffchainRequest:
    """A request over HTTPS. `body` None: a GET; otherwise JSON that is posted."""

    url: str
    body: bytes | None


@dataclass(frozen=True, slots=True)
class OffchainAnswer:
    """The answer to it. `phrase`: the words for its status."""

    status: int
    body: bytes
    phrase: str = ""


class GatewayError(Exception):
    """No gateway gave an answer. `encoded`: the error for a contract that asked for a batch."""

    def __init__(self, what: str, encoded: bytes = b"") -> None:
        super().__init__(what)
        self.encoded = encoded or _ERROR + encode("string", (what,))


Fetching: TypeAlias = Generator[OffchainRequest, OffchainAnswer | None, bytes]
"""Yields requests; None is sent in for one that was not answered. Returns the data for the contract."""


class Gateways:
    """Asks the gateways of one look-up, within its limits. `urls`: those that were asked."""

    def __init__(self) -> None:
        self.urls: list[str] = []

    def fetch(self, lookup: OffchainLookup) -> Fetching:
        """Ask for what a contract wants to know. Raises GatewayError."""
        return self._fetch(lookup.sender, lookup.urls, lookup.data, nesting=0)

    def _fetch(self, sender: bytes, urls: Sequence[str], data: bytes, nesting: int) -> Fetching:
        if BATCH_GATEWAY in urls:
            return (yield from self._fetch_batch(data, nesting + 1))
        return (yield from self._fetch_one(sender, urls, data))

    def _fetch_batch(self, data: bytes, nesting: int) -> Fetching:
        if nesting > MAX_NESTING:
            raise GatewayError(f"batches are nested more than {MAX_NESTING} times")
        try:
            [requests] = decode("(address,string[],bytes)[]", data[4:])
        except AbiError:
            requests = []
        if data[:4] != _QUERY or not 0 < len(requests) <= MAX_BATCH:
            raise GatewayError(f"a batch gateway is asked for something else than 1 to {MAX_BATCH} requests")
        failures: list[bool] = []
        answers: list[bytes] = []
        for sender, urls, inner in requests:
            try:
                answers.append((yield from self._fetch(sender, urls, inner, nesting)))
                failures.append(False)
            except GatewayError as error:
                answers.append(error.encoded)
                failures.append(True)
        return encode("bool[],bytes[]", (failures, answers))

    def _fetch_one(self, sender: bytes, urls: Sequence[str], data: bytes) -> Fetching:
        """Ask one gateway after the other, until one answers, or refuses."""
        failure = GatewayError("no URL of a gateway that can be asked")
        for template in urls[:MAX_URLS]:
            request = write_request(template, sender, data)
            if request is None:
                continue
            if len(self.urls) == MAX_REQUESTS:
                raise GatewayError(f"gateways were asked {MAX_REQUESTS} times")
            self.urls.append(request.url)
            answer = yield request
            if answer is None:
                failure = GatewayError("a gateway did not answer")
                continue
            found = read_answer(answer)
            if found is not None:
                return found
            encoded = _HTTP_ERROR + encode("uint16,string", (answer.status, answer.phrase))
            failure = GatewayError(f"a gateway answered with status {answer.status}, and no data", encoded)
            if answer.status in _CLIENT_ERRORS:
                break
        raise failure


def write_request(template: str, sender: bytes, data: bytes) -> OffchainRequest | None:
    """The request for a URL of a contract; None: it is none of https, or has a placeholder in its host.

    With {data} in the URL it is a GET, otherwise a POST (EIP-3668).
    """
    if not _URL.fullmatch(template):
        return None
    values = {"sender": write_hex(sender), "data": write_hex(data)}
    url = template.replace("{sender}", values["sender"]).replace("{data}", values["data"])
    body = None if "{data}" in template else orjson.dumps({"data": values["data"], "sender": values["sender"]})
    return OffchainRequest(url, body)


def read_answer(answer: OffchainAnswer) -> bytes | None:
    """The data in a gateway's answer; None: there is none."""
    if answer.status != _OK:
        return None
    try:
        root = parse(answer.body, max_bytes=MAX_ANSWER_BYTES)
    except TheirError:
        return None
    return read_hex(root.get("data")) if isinstance(root, dict) else None
