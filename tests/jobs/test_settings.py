"""What a job is told, in Glue's way of telling it."""

import pytest

from postroom.core.errors import SettingsError
from postroom.jobs.settings import CompactSettings, parse

GIVEN = [
    "--JOB_NAME", "compact", "--BUCKET", "mail", "--POST_TABLE", "post", "--DIRECTORY_TABLE", "directory",
    "--RETAIN_SECONDS", "1900800",
]  # fmt: skip
GLUES_OWN = [
    "--JOB_ID", "j_1", "--JOB_RUN_ID", "jr_1", "--SECURITY_CONFIGURATION", "", "--TempDir", "s3://temp/",
    "--job-bookmark-option", "job-bookmark-disable", "--enable-metrics", "--extra-py-files", "s3://code/postroom.zip",
]  # fmt: skip


def test_settings_have_their_defaults() -> None:
    assert parse(CompactSettings, GIVEN) == CompactSettings(
        job_name="compact", bucket="mail", post_table="post", directory_table="directory", retain_seconds=1_900_800
    )


def test_every_setting_can_be_given() -> None:
    said = [
        "--READ_UNITS_PER_SECOND", "10", "--WRITE_UNITS_PER_SECOND", "20", "--WORKERS", "2", "--DRY_RUN", "True",
        "--ENDPOINT_URL", "http://127.0.0.1:4566", "--LOG_GROUP", "jobs", "--LAG_HOURS", "0",
    ]  # fmt: skip
    assert parse(CompactSettings, GIVEN + said) == CompactSettings(
        job_name="compact",
        bucket="mail",
        post_table="post",
        directory_table="directory",
        retain_seconds=1_900_800,
        read_units_per_second=10,
        write_units_per_second=20,
        workers=2,
        dry_run=True,
        endpoint_url="http://127.0.0.1:4566",
        log_group="jobs",
        lag_hours=0,
    )


@pytest.mark.parametrize("arguments", [GLUES_OWN + GIVEN, GIVEN + GLUES_OWN])
def test_arguments_that_glue_adds_are_ignored(arguments: list[str]) -> None:
    assert parse(CompactSettings, arguments) == parse(CompactSettings, GIVEN)


def test_an_argument_may_be_joined_to_its_value() -> None:
    assert parse(CompactSettings, [*GIVEN, "--LAG_HOURS=5"]).lag_hours == 5


@pytest.mark.parametrize("name", GIVEN[::2])
def test_a_missing_argument_is_named(name: str) -> None:
    at = GIVEN.index(name)
    with pytest.raises(SettingsError, match=f"{name} is missing"):
        parse(CompactSettings, GIVEN[:at] + GIVEN[at + 2 :])


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("--RETAIN_SECONDS", "22d", "'22d'; it must be a whole number"),
        ("--WORKERS", "2.5", "it must be a whole number"),
        ("--LAG_HOURS", "", "it must be a whole number"),
        ("--DRY_RUN", "yes", "'yes'; it must be true or false"),
        ("--READ_UNITS_PER_SECOND", "0", "must be at least 1"),
        ("--WRITE_UNITS_PER_SECOND", "-5", "must be at least 1"),
        ("--LAG_HOURS", "-1", "must not be negative"),
    ],
)
def test_an_invalid_argument_is_named(name: str, value: str, says: str) -> None:
    with pytest.raises(SettingsError, match=f"{name}.*{says}"):
        parse(CompactSettings, [*GIVEN, f"{name}={value}"])


def test_an_argument_without_its_value_is_named() -> None:
    with pytest.raises(SettingsError, match="--LAG_HOURS"):
        parse(CompactSettings, [*GIVEN, "--LAG_HOURS"])


@pytest.mark.parametrize("argument", ["--LAG", "--lag_hours", "--RETAIN"])
def test_argument_names_may_not_be_abbreviated(argument: str) -> None:
    assert parse(CompactSettings, [*GIVEN, argument, "7"]) == parse(CompactSettings, GIVEN)
