"""Files of a checkout that a wheel lacks: the template and the jobs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal

from postroom.core.errors import SettingsError
from postroom.core.extras import require

_CHECKOUT = Path(__file__).resolve().parents[4]
_SCRIPTS: Final = {"compact": "compact_chunks.py", "expire": "expire_messages.py"}


def template_path() -> Path:
    """The path of template.yaml. Raises SettingsError if the library is not installed from a checkout."""
    path = _CHECKOUT / "template.yaml"
    if not path.is_file():
        raise SettingsError(
            "the local stack runs the template and the functions of a checkout, and this postroom is not installed "
            "from one: clone the repository and run `make demo` or `make up` there"
        )
    return path


def job_path(job: Literal["compact", "expire"]) -> Path:
    """The path of a Glue job. Raises SettingsError if it or Spark is missing."""
    path = _CHECKOUT / "glue_jobs" / _SCRIPTS[job]
    _require_jobs(path)
    require("a job", "glue")
    return path


def job_scripts() -> Sequence[Path]:
    """The paths of the Glue jobs. Raises SettingsError if they are missing."""
    paths = [_CHECKOUT / "glue_jobs" / name for name in _SCRIPTS.values()]
    _require_jobs(*paths)
    return paths


def layer_lock() -> Path:
    """The path of the lock file with the packages of functions and jobs. Raises SettingsError if it is missing."""
    path = _CHECKOUT / "layers" / "postroom" / "requirements.txt"
    _require_jobs(path)
    return path


def _require_jobs(*paths: Path) -> None:
    if not all(path.is_file() for path in paths):
        raise SettingsError(
            "the jobs are in a checkout, and this postroom is not installed from one: clone the repository, run "
            "`make install` there, and `postroom jobs` from its environment"
        )
