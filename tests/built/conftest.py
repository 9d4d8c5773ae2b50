"""Fixtures with the output of `sam build` for this checkout, also for the Python of this machine if it differs."""

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from tests.aws import template
from tests.built.kept import inputs_of, kept
from tests.built.tools import ROOT, SAM_VENV, runtime_python, sam, version_of

RUNTIME = re.sub("^python", "", template()["Globals"]["Function"]["Runtime"])


@pytest.fixture(scope="package")
def built(python: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The build of an operator, for the runtime of the template; with that Python, if this machine has it."""
    yield from _built({"PYTHON": python}, tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="package")
def python() -> str:
    """The Python interpreter that replaces the runtime."""
    return runtime_python(RUNTIME)


@pytest.fixture(scope="package")
def running_build(built: Path, python: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The build for `python`: the operator's, if this machine has the Python of the runtime."""
    version = version_of(python)
    if version == RUNTIME:
        yield built
    else:
        yield from _built({"RUNTIME": version, "PYTHON": python}, tmp_path_factory.mktemp("home"))


def _built(environment: dict[str, str], home: Path) -> Iterator[Path]:
    [version] = [path.name for path in SAM_VENV.glob("lib/python3.*/site-packages/aws_sam_cli-*.dist-info")]
    run = partial(sam, folder=ROOT, home=home, environment=environment)
    with kept(
        ROOT / "build" / "sam" / environment.get("RUNTIME", RUNTIME),
        inputs_of(ROOT, version, *map(str, sorted(environment.items()))),
        lambda folder: run("build", "--build-dir", str(folder)),
    ) as folder:
        yield folder
