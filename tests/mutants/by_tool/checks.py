"""Two operators for cosmic-ray: a check that is left out, and two checks in the other order."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final

import parso
from cosmic_ray.operators.operator import Example, Operator
from parso.tree import NodeOrLeaf

Position = tuple[int, int]
_ENDS: Final = ("raise_stmt", "return_stmt", "continue_stmt", "break_stmt")


def is_check(node: NodeOrLeaf) -> bool:
    """Whether a statement is an `if` without `else` that ends the block, or a call of `check_…`, alone on its line."""
    if node.type == "if_stmt":
        return len(node.children) == 4 and _ends_its_block(node.children[3])
    return node.type == "simple_stmt" and _called(node).lstrip("_").startswith("check")


def _ends_its_block(suite: NodeOrLeaf) -> bool:
    last = suite.children[-1] if suite.type == "suite" else suite
    first = last.children[0] if last.type == "simple_stmt" else last
    return first.type in _ENDS or first.get_code().strip() in ("return", "continue", "break", "raise")


def _called(statement: NodeOrLeaf) -> str:
    """The last name of what an expression statement calls; empty: it is no call."""
    expression = statement.children[0]
    if expression.type not in ("atom_expr", "power") or not expression.children[-1].get_code().startswith("("):
        return ""
    return str(expression.children[-2].get_code().strip().lstrip("."))


def _calls(node: NodeOrLeaf) -> list[int]:
    """The places of the checks of a block that are calls."""
    return [place for place, each in enumerate(_block(node)) if each.type == "simple_stmt" and is_check(each)]


def _pairs(node: NodeOrLeaf) -> list[int]:
    """The places of the checks of a block that have another one behind them."""
    checks = [is_check(each) for each in _block(node)]
    return [place for place, (first, second) in enumerate(pairwise(checks)) if first and second]


def _block(node: NodeOrLeaf) -> Sequence[NodeOrLeaf]:
    return node.children if node.type in ("suite", "file_input") else ()


class LeaveOutCheck(Operator):
    """Leave out a call of `check_…`. (cosmic-ray's own operators do so with an `if`.)"""

    def mutation_positions(self, node: NodeOrLeaf) -> Iterable[tuple[Position, Position]]:
        """The positions of the calls in a block."""
        return [(node.children[place].start_pos, node.children[place].end_pos) for place in _calls(node)]

    def mutate(self, node: NodeOrLeaf, index: int) -> NodeOrLeaf:
        """The block without one of its calls."""
        place = _calls(node)[index]
        indentation = node.children[place].get_first_leaf().prefix
        node.children[place] = parso.parse(f"{indentation}pass\n")
        return node

    @classmethod
    def examples(cls) -> Iterator[Example]:
        """Before and after."""
        yield Example("def f(a):\n    check_a(a)\n    return a\n", "def f(a):\n    pass\n    return a\n")
        yield Example("def f(a):\n    await b.c._check(a)\n", "def f(a):\n    pass\n")


class ExchangeChecks(Operator):
    """Put two checks, one after the other, in the other order."""

    def mutation_positions(self, node: NodeOrLeaf) -> Iterable[tuple[Position, Position]]:
        """The positions of the pairs in a block."""
        return [(node.children[place].start_pos, node.children[place + 1].end_pos) for place in _pairs(node)]

    def mutate(self, node: NodeOrLeaf, index: int) -> NodeOrLeaf:
        """The block with one of its pairs exchanged."""
        place = _pairs(node)[index]
        node.children[place : place + 2] = reversed(node.children[place : place + 2])
        return node

    @classmethod
    def examples(cls) -> Iterator[Example]:
        """Before and after."""
        first, second = "    if a:\n        raise A\n", "    if b:\n        c()\n        return\n"
        yield Example(f"def f():\n{first}{second}", f"def f():\n{second}{first}")
