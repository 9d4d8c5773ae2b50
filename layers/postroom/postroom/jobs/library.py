"""The names of what the Glue jobs load from the deployment's bucket, as in the template."""

from importlib.metadata import version
from typing import Final

LIBRARIES: Final = "jobs/lib/"
WHEELS: Final = (
    "botocore-1.43.106-py3-none-any.whl",
    "s3transfer-0.19.3-py3-none-any.whl",
    "boto3-1.43.106-py3-none-any.whl",
    "orjson-3.13.0-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
    "msgspec-0.22.0-cp311-cp311-manylinux2014_x86_64.manylinux_2_17_x86_64.manylinux_2_28_x86_64.whl",
)
"""The packages that Glue installs below LIBRARIES, each after those that it needs: of the versions of the functions'
layer, for Python 3.11 on x86-64."""


def library() -> str:
    """The name of the library below LIBRARIES, for this release."""
    return f"postroom-{version('postroom')}.zip"


def script(job: str) -> str:
    """The name of a job's script below LIBRARIES, for this release. `job`: such as `compact_chunks`."""
    return f"{job}-{version('postroom')}.py"
