"""A registry some of whose texts were looked up by another process, which had more time."""

from collections.abc import Callable
from contextlib import suppress

from postroom.core.errors import NotNowError
from postroom.names.registry import Registry, RegistryText


class SharedRegistry:
    """A registry behind the texts that all processes share. Safe to share.

    `find`: a text that is kept for all; None: there is none. It may raise NotNowError.
    """

    def __init__(self, registry: Registry, find: Callable[[str, str], RegistryText | None]) -> None:
        self._registry = registry
        self._find = find

    def text(self, name: str, key: str, *, fresh: bool = False) -> RegistryText:
        """The shared text, or else that of the registry; if `fresh`, that of the registry. Raises as that does."""
        kept = None
        if not fresh:
            with suppress(NotNowError):  # the registry knows it, too
                kept = self._find(name, key)
        return kept or self._registry.text(name, key, fresh=fresh)
