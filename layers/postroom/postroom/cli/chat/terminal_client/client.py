"""The terminal client's parts put together: what is read at the start, the threads, and the screen."""

from functools import partial

from postroom.cli.chat.terminal_client.app import ChatClientApp
from postroom.cli.chat.terminal_client.drawing import PictureDrawer, draw_half_blocks
from postroom.cli.chat.terminal_client.model import ClientModel
from postroom.cli.chat.terminal_client.read_marks import load_marks, marks_file, store_marks
from postroom.cli.chat.terminal_client.session import ChatSession, ThreadRunner
from postroom.cli.chat.terminal_client.snapshot import newest_came, read_snapshot
from postroom.client.chat import Chats
from postroom.client.chat.watching import WaitingMail


def run_client(chats: Chats, mail: WaitingMail) -> None:
    """Run the client until the user leaves. Raises as `Archive` does, before the screen is shown; whatever else broke
    it."""
    path = marks_file(chats.own)
    marks = load_marks(path, chats.own, newest_came(chats))
    model = ClientModel(read_snapshot(chats), marks)
    session = ChatSession(chats, mail, ThreadRunner("chats"), ThreadRunner("mail"))
    drawer = PictureDrawer(ThreadRunner("pictures"), draw_half_blocks)
    error = ChatClientApp(model, session, drawer, partial(store_marks, path)).run()
    if error is not None:
        raise error
