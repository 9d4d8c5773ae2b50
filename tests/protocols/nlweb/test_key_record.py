"""DKIM key records: RFC 6376 §3.2 and §3.6.1, RFC 8463, decision "Key records"."""

from base64 import b64decode, b64encode

import dns.rdata
import dns.zone
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tiers import examples

from postroom.core.errors import TheirError
from postroom.crypto.reasons import KEY_RECORD_INVALID, KEY_UNUSABLE
from postroom.crypto.rsa_ed25519 import KeyRules, PrivateKey
from postroom.protocols.nlweb.key_record import (
    MAX_RECORD_BYTES,
    parse_key_record,
    record_strings,
    record_text,
    zone_line,
)
from postroom.protocols.nlweb.reasons import KEY_NOT_FOUND, KEY_REVOKED

RSA = PrivateKey.generate("rsa").public
ED25519 = PrivateKey.generate("ed25519").public
P_RSA = b64encode(RSA.spki())
P_ED25519 = b64encode(ED25519.spki()[-32:])

RFC_6376_APPENDIX_C = (
    b"v=DKIM1; p=MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQ"
    b"KBgQDwIRP/UC3SBsEmGqZ9ZJW3/DkMoGeLnQg1fWn7/zYt"
    b"IxN2SnFCjxOCKG9v3b4jYfcTNh5ijSsq631uBItLa7od+v"
    b"/RtdC2UzJ1lWT947qR+Rcac2gbto/NMqJ0fzfVjH4OuKhi"
    b"tdY9tf6mcwGjaNBcWToIMmPSPDdQPNUYckcQ2QIDAQAB"
)
RFC_8463_ED25519 = b"v=DKIM1; k=ed25519; p=11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="
RFC_8463_RSA = (
    b"v=DKIM1; k=rsa; p=MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDkHlOQoBTzWR"
    b"iGs5V6NpP3idY6Wk08a5qhdR6wy5bdOKb2jLQiY/J16JYi0Qvx/byYzCNb3W91y3FutAC"
    b"DfzwQ/BC/e/8uBsCR+yz1Lxj+PL6lHvqMKrM3rG4hstT5QjvHO9PzoxZyVYLzBfO2EeC3"
    b"Ip3G+2kryOTIKT+l/K4w3QIDAQAB"
)


def refusal(*records: bytes, rules: KeyRules = KeyRules()) -> TheirError:  # noqa: B008
    with pytest.raises(TheirError) as caught:
        parse_key_record(records, rules)
    return caught.value


# --- the examples of the RFCs --------------------------------------------------------------------------------


@pytest.mark.parametrize("record", [RFC_6376_APPENDIX_C, RFC_8463_RSA], ids=["RFC 6376", "RFC 8463"])
def test_the_rsa_keys_of_the_rfcs_have_1024_bits_and_need_a_setting(record: bytes) -> None:
    key = parse_key_record([record], KeyRules(allow_rsa_1024=True))
    assert (key.algorithm, key.bits) == ("rsa", 1024)
    assert key.spki() == b64decode(record.partition(b"p=")[2])
    error = refusal(record)
    assert error.reason is KEY_UNUSABLE
    assert "1024 bits" in error.detail


def test_the_ed25519_key_of_rfc_8463_appendix_a() -> None:
    key = parse_key_record([RFC_8463_ED25519])
    assert (key.algorithm, key.bits) == ("ed25519", 256)
    # It is the key of RFC 8032 §7.1, test 1, which signs the empty text:
    assert key.verify(
        bytes.fromhex(
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
            "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"
        ),
        b"",
    )


# --- forms that are taken ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "record",
    [
        b"p=" + P_RSA,
        b"p=" + P_RSA + b";",
        b"v=DKIM1;p=" + P_RSA,
        b" v = DKIM1 ; k = rsa ; p = " + P_RSA + b" ; ",
        b"\tv=DKIM1;\r\n\tp=" + P_RSA + b"\r\n",
        b"k=rsa; p=" + P_RSA[:100] + b" " + P_RSA[100:200] + b"\r\n\t" + P_RSA[200:],
        b"p=" + P_RSA + b"; k=rsa; n=a note: see https://example.com/; t=y:s; g=*; x_1=?; unknown=",
        b"h=sha1 : sha256; p=" + P_RSA,
        b"h=sha256; s=*; p=" + P_RSA,
        b"s=email : *; p=" + P_RSA,
    ],
)
def test_white_space_trailing_semicolons_and_unknown_tags_are_tolerated(record: bytes) -> None:
    assert parse_key_record([record]) == RSA


def test_rsa_may_be_a_bare_rsa_public_key_as_the_text_of_rfc_6376_has_it() -> None:
    key = rsa.generate_private_key(65537, 2048).public_key()
    bare, spki = (
        key.public_bytes(Encoding.DER, form) for form in (PublicFormat.PKCS1, PublicFormat.SubjectPublicKeyInfo)
    )
    assert parse_key_record([b"p=" + b64encode(bare)]) == parse_key_record([b"p=" + b64encode(spki)])


def test_ed25519_may_be_raw_or_a_subject_public_key_info() -> None:
    assert parse_key_record([b"k=ed25519; p=" + P_ED25519]) == ED25519
    assert parse_key_record([b"k=ed25519; p=" + b64encode(ED25519.spki())]) == ED25519


@pytest.mark.parametrize(
    "other",
    [
        b"v=spf1 include:example.net -all",
        b"v=DMARC1; p=none",
        b"v=DKIM2; p=" + P_RSA,
        b"google-site-verification=abc",
        b"",
        b"\xff\xfe",
        b"x" * 60_000,
    ],
)
def test_other_txt_records_are_ignored(other: bytes) -> None:
    assert parse_key_record([other, b"v=DKIM1; p=" + P_RSA]) == RSA
    assert parse_key_record([b"v=DKIM1; p=" + P_RSA, other]) == RSA
    assert refusal(other).reason is KEY_NOT_FOUND


# --- forms that are refused ----------------------------------------------------------------------------------


def test_an_empty_record_set_has_no_key() -> None:
    assert refusal().reason is KEY_NOT_FOUND


@pytest.mark.parametrize("second", [b"p=" + P_RSA, b"p=", b"v=DKIM1", b"v=DKIM1; rubbish"])
def test_several_key_records_at_one_name_are_an_error(second: bytes) -> None:
    error = refusal(b"v=DKIM1; p=" + P_RSA, second)
    assert error.reason is KEY_RECORD_INVALID
    assert "2 key records" in error.detail


@pytest.mark.parametrize("record", [b"p=", b"v=DKIM1; p=", b"v=DKIM1; p= ; k=rsa", b"k=unknown; p=\r\n\t;"])
def test_an_empty_p_is_a_revoked_key(record: bytes) -> None:
    assert refusal(record).reason is KEY_REVOKED


@pytest.mark.parametrize(
    ("record", "sentence"),
    [
        (b"v=DKIM1", "no p="),
        (b"v=DKIM1; k=rsa", "no p="),
        (b"p=" + P_RSA + b"; v=DKIM1", "v= is not the first"),
        (b"p=" + P_RSA + b"; p=" + P_RSA, "tag 2 of the key record has the name of an earlier one"),
        (b"v=DKIM1; v=DKIM1; p=" + P_RSA, "tag 2"),
        (b"v=DKIM1; k=rsa; k=ed25519; p=" + P_RSA, "tag 3"),
        (b"v=DKIM1; x=; x=; p=" + P_RSA, "tag 3"),
        (b"v=DKIM1;; p=" + P_RSA, "name=value"),
        (b"v=DKIM1; p=" + P_RSA + b";;", "name=value"),
        (b"v=DKIM1; rubbish; p=" + P_RSA, "name=value"),
        (b"v=DKIM1; =x; p=" + P_RSA, "name=value"),
        (b"v=DKIM1; 1x=x; p=" + P_RSA, "name=value"),
        (b"v=DKIM1; n=\x00; p=" + P_RSA, "name=value"),
        (b"v=DKIM1; n=\xc3\xa9; p=" + P_RSA, "not ASCII, at byte 11"),
        (b"v=DKIM1; p=" + P_RSA[:-1], "not base64"),
        (b"p=" + P_RSA.replace(b"A", b"-"), "not base64"),
        (b"p=***", "not base64"),
        (b"p=AA==AA==", "not base64"),
        (b"p=AAAA", "must be a SubjectPublicKeyInfo"),
        (b"p=" + b64encode(RSA.spki()[:-1]), "must be a SubjectPublicKeyInfo"),
        pytest.param(b"k=rsa; p=" + P_ED25519, "must be a SubjectPublicKeyInfo", id="rsa, a raw Ed25519 key"),
        pytest.param(b"k=rsa; p=" + b64encode(ED25519.spki()), "different kinds", id="rsa, the SPKI of Ed25519"),
        (b"k=ed25519; p=" + P_RSA, "different kinds"),
        (b"p=" + b"A" * 64_000, f"at most {MAX_RECORD_BYTES}"),
    ],
)
def test_a_malformed_record_is_refused_with_its_cause(record: bytes, sentence: str) -> None:
    error = refusal(record)
    assert error.reason is KEY_RECORD_INVALID
    assert sentence in error.detail


def test_the_length_of_a_record_is_limited() -> None:
    longest = (b"p=" + P_RSA + b"; n=").ljust(MAX_RECORD_BYTES, b"x")
    assert parse_key_record([longest]) == RSA
    assert f"{MAX_RECORD_BYTES + 1} bytes; at most" in refusal(longest + b"x").detail


@pytest.mark.parametrize(
    ("record", "sentence"),
    [
        (b"k=dsa; p=" + P_RSA, "k="),
        (b"k=RSA; p=" + P_RSA, "k="),
        (b"k=; p=" + P_RSA, "k="),
        (b"h=sha1; p=" + P_RSA, "h="),
        (b"h=; p=" + P_RSA, "h="),
        (b"s=email; p=" + P_RSA, "s="),
        (b"s=tlsrpt:email; p=" + P_RSA, "s="),
        (b"k=ed25519; p=" + b64encode((1).to_bytes(32, "little")), "prime-order"),
        (b"k=ed25519; p=" + b64encode(bytes(32)), "prime-order"),
    ],
)
def test_a_key_for_other_uses_or_of_other_kinds_is_unusable(record: bytes, sentence: str) -> None:
    error = refusal(record)
    assert error.reason is KEY_UNUSABLE
    assert sentence in error.detail


# --- whatever comes ------------------------------------------------------------------------------------------

GOOD = b"v=DKIM1; k=rsa; h=sha256; p=" + P_RSA
pieces = st.sampled_from([b"v=DKIM1", b";", b"=", b" ", b"\r\n\t", b"p", b"k=rsa", b"k=ed25519", b"h=", P_ED25519])
mutated = st.tuples(st.integers(0, len(GOOD)), st.binary(max_size=3), st.integers(0, 3)).map(
    lambda change: GOOD[: change[0]] + change[1] + GOOD[change[0] + change[2] :]
)


@given(st.lists(mutated | st.binary(max_size=80) | st.lists(pieces, max_size=8).map(b"".join), max_size=2))
@settings(max_examples=examples(500))
def test_any_record_is_a_key_or_refused_with_a_reason(records: list[bytes]) -> None:
    try:
        key = parse_key_record(records)
    except TheirError as error:
        assert error.detail  # noqa: PT017
    else:
        assert not key.verify(bytes(64), b"text")


# --- our own -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("public", [RSA, ED25519], ids=["rsa", "ed25519"])
def test_the_record_we_write_is_read_as_the_same_key(public: object) -> None:
    text = record_text(public)  # type: ignore[arg-type]
    assert text.startswith("v=DKIM1; k=")
    assert parse_key_record([text.encode()]) == public


def test_ed25519_is_written_raw_as_rfc_8463_has_it() -> None:
    assert record_text(ED25519) == f"v=DKIM1; k=ed25519; p={P_ED25519.decode()}"


def test_the_record_of_rfc_8463_is_written_identically() -> None:
    for record in (RFC_8463_ED25519, RFC_8463_RSA):
        assert record_text(parse_key_record([record], KeyRules(allow_rsa_1024=True))).encode() == record


@pytest.mark.parametrize(("length", "sizes"), [(1, [1]), (255, [255]), (256, [255, 1]), (510, [255, 255])])
def test_strings_are_of_at_most_255_bytes(length: int, sizes: list[int]) -> None:
    text = "".join(chr(ord("a") + i % 26) for i in range(length))
    assert [len(part) for part in record_strings(text)] == sizes
    assert "".join(record_strings(text)) == text


@pytest.mark.parametrize("name", ["pk1._domainkey.example.com", "pk1._domainkey.example.com."])
def test_the_zone_line_is_read_back_by_a_name_server(name: str) -> None:
    line = zone_line(name, record_text(RSA))
    zone = dns.zone.from_text(
        f"$ORIGIN example.com.\n$TTL 300\n@ IN SOA ns root 1 2 3 4 5\n@ IN NS ns\nns IN A 192.0.2.1\n{line}\n"
    )
    strings = zone.get_rdataset("pk1._domainkey", "TXT")[0].strings  # type: ignore[index]
    assert len(strings) == 2
    assert parse_key_record([b"".join(strings)]) == RSA


def test_quotes_and_backslashes_survive_the_zone_line() -> None:
    quoted = zone_line("a.example", 'n="\\"').partition(" TXT ")[2]
    rdata = dns.rdata.from_text("IN", "TXT", quoted)
    assert b"".join(rdata.strings) == b'n="\\"'  # type: ignore[attr-defined]
