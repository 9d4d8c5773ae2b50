"""Resolvers with long time-outs, for answers that always arrive, however busy the machine is."""

from typing import Any, Final

from postroom.names.dns import Resolvers

PATIENCE: Final = 120.0


def patient(servers: str, **options: Any) -> Resolvers:
    """Resolvers with these options that have minutes for each answer."""
    return Resolvers(servers, **{"try_seconds": PATIENCE, "budget_seconds": PATIENCE, **options})
