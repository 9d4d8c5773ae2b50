"""Gateways of IPFS, from which files are fetched as CARs, and of which none is believed.

Trustless Gateway Specification (specs.ipfs.tech/http-gateways/trustless-gateway).
"""

import time
from collections.abc import Sequence
from typing import Final
from urllib.parse import quote, urlsplit

from postroom.core.errors import NotNowError
from postroom.names.ipfs.car import read_blocks
from postroom.names.ipfs.errors import IpfsError, UnreadableFileError
from postroom.names.ipfs.unixfs import read_file
from postroom.names.ipfs.uri import IpfsUri
from postroom.net.https import HttpsRequests
from postroom.protocols.dm3.reasons import PROFILE_LOOKUP_FAILED

_ACCEPT: Final = "application/vnd.ipld.car; version=1; dups=n"
_QUERY: Final = "format=car&dag-scope=entity"
_OK: Final = 200


class IpfsGateways:
    """Reads files from gateways, tried in their order; safe to share among threads.

    `urls`: to which `/ipfs/<CID>` is added. `https`: refuses private networks, and reads no more than a CAR may have.
    """

    def __init__(self, urls: Sequence[str], https: HttpsRequests) -> None:
        self._urls = urls
        self._https = https

    def read(self, uri: IpfsUri, seconds: float) -> bytes:
        """The content of a file, within so many seconds.

        Each gateway may take an equal share of what is left of them, so that a slow one leaves time for the next.
        Raises UnreadableFileError: what the CID names is no file that is read here; NotNowError(PROFILE_LOOKUP_FAILED):
        no gateway gave it.
        """
        path = "/".join((str(uri.cid), *(quote(name, safe="") for name in uri.names)))
        deadline = time.monotonic() + seconds
        failures: list[str] = []
        for place, url in enumerate(self._urls):
            share = (deadline - time.monotonic()) / (len(self._urls) - place)
            try:
                return read_file(uri.cid, uri.names, read_blocks(self._fetch(f"{url}/ipfs/{path}?{_QUERY}", share)))
            except UnreadableFileError:
                raise
            except IpfsError as error:
                failures.append(f"{urlsplit(url).hostname}: {error}")
            except NotNowError as error:
                failures.append(error.detail)
        raise NotNowError(PROFILE_LOOKUP_FAILED, f"no IPFS gateway gave the file: {'; '.join(failures)}")

    def _fetch(self, url: str, seconds: float) -> bytes:
        answer = self._https.get(url, _ACCEPT, seconds)
        if answer.status != _OK:
            raise IpfsError(f"it answered with status {answer.status}")
        return answer.body
