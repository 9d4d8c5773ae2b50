"""Timestamp and time window: decisions "Time window" and "Timestamps", RFC 3339."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.core.errors import TheirError
from postroom.core.reason import Reason
from postroom.core.settings import DeploymentSettings
from postroom.core.timestamps import write_timestamp
from postroom.protocols.nlweb.reasons import TIMESTAMP_TOO_NEW, TIMESTAMP_TOO_OLD, WRONG_SHAPE
from postroom.protocols.nlweb.timestamp import TimestampWindow, read_timestamp

NOW_MS = 1_795_253_400_000
FIRST_MS, LAST_MS = -62_135_596_800_000, 253_402_300_799_999
DAY_MS = 86_400_000


@pytest.mark.parametrize(
    ("text", "at_ms"),
    [
        ("2018-12-10T13:45:00.000Z", 1_544_449_500_000),  # the specification's example
        ("2018-12-10T13:45:00Z", 1_544_449_500_000),
        ("2018-12-10T13:45:00+00:00", 1_544_449_500_000),
        ("2018-12-10T13:45:00.5Z", 1_544_449_500_500),
        ("2018-12-10T13:45:00.05+00:00", 1_544_449_500_050),
        ("2018-12-10T13:45:00.123456Z", 1_544_449_500_123),
        ("2018-12-10T13:45:00.123999999Z", 1_544_449_500_123),
        ("1970-01-01T00:00:00Z", 0),
        ("1969-12-31T23:59:59.999Z", -1),
        ("2024-02-29T00:00:00Z", 1_709_164_800_000),
        ("2000-02-29T23:59:59Z", 951_868_799_000),
        ("0001-01-01T00:00:00Z", FIRST_MS),
        ("9999-12-31T23:59:59.999999999Z", LAST_MS),
    ],
)
def test_rfc_3339_in_utc_with_up_to_nine_fraction_digits(text: str, at_ms: int) -> None:
    assert read_timestamp(text) == at_ms


@pytest.mark.parametrize("digits", range(1, 10))
def test_one_to_nine_fraction_digits(digits: int) -> None:
    assert read_timestamp(f"1970-01-01T00:00:00.{'9' * digits}Z") == int("999"[:digits].ljust(3, "0"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2018-12-10",
        "2018-12-10T13:45Z",
        "2018-12-10T13:45:00",  # no zone
        "2018-12-10T13:45:00z",
        "2018-12-10t13:45:00Z",
        "2018-12-10 13:45:00Z",
        "2018-12-10T13:45:00-00:00",  # RFC 3339 §4.3: the offset is not known
        "2018-12-10T13:45:00+0000",
        "2018-12-10T13:45:00+00",
        "2018-12-10T13:45:00+01:00",
        "2018-12-10T13:45:00−00:00",
        "2018-12-10T13:45:00Z+00:00",
        "2018-12-10T13:45:00.Z",
        "2018-12-10T13:45:00,5Z",
        "2018-12-10T13:45:00.0000000000Z",  # ten digits
        "2018-12-10T13:45:60Z",
        "2016-12-31T23:59:60Z",  # a leap second that was
        "2018-12-10T24:00:00Z",
        "2018-12-10T13:60:00Z",
        "2018-13-01T00:00:00Z",
        "2018-00-10T00:00:00Z",
        "2018-02-29T00:00:00Z",
        "1900-02-29T00:00:00Z",
        "2018-12-32T00:00:00Z",
        "0000-01-01T00:00:00Z",
        "10000-01-01T00:00:00Z",
        "+10000-01-01T00:00:00Z",
        "-2018-12-10T13:45:00Z",
        "18-12-10T13:45:00Z",
        "2018-1-1T13:45:00Z",
        "20181210T134500Z",
        "2018-W50-1T13:45:00Z",
        "2018-12-10T13:45:00Z ",
        " 2018-12-10T13:45:00Z",
        "2018-12-10T13:45:00Z\n",
        "2018-12-10T13:45:00Z\0",
        "２０１８-12-10T13:45:00Z",
        "2018-12-10T13:45:0٣Z",
        "2018-12-10T13:45:00.٣Z",
        "1544449500",
        "1544449500000",
        "Mon, 10 Dec 2018 13:45:00 GMT",
    ],
)
def test_anything_else_is_a_shape_error(text: str) -> None:
    with pytest.raises(TheirError) as caught:
        read_timestamp(text)
    assert caught.value.reason is WRONG_SHAPE
    assert "Header.Timestamp" in caught.value.detail


def test_we_write_milliseconds_and_z() -> None:
    assert write_timestamp(1_544_449_500_000) == "2018-12-10T13:45:00.000Z"
    assert write_timestamp(-1) == "1969-12-31T23:59:59.999Z"


@pytest.mark.parametrize("at_ms", [FIRST_MS, LAST_MS])
def test_a_year_is_always_written_in_four_digits(at_ms: int) -> None:
    assert len(write_timestamp(at_ms)) == len("2018-12-10T13:45:00.000Z")


@given(st.integers(FIRST_MS, LAST_MS))
def test_a_written_timestamp_is_read_back(at_ms: int) -> None:
    assert read_timestamp(write_timestamp(at_ms)) == at_ms


@given(st.datetimes(timezones=st.just(UTC)))
def test_pythons_own_form_is_read(moment: datetime) -> None:
    # Whole milliseconds by integers: a float of seconds is not exact so far from the epoch.
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    at_ms = (since.days * 86_400 + since.seconds) * 1000 + since.microseconds // 1000
    assert read_timestamp(moment.isoformat()) == at_ms


@given(st.tuples(*(st.integers(0, most) for most in (9999, 14, 33, 25, 61, 61))))
def test_only_existing_dates_and_times_are_accepted(parts: tuple[int, int, int, int, int, int]) -> None:
    year, month, day, hour, minute, second = parts
    text = f"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z"
    try:
        datetime(*parts, tzinfo=UTC)
    except ValueError:
        with pytest.raises(TheirError):
            read_timestamp(text)
    else:
        assert write_timestamp(read_timestamp(text)) == text.replace("Z", ".000Z")


# --- the window --------------------------------------------------------------------------------------------------


def test_the_window_is_24_hours_back_and_120_seconds_ahead() -> None:
    assert TimestampWindow() == TimestampWindow(max_age_seconds=24 * 3600, max_skew_seconds=120)


@pytest.mark.parametrize("age_ms", [DAY_MS - 1, 1, 0, -1, -119_999])
def test_times_between_the_ends_of_the_window_are_inside(age_ms: int) -> None:
    TimestampWindow().check(NOW_MS - age_ms, NOW_MS)


AT = DeploymentSettings()


@pytest.mark.parametrize(
    ("end_ms", "step_ms", "reason"),
    [
        (AT.nlweb_max_age_seconds * 1000, 1, TIMESTAMP_TOO_OLD),
        (-AT.nlweb_max_skew_seconds * 1000, -1, TIMESTAMP_TOO_NEW),
    ],
    ids=["age", "ahead of time"],
)
def test_both_ends_of_the_window_are_inside_and_a_millisecond_beyond_is_outside(
    end_ms: int, step_ms: int, reason: Reason
) -> None:
    window = TimestampWindow(AT.nlweb_max_age_seconds, AT.nlweb_max_skew_seconds)
    window.check(NOW_MS - end_ms, NOW_MS)
    with pytest.raises(TheirError) as caught:
        window.check(NOW_MS - end_ms - step_ms, NOW_MS)
    assert caught.value.reason is reason


@pytest.mark.parametrize(
    ("age_ms", "reason"),
    [(NOW_MS - FIRST_MS, TIMESTAMP_TOO_OLD), (NOW_MS - LAST_MS, TIMESTAMP_TOO_NEW)],
)
def test_distant_times_are_outside(age_ms: int, reason: Reason) -> None:
    with pytest.raises(TheirError) as caught:
        TimestampWindow().check(NOW_MS - age_ms, NOW_MS)
    assert caught.value.reason is reason


def test_the_window_is_a_setting() -> None:
    narrow = TimestampWindow(max_age_seconds=1, max_skew_seconds=0)
    narrow.check(NOW_MS - 1000, NOW_MS)
    narrow.check(NOW_MS, NOW_MS)
    for outside in (NOW_MS - 1001, NOW_MS + 1):
        with pytest.raises(TheirError):
            narrow.check(outside, NOW_MS)


def test_a_refusal_has_the_distance_and_the_window() -> None:
    with pytest.raises(TheirError) as old:
        TimestampWindow().check(NOW_MS - 100_000_000, NOW_MS)
    earliest = write_timestamp(NOW_MS - 86_400_000)
    assert old.value.detail == f"Header.Timestamp is 100000 s ago; none before {earliest} is accepted"
    with pytest.raises(TheirError) as new:
        TimestampWindow().check(NOW_MS + 121_500, NOW_MS)
    assert new.value.detail == "Header.Timestamp is 121 s ahead; at most 120 s are accepted"
