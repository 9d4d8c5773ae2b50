"""Changed wrappers: what Go reads we read, and nothing else, but for what we refuse on purpose."""

from base64 import b64encode
from collections import Counter
from random import Random
from typing import Any, Final, NamedTuple

import pytest
from coincurve.utils import GROUP_ORDER_INT
from tests.fuzz.mutate import changed
from tests.peers.answering import AnsweringProcess
from tests.peers.status.samples import fields_of, without_later
from tests.peers.status.test_vectors import FORMS, KNOWN, MESSAGES, ROWS
from tests.tiers import amount

from postroom.core.errors import TheirError
from postroom.protocols.status import messages
from postroom.protocols.status.author import AuthorKey, author_of
from postroom.protocols.status.codec import read_payload, type_of_message, write_payload
from postroom.protocols.status.enums import ChatKind, PayloadType
from postroom.protocols.status.ids import message_id
from postroom.protocols.status.membership import read_signed_event
from postroom.protocols.status.reasons import AUTHOR_SIGNATURE_INVALID, PAYLOAD_INVALID, WRAPPER_INVALID
from postroom.protocols.status.verify import signer_of
from postroom.protocols.status.wrapper import read_wrapper, type_of, write_wrapper

UNREADABLE: Final = ("the payload is not protobuf", "a field of ")
"""How details of PAYLOAD_INVALID begin if the bytes are not those of the type, whatever its rules are."""
KEY: Final = AuthorKey.from_secret(b"\1" * 32)
GROUP: Final = KNOWN["group_chat_id"]
ID: Final = f"0x{'0' * 64}"


class Verdict(NamedTuple):
    """What was read, as far as it went. `fields` None: of a type that is unknown, or against the rules of ours."""

    failed: str = ""
    """What could not be read: wrapper, signature or payload."""
    author: str = ""
    id: str = ""
    fields: dict[str, Any] | None = None


class Sample(NamedTuple):
    """A wrapper. `kind`: what its carrier says of an untyped one."""

    data: bytes
    kind: int


def ours(sample: Sample) -> Verdict:
    try:
        wrapper = read_wrapper(sample.data)
    except TheirError as error:
        return Verdict("wrapper" if error.reason is WRAPPER_INVALID else str(error))
    try:
        signer = signer_of(wrapper)
    except TheirError as error:
        return Verdict("signature" if error.reason is AUTHOR_SIGNATURE_INVALID else str(error))
    author, id_ = signer or "", message_id(signer, sample.data)
    try:
        message = read_payload(type_of(wrapper, sample.kind), wrapper.payload)
    except TheirError as error:
        is_unreadable = error.reason is PAYLOAD_INVALID and error.detail.startswith(UNREADABLE)
        return Verdict("payload" if is_unreadable else "", author, id_)
    return Verdict("", author, id_, None if message is None else fields_of(message))


def of_go(go: AnsweringProcess, sample: Sample) -> Verdict:
    """What Go says, but for what we refuse: wrappers without a payload, known fields in other wire types."""
    data = b64encode(sample.data).decode()
    opened = go.call("open", data, True, None)
    if not opened["error"].startswith("wrapper") and not opened["payload"]:
        opened = go.call("open", data, False, PayloadType(sample.kind).name)
    failed = opened["error"].partition(":")[0]
    if failed == "wrapper" or not opened["payload"] or "wrapper" in opened["strays"]:
        return Verdict("wrapper")
    if failed == "signature":
        return Verdict("signature")
    if failed == "payload" or "payload" in opened["strays"]:
        return Verdict("payload", opened["author"], opened["id"])
    fields = None if opened["fields"] is None else without_later(opened["fields"])
    return Verdict("", opened["author"], opened["id"], fields)


def agreed(go: AnsweringProcess, sample: Sample) -> Verdict:
    """Our verdict, which must be Go's; fields are compared if no rule of ours is broken."""
    mine, theirs = ours(sample), of_go(go, sample)
    if mine.failed and not theirs.failed and has_long_tag(sample.data):
        # upb refuses what Go reads (peers.md).
        return mine
    assert mine == (theirs if mine.fields is not None else theirs._replace(fields=None)), (
        f"{sample.data.hex()} {sample}"
    )
    return mine


def has_long_tag(data: bytes) -> bool:
    """Whether a tag or a length in protobuf's bytes, or in what may be a message within them, has more than 5 bytes."""
    at = 0
    while at < len(data):
        tag, size, at = _read_varint(data, at)
        if size > 5:
            return True
        match tag & 7:
            case 0:
                _, _, at = _read_varint(data, at)
            case 2:
                length, size, at = _read_varint(data, at)
                if size > 5 or has_long_tag(data[at : at + length]):
                    return True
                at += length
            case 1 | 5 as wire_type:
                at += 8 if wire_type == 1 else 4
    return False


def _read_varint(data: bytes, at: int) -> tuple[int, int, int]:
    """A number, how many bytes it has, and where it ends."""
    size = next((size for size, byte in enumerate(data[at:], 1) if byte < 0x80), len(data) - at)
    value = sum((byte & 0x7F) << 7 * place for place, byte in enumerate(data[at : at + size]))
    return value, size, at + size


def test_what_upb_refuses_has_a_long_tag_or_length() -> None:
    assert has_long_tag(bytes.fromhex("8080808080000801"))
    assert has_long_tag(bytes.fromhex("08010a8180808080000f"))
    assert has_long_tag(bytes.fromhex("0a08" + "aeae808080000001"))
    assert not has_long_tag(bytes.fromhex("08ffffffffffff01" + "0d01020304" + "09" + "00" * 8 + "0a020801"))


def _made(message: messages.StatusMessage) -> Sample:
    payload, kind = write_payload(message), type_of_message(message)
    typed = kind != PayloadType.CHAT_MESSAGE_IDENTITY
    return Sample(write_wrapper(payload, KEY.sign(payload), kind, typed=typed), kind)


_IMAGE: Final = messages.ProfileImage("iVBORw0KGgo=", 1, 1)
_REACTION: Final = messages.EmojiReaction(1, GROUP, ID, ChatKind.PRIVATE_GROUP, 1)
SAMPLES: Final = [
    *(
        Sample(bytes.fromhex(known[form]), known["application_metadata_type"])
        for known in MESSAGES
        for form in FORMS.values()
    ),
    *(Sample(bytes.fromhex(row["wrapper"]), PayloadType.CHAT_MESSAGE) for row in ROWS),
    _made(messages.ChatMessageIdentity(1, "alice.eth", "Alice", _IMAGE)),
    _made(messages.MembershipUpdateMessage(GROUP, (), emoji_reaction=_REACTION)),
    _made(messages.GroupChatInvitation(1, GROUP, "may I?", 1)),
    _made(messages.PinMessage(1, ID, "town", ChatKind.PUBLIC_GROUP, pinned=True)),
    _made(messages.DeleteMessage(1, "town", ID, ChatKind.PUBLIC_GROUP, b"grant", KEY.public)),
    _made(messages.SyncClearHistory("town", 1)),
    _made(messages.SyncDeleteForMeMessage(1, ID)),
]


@pytest.mark.parametrize("number", range(len(SAMPLES)))
def test_known_wrappers_are_read_alike(go: AnsweringProcess, number: int) -> None:
    agreed(go, SAMPLES[number])


def test_changed_wrappers_are_read_alike(go: AnsweringProcess, pytestconfig: pytest.Config) -> None:
    random, verdicts = Random(f"wrappers {pytestconfig.option.hypothesis_seed}"), Counter[str]()
    number = amount(quick=700, all=7_000, proof=200_000)
    for _ in range(number):
        verdict = agreed(go, _changed(random))
        verdicts[verdict.failed or ("refused" if verdict.fields is None else "read")] += 1
    assert min(verdicts[each] for each in ("wrapper", "signature", "payload", "refused", "read")) > number // 50, (
        verdicts
    )


def _changed(random: Random) -> Sample:
    """A sample with changes in its bytes, or made anew of a changed payload, a foreign signature or another type."""
    sample, other = random.choice(SAMPLES), random.choice(SAMPLES)
    if random.random() < 0.3:
        return sample._replace(data=changed(sample.data, random, [each.data for each in SAMPLES]))
    try:
        wrapper, signature = read_wrapper(sample.data), read_wrapper(other.data).signature
    except TheirError:
        return sample
    payload, kind = wrapper.payload, sample.kind
    match random.randrange(4):
        case 0:
            payload = changed(payload, random, [each.data for each in SAMPLES])
        case 1:
            payload = _field(random) + payload
        case 2:
            payload += _field(random)
        case _:
            kind = random.choice(list(PayloadType))
    typed = kind != PayloadType.CHAT_MESSAGE_IDENTITY and random.random() < 0.8
    signature = random.choice((wrapper.signature, wrapper.signature, signature, b""))
    return Sample(write_wrapper(payload, signature, kind, typed=typed), kind)


def _field(random: Random) -> bytes:
    """A field of any number and wire type."""
    number, wire_type = random.choice((*range(1, 20), 99, 100, 1000)), random.choice((0, 0, 1, 2, 2, 3, 5))
    data = random.randbytes(random.choice((0, 1, 2, 4, 30)))
    content = {
        0: _varint(random.choice((0, 1, 2, 7, 99, 2**31, 2**32 + 1, 2**63, 2**64 - 1))), 1: random.randbytes(8),
        2: _varint(len(data)) + data, 3: b"\x08\x01" + _varint(number << 3 | 4), 5: random.randbytes(4),
    }  # fmt: skip
    return _varint(number << 3 | wire_type) + content[wire_type]


def _varint(number: int) -> bytes:
    digits = []
    while number > 127:
        digits.append(number & 127 | 128)
        number >>= 7
    return bytes([*digits, number])


def test_changed_events_are_read_alike(go: AnsweringProcess, pytestconfig: pytest.Config) -> None:
    random, verdicts = Random(f"events {pytestconfig.option.hypothesis_seed}"), Counter[str]()
    update = read_payload(PayloadType.MEMBERSHIP_UPDATE_MESSAGE, bytes.fromhex(MESSAGES[-1]["payload"]))
    assert isinstance(update, messages.MembershipUpdateMessage)
    number = amount(quick=500, all=1_700, proof=50_000)
    for _ in range(number):
        event = random.choice(update.events)
        cut = random.choice((0, 65))
        data = event[:cut] + changed(event[cut:], random, update.events)
        if random.random() < 0.3:
            data += _field(random)
        opened = go.call("open_event", update.chat_id, b64encode(data).decode())
        is_read = not opened["error"] and not opened["stray"]
        try:
            read = read_signed_event(update.chat_id, data)
        except TheirError as error:
            is_unreadable = error.reason is AUTHOR_SIGNATURE_INVALID or error.detail.startswith(UNREADABLE)
            assert not (is_read and is_unreadable), data.hex()
            verdicts["unreadable" if is_unreadable else "refused"] += 1
        else:
            assert is_read, data.hex()
            assert (read.author, fields_of(read.event)) == (opened["author"], without_later(opened["fields"]))
            verdicts["read"] += 1
    assert min(verdicts[each] for each in ("unreadable", "refused", "read")) > number // 50, verdicts


_TEN: Final = b"\x80" * 9
"""Of a varint that goes on. Its tenth byte has the 64th bit, and nothing else."""


@pytest.mark.parametrize(
    ("payload", "is_read"),
    [
        (b"\x10" + _TEN + b"\x01", True),
        (b"\x10" + _TEN + b"\x02", False),
        (b"\x10" + _TEN + b"\x7f", False),
        (b"\x10" + _TEN + b"\x80\x01", False),
        (b"\xb8\x3e" + _TEN + b"\x02", False),
        (b"\x7a\x0b\x08" + _TEN + b"\x02", False),
        (b"\xba\x3e\x0b\x08" + _TEN + b"\x02", True),
        (b"\xbb\x3e\x08" + _TEN + b"\x02\xbc\x3e", False),
        (b"\x1a\x0a" + _TEN + b"\x02", False),
        ("\x1a\x0eабвгд日a".encode(), True),
    ],
    ids=[
        "64 bits", "65 bits", "70 bits", "11 bytes", "unknown field", "within a message", "within unknown bytes",
        "within a group", "no UTF-8", "a text",
    ],
)  # fmt: skip
def test_long_varints_are_read_alike(go: AnsweringProcess, payload: bytes, is_read: bool) -> None:
    verdict = agreed(go, Sample(write_wrapper(payload, b"", PayloadType.CHAT_MESSAGE), PayloadType.CHAT_MESSAGE))
    assert verdict.failed == ("" if is_read else "payload")


@pytest.mark.parametrize("field", [b"\x00\x66", b"\x02\x01a", b"\x01" + bytes(8), b"\x05" + bytes(4), b"\x03\x04"])
@pytest.mark.parametrize("within", [b"", b"\x52", b"\x7a", b"\x82\x01"], ids=["", "image", "later", "repeated"])
def test_a_field_0_is_read_by_neither(go: AnsweringProcess, within: bytes, field: bytes) -> None:
    payload = within + bytes([len(field)]) + field if within else field
    sample = Sample(write_wrapper(payload, b"", PayloadType.CHAT_MESSAGE), PayloadType.CHAT_MESSAGE)
    assert agreed(go, sample).failed == "payload"


def test_long_varints_of_a_wrapper_are_read_alike(go: AnsweringProcess) -> None:
    for last, failed in ((1, ""), (2, "wrapper")):
        data = write_wrapper(b"\x08\x01", b"", PayloadType.CHAT_MESSAGE) + b"\x20" + _TEN + bytes([last])
        assert agreed(go, Sample(data, PayloadType.CHAT_MESSAGE)).failed == failed


@pytest.mark.parametrize(
    "payload",
    [b"\x88\x80\x80\x80\x80\x00\x01", b"\x1a\x81\x80\x80\x80\x80\x00a", b"\xbb\x3e" * 101 + b"\xbc\x3e" * 101],
    ids=["a tag of 6 bytes", "a length of 6 bytes", "101 groups"],
)
def test_what_no_program_writes_is_refused_here_and_read_by_go(go: AnsweringProcess, payload: bytes) -> None:
    sample = Sample(write_wrapper(payload, b"", PayloadType.CHAT_MESSAGE), PayloadType.CHAT_MESSAGE)
    assert (ours(sample).failed, of_go(go, sample).failed) == ("payload", "")


FIELD_PRIME: Final = 2**256 - 2**32 - 977
ORDER: Final = GROUP_ORDER_INT


def _signature(r: int, s: int, recovery_id: int) -> bytes:
    return r.to_bytes(32) + s.to_bytes(32) + bytes([recovery_id])


def _small_r() -> int:
    """An r whose point has the x-coordinate r + n, which recovery ids 2 and 3 mean: no signer ever meets one."""
    return next(r for r in range(1, 100) if pow((r + ORDER) ** 3 + 7, (FIELD_PRIME - 1) // 2, FIELD_PRIME) == 1)


@pytest.mark.parametrize(
    "signature",
    [
        *(
            _signature(r, s, 0)
            for r in (0, 1, ORDER - 1, ORDER, 2**256 - 1)
            for s in (0, 1, ORDER - 1, ORDER, 2**256 - 1)
        ),
        *(_signature(1, 1, recovery_id) for recovery_id in (1, 4, 27, 28, 255)),
        bytes(64),
        bytes(66),
    ],
)
def test_odd_signatures_are_read_alike(go: AnsweringProcess, signature: bytes) -> None:
    payload = write_payload(messages.SyncClearHistory("town", 1))
    agreed(go, Sample(write_wrapper(payload, signature, PayloadType.SYNC_CLEAR_HISTORY), 1))


@pytest.mark.parametrize("recovery_id", [2, 3])
def test_recovery_ids_that_no_signer_writes_are_refused_here_and_read_by_go(
    go: AnsweringProcess, recovery_id: int
) -> None:
    payload, signature = b"\x0a\x04town\x10\x01", _signature(_small_r(), 1, recovery_id)
    data = write_wrapper(payload, signature, PayloadType.SYNC_CLEAR_HISTORY)
    assert go.call("open", b64encode(data).decode(), True, None)["author"].startswith("0x04")
    with pytest.raises(TheirError) as refused:
        author_of(signature, payload)
    assert refused.value.reason is AUTHOR_SIGNATURE_INVALID
