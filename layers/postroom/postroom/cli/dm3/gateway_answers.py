"""Records of what gateways of ENS and IPFS answered, noted while the requests are made."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from postroom.core.errors import NotNowError
from postroom.names.ipfs.car import read_blocks
from postroom.names.ipfs.errors import IpfsError
from postroom.net.https import HttpsRequests, HttpsResponse

_OK: Final = 200
_NO_HOST: Final = "(no host)"


@dataclass(frozen=True, slots=True)
class GatewayAnswer:
    """What a gateway said. `fault`: a sentence; "": none; `blocks`: of IPFS, that it sent."""

    host: str
    fault: str = ""
    blocks: int = 0


class NotedRequests:
    """Requests to gateways. `read`: what the answer of a host is; `note`: is given it."""

    def __init__(
        self,
        https: HttpsRequests,
        read: Callable[[str, HttpsResponse], GatewayAnswer],
        note: Callable[[GatewayAnswer], None],
    ) -> None:
        self._https, self._read, self._note = https, read, note

    def get(self, url: str, accept: str, seconds: float) -> HttpsResponse:
        """As of HttpsRequests."""
        return self._noted(url, lambda: self._https.get(url, accept, seconds))

    def post(self, url: str, body: bytes, content_type: str, *, seconds: float) -> HttpsResponse:
        """As of HttpsRequests."""
        return self._noted(url, lambda: self._https.post(url, body, content_type, seconds=seconds))

    def _noted(self, url: str, request: Callable[[], HttpsResponse]) -> HttpsResponse:
        try:
            answer = request()
        except NotNowError as error:
            self._note(GatewayAnswer(host_of(url), error.detail))
            raise
        self._note(self._read(host_of(url), answer))
        return answer


def host_of(url: str) -> str:
    """The host of a URL that a stranger may have written, or that it has none."""
    try:
        return urlsplit(url).hostname or _NO_HOST
    except ValueError:
        return _NO_HOST


def read_ccip(host: str, answer: HttpsResponse) -> GatewayAnswer:
    """The answer of a gateway that a contract names."""
    return GatewayAnswer(host, "" if answer.status == _OK else f"it answered with status {answer.status}")


def read_ipfs(host: str, answer: HttpsResponse) -> GatewayAnswer:
    """The answer of a gateway of IPFS."""
    if answer.status != _OK:
        return read_ccip(host, answer)
    try:
        return GatewayAnswer(host, blocks=len(read_blocks(answer.body)))
    except IpfsError as error:
        return GatewayAnswer(host, str(error))
