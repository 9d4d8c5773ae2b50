"""The packages that the Glue jobs install, fetched from a package index by the hashes of the layer's lock file.

They are stored in the deployment's bucket, and Glue installs nothing else: at run time, no package index is asked.
"""

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from postroom.core.errors import OurError
from postroom.jobs.library import WHEELS

_PYTHON: Final = "3.11"
"""That of Glue 5.0."""
_PLATFORMS: Final = ("manylinux2014_x86_64", "manylinux_2_17_x86_64", "manylinux_2_28_x86_64")
_PINNED: Final = re.compile(r"^([\w.-]+)==.*(?:\n    --hash=.*)+", re.MULTILINE)
"""A package of a lock file, with its hashes."""


def fetch_wheels(lock: Path, folder: Path) -> Sequence[Path]:
    """Fetch the packages into an empty folder. Raises OurError: none could be fetched, or one has another hash or name.

    `lock`: layers/postroom/requirements.txt.
    """
    wanted = {name.partition("-")[0] for name in WHEELS}
    pinned = [found[0] for found in _PINNED.finditer(lock.read_text(encoding="utf-8")) if found[1] in wanted]
    requirements = folder / "requirements.txt"
    requirements.write_text("\n".join(pinned) + "\n", encoding="utf-8")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    command += ["--no-deps", "--require-hashes", "--only-binary", ":all:", "--implementation", "cp"]
    command += ["--python-version", _PYTHON, "--dest", str(folder), "--requirement", str(requirements)]
    for platform in _PLATFORMS:
        command += ["--platform", platform]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        said = done.stderr.strip().splitlines() or ["no reason"]
        raise OurError(f"the packages of the jobs could not be fetched by {sys.executable}; pip says: {said[-1]}")
    fetched = sorted(folder.glob("*.whl"))
    if {path.name for path in fetched} != set(WHEELS):
        raise OurError(
            f"{lock} names other packages than jobs/library.py and glue_jobs/jobs.yaml: "
            f"{', '.join(path.name for path in fetched)}"
        )
    return fetched
