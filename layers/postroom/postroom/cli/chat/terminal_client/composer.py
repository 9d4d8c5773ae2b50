"""The field in which the user writes, for textual."""

from collections.abc import Callable
from typing import ClassVar

from textual import events
from textual.widgets import TextArea

from postroom.cli.chat.terminal_client.composing import MentionCompletion
from postroom.cli.chat.terminal_client.safe_text import writable


class Composer(TextArea):
    """A text of several lines. Enter sends it, ^J breaks the line, Tab completes a name."""

    DEFAULT_CSS = """
    Composer { border: none; padding: 0; height: auto; max-height: 5; min-height: 1; background: transparent; }
    Composer:focus { border: none; }
    Composer > .text-area--cursor { text-style: reverse; }
    Composer > .text-area--cursor-line { background: transparent; }
    """
    _ACTIONS: ClassVar[dict[str, str]] = {"enter": "send", "tab": "complete", "escape": "stop"}

    def __init__(self, use: Callable[[str], None], *, id: str) -> None:  # noqa: A002 - textual's word
        """`use`: called with send, complete or stop, before the next key changes the text."""
        super().__init__(id=id, highlight_cursor_line=False, compact=True)
        self._use = use
        self._completion: MentionCompletion | None = None

    @property
    def before_cursor(self) -> str:
        """The text before the cursor."""
        return self.get_text_range((0, 0), self.cursor_location)

    @property
    def completion(self) -> MentionCompletion | None:
        """The completion whose name stands before the cursor; None: the text was changed since."""
        found = self._completion
        return found if found and self.before_cursor[found.start :] == found.name else None

    def load(self, text: str) -> None:
        """Show another text, with the cursor at its end."""
        if text != self.text:
            self.text = text
            self.move_cursor(self.document.end)

    def put(self, completion: MentionCompletion) -> None:
        """Put a name in the place of what stands between its "@" and the cursor."""
        text = self.before_cursor
        lines = text[: completion.start].split("\n")
        self.replace(completion.name, (len(lines) - 1, len(lines[-1])), self.cursor_location)
        self._completion = completion

    async def _on_key(self, event: events.Key) -> None:
        if event.key == "ctrl+j":
            self.insert("\n")
        elif event.key in self._ACTIONS:
            self._use(self._ACTIONS[event.key])
        else:
            return
        event.stop()
        event.prevent_default()

    async def _on_paste(self, event: events.Paste) -> None:
        """Nothing that is pasted controls the terminal."""
        event.stop()
        event.prevent_default()
        self.insert(writable(event.text))
