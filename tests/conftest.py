"""What holds for all tests: tiers, order, costs, and descriptions of services that are read once."""

import signal

from tests.sessions import share_descriptions

from postroom.core.reason import Reason

pytest_plugins = ["tests.tiers", "tests.schedule", "tests.costs"]
share_descriptions()
# A shell has what it starts in the background ignore interrupts, and what tests start would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """A reason is named by its code. A long text names no test: it may be made anew by each process, and they must
    agree on the names."""
    if isinstance(val, Reason):
        return str(val)
    return argname if isinstance(val, str | bytes) and len(val) > 60 else None
