"""What the terminal client reads of chats with NLWeb domains."""

from tests.client.chat.domain_network import BANK, EVE, SHOP, DomainNetwork

from postroom.cli.chat.terminal_client.rows import waiting_in_words
from postroom.cli.chat.terminal_client.snapshot import read_snapshot
from postroom.client.mailbox import UnavailableError


def test_a_chat_with_a_domain_has_its_name_and_is_answered_there() -> None:
    network = DomainNetwork()
    network.introduce(SHOP, BANK)
    network.device(SHOP).send(f"nlweb:{BANK}", "hello")
    bank = network.device(BANK)
    bank.pull()
    # What others say of a key is no reason to write elsewhere.
    bank.chats.refresh()
    bank.chats.memory.said[network[SHOP].key] = {EVE}
    [listed] = read_snapshot(bank.chats).chats
    assert (listed.title, listed.to) == (f"nlweb:{SHOP}", f"nlweb:{SHOP}")


def test_a_message_waits_for_the_post_office() -> None:
    network = DomainNetwork()
    network.introduce(SHOP, BANK)
    network.domain(SHOP).office.error = UnavailableError("down")
    shop = network.device(SHOP)
    sent = shop.send(f"nlweb:{BANK}", "hello")
    shop.chats.refresh()
    snapshot = read_snapshot(shop.chats)
    assert waiting_in_words(snapshot.chats[0].undelivered[sent.id]) == f"waits for nlweb:{BANK}"
    assert snapshot.waiting == len(shop.unsent())
