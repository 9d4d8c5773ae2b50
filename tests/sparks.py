"""Spark as tests start it: one Java for all tests of the group, each module with a context of its own in it."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Final

import pytest
from benchmarks.spark import session
from pyspark.sql import SparkSession

# A small run is over before Java's second compiler has earned what it takes.
_SUBMIT: Final = "--driver-memory 1g --driver-java-options '-XX:TieredStopAtLevel=1 -XX:+UseSerialGC'"
# Each of Spark's usual 200 parts of an exchange is a task, and most of them would be empty here.
_PARTS: Final = {"spark.sql.shuffle.partitions": "4"}

ON_SPARK: Final = [pytest.mark.xdist_group("spark"), pytest.mark.spark, pytest.mark.stack]
"""The marks of a test that takes such a session, and the embedded AWS."""


def small_session(account: str, signed: Mapping[str, str] | None = None) -> AbstractContextManager[SparkSession]:
    """A session for small runs, of the caller `account`. `signed`: what signs in its place, as the environment says it.

    A task that fails in passing is done again, as on a cluster.
    """
    return session(account, master="local[2,4]", submit=_SUBMIT, settings=_PARTS, signed=signed)
