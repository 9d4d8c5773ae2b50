"""Whom the functions ask for what stands in DNS."""

from postroom.names.dns import Resolvers
from postroom.post.wiring.shared import named
from postroom.settings import Settings


def build_resolvers(settings: Settings) -> Resolvers:
    """Our own choice of resolvers, as RESOLVERS names them."""
    with named("RESOLVERS"):
        return Resolvers(
            settings.resolvers, try_seconds=settings.dns_try_seconds, budget_seconds=settings.dns_budget_seconds
        )
