"""A trustless gateway of IPFS (specs.ipfs.tech/http-gateways/trustless-gateway): files, each in a CAR of its blocks.

It also takes files, as writable gateways did: POST of one to `/ipfs/`.
"""

from hashlib import sha256
from http import HTTPStatus
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs

from postroom.local.gateway import GatewayRequest, GatewayResponse, failure, split_target
from postroom.names.ipfs.cid import DAG_PB, RAW, Cid
from postroom.names.ipfs.unixfs import MAX_FILE_BYTES

CHUNK_BYTES: Final = 262_144
"""As most that add files have it."""
POST_PATH: Final = "/ipfs/"
_MAX_LINKS: Final = 174
_FILE: Final = 2
_CAR: Final = "application/vnd.ipld.car"


class IpfsGateway:
    """Files by their CIDs. Called with a request, it answers: it is a host's handler.

    `folder`: for the files that are posted; None: they are kept in memory only.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._cars: dict[Cid, bytes] = {}
        self._folder = folder
        if folder is not None and folder.exists():
            for file in folder.iterdir():
                self.add(file.read_bytes())

    def add(self, content: bytes, *, chunk_bytes: int = CHUNK_BYTES) -> Cid:
        """Keep a file; its CID. `chunk_bytes`: of its content that a block has at most."""
        chunks = [content[at : at + chunk_bytes] for at in range(0, len(content), chunk_bytes)] or [b""]
        if len(chunks) > _MAX_LINKS:
            raise ValueError(f"a file has at most {_MAX_LINKS} chunks here")
        blocks = [_block(RAW, chunk) for chunk in chunks]
        if len(blocks) > 1:
            blocks.insert(0, _block(DAG_PB, _parent(blocks, len(content))))
        root, _ = blocks[0]
        self._cars[root] = _write_car(blocks)
        return root

    def __call__(self, request: GatewayRequest) -> GatewayResponse:
        """Answer GET `/ipfs/{cid}?format=car`, or POST of a file to `/ipfs/`."""
        path, query = split_target(request.target)
        if request.method == "POST" and path == POST_PATH:
            return self._take(request.body)
        _, _, text = path.partition("/ipfs/")
        wanted = parse_qs(query).get("format") == ["car"] or ("accept", _CAR) in request.headers
        if request.method != "GET" or not wanted:
            return failure(HTTPStatus.BAD_REQUEST)
        try:
            car = self._cars[Cid.parse(text)]
        except (ValueError, KeyError):
            return failure(HTTPStatus.NOT_FOUND)
        return GatewayResponse(HTTPStatus.OK, (("content-type", f"{_CAR}; version=1"),), car)

    def _take(self, content: bytes) -> GatewayResponse:
        if len(content) > MAX_FILE_BYTES:
            return failure(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        cid = self.add(content)
        if self._folder is not None:
            self._folder.mkdir(parents=True, exist_ok=True)
            (self._folder / str(cid)).write_bytes(content)
        return GatewayResponse(HTTPStatus.CREATED, (("location", f"{POST_PATH}{cid}"),), b"")


_Block = tuple[Cid, bytes]


def _block(codec: int, data: bytes) -> _Block:
    return Cid(1, codec, sha256(data).digest()), data


def _parent(blocks: list[_Block], length: int) -> bytes:
    """A block of UnixFS that links to the chunks of a file of that length (dag-pb, its links before its data)."""
    sizes = b"".join(_number(4, len(data)) for _, data in blocks)
    unixfs = _number(1, _FILE) + _number(3, length) + sizes
    links = (_bytes(1, _binary(cid)) + _bytes(2, b"") + _number(3, len(data)) for cid, data in blocks)
    return b"".join(_bytes(2, link) for link in links) + _bytes(1, unixfs)


def _write_car(blocks: list[_Block]) -> bytes:
    """A CAR of version 1 with the first block as its root."""
    root, _ = blocks[0]
    # DAG-CBOR: a map of `roots`, a list of one CID (tag 42, after a zero), and `version`, 1.
    link = b"\x00" + _binary(root)
    header = b"\xa2\x65roots\x81\xd8\x2a\x58" + bytes([len(link)]) + link + b"\x67version\x01"
    sections = (header, *(_binary(cid) + data for cid, data in blocks))
    return b"".join(_varint(len(section)) + section for section in sections)


def _binary(cid: Cid) -> bytes:
    return bytes((cid.version, cid.codec, 0x12, len(cid.digest))) + cid.digest


def _varint(number: int) -> bytes:
    if number < 0x80:
        return bytes([number])
    return bytes([number & 0x7F | 0x80]) + _varint(number >> 7)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value
