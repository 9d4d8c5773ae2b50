"""A registry some of whose texts were looked up by another process, which had more time."""

from collections.abc import Callable
from contextlib import suppress

from postroom.core.errors import NotNowError
from postroom.names.registrable_domains import Hold, look_up_of
from postroom.names.registry import Registry, RegistryText


class SharedRegistry:
    """A registry behind the texts that all processes share. Safe to share.

    `find`: a text that is kept for all; None: there is none. It may raise NotNowError. `hold`: limits the look-ups of
    the registry.
    """

    def __init__(
        self, registry: Registry, find: Callable[[str, str], RegistryText | None], hold: Hold | None = None
    ) -> None:
        self._registry = registry
        self._find = find
        self._hold = hold

    def kept(self, name: str, key: str) -> RegistryText | None:
        """The shared text; None: there is none now."""
        with suppress(NotNowError):  # the registry knows it, too
            return self._find(name, key)
        return None

    def text(self, name: str, key: str, *, fresh: bool = False) -> RegistryText:
        """The shared text, or else that of the registry; if `fresh`, that of the registry. Raises as that does, and
        NotNowError(TOO_MANY_LOOK_UPS)."""
        if kept := None if fresh else self.kept(name, key):
            return kept
        with look_up_of(name, self._hold):
            return self._registry.text(name, key, fresh=fresh)
