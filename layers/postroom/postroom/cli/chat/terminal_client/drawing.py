"""Pictures of messages as half-blocks, drawn one after the other while the client goes on."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from postroom.cli.chat.terminal_client.layout import Cells, DrawnPicture
from postroom.cli.chat.terminal_client.rows import MessageRow
from postroom.cli.chat.terminal_client.safe_text import safe_text
from postroom.cli.chat.terminal_client.session import JobRunner
from postroom.core.errors import PostroomError, TheirError
from postroom.protocols.status.message_media import MessageMedia
from postroom.protocols.status.reasons import MEDIA_INVALID

COLUMNS: Final = 40
"""The most cells of a picture, side by side."""
ROWS: Final = 12
"""The most rows of cells, of two pixels each."""


class PictureDrawer:
    """Draws each picture once. `draw`: raises PostroomError or OSError for one that cannot be shown."""

    def __init__(self, runner: JobRunner, draw: Callable[[MessageMedia], Sequence[Cells]]) -> None:
        self._runner = runner
        self._draw = draw
        self._pictures: dict[str, DrawnPicture] = {}

    @property
    def pictures(self) -> Mapping[str, DrawnPicture]:
        """What is drawn, or is going to be, by the ID of the message."""
        return self._pictures

    def want(self, rows: Sequence[MessageRow], show: Callable[[DrawnPicture], object]) -> None:
        """Draw the pictures of these rows, the last one first. `show`: called in the runner's thread."""
        for row in reversed(rows):
            if row.picture is not None and row.id not in self._pictures:
                self._pictures[row.id] = DrawnPicture(row.id)
                self._submit(row.id, row.picture, show)

    def keep(self, picture: DrawnPicture) -> None:
        """Keep what was drawn."""
        self._pictures[picture.id] = picture

    def _submit(self, id_: str, media: MessageMedia, show: Callable[[DrawnPicture], object]) -> None:
        def run() -> None:
            try:
                drawn = DrawnPicture(id_, self._draw(media))
            except (PostroomError, OSError) as error:
                drawn = DrawnPicture(id_, problem=safe_text(str(error)))
            show(drawn)

        self._runner.submit(run)


def draw_half_blocks(media: MessageMedia) -> Sequence[Cells]:
    """A picture as rows of half-blocks. Raises TheirError, SettingsError, OSError."""
    from postroom.client.chat.pictures import decode_picture, half_blocks

    if media.type is None:
        raise TheirError(MEDIA_INVALID, "its type is unknown here")
    return half_blocks(decode_picture(media.data, media.type, COLUMNS, 2 * ROWS))
