"""Every check of a captured message or of a cheque, for people; a failed check does not stop the others.

What only the receiver knows is shown, not checked: its sessions and their nonces, the ids and stamps that it has seen.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeVar

from postroom.core.canonical import json_stringify_of_parsed
from postroom.core.errors import TheirError
from postroom.core.explanation import Explanation, shown_json
from postroom.core.ijson import MAX_DEPTH, JsonValue, parse
from postroom.core.reason import Reason
from postroom.core.shown_text import shown
from postroom.core.timestamps import write_timestamp
from postroom.crypto.ethereum import Address
from postroom.crypto.ethereum_keys import has_higher_s, signer_of, signer_of_digest
from postroom.protocols.dcp import operations
from postroom.protocols.dcp.authorization import payload_digest
from postroom.protocols.dcp.cheques import read_cheque
from postroom.protocols.dcp.connect import MAX_HALF, MIN_HALF
from postroom.protocols.dcp.error_payload import read_error
from postroom.protocols.dcp.messages import (
    REQUEST,
    REQUEST_BATCH,
    RESPONSE,
    RESPONSE_BATCH,
    Allowance,
    DcpMessage,
    JsonObject,
    MalformedRequest,
    Request,
    RequestBatch,
    Response,
    ResponseBatch,
    check_number,
    read_body,
)
from postroom.protocols.dcp.reasons import DCP_NOT_AUTHORIZED, DCP_SIGNATURE_INVALID
from postroom.protocols.dcp.receiving import ReceiveLimits, read_first_message
from postroom.protocols.dcp.signature import read_signature
from postroom.protocols.dcp.signed_message import read_frame, read_owner, read_signature_of_message
from postroom.protocols.dcp.validity import Validity, check_validity, read_validity

M = TypeVar("M")

_YEAR_10000: Final = 253_402_300_800


def inspect(data: bytes, *, now: float, limits: ReceiveLimits) -> Explanation:
    """All checks of a signed message, or of a cheque. `now`: seconds since the epoch; `limits`: of the receiver."""
    inspector = _Inspector(Explanation(), limits, now)
    value = inspector.explanation.look(
        "json", 'DCP: Network Traffic; decision "Wire JSON"',
        f"JSON of at most {limits.max_bytes} bytes: unique names, depth {MAX_DEPTH}", f"{len(data)} bytes",
        lambda: (parse(data, max_bytes=limits.max_bytes, half_pairs=True),),
    )  # fmt: skip
    if value is not None:
        match value[0]:
            case {"payload": _, **others} as cheque if "body" not in others:
                inspector.look_at_cheque(cheque)
            case message:
                inspector.look_at_message(message)
    return inspector.explanation


@dataclass(frozen=True, slots=True)
class _Inspector:
    """The checks of one message. `now`: seconds since the epoch."""

    explanation: Explanation
    limits: ReceiveLimits
    now: float

    def show(self, name: str, section: str, expected: str, saw: str) -> None:
        """Show what cannot be checked here."""
        self.explanation.look(name, section, expected, saw, lambda: None)

    def look_at_cheque(self, value: JsonValue) -> None:
        """The checks of a cheque."""
        cheque = self.explanation.look(
            "cheque", "DCP: Cheque Scenario; Allow and Auth", "an object with payload and auth", _members(value),
            lambda: read_cheque(value),
        )  # fmt: skip
        if cheque is None:
            return
        self._look_at_request(cheque, None)
        if not cheque.payload.allow:
            self.explanation.look("allow", "DCP: Allow and Auth", "one or more entries", "none",
                                  partial(_require, False, DCP_NOT_AUTHORIZED))  # fmt: skip

    def look_at_message(self, value: JsonValue) -> None:
        """The checks of a signed message."""
        look = self.explanation.look
        frame = look("message", "DCP: Ethereum messages", "an object with owner, signature and body", _members(value),
                     lambda: read_frame(value))  # fmt: skip
        if frame is None:
            return
        name, wire, body = frame
        owner = look("owner", "DCP: Ethereum Addresses", "an address, in lower case, upper case or that of ERC-55",
                     shown(name), lambda: read_owner(name))  # fmt: skip
        signature = look(
            "signature form", 'DCP: Ethereum messages; decision "Signed messages"',
            "r and s, each a Buffer of 32 bytes, and v, 27 or 28", _form(wire), lambda: read_signature_of_message(wire),
        )  # fmt: skip
        if owner is not None and signature is not None:
            signer = signer_of(signature, json_stringify_of_parsed(body))
            look("signature", "DCP: Message Authentication Algorithm", "by the owner, of JSON.stringify of the body",
                 _by(signer, signature), partial(_require, signer == owner, DCP_SIGNATURE_INVALID))  # fmt: skip
        message = look(
            "body", "DCP: Message Grammar", f"a {REQUEST}, {RESPONSE}, {REQUEST_BATCH} or {RESPONSE_BATCH}",
            shown(f"{body.get('type')} {body.get('id')}"), lambda: read_body(body),
        )  # fmt: skip
        if message is not None:
            self._look_at_session(message)
            self._look_at_members(message, owner)

    def _look_at_session(self, message: DcpMessage) -> None:
        """The session of a message, and its nonce."""
        first, batch = (message.requests[0], message) if isinstance(message, RequestBatch) else (message, None)
        name, section = "session", "DCP: connect"
        if isinstance(first, Request) and message.dcpsid is None:
            self.explanation.look(name, section, "connect, which opens one", shown(first.payload.operation),
                                  partial(read_first_message, first, batch))  # fmt: skip
            expected = "of the target's first request"
        else:
            self.show(name, section, f"X-Y, of {MIN_HALF} to {MAX_HALF} characters each, from initiator and target",
                      _halves(message.dcpsid or ""))  # fmt: skip
            asks = isinstance(first, Request)
            expected = "the last one that the receiver gave" if asks else "of the receiver's next message, or none"
        self.show("nonce", "DCP: Message Authentication Algorithm", expected, shown(message.nonce or "none"))

    def _look_at_members(self, message: DcpMessage, owner: Address | None) -> None:
        match message:
            case Request() as request:
                self._look_at_request(request, owner)
            case Response() as response:
                self._look_at_response(response)
            case RequestBatch(requests=requests):
                for name, member in self._batched(requests, message.members):
                    if isinstance(member, MalformedRequest):
                        self.explanation.look(f"{name}request", "DCP: Message Grammar", "a request",
                                              _members(dict(member.members)), partial(_fail, member.error))  # fmt: skip
                    else:
                        self._look_at_request(member, owner, name)
            case ResponseBatch(responses=responses):
                for name, response in self._batched(responses, message.members):
                    self._look_at_response(response, name)

    def _batched(self, messages: Sequence[M], body: JsonObject) -> Iterator[tuple[str, M]]:
        """The messages of a batch, with what is before the names of their checks."""
        most = self.limits.max_messages
        self.explanation.look("batch", "DCP: Connection.Batch", f"at most {most} messages", f"{len(messages)}",
                              lambda: check_number(body, most))  # fmt: skip
        yield from ((f"[{index}] ", message) for index, message in enumerate(messages[:most]))

    def _look_at_request(self, request: Request, sender: Address | None, name: str = "") -> None:
        """The checks of a request in a message of its sender. `sender` None: not known."""
        payload = request.payload
        self.show(f"{name}operation", "DCP: Connection.Request", "what is requested, and its data",
                  f"{shown(payload.operation)} {_data(payload.data)}".strip())  # fmt: skip
        self.show(f"{name}order", 'DCP: Message Grammar; decision "Signed messages"', "the members as they are signed",
                  shown(", ".join(_signed_order(payload.members))))  # fmt: skip
        if payload.operation != operations.CONNECT:
            self._look_at_validity(payload.validity, name)
        digest = payload_digest(request) if payload.allow else b""
        for index, allowance in enumerate(payload.allow):
            signer, found = _authorized_by(request.auth.get(allowance.resource), digest)
            self.explanation.look(
                f"{name}allow[{index}]", "DCP: Allow and Auth; Request Authentication Algorithm",
                "a signature of the payload by the resource in auth",
                f"{_allowed(allowance, payload.operation, sender)}: {found}",
                partial(_require, signer == allowance.resource, DCP_NOT_AUTHORIZED),
            )  # fmt: skip

    def _look_at_validity(self, value: JsonValue, name: str) -> None:
        validity = self.explanation.look(
            f"{name}validity", "DCP: Validity", "time and stamp, and perhaps a ttl, in seconds", shown_json(value),
            lambda: read_validity(value),
        )  # fmt: skip
        if validity is None:
            return
        slop, granted = self.limits.slop, self.limits.ttl.granted(validity.ttl)
        begins, ends = _moment(validity.time - slop), _moment(validity.time + granted + slop)
        self.explanation.look(
            f"{name}time", "DCP: Validity; Error Codes: ETIMETRAVEL, EEXPIRED",
            f"from {begins} to {ends}: {_ttl(validity, granted)}, and clocks that differ by {_seconds(slop)}",
            _moment(self.now), lambda: check_validity(validity, self.limits.ttl, slop, self.now),
        )  # fmt: skip

    def _look_at_response(self, response: Response, name: str = "") -> None:
        if response.success:
            outcome = f"success {_data(response.payload)}".strip()
        else:
            error = read_error(response.payload)
            outcome = shown(f"error {error.code or error.name}: {error.message}")
        self.show(f"{name}response", "DCP: Response Authentication Algorithm", "to a request that is not answered yet",
                  f"to {shown(response.id)} at {_moment(response.time)}: {outcome}")  # fmt: skip


def _fail(error: TheirError) -> None:
    raise error


def _require(met: bool, reason: Reason) -> None:
    if not met:
        raise TheirError(reason)


def _authorized_by(wire: JsonValue, digest: bytes) -> tuple[Address | None, str]:
    """Who signed a payload, and the same in words. `wire`: the signature in auth; `digest`: of the payload."""
    signature = read_signature(wire)
    if signature is None:
        return None, "auth has none of it" if wire is None else _form(wire)
    signer = signer_of_digest(signature, digest)
    return signer, _by(signer, signature)


def _form(wire: JsonValue) -> str:
    """The form of a signature, in words."""
    signature = read_signature(wire)
    if signature is None:
        return shown_json(wire)
    kind = "a text of JSON" if isinstance(wire, str) else "an object"
    return f"{kind}, {'the higher' if has_higher_s(signature) else 'the lower'} s, v {27 + signature[64]}"


def _by(signer: Address | None, signature: bytes) -> str:
    """Who signed, in words."""
    if signer is not None:
        return f"signed by 0x{signer}"
    return f"signed by nobody{': the higher s is refused' if has_higher_s(signature) else ''}"


def _allowed(allowance: Allowance, operation: str, sender: Address | None) -> str:
    """What an entry of `allow` says, in words."""
    who = f"0x{allowance.accessor}"
    if sender is not None:
        who += " (the sender)" if sender == allowance.accessor else " (not the sender)"
    return f"{who} may request {shown(operation)} of 0x{allowance.resource} at 0x{allowance.guardian}"


def _signed_order(payload: JsonObject) -> Iterator[str]:
    """The names of the members as JSON.stringify writes them: array indices first."""
    text = json_stringify_of_parsed(dict.fromkeys(payload))
    written = parse(text, max_bytes=len(text), half_pairs=True)
    yield from written if isinstance(written, dict) else ()


def _halves(dcpsid: str) -> str:
    """The halves of a session's id, if only one - can stand between them."""
    if len(dcpsid) > 2 * MAX_HALF + 1:
        return shown(dcpsid)
    parted = [(dcpsid[:at], dcpsid[at + 1 :]) for at, char in enumerate(dcpsid) if char == "-"]
    fitting = [(x, y) for x, y in parted if MIN_HALF <= len(x) <= len(y) + 1 <= MAX_HALF + 1]
    if len(fitting) != 1:
        return f"{shown(dcpsid)}; only its ends know where the halves meet" if dcpsid else "none"
    return f"{shown(fitting[0][0])} of the initiator, {shown(fitting[0][1])} of the target"


def _ttl(validity: Validity, granted: float) -> str:
    """The ttl that is granted, in words."""
    if validity.ttl is None:
        return f"the default ttl of {_seconds(granted)}"
    whole = f"its ttl of {_seconds(validity.ttl)}"
    return whole if validity.ttl == granted else f"{_seconds(granted)} instead of {whole}"


def _moment(seconds: float) -> str:
    """RFC 3339, or the number itself if it has no such form: strangers may write any number."""
    return write_timestamp(int(seconds * 1000)) if 0 <= seconds < _YEAR_10000 else _seconds(seconds)


def _seconds(number: float) -> str:
    return f"{number:.15g} s"


def _data(value: JsonValue) -> str:
    return "" if value is None else shown_json(value)


def _members(value: JsonValue) -> str:
    return shown(f"an object with {', '.join(value) or 'nothing'}") if isinstance(value, dict) else shown_json(value)
