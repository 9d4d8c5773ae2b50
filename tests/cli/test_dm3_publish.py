"""`postroom dm3 publish`: what it prints is read as the profile that it was given."""

import json
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import dns.rdata
import pytest
from click.testing import Result
from dns.rdataclass import IN
from dns.rdatatype import TXT
from tests.cli.chain_stack import TEXT, ChainStack
from tests.cli.chain_stack import chain_stack as chain_stack
from tests.cli.conftest import Postroom, StorageStack
from tests.fakes.endpoints import fake_endpoint
from tests.names.ens.nodes import TextNode

from postroom.cli.descriptor import read_descriptor
from postroom.cli.dm3.local_chain import set_local_text
from postroom.cli.exits import RefusalFault
from postroom.cli.network import choose_network
from postroom.crypto.encodings import write_hex
from postroom.local.chain.ens_names import PUBLIC_RESOLVER
from postroom.local.chain.hosts import CCIP_HOST
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


def test_what_keygen_prints_is_published(postroom: Postroom) -> None:
    made = postroom("dm3", "keygen", "--delivery-service", "ds.eth", "--json")
    said = printed(postroom("dm3", "publish", "alice.eth", "--profile", "-", "--json", input=made.stdout))
    assert (said["record"], profile_of_uri(said["text"])) == (PROFILE_KEY, printed(made)["profile"])


@pytest.mark.parametrize("where", [("--as", "ipfs"), ("--as", "https", "--url", "https://a.example/alice.json")])
def test_a_document_that_others_read_is_a_file(postroom: Postroom, where: tuple[str, ...]) -> None:
    written = json.dumps(ALICE.as_json())
    result = postroom("dm3", "publish", "alice.eth", "--profile", "-", *where, input=written)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "name one with --profile FILE" in result.stderr


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


def test_a_name_that_is_not_looked_up_in_ens_is_not_published_there(publish: Publish, local: tuple[str, ...]) -> None:
    for options in ((), local):
        result = publish("alice", *options)
        assert (result.exit_code, result.stdout) == (2, "")
        assert "alice is not looked up in ENS" in result.stderr


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "wrong.json: the document cannot be read: it has no content"),
        (b"profile", "wrong.json: the document cannot be read: not JSON, at line 1 column 1; `postroom dm3 keygen"),
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


# ---- in ENS ----------------------------------------------------------------------------------------------------------
@pytest.fixture
def local(chain_stack: ChainStack) -> tuple[str, ...]:
    return ("--local", str(chain_stack.file))


@pytest.fixture
def found(postroom: Postroom, local: tuple[str, ...], tmp_path: Path) -> Callable[[str], dict[str, Any]]:
    """What `postroom dm3 lookup` finds on the local chain."""
    (tmp_path / "nobody.json").write_text("{}")
    return lambda name: printed(postroom("dm3", "lookup", name, "--json", "--pinned", "nobody.json", *local))


@pytest.mark.parametrize("where", ["data", "ipfs"])
@pytest.mark.parametrize("name", ["alice.eth", "bare.eth", "new.eth", "new.alice.eth"])
def test_a_local_chain_takes_the_text_and_the_profile_is_found(
    publish: Publish, local: tuple[str, ...], found: Callable[[str], dict[str, Any]], name: str, where: str
) -> None:
    said = printed(publish(name, "--as", where, "--json", *local))
    assert (said["published"], said["resolver"]) == (True, write_hex(PUBLIC_RESOLVER))
    looked_up = found(name)
    assert (looked_up["text"], looked_up["profile"]) == (said["text"], ALICE.as_json())


def test_people_are_told_what_a_local_chain_took_and_what_is_left_to_do(
    publish: Publish, local: tuple[str, ...]
) -> None:
    resolver = write_hex(PUBLIC_RESOLVER)
    took = f"published     on the local chain, at the resolver {resolver}, as the text {PROFILE_KEY}:\n"
    shown = publish("alice.eth", "--as", "ipfs", *local).stdout
    assert shown.startswith("the file      is served by the local gateway of IPFS, as bafkrei")
    assert took in shown
    shown = publish("alice.eth", "--as", "https", "--url", "https://a.example/x", *local).stdout
    assert shown.startswith("the file      serve alice.json as it is, at https://a.example/x; its dm3Hash is ")
    assert f"{took}https://a.example/x?dm3Hash=" in shown


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("carol.team.eth", f"carol.team.eth has its texts off chain, behind {CCIP_HOST}: no transaction sets them"),
        ("a.nowhere.eth", "the local chain does not take the text of a.nowhere.eth: a change of ENS reverts"),
    ],
)
def test_what_a_local_chain_does_not_take_is_refused(
    publish: Publish, local: tuple[str, ...], name: str, why: str
) -> None:
    result = publish(name, *local)
    assert (result.exit_code, result.stdout) == (1, "")
    assert why in result.stderr


def test_a_local_chain_takes_no_text_for_another_resolver_than_its_own(chain_stack: ChainStack) -> None:
    with pytest.raises(
        RefusalFault, match=r"the resolver of alice\.eth, 0x0000000000000000000000000000000000000000, has"
    ):
        set_local_text(choose_network(chain_stack.file), "alice.eth", PROFILE_KEY, TEXT, bytes(20))


@pytest.mark.xdist_group("cli-storage")
def test_a_deployment_that_pins_the_name_is_said_not_to_read_the_text(
    publish: Publish, postroom: Postroom, chain_stack: ChainStack, storage_stack: StorageStack, tmp_path: Path
) -> None:
    running = read_descriptor(storage_stack.descriptor)
    both = replace(
        read_descriptor(chain_stack.file),
        endpoint=running.endpoint,
        secret=running.secret,
        deployments=running.deployments,
    )
    both.write(tmp_path / "local.json")
    (tmp_path / "names.yaml").write_text(json.dumps({"bob.eth": {PROFILE_KEY: TEXT}}))
    assert postroom("dm3", "registry", "put", "names.yaml", *storage_stack.options).exit_code == 0
    try:
        of_bob, of_alice = (publish(name, "--local", "local.json") for name in ("bob.eth", "alice.eth"))
    finally:
        (tmp_path / "names.yaml").write_text("{}")
        postroom("dm3", "registry", "put", "names.yaml", *storage_stack.options)
    assert (of_bob.exit_code, of_alice.exit_code, of_alice.stderr) == (0, 0, "")
    assert "only will not read this text: bob.eth is in the pinned document there" in of_bob.stderr


def test_a_text_is_not_published_on_another_chain_than_its_resolver_is_looked_up_on(
    publish: Publish, local: tuple[str, ...]
) -> None:
    result = publish("alice.eth", "--endpoint", "https://rpc.example/KEY", *local)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--endpoint names another chain than that of the local stack" in result.stderr
    assert "KEY" not in result.stderr


def test_others_may_change_names_after_a_text_was_published(
    publish: Publish, local: tuple[str, ...], chain_stack: ChainStack, found: Callable[[str], dict[str, Any]]
) -> None:
    publish("alice.eth", *local)
    ens = chain_stack.ethereum.ens
    ens.set_text("alice.eth", PROFILE_KEY, TEXT)
    ens.commit()
    assert found("alice.eth")["text"] == TEXT


def test_a_text_in_dns_is_not_sent_to_a_chain(publish: Publish, local: tuple[str, ...]) -> None:
    said = printed(publish("dan.example", "--as", "dns", "--json", *local))
    assert (said["published"], said["resolver"], bool(said["zone_line"])) == (False, None, True)


def test_the_resolver_of_a_name_is_named_where_endpoints_are(publish: Publish) -> None:
    with ExitStack() as undo:
        node = TextNode({"alice.eth": {PROFILE_KEY: ""}})
        node.clock = time.time
        server = undo.enter_context(fake_endpoint(node))
        options = ("--endpoint", f"http://127.0.0.1:{server.port}/", "--quorum", "1")
        shown = publish("alice.eth", *options).stdout
        assert f"to the resolver of the name, {write_hex(bytes(20))}:\n" in shown
        result = publish("nobody.eth", "--json", *options)
    said = json.loads(result.stdout)
    assert (said["resolver"], said["published"]) == (None, False)
    assert "nobody.eth has no resolver in ENS" in result.stderr
