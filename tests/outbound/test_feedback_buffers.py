"""Who is told: the manifest decides, the graph is asked where there is none (decision "Feedback")."""

import json
import uuid

import pytest
from tests.fakes.net import FakeHttps
from tests.fakes.outbound import FakeOurKeys

from postroom.core.errors import NotNowError
from postroom.core.reasons import OUTBOUND_FAILED, SIGNING_KEY_UNAVAILABLE
from postroom.crypto.rsa_ed25519 import PrivateKey
from postroom.names.manifest import ManifestDirectory
from postroom.net.https import HttpsResponse
from postroom.outbound.feedback_buffers import MAX_REPLY_BYTES, FeedbackBuffers, GraphDomain
from postroom.protocols.nlweb.envelope import read_envelope
from postroom.protocols.nlweb.verify import check_signature
from postroom.storage.secrets.signing_keys import SigningKey

NOW = 1_763_715_600.0
KEY = PrivateKey.generate("ed25519")


def our_keys(*domains: str) -> FakeOurKeys:
    return FakeOurKeys({domain: SigningKey("k1", KEY) for domain in domains})


def manifest(text: bytes) -> dict[str, tuple[int, bytes] | NotNowError]:
    return {"https://nlweb.sender.example/manifest": (200, text)}


def buffers(web: FakeHttps, ours: FakeOurKeys | None = None) -> FeedbackBuffers:
    graph = GraphDomain("graph.example", web, ours or our_keys("receiver.example"), lambda: NOW, uuid.uuid4)
    return FeedbackBuffers(ManifestDirectory(web, lambda: NOW, lambda _: None), graph)


def reply(value: object, status: int = 200) -> HttpsResponse:
    return HttpsResponse(status, {}, json.dumps(value).encode())


def test_a_manifest_that_names_a_buffer_decides_and_the_graph_is_not_asked() -> None:
    web = FakeHttps(manifest(b"About: {Name: sender.example, Feedback: buffer.example}"))
    assert buffers(web).feedback_domain_of("sender.example") == "buffer.example"
    assert web.posted == []


def test_a_manifest_without_feedback_means_no_feedback_whatever_the_graph_says() -> None:
    web = FakeHttps(manifest(b"About: {Name: sender.example}"), [reply({"Feedback": "buffer.example"})])
    assert buffers(web).feedback_domain_of("sender.example") is None
    assert web.posted == []


def test_without_a_manifest_the_graph_is_asked_by_a_signed_request_and_its_answer_cached() -> None:
    web = FakeHttps(replies=[reply({"Domain": "sender.example", "Feedback": "Buffer.Example"})])
    directory = buffers(web, our_keys("receiver.example", "beta.example"))
    assert directory.feedback_domain_of("sender.example") == "buffer.example"
    assert directory.feedback_domain_of("sender.example") == "buffer.example"
    [(url, body)] = web.posted
    assert url == "https://nlweb.graph.example/inbox"
    envelope = read_envelope(json.loads(body))
    check_signature(envelope, KEY.public)
    assert (envelope.sender, envelope.receiver, envelope.subject) == ("beta.example", "graph.example", "Identity@Graph")
    assert envelope.body == {"Domain": "sender.example"}


@pytest.mark.parametrize(
    "answer",
    [
        reply({}),
        reply({"Feedback": 5}),
        reply({"Feedback": "not a host"}),
        reply({"Feedback": "buffer.4ever"}),
        reply({"Feedback": "ban\u212a.example"}),
        reply([]),
        reply({"reason": "NotOurs"}, 421),
        HttpsResponse(200, {}, b"<html>"),
    ],
)
def test_a_graph_that_knows_no_buffer_means_no_feedback(answer: HttpsResponse) -> None:
    assert buffers(FakeHttps(replies=[answer])).feedback_domain_of("sender.example") is None


def test_a_graphs_reply_is_read_up_to_the_limit() -> None:
    for size, found in ((MAX_REPLY_BYTES, "buffer.example"), (MAX_REPLY_BYTES + 1, None)):
        answer = HttpsResponse(200, {}, b'{"Feedback": "buffer.example"}'.ljust(size))
        assert buffers(FakeHttps(replies=[answer])).feedback_domain_of("sender.example") == found


def test_the_cache_of_answers_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("postroom.outbound.feedback_buffers.MAX_DOMAINS", 2)
    web = FakeHttps(replies=[reply({})] * 4)
    directory = buffers(web)
    for name in "abcba":
        directory.feedback_domain_of(f"{name}.example")
    assert [json.loads(body)["Body"]["Domain"][0] for _, body in web.posted] == ["a", "b", "c", "a"]


def test_a_failing_graph_is_asked_again() -> None:
    web = FakeHttps(replies=[reply({}, 503), reply({"Feedback": "buffer.example"})])
    directory = buffers(web)
    with pytest.raises(NotNowError) as failed:
        directory.feedback_domain_of("sender.example")
    assert failed.value.reason is OUTBOUND_FAILED
    assert directory.feedback_domain_of("sender.example") == "buffer.example"


def test_without_a_signing_key_the_graph_cannot_be_asked() -> None:
    with pytest.raises(NotNowError) as failed:
        buffers(FakeHttps(), our_keys()).feedback_domain_of("sender.example")
    assert failed.value.reason is SIGNING_KEY_UNAVAILABLE
