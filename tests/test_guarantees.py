"""docs/guarantees.md argues from the code: what it names is there."""

import ast
import re
from pathlib import Path

import pytest

HERE = Path(__file__).parent.parent
WRITES = {
    "invoke", "post", "put_events", "put_item", "put_object", "put_secret_value", "send", "send_message",
    "transact_write_items", "update_item", "delete_item", "delete_message", "delete_object",
}  # fmt: skip
"""Calls that change something outside: of AWS's clients, of a queue, of other hosts."""
NOT_IN_THE_FLOW = {
    "store/operators.py": "what operators write",
    "store/secret.py": "the same: keys are made by them",
    "store/segments.py Objects.replace": "the same: the registry's document",
    "store/mailboxes.py": "what operators and owners set: whoever was not answered sets it again",
    "store/codes.py": "the same, of targets",
    "store/targets.py Targets.add": "the same",
    "store/targets.py Targets.remove": "the same",
    "store/targets.py Targets.challenge": "the same",
    "store/targets.py Targets.take_try": "the same",
    "store/targets.py Targets.verify": "the same",
    "store/targets.py Targets.rotate": "the same",
    "store/targets.py Targets.resume": "the same",
    "store/storage.py": "owners' archives: docs/storage.md, and tests/store/test_storage.py",
    "store/segments.py Objects.delete": "the same",
    "store/answered.py": "signing in: whoever was not answered does it again",
    "store/head.py Heads.raise_to": "it spares the next pass something, whether it was done or not",
    "store/register.py Register.expire": "the job's: one step with Register.acknowledge, and repeated by the next run",
    "store/quotas.py Usages.take_off": "the job's: of a count that the next look mends",
    "store/quotas.py Usages.correct": "a count is put right at the next look, whether it was done or not",
    "post/outbox_keeper.py": "one step with Outbox.finish: whoever died before it comes by again in the next round",
    "post/dispatch.py Dispatch._posted": "one step with Postman.post",
    "store/queues.py Queue.send": "each that sends is named itself",
    "post/graph.py": "it asks: a graph's answers are read, nothing is changed",
    "post/adapters.py AwsForwarding._hand_on": "one step with forward",
    "post/courier.py Courier._send": "one step with HttpsOutbound.post",
}
PAGE = (HERE / "docs" / "guarantees.md").read_text()
LIBRARY = HERE / "layers" / "postroom" / "postroom"
NAMED = sorted(set(re.findall(r"`([a-z_0-9/]+\.py)`\s+`([A-Za-z_.]+)`", PAGE)))


def place(module: str) -> Path:
    return (HERE if module.startswith("functions/") else LIBRARY) / module


def defined(module: Path) -> set[str]:
    """The functions of a module, and its classes' methods as `Class.method`."""
    names = set()
    for node in ast.parse(module.read_text()).body:
        names |= {node.name} if isinstance(node, ast.FunctionDef | ast.ClassDef) else set()
        if isinstance(node, ast.ClassDef):
            names |= {f"{node.name}.{each.name}" for each in node.body if isinstance(each, ast.FunctionDef)}
    return names


def writers(module: Path) -> set[str]:
    """Methods that change something outside, by themselves or by a helper of their class that stands for itself."""
    found = set()
    for node in ast.parse(module.read_text()).body:
        methods = {each.name: each for each in getattr(node, "body", []) if isinstance(each, ast.FunctionDef)}
        if not isinstance(node, ast.ClassDef):
            continue
        writing = {name for name, method in methods.items() if called(method) & WRITES}
        helpers = {name for name in writing if name.startswith("_") and not called(methods[name]) & {"send", "post"}}
        # In the store each method is a step; in the flow those are that call AWS, and not what is made of them.
        steps = writing if module.parent.name == "store" else helpers
        while more := {name for name in methods.keys() - writing if called(methods[name], of="self") & steps}:
            writing |= more
            helpers |= {name for name in more if name.startswith("_")}
        found |= {f"{node.name}.{name}" for name in writing - helpers}
    return found


def writing_functions(module: Path) -> set[str]:
    """Functions of a handler's module that call AWS themselves: what they hand on is named where it is done."""
    return {
        node.name
        for node in ast.parse(module.read_text()).body
        if isinstance(node, ast.FunctionDef) and called(node) & (WRITES - {"post", "send"})
    }


def called(method: ast.FunctionDef, of: str = "") -> set[str]:
    """The names of the methods that a method calls; `of`: of this variable only."""
    calls = [each.func for each in ast.walk(method) if isinstance(each, ast.Call)]
    return {
        call.attr
        for call in calls
        if isinstance(call, ast.Attribute) and (not of or (isinstance(call.value, ast.Name) and call.value.id == of))
    }


def every_writer() -> list[tuple[str, str]]:
    paths = [path for room in ("store", "post") for path in sorted((LIBRARY / room).glob("*.py"))]
    pairs = [(str(path.relative_to(LIBRARY)), name) for path in paths for name in sorted(writers(path))]
    for path in sorted((HERE / "functions").rglob("*.py")):
        pairs += [(str(path.relative_to(HERE)), name) for name in sorted(writing_functions(path))]
    return [pair for pair in pairs if not {pair[0], " ".join(pair)} & NOT_IN_THE_FLOW.keys()]


def test_the_page_names_code() -> None:
    assert len(NAMED) > 15


@pytest.mark.parametrize(("module", "name"), NAMED)
def test_what_the_page_names_is_there(module: str, name: str) -> None:
    assert name in defined(place(module))


@pytest.mark.parametrize(("module", "name"), every_writer())
def test_every_function_that_changes_something_outside_stands_among_the_crash_points(module: str, name: str) -> None:
    [table] = re.findall(r"## Every crash point\n(.*?)\n## ", PAGE, re.DOTALL)
    assert f"`{module}` `{name}`" in table


def test_what_is_excused_is_there() -> None:
    for each in NOT_IN_THE_FLOW:
        module, _, name = each.partition(" ")
        assert not name or name in defined(place(module))


@pytest.mark.parametrize("folder", sorted(set(re.findall(r"`(tests/[a-z_/.]+)`", PAGE))))
def test_the_tests_that_the_page_names_are_there(folder: str) -> None:
    assert (HERE / folder).exists()
