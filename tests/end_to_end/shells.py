"""A shell for the commands of a page of docs/, with `postroom` on its path and the local stack configured."""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from tests.patience import PATIENCE

from postroom.cli.up import describe_stack
from postroom.demo.stack import DemoStack
from postroom.local.stack import LocalStack

Shell = Callable[[str], str]


def open_shell(demo_stack: DemoStack, folder: Path, **environment: str) -> Shell:
    """A function that runs a script in a folder and returns its output; every command must succeed."""
    return shell_beside(demo_stack.stack, folder, **environment)


def shell_beside(stack: LocalStack, folder: Path, *, only: str = "", **environment: str) -> Shell:
    """The same for any local stack. `only`: the deployment that it knows, if not all."""
    local, described = folder / "local.json", describe_stack(stack)
    if only:
        described = replace(described, deployments={only: described.deployments[only]})
    described.write(local)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

    def run(script: str) -> str:
        done = subprocess.run(
            ["sh", "-euc", script], cwd=folder, capture_output=True, text=True, timeout=PATIENCE, check=False,
            env={**os.environ, "PATH": path, "POSTROOM_LOCAL": str(local), **environment},
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run
