"""Fuzzing of chats: wrappers, payloads of each type, events of groups, profile pictures, and lines of histories."""

import base64
import json
from typing import Final

from tests.fuzz.entry import LONG, Entry, bit_flipped, fuzzed, outcome_of, place_in, text_of
from tests.protocols.status.known import ALICE, BOB, GO_ROWS, GROUP, NOW, PICTURE, SAMPLES, VECTORS, founding

from postroom.core.errors import NotNowError, TheirError
from postroom.core.reasons import TOO_LARGE
from postroom.protocols.status import messages as m
from postroom.protocols.status.checks import MAX_PROFILE_PICTURE_BYTES, check_picture, picture_of
from postroom.protocols.status.clock import CLOCK_LIMIT, is_ahead
from postroom.protocols.status.codec import (
    FORMS,
    read_event,
    read_payload,
    type_of_message,
    write_event,
    write_payload,
)
from postroom.protocols.status.enums import PayloadType
from postroom.protocols.status.explain import explain
from postroom.protocols.status.fold import HistoryLine, fold, read_line
from postroom.protocols.status.json_form import message_as_json, message_from_json
from postroom.protocols.status.membership import read_signed_event
from postroom.protocols.status.messages import clock_of
from postroom.protocols.status.reasons import (
    AUTHOR_NOT_CARRIER,
    AUTHOR_SIGNATURE_INVALID,
    AUTHOR_UNKNOWN,
    CHAT_INVALID,
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
from postroom.protocols.status.verify import VerifiedPayload, verify
from postroom.protocols.status.wrapper import read_wrapper, write_wrapper

OF_PAYLOADS: Final = (PAYLOAD_INVALID, CLOCK_INVALID, TEXT_INVALID, CHAT_INVALID, MEDIA_INVALID, MEDIA_TOO_LARGE)
OF_WRAPPERS: Final = (
    *OF_PAYLOADS,
    AUTHOR_NOT_CARRIER,
    AUTHOR_SIGNATURE_INVALID,
    AUTHOR_UNKNOWN,
    MEMBERSHIP_INVALID,
    NOT_FROM_OWN_KEY,
    PAYLOAD_TYPE_UNKNOWN,
    TOO_LARGE,
    WRAPPER_INVALID,
    WRITTEN_TO_ANOTHER,
)
TYPES: Final = tuple(FORMS)
SHOWN: Final = (m.ChatMessage, m.EditMessage, m.DeleteMessage, m.PinMessage, m.EmojiReaction)

WRAPPERS: Final = (
    *(bytes.fromhex(each["application_metadata_message"]) for each in VECTORS.values()),
    *(bytes.fromhex(each["status_protocol_message"]) for each in VECTORS.values()),
    *(bytes.fromhex(each["wrapper"]) for each in GO_ROWS.values()),
)


@fuzzed(
    "protocols.status.wrapper",
    "protocols.status.verify",
    "protocols.status.author",
    "protocols.status.explain",
    "protocols.status.chats",
    seeds=WRAPPERS,
    max_bytes=LONG,
)
def status_wrappers(data: bytes) -> None:
    """A message of whoever signed it, or a refusal for the reason that its explanation gives."""
    named = PayloadType(TYPES[len(data) % len(TYPES)])
    found = outcome_of(lambda: verify(data, own=BOB.public, named=named), *OF_WRAPPERS)
    explained = explain(data, at_ms=NOW, named=named, own=BOB.public)
    shown = explained.as_json()
    json.dumps(shown)
    if isinstance(found, TheirError | NotNowError):
        # Where only clocks are ahead, the explanation has no more to say than that.
        assert explained.reason is found.reason
        return
    assert isinstance(found, VerifiedPayload)
    assert (shown["id"], shown["author"]) == (found.id, found.author)
    clock = None if found.message is None else clock_of(found.message)
    if clock is not None:
        assert (shown["reason"] is None) != is_ahead(clock, NOW)
    wrapper = read_wrapper(data)
    if found.type in TYPES:
        typed = found.type != PayloadType.CHAT_MESSAGE_IDENTITY
        again = verify(
            write_wrapper(wrapper.payload, wrapper.signature, found.type, typed=typed),
            own=BOB.public,
            named=named,
        )
        assert (again.author, again.message, again.chat) == (found.author, found.message, found.chat)


PAYLOADS: Final = tuple(
    bytes([TYPES.index(type_of_message(sample))]) + write_payload(sample) for sample in SAMPLES.values()
)


@fuzzed(
    "protocols.status.codec",
    "protocols.status.messages",
    "protocols.status.checks",
    "protocols.status.json_form",
    "protocols.status.wire_types",
    seeds=PAYLOADS,
    max_bytes=LONG,
)
def status_payloads(data: bytes) -> None:
    """A message of the type of the first byte, the same when written and read again and from JSON, or a refusal."""
    type_ = TYPES[data[0] % len(TYPES)] if data else TYPES[0]
    message = outcome_of(lambda: read_payload(type_, data[1:]), *OF_PAYLOADS)
    if isinstance(message, TheirError | NotNowError):
        return
    assert message is not None
    clock = clock_of(message)
    assert clock is None or 0 < clock < CLOCK_LIMIT
    written = write_payload(message)
    assert read_payload(type_, written) == message
    assert len(written) <= 2 * len(data), "numbers beyond 32 bits are cut to negative ones, which are longer"
    assert message_from_json(type_, json.loads(json.dumps(message_as_json(message)))) == message


@fuzzed("protocols.status.codec", "protocols.status.checks", seeds=PAYLOADS)
def status_labels(data: bytes) -> None:
    """A valid payload under any other label is no message, edit, deletion, pin or reaction."""
    type_ = TYPES[data[0] % len(TYPES)] if data else TYPES[0]
    message = outcome_of(lambda: read_payload(type_, data[1:]), *OF_PAYLOADS)
    # What a later version adds may have any number that its type does not have now.
    if isinstance(message, TheirError | NotNowError) or message is None or message.unknown:
        return
    for label in TYPES:
        if label != type_:
            other = outcome_of(lambda label=label: read_payload(label, data[1:]), *OF_PAYLOADS)
            assert not isinstance(other, SHOWN), f"under the label {label} it is {other}"


EVENTS: Final = (
    founding(),
    *(bytes.fromhex(each) for each in ("00" * 65, "01" * 66)),
    *(
        ALICE.sign(GROUP.encode() + write_event(event)) + write_event(event)
        for event in (
            m.MembershipUpdateEvent(NOW, 3, (BOB.public,)),
            m.MembershipUpdateEvent(NOW, 9, ("x",), "name"),
        )
    ),
)


@fuzzed("protocols.status.membership", "protocols.status.codec", "protocols.status.author", seeds=EVENTS)
def status_events(data: bytes) -> None:
    """An event of a group and its author, or a refusal; the event is written and read again as it was."""
    reasons = (*OF_PAYLOADS, MEMBERSHIP_INVALID, AUTHOR_SIGNATURE_INVALID)
    found = outcome_of(lambda: read_signed_event(GROUP, data), *reasons)
    if isinstance(found, TheirError | NotNowError):
        return
    assert found.data == data[65:]
    assert read_event(write_event(found.event)) == found.event
    changed = data[:65] + bit_flipped(data[65:], place_in(data))
    other = outcome_of(lambda: read_signed_event(GROUP, changed), *reasons)
    assert isinstance(other, TheirError | NotNowError) or other.author != found.author


PICTURES: Final = (
    PICTURE,
    f"data:image/gif;base64,{PICTURE}",
    "https://a.example/b.png",
    "ipfs://bafy",
    "data:image/png;base64,",
    base64.b64encode(b"<svg/>").decode(),
    base64.b64encode(b"RIFF\0\0\0\0WEBP").decode(),
    base64.b64encode(b"\x89PNG\r\n\x1a\n").decode(),
)


@fuzzed("protocols.status.checks", seeds=tuple(each.encode() for each in PICTURES), max_bytes=300_000)
def profile_pictures(data: bytes) -> None:
    """The bytes of a picture that can be drawn, as its base64 has them, or a refusal; never an address."""
    text = text_of(data)
    picture = outcome_of(lambda: picture_of(text), PAYLOAD_INVALID, MEDIA_TOO_LARGE)
    refusal = outcome_of(lambda: check_picture(text), PAYLOAD_INVALID, MEDIA_TOO_LARGE, MEDIA_INVALID)
    if not isinstance(picture, bytes):
        assert isinstance(refusal, TheirError) or not text
        return
    assert len(picture) <= MAX_PROFILE_PICTURE_BYTES
    assert base64.b64decode(text.rpartition(",")[2]) == picture
    if refusal is None and text:
        assert picture[:4] in (b"\x89PNG", b"GIF8", b"RIFF") or picture[:3] == b"\xff\xd8\xff"
        assert "://" not in text


LINES: Final = tuple(
    json.dumps({"wrapper": base64.b64encode(each).decode(), "at": NOW, **more}).encode()
    for each in (WRAPPERS[0], WRAPPERS[10], WRAPPERS[9], b"")
    for more in ({}, {"type": "CHAT_MESSAGE"}, {"carrier": ALICE.public})
)


@fuzzed(
    "protocols.status.fold",
    "protocols.status.log",
    "protocols.status.keys",
    seeds=LINES,
    is_json=True,
    max_bytes=LONG,
)
def history_lines(data: bytes) -> None:
    """A line of a history, or what is wrong with it; what is folded is in the log or discarded for a reason."""
    try:
        line = read_line(data)
    except ValueError as error:
        assert str(error)
        return
    assert isinstance(line, HistoryLine)
    folded = fold([line, line], BOB.public)
    assert (len(folded.log), len(folded.discarded)) in ((1, 0), (0, 2))
    assert all(each.error.reason in OF_WRAPPERS for each in folded.discarded)


ENTRIES: Final[tuple[Entry, ...]] = (
    status_wrappers,
    status_payloads,
    status_labels,
    status_events,
    profile_pictures,
    history_lines,
)
