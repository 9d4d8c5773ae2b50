"""Where jobs find this library: an object of the deployment's bucket, which the template names, too."""

from importlib.metadata import version
from typing import Final

LIBRARIES: Final = "jobs/lib/"


def library() -> str:
    """The object's name below LIBRARIES, as of this release."""
    return f"postroom-{version('postroom')}.zip"
