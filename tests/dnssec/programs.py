"""The DNS programs that the cases need, and their Debian packages."""

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.patience import PATIENCE

PACKAGES = "bind9 bind9-dnsutils bind9-utils knot knot-dnssecutils unbound"
NEEDED = (
    "named",
    "delv",
    "dnssec-keygen",
    "dnssec-revoke",
    "dnssec-signzone",
    "knotd",
    "keymgr",
    "kzonesign",
    "unbound",
)

# Debian's folder for servers, which is not on the path of users other than root.
_PATH = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/usr/local/sbin"])
ENVIRONMENT = dict(os.environ)
"""The environment of every process. Without it, a child would get a copy of ours, which pytest changes at each test; a
thread that starts a process at that moment would fail (EFAULT)."""


class MissingError(Exception):
    """A program is not installed here; the text says how to get it."""


def require_all() -> None:
    """Raise `MissingError` unless every program is here."""
    for name in NEEDED:
        program(name)


def program(name: str) -> str:
    """The path of a program. Raises `MissingError`."""
    found = shutil.which(name, path=_PATH)
    if found is None:
        raise MissingError(f"{name} not found; on Debian: apt-get install {PACKAGES}")
    return found


def run(name: str, *arguments: object, cwd: Path) -> str:
    """What the program prints on standard output. A failure is an error that repeats what it said."""
    return _ran([program(name), *map(str, arguments)], cwd).stdout


def version(name: str) -> str:
    """Its version, as in 9.18.49."""
    # Some say it on standard error.
    done = _ran([program(name), "-v" if name == "delv" else "-V"], Path.cwd())
    found = re.search(r"\d+\.\d+\.\d+", done.stdout + done.stderr)
    assert found is not None
    return found[0]


def _ran(command: Sequence[str], cwd: Path) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        command, cwd=cwd, env=ENVIRONMENT, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")
    return done
