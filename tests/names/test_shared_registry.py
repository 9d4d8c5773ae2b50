"""A registry behind the texts that all processes share."""

from contextlib import nullcontext

import pytest

from postroom.core.errors import NotNowError
from postroom.core.reasons import STORE_UNAVAILABLE, TOO_MANY_LOOK_UPS
from postroom.names.registry import PROFILE_KEY, MemoryRegistry, RegistryText
from postroom.names.shared_registry import SharedRegistry

NAME = "carol.team.eth"
OWN = MemoryRegistry({NAME: {PROFILE_KEY: "data:,own"}})
SHARED = {NAME: RegistryText("data:,shared", 60, {"registry": "ens"})}


def test_a_shared_text_is_used_and_no_registry() -> None:
    assert SharedRegistry(OWN, lambda name, _: SHARED.get(name)).text(NAME, PROFILE_KEY) == SHARED[NAME]


def test_a_shared_absence_is_one() -> None:
    absent = RegistryText(None, 60, {"registry": "ens"})
    assert SharedRegistry(OWN, lambda *_: absent).text(NAME, PROFILE_KEY) == absent


def test_without_a_shared_text_the_registry_is_used() -> None:
    assert SharedRegistry(OWN, lambda *_: None).text(NAME, PROFILE_KEY).value == "data:,own"


def test_what_must_be_fresh_is_not_shared() -> None:
    registry = SharedRegistry(OWN, lambda name, _: SHARED.get(name))
    assert registry.text(NAME, PROFILE_KEY, fresh=True).value == "data:,own"


def test_if_the_table_is_unavailable_the_registry_is_used() -> None:
    def find(name: str, key: str) -> RegistryText | None:
        raise NotNowError(STORE_UNAVAILABLE, f"{key} of {name}")

    assert SharedRegistry(OWN, find).text(NAME, PROFILE_KEY).value == "data:,own"


def test_an_error_of_the_registry_is_raised() -> None:
    class Away:
        def text(self, name: str, key: str, *, fresh: bool = False) -> RegistryText:
            raise NotNowError(STORE_UNAVAILABLE, f"{name} {key} {fresh}")

    with pytest.raises(NotNowError):
        SharedRegistry(Away(), lambda *_: None).text(NAME, PROFILE_KEY)


def test_a_look_up_of_the_registry_is_limited_and_a_shared_text_is_not() -> None:
    registry = SharedRegistry(OWN, lambda name, _: SHARED.get(name), lambda _: nullcontext(False))
    assert registry.text(NAME, PROFILE_KEY) == SHARED[NAME]
    for name, fresh in ((NAME, True), ("dan.eth", False)):
        with pytest.raises(NotNowError) as caught:
            registry.text(name, PROFILE_KEY, fresh=fresh)
        assert caught.value.reason is TOO_MANY_LOOK_UPS
