import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fakes.storage import FakeObjects

from postroom.outbound.discard_messages import FeedbackRequest
from postroom.pipeline.claim_details import Dm3Details, NlwebDetails
from postroom.pipeline.claims import Claim, Pointer, QueuedClaim, pack, read_claim, unpack
from postroom.protocols.nlweb.schema import POLLYWEB
from postroom.protocols.nlweb.subjects import SubjectRule, Treatment
from postroom.storage.aws.queue import MAX_BODY_BYTES
from postroom.storage.layout import RowKey, row_key

FEEDBACK_REQUEST = FeedbackRequest("a.com", "b.com", "1f0e", "hash", POLLYWEB)


def claim(envelope: str) -> Claim:
    return Claim("id", 1000, "a.com", row_key("a.com", 1, 1000, "id"), "192.0.2.1", envelope, NlwebDetails())


@given(st.text())
def test_a_claim_travels_as_printable_ascii_and_comes_back_as_it_was(envelope: str) -> None:
    body = QueuedClaim(claim(envelope)).body()
    assert body.isascii()
    assert body.isprintable() or "\x7f" in envelope
    assert read_claim(json.loads(body)["claim"]) == claim(envelope)


@given(st.integers(0, 3000), st.sampled_from(["x", '"', "\\", "\ufffe", "\U0001f91d"]))
def test_a_queue_message_never_exceeds_the_limit(more: int, character: str) -> None:
    stored: dict[str, bytes] = {}
    size = len(QueuedClaim(claim(character)).body()) - len(QueuedClaim(claim("")).body())
    large = claim(character * ((MAX_BODY_BYTES - 1500) // size + more // size))
    body = pack(large, stored.__setitem__)
    assert len(body) <= MAX_BODY_BYTES
    queued = json.loads(body)
    assert [queued["at"]] == list(stored) if stored else read_claim(queued["claim"]) == large
    assert all(read_claim(json.loads(data)) == large for data in stored.values())


@pytest.mark.parametrize("character", ["x", "\\"])
def test_a_claim_too_long_for_a_queue_message_goes_to_s3(character: str) -> None:
    size = len(QueuedClaim(claim(character)).body()) - len(QueuedClaim(claim("")).body())
    characters, rest = divmod(MAX_BODY_BYTES - len(QueuedClaim(claim("")).body()), size)
    longest = character * characters + "x" * rest
    stored: dict[str, bytes] = {}
    body = pack(claim(longest), stored.__setitem__)
    assert (len(body), stored) == (MAX_BODY_BYTES, {})
    assert read_claim(json.loads(body)["claim"]).envelope == longest
    body = pack(claim(longest + "x"), stored.__setitem__)
    [(name, data)] = stored.items()
    assert json.loads(body) == {"at": name, "claim": claim("").as_json(), "feedback": None, "tries": 0}
    assert read_claim(json.loads(data)).envelope == longest + "x"


def test_a_claim_of_another_release_is_left_to_it() -> None:
    with pytest.raises(ValueError, match="form 2"):
        read_claim({**claim("").as_json(), "form": 2})


def test_attempts_are_counted_and_the_pointer_stays() -> None:
    queued = QueuedClaim(claim("text"), Pointer("claim/x"), 3).again()
    assert json.loads(queued.body()) == {
        "at": "claim/x", "claim": claim("").as_json(), "feedback": None, "tries": 4,
    }  # fmt: skip


def test_a_pointer_says_enough_of_the_claim_to_decide_it_without_its_object() -> None:
    stored: dict[str, bytes] = {}
    large = claim("x" * MAX_BODY_BYTES)
    body = pack(large, stored.__setitem__, FEEDBACK_REQUEST)
    [name] = stored
    assert unpack(body, FakeObjects(stored)) == QueuedClaim(large, Pointer(name, FEEDBACK_REQUEST))
    gone = Pointer(name, FEEDBACK_REQUEST, is_gone=True)
    assert unpack(body, FakeObjects()) == QueuedClaim(replace(large, envelope=""), gone)


def test_a_pointer_of_the_release_before_is_read_and_stays_as_it_is() -> None:
    body = '{"at":"claim/x","tries":2}'
    queued = unpack(body, FakeObjects({"claim/x": json.dumps(claim("text").as_json()).encode()}))
    assert queued.claim == claim("text")
    assert json.loads(queued.again().body()) == {"at": "claim/x", "tries": 3}
    with pytest.raises(KeyError):
        unpack(body, FakeObjects())


@pytest.mark.parametrize(
    "body",
    ["[]", '"at"', "1", "null", '{"tries":1e999}', '{"tries":true,"at":"a"}', '{"at":1,"tries":0}', "[" * 100_000],
)
def test_a_foreign_body_is_a_value_error(body: str) -> None:
    with pytest.raises(ValueError):
        unpack(body, FakeObjects())


@pytest.mark.parametrize("member", ["id", "at", "protocol", "mailbox", "pk", "sk", "source", "envelope", "rule"])
@pytest.mark.parametrize("value", [["list"], {"an": "object"}, True, 1.5, [1, "mailbox", 2], [1, 2]], ids=str)
def test_a_claim_with_a_member_of_another_type_is_refused(member: str, value: Any) -> None:
    """Else it fails later, where its neighbours fail with it: ids, for one, are looked up in a dict."""
    with pytest.raises(ValueError):
        read_claim({**claim("").as_json(), member: value})


@pytest.mark.parametrize("value", [None, ["list"], ["no base64", ""], {"an": "object"}, True, [1, 2]], ids=str)
def test_a_claim_without_its_protocols_members_is_refused(value: Any) -> None:
    with pytest.raises(ValueError):
        read_claim({**replace(claim(""), details=Dm3Details(b"\1" * 32)).as_json(), "dm3": value})


RELEASE_BEFORE = {
    b'{"claim":{"form":1,"id":"c1","at":1700000000000,"protocol":"dm3","mailbox":"bob.eth","pk":"bob.eth#0",'
    b'"sk":"m#1700000000000#c1","source":"192.0.2.1","envelope":"{}","rule":null,"dm3":'
    b'["AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=","SHA256:x"],"counted":true},"tries":2}': QueuedClaim(
        Claim(
            "c1", 1_700_000_000_000, "bob.eth", RowKey("bob.eth#0", "m#1700000000000#c1"), "192.0.2.1", "{}",
            Dm3Details(b"\1" * 32, "SHA256:x"), counted=True,
        ), tries=2,
    ),
    b'{"claim":{"form":1,"id":"c1","at":1700000000000,"protocol":"nlweb","mailbox":"a.com","pk":"a.com#0",'
    b'"sk":"m#1700000000000#c1","source":"192.0.2.1","envelope":"{}","rule":["Hello@Host","forward","arn:x"]},'
    b'"tries":0}': QueuedClaim(
        Claim(
            "c1", 1_700_000_000_000, "a.com", RowKey("a.com#0", "m#1700000000000#c1"), "192.0.2.1", "{}",
            NlwebDetails(SubjectRule("Hello@Host", Treatment.FORWARD, "arn:x")),
        )
    ),
}  # fmt: skip


@pytest.mark.parametrize("body", RELEASE_BEFORE, ids=["dm3", "nlweb"])
def test_a_claim_of_the_release_before_is_read(body: bytes) -> None:
    assert unpack(body.decode(), FakeObjects()) == RELEASE_BEFORE[body]


@pytest.mark.parametrize("body", RELEASE_BEFORE, ids=["dm3", "nlweb"])
def test_a_claim_is_written_as_the_release_before_reads_it(body: bytes) -> None:
    assert RELEASE_BEFORE[body].body().encode() == body


EVIDENCE = {"registry": "ens", "block": 16, "agreed": 2, "uri": "ipfs"}


def test_how_the_senders_profile_was_found_travels_in_the_claim() -> None:
    details = Dm3Details(b"\1" * 32, "SHA256:x", EVIDENCE)
    body = QueuedClaim(replace(claim("text"), details=details)).body()
    assert unpack(body, FakeObjects()).claim.details == details


def test_after_a_roll_back_the_release_before_reads_the_same_claim_without_that() -> None:
    """It ignores members that it does not know, as this release does."""
    without = replace(claim("text"), details=Dm3Details(b"\1" * 32, "SHA256:x"))
    written = replace(without, details=Dm3Details(b"\1" * 32, "SHA256:x", EVIDENCE)).as_json()
    assert {name: value for name, value in written.items() if name != "evidence"} == without.as_json()
    assert read_claim({**without.as_json(), "of a later release": EVIDENCE}) == without


@pytest.mark.parametrize("value", [None, "text", ["list"], True, 1], ids=str)
def test_evidence_of_another_type_is_refused(value: Any) -> None:
    with pytest.raises(ValueError):
        read_claim({**replace(claim(""), details=Dm3Details(b"\1" * 32)).as_json(), "evidence": value})
