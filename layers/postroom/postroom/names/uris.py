"""Profiles by the URIs that they are published under: `data:`, `https:` with a hash, `ipfs:` (dm3 §2.1)."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from postroom.core.errors import SettingsError
from postroom.core.ijson import JsonValue
from postroom.protocols.dm3.profile import profile_of_document, profile_of_uri

if TYPE_CHECKING:
    from postroom.names.profile_documents import ProfileDocuments


MAX_GATEWAYS: Final = 4
# Of a host by its name: an address may be that of a private network.
_GATEWAY: Final = re.compile(
    r"https://(?:[a-z0-9-]{1,63}\.)+[a-z][a-z0-9-]{0,62}(?:/[\w.~-]+)*", re.ASCII | re.IGNORECASE
)


class PublishedJson(NamedTuple):
    """What a URI leads to. `size`: of the URI in characters, or of the document in bytes."""

    value: JsonValue
    size: int


ReadUri: TypeAlias = Callable[[str], PublishedJson]
"""Raises TheirError (PROFILE_INVALID, PROFILE_URI_UNSUPPORTED), or NotNowError(PROFILE_LOOKUP_FAILED)."""


def scheme_of(uri: str) -> str:
    """The scheme of a URI that was read, or is to be: `data`, `https` or `ipfs`."""
    return uri.partition(":")[0].lower()


def is_fetched(uri: str) -> bool:
    """Whether a URI leads to a document that somebody has to be asked for."""
    return scheme_of(uri) in ("https", "ipfs")


def read_data_uri(uri: str) -> PublishedJson:
    """The JSON in a `data:` URI. Raises TheirError(PROFILE_INVALID); PROFILE_URI_UNSUPPORTED for https: and ipfs:."""
    return PublishedJson(profile_of_uri(uri), len(uri))


def uri_reader(documents: "Callable[[], ProfileDocuments]") -> ReadUri:
    """Reads every kind of URI. `documents`: made where a URI leads to one: most do not, and HTTPS is slow to import."""

    def read(uri: str) -> PublishedJson:
        if not is_fetched(uri):
            return read_data_uri(uri)
        document = documents().at_url(uri) if scheme_of(uri) == "https" else documents().in_ipfs(uri)
        return PublishedJson(profile_of_document(document), len(document))

    return read


def read_gateways(text: str) -> tuple[str, ...]:
    """The gateways of IPFS in a list with commas, each without a slash at its end. Raises SettingsError."""
    urls = tuple(url.strip().removesuffix("/") for url in text.split(",") if url.strip())
    if len(urls) > MAX_GATEWAYS:
        raise SettingsError(f"there are {len(urls)} gateways; at most {MAX_GATEWAYS} are used")
    for url in urls:
        if not _GATEWAY.fullmatch(url):
            raise SettingsError(
                f"{url[:80]!r} is not of the form https://host or https://host/path, with a host name such as "
                "gateway.example (not an address), and without a port"
            )
    return urls
