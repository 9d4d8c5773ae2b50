"""IDs of chats: 6/PAYLOADS, Chats; decision "Chats"."""

import pytest
from tests.protocols.status.known import ALICE, BOB, GROUP, ID, OFF_THE_CURVE, STATUS, refused

from postroom.protocols.status.chats import check_chat, creator_of, group_id, is_channel
from postroom.protocols.status.enums import ChatKind
from postroom.protocols.status.reasons import CHAT_INVALID

UUID = "6f9619ff-8b86-4d01-b42d-00cf4fc964ff"

CHANNELS = ["status", "a", "-", "0", "0x04", "a-b-c", "x" * 255, BOB.public[:-1], BOB.public + "0"]
NO_CHANNELS = [
    *("", "Status", "a b", "status\n", "#status", "a_b", "a.b", "ä", "x" * 256, "\0", "\u202e", "a\u200bb", "ａ", "٣"),
    *(BOB.public, OFF_THE_CURVE, ID),
]
NO_GROUPS = {
    "nothing": "",
    "a key": ALICE.public,
    "a UUID": UUID,
    "no hyphen between": f"{UUID}{ALICE.public}",
    "a UUID without its hyphens": f"{UUID.replace('-', '')}-{ALICE.public}",
    "a UUID without one hyphen": f"{UUID.replace('-', '', 1)}-{ALICE.public}",
    "capitals in the UUID": f"{UUID.upper()}-{ALICE.public}",
    "capitals in the key": f"{UUID}-0x{ALICE.public[2:].upper()}",
    "a key without its 0x": f"{UUID}-{ALICE.public[2:]}",
    "a compressed key": f"{UUID}-0x02{ALICE.public[4:68]}",
    "a point that is not on the curve": f"{UUID}-{OFF_THE_CURVE}",
    "something behind": f"{GROUP}0",
    "a line break behind": f"{GROUP}\n",
    "something in front": f" {GROUP}",
    "other digits": f"{UUID[:-1]}٣-{ALICE.public}",
    "two keys": f"{GROUP}-{BOB.public}",
}


@pytest.mark.parametrize("name", CHANNELS)
def test_a_channel_has_lower_case_letters_digits_and_hyphens(name: str) -> None:
    assert is_channel(name)
    check_chat(ChatKind.PUBLIC_GROUP, name)


@pytest.mark.parametrize("name", NO_CHANNELS)
def test_what_is_no_channel(name: str) -> None:
    assert not is_channel(name)
    refused(lambda: check_chat(ChatKind.PUBLIC_GROUP, name), CHAT_INVALID)


@pytest.mark.parametrize("uuid", [UUID, "00000000-0000-0000-0000-000000000000", "ffffffff-ffff-1fff-ffff-ffffffffffff"])
def test_a_group_is_a_uuid_of_any_version_and_its_creators_key(uuid: str) -> None:
    group = group_id(uuid, ALICE.public)
    assert group == f"{uuid}-{ALICE.public}"
    assert creator_of(group) == ALICE.public
    check_chat(ChatKind.PRIVATE_GROUP, group)


def test_the_known_group() -> None:
    assert group_id(UUID, ALICE.public) == STATUS["group_chat_id"]


@pytest.mark.parametrize("group", NO_GROUPS.values(), ids=NO_GROUPS)
def test_what_is_no_group(group: str) -> None:
    refused(lambda: creator_of(group), CHAT_INVALID)
    refused(lambda: check_chat(ChatKind.PRIVATE_GROUP, group), CHAT_INVALID)


@pytest.mark.parametrize("uuid", ["", UUID.upper(), "x"])
def test_no_other_group_is_made(uuid: str) -> None:
    refused(lambda: group_id(uuid, ALICE.public), CHAT_INVALID)


@pytest.mark.parametrize("text", ["", "anything", OFF_THE_CURVE, "\ud800"])
def test_the_id_of_a_chat_of_two_is_not_used(text: str) -> None:
    check_chat(ChatKind.ONE_TO_ONE, text)


@pytest.mark.parametrize("kind", [0, 4, 5, 6, 99, -1, (1 << 31) - 1])
def test_there_are_no_other_kinds_of_chat(kind: int) -> None:
    refused(lambda: check_chat(kind, "status"), CHAT_INVALID)
