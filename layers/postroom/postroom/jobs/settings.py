"""The typed arguments of a job, in Glue's convention: `--BUCKET name --LAG_HOURS 24 …`."""

import argparse
from collections.abc import Sequence
from dataclasses import MISSING, dataclass, fields
from typing import Final, NamedTuple, TypeVar

from postroom.core.errors import SettingsError
from postroom.core.settings import DAY_SECONDS, RETAIN_CEILING_SECONDS, SQS_LONGEST_LIFE_SECONDS
from postroom.storage.mail.expiry import FLOOR_DAYS, Periods

S = TypeVar("S", bound="JobSettings")

LEAST_RETAIN_SECONDS: Final = SQS_LONGEST_LIFE_SECONDS + DAY_SECONDS
"""The shortest retention: a horizon of 0, and the longest life of an SQS message."""
READ_UNITS_PER_SECOND: Final = 2000
WRITE_UNITS_PER_SECOND: Final = 500
"""A partition of DynamoDB has 3,000 read and 1,000 write units.

All rows read or moved may be of one mailbox, whose new mail needs the rest.
"""
_CORES_A_WORKER: Final = 4
_TRUTH: Final = {"true": True, "false": False}


class Where(NamedTuple):
    """The AWS to connect to. `endpoint_url`: of a local stack; empty: AWS. `region`: empty: that of the environment."""

    endpoint_url: str = ""
    region: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSettings:
    """The arguments of every job.

    `workers`: machines, among whose cores the limits are shared; 0: as many cores as Spark says. `endpoint_url`,
    `region`: see Where. `log_group`: also gets the report; empty: only the job's log has it. `namespace`: of its
    metrics.
    """

    job_name: str
    bucket: str
    post_table: str
    directory_table: str
    retain_seconds: int
    read_units_per_second: int = READ_UNITS_PER_SECOND
    write_units_per_second: int = WRITE_UNITS_PER_SECOND
    workers: int = 0
    dry_run: bool = False
    endpoint_url: str = ""
    region: str = ""
    log_group: str = ""
    namespace: str = "postroom"

    def __post_init__(self) -> None:
        """Raise SettingsError for impossible settings."""
        for name in ("read_units_per_second", "write_units_per_second"):
            if getattr(self, name) < 1:
                raise SettingsError(f"--{name.upper()} must be at least 1")
        # Otherwise a line whose row may still be written would count as garbage.
        if not LEAST_RETAIN_SECONDS <= self.retain_seconds < RETAIN_CEILING_SECONDS:
            raise SettingsError(
                f"--RETAIN_SECONDS is {self.retain_seconds}; it must be at least {LEAST_RETAIN_SECONDS} and less than "
                f"{RETAIN_CEILING_SECONDS}: use the value of the stack"
            )

    @property
    def where(self) -> Where:
        """The AWS to connect to."""
        return Where(self.endpoint_url, self.region)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactSettings(JobSettings):
    """The arguments of `compact_chunks`. `lag_hours`: younger segments are not read."""

    lag_hours: int = 24

    def __post_init__(self) -> None:
        """Raise SettingsError for impossible settings."""
        JobSettings.__post_init__(self)
        if self.lag_hours < 0:
            raise SettingsError("--LAG_HOURS must not be negative")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpireSettings(JobSettings):
    """The arguments of `expire_messages`. `dm3_message_ttl_days`: what senders of dm3 messages are told; 0: unlimited.

    `closed_days`: how long a closed mailbox keeps its messages.
    """

    limits_table: str
    storage_table: str
    dm3_message_ttl_days: int = 0
    closed_days: int = FLOOR_DAYS

    def __post_init__(self) -> None:
        """Raise SettingsError for impossible settings."""
        JobSettings.__post_init__(self)
        if self.dm3_message_ttl_days and self.dm3_message_ttl_days < FLOOR_DAYS:
            raise SettingsError(f"--DM3_MESSAGE_TTL_DAYS must be at least {FLOOR_DAYS}, or 0 = messages never expire")
        if self.closed_days < FLOOR_DAYS:
            raise SettingsError(f"--CLOSED_DAYS must be at least {FLOOR_DAYS}")

    @property
    def periods(self) -> Periods:
        """The periods for the rules of expiry."""
        return Periods(self.dm3_message_ttl_days, self.closed_days)


def slots_of(workers: int) -> int:
    """The number of concurrent tasks on `workers` Glue machines (G.1X), one of which is the driver; 0: unknown."""
    return max(workers - 1, 1) * _CORES_A_WORKER if workers else 0


def parse(kind: type[S], arguments: Sequence[str]) -> S:
    """The settings in a job's arguments; further ones, which Glue adds, are ignored.

    Raises SettingsError, which names the argument.
    """
    parser = argparse.ArgumentParser(prog=kind.__name__, add_help=False, allow_abbrev=False, exit_on_error=False)
    for each in fields(kind):
        parser.add_argument(f"--{each.name.upper()}", dest=each.name)
    try:
        given, _ = parser.parse_known_args(list(arguments))
    except argparse.ArgumentError as error:
        raise SettingsError(f"{error.argument_name}: {error.message}") from None
    values: dict[str, object] = {}
    for each in fields(kind):
        text = getattr(given, each.name)
        if text is not None:
            values[each.name] = _read(each.name, text, each.type)
        elif each.default is MISSING:
            raise SettingsError(f"--{each.name.upper()} is missing: add it to the job's arguments")
    return kind(**values)  # type: ignore[arg-type]


def _read(name: str, text: str, kind: object) -> object:
    try:
        if kind is bool:
            return _TRUTH[text.lower()]
        return int(text) if kind is int else text
    except (KeyError, ValueError):
        expected = "true or false" if kind is bool else "a whole number"
        raise SettingsError(f"--{name.upper()} is {text!r}; it must be {expected}") from None
