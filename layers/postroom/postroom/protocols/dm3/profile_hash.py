"""The hash in the URL of a profile under `https:`, and documents that fit it (dm3 §2.1; decision "Profile URIs")."""

import re
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from typing import Final

from postroom.core.canonical import stringify
from postroom.core.errors import TheirError
from postroom.protocols.dm3.profile import profile_of_document
from postroom.protocols.dm3.reasons import PROFILE_INVALID

_PARAMETER: Final = "dm3Hash"
_VALUE: Final = re.compile(r"(?:0[xX])?([0-9A-Fa-f]{64})")
_ESCAPE: Final = re.compile(r"%([0-9A-Fa-f]{2})")


def read_profile_hash(url: str) -> bytes:
    """The SHA-256 that the query of a URL names: hex, with or without 0x, in any case.

    A fragment is not part of the query. Raises TheirError(PROFILE_INVALID) unless there is exactly one.
    """
    values = _hashes_in(url)
    if len(values) != 1:
        raise _invalid(f"the URL has {len(values) or 'no'} parameters {_PARAMETER}; expected one, of 64 hex digits")
    found = _VALUE.fullmatch(values[0])
    if found is None:
        raise _invalid(f"{_PARAMETER} is not SHA-256 in 64 hex digits")
    return bytes.fromhex(found[1])


def check_profile_hash(document: bytes, digest: bytes) -> None:
    """Check that a document is the one of a hash: of its bytes, or as the reference has it of its JSON in order.

    Raises TheirError(PROFILE_INVALID).
    """
    if digest not in _hashes_of(document):
        raise _invalid(f"the document at the URL is not the one that {_PARAMETER} says")


def profile_hash(document: bytes) -> str:
    """The hash to publish with a document that is served as it is: lower-case hex."""
    return sha256(document).hexdigest()


def url_with_hash(url: str, document: bytes) -> str:
    """The URL to publish, of a document that is served at `url`. Raises TheirError(PROFILE_INVALID): it has a hash."""
    if "#" in url or _hashes_in(url):
        raise _invalid(f"the URL has a fragment, or {_PARAMETER} already")
    return f"{url}{'&' if '?' in url else '?'}{_PARAMETER}={profile_hash(document)}"


def _hashes_of(document: bytes) -> Iterator[bytes]:
    yield sha256(document).digest()
    with suppress(TheirError):
        yield sha256(stringify(profile_of_document(document))).digest()


def _hashes_in(url: str) -> list[str]:
    parameters = [each.partition("=") for each in url.partition("#")[0].partition("?")[2].split("&")]
    # The name as a host reads it: what it takes for a second hash is one.
    return [value for name, _, value in parameters if _unescaped(name) == _PARAMETER]


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)), text)


def _invalid(detail: str) -> TheirError:
    return TheirError(PROFILE_INVALID, detail)
