"""A screen of text over the others, for textual: help, a message with all that is known of it, the people of a chat."""

from collections.abc import Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen
from textual.widgets import Static

from postroom.cli.chat.terminal_client.layout import LaidOutLine, TextRole
from postroom.cli.chat.terminal_client.line_list import LineList
from postroom.cli.chat.terminal_client.wrapping import wrap


class TextScreen(ModalScreen[None]):
    """A title and lines of text, which are safe to show; it is left with Escape, q or Enter."""

    CSS = """
    TextScreen { align: center middle; }
    TextScreen > LineList { width: 100%; height: 1fr; }
    TextScreen > Static { width: 100%; height: 1; }
    TextScreen > #text-title { text-style: bold; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter,f1", "dismiss"),
        Binding("down,j", "scroll(1)"),
        Binding("up,k", "scroll(-1)"),
        Binding("pagedown,space", "scroll(20)"),
        Binding("pageup", "scroll(-20)"),
    ]

    def __init__(self, title: str, lines: Sequence[str]) -> None:
        super().__init__()
        self._title = title
        self._text = lines

    def compose(self) -> ComposeResult:
        """The widgets."""
        yield Static(f" {self._title}", id="text-title", markup=False)
        yield LineList(id="text")
        yield Static(" ↑↓ scroll  Esc back", markup=False)

    @on(LineList.Resized)
    def _resized(self) -> None:
        found = self.query_one("#text", LineList)
        pieces = (piece for line in self._text for piece in wrap(line, found.text_width))
        found.show([LaidOutLine(None, ((piece, TextRole.TEXT),)) for piece in pieces], None)

    def action_scroll(self, lines: int) -> None:
        """Scroll by so many lines."""
        self.query_one("#text", LineList).scroll_relative(y=lines, animate=False)
