"""What the URIs of profiles lead to, over TLS: proven, or refused, or not known now."""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from tests.fakes.clock import FakeClock
from tests.fakes.web import FakeWeb, Page, fake_web
from tests.names.ipfs.known import IPFS
from tests.names.ipfs.trees import HAMT, Tree, block, car_of, directory, file_of, node, unixfs
from tests.names.patience import unhurried
from tests.patience import PATIENCE

from postroom.core.errors import NotNowError, SettingsError, TheirError
from postroom.core.reason import Reason
from postroom.names import profile_documents as module
from postroom.names.ipfs.cid import Cid
from postroom.names.ipfs.gateways import IpfsGateways
from postroom.names.profile_documents import FAILED_SECONDS, ProfileDocuments
from postroom.names.uris import MAX_GATEWAYS, ReadUri, read_data_uri, read_gateways, uri_reader
from postroom.protocols.dm3.profile import MAX_URI_BYTES
from postroom.protocols.dm3.reasons import PROFILE_INVALID, PROFILE_LOOKUP_FAILED, PROFILE_URI_UNSUPPORTED

KNOWN: dict[str, Any] = json.loads((Path(__file__).parents[1] / "vectors" / "names.json").read_bytes())["dm3_hash"]
SERVED: bytes = KNOWN["served"].encode()
VALUE = json.loads(SERVED)
URL = "https://p.example/x?dm3Hash="
GATEWAY = "g.example"
DAY = 86_400


@pytest.fixture
def web(tmp_path: Path) -> Iterator[FakeWeb]:
    with unhurried(), fake_web(tmp_path, {"p.example": Page(SERVED)}) as running:
        yield running


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def read(web: FakeWeb, clock: FakeClock) -> ReadUri:
    https = web.client()
    return reader(ProfileDocuments(https, IpfsGateways((f"https://{GATEWAY}",), https), clock))


def reader(documents: ProfileDocuments) -> ReadUri:
    return uri_reader(lambda: documents)


def of(document: bytes) -> str:
    """The URL of a document at p.example."""
    return URL + sha256(document).hexdigest()


def ipfs(tree: Tree, *names: str) -> str:
    return "ipfs://" + "/".join((str(Cid.from_bytes(tree.root.cid)), *names))


def reason_for(read: ReadUri, uri: str) -> Reason:
    with pytest.raises((TheirError, NotNowError)) as caught:
        read(uri)
    return caught.value.reason


# --- data: -------------------------------------------------------------------------------------------------------


def test_the_json_in_a_data_uri_is_read_without_a_request(read: ReadUri, web: FakeWeb) -> None:
    uri = 'data:application/json,{"a":1}'
    assert read(uri) == read_data_uri(uri) == ({"a": 1}, len(uri))
    assert web.requested == []


@pytest.mark.parametrize("uri", [of(SERVED), ipfs(file_of(SERVED, 100))])
def test_without_a_network_only_data_uris_are_read(uri: str) -> None:
    with pytest.raises(TheirError) as caught:
        read_data_uri(uri)
    assert caught.value.reason is PROFILE_URI_UNSUPPORTED


@pytest.mark.parametrize("uri", ["", "alice.eth", "http://p.example/x", "ipns://x", "ftp://p.example/x"])
def test_another_text_is_no_uri_of_a_profile(read: ReadUri, uri: str) -> None:
    assert reason_for(read, uri) is PROFILE_INVALID


# --- https: ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("url", KNOWN["taken"])
def test_a_document_with_the_right_hash_is_read(read: ReadUri, web: FakeWeb, url: str) -> None:
    assert read(url) == (VALUE, len(SERVED))
    assert read(f"HTTPS{url[5:]}#x") == (VALUE, len(SERVED))
    [requested] = web.requested
    assert url.endswith(requested.path)
    assert requested.accept == "application/json"


@pytest.mark.parametrize("url", KNOWN["refused"])
def test_a_url_with_a_fault_is_its_publishers(web: FakeWeb, clock: FakeClock, url: str) -> None:
    https = web.client(allow_private="127.0.0.1" not in url)
    assert reason_for(reader(ProfileDocuments(https, None, clock)), url) is PROFILE_INVALID


@pytest.mark.parametrize("url", [f"https://p.example:8443/x?{of(SERVED)[-72:]}", of(SERVED).replace("p.ex", "[::1")])
def test_a_url_with_a_fault_stays_one_when_its_document_is_known(read: ReadUri, url: str) -> None:
    read(of(SERVED))
    assert reason_for(read, url) is PROFILE_INVALID


@pytest.mark.parametrize(
    "page",
    [
        Page(SERVED + b"\n"), Page(b""), Page(b"{}"), Page(SERVED[:-1]), Page(bytes(10 << 20)),
        Page(SERVED, 404), Page(SERVED, 410), Page(SERVED, 403), Page(SERVED, 204),
        Page(b"", 301, (("Location", of(SERVED)),)), Page(SERVED, 308, (("Location", of(SERVED)),)),
    ],
    ids=lambda page: f"{page.status}, {len(page.body)} bytes",
)  # fmt: skip
def test_a_host_that_serves_another_document_is_its_publishers(read: ReadUri, web: FakeWeb, page: Page) -> None:
    web.pages["p.example"] = page
    # The hash of the bytes: their JSON in order might be the same.
    assert reason_for(read, of(SERVED)) is PROFILE_INVALID
    assert len(web.requested) == 1


@pytest.mark.parametrize(
    "page",
    [
        Page(SERVED, 500), Page(SERVED, 503), Page(SERVED, 429), Page(SERVED, 408),
        Page(SERVED, 200, (("Content-Encoding", "gzip"),)),
    ],
    ids=lambda page: f"{page.status} {page.headers}",
)  # fmt: skip
def test_a_host_that_fails_proves_nothing(read: ReadUri, web: FakeWeb, page: Page) -> None:
    web.pages["p.example"] = page
    assert reason_for(read, of(SERVED)) is PROFILE_LOOKUP_FAILED


def test_a_host_that_falls_silent_or_does_not_exist_proves_nothing(
    read: ReadUri, web: FakeWeb, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FETCH_SECONDS", 0.5)
    web.pages["p.example"] = Page(SERVED[:10], length=len(SERVED))
    assert reason_for(read, of(SERVED)) is PROFILE_LOOKUP_FAILED
    assert reason_for(read, of(SERVED).replace("p.example", "gone.example")) is PROFILE_LOOKUP_FAILED


def test_an_error_does_not_name_the_host(read: ReadUri, web: FakeWeb) -> None:
    web.pages["p.example"] = Page(b"", 500)
    for url in (of(SERVED), of(SERVED).replace("p.example", "gone.example")):
        with pytest.raises(NotNowError) as caught:
            read(url)
        assert "example" not in caught.value.detail


@pytest.mark.parametrize("document", [b"", b"{", b"\xff", b'{"a":1,"a":1}', b"{" + b" " * MAX_URI_BYTES + b"}"])
def test_a_proven_document_that_is_no_json_is_its_publishers(read: ReadUri, web: FakeWeb, document: bytes) -> None:
    web.pages["p.example"] = Page(document)
    assert reason_for(read, of(document)) is PROFILE_INVALID


def test_the_length_of_a_document_is_limited(read: ReadUri, web: FakeWeb) -> None:
    longest = b"{}".ljust(MAX_URI_BYTES)
    for document in (longest, longest + b" "):
        web.pages["p.example"] = Page(document)
        if document is longest:
            assert read(of(document)) == ({}, MAX_URI_BYTES)
        else:
            with pytest.raises(TheirError, match="the document has more than 65536 bytes"):
                read(of(document))


# --- ipfs: -------------------------------------------------------------------------------------------------------


def test_a_file_of_several_blocks_and_one_in_a_directory_are_read(read: ReadUri, web: FakeWeb) -> None:
    tree = file_of(SERVED, 50)
    web.pages[GATEWAY] = Page(car_of(tree.blocks))
    assert read(ipfs(tree)) == (VALUE, len(SERVED))
    within = directory([("profile.json", tree)])
    web.pages[GATEWAY] = Page(car_of(within.blocks))
    assert read(ipfs(within, "profile.json")) == (VALUE, len(SERVED))


HAMT_FILE = Tree([block(node(unixfs(HAMT)))])


@pytest.mark.parametrize(
    ("tree", "names"),
    [
        (directory([("a", file_of(b"{}", 1))]), ()),
        (directory([("a", file_of(b"{}", 1))]), ("mark",)),
        (HAMT_FILE, ()),
        (file_of(b"{", 1), ()),
        (file_of(b"", 1), ()),
    ],
    ids=["a directory", "a name that is not in it", "a HAMT", "no JSON", "nothing"],
)
def test_a_cid_of_no_profile_is_its_publishers(read: ReadUri, web: FakeWeb, tree: Tree, names: tuple[str, ...]) -> None:
    web.pages[GATEWAY] = Page(car_of(tree.blocks))
    with pytest.raises(TheirError) as caught:
        read(ipfs(tree, *names))
    assert caught.value.reason is PROFILE_INVALID
    assert "mark" not in caught.value.detail


@pytest.mark.parametrize("uri", ["ipfs://", "ipfs:x", "ipfs://bafyx", "ipfs://../../etc/passwd", *IPFS["uris_refused"]])
def test_a_uri_without_a_cid_that_is_read_is_not_supported(read: ReadUri, web: FakeWeb, uri: str) -> None:
    reason = PROFILE_URI_UNSUPPORTED if uri.startswith("ipfs:") else PROFILE_INVALID
    assert reason_for(read, uri) is reason
    assert web.requested == []


def test_what_no_gateway_gives_proves_nothing(read: ReadUri, web: FakeWeb) -> None:
    web.pages[GATEWAY] = Page(car_of(file_of(b"another", 9).blocks))
    assert reason_for(read, ipfs(file_of(SERVED, 50))) is PROFILE_LOOKUP_FAILED


def test_without_gateways_ipfs_is_not_supported(web: FakeWeb, clock: FakeClock) -> None:
    ours = reader(ProfileDocuments(web.client(), None, clock))
    assert reason_for(ours, ipfs(file_of(SERVED, 50))) is PROFILE_URI_UNSUPPORTED
    assert ours(of(SERVED)).value == VALUE


# --- what is kept ------------------------------------------------------------------------------------------------


def pages_of(*documents: bytes) -> Callable[[str], Page]:
    """A host that serves the document whose hash is requested."""
    by_hash = {sha256(each).hexdigest(): each for each in documents}
    return lambda path: Page(by_hash[path.rpartition("=")[2]])


def test_what_a_hash_names_is_fetched_once_a_day_wherever_it_is(read: ReadUri, web: FakeWeb, clock: FakeClock) -> None:
    read(of(SERVED))
    clock.now += DAY - 1
    assert read(of(SERVED).replace("p.example", "gone.example")).value == VALUE
    assert web.hosts == ["p.example"]
    clock.now += 1
    read(of(SERVED))
    assert web.hosts == ["p.example", "p.example"]


def test_a_file_of_ipfs_is_fetched_once_a_day(read: ReadUri, web: FakeWeb, clock: FakeClock) -> None:
    tree = directory([("a", file_of(b'"a"', 9)), ("b", file_of(b'"b"', 9))])
    web.pages[GATEWAY] = Page(car_of(tree.blocks))
    for name in ("a", "b", "a", "b"):
        assert read(ipfs(tree, name)).value == name
    assert len(web.requested) == 2
    clock.now += DAY
    assert read(ipfs(tree, "a")).value == "a"
    assert len(web.requested) == 3


def test_all_documents_together_have_a_bound(web: FakeWeb, clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> None:
    documents = [json.dumps(each).encode() for each in (100, 200, 300)]
    web.pages["p.example"] = pages_of(*documents)
    monkeypatch.setattr(module, "MAX_CONTENTS_BYTES", 6)
    ours = reader(ProfileDocuments(web.client(), None, clock))
    for each in (0, 1, 0, 2, 0, 1):
        ours(of(documents[each]))
    assert [each.path[-64:] for each in web.requested] == [of(documents[each])[-64:] for each in (0, 1, 2, 1)]


def test_a_uri_that_failed_is_left_alone_for_five_seconds(read: ReadUri, web: FakeWeb, clock: FakeClock) -> None:
    web.pages["p.example"] = Page(b"", 500)
    for _ in range(3):
        assert reason_for(read, of(SERVED)) is PROFILE_LOOKUP_FAILED
    clock.now += FAILED_SECONDS - 1
    web.pages["p.example"] = Page(SERVED)
    assert reason_for(read, of(SERVED)) is PROFILE_LOOKUP_FAILED
    assert len(web.requested) == 1
    clock.now += 1
    assert read(of(SERVED)).value == VALUE


def test_whoever_names_the_hash_of_another_can_neither_make_it_fail_nor_change_it(read: ReadUri, web: FakeWeb) -> None:
    evil = of(SERVED).replace("p.example", "evil.example")
    for page in (Page(b"", 500), Page(b"{}")):
        web.pages["evil.example"] = page
        assert reason_for(read, evil) in (PROFILE_LOOKUP_FAILED, PROFILE_INVALID)
    assert read(of(SERVED)).value == VALUE


def test_whoever_names_the_hash_of_another_cannot_make_it_wait(read: ReadUri, web: FakeWeb) -> None:
    begun, held = Event(), Event()

    def hold(_: str) -> Page:
        begun.set()
        held.wait(PATIENCE)
        return Page(SERVED)

    web.pages["evil.example"] = hold
    with ThreadPoolExecutor(1) as pool:
        evil = pool.submit(read, of(SERVED).replace("p.example", "evil.example"))
        assert begun.wait(PATIENCE)
        assert read(of(SERVED)).value == VALUE
        held.set()
        assert evil.result().value == VALUE


def test_many_readers_at_once_make_one_request(read: ReadUri, web: FakeWeb) -> None:
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(read, [of(SERVED)] * 8))
    assert {each.size for each in found} == {len(SERVED)}
    assert len(web.requested) == 1


# --- the setting -------------------------------------------------------------------------------------------------


def test_gateways_are_a_list_with_commas() -> None:
    assert read_gateways("") == read_gateways(" , ") == ()
    assert read_gateways("https://a.example/, https://B.example/x ,") == ("https://a.example", "https://B.example/x")


@pytest.mark.parametrize(
    "url",
    [
        "a.example", "http://a.example", "https://", "https://u:p@a.example", "https://a.example:8443",
        "https://a.example/?x=1", "https://a.example/#x", "https://127.0.0.1", "https://[::1]", "https://a b.example",
        "https://a.example:x", "ipfs://a.example",
    ],
)  # fmt: skip
def test_a_gateway_is_an_https_url_of_a_host_and_a_path(url: str) -> None:
    with pytest.raises(SettingsError, match="is not of the form"):
        read_gateways(f"https://first.example,{url}")


def test_the_number_of_gateways_is_limited() -> None:
    urls = [f"https://g{each}.example" for each in range(MAX_GATEWAYS + 1)]
    assert len(read_gateways(",".join(urls[:-1]))) == MAX_GATEWAYS
    with pytest.raises(SettingsError, match="at most 4 are used"):
        read_gateways(",".join(urls))
