"""`postroom demo`: what it says when it is interrupted."""

from collections.abc import Callable
from typing import cast

import pytest
from rich.console import Console

from postroom.cli.played_demo import play_scenes
from postroom.demo.checks import DemoRow
from postroom.demo.scenes import Story


class InterruptedStory:
    def scenes(self) -> list[tuple[str, Callable[[], list[DemoRow]]]]:
        return [("a signed message", list), ("a forged one", self.interrupt)]

    def interrupt(self) -> list[DemoRow]:
        raise KeyboardInterrupt


def test_an_interrupted_demo_says_that_it_is_stopping(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KeyboardInterrupt):
        play_scenes(cast("Story", InterruptedStory()), Console())
    assert capsys.readouterr().out == "1. a signed message\n\n2. a forged one\n\nstopping …\n"
