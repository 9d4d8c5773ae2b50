"""The name and the picture that a user sends of itself, and who needs them now (6/PAYLOADS: Identity Update).

An identity goes to the chats that one writes in, a contact update to one's contacts; both are due by the same rule.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from hashlib import blake2b

from pybase64 import b64encode

from postroom.protocols.status.codec import write_payload
from postroom.protocols.status.messages import ChatMessageIdentity, ContactUpdate


@dataclass(frozen=True, slots=True)
class SentProfile:
    """An identity or a contact update that was sent to some at a time. `digest`: its `profile_digest`.

    `receivers`: names or keys, whatever the caller knows them by.
    """

    at_ms: int
    digest: bytes
    receivers: frozenset[str]


def profile_digest(profile: ChatMessageIdentity | ContactUpdate) -> bytes:
    """What is in an identity or a contact update besides its clock: 32 bytes, others if anything in it is."""
    return blake2b(write_payload(replace(profile, clock=1)), digest_size=32).digest()


def profile_receivers_due(
    receivers: Collection[str], sent: Iterable[SentProfile], digest: bytes, now_ms: int, *, interval_ms: int | None
) -> frozenset[str]:
    """Those to whom what was sent last is something else, or nothing, or was sent `interval_ms` ago or earlier.

    `sent`: in any order; what other devices sent is among it. `interval_ms` None: what is the same is sent once.
    """
    # A time that is still to come is that of a wrong clock, and would hold everything up until then.
    past = [each for each in sent if each.at_ms <= now_ms]
    last_ms: dict[str, int] = {}
    for each in past:
        for receiver in each.receivers:
            last_ms[receiver] = max(each.at_ms, last_ms.get(receiver, each.at_ms))
    # Of two at one time nobody knows which came last: both must be the same.
    have_another = {
        receiver
        for each in past
        if each.digest != digest
        for receiver in each.receivers
        if each.at_ms == last_ms[receiver]
    }
    return frozenset(
        receiver
        for receiver in receivers
        if receiver not in last_ms
        or receiver in have_another
        or (interval_ms is not None and now_ms - last_ms[receiver] >= interval_ms)
    )


def write_picture(picture: bytes) -> str:
    """A profile picture as a payload has it: bare base64, as the text says, and never an address."""
    return b64encode(picture).decode()
