"""The DNS resolvers of the functions."""

from postroom.core.settings import Settings
from postroom.names.dns import Resolvers
from postroom.runtime.shared import named


def build_resolvers(settings: Settings) -> Resolvers:
    """Our own choice of resolvers, as RESOLVERS names them."""
    with named("RESOLVERS"):
        return Resolvers(
            settings.resolvers, try_seconds=settings.dns_try_seconds, budget_seconds=settings.dns_budget_seconds
        )
