"""Spark for tests: one Java process for all tests of the group, and a new context for each module."""

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

# A small run is faster without Java's second compiler.
_SUBMIT: Final = "--driver-memory 1g --driver-java-options '-XX:TieredStopAtLevel=1 -XX:+UseSerialGC'"
# Spark's default of 200 shuffle partitions would be 200 tasks, most of them empty here.
_PARTS: Final = {"spark.sql.shuffle.partitions": "4"}

ON_SPARK: Final = [pytest.mark.xdist_group("spark"), pytest.mark.spark, pytest.mark.stack]
"""The marks of a test that uses such a session and the embedded AWS."""


def small_session(account: str, signed: Mapping[str, str] | None = None) -> AbstractContextManager[SparkSession]:
    """A session for small runs in an account. `signed`: environment variables with credentials to use.

    A task that fails temporarily is repeated, as on a cluster.
    """
    return session(account, master="local[2,4]", submit=_SUBMIT, settings=_PARTS, signed=signed)


def run_job_here(script: Path, arguments: Sequence[str], environment: Mapping[str, str]) -> str:
    """Run a job as `postroom.local.spark.run_job` does, but in this process and its Java.

    While it runs, this process has the environment and the arguments of the job. Raises what the job raises.
    """
    # Clients are cached by endpoint, but the last job may have had another role.
    job_clients.cache_clear()
    signed = {name: environment[name] for name in environment if name.startswith("AWS_")}
    with (
        small_session(environment["AWS_ACCESS_KEY_ID"], signed),
        patch.object(sys, "argv", [str(script), *arguments]),
        redirect_stdout(StringIO()) as said,
    ):
        runpy.run_path(str(script), run_name="__main__")
    return said.getvalue().rstrip().rpartition("\n")[2]
