"""`postroom verify`'s explanation: every check in order, going on after a failed one, and the flow's own verdict."""

import json
from collections.abc import Sequence
from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from postroom.core.errors import NotNowError, TheirError
from postroom.core.explanation import Check, Explanation
from postroom.core.ijson import JsonValue, parse
from postroom.core.reason import Reason
from postroom.core.reasons import NOT_I_JSON, NOT_JSON, TOO_LARGE
from postroom.core.timestamps import write_timestamp
from postroom.crypto.reasons import KEY_RECORD_INVALID, KEY_UNUSABLE
from postroom.crypto.rsa_ed25519 import PrivateKey, PublicKey
from postroom.protocols.nlweb.envelope import read_envelope
from postroom.protocols.nlweb.explain import FindKey, explain
from postroom.protocols.nlweb.reasons import (
    DNSSEC_BOGUS,
    HASH_MISMATCH,
    KEY_LOOKUP_FAILED,
    KEY_NOT_FOUND,
    KEY_REVOKED,
    NOT_OURS,
    SENDER_NOT_SIGNED,
    SIGNATURE_INVALID,
    TIMESTAMP_TOO_NEW,
    TIMESTAMP_TOO_OLD,
    UNSUPPORTED_VERSION,
    WALLET_UNKNOWN,
    WRONG_SHAPE,
)
from postroom.protocols.nlweb.schema import NLWEB, POLLYWEB
from postroom.protocols.nlweb.sign import Draft, seal, sign
from postroom.protocols.nlweb.timestamp import TimestampWindow
from postroom.protocols.nlweb.verify import check_before_lookup, check_signature

KEY, OTHER = PrivateKey.generate("ed25519"), PrivateKey.generate("ed25519")
UUID = "125a5c75-cb72-43d2-9695-37026dfcaa48"
WALLET = "7ecbcc6e-0d5e-4ab0-9b0e-1d0f8a3d3c11"
NOW_MS = 1_795_253_400_000
MAX_BYTES = 1 << 20
OURS = ("any-receiver.com", "other-of-ours.com")
DRAFT = Draft("any-sender.com", "any-receiver.com", "AnyMethod", UUID, NOW_MS, {"Hello": "World"}, selector="pk1")
GOOD = sign(DRAFT, KEY)
HEADER = GOOD["Header"]
assert isinstance(HEADER, dict)

MEMBERS = ["From", "To", "Subject", "Correlation", "Timestamp", "Hash form", "DKIM", "Signature form"]
ALL = ["json", "frame", "schema", *MEMBERS, "receiver", "time", "hash", "dnssec", "key", "signature"]


def found(_: str) -> tuple[PublicKey, str]:
    return KEY.public, "root → com → any-sender.com"


def raising(error: Exception) -> FindKey:
    def find_key(_: str) -> tuple[PublicKey, str]:
        raise error

    return find_key


def explained(
    envelope: "JsonValue | bytes",
    find_key: FindKey = found,
    ours: Sequence[str] = OURS,
    now_ms: int = NOW_MS,
    max_bytes: int = MAX_BYTES,
) -> Explanation:
    data = envelope if isinstance(envelope, bytes) else json.dumps(envelope).encode()
    return explain(data, ours=ours, now_ms=now_ms, window=TimestampWindow(), max_bytes=max_bytes, find_key=find_key)


def with_header(**members: JsonValue) -> dict[str, JsonValue]:
    """The good envelope, signed anew, with other header members."""
    assert isinstance(HEADER, dict)
    return {"🤝": GOOD["🤝"], **seal({"Header": {**HEADER, **members}, "Body": GOOD["Body"]}, KEY)}


def without(envelope: dict[str, JsonValue], member: str) -> dict[str, JsonValue]:
    return {name: value for name, value in envelope.items() if name != member}


def names(explanation: Explanation) -> list[str]:
    return [check.name for check in explanation.checks]


def failed(explanation: Explanation) -> dict[str, Reason | None]:
    return {check.name: check.reason for check in explanation.checks if not check.ok}


def check_of(explanation: Explanation, name: str) -> Check:
    return next(check for check in explanation.checks if check.name == name)


# --- a good message ----------------------------------------------------------------------------------------------


def test_a_good_message_passes_every_check_in_order() -> None:
    explanation = explained(GOOD)
    assert names(explanation) == ALL
    assert failed(explanation) == {}
    assert (explanation.verdict, explanation.reason) == ("accepted", None)


def test_every_check_has_what_it_found_what_it_expected_and_the_section() -> None:
    for check in explained(GOOD).checks:
        assert check.saw, check.name
        assert check.expected, check.name
        assert check.section, check.name
    assert check_of(explained(GOOD), "hash").expected == GOOD["Hash"]
    assert check_of(explained(GOOD), "dnssec").saw == "root → com → any-sender.com"
    assert KEY.public.fingerprint in check_of(explained(GOOD), "key").saw


def test_the_key_is_looked_up_at_the_dialects_name() -> None:
    looked_up: list[str] = []

    def find_key(name: str) -> tuple[PublicKey, str]:
        looked_up.append(name)
        return found(name)

    explained(GOOD, find_key)
    explained(
        sign(Draft("any-sender.com", OURS[0], "X", UUID, NOW_MS, selector="pw1", dialect=POLLYWEB), KEY), find_key
    )
    explained(sign(Draft("any-sender.com", OURS[0], "X", UUID, NOW_MS, dialect=NLWEB), KEY), find_key)
    explained(sign(Draft(WALLET, OURS[0], "X", UUID, NOW_MS, dialect=POLLYWEB), KEY), find_key)
    assert looked_up == [
        "pk1._domainkey.any-sender.com",
        "pw1._domainkey.pw.any-sender.com",
        "nlweb._domainkey.any-sender.com",
        WALLET,
    ]


def test_a_wallets_key_has_no_dns_check() -> None:
    explanation = explained(sign(Draft(WALLET, OURS[0], "X", UUID, NOW_MS), KEY))
    assert explanation.verdict == "accepted"
    assert "dnssec" not in names(explanation)


@pytest.mark.parametrize("ours", [(), ("any-receiver.com",), ("ANY-receiver.com",)])
def test_without_a_given_receiver_any_is_accepted(ours: Sequence[str]) -> None:
    assert check_of(explained(GOOD, ours=ours), "receiver").ok


# --- one fault each ----------------------------------------------------------------------------------------------

FAULTS = [
    ({**GOOD, "🤝": "nlweb.org/MSG:2.0"}, "schema", UNSUPPORTED_VERSION),
    ({**GOOD, "🤝": "pollyweb.org/MSG:1.0"}, "Selector", WRONG_SHAPE),
    (with_header(Schema="pollyweb.org/MSG:1.0"), "schema", WRONG_SHAPE),
    (with_header(From="no host"), "From", WRONG_SHAPE),
    (with_header(To="no host"), "To", WRONG_SHAPE),
    (with_header(Subject="\0"), "Subject", WRONG_SHAPE),
    (with_header(Correlation="7"), "Correlation", WRONG_SHAPE),
    (with_header(Timestamp="now"), "Timestamp", WRONG_SHAPE),
    (with_header(DKIM="../x"), "DKIM", WRONG_SHAPE),
    (without(GOOD, "Hash"), "Hash form", WRONG_SHAPE),
    ({**GOOD, "Signature": "%"}, "Signature form", WRONG_SHAPE),
    (with_header(To="any-other.com"), "receiver", NOT_OURS),
    (with_header(Timestamp="2018-12-10T13:45:00Z"), "time", TIMESTAMP_TOO_OLD),
    (with_header(Timestamp="2918-12-10T13:45:00Z"), "time", TIMESTAMP_TOO_NEW),
    ({**GOOD, "Hash": "0" * 64}, "hash", HASH_MISMATCH),
    ({**GOOD, "Signature": sign(DRAFT, OTHER)["Signature"]}, "signature", SIGNATURE_INVALID),
]


@pytest.mark.parametrize(("envelope", "name", "reason"), FAULTS)
def test_one_fault_fails_one_check_and_the_others_still_run(
    envelope: dict[str, JsonValue], name: str, reason: Reason
) -> None:
    explanation = explained(envelope)
    assert failed(explanation) == {name: reason}
    assert explanation.reason is reason
    assert explanation.verdict == ("discarded" if reason is SIGNATURE_INVALID else "refused")
    # What hangs on the failed member cannot be checked; all else is.
    hanging = {
        "schema": {"DKIM", "dnssec", "key", "signature"},
        "Selector": {"DKIM", "dnssec", "key", "signature"},
        "From": {"DKIM", "dnssec", "key", "signature"},
        "DKIM": {"dnssec", "key", "signature"},
        "To": {"receiver"},
        "Timestamp": {"time"},
        "Hash form": {"hash"},
        "Signature form": {"signature"},
    }
    assert set(ALL) - set(names(explanation)) == hanging.get(name, set()) - {name}


def test_the_verdict_is_that_of_the_first_failed_check() -> None:
    envelope = {**with_header(To="any-other.com", Timestamp="2018-12-10T13:45:00Z"), "Hash": "0" * 64}
    explanation = explained(envelope, raising(TheirError(KEY_NOT_FOUND, "none")))
    assert failed(explanation) == {
        "receiver": NOT_OURS,
        "time": TIMESTAMP_TOO_OLD,
        "hash": HASH_MISMATCH,
        "key": KEY_NOT_FOUND,
    }
    assert (explanation.verdict, explanation.reason) == ("refused", NOT_OURS)


@pytest.mark.parametrize(
    ("data", "names_told", "reason"),
    [
        (b"", ["json"], NOT_JSON),
        (b'{"a":1,"a":2}', ["json"], NOT_I_JSON),
        (b"[]", ["json", "frame"], WRONG_SHAPE),
        (b'{"Header":7}', ["json", "frame"], WRONG_SHAPE),
    ],
)
def test_an_unreadable_envelope_ends_the_checks(data: bytes, names_told: list[str], reason: Reason) -> None:
    explanation = explained(data)
    assert names(explanation) == names_told
    assert explanation.reason is reason


def test_a_message_too_large_is_not_read() -> None:
    assert explained(GOOD, max_bytes=10).reason is TOO_LARGE


# --- the key -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "name", "verdict"),
    [
        (TheirError(SENDER_NOT_SIGNED, "no DS at com."), "dnssec", "discarded"),
        (TheirError(DNSSEC_BOGUS, "an RRSIG is over"), "dnssec", "discarded"),
        (NotNowError(KEY_LOOKUP_FAILED, "no answer"), "dnssec", "retry"),
        (TheirError(KEY_NOT_FOUND, "no TXT record"), "key", "discarded"),
        (TheirError(KEY_REVOKED), "key", "discarded"),
        (TheirError(KEY_RECORD_INVALID, "two records"), "key", "discarded"),
        (TheirError(KEY_UNUSABLE, "1024 bits"), "key", "discarded"),
    ],
)
def test_a_missing_key_has_its_cause_and_skips_the_signature(
    error: TheirError | NotNowError, name: str, verdict: str
) -> None:
    explanation = explained(GOOD, raising(error))
    assert failed(explanation) == {name: error.reason}
    assert check_of(explanation, name).saw == (error.detail or error.reason.sentence)
    assert explanation.verdict == verdict
    assert "signature" not in names(explanation)


@pytest.mark.parametrize("error", [TheirError(WALLET_UNKNOWN), NotNowError(KEY_LOOKUP_FAILED, "the directory is away")])
def test_a_missing_wallet_key_has_no_dnssec_check(error: TheirError | NotNowError) -> None:
    envelope = sign(Draft(WALLET, OURS[0], "X", UUID, NOW_MS), KEY)
    explanation = explained(envelope, raising(error))
    assert failed(explanation) == {"key": error.reason}
    assert "dnssec" not in names(explanation)


# --- the form ----------------------------------------------------------------------------------------------------


def test_the_json_form() -> None:
    form = explained({**GOOD, "Hash": "0" * 64}).as_json()
    assert list(form) == ["verdict", "reason", "checks"]
    assert (form["verdict"], form["reason"]) == ("refused", "HashMismatch")
    checks = form["checks"]
    assert isinstance(checks, list)
    for check in checks:
        assert isinstance(check, dict)
        assert {name: type(value) for name, value in check.items()} == {
            "name": str, "ok": bool, "saw": str, "expected": str, "section": str,
        }  # fmt: skip
    assert json.loads(json.dumps(form)) == form


def test_an_accepted_message_has_no_reason() -> None:
    form = explained(GOOD).as_json()
    assert (form["verdict"], form["reason"]) == ("accepted", None)


def test_null_is_shown_as_null_and_absent_as_absent() -> None:
    assert check_of(explained(with_header(Subject=None)), "Subject").saw.startswith("null")
    assert check_of(explained({**GOOD, "Hash": None}), "Hash form").saw.startswith("null")
    assert check_of(explained(with_header(DKIM=None)), "DKIM").saw.startswith("null")
    assert check_of(explained(without(GOOD, "Hash")), "Hash form").saw.startswith("absent")
    assert "🤝 null" in check_of(explained({**GOOD, "🤝": None}), "schema").saw
    assert "🤝 absent" in check_of(explained(without(GOOD, "🤝")), "schema").saw


def test_long_values_are_shortened() -> None:
    saw = check_of(explained({**GOOD, "Hash": "x" * 100_000}), "hash").saw
    assert saw.startswith('"xxx')
    assert "100002 characters" in saw
    assert len(saw) < 400


@pytest.mark.parametrize(
    "control", ["\x1b[2J", "\x9b2J", "\x07", "\u202e", "\u2028", "\x7f", "\x85", "\ufffe", "\U000e0001"]
)
def test_shown_values_have_no_control_characters(control: str) -> None:
    """It is shown to people: what is not printable is escaped."""
    for explanation in (explained(with_header(Subject=f"a{control}b")), explained({**GOOD, "Hash": control})):
        assert all(check.saw.isprintable() for check in explanation.checks)
    assert "Grüße" in check_of(explained(with_header(Subject="Grüße")), "Subject").saw


# --- the same verdict as the flow --------------------------------------------------------------------------------


def flow(data: bytes, find_key: FindKey) -> Reason | None:
    """What the inbox and the worker would say."""
    try:
        envelope = read_envelope(parse(data, max_bytes=MAX_BYTES))
        check_before_lookup(
            envelope, is_ours=lambda name: name in OURS, received_at_ms=NOW_MS, window=TimestampWindow()
        )
        key, _ = find_key(envelope.key_name or envelope.sender)
        check_signature(envelope, key)
    except (TheirError, NotNowError) as error:
        return error.reason
    return None


ODD: st.SearchStrategy[JsonValue] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**60), 2**60),
    st.floats(allow_nan=False),
    st.text(max_size=8),
    st.just([]),
    st.just({}),
    st.sampled_from(
        [
            "any-sender.com", "ANY-sender.com", "any-receiver.com.", "any-other.com", WALLET, UUID.upper(),
            "pk1", "../x", "nlweb.org/MSG", "nlweb.org/MSG:1.9", "nlweb.org/MSG:2.0", "pollyweb.org/MSG:1.0",
            "dtfw.org/msg",
            "2018-12-10T13:45:00Z", write_timestamp(NOW_MS + 1), write_timestamp(NOW_MS + 999_999),
            "0" * 64, "AAAA", "AB==",
        ]
    ),
)  # fmt: skip
HEADER_MEMBERS = ["From", "To", "Subject", "Correlation", "Timestamp", "DKIM", "Selector", "Schema", "Unknown"]
TOP_MEMBERS = ["🤝", "Header", "Body", "Hash", "Signature", "Unknown"]
KEYS = [
    found,
    lambda _: (OTHER.public, "other"),
    raising(TheirError(KEY_NOT_FOUND)),
    raising(TheirError(SENDER_NOT_SIGNED)),
    raising(NotNowError(KEY_LOOKUP_FAILED)),
]


def mutated(header: dict[str, JsonValue], top: dict[str, JsonValue], gone: set[str], resealed: bool, cut: int) -> bytes:
    assert isinstance(HEADER, dict)
    members: JsonValue = {name: value for name, value in {**HEADER, **header}.items() if name not in gone}
    envelope: dict[str, JsonValue] = {**GOOD, "Header": members}
    if resealed:
        with suppress(TheirError):  # an integer too big: it has no canonical text
            envelope |= seal({"Header": members, "Body": GOOD["Body"]}, KEY)
    envelope = {name: value for name, value in {**envelope, **top}.items() if name not in gone}
    data = json.dumps(envelope).encode()
    return data[: len(data) - cut] if cut < 4 else data


@given(
    st.builds(
        mutated,
        st.dictionaries(st.sampled_from(HEADER_MEMBERS), ODD, max_size=2),
        st.dictionaries(st.sampled_from(TOP_MEMBERS), ODD, max_size=1),
        st.sets(st.sampled_from([*HEADER_MEMBERS, *TOP_MEMBERS]), max_size=1),
        st.booleans(),
        st.integers(0, 30),
    ),
    st.sampled_from(KEYS),
)
@example(json.dumps(GOOD).encode(), found)
@example(json.dumps(without(GOOD, "Body")).encode(), found)
def test_the_verdict_is_that_of_inbox_and_worker(data: bytes, find_key: FindKey) -> None:
    explanation = explained(data, find_key)
    assert explanation.reason is flow(data, find_key)
    assert json.loads(json.dumps(explanation.as_json())) == explanation.as_json()


@given(st.binary(max_size=60) | st.recursive(ODD, st.lists, max_leaves=4).map(lambda value: json.dumps(value).encode()))
def test_any_bytes_have_the_verdict_of_inbox_and_worker(data: bytes) -> None:
    assert explained(data).reason is flow(data, found)
