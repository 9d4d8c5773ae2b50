"""A safe reader for YAML written by others: strings, lists and mappings only."""

from collections.abc import Hashable
from typing import Any, Final

import yaml
from yaml.composer import ComposerError
from yaml.constructor import ConstructorError
from yaml.scanner import ScannerError

MAX_DEPTH: Final = 16
"""Levels of nesting; two or three are needed.

PyYAML's time grows with the square of the depth: 16 kB of brackets took four seconds.
"""
_TOO_DEEP: Final = f"nested deeper than {MAX_DEPTH} levels"


class Strings(yaml.BaseLoader):
    """Reads every scalar as a string, and refuses aliases: neither types nor repetitions are needed."""

    _depth = 0

    def fetch_flow_collection_start(self, token_class: type[yaml.Token]) -> None:
        """Raises yaml.YAMLError at brackets nested deeper than `MAX_DEPTH`: the scanner reads ahead of the composer."""
        if self.flow_level >= MAX_DEPTH:
            raise ScannerError(problem=_TOO_DEEP, problem_mark=self.get_mark())
        super().fetch_flow_collection_start(token_class)

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Raises yaml.YAMLError at an alias, and at anything nested deeper than `MAX_DEPTH`."""
        if self.check_event(yaml.AliasEvent):
            raise self._fault("aliases are not taken")
        is_collection = self.check_event(yaml.CollectionStartEvent)
        if is_collection and self._depth == MAX_DEPTH:
            raise self._fault(_TOO_DEEP)
        self._depth += is_collection
        node = super().compose_node(parent, index)
        self._depth -= is_collection
        return node

    def _fault(self, problem: str) -> ComposerError:
        place = self.peek_event().start_mark  # type: ignore[no-untyped-call]
        return ComposerError(problem=problem, problem_mark=place)


class UniqueStrings(Strings):
    """The same, and a name may be in a mapping only once (YAML 1.2.2 §3.2.1.3); PyYAML itself keeps the last one."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """Raises yaml.YAMLError at the second of two equal names."""
        seen: set[str] = set()
        for name, _ in node.value:
            if isinstance(name, yaml.ScalarNode):
                if name.value in seen:
                    raise ConstructorError(problem="a name occurs twice", problem_mark=name.start_mark)
                seen.add(name.value)
        return super().construct_mapping(node, deep)


# ValueError and OverflowError: an escape such as "\U00110000" that is not a character; bytes that are not text.
FAULTS: Final = (yaml.YAMLError, ValueError, OverflowError, RecursionError)
"""The exceptions of the loaders for invalid YAML."""
