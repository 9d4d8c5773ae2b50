"""The part of a claim that is specific to its protocol: written by its inbox, used by its judge."""

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final, Literal, TypeAlias

from postroom.core.errors import TheirError
from postroom.core.ijson import JsonValue, parse
from postroom.core.typed_members import Members
from postroom.crypto.encodings import decode_base64
from postroom.outbound.discard_messages import FeedbackRequest, feedback_request_of
from postroom.protocols.nlweb.envelope import read_envelope
from postroom.protocols.nlweb.subjects import SubjectRule, Treatment

Protocol: TypeAlias = Literal["nlweb", "dm3"]


@dataclass(frozen=True, slots=True)
class NlwebDetails:
    """The details of an NLWeb claim. `rule`: the rule that the Subject matched; None: no rule.

    The worker follows this rule, even if the registry has changed since: the row is in the mailbox that this rule
    named.
    """

    rule: SubjectRule | None = None

    protocol: ClassVar[Protocol] = "nlweb"

    @classmethod
    def read(cls, members: Members) -> "NlwebDetails":
        """Read the details from the members of a claim. Raises ValueError."""
        if members.any("rule") is None:
            return cls()
        pattern, treatment, target = members.texts("rule", 3)
        return cls(SubjectRule(pattern, Treatment(treatment), target))

    @property
    def is_filed(self) -> bool:
        """Whether the message is filed when it is accepted, and not forwarded."""
        return self.rule is None or self.rule.treatment is not Treatment.FORWARD

    def as_json(self) -> Mapping[str, JsonValue]:
        """The details as members of a claim."""
        return {"rule": [self.rule.pattern, str(self.rule.treatment), self.rule.target] if self.rule else None}

    def correlation_and_feedback(self, envelope: str) -> tuple[str, FeedbackRequest | None]:
        """The Correlation of a message, and whom to send Feedback to if it is discarded unjudged.

        Empty and None if the envelope cannot be read.
        """
        data = envelope.encode()
        try:
            read = read_envelope(parse(data, max_bytes=len(data)))
        except TheirError:
            return "", None
        return read.correlation, feedback_request_of(read)


@dataclass(frozen=True, slots=True)
class Dm3Details:
    """The details of a dm3 claim. `receiver_key`: the key that the postmark is encrypted to (X25519, 32 bytes).

    `sender_key`: the fingerprint of the key that verified the sender's signature; empty: it was not verified.
    `evidence`: how the profile with that key was found; None: it was not verified, or by the release before.
    """

    receiver_key: bytes
    sender_key: str = ""
    evidence: "Mapping[str, JsonValue] | None" = None

    protocol: ClassVar[Protocol] = "dm3"
    is_filed: ClassVar[bool] = True

    @classmethod
    def read(cls, members: Members) -> "Dm3Details":
        """Read the details from the members of a claim. Raises ValueError."""
        receiver_key, sender_key = members.texts("dm3", 2)
        evidence = members.mapping("evidence") if "evidence" in members else None
        return cls(decode_base64(receiver_key), sender_key, evidence)

    def as_json(self) -> Mapping[str, JsonValue]:
        """The details as members of a claim."""
        # Workers of the previous release expect a rule in every claim.
        written: dict[str, JsonValue] = {"rule": None, "dm3": [b64encode(self.receiver_key).decode(), self.sender_key]}
        return written if self.evidence is None else {**written, "evidence": dict(self.evidence)}

    def correlation_and_feedback(self, envelope: str) -> tuple[str, FeedbackRequest | None]:  # noqa: ARG002 - its senders are sealed
        """Nobody: dm3 has no message for Feedback."""
        return "", None


Details: TypeAlias = NlwebDetails | Dm3Details
_KINDS: Final[Mapping[str, type[Details]]] = {kind.protocol: kind for kind in (NlwebDetails, Dm3Details)}


def read_details(protocol: str, members: Members) -> Details:
    """The details of a claim of this protocol. Raises ValueError."""
    kind = _KINDS.get(protocol)
    if kind is None:
        raise ValueError(f"protocol of a claim must be one of {', '.join(_KINDS)}")
    return kind.read(members)
