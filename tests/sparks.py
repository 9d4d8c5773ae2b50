"""Spark as tests start it: one Java for all tests of the group, and a new context for each module."""

import runpy
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Final
from unittest.mock import patch

import pytest
from benchmarks.spark import session
from pyspark.sql import SparkSession

from postroom.runtime.jobs.clients import job_clients

# A small run is over before Java's second compiler has earned what it takes.
_SUBMIT: Final = "--driver-memory 1g --driver-java-options '-XX:TieredStopAtLevel=1 -XX:+UseSerialGC'"
# Each of Spark's usual 200 parts of an exchange is a task, and most of them would be empty here.
_PARTS: Final = {"spark.sql.shuffle.partitions": "4"}

ON_SPARK: Final = [pytest.mark.xdist_group("spark"), pytest.mark.spark, pytest.mark.stack]
"""The marks of a test that takes such a session, and the embedded AWS."""


def small_session(account: str, signed: Mapping[str, str] | None = None) -> AbstractContextManager[SparkSession]:
    """A session for small runs, of the caller `account`. `signed`: environment variables of credentials to use.

    A task that fails in passing is done again, as on a cluster.
    """
    return session(account, master="local[2,4]", submit=_SUBMIT, settings=_PARTS, signed=signed)


def run_job_here(script: Path, arguments: Sequence[str], environment: Mapping[str, str]) -> str:
    """What `postroom.local.spark.run_job` does, in this process and its Java; while it runs, the process has the job's
    environment and arguments.

    Raises what the job raises.
    """
    # Clients are cached by their endpoint, and the last job may have had another role.
    job_clients.cache_clear()
    signed = {name: environment[name] for name in environment if name.startswith("AWS_")}
    with (
        small_session(environment["AWS_ACCESS_KEY_ID"], signed),
        patch.object(sys, "argv", [str(script), *arguments]),
        redirect_stdout(StringIO()) as said,
    ):
        runpy.run_path(str(script), run_name="__main__")
    return said.getvalue().rstrip().rpartition("\n")[2]
