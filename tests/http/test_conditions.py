"""If-Match and If-None-Match (RFC 9110 §13.1): no change gets lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.api.reasons import CHANGED_MEANWHILE, MATCH_NEEDED, NOT_A_REQUEST
from postroom.core.errors import TheirError
from postroom.core.reason import Reason
from postroom.http.conditions import check_match, check_write

A, B = '"a"', '"b"'


def refusal(headers: dict[str, str], etag: str | None) -> Reason | None:
    try:
        check_write(headers, etag)
    except TheirError as error:
        return error.reason
    return None


@pytest.mark.parametrize(
    ("headers", "etag"),
    [
        ({"if-match": A}, A),
        ({"if-match": f"{B}, {A}"}, A),
        ({"if-match": f"{B}\t,{A} "}, A),
        ({"if-match": "*"}, A),
        ({"if-match": '"a,b"'}, '"a,b"'),
        ({"if-none-match": "*"}, None),
        ({"if-none-match": " * "}, None),
        ({"if-match": A, "if-none-match": B}, A),
    ],
)
def test_a_write_with_the_current_etag_is_allowed(headers: dict[str, str], etag: str | None) -> None:
    assert refusal(headers, etag) is None


@pytest.mark.parametrize(
    ("headers", "etag"),
    [
        ({"if-match": B}, A),
        ({"if-match": A}, None),
        ({"if-match": "*"}, None),
        # RFC 9110 §13.1.1: by strong comparison, and a weak tag is none.
        ({"if-match": f"W/{A}"}, A),
        ({"if-match": f"W/{A}, {B}"}, A),
        ({"if-match": '"a,b"'}, A),
        ({"if-none-match": "*"}, A),
        ({"if-match": A, "if-none-match": "*"}, A),
        ({"if-match": A, "if-none-match": "*"}, None),
    ],
)
def test_a_write_with_another_etag_is_refused(headers: dict[str, str], etag: str | None) -> None:
    assert refusal(headers, etag) is CHANGED_MEANWHILE


@pytest.mark.parametrize("headers", [{}, {"if-none-match": A}, {"if-none-match": f"{A}, *"}, {"if-unmodified": "now"}])
@pytest.mark.parametrize("etag", [A, None])
def test_a_write_without_a_condition_is_refused(headers: dict[str, str], etag: str | None) -> None:
    assert refusal(headers, etag) is MATCH_NEEDED


@pytest.mark.parametrize(
    "header",
    ["", "a", '"a', 'a"', '"a" "b"', '"a",', ',"a"', '"a",,"b"', 'w/"a"', '"\n"', '"é"', '*, "a"', "**", '"a"' * 5000],
)
def test_an_invalid_condition_is_refused(header: str) -> None:
    for check in (check_match, check_write):
        with pytest.raises(TheirError) as caught:
            check({"if-match": header}, A)
        assert caught.value.reason is NOT_A_REQUEST


TAGS = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E, exclude_characters='"')).map(lambda it: f'"{it}"')


@given(tags=st.lists(TAGS, min_size=1, max_size=5), etag=TAGS, space=st.sampled_from([",", ", ", " ,\t"]))
def test_a_list_matches_only_its_etags(tags: list[str], etag: str, space: str) -> None:
    found = refusal({"if-match": space.join(tags)}, etag)
    assert found is (None if etag in tags else CHANGED_MEANWHILE)


@given(st.text())
def test_any_header_is_a_condition_or_refused(header: str) -> None:
    assert refusal({"if-match": header}, A) in (None, CHANGED_MEANWHILE, NOT_A_REQUEST)
