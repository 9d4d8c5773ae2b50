"""What is stored of a waiting message: opened and proven, as it was received, or set aside with a reason.

A message that is not what it says, or cannot be opened, is set aside: it is in no conversation, and is kept sealed as
it came. One whose sender nobody can name (the owner lets such in) is in the conversation, and marked. What cannot be
found out just now is no reason for anything: the message stays in the mailbox. So does a letter that waited while
its receiver changed keys, until the key before is there, too.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
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


class OtherKeyError(PostroomError):
    """A letter is sealed to a key that its owner's profile has no more; no older key was given."""


class WaitingMessage(Protocol):
    """A message in a mailbox, as `client.mailbox.Message` is one."""

    @property
    def id(self) -> str:
        """Of this message, for ever."""
        ...

    @property
    def partner(self) -> str:
        """Whom it is exchanged with, as the post office has it."""
        ...

    @property
    def received_at(self) -> datetime:
        """When it came in."""
        ...

    @property
    def receipt(self) -> Mapping[str, Any]:
        """How the post office verified it."""
        ...

    @property
    def envelope(self) -> str:
        """As it was received."""
        ...


class MailReceiver:
    """Reads the messages of one owner.

    `keys`, `profiles`: None where the mailbox is no user's of dm3. `older`: keys that the profile had before, by which
    letters are opened, too; with any of them a letter that none opens is set aside.
    """

    def __init__(
        self,
        owner: str,
        keys: UserKeys | None,
        profiles: ExplainedProfiles | None,
        *,
        older: Sequence[EncryptionKey] = (),
    ) -> None:
        self._owner = owner
        self._keys = keys
        self._older = older
        self._profiles = profiles
        self._fits = False

    def read(self, message: WaitingMessage) -> StoredEnvelope | Received:
        """What is kept of a message.

        Raises NotNowError(PROFILE_LOOKUP_FAILED); OtherKeyError; SettingsError for a letter that these keys or profiles
        are not for: all of them would be set aside.
        """
        as_it_came = Received(
            message.id,
            round(message.received_at.timestamp() * 1000),
            message.partner,
            json.dumps(message.receipt, ensure_ascii=False),
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
        """A letter, opened and checked. Raises TheirError with the reason why it is to be set aside, OtherKeyError."""
        if self._keys is None:
            raise SettingsError(
                "letters of dm3 are opened with the keys of the profile: a file of `postroom dm3 keygen`"
            )
        if self._profiles is None:
            raise SettingsError("letters of dm3 are verified by profiles: say where they are, --registry or --local")
        if not self._fits:
            self._check_owner(self._keys, self._profiles)
            self._fits = True
        told = explain(envelope.encode(), self._keys, self._profiles, older=self._older)
        failed = {check.name: check.reason for check in told.checks if check.reason is not None}
        # The owner's own delivery service sealed the postmark, to the key that the profile had then: a letter of which
        # that opens is no older than the key, whatever a stranger sealed in it.
        if not self._older and failed.get(POSTMARK) == SEALED_VALUE_INVALID:
            raise OtherKeyError
        unknown = failed.pop(SENDERS_PROFILE, None)
        for reason in failed.values():
            if reason.kind is not Kind.RETRY:
                raise TheirError(reason)
        doubts = [*failed.values(), *([unknown] if unknown is not None and unknown.kind is Kind.RETRY else [])]
        if doubts:
            raise NotNowError(doubts[0])
        if told.message is None:
            raise TheirError(MESSAGE_INVALID)
        if normalize(told.message.metadata.to) != self._owner:
            raise TheirError(RECEIVER_UNKNOWN)
        sealed = read_envelope(_parsed(envelope))
        kept = store_envelope(sealed, told.message, told.postmark, unverified=unknown)
        # With whoever has no name there is no conversation.
        conversation_partner(kept, self._owner)
        return kept

    def _check_owner(self, keys: UserKeys, profiles: ExplainedProfiles) -> None:
        """See that the keys are those of the owner's profile, and that a delivery service of it is known."""
        try:
            profile = profiles.user(self._owner)
        except TheirError as error:
            raise SettingsError(f"{self._owner} has no profile where profiles are looked up: {error}") from None
        if (profile.encryption_key, profile.signing_key) != (keys.encryption.public, keys.signing.public):
            raise SettingsError(
                f"the keys are not those that the profile of {self._owner} has; if it had them before, "
                "say its new ones as --key, and these as --old-key"
            )
        for service in profile.delivery_services:
            try:
                profiles.service(service)
            except TheirError:
                continue
            return
        services = ", ".join(profile.delivery_services)
        raise SettingsError(
            f"no delivery service of {self._owner} has a profile where profiles are looked up: {services}"
        )


def read_nlweb(envelope: str) -> NlwebEnvelope:
    """The envelope of a message of NLWeb whose Hash is its own. Raises TheirError."""
    read = read_nlweb_envelope(_parsed(envelope))
    check_hash(read.claimed_hash, read.digest)
    return read


def _parsed(envelope: str) -> JsonValue:
    data = envelope.encode()
    return parse(data, max_bytes=len(data))
