"""The name of the jobs' Python library in the deployment's bucket, as in the template."""

from importlib.metadata import version
from typing import Final

LIBRARIES: Final = "jobs/lib/"


def library() -> str:
    """The object's name below LIBRARIES, for this release."""
    return f"postroom-{version('postroom')}.zip"
