import re
from collections.abc import Mapping
from importlib import import_module
from pkgutil import walk_packages

import pytest
from hypothesis import given
from hypothesis import strategies as st
from moto.dynamodb.parsing.reserved_keywords import ReservedKeywords
from tests.aws import Deployed

import postroom.storage
from postroom.core.errors import OurError
from postroom.storage.aws.attributes import (
    PK,
    RESERVED,
    SK,
    TTL,
    Attribute,
    Flag,
    Item,
    MalformedRowError,
    Map,
    Maps,
    Number,
    Text,
    item,
    primary_key,
)

TEXT, NUMBER, FLAG, MAP, MAPS = Text("text"), Number("number"), Flag("flag"), Map("map"), Maps("maps")
WHOLE = st.integers(-(10**37), 10**37)


@given(text=st.text(), number=WHOLE, flag=st.booleans(), inner=st.text(), each=st.lists(WHOLE))
def test_an_encoded_row_is_read_again(text: str, number: int, flag: bool, inner: str, each: list[int]) -> None:
    row = item(
        TEXT.of(text),
        NUMBER.of(number),
        FLAG.of(flag),
        MAP.of(item(TEXT.of(inner))),
        MAPS.of(item(NUMBER.of(one)) for one in each),
    )
    assert (TEXT.read(row), NUMBER.read(row), FLAG.read(row)) == (text, number, flag)
    assert TEXT.read(MAP.read(row)) == inner
    assert [NUMBER.read(one) for one in MAPS.read(row)] == each


def test_values_are_encoded_as_dynamodb_writes_them() -> None:
    assert item(
        TEXT.of("a"), NUMBER.of(-7), FLAG.of(False), MAP.of(item(TEXT.of(""))), MAPS.of([item(NUMBER.of(0))])
    ) == {
        "text": {"S": "a"},
        "number": {"N": "-7"},
        "flag": {"BOOL": False},
        "map": {"M": {"text": {"S": ""}}},
        "maps": {"L": [{"M": {"number": {"N": "0"}}}]},
    }


def test_a_key_has_a_sort_key_if_its_table_has_one() -> None:
    assert primary_key("a") == {"pk": {"S": "a"}}
    assert primary_key("a", "b") == {"pk": {"S": "a"}, "sk": {"S": "b"}}
    assert primary_key("a", "") == {"pk": {"S": "a"}, "sk": {"S": ""}}


def test_numbers_that_dynamodb_returns_are_read(deployed: Deployed) -> None:
    row = primary_key("a") | item(TEXT.of("é"), NUMBER.of(10**20), FLAG.of(True), MAPS.of([item(NUMBER.of(3))]))
    deployed.clients.dynamodb.put_item(TableName=deployed.tables["LimitsTable"], Item=row)
    [found] = deployed.rows("LimitsTable")
    assert (TEXT.read(found), NUMBER.read(found), FLAG.read(found)) == ("é", 10**20, True)
    assert [NUMBER.read(each) for each in MAPS.read(found)] == [3]


@pytest.mark.parametrize(
    ("attribute", "row", "found"),
    [
        (TEXT, {}, "missing"),
        (TEXT, {"text": {"N": "1"}}, "N"),
        (NUMBER, {"number": {"S": "1"}}, "S"),
        (NUMBER, {"number": {"N": "1.5"}}, "N"),
        (FLAG, {"flag": {"NULL": True}}, "NULL"),
        (MAP, {"map": {"L": []}}, "L"),
        (MAPS, {"maps": {"M": {}}}, "M"),
        (MAPS, {"maps": {"L": [{"S": "a"}]}}, "L"),
    ],
)
def test_an_attribute_of_another_shape_is_named_without_its_value(
    attribute: Attribute[object], row: Item, found: str
) -> None:
    with pytest.raises(
        MalformedRowError, match=rf"^attribute {attribute.name} of a row must be .*, and is {found}$"
    ) as error:
        attribute.read(row)
    assert isinstance(error.value, OurError)


def test_an_optional_attribute_is_none_if_absent_and_malformed_in_another_shape() -> None:
    assert TTL.find({}) is None
    assert TTL.find({"ttl": {"N": "0"}}) == 0
    with pytest.raises(MalformedRowError):
        TTL.find({"ttl": {"S": "0"}})
    assert not TTL.is_in({})
    assert TTL.is_in({"ttl": {"S": "0"}})


def declared() -> Mapping[str, Attribute[object]]:
    """All attributes that modules of `storage` declare, by module and name there."""
    names = [module.name for module in walk_packages(postroom.storage.__path__, "postroom.storage.")]
    return {
        f"{name}.{constant}": value
        for name in names
        for constant, value in vars(import_module(name)).items()
        if isinstance(value, Attribute)
    }


def test_expressions_use_placeholders_for_names_that_dynamodb_reserves() -> None:
    reserved = {word.lower() for word in ReservedKeywords.get_reserved_keywords()}
    used = {attribute.name for attribute in declared().values()}
    assert len(used) > 50
    assert used & reserved == RESERVED
    assert (str(TTL), str(PK), str(SK)) == ("#ttl", "pk", "sk")


def test_names_of_attributes_need_no_quoting_in_expressions() -> None:
    assert not [attribute.name for attribute in declared().values() if not re.fullmatch("[a-z][a-z_]*", attribute.name)]
