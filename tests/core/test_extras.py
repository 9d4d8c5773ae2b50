"""Packages of extras that are missing."""

import pytest

from postroom.core import extras
from postroom.core.errors import SettingsError
from postroom.core.extras import require


def test_nothing_is_missing_where_all_extras_are_installed() -> None:
    require("a test", "chat", "glue", "local", "peers")


def test_what_is_missing_is_named_with_the_extras_that_have_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: None if name in ("PIL", "pollyweb") else object())
    with pytest.raises(SettingsError) as caught:
        require("a test", "chat", "peers")
    assert str(caught.value) == (
        "a test needs packages that are not installed here (PIL, pollyweb): `pip install 'postroom[chat,peers]'` "
        "installs them"
    )
    require("a test", "local")
