"""`postroom dm3 chain check`: what is wrong with an endpoint is said of it, and nothing of its URL but the host."""

import json
import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from click.testing import Result
from tests.cli.conftest import Postroom, StorageStack
from tests.fakes.endpoints import Answer, fake_endpoint
from tests.names.ens.nodes import TextNode

from postroom.names.registry import PROFILE_KEY

pytestmark = pytest.mark.xdist_group("cli-storage")

API_KEY = "3c6e0b8a9c15224a"
NAME = "alice.eth"


class CheckedNode(TextNode):
    """A node with a text of alice.eth. `code`: at the universal resolver."""

    clock = staticmethod(time.time)

    def __init__(self, text: str = "data:,a", code: str = "0x60", clock: Callable[[], float] = time.time) -> None:
        super().__init__({NAME: {PROFILE_KEY: text}})
        self.code, self.clock = code, clock

    def answer(self, method: str, param: Any) -> dict[str, Any]:
        return {"result": self.code} if method == "eth_getCode" else super().answer(method, param)


class OtherChain(CheckedNode):
    def _one(self, request: dict[str, Any]) -> dict[str, Any]:
        return {"result": "0xaa36a7"} if request["method"] == "eth_chainId" else super()._one(request)


def takes_no_batch(body: bytes) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": API_KEY}}).encode()


def fails(body: bytes) -> tuple[int, dict[str, str], bytes]:
    return 429, {}, API_KEY.encode()


Check = Callable[..., Result]


@pytest.fixture
def check(postroom: Postroom, storage_stack: StorageStack) -> Iterator[Check]:
    """The command, where these endpoints are stored."""
    with ExitStack() as undo:

        def run(*answers: Answer, options: tuple[str, ...] = ("--json",)) -> Result:
            servers = [undo.enter_context(fake_endpoint(answer)) for answer in answers]
            storage_stack.storage.chain_endpoints.put(
                [f"http://127.0.0.1:{server.port}/{API_KEY}" for server in servers]
            )
            result = postroom("dm3", "chain", "check", "--name", NAME, *storage_stack.options, *options)
            assert API_KEY not in result.output
            return result

        yield run
        storage_stack.storage.chain_endpoints.put([])


def found(result: Result) -> list[tuple[str, str]]:
    said = json.loads(result.stdout)
    return [(each["status"], each["found"]) for each in said["checks"]]


def test_endpoints_that_follow_the_chain_and_agree_are_good(check: Check) -> None:
    result = check(CheckedNode(), CheckedNode())
    *each, agreement = found(result)
    assert (result.exit_code, json.loads(result.stdout)["status"]) == (0, "good")
    assert [status for status, _ in each] == ["good"] * 2
    assert each[0][1].startswith("chain 1, block 16, ")
    assert each[0][1].endswith(" s old; it takes batches; the universal resolver is there")
    assert agreement == ("good", "2 of 2 say the same; 2 must (EnsQuorum)")
    lines = check(CheckedNode(), CheckedNode(), options=()).stdout.splitlines()
    assert [line.partition(":")[0] for line in lines] == [
        "✓ 127.0.0.1 (endpoint 1)", "✓ 127.0.0.1 (endpoint 2)", f"✓ agreement on {NAME}",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        (OtherChain(), "it is of the chain 11155111, not 1"),
        (CheckedNode(clock=lambda: time.time() - 1000), r"its newest block is 1\d{3} s old"),
        (CheckedNode(clock=lambda: time.time() + 1000), r"its newest block is \d{3,4} s in the future"),
        (takes_no_batch, "it answers no batch: code -32600"),
        (CheckedNode(code="0x"), "there is no universal resolver at 0xeeeeeeee14d718c2b47d9923deab1335e144eeee"),
        (CheckedNode(code="none"), "a call failed"),
        (fails, "it answered with status 429"),
    ],
)
def test_what_is_wrong_with_an_endpoint_is_said_and_which_command_helps(
    check: Check, storage_stack: StorageStack, broken: Answer, why: str
) -> None:
    result = check(CheckedNode(), broken, CheckedNode())
    first, second, _, _ = found(result)
    assert (result.exit_code, first[0], second[0]) == (1, "good", "bad")
    assert re.search(why, second[1])
    options = " ".join(storage_stack.options)
    hint = json.loads(result.stdout)["checks"][1]["next"]
    assert hint.startswith(f"`postroom dm3 chain put FILE {options} --deployment only` stores others")


def test_one_that_says_something_else_than_the_quorum_is_a_warning(check: Check) -> None:
    result = check(CheckedNode(), CheckedNode("data:,lie"), CheckedNode())
    assert result.exit_code == 0
    assert found(result)[-1] == (
        "warning", "2 of 3 say the same; 2 must (EnsQuorum); something else is said by 127.0.0.1 (endpoint 2)",
    )  # fmt: skip


def test_fewer_than_the_quorum_that_agree_are_bad(check: Check) -> None:
    result = check(CheckedNode(), CheckedNode("data:,lie"))
    assert result.exit_code == 1
    assert found(result)[-1][1] == "1 of 2 say the same; 2 must (EnsQuorum), so nothing is found out in ENS"
    assert found(check(fails))[-1][1].startswith("0 of 1 say the same; ")


def test_a_name_without_a_dot_is_refused_because_it_is_not_looked_up_in_ens(
    postroom: Postroom, storage_stack: StorageStack
) -> None:
    result = postroom("dm3", "chain", "check", "--name", "nodot", *storage_stack.options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "names without a dot are not looked up in ENS" in result.stderr


def test_without_endpoints_ens_is_not_used(check: Check) -> None:
    assert found(check()) == [("good", "none: ENS is not used")]
