"""The supervisor of the embedded AWS: nothing of its command is left, whenever its owner ends."""

import os
import subprocess
import sys
from pathlib import Path

from tests.patience import PATIENCE

from postroom.local import supervisor


def test_an_owner_that_ends_before_it_knows_the_group_leaves_nothing(tmp_path: Path) -> None:
    directory = tmp_path / "temporary"
    directory.mkdir()
    command = [sys.executable, "-c", f"import time; time.sleep({10 * PATIENCE})"]
    read, write = os.pipe()
    os.close(read)
    supervising = subprocess.Popen(
        [sys.executable, "-P", supervisor.__file__, "0", str(directory), *command],
        stdin=subprocess.PIPE, stdout=write, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    os.close(write)
    # The command has the pipe of errors, too: this lasts until both have ended.
    _, errors = supervising.communicate(timeout=PATIENCE)
    assert (supervising.returncode, errors) == (0, "")
    assert not directory.exists()
