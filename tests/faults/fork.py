"""A function run in a forked process, which can die at any point.

No connection may be open, because both processes would share it, and each would read the other's answers.
"""

import os
import pickle
import threading
import traceback
from collections.abc import Callable
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import TypeVar

T = TypeVar("T")
_PAUSED = b"paused"


class Died:
    """The result of a process that ended without one."""


class BrokenError(Exception):
    """The process failed without an injected fault; with the traceback."""


_line: Connection | None = None
"""Send a value to the parent (in the forked process)."""


def pause() -> None:
    """Let the parent run `meanwhile`, and wait for it (in the forked process)."""
    assert _line is not None
    _line.send_bytes(_PAUSED)
    _line.recv_bytes()


def in_a_process(run: Callable[[], T], meanwhile: Callable[[], object] = lambda: None) -> T | Died:
    """The result of `run` in a forked process, or Died if that ended first. Raises BrokenError.

    `meanwhile`: is called here whenever the process calls `pause`.
    """
    global _line
    assert threading.active_count() == 1, "only this thread would live on there"
    ours, theirs = Pipe()
    child = os.fork()
    if not child:
        ours.close()
        _line = theirs
        try:
            answer = pickle.dumps((run(), None))
        except BaseException:
            answer = pickle.dumps((None, traceback.format_exc()))
        theirs.send_bytes(answer)
        os._exit(0)
    theirs.close()
    try:
        while (said := ours.recv_bytes()) == _PAUSED:
            meanwhile()
            ours.send_bytes(b"go on")
    except EOFError:
        return Died()
    finally:
        ours.close()
        os.waitpid(child, 0)
    value, error = pickle.loads(said)
    if error is not None:
        raise BrokenError(error)
    return value  # type: ignore[no-any-return]
