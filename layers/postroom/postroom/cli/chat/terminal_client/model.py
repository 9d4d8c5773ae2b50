"""The state of the terminal client, and what each key does with it: no terminal, no network, no threads.

A method that has something for `Chats` to do returns it as `ChatWork`. Whoever runs it calls `finish` with what came of
it.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import count

from postroom.cli.chat.mentions import with_mentions
from postroom.cli.chat.terminal_client.chat_work import (
    ChatWork,
    FinishedWork,
    WorkResult,
    name_of_chat,
    work_of,
    writable_chat,
)
from postroom.cli.chat.terminal_client.composing import (
    MentionCompletion,
    NoCommandError,
    SlashCommand,
    find_completion,
    read_command,
    text_to_send,
)
from postroom.cli.chat.terminal_client.read_marks import ReadMarks
from postroom.cli.chat.terminal_client.rows import (
    REACTIONS,
    MessageRow,
    PendingChange,
    PendingText,
    UnreadMessages,
    is_mentioned,
    reactions_of,
    rows_of,
    unread_in,
)
from postroom.cli.chat.terminal_client.safe_text import safe_text, writable
from postroom.cli.chat.terminal_client.snapshot import FIRST_MESSAGES, ChatSnapshot, KnownNames, ListedChat
from postroom.client.chat import Chats, SentChatMessage
from postroom.client.sending import SendOutcome
from postroom.protocols.status.chat_view import ShownChatMessage
from postroom.protocols.status.enums import ChatKind
from postroom.protocols.status.keys import ChatKey
from postroom.protocols.status.mentions import show_mentions
from postroom.protocols.status.verify import ChatRef


class WritingMode(StrEnum):
    """What Enter does with the text that the user writes."""

    MESSAGE = "message"
    REPLY = "reply"
    EDIT = "edit"


@dataclass(frozen=True, slots=True)
class WrittenText:
    """A text that the user is writing, in one chat. `about`: the ID of the message that it answers or changes."""

    text: str = ""
    mode: WritingMode = WritingMode.MESSAGE
    about: str = ""


@dataclass(slots=True)
class ClientModel:
    """The state. `selected`: the ID of a row of the open chat. `status`: a sentence for the user; all is safe to show.

    `chosen`: the chat of the list that is selected. `deleting`: the ID of the message whose deletion the user is to
    confirm.
    """

    snapshot: ChatSnapshot
    marks: ReadMarks
    open: ChatRef | None = None
    chosen: ChatRef | None = None
    selected: str = ""
    status: str = ""
    deleting: str = ""
    _numbers: "count[int]" = field(default_factory=lambda: count(1))
    _new_from: int = 0
    _last: dict[ChatRef, int] = field(default_factory=dict)
    _by_name: dict[ChatRef, str] = field(default_factory=dict)
    _texts: list[PendingText] = field(default_factory=list)
    _changes: list[PendingChange] = field(default_factory=list)
    _written: dict[ChatRef, WrittenText] = field(default_factory=dict)
    _others: set[int] = field(default_factory=set)
    _pull_status: str = ""

    # --- what is shown ------------------------------------------------------------------------------------------

    @property
    def rows(self) -> list[MessageRow]:
        """The rows of the open chat."""
        chat = self.chat
        return rows_of(self.snapshot, chat, self._new_from, self._texts, self._changes) if chat else []

    @property
    def row_ids(self) -> list[str]:
        """The IDs of the rows of the open chat."""
        chat = self.chat
        pending = [each.id for each in self._texts if each.chat == self.open]
        return [*(message.id for message in chat.messages), *pending] if chat else []

    @property
    def chats(self) -> list[ListedChat]:
        """All chats, with those that were opened by a name and are empty."""
        listed = {chat.ref: chat for chat in self.snapshot.chats}
        for ref, name in self._by_name.items():
            title = safe_text(name)
            listed[ref] = replace(listed[ref], title=title, to=name) if ref in listed else ListedChat(ref, title, name)
        return list(listed.values())

    @property
    def chat(self) -> ListedChat | None:
        """The open chat."""
        return next((chat for chat in self.chats if chat.ref == self.open), None)

    def unread(self, chat: ListedChat) -> UnreadMessages:
        """What is unread in a chat."""
        own = self.snapshot.own
        found = unread_in(chat, own, self.marks.read_to(chat.ref))
        mention_user = any(is_mentioned(each.text, own) for each in found)
        return UnreadMessages(len(found), chat.has_older and len(found) == len(chat.messages), mention_user)

    @property
    def written(self) -> WrittenText:
        """What the user is writing in the open chat."""
        return self._written.get(self.open, WrittenText()) if self.open else WrittenText()

    @property
    def message(self) -> ShownChatMessage | None:
        """The selected message; None: there is none, or it is pending."""
        chat = self.chat
        return next((each for each in chat.messages if each.id == self.selected), None) if chat else None

    @property
    def on_their_way(self) -> int:
        """How many things that the user did are not done yet."""
        return len([text for text in self._texts if not text.failed]) + len(self._changes) + len(self._others)

    @property
    def last(self) -> Mapping[ChatRef, int]:
        """How many messages of a chat the next snapshot must have."""
        return dict(self._last)

    def people(self) -> Mapping[ChatKey, str]:
        """Everybody in the open chat, with the names that are shown."""
        chat = self.chat
        if chat is None:
            return {}
        keys = {self.snapshot.own, *chat.members, *(each.author for each in chat.messages)}
        if chat.ref.kind is ChatKind.ONE_TO_ONE:
            keys.add(ChatKey(chat.ref.id))
        return {key: self.snapshot.names.title(key) for key in sorted(keys)}

    # --- chats and messages -------------------------------------------------------------------------------------

    def choose(self, step: int) -> None:
        """Choose the chat of the list so many places further; from none, the first one."""
        refs = [chat.ref for chat in self.chats]
        if self.chosen in refs:
            self.chosen = refs[min(max(refs.index(self.chosen) + step, 0), len(refs) - 1)]
        else:
            self.chosen = refs[0] if refs else None

    def next_unread(self) -> ChatRef | None:
        """The first chat with new messages."""
        return next((chat.ref for chat in self.chats if self.unread(chat).count), None)

    def open_chat(self, ref: ChatRef) -> None:
        """Open a chat; what it shows is read."""
        if ref != self.open:
            self.open, self.chosen, self.selected, self.deleting = ref, ref, "", ""
            self._new_from = self.marks.read_to(ref)
            self._mark_read()
        self.status = ""

    def show_older(self) -> bool:
        """Ask for older messages; False: there are none."""
        chat = self.chat
        if chat is None or not chat.has_older:
            return False
        self._last[chat.ref] = len(chat.messages) + FIRST_MESSAGES
        return True

    def select(self, step: int) -> None:
        """Select the message so many rows further; from none, the last one."""
        self.deleting = ""
        ids = self.row_ids
        if not ids:
            self.selected = ""
        elif self.selected not in ids:
            self.selected = ids[-1]
        else:
            self.selected = ids[min(max(ids.index(self.selected) + step, 0), len(ids) - 1)]

    def update(self, snapshot: ChatSnapshot) -> None:
        """Show a new snapshot. What the open chat shows is read."""
        self.snapshot = snapshot
        self._mark_read()
        if self.selected and self.selected not in self.row_ids:
            self.selected = ""

    def pulled(self, snapshot: ChatSnapshot | None, status: str) -> None:
        """Show what is there after a pull, or when older messages were read. `status`: what could not be done; what an
        earlier pull said of that is said no more."""
        if snapshot is not None:
            self.update(snapshot)
        status = safe_text(status)
        if status or self.status == self._pull_status:
            self.status = status
        self._pull_status = status

    # --- writing ------------------------------------------------------------------------------------------------

    def write(self, text: str) -> None:
        """Keep what the user has written so far."""
        if self.open is not None:
            self._written[self.open] = replace(self.written, text=text)

    def reply(self) -> bool:
        """Answer the selected message; False: that cannot be done."""
        message = self._there("answered")
        if message is None or self.open is None:
            return False
        self._written[self.open] = WrittenText(self.written.text, WritingMode.REPLY, message.id)
        return True

    def edit(self) -> bool:
        """Write the selected message anew; of one that failed, its text. False: that cannot be done."""
        failed = next((each for each in self._texts if each.id == self.selected and each.failed), None)
        if failed is not None:
            self._texts.remove(failed)
            mode = WritingMode.REPLY if failed.reply_to else WritingMode.MESSAGE
            self._written[failed.chat] = WrittenText(self._with_names(failed.text), mode, failed.reply_to)
            return True
        message = self._there("changed")
        if message is None or self.open is None:
            return False
        if message.author != self.snapshot.own:
            self.status = "only your own messages can be changed"
            return False
        self._written[self.open] = WrittenText(self._with_names(message.text), WritingMode.EDIT, message.id)
        return True

    def stop_writing(self) -> bool:
        """Neither answer nor change a message any more; False: the user was not doing so."""
        written = self.written
        if self.open is None or written.mode is WritingMode.MESSAGE:
            return False
        text = "" if written.mode is WritingMode.EDIT else written.text
        self._written[self.open] = WrittenText(text)
        return True

    def complete(self, before: str) -> MentionCompletion | None:
        """The names that what stands before the cursor may mean."""
        return find_completion(before, self.people())

    def send(self, text: str) -> ChatWork | None:
        """Send what the user wrote, or do what it says. None: there is nothing to do; `status` may say why."""
        self.status = ""
        try:
            command = read_command(text)
            work = self._text(text_to_send(text)) if command is None else self._command(command)
        except NoCommandError as error:
            self.status = safe_text(str(error))
            return None
        if self.open is not None:
            self._written[self.open] = WrittenText()
        self.selected = ""
        return work

    # --- about a message ----------------------------------------------------------------------------------------

    def react(self, kind: int) -> ChatWork | None:
        """React to the selected message; take the reaction back if it stands."""
        message = self._there("reacted to")
        if message is None:
            return None
        stands = self.snapshot.own in reactions_of(message, self.snapshot.own, self._changes).get(kind, ())
        label = f"{'taking back' if stands else 'sending'} {REACTIONS[kind].split()[1]}"
        change = PendingChange(next(self._numbers), message.id, label, kind, not stands)
        return self._change(change, lambda chats, to: chats.react(to, message.id, kind, take_back=stands))

    def pin(self) -> ChatWork | None:
        """Pin the selected message, or no longer."""
        message = self._there("pinned")
        if message is None:
            return None
        pinned = not message.is_pinned
        change = PendingChange(next(self._numbers), message.id, "pinning" if pinned else "unpinning")
        return self._change(change, lambda chats, to: chats.pin(to, message.id, pinned=pinned))

    def delete(self) -> ChatWork | None:
        """Delete the selected message for everybody, when it is called again. One that failed goes at once."""
        failed = [each for each in self._texts if each.id == self.selected and each.failed]
        if failed:
            self._texts.remove(failed[0])
            self.selected = ""
            return None
        message = self._there("deleted")
        chat = self.chat
        if message is None or chat is None:
            return None
        if message.author != self.snapshot.own and self.snapshot.own not in chat.admins:
            self.status = "only your own messages can be deleted, and all of a group by its admins"
            return None
        if self.deleting != message.id:
            self.deleting = message.id
            self.status = "delete this message for everybody? d again deletes it, Esc keeps it"
            return None
        self.deleting = self.status = ""
        change = PendingChange(next(self._numbers), message.id, "deleting")
        return self._change(change, lambda chats, to: chats.delete(to, message.id))

    def keep(self) -> bool:
        """Do not delete the message; False: the user was not doing so."""
        was, self.deleting = self.deleting, ""
        self.status = "" if was else self.status
        return bool(was)

    # --- what came of it ----------------------------------------------------------------------------------------

    def finish(self, finished: FinishedWork) -> None:
        """Show what came of a `ChatWork`."""
        number = finished.number
        self._others.discard(number)
        self._changes = [change for change in self._changes if change.number != number]
        error = safe_text(finished.error)
        if finished.error:
            texts = [replace(each, failed=error) if each.number == number else each for each in self._texts]
        else:
            texts = [each for each in self._texts if each.number != number]
        self._texts, is_text = texts, any(each.number == number for each in texts)
        if finished.snapshot is not None:
            self.update(finished.snapshot)
        if finished.status:
            self.status = safe_text(finished.status)
        if error:
            self.status = "the message was not sent: select it to see why" if is_text else f"not done: {error}"
        else:
            self._show_result(finished.result)

    # --- how ----------------------------------------------------------------------------------------------------

    def _show_result(self, result: WorkResult) -> None:
        self.status = "" if self.status.endswith("…") else self.status
        if result.sent is not None:
            self.status = "; ".join(_undelivered(result.sent, self.snapshot.names)) or self.status
        if result.opens is not None:
            ref = result.opens.ref
            if ref.kind is ChatKind.ONE_TO_ONE:
                self._by_name[ref] = result.opens.receivers[0]
            self.open_chat(ref)

    def _mark_read(self) -> None:
        chat = self.chat
        if chat is not None:
            came = [chat.came[each.id] for each in chat.messages if each.author != self.snapshot.own]
            self.marks = self.marks.with_read(chat.ref, max(came, default=0))

    def _there(self, done: str) -> ShownChatMessage | None:
        """The selected message, if something can be done with it."""
        message = self.message
        if message is None or message.message is None:
            self.status = f"select a message that is to be {done}" if message is None else "the message is deleted"
            return None
        return message

    def _text(self, text: str) -> ChatWork | None:
        written = self.written
        if not text.strip():
            return None
        chat = writable_chat(self.chat)
        sent = with_mentions(text, self.people().items())
        number = next(self._numbers)
        if written.mode is WritingMode.EDIT:
            change = PendingChange(number, written.about, "sending the edit")
            return self._change(change, lambda chats, to: chats.edit(to, written.about, sent))
        self._new_from = self.marks.read_to(chat.ref)
        self._texts.append(PendingText(number, chat.ref, sent, written.about))
        return ChatWork(
            number, lambda chats: WorkResult(chats.send(name_of_chat(chats, chat), sent, reply_to=written.about))
        )

    def _change(self, change: PendingChange, run: Callable[[Chats, str], SentChatMessage]) -> ChatWork | None:
        try:
            chat = writable_chat(self.chat)
        except NoCommandError as error:
            self.status = str(error)
            return None
        self._changes.append(change)
        self.status = ""
        return ChatWork(change.number, lambda chats: WorkResult(run(chats, name_of_chat(chats, chat))))

    def _command(self, command: SlashCommand) -> ChatWork:
        about = self.written.about if self.written.mode is WritingMode.REPLY else ""
        run = work_of(command, self.chat, about, self.people().items())
        number = next(self._numbers)
        self._others.add(number)
        self.status = f"/{command.name} …"
        return ChatWork(number, run)

    def _with_names(self, text: str) -> str:
        return writable(show_mentions(text, self.snapshot.names.title))


def _undelivered(sent: SentChatMessage, names: KnownNames) -> Iterator[str]:
    """Who never gets what was sent. Whom it waits for stands beside it, as long as it waits."""
    if sent.unreached:
        yield f"not reached, as no name to write to is known: {', '.join(map(names.title, sent.unreached))}"
    for each in sent.deliveries:
        if each.outcome is SendOutcome.REFUSED:
            yield safe_text(f"refused by {each.to}: {each.reason} {each.detail}")
