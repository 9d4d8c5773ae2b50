"""Reading YAML that others wrote: strings, lists and mappings, and nothing that could go off."""

from collections.abc import Hashable
from typing import Any, Final

import yaml
from yaml.composer import ComposerError
from yaml.constructor import ConstructorError
from yaml.scanner import ScannerError

MAX_FLOW_DEPTH: Final = 32
"""Brackets and braces within each other. For each token PyYAML looks at every one that is open: 16 kB of nothing else
took four seconds."""


class Strings(yaml.BaseLoader):
    """Every scalar is a string, and aliases are refused: neither types nor repetitions are needed."""

    def fetch_flow_collection_start(self, token_class: type[yaml.Token]) -> None:
        """Raises yaml.YAMLError where brackets and braces are nested too deeply."""
        if self.flow_level >= MAX_FLOW_DEPTH:
            place = self.get_mark()
            raise ScannerError(problem="nested too deeply", problem_mark=place)
        super().fetch_flow_collection_start(token_class)

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Raises yaml.YAMLError at an alias."""
        if self.check_event(yaml.AliasEvent):
            place = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise ComposerError(problem="aliases are not taken", problem_mark=place)
        return super().compose_node(parent, index)


class UniqueStrings(Strings):
    """The same, where a name stands once in its mapping (YAML 1.2.2 §3.2.1.3); PyYAML itself keeps the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """Raises yaml.YAMLError at the second of two equal names."""
        seen: set[str] = set()
        for name, _ in node.value:
            if isinstance(name, yaml.ScalarNode):
                if name.value in seen:
                    raise ConstructorError(problem="a name occurs twice", problem_mark=name.start_mark)
                seen.add(name.value)
        return super().construct_mapping(node, deep)


# ValueError and OverflowError: an escape such as "\U00110000" that is no character; bytes that are no text.
FAULTS: Final = (yaml.YAMLError, ValueError, OverflowError, RecursionError)
"""What the loaders raise at what is no plain YAML."""
