"""The order of registries: which is used for a name, and what no order goes past."""

import pytest
from tests.fakes.names import FakeRegistry

from postroom.core.errors import NotNowError, SettingsError, TheirError
from postroom.names.registries import Registries, parse_order
from postroom.names.registry import PROFILE_KEY, SERVICE_KEY, RegistryText
from postroom.protocols.dm3.reasons import PROFILE_INVALID, PROFILE_LOOKUP_FAILED


class Refusing:
    """A registry in which what is published at any name is wrong."""

    def text(self, name: str, key: str, *, fresh: bool = False) -> RegistryText:
        raise TheirError(PROFILE_INVALID, f"{name} {key} {fresh}")


def test_the_first_registry_that_a_name_is_in_says_its_text() -> None:
    first, second = FakeRegistry({"a.eth": {PROFILE_KEY: "1"}}), FakeRegistry({"b.eth": {PROFILE_KEY: "2"}})
    both = Registries([lambda: first, lambda: second])
    assert [both.text(name, PROFILE_KEY).value for name in ("a.eth", "b.eth", "c.eth")] == ["1", "2", None]
    assert second.lookups == ["b.eth", "c.eth"]


def test_a_name_with_only_one_of_its_texts_is_looked_up_nowhere_else_for_the_other() -> None:
    first, second = FakeRegistry({"a.eth": {PROFILE_KEY: "1"}}), FakeRegistry({"a.eth": {SERVICE_KEY: "2"}})
    assert not Registries([lambda: first, lambda: second]).text("a.eth", SERVICE_KEY).value
    assert second.lookups == []


def test_what_could_not_be_found_out_is_not_looked_up_in_the_next_registry() -> None:
    first, second = FakeRegistry(None, "a.eth"), FakeRegistry({"a.eth": {PROFILE_KEY: "2"}})
    with pytest.raises(NotNowError) as caught:
        Registries([lambda: first, lambda: second]).text("a.eth", PROFILE_KEY)
    assert (caught.value.reason, second.lookups) == (PROFILE_LOOKUP_FAILED, [])


def test_what_is_wrong_in_a_registry_is_not_looked_up_in_the_next_one() -> None:
    second = FakeRegistry({"a.eth": {PROFILE_KEY: "2"}})
    with pytest.raises(TheirError, match=f"a.eth {PROFILE_KEY} True"):
        Registries([Refusing, lambda: second]).text("a.eth", PROFILE_KEY, fresh=True)
    assert second.lookups == []


def test_a_registry_is_made_by_the_first_look_up_that_needs_it() -> None:
    made: list[str] = []
    first, second = FakeRegistry({"a.eth": {PROFILE_KEY: "1"}}), FakeRegistry()

    def make_second() -> FakeRegistry:
        made.append("second")
        return second

    both = Registries([lambda: first, make_second])
    both.text("a.eth", PROFILE_KEY)
    assert made == []
    for name in ("b.eth", "a.eth", "c.eth"):
        both.text(name, PROFILE_KEY)
    assert made == ["second"]


@pytest.mark.parametrize(
    ("text", "order"),
    [("pinned,dns,ens", ("pinned", "dns", "ens")), ("ens", ("ens",)), (" dns , ens ", ("dns", "ens"))],
)
def test_an_order_is_read(text: str, order: tuple[str, ...]) -> None:
    assert parse_order(text) == order


@pytest.mark.parametrize(
    "text", ["", ",", "dns,", "DNS", "pinned,pinned", "ens;dns", "pinned dns", "none", "dns,pinned"]
)
def test_another_order_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="some of pinned, dns, ens, each once"):
        parse_order(text)
