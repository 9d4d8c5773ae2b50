"""The answers of a post office: its inbox, its manifest, its guardian, and a message from the domain to itself."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

from postroom.client import SendOutcome, Sent
from postroom.client.sending import fate_of
from postroom.core.errors import NotNowError, TheirError
from postroom.core.ijson import JsonValue, parse
from postroom.core.reason import Reason
from postroom.core.reasons import OUTBOUND_FAILED
from postroom.crypto.ethereum import read_address
from postroom.doctor.checks import DoctorCheck, bad, good, not_found_out, quoted, warning
from postroom.names.manifest import NO_FEEDBACK, FeedbackAddress
from postroom.net.https import HttpsResponse
from postroom.protocols.nlweb.subjects import IDENTITY
from postroom.reasons import reason_of

_MAX_DESCRIPTION_BYTES: Final = 16_384
SUBJECT = IDENTITY[0]
"""The Subject of the message to itself: it is answered at once, after the signature was verified, and files nothing."""


def judge_inbox(host: str, answer: HttpsResponse) -> DoctorCheck:
    """The check `inbox`, from the answer to GET /inbox (decision "Answers")."""
    name, detail = "inbox", f"{host} answered {answer.status} to GET /inbox"
    match fate_of(answer.status):
        case SendOutcome.TAKEN:
            return good(name, detail)
        case SendOutcome.NOT_NOW if answer.status >= 400:
            return not_found_out(name, NotNowError(OUTBOUND_FAILED, detail))
    if answer.status == 405:
        return warning(
            name, f"{detail}; it may accept messages all the same", "test it with a message: --sign-with KEY"
        )
    return bad(name, OUTBOUND_FAILED, detail, f"let {host} pass /inbox to the post office, without a redirect")


def judge_manifest(feedback: FeedbackAddress) -> DoctorCheck:
    """The check `manifest`, from what receivers of the domain's messages read in it."""
    name = "manifest"
    if feedback.domain:
        return good(name, f"it names {feedback.domain} as the buffer for Feedback about discarded messages")
    if feedback == NO_FEEDBACK:
        todo = "name a buffer there: About.Feedback; with postroom: `postroom domain add --feedback`"
        return warning(name, "it names no Feedback buffer: the domain gets no Feedback about discarded messages", todo)
    todo = "serve YAML there, with About.Name and About.Feedback: a host name"
    return bad(name, None, feedback.why, todo)


def judge_guardian(host: str, answer: HttpsResponse) -> DoctorCheck:
    """The check `DCP`, from the answer to GET /dcp. A post office without a guardian of DCP refuses it, and lacks
    nothing.
    """
    name, detail = "DCP", f"{host} answered {answer.status} to GET /dcp"
    fate = fate_of(answer.status)
    if fate is SendOutcome.REFUSED:
        return good(name, f"{host} is no guardian of DCP; its owners use tokens")
    if answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        todo = "look into the log of functions/dcp there: docs/operate/own-faults.md says what to do"
        return bad(name, OUTBOUND_FAILED, f"{detail}: owners cannot use DCP now", todo)
    if fate is SendOutcome.NOT_NOW and answer.status >= HTTPStatus.BAD_REQUEST:
        return not_found_out(name, NotNowError(OUTBOUND_FAILED, detail))
    todo = f"let {host} pass /dcp to the post office, without a redirect; one without DCP answers 404"
    if answer.status != HTTPStatus.OK:
        return bad(name, OUTBOUND_FAILED, detail, todo)
    described = _description_in(answer.body)
    if described is None:
        return bad(name, None, f"{detail}, and no description of a guardian", todo)
    said, socket = str(described["identity"]), str(described.get("socket", ""))
    try:
        identity = read_address(said)
    except ValueError:
        todo = "let the post office describe itself there: docs/reference/dcp.md"
        return bad(name, None, f"{host} describes a guardian whose identity is no address: {quoted(said)}", todo)
    return good(name, f"{host} is the guardian 0x{identity}" + (f", over WebSockets at {socket}" if socket else ""))


def _description_in(body: bytes) -> Mapping[str, JsonValue] | None:
    """A guardian's description of itself, with its identity; None: it is none."""
    try:
        described = parse(body, max_bytes=_MAX_DESCRIPTION_BYTES)
    except TheirError:
        return None
    return described if isinstance(described, dict) and "identity" in described else None


def judge_round_trip(domain: str, selector: str, sent: Sent) -> DoctorCheck:
    """The check `round trip`, from the answer of `domain` to its own `Identity@Graph`."""
    name = "round trip"
    detail = f"a message from {domain} to itself, signed with the key of {selector}, was {sent.fate}: {sent.status}"
    if sent.fate is SendOutcome.TAKEN:
        if isinstance(sent.reply, dict) and "Domain" in sent.reply:
            return good(name, f"{detail}, and answered")
        return warning(
            name, f"{detail}, but not answered; whether its signature was accepted is unknown",
            f"look in the mailbox of {domain} for a message with the subject {SUBJECT}",
        )  # fmt: skip
    said = ", ".join(quoted(text) for text in (sent.reason, sent.detail) if text)
    detail = f"{detail} {said}".rstrip()
    if sent.fate is SendOutcome.NOT_NOW:
        return not_found_out(name, NotNowError(OUTBOUND_FAILED, detail))
    return bad(
        name,
        _known(sent.reason),
        detail,
        "follow the post office's message; docs/reference/reasons.md lists its reasons",
    )


def _known(code: str) -> Reason:
    """A stranger's reason, if it is one of ours."""
    try:
        return reason_of(code)
    except ValueError:
        return OUTBOUND_FAILED
