import pytest
from tests.aws import Deployed

from postroom.net.aws_errors import ConditionFailedError
from postroom.storage.aws.attributes import ABSENT, PRESENT, TTL, Item, Number, Text, item, primary_key
from postroom.storage.aws.table import DynamoTable

WHO, TO, TRIES = Text("who"), Text("to"), Number("tries")
ROW: Item = primary_key("a") | item(WHO.of("first"), TO.of("b"), TTL.of(7))
OTHER: Item = primary_key("a") | item(WHO.of("second"))


@pytest.fixture
def table(deployed: Deployed) -> DynamoTable:
    return DynamoTable(deployed.clients.dynamodb, deployed.tables["LimitsTable"])


def test_the_second_put_of_an_absent_row_gets_the_stored_row(table: DynamoTable) -> None:
    assert table.put(ROW, ABSENT) is None
    assert table.put(OTHER, ABSENT) == ROW
    assert table.get(primary_key("a")) == ROW


def test_a_row_is_replaced_if_the_condition_holds_or_it_is_absent(table: DynamoTable) -> None:
    assert table.put(ROW) is None
    over = f"{TTL} < :now AND {TO} = :to"
    assert table.put(OTHER, over, {":now": TTL.encode(7), ":to": TO.encode("b")}) == ROW
    assert table.put(OTHER, over, {":now": TTL.encode(8), ":to": TO.encode("b")}) is None
    assert table.put(ROW) is None
    assert table.get(primary_key("a")) == ROW


def test_a_row_that_is_absent_is_none(table: DynamoTable) -> None:
    assert table.get(primary_key("a")) is None


def test_an_update_says_whether_it_was_made(table: DynamoTable) -> None:
    change, values = f"SET {TO} = :to", {":to": TO.encode("c")}
    assert not table.update(primary_key("a"), change, values, PRESENT)
    assert table.get(primary_key("a")) is None
    assert table.update(primary_key("a"), change, values)
    assert table.update(primary_key("a"), f"REMOVE {TO}", condition=PRESENT)
    assert table.get(primary_key("a")) == primary_key("a")


def test_a_change_returns_the_new_values_or_the_stored_row(table: DynamoTable) -> None:
    add, one = f"ADD {TRIES} :one", {":one": TRIES.encode(1)}
    with pytest.raises(ConditionFailedError) as absent:
        table.change(primary_key("a"), add, one, PRESENT)
    assert absent.value.item == {}
    table.put(ROW)
    changed = table.change(primary_key("a"), f"{add} REMOVE {TTL}", one, PRESENT, returned="UPDATED_OLD")
    assert TTL.read(changed) == 7
    assert TRIES.read(table.change(primary_key("a"), add, one, returned="ALL_NEW")) == 2
    with pytest.raises(ConditionFailedError) as standing:
        table.change(primary_key("a"), add, one, ABSENT)
    assert TRIES.read(standing.value.item) == 2


def test_a_change_may_name_an_attribute_by_a_name_that_no_expression_holds(table: DynamoTable) -> None:
    row = table.change(
        primary_key("a"),
        f"ADD #one :one SET {TTL} = :ttl",
        {":one": Number("w#Gone").encode(1), ":ttl": TTL.encode(7)},
        returned="ALL_NEW",
        names={"#one": "w#Gone"},
    )
    assert (Number("w#Gone").read(row), TTL.read(row)) == (1, 7)


def test_a_deletion_says_whether_it_was_made(table: DynamoTable) -> None:
    table.put(ROW)
    assert not table.delete(primary_key("a"), f"{TO} = :to", {":to": TO.encode("c")})
    assert table.delete(primary_key("a"), f"{TO} = :to", {":to": TO.encode("b")})
    assert table.get(primary_key("a")) is None
    # What nobody asks a condition of is not there afterwards, whether it was before or not.
    assert table.delete(primary_key("a"))


def test_the_rows_of_a_partition_come_in_order_from_all_pages(deployed: Deployed) -> None:
    table = DynamoTable(deployed.clients.dynamodb, deployed.tables["DirectoryTable"])
    long = "x" * 300_000
    keys = [primary_key("a", sk) for sk in ("t#1", "t#2", "t#3", "t#4", "t#5", "u#1")]
    for key in reversed([*keys, primary_key("b", "t#1")]):
        table.put(key | item(WHO.of(long)))
    assert [primary_key("a", row["sk"]["S"]) for row in table.rows("a")] == keys
    assert [primary_key("a", row["sk"]["S"]) for row in table.rows("a", "t#")] == keys[:-1]
    assert len(list(table.scan())) == 7
