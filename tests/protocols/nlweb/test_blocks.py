"""Whom an owner does not let in, and how that is written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.core.errors import TheirError
from postroom.protocols.nlweb.blocks import is_blocked, read_block
from postroom.protocols.nlweb.names import MAX_NAME
from postroom.protocols.nlweb.reasons import WRONG_SHAPE

WALLET = "125a5c75-cb72-43d2-9695-37026dfcaa48"
LABEL = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?", fullmatch=True).filter(lambda it: not it.isdigit())
NAMES = st.lists(LABEL, min_size=2, max_size=5).map(".".join)


@pytest.mark.parametrize(
    ("text", "block"),
    [
        ("spam.com", "spam.com"),
        ("Spam.COM.", "spam.com"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("*.Spam.com", "*.spam.com"),
        ("*.Bücher.example.", "*.xn--bcher-kva.example"),
        ("*.example", "*.example"),
        (WALLET.upper(), WALLET),
    ],
)
def test_a_block_is_normalized(text: str, block: str) -> None:
    assert read_block(text) == block
    assert read_block(block) == block


@pytest.mark.parametrize(
    "text",
    [
        "", "*", "*.", "**.com", "*.*.com", "a.*.com", "*com", "com", "10.0.0.1", "a b.com", "a@b.com", "\u212a.com ",
        "*." + "a." * 127 + "com", f"{WALLET}0", "*.a..com", "\ud800.com",
    ],
    ids=repr,
)  # fmt: skip
def test_an_invalid_block_is_refused(text: str) -> None:
    with pytest.raises(TheirError) as caught:
        read_block(text)
    assert caught.value.reason is WRONG_SHAPE


@given(st.text(max_size=MAX_NAME))
def test_any_text_is_a_normalized_block_or_refused(text: str) -> None:
    try:
        block = read_block(text)
    except TheirError:
        return
    assert read_block(block) == block


@pytest.mark.parametrize(
    ("sender", "block", "blocked"),
    [
        ("spam.com", "spam.com", True),
        ("mail.spam.com", "spam.com", False),
        ("spam.com", "*.spam.com", True),
        ("mail.spam.com", "*.spam.com", True),
        ("a.b.mail.spam.com", "*.spam.com", True),
        ("notspam.com", "*.spam.com", False),
        ("spam.com.evil.com", "*.spam.com", False),
        ("com.spam", "*.com", False),
        ("anybody.com", "*.com", True),
        (WALLET, WALLET, True),
        (WALLET, "*.com", False),
    ],
)
def test_a_block_matches_a_domain_and_with_a_star_all_below_it(sender: str, block: str, blocked: bool) -> None:
    assert is_blocked(sender, {block}) is blocked
    assert not is_blocked(sender, frozenset())


@given(NAMES, st.lists(LABEL, max_size=3))
def test_a_branch_matches_every_name_below_and_a_domain_only_itself(domain: str, below: list[str]) -> None:
    name = ".".join([*below, domain])
    assert is_blocked(name, {f"*.{domain}"})
    assert is_blocked(name, {domain}) is (name == domain)
