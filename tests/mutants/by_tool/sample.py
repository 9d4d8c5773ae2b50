"""A sample of the faults that cosmic-ray can put into the library, drawn with a seed."""

import ast
import difflib
import random
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final, NamedTuple

import cosmic_ray.plugins
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.operator import Operator
from parso.tree import NodeOrLeaf
from tests.mutants.by_tool.checks import ExchangeChecks, LeaveOutCheck
from tests.mutants.by_tool.record import Fault
from tests.mutants.listed import ROOT
from tests.mutants.played import LIBRARY

PACKAGES: Final = ("protocols/dcp", "names/ens", "names/dnssec", "net", "pipeline", "http")
_OWN: Final = {"ExchangeChecks": ExchangeChecks, "LeaveOutCheck": LeaveOutCheck}
# Comparisons, bounds and conditions: what decides whether something is accepted.
_KINDS: Final = (
    "ReplaceComparisonOperator", "NumberReplacer", "AddNot", "ReplaceTrueWithFalse", "ReplaceFalseWithTrue",
    "ReplaceAndWithOr", "ReplaceOrWithAnd", "ReplaceUnaryOperator_Delete_Not",
)  # fmt: skip
# Both say the same of what is compared so here: None, members of enums, single objects.
_SAME: Final = ("_Is_Eq", "_IsNot_NotEq", "_Eq_Is", "_NotEq_IsNot")


class Place(NamedTuple):
    """A place at which operators of one kind make faults: the operators' names, each with its occurrence there.

    `is_text`: it is within the text of an f-string, such as that of an error.
    """

    path: str
    start: tuple[int, int]
    kind: str
    made_by: tuple[tuple[str, int], ...]
    is_text: bool


@cache
def operators() -> Mapping[str, Operator]:
    """The operators by name."""
    theirs = {name.partition("/")[2]: name for name in cosmic_ray.plugins.operator_names()}
    found: dict[str, Operator] = {
        short: cosmic_ray.plugins.get_operator(name)()
        for short, name in sorted(theirs.items())
        if short.startswith(_KINDS) and not short.endswith(_SAME)
    }
    return {**found, **{name: operator() for name, operator in _OWN.items()}}


def check_operators() -> None:
    """Check our own operators by their examples. Raises AssertionError."""
    for operator in _OWN.values():
        for example in operator.examples():
            made = mutate_code(example.pre_mutation_code, operator(), example.occurrence)
            assert made == example.post_mutation_code, f"{operator.__name__} made {made!r}"


def places() -> list[Place]:
    """All places in the packages."""
    folder = ROOT / LIBRARY / "postroom"
    paths = [path for package in PACKAGES for path in sorted((folder / package).rglob("*.py"))]
    return [place for path in paths for place in _places(str(path.relative_to(ROOT)))]


def sample(every: list[Place], count: int, seed: int) -> list[Fault]:
    """So many faults, each at another place outside of texts; the seed also says which of those possible there."""
    drawn = random.Random(seed)
    found: list[Fault] = []
    for place in drawn.sample(every, len(every)):
        if len(found) == count:
            break
        made = [_fault(place.path, name, at) for name, at in drawn.sample(place.made_by, len(place.made_by))]
        found += [fault for fault in made if fault is not None and not place.is_text][:1]
    return sorted(found)


def _places(path: str) -> Iterator[Place]:
    nodes = list(ast_nodes(get_ast(_source(path))))
    declared = [(node.start_pos, node.end_pos) for node in nodes if _is_declaration(node)]
    texts = [(node.start_pos, node.end_pos) for node in nodes if node.type == "fstring"]
    found: dict[tuple[tuple[int, int], str], list[tuple[str, int]]] = {}
    for name, operator in operators().items():
        positions = (position for node in nodes for position in operator.mutation_positions(node))
        for occurrence, (start, _) in enumerate(positions):
            found.setdefault((start, name.partition("_")[0]), []).append((name, occurrence))
    for (start, kind), made_by in sorted(found.items()):
        if not any(first <= start < end for first, end in declared):
            yield Place(path, start, kind, tuple(made_by), any(first <= start < end for first, end in texts))


def _is_declaration(node: NodeOrLeaf) -> bool:
    """Whether a part of the source is a decorator, as `dataclass(slots=True)`, or the `strict` of a zip.

    They decide about no input: they find mistakes in our own code earlier.
    """
    return node.type == "decorator" or (node.type == "argument" and node.get_first_leaf().value == "strict")


def _fault(path: str, operator: str, occurrence: int) -> Fault | None:
    """The fault that an operator makes; None: the code says the same with it, or is no Python."""
    source = _source(path)
    code = mutate_code(source, operators()[operator], occurrence)
    try:
        if ast.dump(ast.parse(code)) == ast.dump(ast.parse(source)):
            return None
    except SyntaxError:
        return None
    before, after = source.split("\n"), code.split("\n")
    changes = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    parts = [change for change in changes if change[0] != "equal"]
    (_, first, _, its_first, _), (_, _, last, _, its_last) = parts[0], parts[-1]
    return Fault(path, first + 1, operator, tuple(before[first:last]), tuple(after[its_first:its_last]))


@cache
def _source(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")
