"""Where the template is: the local stack deploys what is in the checkout that this library is installed from."""

from pathlib import Path

from postroom.errors import OurError


def template_path() -> Path:
    """The path of template.yaml. Raises OurError where the library is not installed from a checkout."""
    path = Path(__file__).resolve().parents[4] / "template.yaml"
    if not path.is_file():
        raise OurError(
            "the local stack runs the template of a checkout, and this postroom is not installed from one: "
            "clone the repository and run `make demo` or `make up` there"
        )
    return path
