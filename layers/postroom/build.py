"""Makes the layer's contents: the library's packages that functions need, and the wheels that those need.

    python3 build.py FOLDER ARCHITECTURE RUNTIME      (as the Makefile beside it calls it, for `sam build`)

Wheels are fetched for Lambda's machine, whatever this one is, by the hashes of requirements.txt. Any Python from 3.9
with pip will do. The same input gives the same files, bit for bit.

Where there is a Python of the runtime's version, modules are compiled, and lie there compiled only: Lambda writes
nothing down beside a layer. It would compile all of them anew at every cold start, which takes longer than the rest.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

MACHINES = {"x86_64": "x86_64", "arm64": "aarch64"}
PLATFORMS = ("manylinux_2_34", "manylinux_2_28", "manylinux2014")
"""Amazon Linux 2023, on which the runtimes are built, has glibc 2.34."""

PACKAGES_ELSEWHERE = ("cli", "client", "cost", "demo", "doctor", "jobs", "local", "protocols/status", "runtime/jobs")
"""Packages for the command line, owners' programs, Glue and the local stack; no function imports them."""

SERVICES = ("dynamodb", "events", "lambda", "s3", "secretsmanager", "sns", "sqs")
"""Those that functions have clients of: botocore describes some 400 others, in most of its bytes."""

NEVER_IMPORTED = (
    "bin",
    "boto3/data",
    "boto3/examples",
    # What makes modules of C, which are made.
    "cffi",
    "pycparser",
    *(
        f"Crypto/{part}"
        for part in ("Cipher", "IO", "Math", "Protocol", "PublicKey", "Random", "SelfTest", "Signature")
    ),
    "aws_lambda_powertools/event_handler",
)
"""Of the large; a test runs what is left."""

_FOLDERS = ("__pycache__", "test", "tests")
_ENDINGS = (".pyi", ".pyc", "/py.typed")
_OF_THIS_INSTALLATION = ("RECORD", "INSTALLER", "REQUESTED", "direct_url.json")
"""Pip's notes on how and by whom: they differ from one machine to the next."""


def main(folder: Path, architecture: str, runtime: str) -> None:
    """Fill the folder of the artifact, below `python/`, where Lambda's Python looks."""
    here, target = Path(__file__).parent, folder / "python"
    _install(here / "requirements.txt", target, architecture, runtime)
    shutil.copytree(here / "postroom", target / "postroom")
    for package in PACKAGES_ELSEWHERE:
        shutil.rmtree(target / "postroom" / package)
    _thin(target)
    _compile(target, runtime)
    for path in folder.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)


def _install(requirements: Path, target: Path, architecture: str, runtime: str) -> None:
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
    command += ["--no-deps", "--require-hashes", "--only-binary", ":all:", "--implementation", "cp"]
    command += ["--python-version", runtime, "--target", str(target), "--requirement", str(requirements)]
    for platform in PLATFORMS:
        command += ["--platform", f"{platform}_{MACHINES[architecture]}"]
    # Whoever runs `sudo sam build` need not be told of it by pip.
    if subprocess.run(command, env={**os.environ, "PIP_ROOT_USER_ACTION": "ignore"}, check=False).returncode:  # noqa: S603
        sys.exit(
            f"the layer's wheels could not be installed by {sys.executable}; pip says above why. It takes any Python "
            "with pip, and a package index that has them: PYTHON=/path/to/python3 sam build"
        )


def _thin(target: Path) -> None:
    for name in NEVER_IMPORTED:
        shutil.rmtree(target / name)
    for data in (target / "botocore" / "data").iterdir():
        if data.is_dir() and data.name not in SERVICES:
            shutil.rmtree(data)
    for path in sorted(target.rglob("*"), reverse=True):
        if path.is_dir() and path.name in _FOLDERS:
            shutil.rmtree(path)
        elif path.is_file() and (path.as_posix().endswith(_ENDINGS) or _is_pips_note(path)):
            path.unlink()


def _compile(target: Path, runtime: str) -> None:
    python = next((each for each in (sys.executable, f"python{runtime}") if _version_of(each) == runtime), None)
    if python is None:
        print(
            f"no Python {runtime} is here: modules stay uncompiled, and a cold start takes twice as long",
            file=sys.stderr,
        )
        return
    command = [python, "-m", "compileall", "-q", "-b", "--invalidation-mode", "unchecked-hash"]
    # As they lie on Lambda: tracebacks name them so, wherever they were compiled.
    command += ["-s", str(target), "-p", "/opt/python", str(target)]
    subprocess.run(command, env={**os.environ, "PYTHONHASHSEED": "0"}, check=True)  # noqa: S603
    for compiled in target.rglob("*.pyc"):
        compiled.with_suffix(".py").unlink()


def _version_of(python: str) -> str:
    say = "import sys; print('%d.%d' % sys.version_info[:2])"
    try:
        return subprocess.run([python, "-c", say], capture_output=True, text=True, check=True).stdout.strip()  # noqa: S603
    except (OSError, subprocess.CalledProcessError):
        return ""


def _is_pips_note(path: Path) -> bool:
    return path.parent.name.endswith(".dist-info") and path.name in _OF_THIS_INSTALLATION


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
