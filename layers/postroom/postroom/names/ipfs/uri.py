"""URIs of files of IPFS: `ipfs://<CID>`, and a path of names below it (specs.ipfs.tech/http-gateways/path-gateway)."""

import re
from typing import Final, NamedTuple, Self

from postroom.names.ipfs.cid import Cid
from postroom.names.ipfs.errors import UnreadableFileError

MAX_NAMES: Final = 4
"""Names in a path: each but the last is of a directory, a block each."""
MAX_NAME_BYTES: Final = 255
_SCHEME: Final = "ipfs://"
# What may stand in a segment of a path (RFC 3986 §3.3); a query or fragment means nothing here.
_SEGMENT: Final = re.compile(r"(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})+")
_ESCAPE: Final = re.compile(rb"%([0-9A-Fa-f]{2})")
_PATH_ONLY: Final = (".", "..")


class IpfsUri(NamedTuple):
    """What an `ipfs:` URI names. `names`: of directories and a file, from the CID on; none if the CID is the file's."""

    cid: Cid
    names: tuple[str, ...]

    @classmethod
    def parse(cls, uri: str) -> Self:
        """Read a URI. Raises UnreadableFileError."""
        if uri[: len(_SCHEME)].lower() != _SCHEME:
            raise UnreadableFileError(f"the URI does not begin with {_SCHEME}")
        root, *names = uri[len(_SCHEME) :].split("/", MAX_NAMES + 1)
        if len(names) > MAX_NAMES:
            raise UnreadableFileError(f"the URI has more than {MAX_NAMES} names after its CID")
        try:
            return cls(Cid.parse(root), tuple(map(_name, names)))
        except ValueError as error:
            raise UnreadableFileError(f"the URI is not read: {error}") from None


def _name(segment: str) -> str:
    """The name in a segment of a path. Raises ValueError."""
    if not _SEGMENT.fullmatch(segment):
        raise ValueError("a name is empty, or holds what would have to be escaped")
    try:
        name = _ESCAPE.sub(lambda found: bytes.fromhex(found[1].decode()), segment.encode()).decode()
    except UnicodeDecodeError:
        raise ValueError("a name is not UTF-8") from None
    if len(name.encode()) > MAX_NAME_BYTES:
        raise ValueError(f"a name has more than {MAX_NAME_BYTES} bytes")
    if name in _PATH_ONLY or "/" in name or "\0" in name:
        raise ValueError("a name is . or .., or holds / or NUL")
    return name
