"""Every check of a message in order, for people; a failed check does not stop the others."""

from collections.abc import Callable, Iterable
from typing import Final, TypeVar

from postroom.core.errors import NotNowError, TheirError
from postroom.core.explanation import Check, Explanation, shown_json
from postroom.core.ijson import MAX_DEPTH, JsonValue, parse
from postroom.core.timestamps import write_timestamp
from postroom.crypto.rsa_ed25519 import PublicKey
from postroom.protocols.nlweb.envelope import (
    JsonObject,
    check_hash,
    digest_of,
    hash_of,
    read_dialect,
    read_frame,
    read_key_selector,
    read_signature,
    read_subject,
    signed_text_of,
    text_of,
)
from postroom.protocols.nlweb.names import is_uuid, read_correlation, read_receiver, read_sender
from postroom.protocols.nlweb.reasons import (
    DNSSEC_BOGUS,
    DNSSEC_TOO_COSTLY,
    KEY_LOOKUP_FAILED,
    NOT_OURS,
    SENDER_NOT_SIGNED,
    SIGNATURE_INVALID,
)
from postroom.protocols.nlweb.schema import HANDSHAKE, Dialect
from postroom.protocols.nlweb.timestamp import TimestampWindow, read_timestamp

T = TypeVar("T")

FindKey = Callable[[str], tuple[PublicKey, str]]
"""Returns the key for the DNS name of a key record (or a wallet's UUID), and how it was proven.

Raises TheirError or NotNowError.
"""

_ABOUT_DNSSEC: Final = (
    SENDER_NOT_SIGNED,
    DNSSEC_BOGUS,
    DNSSEC_TOO_COSTLY,
    KEY_LOOKUP_FAILED,
)


def explain(
    data: bytes,
    *,
    ours: Iterable[str],
    now_ms: int,
    window: TimestampWindow,
    max_bytes: int,
    find_key: FindKey,
) -> Explanation:
    """All checks of decision "Answers", then key and signature. `ours` empty: any receiver is accepted."""
    explanation = Explanation()
    json_text = explanation.look(
        "json", "RFC 8259; RFC 7493", f"I-JSON of at most {max_bytes} bytes, unique names, depth {MAX_DEPTH}",
        f"{len(data)} bytes", lambda: (parse(data, max_bytes=max_bytes),),
    )  # fmt: skip
    if json_text is None:
        return explanation
    frame = explanation.look("frame", "MSG schema", "an object with an object Header", shown_json(json_text[0]),
                      lambda: read_frame(json_text[0]))  # fmt: skip
    if frame is None:
        return explanation
    envelope, header = frame
    dialect = explanation.look(
        "schema", 'how do receiver domains handle upgraded schema versions; decision "Schema codes"',
        "nlweb.org/MSG or pollyweb.org/MSG of major version 1",
        f"{HANDSHAKE} {_member(envelope, HANDSHAKE)}, Header.Schema {_member(header, 'Schema')}",
        lambda: read_dialect(envelope, header),
    )  # fmt: skip
    sender, receiver, timestamp_ms = _look_at_members(explanation, envelope, header)
    selector = None
    if dialect and sender:
        selector = explanation.look(
            dialect.selector_member, 'RFC 6376 §3.1; decision "Two dialects"', "the selector of the sender's key",
            _member(header, dialect.selector_member),
            lambda: (read_key_selector(header, dialect, sender),),
        )  # fmt: skip
    signature = explanation.look("Signature form", 'how to create a signature; decision "Signed text"',
                          "standard base64 on one line", _member(envelope, "Signature"),
                          lambda: read_signature(envelope))  # fmt: skip
    if receiver is not None:
        _look_at_receiver(explanation, receiver, [domain.lower() for domain in ours])
    if timestamp_ms is not None:
        _look_at_time(explanation, timestamp_ms, now_ms, window)
    signed_text = signed_text_of(envelope, header)
    _look_at_hash(explanation, envelope.get("Hash"), signed_text)
    if dialect and sender and selector:
        key = _look_at_key(explanation, dialect, sender, selector[0], find_key)
        if key and signature is not None:
            _look_at_signature(explanation, key, signature, signed_text)
    return explanation


def _look_at_members(
    explanation: Explanation, envelope: JsonObject, header: JsonObject
) -> tuple[str | None, str | None, int | None]:
    """Check each member; returns the sender, the receiver and the Timestamp, if they could be read."""
    section = "what is contained in a domain message envelope"

    def member(name: str, expected: str, rule: Callable[[str], T]) -> T | None:
        return explanation.look(name, section, expected, _member(header, name),
                         lambda: rule(text_of(header, name, "Header.")))  # fmt: skip

    sender = member("From", "a host name of A-labels, or a wallet's UUID", read_sender)
    receiver = member("To", "a host name", read_receiver)
    explanation.look("Subject", section, "1 to 256 printable characters", _member(header, "Subject"),
              lambda: read_subject(header))  # fmt: skip
    member("Correlation", "a UUID", read_correlation)
    timestamp_ms = member("Timestamp", "RFC 3339 in UTC", read_timestamp)
    explanation.look("Hash form", section, "a string", _member(envelope, "Hash"), lambda: text_of(envelope, "Hash"))
    return sender, receiver, timestamp_ms


def _look_at_receiver(explanation: Explanation, receiver: str, ours: list[str]) -> None:
    def check_ours() -> None:
        if ours and receiver not in ours:
            raise TheirError(NOT_OURS)

    explanation.look("receiver", "how do receiver domains know who sent a message",
              f"one of {', '.join(ours)}" if ours else "any (no --to given)", receiver, check_ours)  # fmt: skip


def _look_at_time(explanation: Explanation, timestamp_ms: int, now_ms: int, window: TimestampWindow) -> None:
    explanation.look(
        "time", 'how do receiver domains prevent replay attacks; decision "Time window"',
        f"from {window.max_age_seconds} s before to {window.max_skew_seconds} s after {write_timestamp(now_ms)}",
        write_timestamp(timestamp_ms), lambda: window.check(timestamp_ms, now_ms),
    )  # fmt: skip


def _look_at_hash(explanation: Explanation, claimed: JsonValue, text: bytes) -> None:
    if isinstance(claimed, str):  # otherwise the check of the member has failed already
        explanation.look("hash", 'how to create the canonical hash; RFC 8785; decision "Signed text"', hash_of(text),
                  shown_json(claimed), lambda: check_hash(claimed, digest_of(text)))  # fmt: skip


def _look_at_key(
    explanation: Explanation, dialect: Dialect, sender: str, selector: str | None, find_key: FindKey
) -> PublicKey | None:
    wallet = is_uuid(sender)
    name = sender if wallet or selector is None else dialect.key_name(sender, selector)
    try:
        key, proof = find_key(name)
    except (TheirError, NotNowError) as error:
        reason, saw = error.reason, error.detail or error.reason.sentence
        on_dnssec = not wallet and reason in _ABOUT_DNSSEC
        if not wallet:
            explanation.checks.append(Check("dnssec", not on_dnssec, saw if on_dnssec else "no fault found",
                                     f"a chain of trust to {name}", "how do receiver domains prevent DNS spoofing; "
                                     'decision "DNSSEC required"', reason if on_dnssec else None))  # fmt: skip
        if not on_dnssec:
            explanation.checks.append(Check("key", False, saw, f"one usable key record at {name}",
                                     reason.section, reason))  # fmt: skip
        return None
    if not wallet:
        explanation.checks.append(Check("dnssec", True, proof, f"a chain of trust to {name}",
                                 "how do receiver domains prevent DNS spoofing; "
                                 'decision "DNSSEC required"'))  # fmt: skip
    explanation.checks.append(Check("key", True, f"{key.algorithm} {key.bits} bits {key.fingerprint}",
                             f"one usable key record at {name}",
                             'RFC 6376 §3.6.1; decision "Key records"'))  # fmt: skip
    return key


def _look_at_signature(explanation: Explanation, key: PublicKey, signature: bytes, signed_text: bytes) -> None:
    def check() -> None:
        if not key.verify(signature, signed_text):
            raise TheirError(SIGNATURE_INVALID)

    explanation.look(
        "signature", 'how do receiver domains prevent sender impersonation attacks; decision "Signed text"',
        f"a signature of the canonical text by {key.fingerprint}", f"{len(signature)} bytes", check,
    )  # fmt: skip


def _member(holder: JsonObject, name: str) -> str:
    return shown_json(holder[name]) if name in holder else "absent"
