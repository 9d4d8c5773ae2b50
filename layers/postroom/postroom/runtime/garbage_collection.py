"""Garbage collection while a function starts: importing this module pauses it, `resume` ends the pause.

A start makes some 100,000 objects that stay for the life of the process. To look through them again and again while
their number grows takes a tenth of a cold start (docs/evidence/benchmarks.md, start).
"""

import gc

gc.disable()


def resume() -> None:
    """Collect garbage from now on, but do not look through the objects that the start has made."""
    gc.freeze()
    gc.enable()
