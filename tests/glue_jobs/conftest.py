"""One embedded AWS and one Spark for all of these tests: both take seconds to start."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.aws import deploy_on
from tests.glue_jobs.office import Office

from postroom.local.clients import REGION
from postroom.local.emulator import Emulator
from postroom.local.spark import environment_of, spark_environment

ROOT = Path(__file__).parents[2]
ACCOUNT = "000000000008"


@pytest.fixture(scope="session")
def emulated() -> Iterator[Office]:
    with Emulator() as emulator:
        clients = emulator.clients(ACCOUNT)
        yield Office(deploy_on(clients), f"http://127.0.0.1:{emulator.port}", ACCOUNT)


@pytest.fixture
def office(emulated: Office) -> Iterator[Office]:
    yield emulated
    emulated.empty()


@pytest.fixture(scope="session")
def environment() -> dict[str, str]:
    """Of a job, and of this process while it is one."""
    return {
        **environment_of(ACCOUNT, REGION),
        # What stages are made of is imported where they run.
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "layers" / "postroom")]),
        **spark_environment(),
    }


@pytest.fixture(scope="module")
def spark(environment: dict[str, str]) -> Iterator[SparkSession]:
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            patch.delenv(name)
        for name, value in environment.items():
            patch.setenv(name, value)
        builder = SparkSession.builder.master("local[2,4]").config("spark.ui.enabled", "false")
        session = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        yield session
        session.stop()
