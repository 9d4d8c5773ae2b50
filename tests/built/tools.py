"""The commands of sam, and the interpreters for its builds.

aws-sam-cli is in an environment of its own, because its requirements conflict with ours.
"""

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from tests.patience import PATIENCE

ROOT = Path(__file__).parent.parent.parent
SAM_VENV = ROOT / os.environ.get("SAM_VENV", ".venv-sam")
SAM = SAM_VENV / "bin" / "sam"
LAYERS = {"x86_64": "X8664Layer", "arm64": "Arm64Layer"}
ARCHITECTURE = {"aarch64": "arm64", "arm64": "arm64"}.get(platform.machine(), "x86_64")
"""Of this machine."""


def sam(*arguments: str, folder: Path, home: Path, environment: Mapping[str, str] | None = None) -> str:
    """Run sam; returns its output. Raises AssertionError with the output if it fails."""
    assert SAM.exists(), f"there is no {SAM}: `make test-all` installs aws-sam-cli there"
    given = {**environment_of_sam(home), **(environment or {})}
    done = subprocess.run(
        [SAM, *arguments], cwd=folder, env=given, capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def environment_of_sam(home: Path) -> dict[str, str]:
    """The whole environment of sam. `home`: the folder for its state."""
    return {
        **os.environ,
        # The layer can be built by any Python with pip, such as ours.
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "SAM_CLI_TELEMETRY": "0",
        "__SAM_CLI_APP_DIR": str(home),
        "AWS_DEFAULT_REGION": "eu-west-1",
    }


def rie_binary() -> Path:
    """The Runtime Interface Emulator, which comes with sam."""
    name = f"aws-lambda-rie-{ARCHITECTURE}"
    [found] = SAM_VENV.glob(f"lib/python3.*/site-packages/samcli/local/rapid/{name}")
    return found


def version_of(python: str) -> str:
    """The version of an interpreter, such as 3.13; empty if there is none."""
    say = "import sys; print('%d.%d' % sys.version_info[:2])"
    try:
        done = subprocess.run([python, "-I", "-c", say], capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


@cache
def runtime_python(wanted: str) -> str:
    """The interpreter for functions: of the requested version if this machine has it, otherwise ours."""
    named = shutil.which(f"python{wanted}") or ""
    beside = [str(path) for path in sorted(Path(sys.base_prefix).parent.glob(f"{wanted}*/bin/python{wanted}"))]
    return next((python for python in (named, *beside) if python and version_of(python) == wanted), sys.executable)
