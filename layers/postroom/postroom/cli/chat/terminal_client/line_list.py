"""A scrolling list of lines for textual, of which several are one item, and an item may be selected."""

from collections.abc import Mapping, Sequence
from typing import Final

from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from postroom.cli.chat.terminal_client.layout import SELECTED, Cells, Colour, LaidOutLine, TextRole

STYLES: Final[Mapping[TextRole, Style]] = {
    TextRole.TIME: Style(dim=True),
    TextRole.AUTHOR: Style(bold=True, color="cyan"),
    TextRole.OWN: Style(bold=True, color="green"),
    TextRole.TEXT: Style(),
    TextRole.QUOTE: Style(italic=True, dim=True),
    TextRole.MARK: Style(color="yellow"),
    TextRole.REACTION: Style(color="magenta"),
    TextRole.STATE: Style(dim=True),
    TextRole.PROBLEM: Style(bold=True, color="red"),
    TextRole.DIVIDER: Style(dim=True),
}
_UPPER_HALF: Final = "▀"
_SHADES: Final = " ░▒▓█"
_BRIGHTEST: Final = 255


class LineList(ScrollView, can_focus=True):
    """Lines that are laid out already. The selected item has a bar before each of its lines."""

    DEFAULT_CSS = """
    LineList { scrollbar-size-vertical: 1; scrollbar-gutter: stable; overflow-x: hidden; background: transparent; }
    """

    class Clicked(Message):
        """An item was clicked."""

        def __init__(self, sender: "LineList", row: int) -> None:
            super().__init__()
            self.list = sender
            self.row = row

        @property
        def control(self) -> "LineList":
            """The list, for selectors."""
            return self.list

    class Resized(Message):
        """Lines have another width now: they are to be laid out anew."""

    def __init__(self, *, id: str) -> None:  # noqa: A002 - textual's word
        super().__init__(id=id)
        self.lines: Sequence[LaidOutLine] = ()
        self._selected: int | None = None
        self.is_at_end = False
        """Whether its end is to stay in sight, until it is scrolled."""

    @property
    def text_width(self) -> int:
        """Cells of a line behind the bar of a selected item."""
        return max(self.scrollable_content_region.width - len(SELECTED), 1)

    def show(self, lines: Sequence[LaidOutLine], selected: int | None) -> None:
        """Show these lines; the selected item is in sight, or the end if it was."""
        self.lines, self._selected = lines, selected
        self.virtual_size = Size(self.scrollable_content_region.width, len(lines))
        self.refresh()
        places = [place for place, line in enumerate(lines) if line.row == selected]
        if selected is not None and places:
            region = Region(0, places[0], 1, places[-1] - places[0] + 1)
            self.scroll_to_region(region, animate=False, force=True, immediate=True)
        elif self.is_at_end:
            self.scroll_end(animate=False, force=True, immediate=True)

    def render_line(self, y: int) -> Strip:
        """One line of the screen."""
        place, width = y + round(self.scroll_offset.y), self.scrollable_content_region.width
        base = self.rich_style
        if place >= len(self.lines):
            return Strip.blank(width, base)
        line = self.lines[place]
        is_selected = line.row is not None and line.row == self._selected
        segments = [Segment(SELECTED if is_selected else " ", base + Style(bold=True))]
        segments += [Segment(text, base + STYLES[role]) for text, role in line.parts]
        segments += self._picture(line.cells, base)
        return Strip(segments).adjust_cell_length(width, base)

    def _picture(self, cells: Cells, base: Style) -> list[Segment]:
        if self.app.no_color:
            return [Segment("".join(_shade(*cell) for cell in cells), base)]
        return [
            Segment(
                _UPPER_HALF,
                base + Style(color=Color.from_rgb(*upper), bgcolor=Color.from_rgb(*lower) if lower else None),
            )
            for upper, lower in cells
        ]

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Note where it was scrolled to."""
        super().watch_scroll_y(old_value, new_value)
        self.is_at_end = self.is_vertical_scroll_end

    def on_resize(self) -> None:
        """Say so; the event itself does not leave the widget."""
        self.post_message(self.Resized())

    def on_click(self, event: events.Click) -> None:
        """Select what is clicked."""
        offset = event.get_content_offset(self)
        place = offset.y + round(self.scroll_offset.y) if offset else len(self.lines)
        if place < len(self.lines) and (row := self.lines[place].row) is not None:
            self.post_message(self.Clicked(self, row))


def _shade(upper: Colour, lower: Colour | None) -> str:
    """A cell of a picture without colours: the brighter, the fuller."""
    colours = (*upper, *(lower or upper))
    return _SHADES[sum(colours) * (len(_SHADES) - 1) // (_BRIGHTEST * len(colours))]
