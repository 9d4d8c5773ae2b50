"""Something done in a process of its own, forked from this one; it can die at any point.

What is connected here would be connected there, too, and both would hear the same answers: nothing may be.
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
    """What comes of a process that ended without a word."""


class BrokenError(Exception):
    """The process failed at what nobody broke on purpose: the traceback of its error."""


_line: Connection | None = None
"""In a process of its own: to the parent."""


def pause() -> None:
    """In a process of its own: wait until the parent is through with what it does meanwhile."""
    assert _line is not None
    _line.send_bytes(_PAUSED)
    _line.recv_bytes()


def in_a_process(run: Callable[[], T], meanwhile: Callable[[], object] = lambda: None) -> T | Died:
    """What `run` answers, in a process of its own; Died if that ended first. Raises BrokenError.

    `meanwhile`: what is done here whenever the process calls `pause`.
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
