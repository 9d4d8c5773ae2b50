"""Packages of npm that others wrote, installed once per lock, in a Node process that answers calls."""

import os
from pathlib import Path

import pytest
from tests.peers.answering import AnsweringProcess
from tests.peers.made import Recipe, UnavailableError, made


def packages(name: str, home: Path, *more: str) -> Recipe:
    """The packages of the lock in `home`, and the other files that npm needs there."""
    files = (".npmrc", "package.json", "package-lock.json", *more)
    return Recipe(name, home, files, ("node", "npm"), ("npm", "ci"), seconds=1200)


def required(recipe: Recipe, what: str) -> Path:
    """The folder of the packages. CI must have them; elsewhere the tests are skipped where they cannot be had."""
    try:
        return made(recipe)
    except UnavailableError as why:
        if os.environ.get("CI"):
            pytest.fail(f"CI must have {what}: {why}")
        pytest.skip(f"needs {what}: {why}")


class Reference(AnsweringProcess):
    """A Node process with the packages in `folder`.

    `program`: answers the calls; `home`: the user's folder, for packages that write there; `options`: of the program;
    `ca_file`: authorities that it trusts in addition (PEM).
    """

    def __init__(
        self, folder: Path, program: Path, home: Path | None = None, *options: str, ca_file: Path | None = None
    ) -> None:
        environment = {
            **({"HOME": str(home)} if home else {}),
            **({"NODE_EXTRA_CA_CERTS": str(ca_file)} if ca_file else {}),
        }
        super().__init__(("node", str(program), *options), folder, environment)
