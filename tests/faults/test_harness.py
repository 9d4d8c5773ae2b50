"""The harness has teeth: it finds each thing that is broken on purpose, and no death is dropped that is another."""

import pytest
from tests.faults.broken import VARIANTS
from tests.faults.conftest import Played, play
from tests.faults.rotation import TURNS, part
from tests.tiers import Tier, tier

pytestmark = pytest.mark.stack(tier="quick")


def variants(config: pytest.Config) -> list[str]:
    """The variants of this tier and rotation."""
    return part(list(VARIANTS), TURNS[tier()], config.option.rotation)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "variant" in metafunc.fixturenames:
        metafunc.parametrize("variant", variants(metafunc.config))


@pytest.fixture(scope="module")
def broken(request: pytest.FixtureRequest) -> Played:
    """What is found in broken variants of the post office."""
    return play("--broken", *variants(request.config))


def test_the_harness_finds_what_is_broken(broken: Played, variant: str) -> None:
    found = [line for line in broken.said.splitlines() if line.startswith(f"{variant}: ")]
    assert [line for line in found if VARIANTS[variant].finds in line], broken
    if VARIANTS[variant].by_fault:
        assert not [line for line in found if ", undisturbed: " in line], broken


@pytest.mark.stack(tier="all")
def test_a_death_that_is_dropped_leaves_what_its_like_leaves(request: pytest.FixtureRequest) -> None:
    # `make proof` plays those of every flow, by suite.
    dropped = play("--dropped", "--tier", Tier.ALL, "--rotation", str(request.config.option.rotation))
    assert dropped.code == 0, dropped
    assert "the same" in dropped.said
