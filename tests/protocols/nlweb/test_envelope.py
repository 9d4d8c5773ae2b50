"""The envelope's members, and the text that is hashed and signed: decisions "Signed text", "Schema codes", "Two
dialects" and "Senders"; the MSG schema."""

import base64
import hashlib
import json
from collections.abc import Callable

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from postroom.core.errors import TheirError
from postroom.core.ijson import JsonValue, parse
from postroom.core.reasons import NOT_I_JSON
from postroom.protocols.nlweb.envelope import (
    MAX_SIGNATURE,
    MAX_SUBJECT,
    NlwebEnvelope,
    check_hash,
    check_receiver,
    digest_of,
    hash_of,
    read_envelope,
    signed_text_of,
)
from postroom.protocols.nlweb.reasons import HASH_MISMATCH, NOT_OURS, UNSUPPORTED_VERSION, WRONG_SHAPE
from postroom.protocols.nlweb.schema import NLWEB, POLLYWEB

UUID = "125a5c75-cb72-43d2-9695-37026dfcaa48"
WALLET = "7ecbcc6e-0d5e-4ab0-9b0e-1d0f8a3d3c11"
HEADER = {
    "From": "any-sender.com",
    "To": "any-receiver.com",
    "Correlation": UUID,
    "Timestamp": "2018-12-10T13:45:00.000Z",
    "Subject": "AnyMethod",
    "DKIM": "pk1",
}
ABSENT = object()


def envelope(header: object = None, **members: object) -> JsonValue:
    """An envelope of good shape, with some header members (`header`) and members changed or taken away (ABSENT)."""
    base = {**HEADER, **(header if isinstance(header, dict) else {})}
    whole = {
        "🤝": "nlweb.org/MSG:1.0",
        "Header": {name: value for name, value in base.items() if value is not ABSENT},
        "Body": {"Hello": "World"},
        "Hash": "0" * 64,
        "Signature": base64.b64encode(bytes(256)).decode(),
        **members,
    }
    return {name: value for name, value in whole.items() if value is not ABSENT}  # type: ignore[misc]


def refusal(value: JsonValue) -> TheirError:
    with pytest.raises(TheirError) as caught:
        read_envelope(value)
    return caught.value


def wrong_shape(value: JsonValue) -> str:
    error = refusal(value)
    assert error.reason is WRONG_SHAPE
    return error.detail


def test_the_specifications_example_is_read() -> None:
    read = read_envelope(envelope())
    assert read == NlwebEnvelope(
        dialect=NLWEB,
        sender="any-sender.com",
        receiver="any-receiver.com",
        subject="AnyMethod",
        correlation=UUID,
        timestamp_ms=1_544_449_500_000,
        selector="pk1",
        body={"Hello": "World"},
        claimed_hash="0" * 64,
        signature=bytes(256),
        signed_text=read.signed_text,
        digest=hashlib.sha256(read.signed_text).digest(),
    )
    assert read.key_name == "pk1._domainkey.any-sender.com"
    assert not read.from_wallet


# --- the frame ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [None, True, 1, 1.5, "x", [], [envelope()]])
def test_an_envelope_is_an_object(value: JsonValue) -> None:
    assert wrong_shape(value) == "the envelope is not a JSON object"


@pytest.mark.parametrize("header", [ABSENT, None, "x", 1, [], [HEADER]])
def test_an_envelope_has_a_header(header: object) -> None:
    value = envelope(Header=header)
    assert wrong_shape(value) == "Header is missing, or is not a JSON object"


@pytest.mark.parametrize("member", ["From", "To", "Subject", "Correlation", "Timestamp"])
def test_every_required_header_member_must_be_there(member: str) -> None:
    assert wrong_shape(envelope({member: ABSENT})) == f"Header.{member} is missing"


@pytest.mark.parametrize("member", ["Hash", "Signature"])
def test_every_required_member_must_be_there(member: str) -> None:
    assert wrong_shape(envelope(**{member: ABSENT})) == f"{member} is missing"


@pytest.mark.parametrize("member", ["From", "To", "Subject", "Correlation", "Timestamp", "DKIM"])
@pytest.mark.parametrize("value", [None, 1, 1.5, True, [], {}, ["any-sender.com"]])
def test_every_header_member_is_a_string(member: str, value: object) -> None:
    assert wrong_shape(envelope({member: value})) == f"Header.{member} is not a string"


@pytest.mark.parametrize("member", ["Hash", "Signature"])
@pytest.mark.parametrize("value", [None, 1, True, [], {}])
def test_every_member_is_a_string(member: str, value: object) -> None:
    assert wrong_shape(envelope(**{member: value})) == f"{member} is not a string"


@pytest.mark.parametrize("member", ["From", "To", "Subject", "Correlation", "Timestamp"])
def test_an_empty_header_member_is_a_shape_error(member: str) -> None:
    assert f"Header.{member}" in wrong_shape(envelope({member: ""}))


@pytest.mark.parametrize("member", ["from", "FROM", "From "])
def test_member_names_are_case_sensitive(member: str) -> None:
    assert wrong_shape(envelope({"From": ABSENT, member: "any-sender.com"})) == "Header.From is missing"


def test_a_refusal_never_repeats_what_the_sender_wrote() -> None:
    for member in HEADER:
        assert "<script>" not in wrong_shape(envelope({member: "<script>\n"}))


# --- the dialects ------------------------------------------------------------------------------------------------


def test_the_version_is_checked_before_any_other_member() -> None:
    value: JsonValue = {"🤝": "nlweb.org/MSG:2.0", "Header": {}}
    assert refusal(value).reason is UNSUPPORTED_VERSION
    value = {"Header": {"Schema": "nlweb.org/MSG:2.0", "From": 1}}
    assert refusal(value).reason is UNSUPPORTED_VERSION


def test_a_minor_version_is_accepted() -> None:
    assert read_envelope(envelope(**{"🤝": "nlweb.org/MSG:1.7"})).dialect is NLWEB


def test_without_a_schema_code_the_dialect_is_nlweb() -> None:
    assert read_envelope(envelope(**{"🤝": ABSENT})).dialect is NLWEB


def test_null_is_not_the_same_as_absent() -> None:
    assert wrong_shape(envelope(**{"🤝": None})) == "🤝 is null"
    assert wrong_shape(envelope({"Schema": None})) == "Schema is null"


def test_the_codes_of_both_places_must_agree() -> None:
    assert read_envelope(envelope({"Schema": "nlweb.org/MSG"})).dialect is NLWEB
    assert "contradict" in wrong_shape(envelope({"Schema": "pollyweb.org/MSG:1.0", "Selector": "pk1"}))


def test_nlweb_looks_for_the_key_under_dkim_or_else_nlweb() -> None:
    assert read_envelope(envelope({"DKIM": "2026.pk1"})).key_name == "2026.pk1._domainkey.any-sender.com"
    assert read_envelope(envelope({"DKIM": "PK1"})).key_name == "pk1._domainkey.any-sender.com"
    assert read_envelope(envelope({"DKIM": ABSENT})).key_name == "nlweb._domainkey.any-sender.com"


def test_pollyweb_looks_for_the_key_under_selector_in_its_branch() -> None:
    header = {"Schema": "pollyweb.org/MSG:1.0", "Selector": "pw1", "DKIM": ABSENT}
    read = read_envelope(envelope(header, **{"🤝": ABSENT}))
    assert read.dialect is POLLYWEB
    assert read.key_name == "pw1._domainkey.pw.any-sender.com"


def test_pollyweb_requires_a_selector() -> None:
    header = {"Schema": "pollyweb.org/MSG:1.0", "DKIM": "pk1"}
    assert wrong_shape(envelope(header, **{"🤝": ABSENT})) == "Header.Selector is missing"


@pytest.mark.parametrize("selector", ["../x", "a" * 300, "", "pk1.", "a_b", "pk1._domainkey.evil.example"])
def test_a_selector_cannot_leave_its_branch(selector: str) -> None:
    assert wrong_shape(envelope({"DKIM": selector})) == "Header.DKIM is not a DKIM selector"
    header = {"Schema": "pollyweb.org/MSG:1.0", "Selector": selector}
    assert wrong_shape(envelope(header, **{"🤝": ABSENT})) == "Header.Selector is not a DKIM selector"


def test_the_other_dialects_selector_is_any_header_member() -> None:
    read = read_envelope(envelope({"Selector": ["../x"]}))
    assert read.selector == "pk1"
    assert b'"Selector":["../x"]' in read.signed_text


# --- wallets -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "header",
    [{}, {"DKIM": ABSENT}, {"Schema": "pollyweb.org/MSG:1.0", "DKIM": ABSENT}],
    ids=["nlweb with a selector", "nlweb", "pollyweb"],
)
def test_a_wallets_key_is_never_looked_up_in_dns(header: dict[str, object]) -> None:
    read = read_envelope(envelope({"From": WALLET.upper(), **header}, **{"🤝": ABSENT}))
    assert read.sender == WALLET
    assert read.from_wallet
    assert read.key_name is None


# --- Subject -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("subject", ["A", "Hello@Host", "Grüße @ Ümläut", "挨拶", "🤝"])
def test_a_subject_is_printable_characters(subject: str) -> None:
    assert read_envelope(envelope({"Subject": subject})).subject == subject


@pytest.mark.parametrize("character", ["x", "🤝"])
def test_the_length_of_a_subject_is_limited(character: str) -> None:
    longest = character * MAX_SUBJECT
    assert read_envelope(envelope({"Subject": longest})).subject == longest
    too_long = wrong_shape(envelope({"Subject": longest + character}))
    assert too_long == f"Header.Subject is not 1 to {MAX_SUBJECT} printable characters"


@pytest.mark.parametrize(
    "subject",
    [
        "",
        *(f"Hello{control}@Host" for control in "\0\t\n\r\x1b\x7f\x80\x85\x9b\xa0\u200b\u2028\u202e\ufeff\ue000"),
    ],
)
def test_control_and_invisible_characters_are_refused_in_a_subject(subject: str) -> None:
    assert wrong_shape(envelope({"Subject": subject})) == "Header.Subject is not 1 to 256 printable characters"


# --- Signature ---------------------------------------------------------------------------------------------------

LONGEST = base64.b64encode(bytes(1024)).decode()


@pytest.mark.parametrize("size", [1, 2, 3, 64, 128, 256, 512, 1024, 1025, 1026])
def test_a_signature_is_standard_base64(size: int) -> None:
    signature = bytes(range(256)) * 5
    text = base64.b64encode(signature[:size]).decode()
    assert read_envelope(envelope(Signature=text)).signature == signature[:size]


def test_the_longest_signature_is_that_of_an_rsa_key_of_8192_bits() -> None:
    assert len(LONGEST) == MAX_SIGNATURE
    assert read_envelope(envelope(Signature=LONGEST)).signature == bytes(1024)
    wrong_shape(envelope(Signature=LONGEST[:-4] + "AAAAAAAA"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "A",
        "AA",
        "AAA",
        "AA=",
        "A===",
        "AAA==",
        "AAAA=",
        "AAAA====",
        "====",
        "=AAA",
        "AA==AAAA",
        "AA=A",
        "AB==",  # stray bits: the same byte as AA==
        "AAB=",
        "A-__",
        "//-_",
        "AAAA\n",
        "AAAA\r\nAAAA",
        "AA AA",
        " AAAA",
        "AAAA ",
        "\tAAAA",
        "AAAA\0",
        "AAA.",
        "ÄAAA",
        "ＡAAA",
        "AAA\u212a",
    ],
)
def test_other_base64_than_standard_on_one_line(text: str) -> None:
    assert wrong_shape(envelope(Signature=text)) == "Signature is not standard base64 on one line"


@given(st.text("AQgw+/-_=\n", max_size=12))
def test_a_signature_has_one_encoding(text: str) -> None:
    try:
        signature = read_envelope(envelope(Signature=text)).signature
    except TheirError:
        pass
    else:
        assert base64.b64encode(signature).decode() == text


# --- the signed text ---------------------------------------------------------------------------------------------


def signed(value: JsonValue) -> JsonValue:
    return parse(read_envelope(value).signed_text, max_bytes=1 << 20)


def test_the_signed_text_is_rfc_8785_of_body_and_header() -> None:
    assert read_envelope(envelope()).signed_text == (
        b'{"Body":{"Hello":"World"},"Header":{"Correlation":"125a5c75-cb72-43d2-9695-37026dfcaa48","DKIM":"pk1",'
        b'"From":"any-sender.com","Subject":"AnyMethod","Timestamp":"2018-12-10T13:45:00.000Z","To":"any-receiver.com"}}'
    )


def test_members_are_signed_as_received() -> None:
    header = {"From": "Any-Sender.COM", "To": "ANY-receiver.com.", "Timestamp": "2018-12-10T13:45:00+00:00"}
    assert signed(envelope(header)) == {"Body": {"Hello": "World"}, "Header": {**HEADER, **header}}


def test_an_absent_body_stays_absent() -> None:
    assert signed(envelope(Body=ABSENT)) == {"Header": HEADER}


@pytest.mark.parametrize("body", [None, {}, [], "", 0, False])
def test_an_empty_body_is_signed(body: JsonValue) -> None:
    value = envelope(Body=body)
    assert signed(value) == {"Body": body, "Header": HEADER}
    assert read_envelope(value).signed_text != read_envelope(envelope(Body=ABSENT)).signed_text


@pytest.mark.parametrize("value", [None, 1.5, "x", {"b": [], "a": {}}])
def test_unknown_header_members_are_signed(value: JsonValue) -> None:
    assert signed(envelope({"Unknown": value})) == {"Body": {"Hello": "World"}, "Header": {**HEADER, "Unknown": value}}


@pytest.mark.parametrize("value", [None, 1.5, "x", {"Header": HEADER}])
def test_unknown_members_beside_the_header_are_ignored_and_not_signed(value: JsonValue) -> None:
    assert read_envelope(envelope(Unknown=value)) == read_envelope(envelope())


def test_the_handshake_only_selects_the_dialect() -> None:
    """It is outside the signed text: with another code of the same authority, nothing changes."""
    for code in (ABSENT, "nlweb.org/MSG", "nlweb.org/MSG:1.9"):
        assert read_envelope(envelope(**{"🤝": code})) == read_envelope(envelope())


def test_member_order_and_white_space_do_not_affect_the_signed_text() -> None:
    value = envelope({"Z": 1, "A": {"b": 1, "a": 2}})
    turned = json.dumps(_reversed(value), indent=3)
    assert read_envelope(parse(turned.encode(), max_bytes=1 << 20)).signed_text == read_envelope(value).signed_text


def _reversed(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return {name: _reversed(member) for name, member in reversed(value.items())}
    return value


def test_a_value_without_canonical_text_cannot_be_signed() -> None:
    with pytest.raises(TheirError) as caught:
        signed_text_of({"Body": 2**53}, {})
    assert caught.value.reason is NOT_I_JSON


# --- Hash and receiver -------------------------------------------------------------------------------------------

TEXT = b'{"Header":{}}'
HASH = hashlib.sha256(TEXT).hexdigest()


def test_the_hash_is_lower_case_hex_of_sha_256() -> None:
    assert hash_of(TEXT) == HASH
    check_hash(HASH, digest_of(TEXT))


@pytest.mark.parametrize(
    "claimed",
    [
        "",
        HASH[:-1],
        HASH + "0",
        HASH[:32],
        HASH.upper(),
        HASH + "\n",
        " " + HASH,
        "0x" + HASH,
        "SHA2-256(stdin)= " + HASH,
        HASH.replace("a", "а"),  # Cyrillic
        base64.b64encode(bytes.fromhex(HASH)).decode(),
        hashlib.sha1(TEXT).hexdigest(),
        hashlib.sha256(TEXT + b"\n").hexdigest(),
        "\ud800" * 64,
    ],
)
def test_a_hash_of_another_length_case_or_value_is_a_mismatch(claimed: str) -> None:
    with pytest.raises(TheirError) as caught:
        check_hash(claimed, digest_of(TEXT))
    assert caught.value.reason is HASH_MISMATCH


@pytest.mark.parametrize(
    ("is_ours", "to"),
    [(lambda name: name == "any-receiver.com", name) for name in ("ANY-Receiver.com", "any-receiver.com.")],
)
def test_a_message_for_us_is_accepted_in_any_spelling_of_our_name(is_ours: Callable[[str], bool], to: str) -> None:
    check_receiver(read_envelope(envelope({"To": to})), is_ours)


def test_a_message_for_another_is_not_ours() -> None:
    with pytest.raises(TheirError) as caught:
        check_receiver(read_envelope(envelope()), lambda name: name == "nlweb.any-receiver.com")
    assert caught.value.reason is NOT_OURS


def test_a_domain_may_write_to_itself() -> None:
    read = read_envelope(envelope({"From": "any-receiver.com"}))
    check_receiver(read, lambda name: name == "any-receiver.com")
    assert read.sender == read.receiver


# --- the whole ---------------------------------------------------------------------------------------------------

SOMETHING = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5) | st.sampled_from(list(HEADER.values())),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*HEADER, "Schema", "x"]), inner),
    max_leaves=8,
)


@given(
    SOMETHING
    | st.builds(
        lambda header, members: envelope(header, **members),
        st.dictionaries(st.sampled_from([*HEADER, "Schema", "Selector", "x"]), SOMETHING, max_size=2),
        st.dictionaries(st.sampled_from(["🤝", "Header", "Body", "Hash", "Signature", "x"]), SOMETHING, max_size=2),
    )
)
def test_any_json_is_an_envelope_or_refused_with_a_reason(value: JsonValue) -> None:
    try:
        read = read_envelope(value)
    except TheirError as error:
        assert error.reason in (WRONG_SHAPE, UNSUPPORTED_VERSION)  # noqa: PT017  (either is right)
    else:
        assert isinstance(value, dict)
        content = {name: member for name, member in value.items() if name in ("Body", "Header")}
        assert read.signed_text == rfc8785.dumps(content)
