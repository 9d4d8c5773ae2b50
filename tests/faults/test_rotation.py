"""What a tier plays in its turn: in four successive rotations everything, and something in each."""

import pytest
from tests.faults.rotation import TURNS, Share, quarter
from tests.tiers import Tier


@pytest.mark.parametrize("first", [0, 3, 20_780])
def test_four_successive_rotations_play_everything(first: int) -> None:
    for number in range(200):
        every = list(range(number))
        turns = [quarter(every, rotation) for rotation in range(first, first + TURNS)]
        assert set().union(*turns) == set(every)
        assert sum(map(len, turns)) == max(number, TURNS if number else 0)
        assert all(turn == sorted(turn) for turn in turns)


def test_each_rotation_plays_something_of_each_flow() -> None:
    for rotation in range(8):
        for number in range(1, 50):
            assert quarter(range(number), rotation)
        assert quarter([], rotation) == []


def test_quick_plays_a_quarter_of_the_deaths_and_all_plays_them_all_and_a_quarter_of_the_rest() -> None:
    dying, others = [f"die {number}" for number in range(8)], [f"throttled {number}" for number in range(8)]
    for rotation in range(TURNS):
        quick, large = (Share(tier, rotation).of(dying, others) for tier in (Tier.QUICK, Tier.ALL))
        assert quick == quarter(dying, rotation)
        assert large == [*dying, *quarter(others, rotation)]
        assert Share(Tier.PROOF, rotation).of(dying, others) == [*dying, *others]


def test_without_deaths_quick_plays_a_quarter_of_the_rest() -> None:
    assert Share(Tier.QUICK, 1).of([], [0, 1, 2, 3, 4]) == [1]
