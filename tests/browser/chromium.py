"""Chromium, driven by Playwright from PyPI in a process and with packages of its own."""

import os
import shutil
import sys
from pathlib import Path
from typing import Final

import pytest
from tests.peers.answering import AnsweringProcess
from tests.peers.made import Recipe
from tests.peers.node import required

ROOT: Final = Path(__file__).parents[2]
DEBIAN_PACKAGE: Final = "chromium"
_LOCK: Final = "requirements-browser.lock"
_FOLDER: Final = "packages"
_OPTIONS: Final = ("--quiet", "--disable-pip-version-check", "--require-hashes", "--no-deps", "--no-compile")
_PLAYWRIGHT: Final = Recipe(
    "playwright-{}.{}".format(*sys.version_info),
    ROOT,
    (_LOCK,),
    (),
    (sys.executable, "-m", "pip", "install", *_OPTIONS, "--target", _FOLDER, "--requirement", _LOCK),
    seconds=1200,
)


def chromium(home: Path) -> AnsweringProcess:
    """A process with a browser, for `visit`. `home`: the browser's home folder.

    CI must have Chromium; elsewhere, the tests are skipped without it.
    """
    program = shutil.which(DEBIAN_PACKAGE)
    if program is None and os.environ.get("CI"):
        pytest.fail(f"CI must have {DEBIAN_PACKAGE}")
    if program is None:
        pytest.skip(f"needs {DEBIAN_PACKAGE}")
    packages = required(_PLAYWRIGHT, "Playwright") / _FOLDER
    environment = {"PYTHONPATH": os.pathsep.join([str(packages), str(ROOT)]), "HOME": str(home)}
    driver = Path(__file__).parent / "playwright_driver.py"
    return AnsweringProcess((sys.executable, "-S", str(driver), program), packages, environment)
