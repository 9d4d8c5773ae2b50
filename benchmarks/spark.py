"""A local Spark session in this process, for jobs that are called as functions."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from unittest.mock import patch

from pyspark.sql import SparkSession

from postroom.local.account import LocalAccount
from postroom.local.clients import REGION
from postroom.local.spark import environment_of, spark_environment

_ROOT: Final = Path(__file__).parent.parent
_QUIET: Final = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}


def caller_environment(account: LocalAccount) -> dict[str, str]:
    """The whole environment of a process that runs jobs, for an account of the embedded AWS."""
    return {
        **environment_of(account, REGION),
        # Spark's Python workers import the modules of the stages.
        "PYTHONPATH": os.pathsep.join([str(_ROOT), str(_ROOT / "layers" / "postroom")]),
        **spark_environment(),
    }


def builder_of(master: str, settings: Mapping[str, str]) -> SparkSession.Builder:
    """A builder of sessions with these settings, without the pages and progress bars of Spark."""
    builder = SparkSession.builder.master(master)
    for name, value in {**_QUIET, **settings}.items():
        builder = builder.config(name, value)
    return builder


@contextmanager
def session(
    account: LocalAccount,
    *,
    master: str = "local[*]",
    submit: str = "",
    settings: Mapping[str, str] | None = None,
    signed: Mapping[str, str] | None = None,
) -> Iterator[SparkSession]:
    """A session; within the block, this process has the environment of a job.

    `submit`: the arguments for Java. `signed`: environment variables with credentials, instead of the account's.
    """
    environment = caller_environment(account) | dict(signed or {})
    # Java outlives a session and keeps its environment, which may be that of another account.
    of_workers = {f"spark.executorEnv.{name}": environment[name] for name in environment if name.startswith("AWS_")}
    environment["PYSPARK_SUBMIT_ARGS"] = f"{submit} pyspark-shell"
    # Spark would return a session that is already there, with the settings of that one.
    if there := SparkSession.getActiveSession():
        there.stop()
    builder = builder_of(master, {**of_workers, **(settings or {})})
    with patch.dict(os.environ, environment, clear=True), builder.getOrCreate() as spark:
        spark.sparkContext.setLogLevel("OFF")
        yield spark
