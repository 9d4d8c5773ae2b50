"""Spark for tests: one Java process and one session for all tests of a process, with the account of each job."""

import os
import runpy
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Final
from unittest.mock import patch

import pytest
from benchmarks.spark import builder_of, caller_environment
from pyspark.sql import SparkSession

from postroom.local.account import LocalAccount
from postroom.runtime.jobs.clients import job_clients

# A small run is faster without Java's second compiler.
_SUBMIT: Final = "--driver-memory 1g --driver-java-options '-XX:TieredStopAtLevel=1 -XX:+UseSerialGC' pyspark-shell"
# Spark's default of 200 shuffle partitions would be 200 tasks, most of them empty here.
_PARTS: Final = {"spark.sql.shuffle.partitions": "4"}

ON_SPARK: Final = [pytest.mark.xdist_group("spark"), pytest.mark.spark, pytest.mark.stack]
"""The marks of a test that uses such a session and the embedded AWS."""


@contextmanager
def small_session(account: LocalAccount, signed: Mapping[str, str] | None = None) -> Iterator[SparkSession]:
    """The session of this process; within the block, it and the process have the environment of a job in an account.

    `signed`: environment variables with credentials to use. A task that fails temporarily is repeated, as on a cluster.
    """
    environment = caller_environment(account) | dict(signed or {})
    of_aws = {name: value for name, value in environment.items() if name.startswith("AWS_")}
    # Java keeps the environment that it starts with, and its Python workers inherit it.
    others = {name: value for name, value in environment.items() if name not in of_aws}
    with patch.dict(os.environ, others | {"PYSPARK_SUBMIT_ARGS": _SUBMIT}, clear=True):
        spark = builder_of("local[2,4]", _PARTS).getOrCreate()
        context = spark.sparkContext
        context.setLogLevel("OFF")
        of_workers = {name: value for name, value in context.environment.items() if not name.startswith("AWS_")}
        context.environment = of_workers | of_aws
        os.environ.update(of_aws)
        yield spark


def run_job_here(script: Path, arguments: Sequence[str], environment: Mapping[str, str]) -> str:
    """Run a job as `postroom.local.spark.run_job` does, but in this process and its Java.

    While it runs, this process has the environment and the arguments of the job. Raises what the job raises.
    """
    # Clients are cached by endpoint, but the last job may have had another role.
    job_clients.cache_clear()
    signed = {name: environment[name] for name in environment if name.startswith("AWS_")}
    with (
        small_session(LocalAccount("", signed["AWS_ACCESS_KEY_ID"], signed["AWS_SECRET_ACCESS_KEY"]), signed),
        patch.object(sys, "argv", [str(script), *arguments]),
        redirect_stdout(StringIO()) as said,
    ):
        runpy.run_path(str(script), run_name="__main__")
    return said.getvalue().rstrip().rpartition("\n")[2]
