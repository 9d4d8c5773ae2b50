"""The places where the code of the functions calls AWS: in the source, and on the stack of a call."""

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import FrameType

HERE = Path(__file__).parent.parent.parent
LIBRARY = HERE / "layers" / "postroom" / "postroom"
PACKAGES = (*(LIBRARY / package for package in ("outbound", "pipeline", "runtime", "storage")), HERE / "functions")
OF_OTHERS = {"Manifests", "Outbound", "ProfileSource", "SenderKeys"}
"""The protocols (ports) that are not implemented with AWS; all others count as AWS."""
_CLASSES_OF_AWS = (*(LIBRARY / "storage").rglob("*.py"), LIBRARY / "runtime" / "adapters.py")
_CLIENT = "boto3.client"
_NO_CALLS = {"exceptions", "name", "to_delete", "to_put", "to_query", "to_update"}
"""The attributes of clients and tables that call nothing."""
_PORTS = (LIBRARY / "outbound" / "ports.py", LIBRARY / "pipeline" / "ports.py")


@dataclass(frozen=True, order=True)
class Place:
    """A line on the stack of a call. `name`: of the function, with its class."""

    path: str
    line: int
    name: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line} {self.name}"


@dataclass(frozen=True, order=True)
class Site:
    """An expression (`text`) that calls AWS, by a client or by an object that has one."""

    path: str
    line: int
    name: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line} {self.name}: {self.text}"

    def is_at(self, place: Place) -> bool:
        """Whether a call with `place` on its stack comes from here. A paginator calls where it is iterated."""
        here = place.name == self.name if self.text.endswith(".get_paginator") else place.line == self.line
        return here and place.path == self.path


def read_place(text: str) -> Place:
    """A place from its text."""
    path, line, name = re.split("[: ]", text, maxsplit=2)
    return Place(path, int(line), name)


def places() -> list[Place]:
    """The places of our code on the current stack, the innermost first."""
    frame: FrameType | None = sys._getframe(1)
    found = []
    while frame is not None:
        path = Path(frame.f_code.co_filename)
        if any(path.is_relative_to(package) for package in PACKAGES):
            found.append(Place(_called(path), frame.f_lineno, frame.f_code.co_qualname))
        frame = frame.f_back
    return found


def sites() -> Iterator[Site]:
    """All AWS calls in the code, and all calls of functions that make one, up to the handlers."""
    of_aws = _types_of_aws()
    for package in PACKAGES:
        for path in sorted(package.rglob("*.py")):
            for types, function in _functions(ast.parse(path.read_text(encoding="utf-8"))):
                yield from _sites_in(_called(path), types, function, of_aws)


def _called(path: Path) -> str:
    return str(path.relative_to(LIBRARY if path.is_relative_to(LIBRARY) else HERE))


def _types_of_aws() -> set[str]:
    """The types of AWS clients, the classes that have one or have such a class, and their ports."""
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in _CLASSES_OF_AWS]
    imports = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    found = {each.name for node in imports if re.fullmatch(r"mypy_boto3_\w+", node.module or "") for each in node.names}
    found.add(_CLIENT)
    declared = [node for path in _PORTS for node in ast.parse(path.read_text(encoding="utf-8")).body]
    ports = [node for node in declared if isinstance(node, ast.ClassDef)]
    found |= {node.name for node in ports if [ast.unparse(base) for base in node.bases] == ["Protocol"]} - OF_OTHERS
    classes = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    while more := {each.name for each in classes if not _is_group(each) and set(_held(each).values()) & found} - found:
        found |= more
    return found


def _functions(tree: ast.Module) -> Iterator[tuple[dict[str, str], ast.FunctionDef]]:
    """Each function, with the types of the names in it: `self._x`, its arguments, the module's clients."""
    clients = {
        target.id: _CLIENT
        for node in tree.body if isinstance(node, ast.Assign) and ast.unparse(node.value).startswith(f"{_CLIENT}(")
        for target in node.targets if isinstance(target, ast.Name)
    }  # fmt: skip
    groups = {node.name: _held(node) for node in tree.body if isinstance(node, ast.ClassDef) and _is_group(node)}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield clients | _arguments(node), node
        if isinstance(node, ast.ClassDef):
            for each in node.body:
                if isinstance(each, ast.FunctionDef):
                    each.name = f"{node.name}.{each.name}"
                    held = _held(node)
                    grouped = {
                        field.replace("self", name, 1): type_
                        for name, group in held.items()
                        for field, type_ in groups.get(group, {}).items()
                    }
                    yield clients | held | grouped | _arguments(each), each


def _sites_in(path: str, types: dict[str, str], function: ast.FunctionDef, of_aws: set[str]) -> Iterator[Site]:
    for node in ast.walk(function):
        if (
            isinstance(node, ast.Attribute)
            and node.attr not in _NO_CALLS
            and types.get(ast.unparse(node.value)) in of_aws
        ):
            yield Site(path, node.end_lineno or 0, function.name, ast.unparse(node))


def _is_group(cls: ast.ClassDef) -> bool:
    """Whether a class has only fields, so that calls are made on these."""
    return all(isinstance(each, (ast.AnnAssign, ast.Expr)) for each in cls.body)


@cache
def _classes() -> dict[str, ast.ClassDef]:
    """The classes of our code by name; each name is used in one module only."""
    paths = (path for package in PACKAGES for path in package.rglob("*.py"))
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in paths)
    return {node.name: node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}


def _held(cls: ast.ClassDef) -> dict[str, str]:
    """The types of `self.x`: fields of a dataclass, or what `__init__` assigns; including those of base classes."""
    bases = (_classes().get(ast.unparse(base)) for base in cls.bases)
    found = {name: held for base in bases if base for name, held in _held(base).items()}
    for member in cls.body:
        if isinstance(member, ast.AnnAssign):
            found[f"self.{ast.unparse(member.target)}"] = ast.unparse(member.annotation).strip("'\"")
        if isinstance(member, ast.FunctionDef) and member.name.endswith("__init__"):
            arguments = _arguments(member)
            for node in ast.walk(member):
                if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name):
                    found[ast.unparse(node.targets[0])] = arguments.get(node.value.id, "")
                elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
                    found[ast.unparse(node.targets[0])] = ast.unparse(node.value.func)
    return found


def _arguments(function: ast.FunctionDef) -> dict[str, str]:
    named = [*function.args.args, *function.args.kwonlyargs]
    return {each.arg: ast.unparse(each.annotation).strip("'\"") for each in named if each.annotation}
