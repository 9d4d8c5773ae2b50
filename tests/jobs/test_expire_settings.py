"""The settings of expire_messages: no time shorter than the floor."""

import pytest

from postroom.core.errors import SettingsError
from postroom.jobs.settings import ExpireSettings, parse
from postroom.storage.mail.expiry import FLOOR_DAYS, Periods

NEEDED = ("JOB_NAME", "BUCKET", "POST_TABLE", "DIRECTORY_TABLE", "LIMITS_TABLE", "STORAGE_TABLE")


def settings(**more: str) -> ExpireSettings:
    said = {**dict.fromkeys(NEEDED, "x"), "RETAIN_SECONDS": "1900800", **more}
    return parse(ExpireSettings, [word for name, value in said.items() for word in (f"--{name}", value)])


def test_messages_stay_without_end_and_closed_mailboxes_for_the_floor_unless_set() -> None:
    assert settings().periods == Periods(0, FLOOR_DAYS)


def test_given_settings_are_used() -> None:
    assert settings(DM3_MESSAGE_TTL_DAYS="90", CLOSED_DAYS="60").periods == Periods(90, 60)


@pytest.mark.parametrize("name", ["DM3_MESSAGE_TTL_DAYS", "CLOSED_DAYS"])
@pytest.mark.parametrize("days", ["29", "-1"])
def test_no_period_is_shorter_than_the_floor(name: str, days: str) -> None:
    with pytest.raises(SettingsError, match=f"--{name} must be at least {FLOOR_DAYS}"):
        settings(**{name: days})
