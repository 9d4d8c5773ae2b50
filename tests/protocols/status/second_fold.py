"""A second fold of histories, written from the settlements alone: lists and loops, as slow as they are plain.

It is what the log and its view are compared with. Of the copies that came it takes those that `verify` accepts, and
shows what `status-fold.json` has of chats and messages.
"""

from collections.abc import Iterable
from typing import Any

from postroom.crypto.ethereum import keccak_256
from postroom.protocols.status import messages as m
from postroom.protocols.status.verify import VerifiedPayload

Copy = tuple[VerifiedPayload, int]
"""What `verify` says of a copy, and the transport's time."""
Shown = dict[str, Any]

AHEAD = LATE = 120_000
CREATED, NAMED, ADDED, JOINED, REMOVED, PROMOTED, DEMOTED = range(1, 8)
ONE_TO_ONE, PUBLIC, GROUP = 1, 2, 3
ABOUT = (m.EditMessage, m.DeleteMessage, m.PinMessage, m.EmojiReaction)


def second_fold(copies: Iterable[Copy], own: str, channels: Iterable[str]) -> list[Shown]:
    """All chats with all messages."""
    copies = list(copies)
    found = joined_copies(copies)
    groups = {group: history_of(group, events) for group, events in events_of(copies).items()}
    joined = set(channels)
    for each in found:
        if isinstance(each["message"], m.SyncInstallationPublicChat) and not is_ahead(each):
            joined.add(each["message"].id)
    counting = [each for each in found if counts(each, own, joined, groups)]

    refs = {(PUBLIC, channel) for channel in joined}
    refs |= {(GROUP, group) for group, history in groups.items() if any(own in step["members"] for step in history)}
    refs |= {each["chat"] for each in counting if isinstance(each["message"], m.ChatMessage)}
    shown = [chat(kind, id_, counting, groups.get(id_, [])) for kind, id_ in refs]
    # A chat of two is there while it has a message.
    return sorted(
        (each for each in shown if each["messages"] or each["kind"] != "one-to-one"), key=lambda each: each["id"]
    )


def joined_copies(copies: list[Copy]) -> list[Shown]:
    """Decisions "Payloads" and "Clocks": who, signed or not, type and payload are one message."""
    found: list[Shown] = []
    for verified, at in copies:
        identity = (verified.author, verified.is_signed, verified.type, verified.payload)
        same = [each for each in found if each["identity"] == identity]
        if same:
            same[0]["ids"].add(verified.id)
            same[0]["at"] = min(same[0]["at"], at)
            continue
        message: Any = verified.message
        if isinstance(message, m.MembershipUpdateMessage):
            message = message.message or message.emoji_reaction
        chat_ = verified.chat and (int(verified.chat.kind), verified.chat.id)
        found.append({"identity": identity, "author": verified.author, "message": message, "chat": chat_})
        found[-1] |= {"ids": {verified.id}, "at": at}
    for each in found:
        each["id"] = min(each["ids"])
        message = each["message"]
        each["clock"] = message.cleared_at if isinstance(message, m.SyncClearHistory) else getattr(message, "clock", 0)
    return found


def is_ahead(each: Shown) -> bool:
    return bool(each["clock"] > each["at"] + AHEAD)


# Groups: decision "Groups"


def events_of(copies: list[Copy]) -> dict[str, list[Any]]:
    """All events that came of each group, each once, without those that were ahead when they first came."""
    came: dict[str, dict[tuple[str, bytes], Any]] = {}
    for verified, at in copies:
        if not isinstance(verified.message, m.MembershipUpdateMessage):
            continue
        group = came.setdefault(verified.message.chat_id, {})
        for event in verified.events:
            key = (event.author, event.data)
            group[key] = (min(at, group[key][0]) if key in group else at, event)
    return {
        group: [event for at, event in events.values() if event.event.clock <= at + AHEAD]
        for group, events in came.items()
    }


def history_of(group: str, events: list[Any]) -> list[Shown]:
    """The group after each event that counts."""

    def place(each: Any) -> tuple[int, int, bytes, str]:
        return each.event.clock, 0 if each.event.type == CREATED else 1, keccak_256(each.data), each.author

    history: list[Shown] = []
    creator = group[37:]
    for each in sorted(events, key=place):
        by, event, targets = each.author, each.event, set(each.event.members)
        if event.type == CREATED:
            if by == creator and not history:
                history.append({"clock": event.clock, "name": event.name, "members": {by}, "admins": {by}})
            continue
        if not history:
            continue
        now = history[-1]
        members, admins, name = set(now["members"]), set(now["admins"]), now["name"]
        if event.type == NAMED and by in admins and event.name != "":
            name = event.name
        elif event.type == ADDED and by in admins:
            members |= targets
        elif event.type == JOINED and by in members:
            pass
        elif (
            event.type == REMOVED
            and len(event.members) == 1
            and targets <= members
            and (targets == {by} or (by in admins and not targets & admins))
        ):
            members -= targets
            admins -= targets
        elif event.type == PROMOTED and by in admins and targets <= members:
            admins |= targets
        elif event.type == DEMOTED and by in admins and event.members == (by,):
            admins -= {by}
        else:
            continue
        history.append({"clock": event.clock, "name": name, "members": members, "admins": admins})
    return history


def was(what: str, key: str, clock: int, history: list[Shown]) -> bool:
    """Whether a key was among the members or admins at a clock."""
    before = [step for step in history if step["clock"] <= clock]
    return bool(before) and key in before[-1][what]


# What counts: decisions "Clocks" and "Groups"


def counts(each: Shown, own: str, joined: set[str], groups: dict[str, list[Shown]]) -> bool:
    if each["message"] is None or is_ahead(each):
        return False
    if not isinstance(each["message"], (m.ChatMessage, *ABOUT)):
        return True
    kind, id_ = each["chat"]
    if kind == PUBLIC:
        return id_ in joined
    if kind == GROUP:
        history = groups.get(id_, [])
        if not (was("members", each["author"], each["clock"], history) and was("members", own, each["clock"], history)):
            return False
        if each["at"] > each["clock"] + LATE and not was("members", each["author"], each["at"], history):
            return False
    return True


# What is shown: decision "Chats"


def chat(kind: int, id_: str, counting: list[Shown], history: list[Shown]) -> Shown:
    here = [each for each in counting if each["chat"] == (kind, id_)]
    last = history[-1] if history else {"name": "", "members": set(), "admins": set()}
    cleared = max((each["clock"] for each in here if isinstance(each["message"], m.SyncClearHistory)), default=0)
    deleted_for_me = {
        each["message"].message_id for each in counting if isinstance(each["message"], m.SyncDeleteForMeMessage)
    }
    messages = [
        each
        for each in here
        if isinstance(each["message"], m.ChatMessage) and each["clock"] > cleared and not each["ids"] & deleted_for_me
    ]
    clocks = [
        each["clock"] for each in here if isinstance(each["message"], (m.ChatMessage, *ABOUT, m.SyncClearHistory))
    ]
    return {
        "id": id_,
        "kind": {ONE_TO_ONE: "one-to-one", PUBLIC: "public", GROUP: "group"}[kind],
        "name": last["name"],
        "members": sorted(last["members"]),
        "admins": sorted(last["admins"]),
        "clock": max([0, *clocks, *(step["clock"] for step in history)]),
        "messages": [
            shown(each, here, history)
            for each in sorted(messages, key=lambda each: (each["clock"], each["id"], each["author"]))
        ],
    }


def shown(each: Shown, here: list[Shown], history: list[Shown]) -> Shown:
    text, edited, pinned, deleted = each["message"].text, False, False, False
    reactions: dict[tuple[int, str], bool] = {}
    for said in sorted(here, key=lambda said: (said["clock"], said["id"])):
        about = said["message"]
        if not isinstance(about, ABOUT) or about.message_id not in each["ids"]:
            continue
        by_author = said["author"] == each["author"]
        if isinstance(about, m.EditMessage):
            if by_author and said["clock"] >= each["clock"]:
                text, edited = about.text, True
        elif isinstance(about, m.DeleteMessage):
            if by_author or was("admins", said["author"], said["clock"], history):
                deleted = True
        elif isinstance(about, m.PinMessage):
            pinned = about.pinned
        else:
            reactions[about.type, said["author"]] = not about.retracted
    if deleted:
        text, edited, pinned, reactions = "", False, False, {}
    by_kind: dict[int, list[str]] = {}
    for kind, author in sorted(key for key, stands in reactions.items() if stands):
        by_kind.setdefault(kind, []).append(author)
    return {
        "id": each["id"],
        "author": each["author"],
        "clock": each["clock"],
        "timestamp": each["message"].timestamp,
        "content_type": each["message"].content_type,
        "text": text,
        "response_to": each["message"].response_to,
        "edited": edited,
        "deleted": deleted,
        "pinned": pinned,
        "reactions": by_kind,
        "late": each["at"] > each["clock"] + LATE,
    }
