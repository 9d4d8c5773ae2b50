"""A registry of names for tests."""

from collections.abc import Mapping

from postroom.core.errors import NotNowError
from postroom.names.registry import MemoryRegistry, RegistryText
from postroom.protocols.dm3.reasons import PROFILE_LOOKUP_FAILED


class FakeRegistry(MemoryRegistry):
    """A registry in memory, which can fail for all names or for those in `away`. `lookups`: the requested names."""

    def __init__(
        self, texts: Mapping[str, Mapping[str, str]] | None = None, *away: str, keep_seconds: float = 300
    ) -> None:
        super().__init__(texts, keep_seconds)
        self.down = False
        self.away = set(away)
        self.lookups: list[str] = []

    def text(self, name: str, key: str, *, fresh: bool = False) -> RegistryText:
        """The text, or NotNowError(PROFILE_LOOKUP_FAILED)."""
        self.lookups.append(name)
        if self.down or name in self.away:
            raise NotNowError(PROFILE_LOOKUP_FAILED, "the registry is down")
        return super().text(name, key, fresh=fresh)
