"""Plugins and hooks for all tests: tiers, order, costs, and service descriptions that are read once."""

import signal

from tests.sessions import share_descriptions

from postroom.core.reason import Reason

pytest_plugins = ["tests.tiers", "tests.schedule", "tests.costs"]
share_descriptions()
# A shell starts background jobs with SIGINT ignored, and the processes that tests start would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """The id of a test parameter: the name of a reason; no long text, because all processes of xdist must generate the
    same ids."""
    if isinstance(val, Reason):
        return str(val)
    return argname if isinstance(val, str | bytes) and len(val) > 60 else None
