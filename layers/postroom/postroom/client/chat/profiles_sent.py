"""The profile of a user who chats, and which contacts need it now: a function of what the archive holds."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from operator import attrgetter

from postroom.core.errors import TheirError
from postroom.protocols.dm3.names import normalize
from postroom.protocols.status.checks import picture_of
from postroom.protocols.status.clock import is_ahead
from postroom.protocols.status.contacts import contact_receivers_due, own_contact_update
from postroom.protocols.status.enums import ProfileImageSource
from postroom.protocols.status.identity import own_identity
from postroom.protocols.status.keys import ChatKey
from postroom.protocols.status.log import ChatLog
from postroom.protocols.status.messages import (
    ChatMessageIdentity,
    ContactUpdate,
    ProfileImage,
    SyncInstallationContact,
)
from postroom.protocols.status.sent_profile import SentProfile


@dataclass(frozen=True, slots=True)
class SentContactUpdate:
    """A contact update of the owner. `receiver`: the name that it went to. `digest`: its `profile_digest`.

    `is_delivered`: False: it is stored and not delivered yet, or was refused.
    """

    receiver: str
    at_ms: int
    digest: bytes
    is_delivered: bool


def profile_now(
    known: ChatMessageIdentity | None, name: str, clock: int, display_name: str | None, picture: bytes | None
) -> ChatMessageIdentity:
    """The owner's profile. `known`: as the owner's devices said last; None: nothing was said. `name`: the owner's.

    `display_name`, `picture`: None: as they are; empty: none. Raises TheirError, as ChatMessageIdentity does.
    """
    if display_name is None:
        display_name = known.display_name if known else ""
    if picture is None:
        picture = _picture(known.profile_image) if known else b""
    return own_identity(clock, name if "." in name and _is_dm3_name(name) else "", display_name, picture or None)


def contact_update_of(profile: ChatMessageIdentity, clock: int) -> ContactUpdate:
    """The contact update that says the same as a profile of one's own."""
    return own_contact_update(clock, profile.ens_name, _picture(profile.profile_image) or None)


def names_of_contact(contact: SyncInstallationContact, proven: Collection[str]) -> list[str]:
    """The names to which contact updates go: the one by which the owner added the contact, and those that the contact's
    messages came from. What others say is not among them: it would let them keep updates from a contact."""
    added_by = [normalize(contact.ens_name)] if contact.ens_name else []
    return list(dict.fromkeys((*added_by, *sorted(proven))))


def contact_updates_due(
    contacts: Mapping[ChatKey, SyncInstallationContact],
    names: Mapping[ChatKey, Collection[str]],
    sent: Iterable[SentContactUpdate],
    digest: bytes,
    now_ms: int,
) -> list[ChatKey]:
    """The contacts who need an update with this digest now, sorted. `names`: of each, as `names_of_contact` has them.

    None goes to a contact whose last one says the same and is not delivered yet, or was refused.
    """
    keys: defaultdict[str, list[ChatKey]] = defaultdict(list)
    for key in contacts:
        for name in names[key]:
            keys[name].append(key)
    by_key = [
        (key, each)
        for each in sorted(sent, key=attrgetter("at_ms"))
        for key in keys.get(each.receiver, ())
        # What went to a name that had another key did not go to this one.
        if len(keys[each.receiver]) == 1 or each.at_ms >= contacts[key].last_updated
    ]
    found = [SentProfile(each.at_ms, each.digest, frozenset({key})) for key, each in by_key]
    due = contact_receivers_due(contacts, sent=found, digest=digest, now_ms=now_ms)
    last = dict(by_key)
    return sorted(key for key in due if key not in last or last[key].is_delivered or last[key].digest != digest)


def authors_of_updates(log: ChatLog) -> set[ChatKey]:
    """Those whose contact updates came: who have made the owner a contact."""
    return {
        fact.author
        for fact in log.names()
        if isinstance(fact.message, ContactUpdate) and fact.author != log.own and not is_ahead(fact.clock, fact.at_ms)
    }


def _is_dm3_name(name: str) -> bool:
    """Whether it is one: the owner's domain may be none, such as xn--bcher-kva.example."""
    try:
        normalize(name)
    except TheirError:
        return False
    return True


def _picture(image: ProfileImage | None) -> bytes:
    """The bytes of a picture that is sent as such; empty: there is none."""
    is_picture = image is not None and image.source_type == ProfileImageSource.RAW_PAYLOAD
    return picture_of(image.payload) if image is not None and is_picture else b""
