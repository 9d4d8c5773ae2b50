"""A Glue job on this machine: the same file, in a local Spark."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from postroom.core.errors import OurError
from postroom.local.account import LocalAccount
from postroom.local.java import java_home

_SUBMIT: Final = (
    "--master local[{cores},{tries}] --driver-memory {memory} --driver-java-options -XX:TieredStopAtLevel=1 "
    "--conf spark.ui.enabled=false "
    "--conf spark.ui.showConsoleProgress=false pyspark-shell"
)
"""Java's second compiler would take longer than a job on a laptop's mail."""
_TASK_TRIES: Final = 4
"""As on a cluster: a task that fails temporarily is repeated."""
_MEMORY: Final = "2g"
_SHOWN_LINES: Final = 15


def command_of(
    script: Path, arguments: Sequence[str], environment: Mapping[str, str], *, cores: str = "*"
) -> tuple[list[str], dict[str, str]]:
    """The command that runs a job, and its whole environment. `environment`: beside the variables that Spark needs.

    Raises OurError if there is no Java.
    """
    submit = _SUBMIT.format(cores=cores, tries=_TASK_TRIES, memory=_MEMORY)
    whole = {**environment, **spark_environment(), "PYSPARK_SUBMIT_ARGS": submit}
    return [sys.executable, str(script), *arguments], whole


def spark_environment() -> dict[str, str]:
    """The environment for Spark: this Python, the loopback, and the path of Java.

    Raises OurError if there is no Java.
    """
    home = java_home()
    java = {"JAVA_HOME": str(home)} if home else {}
    return {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1", **java}


def run_job(script: Path, arguments: Sequence[str], environment: Mapping[str, str]) -> str:
    """Run a job; returns its last line of output, which is its report.

    `environment`: as for `command_of`. Raises OurError as that does, and if the job failed, with the end of its output.
    """
    command, whole = command_of(script, arguments, environment)
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log:
        ran = subprocess.run(command, env=whole, stdout=subprocess.PIPE, stderr=log, text=True, check=False)  # noqa: S603
        if ran.returncode:
            log.seek(0)
            last = "".join(log.readlines()[-_SHOWN_LINES:])
            raise OurError(f"the job {script.stem} failed; the end of what it said:\n{last.rstrip()}")
    return ran.stdout.rstrip().rpartition("\n")[2]


def environment_of(account: LocalAccount, region: str) -> dict[str, str]:
    """This process's environment, for a job in an account of a local stack, without the caller's AWS settings."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    return {
        **kept,
        "AWS_ACCESS_KEY_ID": account.digits,
        "AWS_SECRET_ACCESS_KEY": account.secret,
        "AWS_DEFAULT_REGION": region,
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    }
