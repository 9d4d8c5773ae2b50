"""Fixtures for the Glue jobs: one embedded AWS and one Spark for all tests, because both take seconds to start."""

from collections.abc import Iterator

import pytest
from benchmarks.spark import caller_environment
from pyspark.sql import SparkSession
from tests.aws import deploy_on
from tests.glue_jobs.stack import JobStack
from tests.sparks import small_session

from postroom.local.emulator import Emulator

ACCOUNT = "000000000008"


@pytest.fixture(scope="session")
def emulated() -> Iterator[JobStack]:
    with Emulator() as emulator:
        clients = emulator.clients(ACCOUNT)
        yield JobStack(deploy_on(clients), f"http://127.0.0.1:{emulator.port}", ACCOUNT)


@pytest.fixture
def stack(emulated: JobStack) -> Iterator[JobStack]:
    yield emulated
    emulated.empty()


@pytest.fixture(scope="session")
def environment() -> dict[str, str]:
    """The environment of a job, and of this process while it runs one."""
    return caller_environment(ACCOUNT)


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    with small_session(ACCOUNT) as spark:
        yield spark
