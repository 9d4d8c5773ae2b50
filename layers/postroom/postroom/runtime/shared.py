"""Parts that several functions have."""

import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from postroom.core.errors import SettingsError
from postroom.core.settings import Settings
from postroom.pipeline.times import Times
from postroom.storage.directory.domains import Directory

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


def new_id() -> str:
    """A fresh identifier: 128 random bits in hex."""
    return secrets.token_hex(16)


def times_of(settings: Settings) -> Times:
    """How long things count, and are remembered."""
    return Times(settings.horizon_seconds, settings.retain_seconds, settings.nlweb_max_age_seconds)


def build_directory(settings: Settings, dynamodb: "DynamoDBClient") -> Directory:
    """What operators set, read through a cache."""
    return Directory(
        dynamodb, settings.directory_table, clock=time.time, cache_seconds=settings.directory_cache_seconds
    )


@contextmanager
def named(setting: str) -> Iterator[None]:
    """What a setting's own reader says of it, with the name it is set by."""
    try:
        yield
    except SettingsError as error:
        raise SettingsError(f"{setting}: {error}") from error
