"""Where the template and the jobs are: in the checkout that this library is installed from."""

from pathlib import Path

from postroom.errors import OurError

_CHECKOUT = Path(__file__).resolve().parents[4]


def template_path() -> Path:
    """The path of template.yaml. Raises OurError where the library is not installed from a checkout."""
    path = _CHECKOUT / "template.yaml"
    if not path.is_file():
        raise OurError(
            "the local stack runs the template of a checkout, and this postroom is not installed from one: "
            "clone the repository and run `make demo` or `make up` there"
        )
    return path


def job_path(script: str) -> Path:
    """The path of a Glue job. Raises OurError where the library is not installed from a checkout."""
    path = _CHECKOUT / "glue_jobs" / script
    if not path.is_file():
        raise OurError(
            "the jobs are in a checkout, and this postroom is not installed from one: clone the repository and run "
            "`postroom jobs` there"
        )
    return path
