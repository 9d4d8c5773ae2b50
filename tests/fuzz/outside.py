"""Fuzzing of other hosts' responses (manifests, graphs, post offices, delivery services), and of their URLs."""

import json
from ipaddress import ip_address
from uuid import UUID

from tests.fakes.net import FakeHttps
from tests.fakes.outbound import FakeOurKeys
from tests.functions.samples import RECEIVER, SENDER
from tests.fuzz.entry import LONG, Entry, fields_of, fuzzed, outcome_of
from tests.fuzz.samples import KEY, NOW, compact

from postroom.client.dm3_answers import NoResultError, read_result
from postroom.client.sending import SendOutcome, deliver
from postroom.core.errors import NotNowError, SettingsError
from postroom.core.ijson import parse
from postroom.core.reasons import OUTBOUND_FAILED
from postroom.names.manifest import MAX_MANIFEST_BYTES, feedback_of, read_feedback_domain
from postroom.names.registry import PROFILE_KEY, SERVICE_KEY, parse_registry
from postroom.net.https import HttpsClient, HttpsResponse, can_be_reached, is_public
from postroom.outbound.feedback_buffers import GraphDomain
from postroom.protocols.nlweb.manifest import manifest_of
from postroom.storage.secrets.signing_keys import SigningKey

MANIFESTS = (
    manifest_of(SENDER, "buffer.example").encode(),
    b"About: {Name: a, Feedback: Buffer.Example}\n", b"Identity:\n  Feedback: !!str b.example\n", b"a: &a [*a]",
    b"? [a, b]\n: {c: d}\n---\ne: f\n", b'About:\n  Feedback: "\\U00110000"\n', b"%YAML 1.2\n---\nAbout: |+2\n   x\n",
    b"- " * 40 + b"a", b"{" * 60, "About:\n\u2028 Feedback: ünï.example\n".encode("utf-16"), b"\xff\xfe", b"\t",
    b"<<: {About: {Feedback: m.example}}", b"About: >-\n  folded\n\n  text # no comment\nb: 'it''s'\n",
)  # fmt: skip


@fuzzed("names.manifest", "names.documents", seeds=MANIFESTS, max_bytes=MAX_MANIFEST_BYTES + 16)
def manifest_yaml(data: bytes) -> None:
    """A Feedback address, or none and why, of any bytes; never an error; of our own manifest, what it was made with."""
    found = feedback_of(data)
    assert found.why
    if found.domain is not None:
        assert found.said
        assert read_feedback_domain(found.domain) == found.domain
        assert can_be_reached(found.domain)
        assert feedback_of(manifest_of(SENDER, found.domain).encode()) == found


REGISTRIES = (
    f"alice.eth:\n  {PROFILE_KEY}: data:,a\nds.eth: {{{SERVICE_KEY}: 'x'}}\n".encode(),
    compact({"ALICE.eth": {PROFILE_KEY: "a", SERVICE_KEY: "b"}}), b"a: 1\na: 2\n", b'{"a":1,"a":2}', b"? {a: b}\n: c\n",
    b"1: {network.dm3.profile: ~}", b"a.eth: &x {network.dm3.profile: y}\nb.eth: *x\n",
)  # fmt: skip


@fuzzed("names.registry", "names.documents", seeds=REGISTRIES, max_bytes=LONG // 4)
def registry_document(data: bytes) -> None:
    """Texts by normalised name, or an error that says where; what was read is read again from its JSON."""
    try:
        found = parse_registry(data)
    except SettingsError as error:
        assert str(error).startswith("the registry document")
        return
    assert parse_registry(json.dumps(found).encode()) == found


ANSWERS = (
    b"200\0" + compact({"Domain": SENDER, "Feedback": "Buffer.example"}), b'200\0{"Feedback":{}}', b"200\0[]", b"204\0",
    b"200\0" + compact({"jsonrpc": "2.0", "result": "accepted", "id": 1}), b"503\0busy", b"404\0<html>",
    b"200\0" + compact({"jsonrpc": "2.0", "error": {"code": -32002, "message": "m", "data": {"reason": "r"}}, "id": 1}),
    b"422\0" + compact({"title": "t", "status": 422, "detail": "d", "reason": "HashMismatch"}), b"200\0\xff\xfe",
)  # fmt: skip


@fuzzed("outbound.feedback_buffers", "client.sending", "client.dm3_answers", seeds=ANSWERS)
def answers_of_others(data: bytes) -> None:
    """A graph's, a post office's and a delivery service's answer each mean something, whatever their bodies hold."""
    status, _, body = data.partition(b"\0")
    response = HttpsResponse(int(status) if status in (b"200", b"204", b"404", b"422", b"503") else 200, {}, body)
    other = FakeHttps(replies=[response, response])
    graph = GraphDomain(
        "graph.example", other, FakeOurKeys({RECEIVER: SigningKey("pk1", KEY)}), lambda: NOW, lambda: UUID(int=1)
    )
    named = outcome_of(lambda: graph.feedback_domain_of(SENDER), OUTBOUND_FAILED)
    assert isinstance(named, NotNowError) is (response.status >= 500)
    assert not isinstance(named, str) or can_be_reached(named)
    sent = deliver(other, "https://nlweb.a.example/inbox", b"")  # type: ignore[arg-type]
    assert sent.fate in SendOutcome
    try:
        value = read_result("https://ds.example", response)
    except NoResultError as error:
        assert error.detail
    else:
        read = parse(body, max_bytes=len(body))
        assert isinstance(read, dict)
        assert read["result"] == value


URLS = (
    b"https://a.example/inbox?x=1\0", b"https://A.example.:443/\0", b"https://127.0.0.1/\0", b"https://[::1]/\0",
    b"https://user@a.example/\0", b"http://a.example/\0", b"https://a.example:8443/\x0010.0.0.1", b"https://0x7f.1/\0",
    b"https://a.example\\@b.example/\0::ffff:10.0.0.1", b"https://a.example/\x0064:ff9b::a00:1",
    b"//a.example\0fe80::1",
)  # fmt: skip


class _Hosts:
    """A resolver that knows one address for every name, and keeps the last name it was asked for."""

    def __init__(self) -> None:
        self.address = ""
        self.asked_for = ""

    def __call__(self, host: str) -> list[str]:
        self.asked_for = host
        return [self.address] if self.address else []


HOSTS = _Hosts()
CLIENT = HttpsClient(HOSTS)


@fuzzed("net.https", seeds=URLS, max_bytes=2200)
def outbound_urls(data: bytes) -> None:
    """No URL or address that a stranger names leads into a private network; what is wrong with it is OutboundFailed."""
    url, address = fields_of(data, 2)
    HOSTS.asked_for = ""
    # A public address would be connected to: that it may be is all there is to see of it here.
    HOSTS.address = "" if _is_public(address) else address
    found = outcome_of(lambda: CLIENT.get(url, "*/*"), OUTBOUND_FAILED)
    assert isinstance(found, NotNowError), "there was an answer"
    if HOSTS.asked_for:
        assert can_be_reached(HOSTS.asked_for)
        assert f"//{HOSTS.asked_for}" in url.lower(), "another host than the URL's is looked up"


def _is_public(text: str) -> bool:
    try:
        address = ip_address(text)
    except ValueError:
        return False
    # Another opinion on what is private: none that says so is contradicted.
    assert not is_public(address) or not (address.is_private or address.is_loopback or address.is_link_local)
    return is_public(address)


ENTRIES: tuple[Entry, ...] = (manifest_yaml, registry_document, answers_of_others, outbound_urls)
