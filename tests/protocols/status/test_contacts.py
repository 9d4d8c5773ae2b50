"""Who the contacts of a user are, and when they need a contact update (6/PAYLOADS: Contact update)."""

import pytest
from tests.protocols.status.senders import ALICE, BOB, CAROL, DAVE, NOW_MS, PNG

from postroom.core.errors import TheirError
from postroom.protocols.status.contacts import (
    ADDED,
    BLOCKED,
    CONTACT_INTERVAL_MS,
    changed_contact,
    contact_receivers_due,
    is_added,
    is_blocked,
    own_contact_update,
)
from postroom.protocols.status.keys import ChatKey
from postroom.protocols.status.messages import ContactUpdate, SyncInstallationContact
from postroom.protocols.status.sent_profile import SentProfile, profile_digest

DIGEST = profile_digest(own_contact_update(1, "alice.eth", PNG))


def contact(key: ChatKey, *tags: str) -> SyncInstallationContact:
    return SyncInstallationContact(1, key, system_tags=tags)


CONTACTS = {
    BOB.public: contact(BOB.public, ADDED),
    CAROL.public: contact(CAROL.public, ADDED, ":contact/request-received"),
    DAVE.public: contact(DAVE.public, ADDED, BLOCKED),
    ALICE.public: contact(ALICE.public, ":contact/request-received"),
}
ADDED_KEYS = frozenset({BOB.public, CAROL.public})


def due(*sent: SentProfile, digest: bytes = DIGEST, now_ms: int = NOW_MS) -> frozenset[ChatKey]:
    return contact_receivers_due(CONTACTS, sent=sent, digest=digest, now_ms=now_ms)


@pytest.mark.parametrize(
    ("tags", "added", "blocked"),
    [
        ((), False, False),
        ((":contact/added",), True, False),
        ((":contact/blocked",), False, True),
        ((":contact/added", ":contact/blocked"), False, True),
        ((":contact/request-received",), False, False),
        (("contact/added", ":contact/added "), False, False),
    ],
)
def test_tags_say_who_is_added_and_who_is_blocked(tags: tuple[str, ...], added: bool, blocked: bool) -> None:
    assert is_added(contact(BOB.public, *tags)) is added
    assert is_blocked(contact(BOB.public, *tags)) is blocked


def test_a_new_contact_gets_it_and_nobody_who_is_blocked_or_not_added() -> None:
    assert due() == ADDED_KEYS
    assert due(SentProfile(NOW_MS - 1, DIGEST, frozenset({BOB.public}))) == {CAROL.public}


@pytest.mark.parametrize("changed", [own_contact_update(1, "", PNG), own_contact_update(1, "alice.eth", PNG + b".")])
def test_when_name_or_picture_change_all_contacts_get_it(changed: ContactUpdate) -> None:
    sent = SentProfile(NOW_MS - 1, DIGEST, ADDED_KEYS)
    assert due(sent) == frozenset()
    assert due(sent, digest=profile_digest(changed)) == ADDED_KEYS


def test_without_a_change_it_is_sent_again_after_48_hours() -> None:
    sent = SentProfile(NOW_MS, DIGEST, ADDED_KEYS)
    assert CONTACT_INTERVAL_MS == 172_800_000
    assert due(sent, now_ms=NOW_MS + 172_799_999) == frozenset()
    assert due(sent, now_ms=NOW_MS + 172_800_000) == ADDED_KEYS


def test_an_update_has_name_and_picture_in_base64() -> None:
    assert own_contact_update(7, "alice.eth", PNG) == ContactUpdate(7, "alice.eth", "iVBORw0KGgogYW5kIHRoZSByZXN0")
    assert own_contact_update(7, "", None) == ContactUpdate(7)


@pytest.mark.parametrize("picture", [b"https://example.com/me.png", b"<svg/>"])
def test_a_picture_that_is_none_is_refused(picture: bytes) -> None:
    with pytest.raises(TheirError, match="MediaInvalid"):
        own_contact_update(7, "", picture)


# --- who is added, and who is removed -------------------------------------------------------------------------------
REQUEST = ":contact/request-received"


@pytest.mark.parametrize(
    ("tags", "added", "tags_after"),
    [
        ((), True, (ADDED,)),
        ((ADDED,), True, (ADDED,)),
        ((REQUEST, BLOCKED), True, (REQUEST, ADDED)),
        ((ADDED, REQUEST), False, (REQUEST,)),
        ((ADDED, BLOCKED), False, (BLOCKED,)),
        ((), False, ()),
    ],
)
def test_who_is_added_is_not_blocked_and_other_tags_stay(
    tags: tuple[str, ...], added: bool, tags_after: tuple[str, ...]
) -> None:
    changed = changed_contact(BOB.public, contact(BOB.public, *tags), 7, added=added)
    assert (changed.clock, changed.last_updated, changed.system_tags) == (7, 7, tags_after)
    assert is_added(changed) is added


def test_a_contact_keeps_its_name_and_what_else_is_known_of_it() -> None:
    known = SyncInstallationContact(1, BOB.public, ens_name="bob.eth", local_nickname="Bobby")
    assert changed_contact(BOB.public, known, 7, added=True).ens_name == "bob.eth"
    changed = changed_contact(BOB.public, known, 7, ens_name="robert.eth", added=True)
    assert (changed.ens_name, changed.local_nickname) == ("robert.eth", "Bobby")
    assert changed_contact(BOB.public, None, 7, ens_name="bob.eth", added=True).ens_name == "bob.eth"
