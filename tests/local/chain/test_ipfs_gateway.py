"""The gateway of IPFS takes files, and has them again after the stack was restarted."""

from http import HTTPStatus
from pathlib import Path

import pytest

from postroom.local.chain.ipfs_gateway import IpfsGateway
from postroom.local.gateway import GatewayRequest, GatewayResponse
from postroom.names.ipfs.car import read_blocks
from postroom.names.ipfs.cid import Cid
from postroom.names.ipfs.unixfs import MAX_FILE_BYTES, read_file
from postroom.names.publishing import cid_of

FILE = b'{"a": "file"}'


def post(gateway: IpfsGateway, content: bytes) -> GatewayResponse:
    return gateway(request("POST", "/ipfs/", content))


def get(gateway: IpfsGateway, cid: Cid) -> GatewayResponse:
    return gateway(request("GET", f"/ipfs/{cid}?format=car"))


def request(method: str, target: str, body: bytes = b"") -> GatewayRequest:
    return GatewayRequest(method, target, (), body, "ipfs.example", "127.0.0.1", "HTTP/1.1")


@pytest.mark.parametrize("is_kept", [True, False])
def test_a_file_that_is_posted_is_served_by_its_cid(tmp_path: Path, is_kept: bool) -> None:
    folder = tmp_path / "state" / "ipfs" if is_kept else None
    gateway, cid = IpfsGateway(folder), cid_of(FILE)
    assert get(gateway, cid).status == HTTPStatus.NOT_FOUND
    answer = post(gateway, FILE)
    assert (answer.status, answer.headers) == (HTTPStatus.CREATED, (("location", f"/ipfs/{cid}"),))
    assert read_file(cid, (), read_blocks(get(gateway, cid).body)) == FILE
    again = get(IpfsGateway(folder), cid)
    assert (again.status == HTTPStatus.OK) is is_kept


def test_a_file_that_nobody_would_read_is_not_taken() -> None:
    gateway = IpfsGateway()
    assert post(gateway, bytes(MAX_FILE_BYTES)).status == HTTPStatus.CREATED
    assert post(gateway, bytes(MAX_FILE_BYTES + 1)).status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    assert gateway(request("POST", "/elsewhere", FILE)).status == HTTPStatus.BAD_REQUEST
