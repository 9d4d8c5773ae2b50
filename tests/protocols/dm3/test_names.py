"""Names are normalised by ENSIP-15, and the fast way for plain ones changes nothing (decision "Profiles")."""

import itertools
import string
import subprocess
import sys

import pytest
from ens_normalize import DisallowedSequence, ens_normalize
from hypothesis import given
from hypothesis import strategies as st
from tests.protocols.dm3.known import BUILDS

from postroom.core.ens_names import _PLAIN, MAX_NAME_BYTES
from postroom.core.errors import TheirError
from postroom.protocols.dm3.names import normalize
from postroom.protocols.dm3.reasons import NAME_INVALID

KNOWN = [answer for build in BUILDS.values() for answer in build["primitives"]["normalizeEnsName"]]


@pytest.mark.parametrize("known", KNOWN, ids=lambda known: known["input"])
def test_known_answers_of_the_reference(known: dict[str, str]) -> None:
    assert normalize(known["input"]) == known["output"]


@pytest.mark.parametrize(
    ("name", "normalized"),
    [
        ("eth", "eth"),
        ("0xE634905CD63Ad617.addr.dm3.eth", "0xe634905cd63ad617.addr.dm3.eth"),
        ("my-shop.eth", "my-shop.eth"),
        ("-a-.eth", "-a-.eth"),
        ("_dm3.alice.eth", "_dm3.alice.eth"),
        ("$x.eth", "$x.eth"),
        ("\u212aelvin.eth", "kelvin.eth"),
        ("Nin\u0303o.eth", "ni\u00f1o.eth"),
        ("\u200balice.eth", "alice.eth"),
        ("\U0001f468\u200d\U0001f469\u200d\U0001f467.eth", "\U0001f468\u200d\U0001f469\u200d\U0001f467.eth"),
    ],
)  # fmt: skip
def test_a_name_has_one_spelling(name: str, normalized: str) -> None:
    assert normalize(name) == normalized


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "is empty"),
        ("alice.eth\n", "line break"),
        ("alice\n.eth", "line break"),
        (".eth", "empty label"),
        ("alice..eth", "empty label"),
        ("alice.eth.", "empty label"),
        ("\u200b", "empty label"),
        ("\u00ad.eth", "empty label"),
        ("ali\u200dce.eth", "invisible character"),
        ("ali ce.eth", "disallowed character"),
        ("alice.eth\x00", "disallowed character"),
        ("\ud800.eth", "disallowed character"),
        ("a_b.eth", "underscore"),
        ("xn--bcher-kva.eth", "'--'"),
        ("\u0430lice.eth", "confusing"),
        ("\u0300alice.eth", "combining mark"),
        ("https://alice.eth", "disallowed character"),
    ],
)
def test_a_name_that_ensip_15_refuses_is_invalid(name: str, why: str) -> None:
    with pytest.raises(TheirError) as caught:
        normalize(name)
    assert caught.value.reason is NAME_INVALID
    assert why in caught.value.detail


@pytest.mark.parametrize("letter", ["a", "\u00e9", "\U0001f600", "\u200b", "\ud800"])
@pytest.mark.parametrize("length", [MAX_NAME_BYTES + 1, 10_000])
def test_a_long_name_is_refused_for_its_length(letter: str, length: int) -> None:
    with pytest.raises(TheirError, match="more than 255 bytes"):
        normalize(letter * length)


def test_the_length_counts_bytes_and_ends_at_255() -> None:
    for character in ("a", "\u00e9"):
        longest = character * (MAX_NAME_BYTES // len(character.encode()))
        assert normalize(longest) == longest
        with pytest.raises(TheirError, match=f"NameInvalid.*more than {MAX_NAME_BYTES} bytes"):
            normalize(longest + character)


def test_a_name_that_grows_beyond_its_length_is_refused() -> None:
    # U+3316 has three bytes and stands for six letters, each of three.
    name = "\u3316" * 85
    assert len(name.encode()) == 255 < len(ens_normalize(name).encode())
    with pytest.raises(TheirError, match="more than 255 bytes"):
        normalize(name)


def test_a_refusal_quotes_nothing_of_the_name() -> None:
    with pytest.raises(TheirError) as caught:
        normalize("s\u00e9cret na\u200dme.eth")
    assert "cret" not in str(caught.value)


def by_the_library(name: str) -> str | None:
    try:
        return str(ens_normalize(name))
    except DisallowedSequence:
        return None


def test_every_short_label_of_the_fast_path_is_valid_for_the_library() -> None:
    for length in (1, 2):
        for letters in itertools.product(string.ascii_letters + string.digits + "-", repeat=length):
            label = "".join(letters)
            assert normalize(label) == by_the_library(label) == label.lower()


@given(st.from_regex(_PLAIN, fullmatch=True).filter(lambda name: len(name) <= MAX_NAME_BYTES))
def test_the_fast_path_equals_the_library(name: str) -> None:
    assert normalize(name) == by_the_library(name) == name
    assert normalize(name.upper()) == by_the_library(name.upper()) == name


TELLING = "aZ09.-_$'\n\u212a\u00c4\u00ad\u200b\u200d\ufe0f\u0300\u03b1\u0430\U0001f468\U0001f1e9"


@given(st.text(alphabet=TELLING, max_size=12) | st.text(max_size=20))
def test_every_text_is_normalized_or_refused_as_by_the_library(text: str) -> None:
    expected = by_the_library(text) if text and "\n" not in text else None
    if expected is None:
        with pytest.raises(TheirError) as caught:
            normalize(text)
        assert caught.value.reason is NAME_INVALID
    else:
        assert normalize(text) == expected == normalize(expected)


def test_a_plain_name_does_not_import_the_library() -> None:
    code = (
        "import sys, postroom.protocols.dm3.names as n; n.normalize('Alice-1.eth'); "
        "print('ens_normalize' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "False"
