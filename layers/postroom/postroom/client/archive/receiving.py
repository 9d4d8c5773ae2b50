"""The storage of a mailbox's message: opened and verified, as received, or set aside with a reason.

A message that is not what it says, or cannot be opened, is set aside: it is in no conversation, and is stored encrypted
as it came. A message of an unverified sender (if the owner accepts those) is in the conversation, and marked. If a
check cannot be made now, the message stays in the mailbox. So does a dm3 message that arrived while its receiver
changed keys, until the previous key is given, too.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final, Protocol

from postroom.core.errors import NotNowError, PostroomError, SettingsError, TheirError
from postroom.core.ijson import JsonValue, parse
from postroom.core.reason import Kind
from postroom.crypto.x25519 import EncryptionKey
from postroom.protocols.dm3.envelope import read_envelope
from postroom.protocols.dm3.explain import POSTMARK, SENDERS_PROFILE, ExplainedProfiles, explain
from postroom.protocols.dm3.keys import UserKeys
from postroom.protocols.dm3.names import normalize
from postroom.protocols.dm3.reasons import MESSAGE_INVALID, RECEIVER_UNKNOWN, SEALED_VALUE_INVALID
from postroom.protocols.dm3.stored import Received, StoredEnvelope, conversation_partner, store_envelope
from postroom.protocols.nlweb.envelope import NlwebEnvelope, check_hash
from postroom.protocols.nlweb.envelope import read_envelope as read_nlweb_envelope

_DM3: Final = "dm3"
SENT: Final = "sent"
"""The member of the receipt of an NLWeb message that the owner sent (`nlweb_messages`)."""


class OtherKeyError(PostroomError):
    """A message is encrypted to a key that is no longer in its owner's profile, and no older key was given."""


class WaitingMessage(Protocol):
    """A message in a mailbox; `client.mailbox.Message` is one."""

    @property
    def id(self) -> str:
        """The id of the message, which never changes."""
        ...

    @property
    def partner(self) -> str:
        """The conversation partner, as the post office has it."""
        ...

    @property
    def received_at(self) -> datetime:
        """When the message was received."""
        ...

    @property
    def receipt(self) -> Mapping[str, Any]:
        """How the post office verified the message."""
        ...

    @property
    def envelope(self) -> str:
        """The envelope as received."""
        ...


@dataclass(slots=True, eq=False)
class MailReceiver:
    """Reads the messages of one owner.

    `keys`, `profiles`: None if the mailbox is not a dm3 user's. `older`: previous keys of the profile, which also open
    messages; if any are given, a message that no key opens is set aside.
    """

    owner: str
    keys: UserKeys | None
    profiles: ExplainedProfiles | None
    older: Sequence[EncryptionKey] = ()
    _fits: bool = field(default=False, init=False)

    def read(self, message: WaitingMessage) -> StoredEnvelope | Received:
        """A message in the form in which it is stored.

        Raises NotNowError(PROFILE_LOOKUP_FAILED); OtherKeyError; SettingsError for a dm3 message that these keys or
        profiles are not for: otherwise all would be set aside.
        """
        # What the owner has sent is no mail of the owner's, whatever the post office says.
        receipt = {name: value for name, value in message.receipt.items() if name != SENT}
        as_it_came = Received(
            message.id,
            round(message.received_at.timestamp() * 1000),
            message.partner,
            json.dumps(receipt, ensure_ascii=False),
            message.envelope,
        )
        try:
            if message.receipt.get("protocol") == _DM3:
                return self._open(message.envelope)
            read_nlweb(message.envelope)
        except TheirError as error:
            return replace(as_it_came, set_aside=str(error.reason))
        return as_it_came

    def _open(self, envelope: str) -> StoredEnvelope:
        """A dm3 message, opened and checked.

        Raises TheirError with the reason why it is to be set aside, OtherKeyError.
        """
        if self.keys is None:
            raise SettingsError(
                "dm3 messages are opened with the keys of the profile: use the file of `postroom dm3 keygen`"
            )
        if self.profiles is None:
            raise SettingsError("dm3 messages are verified by profiles: use --pinned, --endpoint or --local")
        if not self._fits:
            self._check_owner(self.keys, self.profiles)
            self._fits = True
        opened = explain(envelope.encode(), self.keys, self.profiles, older=self.older)
        failed = {check.name: check.reason for check in opened.checks if check.reason is not None}
        # The owner's own delivery service encrypted the postmark, to the key in the profile at that time. If this key
        # opens the postmark, the message is not older than the key, whatever a stranger encrypted in it.
        if not self.older and failed.get(POSTMARK) == SEALED_VALUE_INVALID:
            raise OtherKeyError
        unknown = failed.pop(SENDERS_PROFILE, None)
        for reason in failed.values():
            if reason.kind is not Kind.RETRY:
                raise TheirError(reason)
        doubts = [*failed.values(), *([unknown] if unknown is not None and unknown.kind is Kind.RETRY else [])]
        if doubts:
            raise NotNowError(doubts[0])
        if opened.message is None:
            raise TheirError(MESSAGE_INVALID)
        if normalize(opened.message.metadata.to) != self.owner:
            raise TheirError(RECEIVER_UNKNOWN)
        sealed = read_envelope(_parsed(envelope))
        kept = store_envelope(
            sealed, opened.message, opened.postmark, unverified=unknown, signing_key=opened.signing_key
        )
        # A sender without a valid name has no conversation.
        conversation_partner(kept, self.owner)
        return kept

    def _check_owner(self, keys: UserKeys, profiles: ExplainedProfiles) -> None:
        """Check that the keys are those of the owner's profile, and that one of its delivery services is known."""
        try:
            profile = profiles.user(self.owner)
        except TheirError as error:
            raise SettingsError(f"{self.owner} has no profile where profiles are looked up: {error}") from None
        if (profile.encryption_key, profile.signing_key) != (keys.encryption.public, keys.signing.public):
            raise SettingsError(
                f"the keys are not those that the profile of {self.owner} has; if it had them before, "
                "use its new ones as --key, and these as --old-key"
            )
        for service in profile.delivery_services:
            try:
                profiles.service(service)
            except TheirError:
                continue
            return
        services = ", ".join(profile.delivery_services)
        raise SettingsError(
            f"no delivery service of {self.owner} has a profile where profiles are looked up: {services}"
        )


def read_nlweb(envelope: str) -> NlwebEnvelope:
    """The envelope of an NLWeb message whose Hash is correct. Raises TheirError."""
    read = read_nlweb_envelope(_parsed(envelope))
    check_hash(read.claimed_hash, read.digest)
    return read


def _parsed(envelope: str) -> JsonValue:
    data = envelope.encode()
    return parse(data, max_bytes=len(data))
