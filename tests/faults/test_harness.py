"""The harness has teeth: it finds each thing that is broken on purpose, and no death is dropped that is another."""

import pytest
from tests.faults.broken import AT_LEAST, VARIANTS
from tests.faults.conftest import Played, play
from tests.tiers import Tier, amount, tier

pytestmark = pytest.mark.stack(tier="quick")


@pytest.fixture(scope="module")
def broken() -> Played:
    """What is found in broken variants of the post office."""
    return play("--broken", *amount(quick=AT_LEAST, all=tuple(VARIANTS), proof=tuple(VARIANTS)))


@pytest.mark.parametrize(
    "variant",
    [pytest.param(name, marks=() if name in AT_LEAST else pytest.mark.stack(tier="all")) for name in VARIANTS],
)
def test_the_harness_finds_what_is_broken(broken: Played, variant: str) -> None:
    found = [line for line in broken.said.splitlines() if line.startswith(f"{variant}: ")]
    assert [line for line in found if VARIANTS[variant].finds in line], broken
    if VARIANTS[variant].by_fault:
        assert not [line for line in found if ", undisturbed: " in line], broken


@pytest.mark.stack(tier="all")
def test_a_death_that_is_dropped_leaves_what_its_like_leaves(request: pytest.FixtureRequest) -> None:
    turn = ("--tier", tier(), "--rotation", str(request.config.option.rotation))
    dropped = play("--dropped", *(() if tier() is Tier.PROOF else turn))
    assert dropped.code == 0, dropped
    assert "the same" in dropped.said
