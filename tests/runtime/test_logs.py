"""The logs of functions: what a stranger wrote makes no line of its own, and none that is long."""

import io
import logging
from collections.abc import Iterator

import pytest
from tests.core.test_shown_text import HOSTILE

from postroom.runtime.logs import json_logger


@pytest.fixture
def output() -> Iterator[io.StringIO]:
    """What the handler writes that Lambda gives the root logger, before the function is loaded."""
    written, root = io.StringIO(), logging.getLogger()
    handler = logging.StreamHandler(written)
    root.addHandler(handler)
    yield written
    root.removeHandler(handler)


@pytest.mark.parametrize("text", [HOSTILE * 100_000, f"{HOSTILE}\n" * 100_000], ids=["long", "many lines"])
def test_the_stack_of_an_unexpected_error_is_logged_in_short_lines_whatever_a_stranger_wrote(
    output: io.StringIO, text: str
) -> None:
    json_logger()
    error = KeyError(text)
    error.__cause__ = ValueError(text)
    logging.getLogger("postroom.http.router").error("a handler failed", exc_info=error)
    first, *stack = output.getvalue().removesuffix("\n").split("\n")
    assert first == "a handler failed"
    assert all(line.startswith("  ") and line.isprintable() and len(line) < 12_000 for line in stack)
    assert 1 < len(stack) <= 200
