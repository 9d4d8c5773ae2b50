"""Prices of AWS, from prices.toml or from an operator's file in the same format."""

import tomllib
from dataclasses import dataclass, fields
from datetime import date
from pathlib import Path
from typing import Final

from postroom.core.errors import SettingsError

OURS: Final = Path(__file__).parent / "prices.toml"


@dataclass(frozen=True, slots=True)
class Prices:
    """The prices of one region, in US dollars. `noted`: the day on which they were noted."""

    noted: date
    http_api_per_million: float
    http_api_beyond_per_million: float
    socket_messages_per_million: float
    socket_minutes_per_million: float
    cloudfront_per_million: float
    cloudfront_to_origin_per_gb: float
    cloudfront_out_per_gb: float
    out_per_gb: float
    lambda_per_million: float
    lambda_per_gb_second: float
    sqs_per_million: float
    dynamodb_writes_per_million: float
    dynamodb_reads_per_million: float
    dynamodb_per_gb_month: float
    dynamodb_recovery_per_gb_month: float
    s3_puts_per_thousand: float
    s3_gets_per_thousand: float
    s3_per_gb_month: float
    logs_per_gb: float
    logs_per_gb_month: float
    metric_per_month: float
    alarm_per_month: float
    secret_per_month: float
    secret_reads_per_million: float
    glue_per_dpu_hour: float

    @property
    def dynamodb_kept_per_gb_month(self) -> float:
        """Of rows, and of their recovery."""
        return self.dynamodb_per_gb_month + self.dynamodb_recovery_per_gb_month


NAMES: Final = tuple(field.name for field in fields(Prices) if field.name != "noted")


def read_prices(file: Path, region: str) -> Prices:
    """Read the prices of a region. Raises SettingsError, which names the file and what is wrong in it; OSError."""
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise SettingsError(f"{file} is not TOML: {error}") from None
    noted, regions = document.get("noted"), document.get("regions")
    if not isinstance(noted, date) or not isinstance(regions, dict) or not regions:
        raise SettingsError(f"{file} must have `noted` (the date of the prices), and tables [regions.…]")
    if region not in regions:
        raise SettingsError(f"{file} has no prices for {region!r}; it has prices for {', '.join(regions)}")
    table = regions[region]
    if not isinstance(table, dict):
        raise SettingsError(f"{file}: [regions.{region}] must be a table of prices")
    wrong = [name for name in NAMES if not _is_price(table.get(name))] + [name for name in table if name not in NAMES]
    if wrong:
        raise SettingsError(
            f"{file}: [regions.{region}] must have a price, 0 or more, for each known name, and no other: {wrong[0]}"
        )
    return Prices(noted, **{name: float(table[name]) for name in NAMES})


def _is_price(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < float("inf")
