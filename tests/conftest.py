"""Property tests on a busy machine: how long an example takes is no reason to fail."""

import os

from hypothesis import HealthCheck, settings

settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# With CI set, hypothesis loads a profile of its own, which hurries nobody either.
if "CI" not in os.environ:
    settings.load_profile("unhurried")
