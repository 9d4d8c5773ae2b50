"""Documents that URIs of profiles lead to, proven by the hashes in them: `https:` and `ipfs:` (dm3 §2.1)."""

from collections.abc import Callable
from threading import Lock
from typing import Final

from postroom.core.errors import NotNowError, TheirError
from postroom.core.expiring_cache import Cache, CacheEntry
from postroom.core.loading_cache import LoadingCache
from postroom.names.ipfs.errors import UnreadableFileError
from postroom.names.ipfs.gateways import IpfsGateways
from postroom.names.ipfs.uri import IpfsUri
from postroom.net.https import HttpsClient, LongResponseError, UnusableUrlError
from postroom.protocols.dm3.profile import MAX_URI_BYTES
from postroom.protocols.dm3.profile_hash import check_profile_hash, read_profile_hash
from postroom.protocols.dm3.reasons import PROFILE_INVALID, PROFILE_LOOKUP_FAILED, PROFILE_URI_UNSUPPORTED

FETCH_SECONDS: Final = 4.0
"""For a document, from all gateways together."""
KEEP_SECONDS: Final = 86_400
"""What a hash names never changes; what nobody needs any more may go."""
MAX_CONTENTS_BYTES: Final = 8 << 20
MAX_CONTENTS: Final = 4096
FAILED_SECONDS: Final = 5
"""How long a URI is left alone whose document could not be fetched: forged mail must not make us flood its host."""
MAX_FAILED: Final = 1024
_OK: Final = 200


class ProfileDocuments:
    """Reads the documents that URIs lead to; safe to share among threads. `clock`: epoch seconds.

    They are kept by their hashes, wherever they came from. One that could not be fetched is left alone for
    `FAILED_SECONDS`, at this URI only: whoever names the hash of another's profile can make no other URI fail or wait.
    """

    def __init__(self, https: HttpsClient, gateways: IpfsGateways | None, clock: Callable[[], float]) -> None:
        """`gateways` None: `ipfs:` is not read."""
        self._https = https
        self._gateways = gateways
        self._clock = clock
        self._contents: Cache[bytes] = Cache(MAX_CONTENTS, MAX_CONTENTS_BYTES)
        self._lock = Lock()
        # For failures, and for those who want the same at once: whatever was read weighs more than is kept here.
        self._tries: LoadingCache[bytes] = LoadingCache(
            clock, 0, most=MAX_FAILED, weigh=lambda _: 1, most_weight=0, errors={NotNowError: FAILED_SECONDS}
        )

    def at_url(self, url: str) -> bytes:
        """The document at a URL whose query names its hash.

        Raises TheirError(PROFILE_INVALID): the fault is its publisher's; NotNowError(PROFILE_LOOKUP_FAILED): it could
        not be found out.
        """
        digest = read_profile_hash(url)
        try:
            self._https.check(url)
        except UnusableUrlError as error:
            raise _invalid(error.detail) from None
        return self._document(digest.hex(), url, lambda: self._fetch(url, digest))

    def in_ipfs(self, uri: str) -> bytes:
        """The document that a CID names.

        Raises as `at_url`, and TheirError(PROFILE_URI_UNSUPPORTED): there are no gateways, or it is no such URI.
        """
        gateways = self._gateways
        if gateways is None:
            raise TheirError(PROFILE_URI_UNSUPPORTED, "it is published under ipfs:, and no gateway of IPFS is set here")
        try:
            file = IpfsUri.parse(uri)
        except UnreadableFileError as error:
            raise TheirError(PROFILE_URI_UNSUPPORTED, str(error)) from None
        try:
            return self._document(
                "/".join((str(file.cid), *file.names)), uri, lambda: gateways.read(file, FETCH_SECONDS)
            )
        except UnreadableFileError as error:
            raise _invalid(str(error)) from None

    def _document(self, content: str, uri: str, fetch: Callable[[], bytes]) -> bytes:
        def load() -> bytes:
            found = self._find(content)
            if found is None:
                found = fetch()
                self._keep(content, found)
            return found

        found = self._find(content)
        return self._tries.get(uri, load) if found is None else found

    def _find(self, content: str) -> bytes | None:
        with self._lock:
            kept = self._contents.get(content, self._clock())
        return kept.value if kept else None

    def _keep(self, content: str, document: bytes) -> None:
        now = self._clock()
        with self._lock:
            self._contents.put(content, CacheEntry(document, now, now + KEEP_SECONDS), len(document))

    def _fetch(self, url: str, digest: bytes) -> bytes:
        try:
            answer = self._https.get(url, "application/json", FETCH_SECONDS)
        except LongResponseError:
            raise _invalid(f"the document has more than {MAX_URI_BYTES} bytes") from None
        except NotNowError as error:
            # Without the sentence of the error, which names the host: answers repeat nothing that a stranger wrote.
            raise _not_now("the host of its URL did not answer as it should, or could not be reached") from error
        if answer.may_change_soon:
            raise _not_now(f"the host of its URL answered with status {answer.status}")
        if answer.status != _OK:
            raise _invalid(f"the host of its URL answered with status {answer.status}, not with a document")
        check_profile_hash(answer.body, digest)
        return answer.body


def _invalid(detail: str) -> TheirError:
    return TheirError(PROFILE_INVALID, detail)


def _not_now(detail: str) -> NotNowError:
    return NotNowError(PROFILE_LOOKUP_FAILED, detail)
