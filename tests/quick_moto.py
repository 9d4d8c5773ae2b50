"""moto, without the work that it does again for each call although it comes to the same each time.

Most tests call AWS in memory, and a call of moto takes milliseconds. For each, it looks up the methods of a class, the
URLs of a service and the names of members, reads update expressions anew, and walks through them by checks of abstract
classes. Here, what depends on nothing else is remembered, and the walk takes the same steps by other means. What is
answered and what is stored stay the same: tests/test_quick_moto.py.
"""

import copy
import itertools
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from moto import backend_index
from moto.core import responses, serialize
from moto.core.base_backend import BaseBackend
from moto.dynamodb.parsing.ast_nodes import DepthFirstTraverser, Expression, Node, UpdateExpressionFunction
from moto.dynamodb.parsing.expressions import UpdateExpressionParser
from moto.utilities import aws_headers

SERVICES = ("dynamodb", "s3", "sqs", "secretsmanager")
"""Those that the tests call."""
_numbers = itertools.count(1)


# ---- update expressions ---------------------------------------------------------------------------------------------
@cache
def _is_kind(type_: type, kinds: tuple[type, ...]) -> bool:
    return issubclass(type_, kinds)


def _copied(self: Any, memo: dict[int, Any]) -> Any:
    """Copy a node with all below it, as `copy.deepcopy` does by way of `__reduce_ex__`."""
    made = memo[id(self)] = object.__new__(type(self))
    made.__dict__.update({name: copy.deepcopy(value, memo) for name, value in vars(self).items()})
    return made


def _traversed(self: Any, root: Any) -> Any:
    """See DepthFirstTraverser.traverse: the children first, in their order."""
    kinds = self.nodes_to_be_processed()
    processors = self._processing_map().items()
    before_child = self.pre_processing_of_child
    has_hook = type(self).pre_processing_of_child is not DepthFirstTraverser.pre_processing_of_child

    def visit(node: Any, child_id: int = -1) -> Any:
        type_ = type(node)
        if not _is_kind(type_, (Node,)):
            return node
        parent = node.parent
        for number, child in enumerate(node.children or ()):
            if has_hook:
                before_child(node, number)
            visit(child, number)
        if _is_kind(type_, kinds):
            node = next((process(node) for kind, process in processors if _is_kind(type_, (kind,))), None)
            node.parent = parent
            if parent:
                parent.children[child_id] = node
        return node

    return visit(root)


def _clauses(self: Any, clause_types: list[type]) -> list[Any]:
    """See Node.find_clauses."""
    found = []
    for child in self.children or ():
        if type(child) in clause_types:
            found.append(child)
        elif _is_kind(type(child), (Expression, UpdateExpressionFunction)):
            found.extend(_clauses(child, clause_types))
    return found


# ---- answers --------------------------------------------------------------------------------------------------------
_keys: dict[Any, tuple[str, ...]] = {}


def _remembering(possible_keys: Callable[[Any, Any], Iterator[str]]) -> Callable[[Any, Any], Iterator[str]]:
    """The names under which a member may be found: of a dict, they depend on the description of the service alone."""

    def remembered(self: Any, context: Any) -> Iterator[str]:
        if type(context.obj) is not dict:
            return possible_keys(self, context)
        shape = context.shape
        key = (possible_keys, *self.alias_providers, context.key, shape, getattr(shape, "parent", None))
        if key not in _keys:
            # A name that was looked for is not there the second time, either.
            _keys[key] = tuple(dict.fromkeys(possible_keys(self, context)))
        return iter(_keys[key])

    return remembered


def _note_request_id(headers: dict[str, Any] | None = None) -> str:
    """See gen_amzn_requestid_long: a number instead of 52 random letters."""
    request_id = f"{next(_numbers):052d}"
    if headers is not None:
        headers["x-amzn-requestid"] = request_id
    return request_id


# ---- which service is called ----------------------------------------------------------------------------------------
_build_urls: Any = BaseBackend.urls
_urls: dict[Any, dict[str, Any]] = {}


def _remembered_urls(self: Any) -> dict[str, Any]:
    key = (type(self), *self.url_bases)
    if key not in _urls:
        _urls[key] = _build_urls.fget(self)
    return _urls[key]


_patterns = sorted(backend_index.backend_url_patterns, key=lambda each: each[0] not in SERVICES)
"""The patterns of URLs, first those of SERVICES: no other one fits their URLs."""

QUICKER: tuple[tuple[Any, str, Any], ...] = (
    (responses, "method_names_from_class", cache(responses.method_names_from_class)),
    (responses, "camelcase_to_underscores", cache(responses.camelcase_to_underscores)),
    (backend_index, "backend_url_patterns", _patterns),
    (BaseBackend, "urls", property(_remembered_urls)),
    # Its callers change copies only.
    (UpdateExpressionParser, "make", cache(UpdateExpressionParser.make)),
    (Node, "__deepcopy__", _copied),
    (Node, "find_clauses", _clauses),
    (DepthFirstTraverser, "traverse", _traversed),
    (serialize.AttributePicker, "get_possible_keys", _remembering(serialize.AttributePicker.get_possible_keys)),
    (
        serialize.XFormedAttributePicker, "get_possible_keys",
        _remembering(serialize.XFormedAttributePicker.get_possible_keys),
    ),
    (aws_headers, "gen_amzn_requestid_long", _note_request_id),
)  # fmt: skip
"""What is replaced in moto, each with what replaces it."""
ORIGINALS = tuple((owner, name, vars(owner).get(name)) for owner, name, _ in QUICKER)
"""The same with what was there before, if anything."""


@cache
def quicken() -> None:
    """Let moto answer sooner in this process from now on."""
    for owner, name, value in QUICKER:
        setattr(owner, name, value)
