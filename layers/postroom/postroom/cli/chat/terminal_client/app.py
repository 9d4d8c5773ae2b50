"""The terminal client: chats on the left, the open chat on the right, and below it what the user writes."""

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Final

from textual import on
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.events import DescendantFocus
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static, TextArea

from postroom.cli.chat.terminal_client.chat_work import ChatWork, FinishedWork
from postroom.cli.chat.terminal_client.composer import Composer
from postroom.cli.chat.terminal_client.drawing import PictureDrawer
from postroom.cli.chat.terminal_client.layout import DrawnPicture, LaidOutLine, TextRole, chat_line, lay_out
from postroom.cli.chat.terminal_client.line_list import LineList
from postroom.cli.chat.terminal_client.model import ClientModel, WritingMode
from postroom.cli.chat.terminal_client.read_marks import ReadMarks
from postroom.cli.chat.terminal_client.rows import REACTIONS, MessageRow
from postroom.cli.chat.terminal_client.session import (
    PULL_SECONDS,
    BrokenSession,
    ChatSession,
    PulledMail,
    SessionEvent,
)
from postroom.cli.chat.terminal_client.text_screen import TextScreen
from postroom.cli.chat.terminal_client.texts import details, help_lines, people_lines
from postroom.cli.chat.terminal_client.wrapping import shorten
from postroom.protocols.status.verify import ChatRef

_KEYS: Final = {
    "chats": "↑↓ choose  Enter open  w who  / command  Tab messages  F1 help  ^Q quit",
    "messages": "1-6 react  r reply  e edit  d delete  p pin  Enter all  Tab write  F1 help",
    "composer": "Enter send  ^J new line  Tab complete @name  Esc messages  F1 help  ^Q quit",
}
_EMPTY: Final = ("", "  No chat is open. Choose one on the left, or write", "", "    /chat NAME", "", "  below.")
_FOCUSED: Final = "▶"


def _key(keys: str, action: str) -> Binding:
    """A key of a list. It is handled before the next one goes anywhere, whose place it may change."""
    return Binding(keys, action, priority=True)


class ChatList(LineList):
    """The chats."""

    BINDINGS: ClassVar[list[BindingType]] = [
        _key("down,j", "app.choose(1)"),
        _key("up,k", "app.choose(-1)"),
        _key("home", "app.choose(-10000)"),
        _key("end", "app.choose(10000)"),
        _key("enter,right", "app.open_chosen"),
        _key("w", "app.people"),
        _key("slash", "app.begin_command"),
    ]


class MessageList(LineList):
    """The messages of the open chat."""

    BINDINGS: ClassVar[list[BindingType]] = [
        _key("down,j", "app.select(1)"),
        _key("up,k", "app.select(-1)"),
        _key("pagedown", "app.select(6)"),
        _key("pageup", "app.select(-6)"),
        _key("home", "app.select(-10000)"),
        _key("end", "app.select(10000)"),
        _key("enter", "app.details"),
        _key("r", "app.reply"),
        _key("e", "app.edit"),
        _key("d", "app.delete"),
        _key("p", "app.pin"),
        _key("w", "app.people"),
        _key("slash", "app.begin_command"),
        _key("escape,left", "app.leave_messages"),
        *(_key(str(int(kind)), f"app.react({int(kind)})") for kind in REACTIONS),
    ]


class ChatClientApp(App[BaseException | None]):
    """The client. `keep_marks`: keeps what was read; it may raise OSError."""

    ENABLE_COMMAND_PALETTE = False
    CSS = """
    Screen { background: transparent; }
    Static { height: 1; }
    #title { text-style: reverse; width: 100%; }
    #left { width: 26; border-right: solid $foreground; }
    #left Static, #right #chat-title { text-style: bold; }
    #messages, #chats { height: 1fr; }
    #context { text-style: italic; }
    #writing { height: auto; border-top: solid $foreground; }
    #prompt { width: 2; text-style: bold; }
    #keys { text-style: dim; }
    .hidden { display: none; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f1", "help", priority=True),
        Binding("ctrl+n", "next_unread", priority=True),
        Binding("ctrl+r", "pull", priority=True),
        Binding("ctrl+q", "quit", priority=True),
    ]

    class PictureDrawn(Message):
        """A picture can be shown, or not."""

        def __init__(self, picture: DrawnPicture) -> None:
            super().__init__()
            self.picture = picture

    class SessionNews(Message):
        """Something came of what was done."""

        def __init__(self, event: SessionEvent) -> None:
            super().__init__()
            self.event = event

    def __init__(
        self,
        model: ClientModel,
        session: ChatSession,
        drawer: PictureDrawer,
        keep_marks: Callable[[ReadMarks], object] = lambda _: None,
    ) -> None:
        # The terminal's own colours; with NO_COLOR there are none.
        super().__init__(ansi_color=True)
        self.theme = "ansi-dark"
        self.model = model
        self._session = session
        self._keep_marks = keep_marks
        self._kept = model.marks
        self._drawer = drawer
        self._is_leaving = False

    # --- widgets ------------------------------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        """The widgets."""
        yield Static(id="title", markup=False)
        with Horizontal():
            with Vertical(id="left"):
                yield Static(id="chats-title", markup=False)
                yield ChatList(id="chats")
            with Vertical(id="right"):
                yield Static(id="chat-title", markup=False)
                yield MessageList(id="messages")
                yield Static(id="context", markup=False)
                with Horizontal(id="writing"):
                    yield Static(id="prompt", markup=False)
                    yield Composer(self._use, id="composer")
        yield Static(id="status", markup=False)
        yield Static(id="keys", markup=False)

    def on_mount(self) -> None:
        """Begin."""
        self.model.choose(0)
        self._focus("chats")
        self._session.pull(self._request, self._news)
        self._session.wait_for_mail(self._request, self._news)
        self.set_interval(PULL_SECONDS, self.action_pull)

    @on(LineList.Resized)
    def _resized(self) -> None:
        self._show()

    @on(DescendantFocus)
    def _focused(self) -> None:
        focused = self._focus_id
        if focused == "messages" and not self.model.selected:
            self.model.select(0)
        if focused == "composer" and self.model.written.mode is WritingMode.MESSAGE:
            self.model.selected = ""
            self._list("messages").is_at_end = True
        self._show()

    # --- news ---------------------------------------------------------------------------------------------------

    def _news(self, event: SessionEvent) -> None:
        """Called from other threads."""
        self.post_message(self.SessionNews(event))

    @on(SessionNews)
    def _take_news(self, news: SessionNews) -> None:
        was_open = self.model.open
        match news.event:
            case BrokenSession(error=error):
                self.exit(error)
                return
            case FinishedWork() as finished:
                self.model.finish(finished)
            case PulledMail(snapshot=snapshot, status=status):
                self.model.pulled(snapshot, status)
        if self.model.chosen is None:
            self.model.choose(0)
        if self.model.open != was_open:
            self._opened()
        if self._is_leaving and not self.model.on_their_way:
            self.exit()
        self._show()

    @on(PictureDrawn)
    def _take_picture(self, drawn: PictureDrawn) -> None:
        self._drawer.keep(drawn.picture)
        self._show()

    def _do(self, work: ChatWork | None) -> None:
        if work is not None:
            self._session.do(work, self._request, self._news)
        self._show()

    def _request(self) -> Mapping[ChatRef, int]:
        """Called from other threads."""
        return self.model.last

    # --- keys of the lists --------------------------------------------------------------------------------------

    def action_choose(self, step: int) -> None:
        """Choose a chat."""
        self.model.choose(step)
        self._show()

    def action_open_chosen(self) -> None:
        """Open the chosen chat."""
        if self.model.chosen is not None:
            self._open(self.model.chosen)

    def action_next_unread(self) -> None:
        """Open the next chat with new messages."""
        ref = self.model.next_unread()
        if ref is None:
            self.model.status = "there are no new messages"
            self._show()
        else:
            self._open(ref)

    def action_select(self, step: int) -> None:
        """Select a message; above the first one come older ones."""
        before = self.model.selected
        self.model.select(step)
        if step < 0 and self.model.selected == before and self.model.show_older():
            self._session.read(self._request, self._news)
        self._show()

    def action_leave_messages(self) -> None:
        """Keep what was to be deleted; otherwise back to the chats."""
        if not self.model.keep():
            self._focus("chats")
        self._show()

    def action_reply(self) -> None:
        """Answer the selected message."""
        self._write(self.model.reply())

    def action_edit(self) -> None:
        """Change the selected message."""
        self._write(self.model.edit())

    def action_react(self, kind: int) -> None:
        """React, or take it back."""
        self._do(self.model.react(kind))

    def action_pin(self) -> None:
        """Pin, or unpin."""
        self._do(self.model.pin())

    def action_delete(self) -> None:
        """Delete, when it is pressed again."""
        self._do(self.model.delete())

    def action_begin_command(self) -> None:
        """Write a command."""
        self._composer.load("/")
        self._focus("composer")

    @on(LineList.Clicked)
    def _clicked(self, clicked: LineList.Clicked) -> None:
        if clicked.list.id == "chats" and clicked.row < len(chats := self.model.chats):
            self._open(chats[clicked.row].ref)
        elif clicked.list.id == "messages" and clicked.row < len(ids := self.model.row_ids):
            self.model.selected = ids[clicked.row]
            self._show()

    # --- writing ------------------------------------------------------------------------------------------------

    @on(TextArea.Changed, "#composer")
    def _written(self) -> None:
        self.model.write(self._composer.text)

    def _use(self, action: str) -> None:
        match action:
            case "send":
                self._send()
            case "complete":
                self._complete()
            case _:
                if self.model.stop_writing():
                    self._composer.load(self.model.written.text)
                else:
                    self._focus("messages" if self.model.open else "chats")
        self._show()

    def _send(self) -> None:
        text = self._composer.text
        work = self.model.send(text)
        if work is not None or not self.model.status:
            self._composer.load("")
            self._list("messages").is_at_end = True
        self._do(work)

    def _complete(self) -> None:
        composer = self._composer
        completion = composer.completion
        found = completion.next if completion else self.model.complete(composer.before_cursor)
        if found is not None:
            composer.put(found)
            self.model.status = f"Tab: {'  '.join(found.names)}" if len(found.names) > 1 else ""
        else:
            self.screen.focus_next()

    def _write(self, can_write: bool) -> None:
        if can_write:
            self._composer.load(self.model.written.text)
            self._focus("composer")
        self._show()

    # --- other screens, and leaving -----------------------------------------------------------------------------

    def action_help(self) -> None:
        """Show keys and commands."""
        if not isinstance(self.screen, TextScreen):
            self.push_screen(TextScreen("Help", help_lines()))

    def action_details(self) -> None:
        """Show all about the selected message."""
        row = next((row for row in self.model.rows if row.id == self.model.selected), None)
        if row is not None:
            self.push_screen(TextScreen("Message", details(self.model, row, self.model.message)))

    def action_people(self) -> None:
        """Show who is in the open chat."""
        if self.model.chat is not None:
            self.push_screen(TextScreen(self.model.chat.title, people_lines(self.model)))

    def action_pull(self) -> None:
        """Look for mail now."""
        self._session.pull(self._request, self._news)

    async def action_quit(self) -> None:
        """Leave, when all that the user did is stored; pressed again, at once."""
        if self._is_leaving or not self.model.on_their_way:
            self.exit()
            return
        self._is_leaving = True
        self.model.status = "leaving when all is sent; ^Q again leaves now, and what is not stored yet is lost"
        self._show()

    # --- what is shown ------------------------------------------------------------------------------------------

    def _open(self, ref: ChatRef) -> None:
        self.model.open_chat(ref)
        self._opened()
        self._show()

    def _opened(self) -> None:
        """Another chat is open."""
        self._list("messages").is_at_end = True
        self._composer.load(self.model.written.text)
        self._focus("composer")

    def _show(self) -> None:
        """Show the state."""
        model = self.model
        self._show_chats()
        rows = model.rows
        self._show_messages(rows)
        self._show_writing(rows)
        on_way = [f"{model.on_their_way} being sent"] if model.on_their_way else []
        waiting = model.snapshot.waiting
        on_way += [f"{waiting} not delivered yet"] if waiting else []
        title = f" postroom chat  {model.snapshot.own_name}"
        self._line("title", f"{title}  {' · '.join(on_way)}")
        self._line("status", f" {model.status}")
        self._line("keys", f" {_KEYS.get(self._focus_id, '')}")
        if model.marks is not self._kept:
            self._kept = model.marks
            try:
                self._keep_marks(model.marks)
            except OSError as error:
                model.status = f"what was read cannot be kept: {error}"

    def _show_chats(self) -> None:
        chats, found = self.model.chats, self._list("chats")
        lines = [
            chat_line(chat.title, self.model.unread(chat), place, found.text_width, is_open=chat.ref == self.model.open)
            for place, chat in enumerate(chats)
        ]
        refs = [chat.ref for chat in chats]
        found.show(lines, refs.index(self.model.chosen) if self.model.chosen in refs else None)
        self._line("chats-title", f"{self._mark('chats')} Chats")

    def _show_messages(self, rows: Sequence[MessageRow]) -> None:
        model, found = self.model, self._list("messages")
        chat = model.chat
        ids = [row.id for row in rows]
        selected = ids.index(model.selected) if model.selected in ids else None
        empty = [LaidOutLine(None, ((line, TextRole.TEXT),)) for line in _EMPTY]
        self._drawer.want(rows, lambda picture: self.post_message(self.PictureDrawn(picture)))
        lines = lay_out(rows, found.text_width, self._drawer.pictures) if model.open else empty
        found.show(lines, selected)
        people = f", {len(chat.members)} people" if chat and chat.members else ""
        self._line("chat-title", f"{self._mark('messages')} {chat.title}{people}" if chat else "")

    def _show_writing(self, rows: Sequence[MessageRow]) -> None:
        written = self.model.written
        row = next((row for row in rows if row.id == written.about), None)
        about = f"{row.author}: {' '.join(row.text)}" if row else "an earlier message"
        context = {WritingMode.REPLY: f"↪ reply to {about}", WritingMode.EDIT: f"✎ change {about}"}.get(
            written.mode, ""
        )
        self._widget("context").set_class(not context, "hidden")
        self._line("context", f"  {context}")
        self._line("prompt", self._mark("composer"))

    def _line(self, id_: str, text: str) -> None:
        found = self.screen_stack[0].query_one(f"#{id_}", Static)
        found.update(shorten(text, found.size.width or self.size.width))

    def _mark(self, id_: str) -> str:
        return _FOCUSED if self._focus_id == id_ else " "

    def _focus(self, id_: str) -> None:
        """Now, so that the next key goes there, however soon it comes."""
        self.screen_stack[0].set_focus(self._widget(id_))

    @property
    def _focus_id(self) -> str:
        focused = self.screen_stack[0].focused
        return focused.id or "" if focused else ""

    def _widget(self, id_: str) -> Widget:
        return self.screen_stack[0].query_one(f"#{id_}")

    def _list(self, id_: str) -> LineList:
        return self.screen_stack[0].query_one(f"#{id_}", LineList)

    @property
    def _composer(self) -> Composer:
        return self.screen_stack[0].query_one("#composer", Composer)
