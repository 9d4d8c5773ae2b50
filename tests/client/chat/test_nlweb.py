"""Chats over NLWeb: whose key a domain has, who may write for it, and what goes through a post office."""

from dataclasses import replace
from datetime import UTC, datetime
from itertools import permutations
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from tests.client.chat.domain_network import BANK, BOOKS, CAFE, EVE, SHOP, DomainNetwork, DomainPerson, Outbox
from tests.client.chat.network import ALICE, BOB, CAROL, Device, Person, Service, Waiting, wrapped

from postroom.api.states import State
from postroom.client.archive import MemoryHome, verify
from postroom.client.archive.nlweb_messages import is_sent, keep_sent_nlweb, read_content
from postroom.client.chat import ChatError, Chats, NoOutboxError, NoSuchChatError, SentTo
from postroom.client.chat.carried_wrapper import CarriedWrapper
from postroom.client.chat.channels import ChannelRecord, channel_message, write_channel_body
from postroom.client.chat.domain_keys import OTHER_KEY, DomainKey
from postroom.client.chat.index import ChatIndex
from postroom.client.chat.nlweb_carrier import SUBJECT, address_of, read_body, write_body
from postroom.client.chat.targets import TargetFinder
from postroom.client.chat.undelivered import DeliveryState, UnsentPart, find_undelivered
from postroom.client.chat.unsent_to_domain import UnsentToDomain
from postroom.client.mailbox import RefusedError, UnavailableError, UnexpectedAnswerError, UntrustedHostError
from postroom.client.sending import SendOutcome
from postroom.core.errors import NotNowError, TheirError
from postroom.crypto.encodings import decode_base64
from postroom.crypto.rsa_ed25519 import PrivateKey
from postroom.names.registry import PROFILE_KEY
from postroom.protocols.dm3.keys import UserKeys
from postroom.protocols.dm3.stored import Received, StoredEnvelope
from postroom.protocols.nlweb.sign import Draft, sign, write
from postroom.protocols.status import sending
from postroom.protocols.status.author import AuthorKey
from postroom.protocols.status.enums import ChatKind, ReactionKind
from postroom.protocols.status.group_actions import create_group
from postroom.protocols.status.group_updates import group_update
from postroom.protocols.status.keys import ChatKey
from postroom.protocols.status.messages import StatusMessage, SyncInstallationPublicChat
from postroom.protocols.status.verify import ChatRef

TO_SHOP, TO_BANK = address_of(SHOP), address_of(BANK)
STRANGER = AuthorKey.from_secret(bytes(31) + b"\7")


@pytest.fixture
def network() -> DomainNetwork:
    return DomainNetwork()


@pytest.fixture
def shop(network: DomainNetwork) -> Device:
    return network.device(SHOP)


@pytest.fixture
def bank(network: DomainNetwork) -> Device:
    return network.device(BANK)


def to(key: ChatKey) -> ChatRef:
    return ChatRef(ChatKind.ONE_TO_ONE, key)


def said_by(network: DomainNetwork, author: AuthorKey, text: str, receiver: str = BANK, domain: str = SHOP) -> None:
    """A text for a domain, in a message of another domain, whoever wrote it."""
    at_ms = network.tick()
    message = sending.text_message(to(network[receiver].key), at_ms, at_ms, text)
    network.domain(domain).bring(receiver, message, author)


def texts(device: Device, key: ChatKey) -> list[tuple[str, bool]]:
    """The texts of a chat of two, and whether each is marked."""
    device.chats.refresh()
    return [(it.text, OTHER_KEY in it.marks) for it in device.chats.view().messages(to(key))]


# --- two domains --------------------------------------------------------------------------------------------------
def test_two_domains_chat(network: DomainNetwork, shop: Device, bank: Device) -> None:
    shop.chats.trust(BANK, bank.chats.own)
    sent = shop.send(TO_BANK, "hello")
    assert sent.deliveries == (SentTo(TO_BANK, SendOutcome.TAKEN),)
    bank.pull()
    bank.send(TO_SHOP, "good morning", reply_to=sent.id)
    bank.chats.react(TO_SHOP, sent.id, ReactionKind.THUMBS_UP)
    shop.pull()
    assert [it.id for it in shop.shown(TO_BANK)] == [it.id for it in bank.shown(TO_SHOP)]
    first, second = shop.shown(TO_BANK)
    assert (first.text, second.text, second.response_to) == ("hello", "good morning", sent.id)
    assert first.reactions == {ReactionKind.THUMBS_UP: (bank.chats.own,)}
    shop.chats.edit(TO_BANK, sent.id, "hello!")
    bank.chats.delete(TO_SHOP, second.id)
    shop.pull()
    bank.pull()
    assert shop.texts(TO_BANK) == bank.texts(TO_SHOP) == ["hello!", "(deleted)"]
    assert bank.chats.memory.name_of(shop.chats.own) == TO_SHOP


def test_what_was_sent_is_kept_like_what_was_received(network: DomainNetwork, shop: Device, bank: Device) -> None:
    network.introduce(SHOP, BANK)
    shop.send(TO_BANK, "hello")
    kept = [read_content(each) for each in shop.archive.open(BANK) if isinstance(each, Received)]
    assert {(it.sender, it.receiver, it.subject, it.is_sent) for it in kept} == {(SHOP, BANK, SUBJECT, True)}
    found = verify(shop.archive, network.known_keys())
    assert (found.flaws, found.unproven) == ([], found.messages)
    bank.pull()
    assert verify(bank.archive, network.known_keys()).flaws == []
    # The body carries the wrapper, the older one of an identity too.
    assert sorted(read_body(it.body).type is None for it in kept) == [False, True]


def test_a_domain_that_has_written_needs_no_prefix(network: DomainNetwork, shop: Device, bank: Device) -> None:
    network.introduce(SHOP, BANK)
    shop.send(BANK, "hello")
    bank.pull()
    assert bank.texts(SHOP) == bank.texts(f"nlweb:{SHOP.upper()}.") == ["hello"]


def test_a_dm3_name_is_meant_before_a_domain(network: DomainNetwork, shop: Device, bank: Device) -> None:
    network.introduce(SHOP, BANK)
    shop.send(BANK, "over NLWeb")
    network.add(BANK, network[BOB].keys)
    network.tick(3_600_000)
    assert shop.chats.find(BANK).ref.id == network[BOB].key
    assert shop.chats.find(TO_BANK).ref.id == bank.chats.own


def test_a_name_that_has_written_over_dm3_is_no_domain_even_without_a_profile(
    network: DomainNetwork, shop: Device, bank: Device
) -> None:
    network.introduce(SHOP, BANK)
    assert shop.chats.find(BANK).receivers == (TO_BANK,)
    shop.chats.memory.proven[STRANGER.public] = {BANK}
    with pytest.raises(NoSuchChatError, match="has no profile"):
        shop.chats.find(BANK)


def test_the_owner_of_a_domain_that_is_no_dm3_name_chats(network: DomainNetwork, shop: Device) -> None:
    network.introduce(SHOP, BOOKS)
    books = network.device(BOOKS)
    books.chats.change_profile(display_name="Bücher")
    assert (books.chats.name, books.chats.profile().ens_name) == (BOOKS, "")
    first = shop.send("nlweb:bücher.example", "hello")
    books.pull()
    books.send(TO_SHOP, "good morning", reply_to=first.id)
    shop.pull()
    assert shop.texts(BOOKS) == books.texts(SHOP) == ["hello", "good morning"]
    assert shop.chats.view().names()[books.chats.own].display_name == "Bücher"
    shop.chats.create_group("Lunch", [address_of(BOOKS)])
    books.pull()
    assert books.send("Lunch", "noon?").deliveries == (SentTo(TO_SHOP, SendOutcome.TAKEN),)
    # Another device, with a home of its own, learns it from messages to oneself.
    books.chats.join("tea", [TO_SHOP])
    books.chats.change_profile(display_name="Bücher!")
    other = network[BOOKS].device(MemoryHome())
    other.pull()
    other.chats.refresh()
    assert (other.chats.profile().display_name, [*other.chats.memory.channels]) == ("Bücher!", ["tea"])


def test_a_domain_whose_key_is_not_known_cannot_be_written_to(shop: Device) -> None:
    with pytest.raises(NoSuchChatError, match=r"chat trust bank\.example KEY"):
        shop.send(TO_BANK, "hello")
    with pytest.raises(NoSuchChatError, match=r"name it nlweb:bank\.example"):
        shop.send(BANK, "hello")


@pytest.mark.parametrize("name", ["nlweb:", "nlweb:no_host", "nlweb:*.example", "nlweb:10.0.0.1"])
def test_what_is_no_domain_is_no_chat(shop: Device, name: str) -> None:
    with pytest.raises(ChatError, match="is not a host name"):
        shop.send(name, "hello")


# --- whose key a domain has ---------------------------------------------------------------------------------------
def test_the_first_author_is_pinned_and_another_one_is_shown_with_a_mark(network: DomainNetwork, bank: Device) -> None:
    said_by(network, network[SHOP].author, "first")
    said_by(network, STRANGER, "second")
    bank.pull()
    assert bank.chats.memory.domains[SHOP] == DomainKey(
        network[SHOP].key, None, tuple(sorted([network[SHOP].key, STRANGER.public]))
    )
    assert texts(bank, network[SHOP].key) == [("first", False)]
    assert texts(bank, STRANGER.public) == [("second", True)]
    assert bank.chats.find(TO_SHOP).ref.id == network[SHOP].key
    assert bank.chats.memory.name_of(STRANGER.public) == ""


def test_which_key_is_pinned_does_not_depend_on_what_a_device_gets_first(network: DomainNetwork) -> None:
    for author in (network[SHOP].author, STRANGER, network[SHOP].author):
        said_by(network, author, "hello")
    waiting = list(network[BANK].service.waiting)
    shown = []
    for order in permutations(waiting):
        device = network[BANK].device(MemoryHome())
        for message in order:
            network[BANK].service.waiting = [message]
            device.pull()
        device.chats.refresh()
        found = device.chats.memory
        shown.append((found.domains, texts(device, network[SHOP].key), texts(device, STRANGER.public)))
    assert shown == [shown[0]] * 6
    assert shown[0][0][SHOP].key == network[SHOP].key


def test_trust_takes_another_key_on_all_devices(network: DomainNetwork, bank: Device) -> None:
    said_by(network, network[SHOP].author, "first")
    said_by(network, STRANGER, "second")
    bank.pull()
    bank.chats.trust(SHOP, STRANGER.public)
    assert texts(bank, STRANGER.public) == [("second", False)]
    assert texts(bank, network[SHOP].key) == [("first", True)]
    assert bank.chats.find(TO_SHOP).ref.id == STRANGER.public
    # Another device, with a home of its own, learns it from a message to oneself.
    other = network[BANK].device(MemoryHome())
    said_by(network, network[SHOP].author, "third")
    other.pull()
    assert other.chats.memory.domains[SHOP].key == STRANGER.public
    bank.chats.trust(TO_SHOP, network[SHOP].key)
    other.pull()
    assert other.chats.memory.domains[SHOP].key == bank.chats.find(TO_SHOP).ref.id == network[SHOP].key


def test_what_was_said_last_of_a_domain_counts_whatever_is_said_of_a_contact_later(
    network: DomainNetwork, bank: Device
) -> None:
    bank.chats.trust(SHOP, STRANGER.public)
    bank.chats.trust(SHOP, network[SHOP].key)
    bank.chats.trust(EVE, STRANGER.public)
    domains = bank.chats.memory.domains
    assert (domains[SHOP].key, domains[EVE].key) == (network[SHOP].key, STRANGER.public)


def test_what_a_device_whose_clock_is_behind_says_last_counts(network: DomainNetwork, bank: Device) -> None:
    bank.chats.trust(SHOP, STRANGER.public)
    network.now_ms -= 60_000
    bank.chats.trust(SHOP, network[SHOP].key)
    assert bank.chats.memory.domains[SHOP].key == network[SHOP].key


def test_the_owners_key_is_nobodys_else(network: DomainNetwork, bank: Device) -> None:
    with pytest.raises(ChatError, match="your own key"):
        bank.chats.trust(SHOP, bank.chats.own)
    with pytest.raises(TheirError, match="the domain is not a host name"):
        bank.chats.trust("no domain", STRANGER.public)


def test_what_may_be_passed_on_pins_nothing_and_has_no_mark(network: DomainNetwork) -> None:
    network.device(ALICE).chats.join("tea", [])
    at_ms = network.tick()
    public = sending.text_message(ChatRef(ChatKind.PUBLIC_GROUP, "tea"), at_ms, at_ms, "passed on")
    network.domain(EVE).bring(ALICE, public, STRANGER)
    alice = network.device(ALICE)
    alice.pull()
    assert [(it.text, it.marks) for it in alice.shown("#tea")] == [("passed on", ())]
    assert alice.chats.memory.domains == {}


def test_a_message_to_oneself_that_a_stranger_passes_on_is_discarded(
    network: DomainNetwork, shop: Device, bank: Device
) -> None:
    network.introduce(SHOP, BANK)
    shop.send(TO_BANK, "hello")
    [kept, *_] = [each for each in shop.archive.open(BANK) if isinstance(each, Received)]
    network.domain(EVE).office.deliver(SHOP, SUBJECT, read_content(kept).body)
    shop.pull()
    shop.chats.refresh()
    [gone] = shop.chats.memory.discarded
    assert (gone.partner, str(gone.error.reason)) == (address_of(EVE), "AuthorNotCarrier")
    assert EVE not in shop.chats.memory.domains


def test_an_unsigned_message_has_no_author(network: DomainNetwork, bank: Device) -> None:
    message = sending.text_message(to(bank.chats.own), network.tick(), network.now_ms, "who?")
    network.domain(SHOP).bring(BANK, message, signed=False)
    bank.pull()
    bank.chats.refresh()
    assert [str(it.error.reason) for it in bank.chats.memory.discarded] == ["AuthorUnknown"]
    assert bank.chats.chats() == []


def test_a_message_of_another_subject_is_no_chat(network: DomainNetwork, bank: Device) -> None:
    network.domain(SHOP).office.deliver(BANK, "Hello@Host", {"Status": "AAAA"})
    bank.pull()
    assert (bank.chats.memory.discarded, bank.chats.chats()) == ([], [])


def test_an_owner_who_has_sent_as_a_domain_does_so_while_names_cannot_be_looked_up(
    network: DomainNetwork, bank: Device
) -> None:
    bank.chats.trust(SHOP, network[SHOP].key)
    network.tick(3_600_000)
    network.registry.down = True
    assert [it.to for it in bank.chats.trust(SHOP, STRANGER.public).deliveries] == [TO_BANK]
    network.registry.down = False
    network.device(ALICE).chats.join("tea", [])
    network.tick(3_600_000)
    network.registry.down = True
    assert [it.to for it in network.device(ALICE).chats.trust(SHOP, STRANGER.public).deliveries] == [ALICE]


def test_an_index_shows_the_same_of_domains_and_reads_nothing_again(
    network: DomainNetwork, bank: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    network.introduce(SHOP, BANK)
    bank.send(TO_SHOP, "hello")
    for author in (network[SHOP].author, STRANGER):
        said_by(network, author, "hello")
    for body in ({"Status": "AAA"}, {"Status": "AAAA", "Type": "NEWS"}):
        network.domain(SHOP).office.deliver(BANK, SUBJECT, body)
    network.domain(SHOP).bring(BANK, sending.text_message(to(bank.chats.own), network.now_ms, 1, "?"), signed=False)
    bank.pull()

    def read() -> tuple[object, ...]:
        chats = Chats(bank.archive, network[BANK].sender(), ChatIndex(bank.archive, tmp_path))
        memory, view = chats.memory, chats.view()
        discarded = [(it.partner, it.message_hash, it.error.reason, it.error.detail) for it in memory.discarded]
        return memory.domains, discarded, [(chat, view.messages(chat.ref)) for chat in view.chats()]

    bank.chats.refresh()
    first = read()
    assert len(bank.chats.memory.discarded) == 3
    assert len(bank.chats.memory.domains[SHOP].authors) == 2
    monkeypatch.setattr("postroom.client.chat.entries.read_nlweb_message", None)
    monkeypatch.setattr("postroom.protocols.status.verify.author_of", None)
    assert read() == first


# --- groups and channels ------------------------------------------------------------------------------------------
def test_a_group_reaches_domains_whose_key_is_known(network: DomainNetwork, shop: Device, bank: Device) -> None:
    network.introduce(SHOP, BANK)
    shop.chats.create_group("Lunch", [TO_BANK])
    shop.send("Lunch", "noon?")
    bank.pull()
    bank.send("Lunch", "fine")
    shop.pull()
    assert shop.texts("Lunch") == bank.texts("Lunch") == ["noon?", "fine"]
    assert [it.marks for it in bank.shown("Lunch")] == [(), ()]


def test_members_at_domains_are_not_unreached(network: DomainNetwork, shop: Device, bank: Device) -> None:
    network.introduce(SHOP, BANK)
    shop.chats.create_group("Lunch", [TO_BANK])
    shop.send("Lunch", "noon?")
    shop.chats.refresh()
    view = shop.chats.view()
    [chat] = view.groups()
    assert find_undelivered(shop.chats.memory, chat, view.messages(chat.ref)) == {}


def test_a_member_whose_message_waits_for_the_post_office_is_not_unreached(
    network: DomainNetwork, shop: Device, bank: Device
) -> None:
    network.introduce(SHOP, BANK)
    shop.chats.create_group("Lunch", [TO_BANK])
    network.domain(SHOP).office.error = UnavailableError("down")
    sent = shop.send("Lunch", "noon?")
    shop.chats.refresh()
    view = shop.chats.view()
    [chat] = view.groups()
    waits = DeliveryState((UnsentPart("message", TO_BANK),))
    assert find_undelivered(shop.chats.memory, chat, view.messages(chat.ref)) == {sent.id: waits}


def test_contacts_have_dm3_names(network: DomainNetwork, bank: Device) -> None:
    bank.chats.trust(SHOP, network[SHOP].key)
    with pytest.raises(ChatError, match=r"nlweb:shop\.example is an NLWeb domain"):
        bank.chats.add_contact(TO_SHOP)


def test_a_domains_profile_is_a_message_to_itself(network: DomainNetwork, bank: Device) -> None:
    bank.chats.change_profile(display_name="The Bank")
    other = network[BANK].device(MemoryHome())
    other.pull()
    other.chats.refresh()
    assert (bank.chats.profile().display_name, other.chats.profile().display_name) == ("The Bank", "The Bank")


def test_a_message_of_a_group_pins_nothing(network: DomainNetwork, shop: Device, bank: Device) -> None:
    shop.chats.trust(BANK, bank.chats.own)
    shop.chats.create_group("Lunch", [TO_BANK])
    shop.send("Lunch", "noon?")
    bank.pull()
    assert bank.chats.memory.domains[SHOP].key is None
    assert [(it.text, it.marks) for it in bank.shown("Lunch")] == [("noon?", (OTHER_KEY,))]
    assert bank.chats.find("Lunch").unreached == (shop.chats.own,)


def test_a_domain_joins_a_channel_and_leaves_it_on_all_devices(network: DomainNetwork, bank: Device) -> None:
    other = network[BANK].device(MemoryHome())
    bank.chats.join("tea", [TO_SHOP], relays=True)
    other.pull()
    assert other.chats.find("#tea").receivers == bank.chats.find("#tea").receivers == (TO_SHOP,)
    assert other.chats.memory.channels["tea"].relays
    other.chats.part("tea")
    bank.pull()
    with pytest.raises(NoSuchChatError, match="you are not in #tea"):
        bank.chats.find("#tea")


def test_domains_talk_in_a_channel_that_one_of_them_relays(network: DomainNetwork, shop: Device, bank: Device) -> None:
    cafe = network.device(CAFE)
    for name in (SHOP, CAFE):
        network.introduce(name, BANK)
    shop.chats.join("tea", [TO_BANK])
    bank.chats.join("tea", [TO_SHOP, address_of(CAFE)], relays=True)
    cafe.chats.join("tea", [TO_BANK])
    shop.send("#tea", "from the shop")
    sent = [[(it.to, it.outcome) for it in bank.pull()[1]] for _ in range(2)]
    assert sent == [[(address_of(CAFE), SendOutcome.TAKEN)], []]
    cafe.pull()
    assert [(it.text, it.marks) for it in cafe.shown("#tea")] == [("from the shop", ())]


def test_a_relay_sends_nothing_back_to_the_authors_domain(network: DomainNetwork, shop: Device, bank: Device) -> None:
    network.introduce(SHOP, BANK)
    bank.chats.join("tea", [TO_SHOP, address_of(CAFE)], relays=True)
    at_ms = network.tick()
    public = sending.text_message(ChatRef(ChatKind.PUBLIC_GROUP, "tea"), at_ms, at_ms, "passed on")
    network.domain(EVE).bring(BANK, public, network[SHOP].author)
    assert [it.to for it in bank.pull()[1]] == [address_of(CAFE)]


def test_a_channel_that_waits_for_the_post_office_is_joined(network: DomainNetwork, bank: Device) -> None:
    network.domain(BANK).office.error = UnavailableError("down")
    bank.chats.join("tea", [TO_SHOP])
    assert network.device(BANK).chats.find("#tea").receivers == (TO_SHOP,)
    network.domain(BANK).office.error = None
    network.device(BANK).pull()
    assert bank.unsent() == []
    other = network[BANK].device(MemoryHome())
    other.pull()
    assert other.chats.find("#tea").receivers == (TO_SHOP,)


def test_nobody_else_joins_a_channel_for_the_owner(network: DomainNetwork, shop: Device, bank: Device) -> None:
    network.introduce(SHOP, BANK)
    record = ChannelRecord("tea", network.tick(), True, (address_of(EVE),), True)
    joins = channel_message(record)
    text = sending.text_message(to(network[SHOP].key), record.clock, record.clock, "tea?")
    for domain, message, author, said in (
        (SHOP, joins, network[BANK].author, record),  # from another domain
        (SHOP, joins, network[SHOP].author, record),
        (BANK, joins, STRANGER, record),  # by another key
        (BANK, text, network[BANK].author, record),  # beside another message
        (BANK, joins, network[BANK].author, replace(record, channel="coffee")),
        (BANK, joins, network[BANK].author, replace(record, clock=record.clock + 1)),
        (BANK, joins, network[BANK].author, replace(record, receivers=(address_of(SHOP),))),
        (BANK, joins, network[BANK].author, replace(record, is_joined=False)),
        (BANK, SyncInstallationPublicChat(record.clock, record.channel), network[BANK].author, record),
    ):
        carried = CarriedWrapper(wrapped(message, author), None)
        network.domain(domain).office.deliver(BANK, SUBJECT, write_channel_body(carried, said))
    bank.pull()
    bank.chats.refresh()
    assert bank.chats.memory.channels == {}
    # As a message to another domain, which the archive has as one that was sent.
    carried = CarriedWrapper(wrapped(joins, network[BANK].author), None)
    keep_sent_nlweb(
        bank.archive, SHOP, SUBJECT, write_channel_body(carried, record), at_ms=record.clock, token="1", correlation="2"
    )
    bank.chats.refresh()
    assert bank.chats.memory.channels == {}
    network.domain(BANK).office.deliver(BANK, SUBJECT, write_channel_body(carried, record))
    bank.pull()
    bank.chats.refresh()
    assert bank.chats.memory.channels == {"tea": record}


# --- dm3 names ----------------------------------------------------------------------------------------------------
def test_who_could_not_send_as_a_domain_is_not_only_one(network: DomainNetwork) -> None:
    name = "nina.eth"
    nina = network.people[name] = DomainPerson(network, name, UserKeys.random(), Service(network, name))
    network.services[f"ds-{name}"] = nina.service
    nina.office.error = RefusedError("no sender", reason="NotASender")
    nina.device().chats.name_device(str(uuid4()), "laptop")
    network.publish_service(name, f"https://ds-{name}")
    nina.publish()
    network.tick(3_600_000)
    nina.device().send(BOB, "hello")
    network.registry.away = {name}
    network.tick(3_600_000)
    assert nina.device().send(BOB, "hello again").deliveries[0].to == BOB


def test_who_is_only_a_domain_is_refused_before_anything_is_stored_for_a_dm3_name(
    network: DomainNetwork, shop: Device, bank: Device
) -> None:
    network.introduce(SHOP, BANK)
    before = network[SHOP].home.containers()
    for action in (
        lambda: shop.send(ALICE, "hello"),
        lambda: shop.chats.join("tea", [TO_BANK, ALICE]),
        lambda: shop.chats.add_contact(ALICE),
        lambda: shop.chats.create_group("Lunch", [ALICE, BOB]),
        lambda: network.device(CAFE).send(ALICE, "the first message of all"),
    ):
        with pytest.raises(ChatError, match=r"\.example has no dm3 profile, so nobody at a dm3 name .*: alice\.eth"):
            action()
    assert network[SHOP].home.containers() == before
    assert network[CAFE].home.containers() == {}


def test_in_a_group_of_a_domain_members_at_dm3_names_are_not_reached(
    network: DomainNetwork, shop: Device, bank: Device
) -> None:
    network.introduce(SHOP, BANK)
    alice, bob = network[ALICE].key, network[BOB].key
    created = shop.chats.create_group("Lunch", [TO_BANK, ALICE])
    assert ([it.to for it in created.deliveries], created.unreached) == ([TO_BANK], (alice,))
    assert shop.chats.add_members("Lunch", [BOB]).unreached == (alice, bob)
    sent = shop.send("Lunch", "noon?")
    assert ([it.to for it in sent.deliveries], {*sent.unreached}) == ([TO_BANK], {alice, bob})
    assert shop.unsent() == []
    view = shop.chats.view()
    [chat] = view.groups()
    [state] = find_undelivered(shop.chats.memory, chat, view.messages(chat.ref)).values()
    assert {*state.unreached} == {alice, bob}


def test_a_domain_with_a_dm3_profile_writes_to_both(network: DomainNetwork, shop: Device, bank: Device) -> None:
    network.introduce(SHOP, BANK)
    shop.send(TO_BANK, "over NLWeb")
    network.add(SHOP, network[SHOP].keys)
    network.tick(3_600_000)
    assert shop.send(ALICE, "over dm3").deliveries == (SentTo(ALICE, SendOutcome.TAKEN),)


def test_who_has_written_to_dm3_names_is_not_looked_up_again(network: DomainNetwork) -> None:
    device = network.device(ALICE)
    for expected in ([ALICE], []):
        network.tick(3_600_000)
        network.registry.lookups.clear()
        assert TargetFinder(device.chats.memory, network.profiles, ALICE).reaches(BOB)
        assert network.registry.lookups == expected
        device.send(BOB, "hello")


def test_a_member_of_a_domains_group_is_reached_at_a_domain_before_a_dm3_name(
    network: DomainNetwork, shop: Device, bank: Device
) -> None:
    network.introduce(SHOP, BANK)
    shop.chats.create_group("Lunch", [TO_BANK])
    network.add(BANK, network[BANK].keys)
    network.tick(3_600_000)
    shop.chats.memory.said[bank.chats.own] = {BANK}
    assert shop.chats.find("Lunch").receivers == (TO_BANK,)


def test_contacts_of_who_has_no_dm3_profile_any_more_get_nothing(network: DomainNetwork, shop: Device) -> None:
    network.introduce(SHOP, BANK)
    network.add(SHOP, network[SHOP].keys)
    network.tick(3_600_000)
    shop.chats.add_contact(ALICE)
    network.registry.put(SHOP, PROFILE_KEY, "")
    network.tick(49 * 3_600_000)
    shop.chats.refresh()
    assert [*shop.chats.update_contacts()] == []


def test_who_cannot_be_looked_up_is_not_refused(network: DomainNetwork) -> None:
    network.registry.away = {ALICE}
    assert len(network.device(ALICE).send(BOB, "hello").deliveries) == 1


# --- the outbox ---------------------------------------------------------------------------------------------------
def test_without_a_post_office_nothing_is_stored(network: DomainNetwork, shop: Device, bank: Device) -> None:
    network.introduce(SHOP, BANK)
    chats = Person.device(network[SHOP]).chats
    before = network[SHOP].home.containers()
    with pytest.raises(NoOutboxError, match="add --at URL"):
        chats.send(TO_BANK, "hello")
    assert network[SHOP].home.containers() == before


@pytest.mark.parametrize(
    "error",
    [
        UnavailableError("down", reason="StoreUnavailable"),
        RefusedError("no key", reason="NotASender"),
        RefusedError("not the owner", reason="NotTheOwner"),
    ],
    ids=lambda error: error.reason,
)
def test_what_the_post_office_does_not_accept_now_is_sent_again(
    network: DomainNetwork, shop: Device, bank: Device, error: RefusedError | UnavailableError
) -> None:
    network.introduce(SHOP, BANK)
    network.domain(SHOP).office.error = error
    sent = shop.send(TO_BANK, "hello")
    assert sent.deliveries == (SentTo(TO_BANK, SendOutcome.NOT_NOW, error.reason, error.detail),)
    assert shop.texts(TO_BANK) == ["hello"]
    network.domain(SHOP).office.error = None
    _, deliveries = shop.pull()
    assert {it.outcome for it in deliveries} == {SendOutcome.TAKEN}
    assert shop.unsent() == []
    bank.pull()
    assert bank.texts(TO_SHOP) == ["hello"]


def test_an_answer_that_is_lost_sends_nothing_twice(network: DomainNetwork, shop: Device, bank: Device) -> None:
    network.introduce(SHOP, BANK)
    network.domain(SHOP).office.loses_answers = 2
    shop.send(TO_BANK, "hello")
    shop.pull()
    assert len(network[BANK].service.waiting) == 2, "a message, and an identity"
    bank.pull()
    assert bank.texts(TO_SHOP) == shop.texts(TO_BANK) == ["hello"]


def test_what_the_post_office_refuses_stays_with_the_reason(network: DomainNetwork, shop: Device) -> None:
    network.introduce(SHOP, BANK)
    network.domain(SHOP).office.error = RefusedError("too large", reason="TooLarge")
    sent = shop.send(TO_BANK, "hello")
    assert sent.deliveries == (SentTo(TO_BANK, SendOutcome.REFUSED, "TooLarge", "too large"),)
    network.domain(SHOP).office.error = None
    assert shop.pull()[1] == []
    assert shop.unsent() == [f"{TO_BANK}: TooLarge"] * 2
    assert network[BANK].service.waiting == []


def test_what_the_receiver_has_refused_by_the_time_of_a_repetition_is_not_sent_again(
    network: DomainNetwork, shop: Device
) -> None:
    network.introduce(SHOP, BANK)
    office = network.domain(SHOP).office
    office.loses_answers = 2
    shop.send(TO_BANK, "hello")
    office.state = State.REFUSED
    _, deliveries = shop.pull()
    assert {(it.outcome, it.reason) for it in deliveries} == {(SendOutcome.REFUSED, "UnexpectedSubject")}
    assert shop.unsent() == [f"{TO_BANK}: UnexpectedSubject"] * 2
    [refused, _] = [message for messages in shop.chats.memory.unsent.values() for message in messages]
    assert isinstance(refused, UnsentToDomain)
    assert refused.correlation, "so that it is not looked for any more"


@pytest.mark.parametrize("signed", [True, False], ids=["signed", "unsigned"])
def test_nobody_else_can_say_that_the_owner_sent_a_message(network: DomainNetwork, bank: Device, signed: bool) -> None:
    """Not even the post office, with a receipt of its own: what the owner sends is signed."""
    message = sending.text_message(to(bank.chats.own), network.tick(), network.now_ms, "not mine")
    # In Bank's mailbox, there is a message by Bank's domain to Shop.
    network.domain(BANK).bring(SHOP, message, STRANGER, signed=signed)
    [forged] = network[SHOP].service.waiting
    receipt = {"protocol": "nlweb", "sent": True}
    network[BANK].service.waiting = [Waiting(forged.id, SHOP, forged.received_at, forged.envelope, receipt)]
    bank.pull()
    bank.chats.refresh()
    assert bank.chats.chats() == []
    [kept] = bank.archive.open(SHOP)
    assert isinstance(kept, Received)
    assert "sent" not in kept.receipt
    # Whatever else wrote it into the archive.
    bank.archive.merge(SHOP, [replace(kept, id="another", receipt='{"protocol": "nlweb", "sent": true}')])
    bank.chats.refresh()
    assert bank.chats.chats() == []
    reason = "AuthorNotCarrier" if signed else "AuthorUnknown"
    assert [str(it.error.reason) for it in bank.chats.memory.discarded] == [reason]


def test_a_message_in_the_conversation_of_another_domain_is_no_chat(network: DomainNetwork, bank: Device) -> None:
    said_by(network, STRANGER, "hello")
    [waiting] = network[BANK].service.waiting
    waiting.partner = EVE
    bank.pull()
    assert (bank.chats.chats(), bank.chats.memory.discarded) == ([], [])
    assert len(bank.archive.open(EVE)) == 1


def test_what_somebody_else_writes_for_ones_own_domain_is_marked(network: DomainNetwork, bank: Device) -> None:
    said_by(network, STRANGER, "hello", domain=BANK)
    bank.pull()
    assert texts(bank, STRANGER.public) == [("hello", True)]
    assert bank.chats.memory.domains == {}


def test_a_wallet_is_no_domain_and_stands_in_nobodys_way(network: DomainNetwork, bank: Device) -> None:
    """A wallet may send NLWeb messages, too: nothing can be sent to it."""
    wallet, at_ms = str(UUID(int=7)), network.tick()
    message = sending.text_message(to(bank.chats.own), at_ms, at_ms, "hi")
    _bring_from_wallet(network, wallet, message)
    group = create_group(str(UUID(int=8)), STRANGER, network.tick(), "tea", [bank.chats.own])
    _bring_from_wallet(network, wallet, group_update(group))
    bank.pull()
    bank.chats.refresh()
    assert wallet not in bank.chats.memory.domains
    assert texts(bank, STRANGER.public) == [("hi", True)]
    assert bank.chats.find("tea").unreached == (STRANGER.public,)
    bank.chats.leave_group("tea")
    with pytest.raises(ChatError):
        bank.chats.find(wallet)


def _bring_from_wallet(network: DomainNetwork, wallet: str, message: StatusMessage) -> None:
    now_ms, key = network.tick(), PrivateKey.generate("ed25519")
    body = write_body(CarriedWrapper(wrapped(message, STRANGER), None))
    draft = Draft(wallet, BANK, SUBJECT, str(uuid4()), now_ms, body, selector="pk1")
    envelope = write(sign(draft, key)).decode()
    receipt = {"protocol": "nlweb", "key_fingerprint": key.public.fingerprint}
    waiting = Waiting(f"wallet-{now_ms}", wallet, datetime.fromtimestamp(now_ms / 1000, UTC), envelope, receipt)
    network[BANK].service.waiting.append(waiting)


def test_a_key_is_reached_at_the_domain_that_had_it_first(network: DomainNetwork, shop: Device, bank: Device) -> None:
    shop.chats.trust(BANK, bank.chats.own)
    shop.pull()
    shop.send(TO_BANK, "hello")
    [kept, *_] = [entry for entry in shop.archive.open(BANK) if isinstance(entry, Received)]
    bank.pull()
    network.domain(EVE).office.deliver(BANK, SUBJECT, read_content(kept).body)
    bank.pull()
    bank.chats.refresh()
    assert bank.chats.memory.addresses_of(shop.chats.own) == [TO_SHOP, address_of(EVE)]


def test_nothing_is_stored_if_the_outbox_cannot_be_used(network: DomainNetwork, shop: Device, bank: Device) -> None:
    def broken() -> Outbox:
        raise UntrustedHostError("another host answers")

    bank.chats.trust(SHOP, shop.chats.own)
    bank.pull()
    bank.chats.send_through(broken)
    with pytest.raises(UntrustedHostError):
        bank.send(TO_SHOP, "hello")
    assert bank.unsent() == []


def test_an_outbox_that_cannot_be_used_is_tried_again(network: DomainNetwork, shop: Device, bank: Device) -> None:
    bank.chats.trust(SHOP, shop.chats.own)
    bank.pull()
    network.domain(BANK).office.error = UnavailableError("down")
    bank.send(TO_SHOP, "hello")
    network.domain(BANK).office.error = UnexpectedAnswerError("no mailbox")
    assert {each.outcome for each in bank.chats.deliver_unsent()} == {SendOutcome.NOT_NOW}
    assert set(bank.unsent()) == {TO_SHOP}


def test_a_post_office_cannot_say_that_a_message_was_sent_by_its_owner(network: DomainNetwork, bank: Device) -> None:
    now_ms, key = network.tick(), PrivateKey.generate("ed25519")
    draft = Draft(BANK, SHOP, "Offer@Host", str(uuid4()), now_ms, {"Text": "I owe you a million"}, selector="pk1")
    receipt = {"protocol": "nlweb", "key_fingerprint": key.public.fingerprint, "sent": True}
    at = datetime.fromtimestamp(now_ms / 1000, UTC)
    network[BANK].service.waiting.append(Waiting("id1", SHOP, at, write(sign(draft, key)).decode(), receipt))
    bank.pull()
    [entry] = bank.archive.open(SHOP)
    assert isinstance(entry, Received)
    assert not is_sent(entry)


def test_ones_own_domain_is_trusted_without_saying_so(network: DomainNetwork, bank: Device) -> None:
    with pytest.raises(ChatError, match="your own domain"):
        bank.chats.trust(BANK, network[SHOP].key)


def test_who_is_alone_in_a_group_tells_the_own_devices(network: DomainNetwork, shop: Device, bank: Device) -> None:
    network.introduce(SHOP, BANK)
    bank.chats.create_group("tea", [TO_SHOP])
    shop.pull()
    shop.chats.leave_group("tea")
    bank.pull()
    sent = bank.chats.rename_group("tea", "alone")
    assert [(each.to, each.outcome) for each in sent.deliveries] == [(TO_BANK, SendOutcome.TAKEN)]


def test_what_devices_say_to_each_other_waits_until_it_is_known_where_they_are(network: DomainNetwork) -> None:
    bank = network.device(BANK)
    network.registry.down = True
    with pytest.raises(NotNowError):
        bank.chats.trust(SHOP, network[SHOP].key)
    assert bank.unsent() == []


# --- a domain that has a dm3 profile, too ---------------------------------------------------------------------------
@pytest.fixture
def both(network: DomainNetwork) -> Device:
    """shop.example, which has a dm3 profile and a delivery service, too."""
    network.services[f"ds-{SHOP}"] = network[SHOP].service
    network.publish_service(SHOP, f"https://ds-{SHOP}")
    network[SHOP].publish()
    return network.device(SHOP)


def test_a_relay_passes_messages_on_to_names_and_to_domains_once(network: DomainNetwork, both: Device) -> None:
    both.chats.join("tea", [CAROL, TO_BANK], relays=True)
    alice = network.device(ALICE)
    alice.chats.join("tea", [SHOP])
    sent = alice.send("#tea", "hello")
    _, deliveries = both.pull()
    assert [(it.to, it.outcome) for it in deliveries] == [
        (CAROL, SendOutcome.TAKEN), (TO_BANK, SendOutcome.TAKEN),
    ]  # fmt: skip
    assert both.pull()[1] == both.pull()[1] == []
    assert both.unsent() == []
    for name in (BANK, CAROL):
        device = network.device(name)
        device.pull()
        assert [fact.id for fact in device.chats.memory.log.messages(ChatRef(ChatKind.PUBLIC_GROUP, "tea"))] == [
            sent.id
        ]


def test_a_relay_passes_a_message_on_to_a_domain_once_although_its_post_office_is_away(
    network: DomainNetwork, both: Device
) -> None:
    both.chats.join("tea", [TO_BANK], relays=True)
    alice = network.device(ALICE)
    alice.chats.join("tea", [SHOP])
    alice.send("#tea", "hello")
    network.domain(SHOP).office.error = UnavailableError("down")
    for _ in range(2):
        both.pull()
    assert both.unsent() == [TO_BANK]


def test_the_names_of_domains_are_sent_to_no_other_member(network: DomainNetwork, both: Device) -> None:
    """Whoever got one would write to the domain, whatever key it has."""
    both.chats.trust(BANK, network[BANK].key)
    both.chats.create_group("Lunch", [TO_BANK, BOB])
    bob = network.device(BOB)
    bob.pull()
    [update] = [entry for entry in bob.archive.open(SHOP) if isinstance(entry, StoredEnvelope)]
    sent = b"".join(decode_base64(each.data.partition(",")[2]) for each in update.message.attachments or ())
    assert f'"{network[BOB].key}":"{BOB}"'.encode() in sent
    assert TO_BANK.encode() not in sent
    assert network[BANK].key not in bob.chats.memory.said
    assert bob.chats.find("Lunch").unreached == (network[BANK].key,)
