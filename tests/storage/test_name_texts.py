"""Texts of names that are kept for all instances."""

import pytest
from tests.aws import Deployed, new_clients

from postroom.storage.limits.name_texts import LOOK_UP_AGAIN_SECONDS, KeptText, NameTexts

NAME, KEY, NOW = "carol.team.eth", "network.dm3.profile", 1_800_000_000.5


@pytest.fixture
def texts(deployed: Deployed) -> NameTexts:
    return NameTexts(new_clients().dynamodb, deployed.tables["LimitsTable"])


@pytest.mark.parametrize("value", ["data:,hello", "", "x" * 65_536, None], ids=["text", "empty", "64 kB", "none"])
def test_what_one_instance_keeps_every_instance_finds_until_its_time_is_over(
    texts: NameTexts, deployed: Deployed, value: str | None
) -> None:
    assert texts.find(NAME, KEY, NOW) is None
    kept = KeptText(value, int(NOW) + 300, '{"registry":"ens"}')
    texts.keep(NAME, KEY, kept)
    others = NameTexts(new_clients().dynamodb, deployed.tables["LimitsTable"])
    assert others.find(NAME, KEY, NOW + 299) == kept
    assert others.find(NAME, KEY, NOW + 300) is None
    assert others.find(NAME, "network.dm3.deliveryService", NOW) is None
    assert others.find("carol.teameth", KEY, NOW) is None


def test_a_newer_text_is_in_place_of_an_older_one(texts: NameTexts) -> None:
    for value in ("data:,one", "data:,two", None):
        texts.keep(NAME, KEY, KeptText(value, int(NOW) + 300, "{}"))
    assert texts.find(NAME, KEY, NOW) == KeptText(None, int(NOW) + 300, "{}")


def test_one_instance_looks_a_name_up_in_a_minute(texts: NameTexts) -> None:
    assert texts.begin_look_up(NAME, KEY, NOW)
    assert not texts.begin_look_up(NAME, KEY, NOW + LOOK_UP_AGAIN_SECONDS - 1)
    assert texts.begin_look_up("dan.eth", KEY, NOW)
    assert texts.begin_look_up(NAME, KEY, NOW + LOOK_UP_AGAIN_SECONDS)


def test_no_row_has_a_name(texts: NameTexts, deployed: Deployed) -> None:
    texts.begin_look_up(NAME, KEY, NOW)
    texts.keep(NAME, KEY, KeptText("data:,hello", int(NOW) + 300, "{}"))
    rows = new_clients().dynamodb.scan(TableName=deployed.tables["LimitsTable"])["Items"]
    assert len(rows) == 2
    assert "carol" not in str(rows)
