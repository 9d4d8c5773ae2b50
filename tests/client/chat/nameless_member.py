"""A member of a group whose name nobody says."""

from tests.client.chat.network import ALICE, Device

from postroom.protocols.status.group_actions import add_members
from postroom.protocols.status.group_updates import group_update
from postroom.protocols.status.keys import ChatKey


def add_without_name(alice: Device, member: ChatKey) -> None:
    """Alice, the admin of her only group, adds a key whose name nobody says."""
    person, log = alice.person, alice.chats.memory.log
    [group] = [log.group(id_) for id_ in log.groups()]
    event = add_members(group, person.author, person.network.tick(), [member])
    person.carry(ALICE, group_update(group, new=[event]))
    alice.pull()
