"""What a tier plays in its turn: in successive rotations everything, and something in each."""

import pytest
from tests.faults.rotation import TURNS, Share, part
from tests.tiers import Tier

QUICK, ALL = TURNS[Tier.QUICK], TURNS[Tier.ALL]
DEATHS, OTHERS = [f"die {number}" for number in range(11)], [f"throttled {number}" for number in range(70)]


@pytest.mark.parametrize("turns", [1, 4, 8, 16])
@pytest.mark.parametrize("first", [0, 3, 20_780])
def test_successive_rotations_play_everything_once(first: int, turns: int) -> None:
    for number in range(200):
        every = list(range(number))
        played = [part(every, turns, rotation) for rotation in range(first, first + turns)]
        assert set().union(*played) == set(every)
        assert sum(map(len, played)) == max(number, turns if number else 0)
        assert all(one == sorted(one) for one in played)


def test_several_parts_are_those_of_the_next_rotations() -> None:
    every = list(range(50))
    for count in range(1, 5):
        next_ones = set().union(*(part(every, 4, rotation) for rotation in range(7, 7 + count)))
        assert set(part(every, 4, 7, count)) == next_ones
    assert part(every, 4, 7, 4) == every


def test_each_rotation_plays_a_death_and_something_else_of_each_flow() -> None:
    for rotation in range(16):
        for number in range(1, 50):
            played = Share(Tier.ALL, rotation).of(range(number), range(100, 100 + number))
            assert min(played) < 100 <= max(played)
    assert Share(Tier.ALL, 3).of([], []) == []


def test_all_plays_every_flow_and_a_quarter_of_its_deaths_and_of_the_rest() -> None:
    for rotation in range(ALL):
        share = Share(Tier.ALL, rotation)
        assert share.flows(OTHERS) == OTHERS
        assert share.of(DEATHS, OTHERS) == [*part(DEATHS, ALL, rotation), *part(OTHERS, ALL, rotation)]
        more = Share(Tier.ALL, rotation, quarters=3).of(DEATHS, OTHERS)
        assert set(share.of(DEATHS, OTHERS)) < set(more) < {*DEATHS, *OTHERS}
    assert Share(Tier.ALL, 1, quarters=ALL).of(DEATHS, OTHERS) == [*DEATHS, *OTHERS]


def test_quick_plays_an_eighth_of_the_flows_and_in_64_rotations_everything_of_each() -> None:
    flows = [f"flow {number}" for number in range(20)]
    played: dict[str, set[str]] = {flow: set() for flow in flows}
    for rotation in range(1_000, 1_000 + QUICK * QUICK):
        share = Share(Tier.QUICK, rotation)
        assert 2 <= len(share.flows(flows)) <= 3
        assert len(share.of(DEATHS, OTHERS)) <= (len(DEATHS) + len(OTHERS)) / QUICK + 2
        for flow in share.flows(flows):
            played[flow] |= set(share.of(DEATHS, OTHERS))
    assert all(strikes == {*DEATHS, *OTHERS} for strikes in played.values())


def test_long_runs_take_more_turns_and_are_all_played_too() -> None:
    longer = [Share(Tier.ALL, rotation).of(DEATHS, OTHERS, longer=4) for rotation in range(4 * ALL)]
    assert set().union(*longer) == {*DEATHS, *OTHERS}
    assert max(map(len, longer)) <= (len(DEATHS) + len(OTHERS)) / ALL / 4 + 2


def test_all_quarters_of_what_changed_have_the_long_runs_whole_too() -> None:
    assert Share(Tier.ALL, 1, quarters=ALL).of(DEATHS, OTHERS, longer=4) == [*DEATHS, *OTHERS]


def test_proof_plays_everything() -> None:
    share = Share(Tier.PROOF, 5)
    assert share.flows(OTHERS) == OTHERS
    assert share.of(DEATHS, OTHERS, longer=4) == [*DEATHS, *OTHERS]
