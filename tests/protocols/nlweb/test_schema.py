"""Schema codes and the two dialects: decisions "Schema codes" and "Two dialects"."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.core.errors import TheirError
from postroom.core.reason import Reason
from postroom.protocols.nlweb.reasons import UNSUPPORTED_VERSION, WRONG_SHAPE
from postroom.protocols.nlweb.schema import DIALECTS, HANDSHAKE, NLWEB, POLLYWEB, Dialect, choose_dialect, read_code

UNSUPPORTED = [
    "nlweb.org/MSG:2.0",
    "nlweb.org/MSG:2",
    "nlweb.org/MSG:0.9",
    "nlweb.org/MSG:10.0",
    "pollyweb.org/MSG:2.0",
    "dtfw.org/msg",  # 2023's
    "dtfw.org/MSG:1.0",
    "any-sender.com/MSG:1.0",
    "nlweb.org.evil.example/MSG:1.0",
    "evil.example/nlweb.org/MSG:1.0",
    "xnlweb.org/MSG:1.0",
    "NLWEB.org/MSG:1.0",
    "nlweb.org/msg:1.0",
    "nlweb.org/MANIFEST:1.0",
    "nlweb.org/MSG:",
    "nlweb.org/MSG:1.",
    "nlweb.org/MSG:.1",
    "nlweb.org/MSG:1.0.0",
    "nlweb.org/MSG:1,0",
    "nlweb.org/MSG:-1.0",
    "nlweb.org/MSG:+1.0",
    "nlweb.org/MSG:v1.0",
    "nlweb.org/MSG:one",
    "nlweb.org/MSG:١.0",  # a digit, but not ASCII's
    "nlweb.org/MSG:1.٠",
    "nlweb.org/MSG:1.0\n",
    "nlweb.org/MSG:1.0 ",
    " nlweb.org/MSG:1.0",
    "nlweb.org/MSG:" + "1" * 5000,
    "nlweb.org/MSG/1.0",
    "nlweb.org",
    "/MSG:1.0",
    "MSG:1.0",
    "1.0",
    "",
]


def reason_of(handshake: object, schema: object) -> Reason:
    with pytest.raises(TheirError) as caught:
        choose_dialect(handshake, schema)
    return caught.value.reason


# --- codes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    ("version", "minor"), [("", 0), (":1", 0), (":1.0", 0), (":1.1", 1), (":1.27", 27), (":1.9999", 9999)]
)
def test_the_same_major_version_is_accepted_and_no_version_means_1_0(
    dialect: Dialect, version: str, minor: int
) -> None:
    assert read_code(f"{dialect.authority}/MSG{version}", "x") == (dialect, 1, minor)


@pytest.mark.parametrize("code", UNSUPPORTED)
def test_another_major_or_unknown_authority_is_not_supported(code: str) -> None:
    assert reason_of(code, None) is UNSUPPORTED_VERSION
    assert reason_of(None, code) is UNSUPPORTED_VERSION


def test_a_refusal_says_what_is_supported_and_never_repeats_the_code() -> None:
    with pytest.raises(TheirError) as caught:
        choose_dialect("<script>", None)
    assert caught.value.detail == (
        "🤝 is not the schema code of a message; supported are nlweb.org/MSG and pollyweb.org/MSG of major version 1"
    )


@given(st.text(max_size=30) | st.from_regex(r"(nlweb|pollyweb)\.org/MSG(:\d{1,3}(\.\d{1,3})?)?"))
def test_any_text_is_a_dialect_or_not_supported(code: str) -> None:
    try:
        dialect, major, _ = read_code(code, "x")
    except TheirError as error:
        assert error.reason is UNSUPPORTED_VERSION  # noqa: PT017  (either outcome is right)
    else:
        assert code.startswith(f"{dialect.authority}/MSG")
        assert major == 1


# --- which of the two places counts ------------------------------------------------------------------------------


def test_the_member_has_the_specifications_emoji_as_name() -> None:
    assert HANDSHAKE == "\U0001f91d"


def test_without_any_code_the_version_is_1_0_of_nlweb_org() -> None:
    assert choose_dialect(None, None) is NLWEB


@pytest.mark.parametrize("dialect", DIALECTS)
def test_one_code_is_enough(dialect: Dialect) -> None:
    assert choose_dialect(dialect.schema, None) is dialect
    assert choose_dialect(None, dialect.schema) is dialect


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(("one", "other"), [("", ":1.0"), (":1", ""), (":1.0", ":1"), (":1.3", ":1.3")])
def test_two_codes_must_have_the_same_meaning(dialect: Dialect, one: str, other: str) -> None:
    assert choose_dialect(f"{dialect.authority}/MSG{one}", f"{dialect.authority}/MSG{other}") is dialect


@pytest.mark.parametrize(
    ("handshake", "schema"),
    [
        ("nlweb.org/MSG:1.0", "pollyweb.org/MSG:1.0"),
        ("pollyweb.org/MSG:1.0", "nlweb.org/MSG:1.0"),
        ("nlweb.org/MSG:1.0", "nlweb.org/MSG:1.1"),
        ("nlweb.org/MSG", "nlweb.org/MSG:1.1"),
    ],
)
def test_two_codes_that_contradict_each_other_are_a_shape_error(handshake: str, schema: str) -> None:
    assert reason_of(handshake, schema) is WRONG_SHAPE


@pytest.mark.parametrize(
    ("handshake", "schema"),
    [("nlweb.org/MSG:1.0", "nlweb.org/MSG:2.0"), ("nlweb.org/MSG:2.0", "nlweb.org/MSG:1.0"), ("x/MSG", "y/MSG")],
)
def test_one_unsupported_code_is_enough_to_be_unsupported(handshake: str, schema: str) -> None:
    assert reason_of(handshake, schema) is UNSUPPORTED_VERSION


@pytest.mark.parametrize("other", [1, 1.0, True, False, 0, [], ["nlweb.org/MSG:1.0"], {}, {"Code": "nlweb.org/MSG"}])
def test_a_code_of_another_type_is_a_shape_error(other: object) -> None:
    assert reason_of(other, None) is WRONG_SHAPE
    assert reason_of(None, other) is WRONG_SHAPE
    assert reason_of("nlweb.org/MSG:1.0", other) is WRONG_SHAPE


# --- what differs ------------------------------------------------------------------------------------------------


def test_nlweb_has_its_own_host_and_key_names() -> None:
    assert NLWEB.inbox_url("any-receiver.com") == "https://nlweb.any-receiver.com/inbox"
    assert NLWEB.key_name("any-sender.com", "pk1") == "pk1._domainkey.any-sender.com"
    assert (NLWEB.selector_member, NLWEB.default_selector) == ("DKIM", "nlweb")


def test_pollyweb_has_its_own_host_and_key_names() -> None:
    assert POLLYWEB.inbox_url("any-receiver.com") == "https://pw.any-receiver.com/inbox"
    assert POLLYWEB.key_name("any-sender.com", "pk1") == "pk1._domainkey.pw.any-sender.com"
    assert (POLLYWEB.selector_member, POLLYWEB.default_selector) == ("Selector", None)


def test_we_write_version_1_0() -> None:
    assert [dialect.schema for dialect in DIALECTS] == ["nlweb.org/MSG:1.0", "pollyweb.org/MSG:1.0"]
