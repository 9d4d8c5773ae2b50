"""The list of all zones and all cases."""

from tests.dnssec import algorithms, amounts, anchors, answers, compact, damage, key_states, limits
from tests.dnssec.ds import ds_of_each
from tests.dnssec.recipe import Recipe

RECIPES = (
    Recipe(".", anchor=ds_of_each),
    # Where all name servers are; nobody asks them there.
    Recipe("example.", "ns A 127.0.0.1\n"),
    *answers.RECIPES,
    *compact.RECIPES,
    *algorithms.RECIPES,
    *key_states.RECIPES,
    *anchors.RECIPES,
    *damage.RECIPES,
    *limits.RECIPES,
    *amounts.RECIPES,
)
SECTIONS = {
    "Answers": answers.CASES,
    "Answers signed when they are asked for": compact.CASES,
    "Algorithms": algorithms.CASES,
    "Keys and DS": key_states.CASES,
    "Anchors": anchors.CASES,
    "Damage": damage.CASES,
    "Iterations": limits.CASES,
    "Amounts": amounts.CASES,
}
CASES = {case.label: case for cases in SECTIONS.values() for case in cases}
