"""Spark on this machine, for a job that is called from here and not by its command."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from unittest.mock import patch

from pyspark.sql import SparkSession

from postroom.local.clients import REGION
from postroom.local.spark import environment_of, spark_environment

_ROOT: Final = Path(__file__).parent.parent
_QUIET: Final = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}


def caller_environment(account: str) -> dict[str, str]:
    """The whole environment of a process that calls jobs, in an account of the embedded AWS."""
    return {
        **environment_of(account, REGION),
        # What stages are made of is imported where they run.
        "PYTHONPATH": os.pathsep.join([str(_ROOT), str(_ROOT / "layers" / "postroom")]),
        **spark_environment(),
    }


@contextmanager
def session(
    account: str,
    *,
    master: str = "local[*]",
    submit: str = "",
    settings: Mapping[str, str] | None = None,
    signed: Mapping[str, str] | None = None,
) -> Iterator[SparkSession]:
    """A session; as long as it lasts, this process is a caller of jobs.

    `submit`: what Java is started with. `signed`: environment variables of credentials to use instead.
    """
    environment = caller_environment(account) | dict(signed or {})
    # Java outlives a session, and keeps the environment that it was started in: another account's, maybe.
    of_workers = {f"spark.executorEnv.{name}": environment[name] for name in environment if name.startswith("AWS_")}
    builder = SparkSession.builder.master(master)
    for name, value in {**_QUIET, **of_workers, **(settings or {})}.items():
        builder = builder.config(name, value)
    environment["PYSPARK_SUBMIT_ARGS"] = f"{submit} pyspark-shell"
    with patch.dict(os.environ, environment, clear=True), builder.getOrCreate() as spark:
        spark.sparkContext.setLogLevel("OFF")
        yield spark
