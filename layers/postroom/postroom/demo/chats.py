"""The demo's scene of chats: Alice, Bob and Carol in a group, and what Mallory tries, who was a member of it."""

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Final

from postroom.client import Mailbox, SendOutcome
from postroom.client.archive import Archive, Home, MemoryHome
from postroom.client.chat import Chats, SentChatMessage
from postroom.client.chat.carried_wrapper import CarriedWrapper
from postroom.client.chat.dm3_carrier import encodings, find_wrapper
from postroom.client.chat.plain_text import EMOJIS
from postroom.client.dm3 import Dm3Draft, Dm3Sender
from postroom.core.reason import Reason
from postroom.demo.chain_names import CAROL
from postroom.demo.checks import DemoRow, Say, expect
from postroom.demo.deployment import until
from postroom.demo.names import ALICE, BOB, MALLORY, SERVICE, profile_of
from postroom.demo.owners import device_of
from postroom.demo.pictures import picture_taken_at, place_of
from postroom.demo.stack import DemoStack
from postroom.names.profiles import Profiles
from postroom.names.registry import PROFILE_KEY, SERVICE_KEY, MemoryRegistry
from postroom.net.https import HttpsClient
from postroom.protocols.dm3.extension import ProfileExtension
from postroom.protocols.dm3.message import MessageType
from postroom.protocols.dm3.profile import data_uri
from postroom.protocols.dm3.storage_key import KEY_TEXT, StorageKey
from postroom.protocols.dm3.stored import StoredEnvelope
from postroom.protocols.status.author import AuthorKey
from postroom.protocols.status.chat_view import ShownChatMessage
from postroom.protocols.status.codec import write_payload
from postroom.protocols.status.enums import PayloadType, ReactionKind
from postroom.protocols.status.group_updates import group_update
from postroom.protocols.status.ids import MessageId, message_id
from postroom.protocols.status.keys import ChatKey
from postroom.protocols.status.media import MediaType, clean
from postroom.protocols.status.mentions import show_mentions, write_mentions
from postroom.protocols.status.message_media import media_of
from postroom.protocols.status.reasons import AUTHOR_NOT_CARRIER, CHAT_UNKNOWN, PAYLOAD_INVALID
from postroom.protocols.status.sending import text_message
from postroom.protocols.status.verify import ChatRef
from postroom.protocols.status.wrapper import read_wrapper, write_wrapper
from postroom.storage.directory.domains import Dm3Mailbox

_SCENE: Final = "17"
_GROUP: Final = "Lunch"
_MEMBER_FOR_MS: Final = 600_000
"""How long Mallory is a member: much longer than a message may be late without a mark."""


@dataclass(frozen=True, slots=True)
class ChatDevice:
    """One device of somebody who chats."""

    sender: Dm3Sender
    archive: Archive
    chats: Chats
    mailbox: Mailbox

    def pull_until(self, *sent: MessageId) -> None:
        """Pull until these messages of others are there."""

        def look() -> bool | None:
            self.chats.pull(self.mailbox)
            log = self.chats.memory.log
            return True if {id_ for fact in log for id_ in log.ids(fact)}.issuperset(sent) else None

        until(f"{self.sender.name} has what was sent in the chat", look)

    def shown(self, chat: ChatRef) -> list[ShownChatMessage]:
        """The messages of a chat, read anew."""
        self.chats.refresh()
        return self.chats.view().messages(chat)

    def lines(self, chat: ChatRef) -> list[str]:
        """The same, as lines."""
        return [self._line(message) for message in self.shown(chat)]

    def _line(self, message: ShownChatMessage) -> str:
        name_of = self._name_of
        media = message.message and media_of(message.message)
        parts = [f"{name_of(message.author)}:", show_mentions(message.text, name_of)]
        parts += [f"(picture of {len(media.data)} bytes)"] if media else []
        parts += ["[a reply]"] if message.response_to else []
        parts += ["[edited]"] if message.is_edited else []
        parts += [
            f"{EMOJIS[ReactionKind(kind)]} {', '.join(map(name_of, by))}" for kind, by in message.reactions.items()
        ]
        return " ".join(part for part in parts if part)

    def _name_of(self, key: ChatKey) -> str:
        """A name of a key: proven by its messages, otherwise as others say."""
        memory = self.chats.memory
        return memory.name_of(key) or memory.names_said(key, lambda _: True)[0]


@dataclass(frozen=True, slots=True)
class Written:
    """What was written. `reaction`: Alice's, as Mallory got it. `private`: a message to Mallory alone.

    `later`: what was sent in the group after Mallory was removed, and that she was.
    """

    group: ChatRef
    reaction: MessageId
    private: MessageId
    later: tuple[MessageId, ...]


def chat_in_a_group(demo: DemoStack, https: HttpsClient, say: Say) -> list[DemoRow]:
    """Three people chat in a group; what Mallory tries, who was removed from it, changes nothing."""
    for name in (ALICE, CAROL, MALLORY):
        demo.receiver.operators.put_dm3_mailbox(Dm3Mailbox(name, ProfileExtension(message_types=tuple(MessageType))))
    profiles = _profiles(demo)
    with ExitStack() as open_mailboxes:

        def device(name: str, home: Home) -> ChatDevice:
            keys = demo.names.keys_of(name)
            storage_key = StorageKey.from_signature(keys.signing.sign(KEY_TEXT))
            archive = Archive.of(home, name, keys.signing.sign(name.encode()), storage_key)
            sender = Dm3Sender(name, keys, profiles, https)
            mailbox = open_mailboxes.enter_context(device_of(demo, name))
            return ChatDevice(sender, archive, Chats(archive, sender), mailbox)

        alice, carol, mallory = (device(name, MemoryHome()) for name in (ALICE, CAROL, MALLORY))
        bobs_home = MemoryHome()
        laptop = device(BOB, bobs_home)
        written = _members_chat(alice, laptop, mallory, say)
        group = written.group
        sent = (*written.later, _a_picture_is_sent(alice, carol, written, say))
        phone = device(BOB, bobs_home)
        phone.pull_until(*sent)
        lines = phone.lines(group)
        expect(not any(message.reactions for message in phone.shown(group)), "the reaction was taken back", lines)
        expect(laptop.shown(group) == phone.shown(group) == carol.shown(group), "all devices show the same", lines)
        say(f"{BOB}'s phone comes late, and fetches the rest; his laptop shows the same lines, and so does {CAROL}:")
        for line in lines:
            say(f"  {line}")
        return [
            DemoRow(_SCENE, "a chat in a group", "accepted", "the same lines on all devices, early or late"),
            DemoRow(_SCENE, "a picture with the place where it was taken", "accepted", "it arrives without the place"),
            *_mallory_tries(mallory, carol, written, say),
        ]


def _members_chat(alice: ChatDevice, bob: ChatDevice, mallory: ChatDevice, say: Say) -> Written:
    """A new group, from which Mallory is removed: a text and its edit, a reply, a reaction and its retraction."""
    earlier = replace(alice.sender, clock=lambda: time.time() - _MEMBER_FOR_MS / 1000)
    _taken(Chats(alice.archive, earlier).create_group(_GROUP, [BOB, CAROL, MALLORY]))
    alice.chats.refresh()
    group = alice.chats.find(_GROUP).ref
    say(f"{ALICE} made the group {_GROUP!r} ten minutes ago, offline: {BOB}, {CAROL} and {MALLORY} learn of it now")
    text = _taken(alice.chats.send(group.id, "Lunch on Thursday?"))
    bob.pull_until(text)
    answer = f"Friday is better. @{CAROL}, are you there?"
    mentioned = write_mentions(answer, {CAROL: ChatKey(bob.chats.find(CAROL).ref.id)})
    reply = _taken(bob.chats.send(group.id, mentioned, reply_to=text))
    alice.pull_until(reply)
    reaction = _taken(alice.chats.react(group.id, reply))
    private = _taken(alice.chats.send(MALLORY, "Between the two of us: you are not coming"))
    mallory.pull_until(reply, reaction, private)
    reactions = mallory.shown(group)[-1].reactions
    expect(list(reactions) == [ReactionKind.LOVE], "the reaction stands", reactions)
    heart = EMOJIS[ReactionKind.LOVE]
    say(f"{ALICE} writes, {BOB} replies and mentions {CAROL}, {ALICE} reacts with {heart}; {MALLORY} reads along")
    later = (
        alice.chats.remove_member(group.id, MALLORY),
        alice.chats.react(group.id, reply, take_back=True),
        alice.chats.edit(group.id, text, "Lunch on Friday?"),
    )
    say(f"{ALICE} removes {MALLORY} from the group, takes her reaction back, and edits her text")
    return Written(group, reaction, private, tuple(map(_taken, later)))


def _a_picture_is_sent(alice: ChatDevice, carol: ChatDevice, written: Written, say: Say) -> MessageId:
    """A picture is cleaned, sent, and received, with all that was sent before it."""
    picture = picture_taken_at(38.7077, -9.1366)
    cleaned = clean(picture, MediaType.JPEG)
    sent = _taken(alice.chats.send_picture(written.group.id, cleaned, MediaType.JPEG, "Here"))
    carol.pull_until(*written.later, sent)
    [received] = [message.message for message in carol.shown(written.group) if message.id == sent]
    media = received and media_of(received)
    data = media.data if media else b""
    expect(data == cleaned.data and not place_of(data), "the picture arrives without the place", place_of(data))
    say(
        f"her picture of {len(picture)} bytes says where it was taken ({place_of(picture)}); {CAROL} gets "
        f"{len(data)} bytes, which say nothing of it: {cleaned.dropped['EXIF']} bytes of EXIF were dropped"
    )
    return sent


def _mallory_tries(mallory: ChatDevice, carol: ChatDevice, written: Written, say: Say) -> list[DemoRow]:
    """Mallory sends Carol what Alice signed, and a message of her own into the past."""
    before = carol.shown(written.group)
    signed = _wrappers_from(ALICE, mallory)
    reaction = read_wrapper(signed[written.reaction])
    deletion = write_wrapper(reaction.payload, reaction.signature, PayloadType.DELETE_MESSAGE)
    private, past = signed[written.private], _written_in_the_past(mallory, written.group)
    attempts = (
        ("Alice's reaction, made a deletion by Mallory", deletion, PAYLOAD_INVALID),
        ("Alice's message to Mallory, passed on", private, AUTHOR_NOT_CARRIER),
        ("a message of Mallory, dated before her removal", past, CHAT_UNKNOWN),
    )
    sent = [_pass_on(mallory, wrapper) for _, wrapper, _ in attempts]
    reasons = _reasons_against(sent, carol)
    rows = []
    for (what, _, expected), reason in zip(attempts, reasons, strict=True):
        expect(reason == expected, f"{what}: {expected}", reason)
        say(f"{what}: {CAROL} gets it, and it does not count: {reason}")
        rows.append(DemoRow(_SCENE, what, "accepted", f"{reason}; the chat is as it was"))
    expect(carol.shown(written.group) == before, "the chat is as it was", carol.lines(written.group))
    say(f"{CAROL}'s chat is as it was")
    return rows


def _wrappers_from(author: str, device: ChatDevice) -> dict[MessageId, bytes]:
    """What somebody has sent to the owner of a device, by its ID."""
    key = ChatKey(device.chats.find(author).ref.id)
    found = (find_wrapper(it.message) for it in device.archive.open(author) if isinstance(it, StoredEnvelope))
    return {message_id(key, carried.wrapper): carried.wrapper for carried in found if carried}


def _written_in_the_past(device: ChatDevice, group: ChatRef) -> bytes:
    """A signed message in a group from when its author was a member."""
    key = device.sender.keys.signing.ethereum_key
    assert key is not None  # noqa: S101 - for the type checker
    at_ms = int(time.time() * 1000) - _MEMBER_FOR_MS // 2
    text = text_message(group, at_ms, at_ms, "Alice is paying for all of us")
    payload = write_payload(group_update(device.chats.memory.log.group(group.id), text))
    signature = AuthorKey.from_secret(key.secret).sign(payload)
    return write_wrapper(payload, signature, PayloadType.MEMBERSHIP_UPDATE_MESSAGE)


def _pass_on(mallory: ChatDevice, wrapper: bytes) -> str:
    """Send a wrapper to Carol; the hash of the dm3 message."""
    uris = encodings(CarriedWrapper(wrapper, None))
    sent = mallory.sender.send(Dm3Draft(CAROL, "(a message of a chat)", encodings=uris))
    expect(sent.fate is SendOutcome.TAKEN, f"{CAROL}'s service takes the message", sent.attempts)
    return sent.message_hash


def _reasons_against(sent: Sequence[str], carol: ChatDevice) -> list[Reason | None]:
    """Why each message of Mallory does not count, by the hashes of the dm3 messages; None: it does."""

    def arrived() -> bool | None:
        carol.chats.pull(carol.mailbox)
        found = {each for entry in carol.archive.open(MALLORY) for each in entry.hashes()}
        return True if found.issuperset(sent) else None

    until(f"{CAROL} has what {MALLORY} sent", arrived)
    memory = carol.chats.memory
    view = memory.view()
    reasons: dict[str, Reason | None] = {each.message_hash: each.error.reason for each in memory.discarded}
    for fact in memory.log:
        reasons[memory.hashes.get(fact.key, {}).get(MALLORY, "")] = view.reason_against(fact)
    return [reasons[each] for each in sent]


def _taken(sent: SentChatMessage) -> MessageId:
    """The ID of a message that all receivers' delivery services have taken."""
    outcomes = {delivery.outcome for delivery in sent.deliveries}
    expect(outcomes == {SendOutcome.TAKEN} and not sent.unreached, "everybody's service takes the message", sent)
    return sent.id


def _profiles(demo: DemoStack) -> Profiles:
    """The profiles of those who chat, and of their delivery service."""
    texts = {
        name: {PROFILE_KEY: data_uri(profile_of(demo.names.keys_of(name)))} for name in (ALICE, BOB, CAROL, MALLORY)
    }
    texts[SERVICE] = {SERVICE_KEY: data_uri(demo.names.service.as_json())}
    return Profiles(MemoryRegistry(texts), time.time)
