"""Signing in the name of one of our domains, and posting to another domain's well-known inbox."""

from dataclasses import dataclass, replace
from typing import Final

from postroom.core.errors import NotNowError
from postroom.core.own_faults import OwnFault, OwnFaults
from postroom.core.reasons import OUTBOUND_FAILED, SIGNING_KEY_UNAVAILABLE
from postroom.outbound.ports import OurKeys, Outbound
from postroom.protocols.nlweb.sign import Draft, sign, write

_NOT_FINAL: Final = frozenset({408, 425, 429})


@dataclass(frozen=True, slots=True)
class Answered:
    """A final answer: the message was accepted, or refused for good."""

    taken: bool
    status: int
    body: bytes


class EnvelopeSender:
    """Posts messages for functions/courier."""

    def __init__(self, keys: OurKeys, outbound: Outbound, own_faults: OwnFaults) -> None:
        self._keys = keys
        self._outbound = outbound
        self._own_faults = own_faults

    def post(self, draft: Draft) -> Answered:
        """Post a draft, signed by its sender's key. Raises NotNowError: SIGNING_KEY_UNAVAILABLE, OUTBOUND_FAILED."""
        ours = self._keys.of(draft.sender)
        if ours is None:
            self._own_faults.note(
                OwnFault(
                    f"no signing key is stored for {draft.sender}: its messages, including Feedback, wait, and are "
                    f"given up in the end. Store one (postroom domain add {draft.sender} --key … --selector …)"
                )
            )
            raise NotNowError(SIGNING_KEY_UNAVAILABLE, f"no signing key is stored for {draft.sender}")
        envelope = write(sign(replace(draft, selector=ours.selector), ours.key))
        answer = self._outbound.post(draft.dialect.inbox_url(draft.receiver), envelope)
        taken = 200 <= answer.status < 300
        if taken or (400 <= answer.status < 500 and answer.status not in _NOT_FINAL):
            return Answered(taken, answer.status, answer.body)
        raise NotNowError(OUTBOUND_FAILED, f"{draft.receiver} answered {answer.status}")
