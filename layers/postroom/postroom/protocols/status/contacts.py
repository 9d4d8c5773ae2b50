"""Contacts of a user, and when they need a contact update (6/PAYLOADS: Contact Update, SyncInstallationContact)."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from postroom.protocols.status.keys import ChatKey
from postroom.protocols.status.messages import ContactUpdate, SyncInstallationContact
from postroom.protocols.status.sent_profile import SentProfile, profile_receivers_due, write_picture

CONTACT_INTERVAL_MS: Final = 48 * 60 * 60 * 1000
"""After this time a contact update is sent again, as Status's clients do."""
ADDED: Final = ":contact/added"
"""The tag of a contact that the user has added."""
BLOCKED: Final = ":contact/blocked"
"""The tag of a contact of which the user wants to see nothing."""


def is_blocked(contact: SyncInstallationContact) -> bool:
    """Whether the user has blocked a contact."""
    return BLOCKED in contact.system_tags


def is_added(contact: SyncInstallationContact) -> bool:
    """Whether somebody is a contact of the user: has been added, and is not blocked."""
    return ADDED in contact.system_tags and not is_blocked(contact)


def contact_receivers_due(
    contacts: Mapping[ChatKey, SyncInstallationContact], *, sent: Iterable[SentProfile], digest: bytes, now_ms: int
) -> frozenset[ChatKey]:
    """The contacts who need the user's contact update now: it has changed, the interval is over, or they are new.

    `contacts`: as the user's devices have them (`OwnDevices.contacts`); those who are blocked, or not added, get none.
    `sent`: contact updates, with keys as receivers.
    """
    added = [key for key, contact in contacts.items() if is_added(contact)]
    return frozenset(
        ChatKey(key) for key in profile_receivers_due(added, sent, digest, now_ms, interval_ms=CONTACT_INTERVAL_MS)
    )


def changed_contact(
    key: ChatKey, known: SyncInstallationContact | None, clock: int, *, ens_name: str = "", added: bool
) -> SyncInstallationContact:
    """What the user's devices say of somebody who becomes a contact (`added`), or is none any more.

    `known`: what they said before; None: nothing. Whoever is added is blocked no more. `ens_name`: empty: as it was.
    """
    known = known or SyncInstallationContact(clock, key)
    tags = tuple(tag for tag in known.system_tags if tag != ADDED and not (added and tag == BLOCKED))
    return replace(
        known,
        clock=clock,
        last_updated=clock,
        ens_name=ens_name or known.ens_name,
        system_tags=(*tags, ADDED) if added else tags,
    )


def own_contact_update(clock: int, ens_name: str, picture: bytes | None) -> ContactUpdate:
    """The user's contact update for one contact. `clock`: of the chat with that contact. `picture`: cleaned.

    Raises TheirError, as ContactUpdate does.
    """
    return ContactUpdate(clock, ens_name, "" if picture is None else write_picture(picture))
