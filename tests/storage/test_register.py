import pytest
from tests.aws import Deployed

from postroom.core.errors import OurError
from postroom.core.reasons import TOO_LATE
from postroom.protocols.nlweb.reasons import KEY_REVOKED
from postroom.storage.aws.object_store import Place
from postroom.storage.layout import RowKey
from postroom.storage.mail.register import ACKED, FORWARDED, OVER, Register, Row

KEY = RowKey("a.com#0", "m#0000000001000#one")
HERE, ELSEWHERE = Place("seg/one", 0, 10), Place("seg/two", 7, 20)


@pytest.fixture
def register(deployed: Deployed) -> Register:
    return deployed.storage.register


def test_an_absent_row_becomes_live_when_its_message_is_filed(register: Register) -> None:
    assert register.find(KEY) is None
    assert register.file(KEY, HERE, "b.com") is None
    assert register.find(KEY) == Row(KEY, HERE, "b.com")


def test_a_live_row_refuses_to_be_filed_again_and_stays_where_it_was(register: Register) -> None:
    register.file(KEY, HERE, "b.com")
    assert register.file(KEY, ELSEWHERE, "c.com") == Row(KEY, HERE, "b.com")
    assert register.find(KEY) == Row(KEY, HERE, "b.com")


def test_a_live_row_refuses_to_be_discarded(register: Register) -> None:
    register.file(KEY, HERE, "b.com")
    assert register.discard(KEY, TOO_LATE, 100) == Row(KEY, HERE, "b.com")
    assert register.forwarded(KEY, 100) == Row(KEY, HERE, "b.com")
    assert register.find(KEY) == Row(KEY, HERE, "b.com")


def test_a_live_row_becomes_a_tombstone_when_its_message_is_acknowledged(
    register: Register, deployed: Deployed
) -> None:
    register.file(KEY, HERE, "b.com")
    assert register.acknowledge(KEY, 100)
    assert deployed.rows("PostTable") == [
        {"pk": {"S": KEY.pk}, "sk": {"S": KEY.sk}, "st": {"S": "G"}, "why": {"S": "acked"}, "ttl": {"N": "100"}}
    ]


def test_a_live_row_becomes_a_tombstone_when_its_message_expires(register: Register, deployed: Deployed) -> None:
    assert register.expire(KEY, OVER, 100) == 0, "what is not there does not come to be"
    register.file(KEY, HERE, "b.com")
    assert register.expire(KEY, OVER, 100) == HERE.length
    assert register.expire(KEY, OVER, 200) == 0
    assert register.acknowledge(KEY, 200) == 0
    assert deployed.rows("PostTable") == [
        {"pk": {"S": KEY.pk}, "sk": {"S": KEY.sk}, "st": {"S": "G"}, "why": {"S": "expired"}, "ttl": {"N": "100"}}
    ]


def test_a_row_of_unknown_state_is_neither_live_nor_a_tombstone(register: Register, deployed: Deployed) -> None:
    register.file(KEY, HERE, "b.com")
    [item] = deployed.rows("PostTable")
    deployed.clients.dynamodb.put_item(TableName=deployed.tables["PostTable"], Item={**item, "st": {"S": "X"}})
    for look in (register.find, lambda key: register.file(key, HERE, "b.com")):
        with pytest.raises(OurError, match=rf"row {KEY.pk} {KEY.sk} is in state 'X'"):
            look(KEY)


def test_an_acknowledged_row_never_comes_back(register: Register) -> None:
    register.file(KEY, HERE, "b.com")
    register.acknowledge(KEY, 100)
    assert register.file(KEY, ELSEWHERE, "b.com") == Row(KEY, why=ACKED)
    assert register.discard(KEY, TOO_LATE, 100) == Row(KEY, why=ACKED)
    assert register.forwarded(KEY, 100) == Row(KEY, why=ACKED)
    assert register.find(KEY) == Row(KEY, why=ACKED)


def test_an_absent_row_becomes_a_tombstone_with_the_reason_of_a_discard(register: Register) -> None:
    assert register.discard(KEY, KEY_REVOKED, 100) is None
    row = register.find(KEY)
    assert row is not None
    assert (row.live, row.discarded) == (False, KEY_REVOKED)


def test_a_discarded_row_keeps_its_first_reason_and_is_never_filed(register: Register) -> None:
    register.discard(KEY, KEY_REVOKED, 100)
    stands = Row(KEY, why="discarded:KeyRevoked")
    assert register.discard(KEY, TOO_LATE, 200) == stands
    assert register.file(KEY, HERE, "b.com") == stands
    assert register.forwarded(KEY, 100) == stands
    assert register.find(KEY) == stands


def test_a_forwarded_message_is_a_tombstone_and_no_discard(register: Register) -> None:
    assert register.forwarded(KEY, 100) is None
    assert register.file(KEY, HERE, "b.com") == Row(KEY, why=FORWARDED)
    row = register.find(KEY)
    assert row is not None
    assert row.discarded is None


def test_acknowledging_returns_the_bytes_that_were_freed(register: Register) -> None:
    register.file(KEY, HERE, "b.com")
    assert register.acknowledge(KEY, 100) == HERE.length


def test_acknowledging_an_unknown_id_creates_nothing(register: Register, deployed: Deployed) -> None:
    assert register.acknowledge(KEY, 100) is None
    assert deployed.rows("PostTable") == []


@pytest.mark.parametrize("state", ["acked", "discarded", "forwarded"])
def test_acknowledging_a_tombstone_succeeds_and_changes_nothing(
    register: Register, deployed: Deployed, state: str
) -> None:
    if state == "discarded":
        register.discard(KEY, TOO_LATE, 50)
    elif state == "forwarded":
        register.forwarded(KEY, 50)
    else:
        register.file(KEY, HERE, "b.com")
        register.acknowledge(KEY, 50)
    before = deployed.rows("PostTable")
    assert register.acknowledge(KEY, 100) == 0
    assert deployed.rows("PostTable") == before


def test_a_live_row_takes_less_than_a_kilobyte(register: Register, deployed: Deployed) -> None:
    # Beyond it filing would cost two write units.
    longest = "a" * 253
    key = RowKey(f"{longest}#0", "m#0000000001000#" + "f" * 32)
    place = Place("seg/2026/11/21/09/" + "f" * 32 + ".jsonl", 10**9, 10**7)
    register.file(key, place, longest)
    [item] = deployed.rows("PostTable")
    assert sum(len(name) + len(next(iter(value.values()))) for name, value in item.items()) < 1000
