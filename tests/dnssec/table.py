"""The whole proving ground: every zone and every case."""

from tests.dnssec import algorithms, answers, damage, key_states, limits
from tests.dnssec.recipe import Recipe

RECIPES = (
    Recipe("."),
    # Where all name servers are; nobody asks them there.
    Recipe("example.", "ns A 127.0.0.1\n"),
    *answers.RECIPES,
    *algorithms.RECIPES,
    *key_states.RECIPES,
    *damage.RECIPES,
    *limits.RECIPES,
)
SECTIONS = {
    "Answers": answers.CASES,
    "Algorithms": algorithms.CASES,
    "Keys and DS": key_states.CASES,
    "Damage": damage.CASES,
    "Iterations": limits.CASES,
}
CASES = {case.label: case for cases in SECTIONS.values() for case in cases}
