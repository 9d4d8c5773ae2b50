"""Making envelopes: decisions "Signed text" and "Two dialects"; read again by our own rules and by other people's."""

import json
from base64 import b64decode
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pollyweb.msg import Msg

from postroom.core.canonical import jcs
from postroom.core.errors import TheirError
from postroom.core.ijson import JsonValue, parse
from postroom.core.reason import Reason
from postroom.core.reasons import NOT_I_JSON
from postroom.crypto.rsa_ed25519 import PrivateKey
from postroom.protocols.nlweb.envelope import hash_of, read_envelope
from postroom.protocols.nlweb.schema import DIALECTS, NLWEB, POLLYWEB, Dialect
from postroom.protocols.nlweb.sign import Draft, check_draft, header_of, seal, sign, write
from postroom.protocols.nlweb.verify import check_signature

ED25519, RSA = PrivateKey.generate("ed25519"), PrivateKey.generate("rsa")
UUID = "125a5c75-cb72-43d2-9695-37026dfcaa48"
DRAFT = Draft("any-sender.com", "any-receiver.com", "AnyMethod", UUID, 1_544_449_500_000, {"Hello": "World"})

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(1 - 2**53, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)
LABELS = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,10}[a-z0-9])?", fullmatch=True)
HOSTS = st.builds(lambda labels: ".".join([*labels, "example"]), st.lists(LABELS, min_size=1, max_size=4))
DRAFTS = st.builds(
    Draft,
    sender=HOSTS | st.uuids().map(str),
    receiver=HOSTS,
    subject=st.text(min_size=1, max_size=256).filter(str.isprintable),
    correlation=st.uuids().map(str),
    timestamp_ms=st.integers(-62_135_596_800_000, 253_402_300_799_999),
    body=JSON,
    has_body=st.booleans(),
    selector=LABELS,
    dialect=st.sampled_from(DIALECTS),
)


def travelled(envelope: JsonValue) -> JsonValue:
    """What is left of an envelope after it was written as JSON and read by an inbox."""
    return parse(json.dumps(envelope).encode(), max_bytes=1 << 20)


@given(DRAFTS)
def test_a_signed_envelope_is_read_back(draft: Draft) -> None:
    read = read_envelope(travelled(sign(draft, ED25519)))
    assert (read.sender, read.receiver, read.subject, read.correlation, read.timestamp_ms, read.selector) == (
        draft.sender, draft.receiver, draft.subject, draft.correlation, draft.timestamp_ms, draft.selector,
    )  # fmt: skip
    assert read.dialect is draft.dialect
    assert read.body == (draft.body if draft.has_body else None)
    assert read.claimed_hash == hash_of(read.signed_text)
    check_signature(read, ED25519.public)


def refusal(read: Callable[[], object]) -> tuple[Reason, str] | None:
    """Why it is refused; None: it is not."""
    try:
        read()
    except TheirError as error:
        return error.reason, error.detail
    return None


@given(DRAFTS, st.text(max_size=260))
def test_an_inbox_refusal_is_known_before_signing(draft: Draft, subject: str) -> None:
    draft = replace(draft, subject=subject)
    envelope = write(sign(draft, ED25519))
    assert refusal(lambda: check_draft(draft, 1 << 20)) == refusal(
        lambda: read_envelope(parse(envelope, max_bytes=1 << 20))
    )


@pytest.mark.parametrize("key", [ED25519, RSA])
def test_the_size_check_of_a_draft_holds_for_any_key_and_selector(key: PrivateKey) -> None:
    drafts = [replace(DRAFT, body="x" * length) for length in range(7900, 8300)]
    taken = [draft for draft in drafts if refusal(lambda draft=draft: check_draft(draft, 10_000)) is None]  # type: ignore[misc]
    assert 0 < len(taken) < len(drafts)
    assert all(len(write(sign(replace(draft, selector="pk1"), key))) <= 10_000 for draft in taken)


@pytest.mark.parametrize("key", [RSA, ED25519], ids=["rsa", "ed25519"])
def test_the_signature_is_over_the_canonical_text_itself(key: PrivateKey) -> None:
    envelope = sign(DRAFT, key)
    text = jcs({"Header": envelope["Header"], "Body": envelope["Body"]})
    signature = b64decode(str(envelope["Signature"]), validate=True)
    assert key.public.verify(signature, text)
    assert not key.public.verify(signature, bytes.fromhex(hash_of(text)))
    assert not key.public.verify(signature, hash_of(text).encode())


@pytest.mark.parametrize("key", [RSA, ED25519], ids=["rsa", "ed25519"])
def test_the_same_draft_and_key_give_the_same_envelope(key: PrivateKey) -> None:
    """So that every try of one Feedback is the same message (decision "Feedback")."""
    assert json.dumps(sign(DRAFT, key)) == json.dumps(sign(DRAFT, key))


# --- the form ----------------------------------------------------------------------------------------------------


def test_an_nlweb_envelope_has_the_members_of_the_specifications_example() -> None:
    draft = Draft("any-sender.com", "any-receiver.com", "AnyMethod", UUID, 1_544_449_500_000, {}, selector="pk1")
    envelope = sign(draft, ED25519)
    assert list(envelope) == ["🤝", "Header", "Body", "Hash", "Signature"]
    assert envelope["🤝"] == "nlweb.org/MSG:1.0"
    assert envelope["Header"] == {
        "From": "any-sender.com",
        "To": "any-receiver.com",
        "Correlation": UUID,
        "Timestamp": "2018-12-10T13:45:00.000Z",
        "Subject": "AnyMethod",
        "DKIM": "pk1",
    }


def test_a_pollyweb_envelope_names_its_schema_in_the_header_and_has_no_handshake() -> None:
    draft = Draft("any-sender.com", "any-receiver.com", "X", UUID, 0, selector="pw1", dialect=POLLYWEB)
    envelope = sign(draft, ED25519)
    assert list(envelope) == ["Header", "Body", "Hash", "Signature"]
    assert header_of(draft) == envelope["Header"]
    assert header_of(draft)["Schema"] == "pollyweb.org/MSG:1.0"
    assert header_of(draft)["Selector"] == "pw1"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_without_a_selector_the_member_is_absent(dialect: Dialect) -> None:
    header = header_of(Draft("any-sender.com", "any-receiver.com", "X", UUID, 0, dialect=dialect))
    assert not {"DKIM", "Selector"} & set(header)


def test_the_default_selector_is_found_by_the_receiver() -> None:
    assert DRAFT.dialect is NLWEB
    assert read_envelope(travelled(sign(DRAFT, ED25519))).key_name == "nlweb._domainkey.any-sender.com"


def test_a_missing_body_differs_from_an_empty_one() -> None:
    without = Draft("any-sender.com", "any-receiver.com", "X", UUID, 0, has_body=False)
    empty = Draft("any-sender.com", "any-receiver.com", "X", UUID, 0, body=None)
    assert "Body" not in sign(without, ED25519)
    assert sign(empty, ED25519)["Body"] is None
    assert sign(without, ED25519)["Hash"] != sign(empty, ED25519)["Hash"]


@pytest.mark.parametrize("body", [2**53, -(2**53), float("nan"), float("inf"), "\ud800"])
def test_a_body_without_a_canonical_text_is_not_signed(body: JsonValue) -> None:
    with pytest.raises(TheirError) as caught:
        sign(Draft("any-sender.com", "any-receiver.com", "X", UUID, 0, body), ED25519)
    assert caught.value.reason is NOT_I_JSON


def test_given_content_is_signed_unchanged() -> None:
    content: dict[str, JsonValue] = {"Header": {"From": "a.example", "Unknown": [1.0]}, "Body": 7}
    sealed = seal(content, ED25519)
    text = b'{"Body":7,"Header":{"From":"a.example","Unknown":[1]}}'
    assert sealed["Hash"] == hash_of(text)
    assert ED25519.public.verify(b64decode(str(sealed["Signature"])), text)
    assert {name: sealed[name] for name in content} == content


@pytest.mark.parametrize("header", [None, "x", []])
def test_content_without_a_header_is_a_programming_error(header: JsonValue) -> None:
    with pytest.raises(TypeError):
        seal({"Header": header}, ED25519)


# --- other people's software -------------------------------------------------------------------------------------


def test_an_unmodified_pollyweb_verifies_what_we_sign_in_its_dialect() -> None:
    body: JsonValue = {"Grüße": ["🤝", 1, None, True], "n": {"b": 1, "a": 2}}
    draft = Draft("any-sender.com", "any-receiver.com", "Hello@Host", UUID, 1, body, selector="pw1", dialect=POLLYWEB)
    theirs = Msg.parse(json.dumps(sign(draft, ED25519)))
    assert theirs.verify(_their_key(ED25519))
    with pytest.raises(Exception, match=r"(?i)signature"):
        theirs.verify(_their_key(PrivateKey.generate("ed25519")))


def _their_key(key: PrivateKey) -> object:
    from cryptography.hazmat.primitives.serialization import load_der_public_key

    return load_der_public_key(key.public.spki())
