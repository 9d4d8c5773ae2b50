"""What `sam build` makes of this checkout, built once; and for the Python that runs here, where that is another."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.aws import template
from tests.built.tools import ROOT, runtime_python, sam, version_of

RUNTIME = re.sub("^python", "", template()["Globals"]["Function"]["Runtime"])


@pytest.fixture(scope="session")
def built(python: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As an operator builds it, for the runtime of the template; by its own Python, where that is here."""
    folder, home = tmp_path_factory.mktemp("built") / "build", tmp_path_factory.mktemp("home")
    sam("build", "--build-dir", str(folder), folder=ROOT, home=home, environment={"PYTHON": python})
    return folder


@pytest.fixture(scope="session")
def python() -> str:
    """The interpreter that stands for the runtime."""
    return runtime_python(RUNTIME)


@pytest.fixture(scope="session")
def running_build(built: Path, python: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The build whose wheels are of `python`'s version: the operator's, where this machine has the runtime's Python."""
    version = version_of(python)
    if version == RUNTIME:
        yield built
        return
    folder, home = tmp_path_factory.mktemp("built"), tmp_path_factory.mktemp("home")
    sam("build", "--build-dir", str(folder), folder=ROOT, home=home, environment={"RUNTIME": version, "PYTHON": python})
    yield folder
