"""Wrappers that carriers bring: which of several is passed on."""

from tests.client.chat.network import ALICE, ChatNetwork, wrapped

from postroom.client.chat.carried_wrapper import CarriedWrapper, is_canonical
from postroom.protocols.status import sending
from postroom.protocols.status.enums import ChatKind, PayloadType
from postroom.protocols.status.verify import ChatRef

TEXT = sending.text_message(ChatRef(ChatKind.PUBLIC_GROUP, "tea"), 1, 1, "hello")


def test_of_all_wrappers_of_a_signed_payload_one_is_canonical(network: ChatNetwork) -> None:
    author = network[ALICE].author
    wrapper = wrapped(TEXT, author)
    assert is_canonical(CarriedWrapper(wrapper, None))
    assert not is_canonical(CarriedWrapper(wrapped(TEXT, author, typed=False), PayloadType.CHAT_MESSAGE))
    assert not is_canonical(CarriedWrapper(wrapper + bytes([0x48, 1]), None))
    assert not is_canonical(CarriedWrapper(wrapper + wrapper, None))
