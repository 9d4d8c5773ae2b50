"""Which chat key a domain has: a function of all messages that came from it, and of what the owner's devices say."""

from itertools import count, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.client.chat.network import wrapped

from postroom.client.chat.carried_wrapper import CarriedWrapper
from postroom.client.chat.domain_keys import (
    DomainKey,
    domains_by_key,
    keys_of_domains,
    standing_of,
    trust,
    trusted_keys,
)
from postroom.client.chat.entries import ChatEntry
from postroom.protocols.dm3.message import MessageType
from postroom.protocols.status import sending
from postroom.protocols.status.author import AuthorKey
from postroom.protocols.status.contacts import changed_contact, is_added
from postroom.protocols.status.enums import ChatKind
from postroom.protocols.status.keys import ChatKey
from postroom.protocols.status.log import ChatLog
from postroom.protocols.status.messages import (
    ChatMessageIdentity,
    ContactUpdate,
    StatusMessage,
    SyncInstallationContact,
)
from postroom.protocols.status.sync import OwnDevices
from postroom.protocols.status.verify import NO_CHAT_KEY, ChatRef, verify

AT = 1_795_253_400_000
OWN, ONE, TWO, THREE = (AuthorKey.from_secret(bytes(31) + bytes([number])) for number in range(1, 5))
SHOP, BANK = "shop.example", "bank.example"
_numbers = count()


def entry(message: StatusMessage, author: AuthorKey = ONE, came_ms: int = AT, domain: str = SHOP) -> ChatEntry:
    """A message that came from a domain."""
    carried = CarriedWrapper(wrapped(message, author, typed=not isinstance(message, ChatMessageIdentity)), None)
    named = 1 << 32 if isinstance(message, ChatMessageIdentity) else None
    payload = verify(carried.wrapper, own=OWN.public, named=named)
    return ChatEntry(
        f"{next(_numbers)}", (), domain, came_ms, came_ms, MessageType.NEW, "", NO_CHAT_KEY, "",
        carried=carried, payload=payload, domain=domain,
    )  # fmt: skip


def text(chat_id: str = OWN.public, kind: ChatKind = ChatKind.ONE_TO_ONE, clock: int = AT) -> StatusMessage:
    return sending.text_message(ChatRef(kind, chat_id), clock, AT, "hello")


def log_of(*contacts: SyncInstallationContact, at_ms: int = AT) -> ChatLog:
    """What the owner's devices have said."""
    log = ChatLog(OWN.public)
    for contact in contacts:
        log.add(verify(wrapped(contact, OWN), own=OWN.public), at_ms)
    return log


def key_of(*entries: ChatEntry, log: ChatLog | None = None) -> ChatKey | None:
    return keys_of_domains(log or log_of(), entries).get(SHOP, DomainKey()).key


@given(st.lists(st.tuples(st.sampled_from([ONE, TWO, THREE]), st.integers(AT, AT + 2)), min_size=1), st.randoms())
def test_the_first_author_by_time_and_id_is_pinned_in_any_order(
    said: list[tuple[AuthorKey, int]], random: object
) -> None:
    entries = [entry(text(), author, came_ms) for author, came_ms in said]
    first = min((each.came_ms, each.payload.id, each.payload.author) for each in entries if each.payload)
    random.shuffle(entries)  # type: ignore[attr-defined]
    assert key_of(*entries) == first[2]
    assert key_of(*entries, *entries) == first[2]


def test_each_domain_has_its_own_key() -> None:
    found = keys_of_domains(log_of(), [entry(text(), ONE), entry(text(), TWO, AT - 1, BANK)])
    assert {domain: each.key for domain, each in found.items()} == {SHOP: ONE.public, BANK: TWO.public}


@pytest.mark.parametrize(
    "message",
    [
        text("tea", ChatKind.PUBLIC_GROUP),
        text(f"7f1c2a0e-3b1d-4c55-9a6e-0d8f5b2c4e11-{ONE.public}", ChatKind.PRIVATE_GROUP),
        text("no key"),
        text(clock=AT + 120_001),
        ContactUpdate(AT),
        ChatMessageIdentity(AT),
    ],
    ids=[
        "in a channel",
        "in a group",
        "to nobody in particular",
        "ahead of its time",
        "a contact update",
        "an identity",
    ],
)
def test_what_others_may_have_got_and_what_does_not_count_pins_nothing(message: StatusMessage) -> None:
    assert key_of(entry(message, TWO)) is None
    assert key_of(entry(message, TWO), entry(text(), ONE, AT + 1)) == ONE.public


def test_a_reaction_pins_its_author_too() -> None:
    chat = ChatRef(ChatKind.ONE_TO_ONE, OWN.public)
    reaction = sending.reaction(chat, AT, f"0x{'ab' * 32}", 1)  # type: ignore[arg-type]
    assert key_of(entry(reaction, TWO), entry(text(), ONE, AT + 1)) == TWO.public


# --- what the owner says ------------------------------------------------------------------------------------------
def test_what_the_owner_says_counts_before_what_is_pinned() -> None:
    log = log_of(trust(TWO.public, SHOP, AT))
    assert key_of(entry(text(), ONE), log=log) == key_of(log=log) == TWO.public


def test_what_was_said_last_counts_in_any_order() -> None:
    said = [trust(TWO.public, SHOP, AT), trust(ONE.public, SHOP, AT + 1)]
    assert key_of(log=log_of(*said)) == key_of(log=log_of(*said[::-1])) == ONE.public


def test_a_contact_that_is_written_again_says_nothing_new_of_its_domain() -> None:
    first = trust(TWO.public, SHOP, AT)
    again = SyncInstallationContact(
        AT + 9, TWO.public, last_updated=AT + 9, system_tags=(":contact/added", *first.system_tags)
    )
    assert key_of(log=log_of(first, trust(ONE.public, SHOP, AT + 1), again)) == ONE.public


def test_a_contact_keeps_what_else_is_known_of_it() -> None:
    known = SyncInstallationContact(
        AT, ONE.public, ens_name="one.eth", last_updated=AT, system_tags=(":contact/added",)
    )
    both = trust(ONE.public, BANK, AT + 2, trust(ONE.public, SHOP, AT + 1, known))
    assert (both.ens_name, both.last_updated) == ("one.eth", AT)
    assert both.system_tags == (":contact/added", f"nlweb:{SHOP}:{AT + 1}", f"nlweb:{BANK}:{AT + 2}")
    again = trust(ONE.public, SHOP, AT + 3, both)
    assert again.system_tags == (":contact/added", f"nlweb:{BANK}:{AT + 2}", f"nlweb:{SHOP}:{AT + 3}")


@pytest.mark.parametrize("added", [True, False], ids=["added", "removed"])
@pytest.mark.parametrize("has_known", [True, False], ids=["which knew an earlier record", "which knew nothing"])
def test_trust_on_a_device_does_not_change_whether_somebody_is_a_contact(added: bool, has_known: bool) -> None:
    """Whichever record came first: that of the contact, or that of a device which had not got it yet."""
    earlier = changed_contact(ONE.public, None, AT, added=not added)
    contact = changed_contact(ONE.public, earlier, AT + 1, added=added)
    trusted = trust(ONE.public, SHOP, AT + 2, earlier if has_known else None)
    for records in permutations((earlier, contact, trusted)):
        log = log_of(*records)
        assert is_added(OwnDevices(log).contacts[ONE.public]) == added
        assert trusted_keys(log) == {SHOP: (AT + 2, ONE.public)}


def test_the_record_of_a_contact_has_the_domain_when_both_are_known() -> None:
    known = changed_contact(ONE.public, None, AT, added=True)
    contact = OwnDevices(log_of(known, trust(ONE.public, SHOP, AT + 1, known))).contacts[ONE.public]
    assert contact.system_tags == (":contact/added", f"nlweb:{SHOP}:{AT + 1}")


@pytest.mark.parametrize(
    "tag",
    [
        "", "nlweb:", f"nlweb:{SHOP}", f"nlweb:{SHOP}:", f"nlweb:{SHOP}:-1", f"nlweb:{SHOP}:1e9", f"nlweb::{AT}",
        f"nlweb:localhost:{AT}", f"nlweb:Shop.Example:{AT}", f"nlweb:{SHOP}:{AT} ", f"nlweb:{SHOP}:{AT + 120_001}",
        f"nlweb:{SHOP}:{'9' * 20}", f"nlweb:{SHOP}:٣", ":contact/added",
    ],
)  # fmt: skip
def test_another_tag_says_nothing(tag: str) -> None:
    assert trusted_keys(log_of(SyncInstallationContact(AT, ONE.public, system_tags=(tag,)))) == {}


# --- what is shown ------------------------------------------------------------------------------------------------
def test_the_domains_of_a_key_stand_with_those_that_the_owner_has_named_first() -> None:
    keys = {
        "a.example": DomainKey(ONE.public), "b.example": DomainKey(TWO.public, ONE.public),
        "c.example": DomainKey(ONE.public, TWO.public, (ONE.public, TWO.public)),
    }  # fmt: skip
    assert domains_by_key(keys)[ONE.public] == ["b.example", "a.example"]
    assert standing_of(keys, ONE.public) == {"a.example": "pinned", "b.example": "trusted", "c.example": "other"}
    assert standing_of(keys, TWO.public) == {"b.example": "other", "c.example": "trusted"}
    assert standing_of(keys, THREE.public) == {}
