"""The inbox's verdict from values alone: decisions "Signed text", "Two dialects", "Time window" and "Answers"; what is
signed cannot be changed."""

import base64
import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st
from pollyweb.keypair import KeyPair
from pollyweb.msg import Msg
from pollyweb.wallet import Wallet

from postroom.core.errors import TheirError
from postroom.core.ijson import JsonValue, parse
from postroom.core.reason import Kind, Reason
from postroom.core.reasons import NOT_I_JSON, NOT_JSON, TOO_LARGE
from postroom.core.timestamps import write_timestamp
from postroom.crypto.rsa_ed25519 import PrivateKey, PublicKey, ed25519_from_raw
from postroom.protocols.nlweb.envelope import NlwebEnvelope, hash_of, read_envelope, signed_text_of
from postroom.protocols.nlweb.reasons import (
    HASH_MISMATCH,
    NOT_OURS,
    SIGNATURE_INVALID,
    TIMESTAMP_TOO_NEW,
    TIMESTAMP_TOO_OLD,
    UNSUPPORTED_VERSION,
    WRONG_SHAPE,
)
from postroom.protocols.nlweb.schema import POLLYWEB
from postroom.protocols.nlweb.sign import Draft, seal, sign
from postroom.protocols.nlweb.timestamp import TimestampWindow
from postroom.protocols.nlweb.verify import check_before_lookup, check_signature

KEY, OTHER, RSA = (PrivateKey.generate(kind) for kind in ("ed25519", "ed25519", "rsa"))
UUID = "125a5c75-cb72-43d2-9695-37026dfcaa48"
NOW_MS = 1_795_253_400_000
MAX_BYTES = 1 << 20
DRAFT = Draft(
    "any-sender.com", "any-receiver.com", "AnyMethod", UUID, NOW_MS, {"Grüße": ["🤝", 1, 1.5, None, {"a": "b"}]}
)
SIGNED = sign(DRAFT, KEY)


def is_ours(name: str) -> bool:
    return name == "any-receiver.com"


def checked(data: bytes, now_ms: int = NOW_MS, max_bytes: int = MAX_BYTES) -> NlwebEnvelope:
    envelope = read_envelope(parse(data, max_bytes=max_bytes))
    check_before_lookup(envelope, is_ours=is_ours, received_at_ms=now_ms, window=TimestampWindow())
    return envelope


def reason_for(data: bytes, now_ms: int = NOW_MS, max_bytes: int = MAX_BYTES) -> Reason:
    with pytest.raises(TheirError) as caught:
        checked(data, now_ms, max_bytes)
    return caught.value.reason


def written(envelope: JsonValue) -> bytes:
    return json.dumps(envelope, ensure_ascii=False).encode()


def changed(**members: JsonValue) -> bytes:
    return written({**SIGNED, **members})


def with_header(**members: JsonValue) -> dict[str, JsonValue]:
    """The envelope, signed anew, with other header members."""
    header = SIGNED["Header"]
    assert isinstance(header, dict)
    return {"🤝": SIGNED["🤝"], **seal({"Header": {**header, **members}, "Body": SIGNED["Body"]}, KEY)}


def test_a_good_message_is_accepted_and_verified() -> None:
    check_signature(checked(written(SIGNED)), KEY.public)


def test_the_json_may_be_written_differently() -> None:
    for data in (
        json.dumps(SIGNED, ensure_ascii=True, indent=7).encode(),
        json.dumps(dict(reversed(SIGNED.items()))).encode(),
        b"\r\n\t " + written(SIGNED) + b"\n",
    ):
        check_signature(checked(data), KEY.public)


# --- the order of decision "Answers" ---------------------------------------------------------------------------------

WRONG_HASH: dict[str, JsonValue] = {"Hash": "0" * 64}
OLD, NEW = write_timestamp(NOW_MS - 86_400_001), write_timestamp(NOW_MS + 120_001)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", NOT_JSON),
        (b"\xff", NOT_JSON),
        (b'{"a":1,"a":2}', NOT_I_JSON),
        (b"[]", WRONG_SHAPE),
        (changed(**{"🤝": "nlweb.org/MSG:2.0"}), UNSUPPORTED_VERSION),
        (changed(Signature="%"), WRONG_SHAPE),
        (written(with_header(To="any-other.com")), NOT_OURS),
        (written(with_header(Timestamp=OLD)), TIMESTAMP_TOO_OLD),
        (written(with_header(Timestamp=NEW)), TIMESTAMP_TOO_NEW),
        (changed(**WRONG_HASH), HASH_MISMATCH),
    ],
)
def test_faults_that_need_no_look_up_are_refused_by_the_inbox(data: bytes, reason: Reason) -> None:
    assert reason_for(data) is reason
    assert reason.kind is Kind.REFUSAL


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (written({**with_header(To="x"), "🤝": "nlweb.org/MSG:2.0"}), UNSUPPORTED_VERSION),
        (written({**with_header(To="any-other.com"), "Signature": ""}), WRONG_SHAPE),
        (written({**with_header(To="any-other.com", Timestamp=OLD), **WRONG_HASH}), NOT_OURS),
        (written({**with_header(Timestamp=OLD), **WRONG_HASH}), TIMESTAMP_TOO_OLD),
    ],
)
def test_version_before_shape_before_receiver_before_time_before_hash(data: bytes, reason: Reason) -> None:
    assert reason_for(data) is reason


def test_the_size_of_a_message_is_limited() -> None:
    data = written(SIGNED)
    checked(data, max_bytes=len(data))
    assert reason_for(data, max_bytes=len(data) - 1) is TOO_LARGE


@pytest.mark.parametrize(
    ("now_ms", "inside"),
    [(NOW_MS + 86_400_000, True), (NOW_MS + 86_400_001, False), (NOW_MS - 120_000, True), (NOW_MS - 120_001, False)],
)
def test_the_window_is_relative_to_the_inbox_clock_and_includes_both_ends(now_ms: int, inside: bool) -> None:
    if inside:
        checked(written(SIGNED), now_ms)
    else:
        assert reason_for(written(SIGNED), now_ms) in (TIMESTAMP_TOO_OLD, TIMESTAMP_TOO_NEW)


# --- what is signed cannot be changed ----------------------------------------------------------------------------


@pytest.mark.parametrize("key", [OTHER, RSA], ids=["another key", "a key of another kind"])
def test_another_key_does_not_verify(key: PrivateKey) -> None:
    envelope = checked(written(SIGNED))
    with pytest.raises(TheirError) as caught:
        check_signature(envelope, key.public)
    assert caught.value.reason is SIGNATURE_INVALID


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content.pop("Body"),
        lambda content: content.update(Body=None),
        lambda content: content["Body"]["Grüße"].append(1),
        lambda content: content["Body"]["Grüße"].reverse(),
        lambda content: content["Header"].update(Subject="anymethod"),
        lambda content: content["Header"].update(From="ANY-sender.com"),
        lambda content: content["Header"].update(To="any-receiver.com."),
        lambda content: content["Header"].update(DKIM="nlweb"),
        lambda content: content["Header"].update(Schema="nlweb.org/MSG:1.0"),
        lambda content: content["Header"].update(Unknown=None),
        lambda content: content["Header"].update(Timestamp=write_timestamp(NOW_MS).replace("Z", "+00:00")),
        lambda content: content["Header"].update(Correlation=UUID.upper()),
    ],
)
def test_a_change_is_a_hash_mismatch_or_with_a_new_hash_an_invalid_signature(change: Callable[[Any], object]) -> None:
    content = json.loads(json.dumps({name: SIGNED[name] for name in ("Header", "Body")}))
    change(content)
    assert reason_for(changed_content(content, str(SIGNED["Hash"]))) is HASH_MISMATCH
    rehashed = changed_content(content, hash_of(signed_text_of(content, content["Header"])))
    envelope = checked(rehashed)
    assert not KEY.public.verify(envelope.signature, envelope.signed_text)


def changed_content(content: dict[str, JsonValue], claimed: str) -> bytes:
    return written({"🤝": SIGNED["🤝"], **content, "Hash": claimed, "Signature": SIGNED["Signature"]})


CONTENT = written({name: SIGNED[name] for name in ("Header", "Body")})


@given(st.integers(0, len(CONTENT) - 2), st.integers(0, 255))
def test_a_changed_byte_of_the_signed_part_is_refused_or_fails_the_signature(place: int, byte: int) -> None:
    forged = CONTENT[:place] + bytes([byte]) + CONTENT[place + 1 :]
    for claimed in (SIGNED["Hash"], _hash_of(forged)):
        tail = json.dumps({"Hash": claimed, "Signature": SIGNED["Signature"]}).encode()
        data = forged[:-1] + b"," + tail[1:]
        if _passes(data):
            # Then it says the same: white space, or another way to write the same value.
            assert parse(forged, max_bytes=MAX_BYTES) == parse(CONTENT, max_bytes=MAX_BYTES)


def _hash_of(content: bytes) -> str:
    """What a forger writes, who can hash but not sign."""
    try:
        value = parse(content, max_bytes=MAX_BYTES)
        return hash_of(signed_text_of(value, value["Header"]))  # type: ignore[arg-type, call-overload, index]
    except (TheirError, KeyError, TypeError, ValueError):
        return ""


def _passes(data: bytes) -> bool:
    try:
        check_signature(checked(data), KEY.public)
    except TheirError:
        return False
    return True


def test_an_unchecked_signature_would_fail_the_forgery_test() -> None:
    assert _passes(
        CONTENT[:-1] + b"," + json.dumps({name: SIGNED[name] for name in ("Hash", "Signature")}).encode()[1:]
    )


@given(st.integers(0, 63), st.integers(1, 255))
def test_a_changed_byte_of_the_signature_fails(place: int, mask: int) -> None:
    envelope = checked(written(SIGNED))
    forged = bytearray(envelope.signature)
    forged[place] ^= mask
    assert not KEY.public.verify(bytes(forged), envelope.signed_text)


# --- an unmodified pollyweb as sender ----------------------------------------------------------------------------


def of_pollyweb(body: dict[str, Any]) -> tuple[bytes, PublicKey]:
    """An envelope as pollyweb's own code makes and writes it, and the key it is signed with."""
    private = Ed25519PrivateKey.generate()
    message = Msg(
        "any-receiver.com", "Hello@Host", From="any-sender.com", Selector="pw1", Body=body,
        Timestamp=write_timestamp(NOW_MS),
    )  # fmt: skip
    # Domain.sign asks public DNS first and then does just this, as Wallet.sign does without DNS.
    text = message.canonical()
    signature = base64.b64encode(private.sign(text)).decode()
    signed = replace(message, Hash=hashlib.sha256(text).hexdigest(), Signature=signature)
    return json.dumps(signed.to_dict()).encode(), ed25519_from_raw(private.public_key().public_bytes_raw())


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"Hello": "World"},
        {"Grüße": ["🤝", 1, -1, None, True, {"b": 1, "a": 2}], '\t\x1f\x7f\\"/': "\u2028"},
        {"n": [0.5, 0.001, 1.5e300, 123456.789]},
        {"\ue000": 1, "\uffff": 2},
        {"🤝": 1, "z": 2},
    ],
)
def test_an_unmodified_pollyweb_client_can_send_to_us(body: dict[str, Any]) -> None:
    data, key = of_pollyweb(body)
    envelope = checked(data)
    assert envelope.dialect is POLLYWEB
    assert envelope.key_name == "pw1._domainkey.pw.any-sender.com"
    check_signature(envelope, key)


def test_a_pollyweb_wallet_can_send_to_us() -> None:
    keys = KeyPair()
    wallet = Wallet(keys, ID=UUID)
    message = wallet.sign(Msg("any-receiver.com", "Hello@Host", Body="Hi", Timestamp=write_timestamp(NOW_MS)))
    envelope = checked(json.dumps(message.to_dict()).encode())
    assert envelope.from_wallet
    check_signature(envelope, ed25519_from_raw(keys.PublicKey.public_bytes_raw()))


@pytest.mark.parametrize(
    "body",
    [
        {"n": 1.0},  # RFC 8785 §3.2.2.3 writes 1
        {"n": -0.0},  # 0
        {"n": 1e16},  # 10000000000000000
        {"n": 1e-5},  # 0.00001
        {"n": 1e-7},  # 1e-7, pollyweb 1e-07
        {"🤝": 1, "\ue000": 2},  # RFC 8785 §3.2.3 sorts by UTF-16 code units, pollyweb by code points
    ],
    ids=["1.0", "-0.0", "1e16", "1e-5", "1e-7", "astral name"],
)
def test_rfc_8785_takes_precedence_over_pollywebs_text(body: dict[str, Any]) -> None:
    data, _ = of_pollyweb(body)
    assert reason_for(data) is HASH_MISMATCH
