"""The hash in the URL of a profile (dm3 §2.1; settlement of the known answers in `names.json`)."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.core.canonical import stringify
from postroom.core.errors import TheirError
from postroom.protocols.dm3.profile import MAX_URI_BYTES
from postroom.protocols.dm3.profile_hash import check_profile_hash, read_profile_hash, url_with_hash
from postroom.protocols.dm3.reasons import PROFILE_INVALID

KNOWN: dict[str, Any] = json.loads((Path(__file__).parents[2] / "vectors" / "names.json").read_bytes())["dm3_hash"]
SERVED: bytes = KNOWN["served"].encode()
HASH = KNOWN["sha256_of_bytes"]
URL = "https://p.example/x"
# Where the fault is not in the hash, but in the rest of the URL.
OF_THE_URL = {url for url in KNOWN["refused"] if url.startswith("http:") or "user:pw@" in url or "127.0.0.1" in url}


def fits(url: str, document: bytes) -> bool:
    try:
        check_profile_hash(document, read_profile_hash(url))
    except TheirError as error:
        assert error.reason is PROFILE_INVALID  # noqa: PT017 - either is right
        return False
    return True


@pytest.mark.parametrize("url", KNOWN["taken"])
def test_the_hash_is_of_the_bytes_or_of_the_json_in_order_in_any_case_with_or_without_0x(url: str) -> None:
    assert fits(url, SERVED)


@pytest.mark.parametrize("url", sorted(set(KNOWN["refused"]) - OF_THE_URL))
def test_a_url_without_the_right_hash_is_refused(url: str) -> None:
    assert not fits(url, SERVED)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        (URL, "no parameters dm3Hash"),
        (f"{URL}?", "no parameters"),
        (f"{URL}?dm3Hash", "not SHA-256"),
        (f"{URL}?dm3Hash=", "not SHA-256"),
        (f"{URL}?dm3hash={HASH}", "no parameters"),
        (f"{URL}?dm3Hash={HASH}0", "not SHA-256"),
        (f"{URL}?dm3Hash={HASH[:-1]}g", "not SHA-256"),
        (f"{URL}?dm3Hash=%30x{HASH}", "not SHA-256"),
        (f"{URL}?dm3Hash={HASH}&dm3Hash={HASH}", "2 parameters"),
        (f"{URL}?dm3Hash={HASH}&dm3Hash", "2 parameters"),
        (f"{URL}?dm3Hash={HASH}&%64m3%48ash={HASH}", "2 parameters"),
        (f"{URL}#dm3Hash={HASH}", "no parameters"),
        (f"{URL}#?dm3Hash={HASH}", "no parameters"),
        (f"{URL}/dm3Hash={HASH}", "no parameters"),
    ],
)
def test_there_is_exactly_one_hash_and_it_is_in_the_query(url: str, why: str) -> None:
    with pytest.raises(TheirError, match=why):
        read_profile_hash(url)


def test_a_fragment_means_nothing() -> None:
    assert fits(f"{URL}?dm3Hash={HASH}#dm3Hash={HASH}", SERVED)


@given(st.binary(max_size=60))
def test_any_document_fits_the_hash_of_its_bytes_and_no_other(document: bytes) -> None:
    check_profile_hash(document, sha256(document).digest())
    with pytest.raises(TheirError, match="not the one that dm3Hash says"):
        check_profile_hash(document, sha256(document + b"!").digest())


@given(st.dictionaries(st.text(max_size=9), st.integers(-9, 9) | st.floats(allow_nan=False, allow_infinity=False)))
def test_any_object_fits_the_hash_of_its_json_in_order(value: dict[str, Any]) -> None:
    served = json.dumps(dict(reversed(value.items())), indent=1).encode()
    check_profile_hash(served, sha256(stringify(value)).digest())


def test_a_document_that_is_too_long_or_no_json_does_not_fit_the_hash_of_nothing() -> None:
    nothing = sha256(b"").digest()
    check_profile_hash(b"", nothing)
    for document in (b"{", b'{"a":1,"a":1}', b"\xff", b" " * MAX_URI_BYTES + b"{}"):
        with pytest.raises(TheirError):
            check_profile_hash(document, nothing)


# --- to publish --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("url", [URL, f"{URL}?", f"{URL}?a=1&b", "https://p.example"])
def test_the_url_to_publish_has_the_hash_of_the_document_that_is_served(url: str) -> None:
    assert fits(url_with_hash(url, SERVED), SERVED)


@pytest.mark.parametrize("url", [f"{URL}?dm3Hash={HASH}", f"{URL}#x", f"{URL}#"])
def test_no_second_hash_is_added_and_none_behind_a_fragment(url: str) -> None:
    with pytest.raises(TheirError, match="has a fragment, or dm3Hash already"):
        url_with_hash(url, SERVED)
