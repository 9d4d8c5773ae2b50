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
        yield JobStack(deploy_on(clients), clients.at)


@pytest.fixture
def stack(emulated: JobStack) -> Iterator[JobStack]:
    yield emulated
    emulated.empty()


@pytest.fixture(scope="session")
def environment(emulated: JobStack) -> dict[str, str]:
    """The environment of a job, and of this process while it runs one."""
    return caller_environment(emulated.at)


@pytest.fixture(scope="module")
def spark(emulated: JobStack) -> Iterator[SparkSession]:
    with small_session(emulated.at) as spark:
        yield spark
