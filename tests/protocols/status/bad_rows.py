"""The rows of the table behind docs/reference/bad-input.md that come to Bob's chats, whatever carries them."""

import base64
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from coincurve.utils import GROUP_ORDER_INT
from tests.protocols.status.known import (
    ALICE,
    BOB,
    GIF,
    GROUP,
    ID,
    IN_GROUP,
    MALLORY,
    NOW,
    OFF_THE_CURVE,
    PICTURE,
    SAMPLES,
    Field,
    founding,
    image,
    own_of,
    reaction,
    text,
    wrapped,
    wrapper_of,
)

from postroom.core.reason import Reason
from postroom.core.reasons import TOO_LARGE
from postroom.protocols.status import messages as m
from postroom.protocols.status.author import AuthorKey
from postroom.protocols.status.codec import FORMS, type_of_message, write_payload
from postroom.protocols.status.enums import MembershipEventType as Event
from postroom.protocols.status.enums import PayloadType
from postroom.protocols.status.fold import HistoryLine
from postroom.protocols.status.ids import message_id
from postroom.protocols.status.membership import sign_event
from postroom.protocols.status.reasons import (
    AUTHOR_NOT_CARRIER,
    AUTHOR_SIGNATURE_INVALID,
    AUTHOR_UNKNOWN,
    CHAT_INVALID,
    CHAT_UNKNOWN,
    CLOCK_AHEAD,
    CLOCK_INVALID,
    MEDIA_INVALID,
    MEDIA_TOO_LARGE,
    MEMBERSHIP_INVALID,
    NOT_FROM_OWN_KEY,
    PAYLOAD_INVALID,
    PAYLOAD_TYPE_UNKNOWN,
    TEXT_INVALID,
    WRAPPER_INVALID,
    WRITTEN_TO_ANOTHER,
)
from postroom.protocols.status.white_space import WHITE_SPACE
from postroom.protocols.status.wrapper import MAX_WRAPPER_BYTES, write_wrapper

OWN: Final = BOB.public
"""Whose chats they are."""


class Effect(StrEnum):
    """What becomes of a wrapper."""

    NONE = "not in the log"
    UNSEEN = "in the log, and not shown"
    SAME = "in the log; the chat is as without it"
    SHOWN = "shown; terminals get escapes"
    WITHOUT = "shown, without the picture or the sound"
    LATE = "shown, marked `late`"
    HIGH_S = "shown, marked `high-s`"


@dataclass(frozen=True)
class ChatRow:
    """A row of the table. `make`: what comes, each by itself, after `before`. `reason` None: none, or several."""

    section: str
    what: str
    make: Callable[[], list[HistoryLine]]
    reason: Reason | None
    then: Effect = Effect.NONE
    before: tuple[HistoryLine, ...] = ()


def rows() -> Iterator[ChatRow]:
    """All rows of the table."""
    for section, table in (
        ("Chats: wrappers", _wrappers()),
        ("Chats: signatures and carriers", _signatures()),
        ("Chats: payloads", _payloads()),
        ("Chats: clocks", _clocks()),
        ("Chats: texts", _texts()),
        ("Chats: which chat", _chats()),
        ("Chats: names and pictures", _names()),
    ):
        for what, lines, reason, *then in table:
            yield ChatRow(section, what, _always(lines), reason, *then)
    for what, lines, reason, *then in _groups():
        yield ChatRow("Chats: groups", what, _always(lines), reason, *then, before=_GROUP_OF_TWO)  # type: ignore[misc]
    for what, lines in _about():
        yield ChatRow("Chats: edits, deletions, reactions", what, _always(lines), None, Effect.SAME, _CHAT_OF_TWO)


Table = Iterator[tuple[Any, ...]]


def _always(lines: Any) -> Callable[[], list[HistoryLine]]:
    found = lines if isinstance(lines, list) else [lines]
    return lambda: [each if isinstance(each, HistoryLine) else HistoryLine(each, NOW) for each in found]


def _of(message: m.StatusMessage, key: AuthorKey | None = ALICE, at_ms: int = NOW, **members: Any) -> HistoryLine:
    return HistoryLine(wrapper_of(message, key), at_ms, **{"type": type_of_message(message), **members})


def _signed(payload: bytes, type_: int = PayloadType.CHAT_MESSAGE) -> HistoryLine:
    return HistoryLine(wrapped(payload, type_), NOW, None if type_ != PayloadType.CHAT_MESSAGE_IDENTITY else type_)


def _with(message: m.StatusMessage, *fields: Field) -> HistoryLine:
    """A payload with further fields at its end, which replace those before."""
    return _signed(write_payload(message) + b"".join(map(bytes, fields)), type_of_message(message))


_PAYLOAD: Final = write_payload(text())
_SIGNATURE: Final = ALICE.sign(_PAYLOAD)
_GOOD: Final = wrapped(_PAYLOAD)


def _wrappers() -> Table:
    deep = b"\x2b" * 100_000
    yield "0 bytes", b"", WRAPPER_INVALID
    yield "not protobuf", [b"hello", b"\xff" * 9, b'{"clock": 1}', bytes(9)], WRAPPER_INVALID
    yield "cut at every byte before the type", [_GOOD[:length] for length in range(len(_GOOD) - 2)], WRAPPER_INVALID
    yield "cut in front of the type", _GOOD[:-2], PAYLOAD_TYPE_UNKNOWN
    yield "cut within the type", _GOOD[:-1], WRAPPER_INVALID
    yield "an empty payload", write_wrapper(b"", _SIGNATURE, 1), WRAPPER_INVALID
    yield "an empty payload, in the older wrapper", write_wrapper(b"", _SIGNATURE, 1, typed=False), WRAPPER_INVALID
    yield "a payload without a wrapper", _PAYLOAD, WRAPPER_INVALID
    yield "field 0", _GOOD + b"\0\0", WRAPPER_INVALID
    yield "a varint of 11 bytes", _GOOD + b"\x28" + b"\xff" * 10 + b"\1", WRAPPER_INVALID
    yield "100,000 groups in each other", _GOOD + deep, WRAPPER_INVALID
    yield "a length beyond the end", _GOOD + b"\x2a\x7fx", WRAPPER_INVALID
    other = [Field(1, 5), Field(2, 5), Field(3, b"\1")]
    yield "a field in another wire type", [_GOOD + bytes(each) for each in other], WRAPPER_INVALID
    yield "signature twice, the last of 64 bytes", _GOOD + bytes(Field(1, b"s" * 64)), AUTHOR_SIGNATURE_INVALID
    twice = HistoryLine(_GOOD + bytes(Field(2, write_payload(text("Bye")))), NOW, carrier=ALICE.public)
    yield "payload twice, the last not signed", twice, AUTHOR_NOT_CARRIER
    yield "1,100,001 bytes", _GOOD.ljust(MAX_WRAPPER_BYTES + 1, b"\0"), TOO_LARGE
    yield "type 0", wrapped(_PAYLOAD, 0), PAYLOAD_TYPE_UNKNOWN
    yield "the older wrapper, without a type", write_wrapper(_PAYLOAD, _SIGNATURE, 1, typed=False), PAYLOAD_TYPE_UNKNOWN
    mistaken = HistoryLine(write_wrapper(_PAYLOAD, _SIGNATURE, 1, typed=False), NOW, PayloadType.EMOJI_REACTION)
    yield "the older wrapper, with another type beside it", mistaken, PAYLOAD_INVALID
    yield "an unknown type", wrapped(b"\xff", 99), None, Effect.SAME
    for name, sample in SAMPLES.items():
        if own_of(sample) == OWN:
            labels = [label for label in FORMS if label != type_of_message(sample)]
            found = [HistoryLine(wrapped(write_payload(sample), label), NOW, PayloadType(label)) for label in labels]
            yield f"a payload under every other label: {name}", found, None, Effect.SAME


def _signatures() -> Table:
    def changed(r: int | None = None, s: int | None = None, v: int | None = None) -> bytes:
        parts = (
            _SIGNATURE[:32] if r is None else r.to_bytes(32),
            _SIGNATURE[32:64] if s is None else s.to_bytes(32),
            _SIGNATURE[64:] if v is None else bytes([v]),
        )
        return write_wrapper(_PAYLOAD, b"".join(parts), 1)

    n, s, v = GROUP_ORDER_INT, int.from_bytes(_SIGNATURE[32:64]), _SIGNATURE[64]
    lengths = [write_wrapper(_PAYLOAD, (_SIGNATURE * 2)[:length], 1) for length in (1, 64, 66, 130)]
    yield "1, 64, 66 or 130 bytes", lengths, AUTHOR_SIGNATURE_INVALID
    yield "V 2, 3, 4, 27 or 28", [changed(v=each) for each in (2, 3, 4, 27, 28)], AUTHOR_SIGNATURE_INVALID
    yield "r or s 0, n or 2^256 - 1", [
        changed(**{part: each}) for part in ("r", "s") for each in (0, n, 2**256 - 1)
    ], AUTHOR_SIGNATURE_INVALID  # fmt: skip
    yield "the higher s", changed(s=n - s, v=v ^ 1), None, Effect.HIGH_S
    flipped = HistoryLine(changed(v=v ^ 1), NOW, carrier=ALICE.public)
    yield "another V, which is of another key", flipped, AUTHOR_NOT_CARRIER
    yield (
        "none, and no carrier",
        [wrapped(_PAYLOAD, key=None), bytes(Field(1, b"")) + wrapped(_PAYLOAD, key=None)],
        (AUTHOR_UNKNOWN),
    )
    for_others = [each for each in SAMPLES.values() if own_of(each) == OWN and getattr(each, "message_type", 0) != 2]
    yield "brought by another than the author, of every type and not in a channel", [
        _of(each, carrier=MALLORY.public) for each in for_others
    ], AUTHOR_NOT_CARRIER  # fmt: skip
    devices = [each for each in SAMPLES.values() if own_of(each) != OWN]
    yield "a message between devices, by another", [_of(each) for each in devices], NOT_FROM_OWN_KEY
    yield "the same, unsigned, from another", [
        _of(each, None, carrier=MALLORY.public) for each in devices
    ], NOT_FROM_OWN_KEY  # fmt: skip
    in_channel = text("Hello", chat_id="town", message_type=2)
    yield "unsigned and in a channel: it is of who brings it, in a channel that is not joined", _of(
        in_channel, None, carrier=MALLORY.public
    ), CHAT_UNKNOWN, Effect.UNSEEN  # fmt: skip


def _payloads() -> Table:
    for what, tail in (
        ("field 0", b"\0\0"), ("a varint of 11 bytes", b"\x08" + b"\xff" * 10 + b"\1"),
        ("100,000 groups in each other", b"\xfb\x07" * 100_000), ("a length beyond the end", b"\x1a\x7fx"),
        ("no UTF-8", bytes(Field(3, b"\xff"))), ("half of a surrogate pair", bytes(Field(3, b"\xed\xa0\xbd"))),
    ):  # fmt: skip
        yield what, _signed(_PAYLOAD + tail), PAYLOAD_INVALID
    for name, sample in SAMPLES.items():
        if own_of(sample) == OWN and name not in ("reply", "status", "emoji", "retraction", "text in a group"):
            known = FORMS[type_of_message(sample)].message.DESCRIPTOR.fields
            wrong = [Field(each.number, b"" if each.type in {4, 5, 8, 13} else 1) for each in known]
            yield (
                f"a known number in another wire type: {name}",
                [_with(sample, each) for each in wrong],
                (PAYLOAD_INVALID),
            )
    nested = [Field(9, bytes(Field(1, 1))), Field(10, bytes(Field(1, 1))), Field(11, bytes(Field(3, b"")))]
    yield "the same within a sticker, a picture, a sound", [_with(text(), each) for each in nested], PAYLOAD_INVALID
    yield "timestamp 0", _with(text(), Field(2, 0)), PAYLOAD_INVALID
    yield "content type 0, 5 or 6", [_with(text(), Field(8, each)) for each in (0, 5, 6)], PAYLOAD_INVALID
    yield "a sticker, a picture or a sound that is not there", [
        _with(text(), Field(8, each)) for each in (2, 7, 8)
    ], PAYLOAD_INVALID  # fmt: skip
    yield "a sticker without a hash", _with(SAMPLES["sticker"], Field(9, bytes(Field(1, b"")))), PAYLOAD_INVALID
    yield "a picture or a sound without bytes, or without a type", [
        _with(SAMPLES[name], Field(number, bytes(Field(part, 0 if part == 2 else b""))))
        for name, number in (("image", 10), ("audio", 11)) for part in (1, 2)
    ], PAYLOAD_INVALID  # fmt: skip
    bad_ids = [b"", b"0x", ID[2:].encode(), ID[:-1].encode(), f"{ID}0".encode(), ID.upper().encode(), b"https://a.eth"]
    yield "a reply to what is no ID", [_with(text(), Field(4, each)) for each in bad_ids if each], PAYLOAD_INVALID
    yield "a reaction, a pin, an edit, a deletion of what is no ID", [
        _with(SAMPLES[name], Field(number, each))
        for name, number in (("reaction", 3), ("pin", 2), ("edit", 4), ("deletion", 3)) for each in bad_ids
    ], PAYLOAD_INVALID  # fmt: skip
    yield "a reaction of kind 0", _with(reaction(), Field(5, 0)), PAYLOAD_INVALID
    yield "an invitation in state 0", _with(SAMPLES["invitation"], Field(4, 0)), PAYLOAD_INVALID
    yield "1,001 events", _signed(
        bytes(Field(1, GROUP.encode())) + bytes(Field(2, b"")) * 1001, PayloadType.MEMBERSHIP_UPDATE_MESSAGE
    ), PAYLOAD_INVALID  # fmt: skip
    yield "a picture that is an address, SVG, HTML, or of another type", [
        _of(image(each)) for each in (b"https://a.example/b.gif", b"<svg/>", b"<!doctype html>", b"\xff\xd8\xff")
    ], None, Effect.WITHOUT  # fmt: skip
    yield "a picture above the limit", _of(image(GIF + bytes(400_000))), None, Effect.WITHOUT


def _clocks() -> Table:
    samples = [each for each in SAMPLES.values() if own_of(each) == OWN and hasattr(each, "clock")]
    for what, clock in (("0", 0), ("2^63", 1 << 63), ("2^64 - 1", (1 << 64) - 1)):
        yield what, [_with(each, Field(1, clock)) for each in samples], CLOCK_INVALID
    yield "120,001 ms ahead", _of(text(clock=NOW + 120_001)), CLOCK_AHEAD, Effect.UNSEEN
    yield "2^53", _of(text(clock=1 << 53)), CLOCK_AHEAD, Effect.UNSEEN
    yield "2^63 - 1", _of(text(clock=(1 << 63) - 1)), CLOCK_AHEAD, Effect.UNSEEN
    yield "120,001 ms behind", _of(text(clock=NOW - 120_001)), None, Effect.LATE


def _texts() -> Table:
    blanks = ["", WHITE_SPACE, *WHITE_SPACE]
    yield "blanks of every kind", [_with(text(), Field(3, each.encode())) for each in blanks], TEXT_INVALID
    edit = SAMPLES["edit"]
    yield "the same in an edit", [_with(edit, Field(2, each.encode())) for each in blanks], TEXT_INVALID
    long = [_with(text(), Field(3, (each * 4097).encode())) for each in "aÉ字😀 "]
    yield "4,097 characters", long, TEXT_INVALID
    yield "4,097 characters, beside a picture", _with(image(), Field(3, b"x" * 4097)), TEXT_INVALID
    hostile = ["\u202eevil", "\u2066\u2069", "a\0b", "\x1b[2J\x1b]0;x\x07", "\u200b", "\ufeff", "\x1c", "a\rb\nc"]
    yield "bidi overrides, NUL, escapes of terminals, invisible characters, line breaks", [
        _of(text(each)) for each in hostile
    ], None, Effect.SHOWN  # fmt: skip


def _chats() -> Table:
    yield "of two: another's key", [
        _of(text(chat_id=each)) for each in (MALLORY.public, ALICE.public)
    ], WRITTEN_TO_ANOTHER  # fmt: skip
    yield "of two, another's key, about a message", [
        _of(reaction(chat_id=MALLORY.public)), _of(m.DeleteMessage(NOW, MALLORY.public, ID, 1)),
        _of(m.EditMessage(NOW, "x", MALLORY.public, ID, 1)), _of(m.PinMessage(NOW, ID, MALLORY.public, 1)),
    ], WRITTEN_TO_ANOTHER  # fmt: skip
    yield "of two: no key, or no point of the curve", [
        _of(text(chat_id=each)) for each in ("x", OFF_THE_CURVE, OWN[2:], OWN.upper(), GROUP)
    ], None, Effect.SHOWN  # fmt: skip
    yield "none", [_with(each, Field(6, b"")) for each in (text(), image())], CHAT_INVALID
    yield "the ID of a message", _with(text(), Field(6, ID.encode())), CHAT_INVALID
    yield "kind 0 or 4", [_with(text(), Field(7, each)) for each in (0, 4)], PAYLOAD_INVALID
    yield "kind 5, 6, 99 or -1", [_of(text(message_type=each)) for each in (5, 6, 99, -1)], CHAT_INVALID
    channels = ["Town", "a b", "#town", "a_b", "ä", "x" * 256, OWN, OFF_THE_CURVE, "\u202etown", "a\0b"]
    yield "a channel with other characters, too long, or a key", [
        _of(text(chat_id=each, message_type=2)) for each in channels
    ], CHAT_INVALID  # fmt: skip
    yield "a channel that is not joined", _of(text(chat_id="town", message_type=2)), CHAT_UNKNOWN, Effect.UNSEEN
    uuid = GROUP[:36]
    groups = ["x", uuid, ALICE.public, f"{uuid}{ALICE.public}", GROUP.replace("-", "", 1), GROUP.upper(),
              f"{uuid}-{OFF_THE_CURVE}", f"{uuid}-{ALICE.public[2:]}", f"{GROUP}\n"]  # fmt: skip
    yield "a group without its hyphen, without a key, with one off the curve", [
        _of(text(chat_id=each, message_type=3)) for each in groups
    ], CHAT_INVALID  # fmt: skip
    yield "a group that nobody has founded", _of(text(**IN_GROUP)), CHAT_UNKNOWN, Effect.UNSEEN
    other = GROUP.replace("6f96", "6f97")
    carried = write_payload(text(chat_id=other, message_type=3))
    yield "a message in the update of another group", _signed(
        bytes(Field(1, GROUP.encode())) + bytes(Field(3, carried)), PayloadType.MEMBERSHIP_UPDATE_MESSAGE
    ), CHAT_INVALID  # fmt: skip


def _names() -> Table:
    update, identity = PayloadType.CONTACT_UPDATE, PayloadType.CHAT_MESSAGE_IDENTITY
    clock = bytes(Field(1, NOW))

    def pictures(*given: str) -> list[HistoryLine]:
        inside = [bytes(Field(1, each.encode())) + bytes(Field(2, 1)) + bytes(Field(3, 1)) for each in given]
        return [
            *(_signed(clock + bytes(Field(3, each.encode())), update) for each in given),
            *(_signed(clock + bytes(Field(4, each)), identity) for each in inside),
        ]

    def encoded(data: bytes) -> str:
        return base64.b64encode(data).decode()

    names = ["alice", "a..b", "a b.eth", "\u202e.eth", "\u0430lice.eth", "https://a.example", "x" * 256 + ".eth"]
    yield "an ENS name without a dot, or that ENSIP-15 refuses", [
        _signed(clock + bytes(Field(2, each.encode())), type_) for each in names for type_ in (update, identity)
    ], PAYLOAD_INVALID  # fmt: skip
    addresses = ("https://a.example/b.png", "ipfs://bafy", "ipns://a.eth", "data:image/png,x", f"https://a/,{PICTURE}")
    yield "a profile picture that is a URL, or on IPFS or IPNS", pictures(*addresses), PAYLOAD_INVALID
    hidden = (b"https://a.example/b.png", b"<svg/>", b"<!doctype html>", b"%PDF-1.7", b"")
    uris = [f"data:image/png;base64,{encoded(each)}" for each in hidden]
    yield "SVG, HTML, PDF, an address or nothing in base64", pictures(*uris, *map(encoded, hidden[:-1])), MEDIA_INVALID
    yield "a profile picture of 100,001 bytes", pictures(encoded(GIF.ljust(100_001, b"\0"))), MEDIA_TOO_LARGE
    avatar = bytes(Field(2, 2)) + bytes(Field(3, 1))
    yield (
        "the avatar of an ENS name, without the name",
        _signed(clock + bytes(Field(4, avatar)), identity),
        (PAYLOAD_INVALID),
    )


# --- histories ----------------------------------------------------------------------------------------------------


def _event(type_: int, clock: int, *members: str, key: AuthorKey = ALICE, name: str = "", group: str = GROUP) -> bytes:
    return sign_event(group, m.MembershipUpdateEvent(clock, type_, members, name), key)


def _update(*events: bytes, key: AuthorKey = ALICE, at_ms: int = NOW) -> HistoryLine:
    return _of(m.MembershipUpdateMessage(GROUP, events), key, at_ms)


_GROUP_OF_TWO: Final = (
    _update(founding(), _event(Event.MEMBERS_ADDED, NOW + 1, OWN), _event(Event.MEMBER_JOINED, NOW + 2, key=BOB)),
    _of(text("Welcome", clock=NOW + 3, **IN_GROUP)),
)


def _groups() -> Table:
    events: list[tuple[str, bytes]] = [
        ("a second founding", _event(Event.CHAT_CREATED, NOW + 5, name="Mine")),
        ("a stranger adds members", _event(Event.MEMBERS_ADDED, NOW + 5, MALLORY.public, key=MALLORY)),
        ("a member adds members", _event(Event.MEMBERS_ADDED, NOW + 5, MALLORY.public, key=BOB)),
        ("a member changes the name", _event(Event.NAME_CHANGED, NOW + 5, key=BOB, name="Ours")),
        ("an empty name", _event(Event.NAME_CHANGED, NOW + 5)),
        ("a stranger joins", _event(Event.MEMBER_JOINED, NOW + 5, key=MALLORY)),
        ("a member removes an admin", _event(Event.MEMBER_REMOVED, NOW + 5, ALICE.public, key=BOB)),
        ("two are removed by one event", _event(Event.MEMBER_REMOVED, NOW + 5, OWN, ALICE.public)),
        ("who is no member is removed", _event(Event.MEMBER_REMOVED, NOW + 5, MALLORY.public)),
        ("ADMINS_ADDED with one stranger", _event(Event.ADMINS_ADDED, NOW + 5, OWN, MALLORY.public)),
        ("a member becomes admin by itself", _event(Event.ADMINS_ADDED, NOW + 5, OWN, key=BOB)),
        ("an event of an unknown type", _event(9, NOW + 5, OWN)),
        ("what is before the founding", _event(Event.MEMBER_REMOVED, NOW - 1, OWN)),
    ]
    for what, event in events:
        yield what, _update(event, key=MALLORY), None, Effect.SAME
    other = GROUP.replace("6f96", "6f97")
    yield "a founding by another than the key in the ID", _update(
        _event(Event.CHAT_CREATED, NOW - 1, key=MALLORY)
    ), MEMBERSHIP_INVALID  # fmt: skip
    no_keys = ("x", OFF_THE_CURVE, OWN.upper(), OWN[2:])
    yield "members that are no keys", [
        _update(_event(Event.MEMBERS_ADDED, NOW + 5, MALLORY.public, each)) for each in no_keys
    ], MEMBERSHIP_INVALID  # fmt: skip
    yield "events of 0, 64 and 65 bytes", [_update(b"x" * length) for length in (0, 64, 65)], MEMBERSHIP_INVALID
    yield "an event that is not protobuf", _update(founding()[:65] + b"\xff"), MEMBERSHIP_INVALID
    yield "an event with the clock 0 or 2^63", [
        _update(founding()[:65] + bytes(Field(1, clock)) + bytes(Field(4, 1))) for clock in (0, 1 << 63)
    ], MEMBERSHIP_INVALID  # fmt: skip
    from_there = _event(Event.MEMBERS_ADDED, NOW + 5, MALLORY.public, group=other)
    yield "an event that was signed for another group", _update(from_there), None, Effect.SAME
    yield "an event 120,001 ms ahead", _update(
        _event(Event.NAME_CHANGED, NOW + 120_001, name="Tomorrow")
    ), None, Effect.SAME  # fmt: skip
    yield "a message by who is no member", _of(text("x", **IN_GROUP), MALLORY), CHAT_UNKNOWN, Effect.UNSEEN


_HELLO: Final = _of(text())
_ANSWER: Final = _of(text("Yes", chat_id=ALICE.public, clock=NOW + 1), BOB)
_CHAT_OF_TWO: Final = (_HELLO, _ANSWER)


def _about() -> Iterator[tuple[str, list[HistoryLine] | HistoryLine]]:
    hello, answer = message_id(ALICE.public, _HELLO.wrapper), message_id(OWN, _ANSWER.wrapper)
    here = {"chat_id": OWN, "message_type": 1}
    yield "an edit by another", _of(m.EditMessage(NOW + 2, "No", message_id=answer, **here))
    yield "a deletion by another", _of(m.DeleteMessage(NOW + 2, message_id=answer, **here))
    yield (
        "a deletion by another, with a forged `deleted_by`",
        _of(m.DeleteMessage(NOW + 2, message_id=answer, deleted_by=OWN, **here)),
    )
    there = {"chat_id": "town", "message_type": 2}
    across = [
        m.EditMessage(NOW + 2, "No", message_id=hello, **there), m.DeleteMessage(NOW + 2, message_id=hello, **there),
        m.PinMessage(NOW + 2, hello, **there, pinned=True), reaction(clock=NOW + 2, message_id=hello, **there),
    ]  # fmt: skip
    yield "an edit, a deletion, a pin, a reaction across chats", [_of(each) for each in across]
    by_mallory = [
        m.EditMessage(NOW + 2, "No", message_id=hello, **here), m.DeleteMessage(NOW + 2, message_id=hello, **here),
        m.PinMessage(NOW + 2, hello, **here, pinned=True), reaction(clock=NOW + 2, message_id=hello),
    ]  # fmt: skip
    yield "the same by a third, in a chat of that one's", [_of(each, MALLORY) for each in by_mallory]
    yield "an edit older than its message", _of(m.EditMessage(NOW - 1, "No", message_id=hello, **here))
    edit = m.EditMessage(NOW + 2, "No", message_id=ID, **here)
    own_id = message_id(ALICE.public, wrapper_of(edit))
    yield "an edit of an edit", [_of(edit), _of(m.EditMessage(NOW + 3, "Never", message_id=own_id, **here))]
    yield (
        "an edit, a deletion, a pin, a reaction of what is not there",
        [_of(SAMPLES[name]) for name in ("edit", "deletion", "pin", "reaction")],
    )
    yield "1,000 reactions of unknown kinds to what is not there", [_of(reaction(type=kind)) for kind in range(7, 1007)]
