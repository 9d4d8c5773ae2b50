"""TXT records at `_dm3.<name>`: which names have them, and what they say."""

from typing import Any

import idna
import pytest
from tests.names.ens.vectors import NAMES

from postroom.core.errors import TheirError
from postroom.names.dm3_records import name_of_host, owner_name, read_texts
from postroom.names.registry import PROFILE_KEY, SERVICE_KEY
from postroom.protocols.dm3.names import normalize
from postroom.protocols.dm3.reasons import PROFILE_INVALID
from postroom.protocols.nlweb.names import is_host_name

KNOWN = NAMES["dns"]
REFUSED = {row["why"]: row for row in KNOWN["refused"]}


@pytest.mark.parametrize("row", [KNOWN, *KNOWN["also"]], ids=lambda row: str(len(row["txt"])) + row["txt"][0][:20])
def test_texts_are_read_by_their_keys_and_other_records_are_ignored(row: dict[str, Any]) -> None:
    assert read_texts([text.encode() for text in row["txt"]]) == row["texts"]


def test_two_records_of_one_key_are_refused() -> None:
    with pytest.raises(TheirError) as caught:
        read_texts([text.encode() for text in REFUSED["two of one key"]["txt"]])
    assert (caught.value.reason, "two records" in caught.value.detail) == (PROFILE_INVALID, True)


def test_an_empty_text_takes_it_back() -> None:
    row = REFUSED["no text: taken back, as an empty text of ENS"]
    assert read_texts([text.encode() for text in row["txt"]]) == {PROFILE_KEY: ""}


@pytest.mark.parametrize("record", [b"", b"=", PROFILE_KEY.encode(), f"{PROFILE_KEY} =data:a".encode(), b"\xff=a"])
def test_what_is_no_record_of_dm3_is_ignored(record: bytes) -> None:
    assert read_texts([record]) == {}


def test_a_record_that_is_not_utf_8_is_refused() -> None:
    with pytest.raises(TheirError, match="not UTF-8"):
        read_texts([f"{SERVICE_KEY}=".encode() + b"\xff"])


def test_a_value_may_have_equals_signs_and_any_length() -> None:
    value = "data:a=b," + "x" * 16_384
    assert read_texts([f"{PROFILE_KEY}={value}".encode()]) == {PROFILE_KEY: value}


@pytest.mark.parametrize(
    ("name", "owner"),
    [
        (KNOWN["name"], KNOWN["owner"]),
        ("a.b.example", "_dm3.a.b.example."),
        ("bücher.example", "_dm3.xn--bcher-kva.example."),
        ("faß.example", "_dm3.xn--fa-hia.example."),
    ],
)
def test_the_records_of_a_name_are_at_its_a_labels(name: str, owner: str) -> None:
    assert (normalize(name), owner_name(name)) == (name, owner)
    assert name_of_host(owner.removeprefix("_dm3.").removesuffix(".")) == name


@pytest.mark.parametrize("host", ["xn--a.example", "xn--.example", "a_xn--b.example", "xn--" + "a" * 60 + ".example"])
def test_a_host_name_that_idna_does_not_read_has_no_records(host: str) -> None:
    assert (name_of_host(host), owner_name(name_of_host(host))) == (host, None)


@pytest.mark.parametrize(
    "name",
    [
        "alice.eth", "carol.user.eth", "eth", "localhost", "", "1.2.3.4", "🚴‍♂.example", "a_b.example", "-a.example",
        "xn--bcher-kva.example", "xn--a.example", f"{'a' * 64}.example", f"{'a' * 62}.{'b' * 62}.{'c' * 62}.{'d' * 61}",
        "ab--c.example.", "a..example", "bücher.EXAMPLE",
    ],
)  # fmt: skip
def test_a_name_that_is_none_of_dns_is_not_looked_up_there(name: str) -> None:
    assert owner_name(name) is None


@pytest.mark.parametrize("label", ["bücher", "ab"])
@pytest.mark.parametrize("stop", ["\u3002", "\uff0e", "\uff61"])
def test_a_name_that_idna_writes_as_another_one_is_not_looked_up_there(label: str, stop: str) -> None:
    name = f"{label}{stop}example"
    assert is_host_name(idna.encode(name, std3_rules=True).decode()), "IDNA takes these for full stops"
    assert owner_name(name) is None
