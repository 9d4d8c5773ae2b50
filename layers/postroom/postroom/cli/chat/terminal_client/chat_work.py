"""Work for `Chats` in the terminal client: what a command does, and what came of it."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from postroom.cli.chat.mentions import with_mentions
from postroom.cli.chat.terminal_client.composing import NoCommandError, SlashCommand
from postroom.cli.chat.terminal_client.snapshot import ChatSnapshot, ListedChat
from postroom.client.chat import ChatError, Chats, ChatTarget, SentChatMessage
from postroom.client.chat.pictures import MAX_FILE_BYTES, prepare_picture
from postroom.protocols.status.enums import ChatKind
from postroom.protocols.status.keys import ChatKey


@dataclass(frozen=True, slots=True)
class WorkResult:
    """What something that `Chats` did has brought. `opens`: a chat that is opened."""

    sent: SentChatMessage | None = None
    opens: ChatTarget | None = None


@dataclass(frozen=True, slots=True)
class ChatWork:
    """Something for `Chats` to do. `number`: names it when it is done."""

    number: int
    run: Callable[[Chats], WorkResult]


@dataclass(frozen=True, slots=True)
class FinishedWork:
    """What came of it. `error`: why it was not done; empty: it was.

    `snapshot`: what is shown now; None: the archive could not be read, and `status` says why.
    """

    number: int
    result: WorkResult = WorkResult()
    error: str = ""
    snapshot: ChatSnapshot | None = None
    status: str = ""


def writable_chat(chat: ListedChat | None) -> ListedChat:
    """The open chat, if somebody in it can be written to. Raises NoCommandError."""
    if chat is None:
        raise NoCommandError("no chat is open: /chat NAME opens one")
    if not chat.to:
        raise NoCommandError(f"nobody knows a name of {chat.title}: the chat can only be read")
    return chat


def name_of_chat(chats: Chats, chat: ListedChat) -> str:
    """What `Chats` sends to, if that is still this chat. Raises ChatError."""
    if chats.find(chat.to).ref != chat.ref:
        raise ChatError(f"{chat.to} has another key now: /chat {chat.to} opens that chat")
    return chat.to


def work_of(
    command: SlashCommand, open_chat: ListedChat | None, reply_to: str, people: Collection[tuple[ChatKey, str]]
) -> Callable[[Chats], WorkResult]:
    """What a command does. `reply_to`: the ID of the message that the user is answering; empty: none. `people`: whom
    the user can mention.

    Raises NoCommandError: the open chat is none in which it can be done.
    """
    first, rest = (command.arguments or ("",))[0], command.arguments[1:]
    match command.name:
        case "chat":
            return lambda chats: WorkResult(opens=chats.find(first))
        case "group":
            return lambda chats: _created(chats, first, rest)
        case "join":
            channel = first.removeprefix("#")
            return lambda chats: WorkResult(chats.join(channel, rest), chats.find(f"#{channel}"))
    chat = writable_chat(open_chat)
    if command.name == "clear":
        return lambda chats: WorkResult(chats.clear(name_of_chat(chats, chat)))
    if command.name == "picture":
        text = with_mentions(" ".join(rest), people)
        return lambda chats: WorkResult(_sent_picture(chats, name_of_chat(chats, chat), first, text, reply_to))
    if command.name == "part":
        if chat.ref.kind is not ChatKind.PUBLIC_GROUP:
            raise NoCommandError(f"{chat.title} is no channel")
        return lambda chats: WorkResult(chats.part(chat.ref.id))
    if chat.ref.kind is not ChatKind.PRIVATE_GROUP:
        raise NoCommandError(f"{chat.title} is no group")
    change = _group_change(chat.ref.id, command)
    return lambda chats: WorkResult(change(chats))


def _sent_picture(chats: Chats, to: str, file: str, text: str, reply_to: str) -> SentChatMessage:
    with Path(file).expanduser().open("rb") as source:
        # One byte more than is ever taken is enough to refuse it.
        picture = prepare_picture(source.read(MAX_FILE_BYTES + 1))
    return chats.send_picture(to, picture.cleaned, picture.type, text, reply_to=reply_to)


def _created(chats: Chats, title: str, members: tuple[str, ...]) -> WorkResult:
    sent = chats.create_group(title, members)
    groups = [chat for chat in chats.chats() if chat.ref.kind is ChatKind.PRIVATE_GROUP and chat.name == title]
    newest = max(groups, key=lambda chat: chat.clock, default=None)
    return WorkResult(sent, chats.find(newest.ref.id) if newest else None)


def _group_change(group: str, command: SlashCommand) -> Callable[[Chats], SentChatMessage]:
    arguments = command.arguments
    match command.name:
        case "add":
            return lambda chats: chats.add_members(group, arguments)
        case "remove":
            return lambda chats: chats.remove_member(group, arguments[0])
        case "promote":
            return lambda chats: chats.make_admins(group, arguments)
        case "rename":
            return lambda chats: chats.rename_group(group, " ".join(arguments))
    return lambda chats: chats.leave_group(group)
