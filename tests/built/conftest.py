"""Fixtures with the output of `sam build` for this checkout, also for the Python of this machine if it differs."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.aws import template
from tests.built.tools import ROOT, runtime_python, sam, version_of

RUNTIME = re.sub("^python", "", template()["Globals"]["Function"]["Runtime"])


@pytest.fixture(scope="session")
def built(python: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The build of an operator, for the runtime of the template; with that Python, if this machine has it."""
    folder, home = tmp_path_factory.mktemp("built") / "build", tmp_path_factory.mktemp("home")
    sam("build", "--build-dir", str(folder), folder=ROOT, home=home, environment={"PYTHON": python})
    return folder


@pytest.fixture(scope="session")
def python() -> str:
    """The Python interpreter that replaces the runtime."""
    return runtime_python(RUNTIME)


@pytest.fixture(scope="session")
def running_build(built: Path, python: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The build for `python`: the operator's, if this machine has the Python of the runtime."""
    version = version_of(python)
    if version == RUNTIME:
        yield built
        return
    folder, home = tmp_path_factory.mktemp("built"), tmp_path_factory.mktemp("home")
    sam("build", "--build-dir", str(folder), folder=ROOT, home=home, environment={"RUNTIME": version, "PYTHON": python})
    yield folder
