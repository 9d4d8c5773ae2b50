"""A process of its own for each picture, in which Pillow decodes it: what the picture does there ends with it.

The process has no environment but the place of Pillow, and none of our descriptors but its two pipes. When it has
imported what it needs, and before it reads the picture, it limits its memory and its time on a processor, and gives up
the right to open anything: no file, no socket (`picture_worker`). One picture never meets another. That is no sandbox
of the system: code that takes the process over has its user's rights to whatever needs no descriptor.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from struct import Struct
from subprocess import DEVNULL, PIPE, Popen
from threading import Timer
from typing import Final

from postroom.core.errors import TheirError
from postroom.core.extras import require
from postroom.protocols.status.media import MediaType
from postroom.protocols.status.reasons import MEDIA_INVALID, MEDIA_TOO_LARGE

WORKER: Final = Path(__file__).with_name("picture_worker.py")

_LENGTH: Final = Struct(">I")
_DONE, _TOO_LARGE = 0, 11
"""Exit codes of the program."""
_LOADERS: Final = ("DYLD_LIBRARY_PATH", "LD_LIBRARY_PATH", "SYSTEMROOT")
"""What a system may need to load Python itself."""


@dataclass(frozen=True, slots=True)
class PictureProcess:
    """How the program runs. `seconds`: on the clock and on a processor, then it is killed. `memory_bytes`: in all."""

    seconds: int
    memory_bytes: int
    program: Path = WORKER

    def run(self, data: bytes, max_bytes: int, work: str, type_: MediaType, *numbers: int) -> bytes:
        """The program's answer, of at most `max_bytes` bytes, to a picture.

        Raises TheirError: MediaTooLarge; MediaInvalid if it cannot be decoded, crashes the program or takes too long.
        Raises SettingsError: Pillow is not installed. Raises OSError: the program cannot be started.
        """
        with self._started(work, type_, *numbers) as process:
            if process.stdin is None or process.stdout is None:
                raise OSError("the program of pictures has no pipes")
            with suppress(OSError), process.stdin as pipe:
                pipe.write(_LENGTH.pack(len(data)) + data)
            answer = process.stdout.read(_LENGTH.size + max_bytes + 1)
            # The end of its output comes before its exit code.
            code = None if len(answer) > _LENGTH.size + max_bytes else process.wait()
        if code == _TOO_LARGE:
            raise TheirError(MEDIA_TOO_LARGE, "it has more pixels, or needs more memory, than is allowed")
        if code != _DONE or answer[: _LENGTH.size] != _LENGTH.pack(max(0, len(answer) - _LENGTH.size)):
            raise TheirError(MEDIA_INVALID, f"it cannot be decoded as {type_} within {self.seconds} seconds")
        return answer[_LENGTH.size :]

    @contextmanager
    def _started(self, work: str, *arguments: str | int) -> Iterator[Popen[bytes]]:
        """The program, which is killed after its time, and at the latest when the block ends."""
        command = [
            sys.executable, "-S", "-s", "-P", "-B", str(self.program), str(self.memory_bytes), str(self.seconds), work,
            *map(str, arguments),
        ]  # fmt: skip
        environment = {name: os.environ[name] for name in _LOADERS if name in os.environ}
        environment["PYTHONPATH"] = str(_packages())
        with Popen(command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=environment) as process:  # noqa: S603
            timer = Timer(self.seconds, process.kill)
            timer.daemon = True
            timer.start()
            try:
                yield process
            finally:
                timer.cancel()
                process.kill()


def _packages() -> Path:
    """The folder in which Pillow is."""
    require("a picture", "chat")
    found = find_spec("PIL")
    if found is None or found.origin is None:
        raise OSError("Pillow has no folder here")
    return Path(found.origin).parents[1]
