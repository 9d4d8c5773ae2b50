"""Profiles of users and delivery services by name: looked up, read, cached (dm3 §2.1; decision "Profiles")."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, Generic, NamedTuple, TypeAlias, TypeVar

from postroom.core.errors import NotNowError, TheirError
from postroom.core.ijson import JsonValue
from postroom.core.loading_cache import LoadingCache
from postroom.core.reasons import TOO_MANY_LOOK_UPS
from postroom.names.registrable_domains import Hold, look_up_of
from postroom.names.registry import FRESH_SECONDS, MAX_TEXT_SECONDS, PROFILE_KEY, SERVICE_KEY, Registry, RegistryText
from postroom.names.uris import ReadUri, is_fetched, read_data_uri, scheme_of
from postroom.protocols.dm3.names import normalize
from postroom.protocols.dm3.profile import (
    ServiceProfile,
    UserProfile,
    read_service_profile,
    read_user_profile,
)
from postroom.protocols.dm3.reasons import PROFILE_UNKNOWN

P = TypeVar("P")

MAX_PROFILES: Final = 4096
"""The most cached profiles of each kind, and the most cached names without one."""
NONE_SECONDS: Final = 30
"""A missing or malformed profile is cached for so long only, because it is often repaired soon."""
MAX_CACHED_BYTES: Final = 4 << 20
"""The most characters of the URIs, or bytes of the documents, of all cached profiles of a kind: some 300 are usual.

Parsed, they take up to 30 times as much memory.
"""

KeptText: TypeAlias = Callable[[str, str], RegistryText | None]
"""Finds a text by name and key; None: there is none."""


class FoundProfile(NamedTuple, Generic[P]):
    """A profile, and how it was found: the evidence of its registry, and as `uri` the scheme that it was published
    under. As JSON, at most 500 bytes, without any name.
    """

    profile: P
    evidence: "Mapping[str, JsonValue]"


FoundUser: TypeAlias = FoundProfile[UserProfile]


class Profiles:
    """Finds profiles. Safe to share among threads; one look-up at a time for each name, shared by all threads that wait
    for it.

    `clock`: epoch seconds. `pinned`: a document in front of the registry, in which a name is looked up each time: what
    is pinned there counts at once, whatever was found before. A profile is cached for as long as its text may be kept.
    A failed look-up is not cached: the registry itself limits how often it is asked, and the reader of URIs a host. At
    most `most` profiles, and names without one, are cached, of users and of services each.

    `kept`: a text that was looked up before, for all processes. `senders`, `receivers`, `owners`: limit the look-ups of
    those: strangers choose them, or what is published of them. While too many are made, a profile counts for an hour at
    most, also if its text may be kept no longer.
    """

    def __init__(
        self,
        registry: Registry,
        clock: Callable[[], float],
        read_uri: ReadUri = read_data_uri,
        *,
        pinned: Registry | None = None,
        most: int = MAX_PROFILES,
        kept: KeptText = lambda _name, _key: None,
        senders: Hold | None = None,
        receivers: Hold | None = None,
        owners: Hold | None = None,
    ) -> None:
        self._senders, self._receivers, self._owners = senders, receivers, owners

        def kind(key: str, read: Callable[[JsonValue], P]) -> _ProfilesOfKind[P]:
            return _ProfilesOfKind(registry, kept, pinned, key, read_uri, read, clock, most)

        self._users = kind(PROFILE_KEY, read_user_profile)
        self._services = kind(SERVICE_KEY, read_service_profile)

    def user(self, name: str, *, fresh: bool = False) -> UserProfile:
        """The profile of a user. `fresh`: as it is published now, or was two seconds ago.

        Raises TheirError (NAME_INVALID, PROFILE_UNKNOWN, PROFILE_INVALID, PROFILE_URI_UNSUPPORTED), or
        NotNowError(PROFILE_LOOKUP_FAILED).
        """
        return self.find_user(name, fresh=fresh).profile

    def find_user(self, name: str, *, fresh: bool = False) -> FoundUser:
        """The same, with how it was found. Raises as `user` does."""
        return self._users.find(name, fresh=fresh)

    def find_sender(self, name: str, *, fresh: bool = False) -> FoundUser:
        """The same for a sender of a request. Raises NotNowError(TOO_MANY_LOOK_UPS), too."""
        return self._users.find(name, fresh=fresh, hold=self._senders)

    def find_receiver(self, name: str) -> FoundUser:
        """The same for a receiver of a request. Raises NotNowError(TOO_MANY_LOOK_UPS), too."""
        return self._users.find(name, hold=self._receivers)

    def owner(self, name: str, *, fresh: bool = False) -> UserProfile:
        """The profile of the owner of a mailbox that a request is about. Raises NotNowError(TOO_MANY_LOOK_UPS), too."""
        return self._users.find(name, fresh=fresh, hold=self._owners).profile

    def service(self, name: str) -> ServiceProfile:
        """The profile of a delivery service. Raises as `user` does."""
        return self._services.find(name).profile


class _ProfilesOfKind(Generic[P]):
    """The profiles of one kind."""

    def __init__(
        self,
        registry: Registry,
        kept: KeptText,
        pinned: Registry | None,
        key: str,
        read_uri: ReadUri,
        read: Callable[[JsonValue], P],
        clock: Callable[[], float],
        most: int,
    ) -> None:
        self._registry = registry
        self._kept = kept
        self._pinned = pinned
        self._key = key
        self._read_uri = read_uri
        self._read = read
        self._cache: LoadingCache[_Published[P]] = LoadingCache(
            clock,
            MAX_TEXT_SECONDS,
            most=most,
            weigh=lambda published: published.size,
            most_weight=MAX_CACHED_BYTES,
            errors={TheirError: NONE_SECONDS},
        )

    def find(self, written: str, *, fresh: bool = False, hold: Hold | None = None) -> FoundProfile[P]:
        name = normalize(written)
        max_age = FRESH_SECONDS if fresh else _seconds
        pinned = self._pinned.text(name, self._key, fresh=fresh) if self._pinned else None
        if pinned and pinned.value is not None:
            return self._cache.get(f"{name} pinned", partial(self._read_text, pinned), max_age=max_age).found
        try:
            return self._cache.get(name, lambda: self._look_up(name, hold, fresh=fresh), max_age=max_age).found
        except NotNowError as error:
            last = None if fresh or error.reason != TOO_MANY_LOOK_UPS else self._cache.last(name)
            if last is None:
                raise
            return last.found

    def _look_up(self, name: str, hold: Hold | None, *, fresh: bool) -> "_Published[P]":
        kept = None if fresh else self._kept(name, self._key)
        if kept is not None and not is_fetched(kept.value or ""):
            return self._read_text(kept)
        with look_up_of(name, hold):
            return self._read_text(kept or self._registry.text(name, self._key, fresh=fresh))

    def _read_text(self, text: RegistryText) -> "_Published[P]":
        if not text.value:
            raise TheirError(PROFILE_UNKNOWN, f"there is no text {self._key} at the name")
        published = self._read_uri(text.value)
        evidence = {**text.evidence, "uri": scheme_of(text.value)}
        return _Published(FoundProfile(self._read(published.value), evidence), text.seconds, published.size)


def _seconds(published: "_Published[P]") -> float:
    return published.seconds


class _Published(NamedTuple, Generic[P]):
    """A profile, for how many seconds it may be cached, and the size of what it was read from."""

    found: FoundProfile[P]
    seconds: float
    size: int
