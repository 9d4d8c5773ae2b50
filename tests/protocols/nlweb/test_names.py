"""Who may stand in From and To, selectors and Correlations: decisions "Two dialects", "Senders" and "Receivers"; RFC
1123, 6376, 9562."""

import string
from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.core.errors import TheirError
from postroom.core.reason import Reason
from postroom.protocols.nlweb.names import (
    MAX_NAME,
    is_host_name,
    is_uuid,
    read_correlation,
    read_receiver,
    read_selector,
    read_sender,
)
from postroom.protocols.nlweb.reasons import WRONG_SHAPE

UUID = "125a5c75-cb72-43d2-9695-37026dfcaa48"
LABEL_63 = "a" * 63
HOST_253 = ".".join([LABEL_63] * 3 + ["a" * 61])
HOST_254 = ".".join([LABEL_63] * 3 + ["a" * 62])
KELVIN = "\u212a"  # str.lower makes an ASCII k of it
LONG_S = "\u017f"  # str.upper makes an ASCII S of it

HOST_NAMES = [
    "any-sender.com",
    "a.b",
    "1.com",
    "123.456.com",
    "a--b.example",
    "xn--bcher-kva.example",
    "very.many.labels.in.this.name.example",
    f"{LABEL_63}.example",
    HOST_253,
    "example.c0m",
    "1.2.3.4a",
]
NO_HOST_NAMES = [
    "",
    ".",
    "com",
    "localhost",
    "a..b",
    ".a.b",
    "-a.example",
    "a-.example",
    "a.example-",
    "a_b.example",
    "a b.example",
    " a.example",
    "a.example\n",
    "a.example\0",
    "*.example",
    "a.example:443",
    "user@a.example",
    "a.example/inbox",
    "https://a.example",
    "1.2.3.4",
    "127.0.0.1",
    "256.256.256.256",
    "example.123",
    "[::1]",
    "::1",
    f"{LABEL_63}a.example",
    f"{HOST_253[:-1]}.a",
    f"{HOST_253}a",
]
NO_UUIDS = [
    "",
    UUID[:-1],
    UUID + "0",
    UUID.replace("-", ""),
    "{" + UUID + "}",
    "urn:uuid:" + UUID,
    UUID.replace("-", "_"),
    UUID[:-1] + "g",
    UUID[:-1] + "٣",
    UUID + "\n",
    " " + UUID,
    UUID[1:9].join(["", UUID[9:]]) + "-",
]


def outcome(read: Callable[[str], str], text: str) -> str | Reason:
    try:
        return read(text)
    except TheirError as error:
        return error.reason


def no_shape(read: Callable[..., str], *text: str) -> str:
    with pytest.raises(TheirError) as caught:
        read(*text)
    assert caught.value.reason is WRONG_SHAPE
    return caught.value.detail


@pytest.mark.parametrize("read", [read_sender, read_receiver, partial(read_selector, member="DKIM")],
                         ids=["From", "To", "selector"])  # fmt: skip
def test_the_length_of_a_name_is_limited(read: Callable[[str], str]) -> None:
    assert (len(HOST_253), len(HOST_254)) == (MAX_NAME, MAX_NAME + 1)
    assert read(HOST_253) == HOST_253
    no_shape(read, HOST_254)


# --- From (decision "Senders") ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", HOST_NAMES)
def test_a_sender_is_a_host_name(name: str) -> None:
    assert is_host_name(name)
    assert read_sender(name) == name


def test_a_senders_name_is_lower_cased() -> None:
    assert read_sender("Any-SENDER.Com") == "any-sender.com"
    assert not is_host_name("Any-Sender.com")


@pytest.mark.parametrize("name", NO_HOST_NAMES)
def test_an_invalid_host_name_is_refused_as_sender(name: str) -> None:
    assert not is_host_name(name)
    no_shape(read_sender, name)


@pytest.mark.parametrize(
    "name",
    [
        "bücher.example",
        "a.example。",
        f"{KELVIN}.example",
        f"{LONG_S}.example",
        "１２.example",
        "٣.example",
        "a\u200b.example",
        "a\u00ad.example",
        "аpple.example",  # the first letter is Cyrillic
    ],
)
def test_a_sender_uses_a_labels(name: str) -> None:
    no_shape(read_sender, name)


def test_a_senders_name_has_no_trailing_dot() -> None:
    no_shape(read_sender, "any-sender.com.")


@pytest.mark.parametrize("text", [UUID, UUID.upper(), "00000000-0000-0000-0000-000000000000"])
def test_a_sender_is_the_uuid_of_a_wallet(text: str) -> None:
    assert read_sender(text) == text.lower()
    assert is_uuid(read_sender(text))


@pytest.mark.parametrize("text", NO_UUIDS)
def test_another_form_of_uuid_is_refused_as_sender(text: str) -> None:
    assert not is_uuid(text)
    no_shape(read_sender, text)


@given(st.text())
def test_a_sender_is_a_name_or_a_uuid_or_refused(text: str) -> None:
    name = outcome(read_sender, text)
    if isinstance(name, Reason):
        assert name is WRONG_SHAPE
    else:
        assert name == text.lower()
        assert is_host_name(name) != is_uuid(name)
        assert read_sender(name) == name


# --- To (decision "Receivers") ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", HOST_NAMES)
def test_a_receiver_is_a_host_name(name: str) -> None:
    assert read_receiver(name) == name
    assert read_receiver(name.upper()) == name


@pytest.mark.parametrize("name", NO_HOST_NAMES)
def test_an_invalid_host_name_is_refused_as_receiver(name: str) -> None:
    no_shape(read_receiver, name)


@pytest.mark.parametrize("name", ["any-receiver.com", "ANY-receiver.com", HOST_253])
def test_one_trailing_dot_is_dropped(name: str) -> None:
    assert read_receiver(f"{name}.") == name.lower()
    no_shape(read_receiver, f"{name}..")


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("bücher.example", "xn--bcher-kva.example"),
        ("BÜCHER.Example.", "xn--bcher-kva.example"),
        ("bu\u0308cher.example", "xn--bcher-kva.example"),  # decomposed
        ("faß.example", "xn--fa-hia.example"),  # IDNA 2008, not 2003's "fass"
        ("παράδειγμα.δοκιμή", "xn--hxajbheg2az3al.xn--jxalpdlp"),
        ("ex。example", "ex.example"),
        (f"{KELVIN}.example", "k.example"),  # UTS 46 maps it, and says so
    ],
)
def test_a_receiver_in_u_labels_is_converted_to_a_labels(written: str, name: str) -> None:
    assert read_receiver(written) == name


@pytest.mark.parametrize(
    "name",
    [
        "☃.example",  # no letter: IDNA 2008 does not take it
        "a\u200db.example",
        "-ü.example",
        "ü..example",
        "１.２.３.４",
        "ü" * 64 + ".example",
        "ü." * 200 + "example",
        "ü\n.example",
        "\ud800.example",
        "אa1.example",  # right to left and left to right in one label
    ],
)
def test_a_name_without_a_labels_is_refused_as_receiver(name: str) -> None:
    no_shape(read_receiver, name)


def test_a_wallet_is_refused_as_receiver() -> None:
    no_shape(read_receiver, UUID)


@given(st.text(st.characters(codec=None), max_size=40) | st.from_regex(r"[ü-ſa-z.-]{0,30}\.[a-zé]{2}", fullmatch=True))
def test_a_receiver_is_a_host_name_or_refused(text: str) -> None:
    name = outcome(read_receiver, text)
    if isinstance(name, Reason):
        assert name is WRONG_SHAPE
    else:
        assert is_host_name(name)
        assert read_receiver(name) == name


def test_a_refusal_says_which_member_and_never_repeats_it() -> None:
    assert no_shape(read_sender, "<script>") == "Header.From is neither a host name (A-labels) nor the UUID of a wallet"
    assert no_shape(read_receiver, "<script>") == "Header.To is not a host name"


# --- the selector (RFC 6376 §3.1) --------------------------------------------------------------------------------


@pytest.mark.parametrize("selector", ["pk1", "nlweb", "1", "a-b", "2026.pk1", "a.b.c", LABEL_63, HOST_253])
def test_a_selector_is_labels_joined_by_dots(selector: str) -> None:
    assert read_selector(selector, "DKIM") == selector
    assert read_selector(selector.upper(), "DKIM") == selector


@pytest.mark.parametrize(
    "selector",
    [
        "",
        "../x",
        "..",
        ".",
        "pk1.",
        ".pk1",
        "a..b",
        "-a",
        "a-",
        "a_b",
        "a b",
        "a/b",
        "a\\b",
        "a\\.b",
        "pk1\n",
        "pk1\0",
        "*",
        "pk1._domainkey.other.example",
        "schlüssel",
        f"p{KELVIN}1",
        LABEL_63 + "a",
        "a" * 300,
        ".".join(["a" * 50] * 6),
    ],
)
def test_an_invalid_selector_is_refused(selector: str) -> None:
    assert no_shape(read_selector, selector, "DKIM") == "Header.DKIM is not a DKIM selector"


# --- the Correlation ---------------------------------------------------------------------------------------------


def test_a_correlation_is_a_uuid_and_compared_in_lower_case() -> None:
    assert read_correlation(UUID) == read_correlation(UUID.upper()) == UUID


@pytest.mark.parametrize("text", [*NO_UUIDS, f"{KELVIN}{UUID[1:]}"])
def test_another_form_of_uuid_is_refused_as_correlation(text: str) -> None:
    no_shape(read_correlation, text)


@given(st.text(string.hexdigits + "-", min_size=30, max_size=40))
def test_a_correlation_has_one_form(text: str) -> None:
    expected = text.lower() if is_uuid(text.lower()) else WRONG_SHAPE
    assert outcome(read_correlation, text) == expected
