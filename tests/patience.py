"""The bound of every wait in tests: what comes late on a busy machine still comes, and only what hangs takes longer.

A wait is for progress: an event, an exit, a line of output. A shorter bound would be a verdict on the machine. Where
something must not come, or must come too late, its opposite is what ends the wait, not a number of seconds.
"""

from typing import Final

PATIENCE: Final = 1200.0
"""Seconds."""
