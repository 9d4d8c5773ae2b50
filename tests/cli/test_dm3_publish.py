"""`postroom dm3 publish`: what it prints is read as the profile that it was given."""

import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import dns.rdata
import pytest
from dns.rdataclass import IN
from dns.rdatatype import TXT
from tests.cli.conftest import Postroom
from typer.testing import Result

from postroom.names.dm3_records import read_texts
from postroom.names.ens.abi import decode
from postroom.names.ens.calls import namehash
from postroom.names.ipfs.cid import Cid
from postroom.names.ipfs.uri import IpfsUri
from postroom.names.registry import PROFILE_KEY, SERVICE_KEY
from postroom.protocols.dm3.keys import UserKeys
from postroom.protocols.dm3.profile import (
    ServiceProfile,
    UserProfile,
    profile_of_uri,
    read_service_profile,
    read_user_profile,
)
from postroom.protocols.dm3.profile_hash import check_profile_hash, read_profile_hash

KEYS = UserKeys.random()
ALICE = UserProfile(KEYS.encryption.public, KEYS.signing.public, ("ds.eth",), {"é": 'a "quoted" \\ text'})
SERVICE = ServiceProfile(KEYS.encryption.public, KEYS.signing.public, "https://ds.example")
Publish = Callable[..., Result]


@pytest.fixture
def publish(postroom: Postroom, tmp_path: Path) -> Publish:
    (tmp_path / "alice.json").write_text(json.dumps(ALICE.as_json(), indent=1))
    (tmp_path / "service.json").write_text(json.dumps(SERVICE.as_json()))

    def run(name: str, *options: str, file: str = "alice.json") -> Result:
        return postroom("dm3", "publish", name, "--profile", file, *options)

    return run


def printed(result: Result) -> dict[str, Any]:
    assert result.exit_code == 0, result.output
    value: dict[str, Any] = json.loads(result.stdout)
    return value


def transaction(said: dict[str, Any]) -> tuple[bytes, str, str]:
    """The node, key and text that a wallet would set."""
    data = bytes.fromhex(said["set_text"].removeprefix("0x"))
    assert data[:4].hex() == "10f13a8c"
    node, key, text = decode("bytes32,string,string", data[4:])
    return node, key, text


def test_the_text_has_the_profile_itself_unless_another_place_is_named(publish: Publish) -> None:
    said = printed(publish("Alice.eth", "--json"))
    assert (said["name"], said["record"], said["zone_line"]) == ("alice.eth", PROFILE_KEY, None)
    assert read_user_profile(profile_of_uri(said["text"])) == ALICE
    assert transaction(said) == (namehash("alice.eth"), PROFILE_KEY, said["text"])


def test_a_delivery_services_profile_is_told_from_a_users(publish: Publish) -> None:
    said = printed(publish("ds.eth", "--json", file="service.json"))
    assert said["record"] == SERVICE_KEY
    assert read_service_profile(profile_of_uri(said["text"])) == SERVICE


def test_a_document_on_a_host_is_named_with_its_hash(publish: Publish, tmp_path: Path) -> None:
    url = "https://a.example/alice.json?v=1"
    said = printed(publish("alice.eth", "--as", "https", "--url", url, "--json"))
    served = (tmp_path / "alice.json").read_bytes()
    assert said["text"] == f"{url}&dm3Hash={sha256(served).hexdigest()}"
    assert said["text"].endswith(said["dm3_hash"])
    check_profile_hash(served, read_profile_hash(said["text"]))
    assert transaction(said)[2] == said["text"]


def test_a_document_in_ipfs_is_named_by_its_cid(publish: Publish, tmp_path: Path) -> None:
    said = printed(publish("alice.eth", "--as", "ipfs", "--json"))
    cid, names = IpfsUri.parse(said["text"])
    assert (str(cid), names) == (said["cid"], ())
    assert cid == Cid(1, 0x55, sha256((tmp_path / "alice.json").read_bytes()).digest())
    assert transaction(said)[2] == said["text"]


def test_a_record_in_dns_is_a_line_of_the_zone(publish: Publish) -> None:
    said = printed(publish("dan.example", "--as", "dns", "--json"))
    assert said["set_text"] is None
    owner, _, _, written = said["zone_line"].split(" ", 3)
    texts = read_texts([b"".join(dns.rdata.from_text(IN, TXT, written).strings)])
    assert (owner, texts) == ("_dm3.dan.example.", {PROFILE_KEY: said["text"]})
    assert read_user_profile(profile_of_uri(said["text"])) == ALICE


def test_people_are_told_what_to_do_with_it(publish: Publish) -> None:
    shown = publish("alice.eth", "--as", "ipfs").stdout
    said = printed(publish("alice.eth", "--as", "ipfs", "--json"))
    assert f"ipfs add --cid-version 1 alice.json, which must print {said['cid']}\n" in shown
    assert f"as the text network.dm3.profile of alice.eth:\n{said['text']}\n" in shown
    assert shown.endswith(f"to the resolver of the name:\n{said['set_text']}\n")
    served = publish("alice.eth", "--as", "https", "--url", "https://a.example/x").stdout
    assert "alice.json as it is, at https://a.example/x; its dm3Hash is " in served
    assert publish("dan.example", "--as", "dns").stdout.splitlines()[-1].startswith("_dm3.dan.example. IN TXT ")


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--as", "https"), "--as https needs it"),
        (("--url", "https://a.example/"), "nothing else takes it"),
        (("--as", "dns", "--url", "https://a.example/"), "nothing else takes it"),
        (("--as", "https", "--url", "http://a.example/"), "not of the form https://host/path"),
        (("--as", "https", "--url", "https://a.example:8443/"), "port is not 443"),
        (("--as", "https", "--url", "https://a.example/#x"), "has a fragment"),
        (("--as", "https", "--url", f"https://a.example/?dm3Hash={'0' * 64}"), "dm3Hash already"),
        (("--as", "dns"), "it is not looked up in DNS"),
    ],
)
def test_what_would_not_be_found_is_not_printed(publish: Publish, options: tuple[str, ...], why: str) -> None:
    result = publish("alice.eth", *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert why in result.stderr


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "is not JSON"),
        (b"[]", "is no profile: of a user, it is not a JSON object"),
        (json.dumps(SERVICE.as_json() | {"url": "ftp://x"}).encode(), "of a delivery service, url is not an http"),
        (json.dumps(ALICE.as_json()).encode().ljust(65_537), "more than 65536 bytes"),
    ],
)
def test_a_file_that_is_no_profile_is_refused(publish: Publish, tmp_path: Path, content: bytes, why: str) -> None:
    (tmp_path / "wrong.json").write_bytes(content)
    result = publish("alice.eth", file="wrong.json")
    assert (result.exit_code, result.stdout) == (2, "")
    assert why in result.stderr


def test_a_profile_that_is_too_long_for_a_text_fits_into_a_document(publish: Publish, tmp_path: Path) -> None:
    written = json.dumps(ALICE.as_json() | {"x": "$"}, separators=(",", ":"))
    (tmp_path / "long.json").write_text(written.replace("$", "y" * (65_536 - len(written))))
    result = publish("alice.eth", file="long.json")
    assert (result.exit_code, "too long for a text: use --as https or --as ipfs" in result.stderr) == (2, True)
    assert printed(publish("alice.eth", "--as", "ipfs", "--json", file="long.json"))["cid"]
