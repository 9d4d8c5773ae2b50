"""Senders' keys with patience for silent zones: how often a zone is asked that never answered, and for how many claims.

A domain of which a key was proven is looked up for each of its messages, as often as they are tried again, unless it
has been silent for an hour. For other domains, all claims of one zone share its look-ups, which soon are hours apart:
forged mail in the name of a domain that does not answer must neither flood its servers nor hold the worker.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from threading import Lock
from typing import Final

from postroom.core.errors import NotNowError, TheirError
from postroom.core.expiring_cache import Cache, CacheEntry
from postroom.core.loading_cache import LoadingCache
from postroom.core.reason import Reason
from postroom.core.settings import DAY_SECONDS
from postroom.outbound.ports import Clock
from postroom.pipeline.ports import SenderKey, SenderKeys
from postroom.pipeline.silence import Silence
from postroom.protocols.nlweb.reasons import KEY_LOOKUP_FAILED, SENDER_DNS_SILENT
from postroom.storage.limits.sender_zones import Backlog, DomainProof, SenderZones, ZoneState

FIRST_SECONDS: Final = 5
FACTOR: Final = 3
LONGEST_SECONDS: Final = 6 * 3600
PROVEN_SECONDS: Final = 90 * DAY_SECONDS
"""How long a domain counts as proven after a proof was recorded; it is recorded again in the second half."""
PROVEN_SILENT_SECONDS: Final = 3600
"""How long the messages of a proven domain that does not answer are tried again each by itself; then they wait, too."""
LOOK_UP_SECONDS: Final = 30
"""A look-up of a silent zone ends within this time; meanwhile, its other claims wait for the result."""
PROOF_CACHE_SECONDS: Final = 10
STATE_CACHE_SECONDS: Final = 2
"""How long rows are cached: claims of one batch are judged at the same time."""
MAX_ZONES: Final = 10_000
"""Silent zones that a worker remembers; strangers choose them."""
MAX_WAITING_OF_ZONE: Final = 1_000
MAX_WAITING: Final = 20_000
"""Claims that wait for one zone, and for all: beyond these, the inbox takes no more messages of silent zones.

A server may be silent for each name below its domain as if it were a zone. So if too many claims wait in all, the inbox
takes no messages of any zone below a domain of two labels for which, with the zones below it, too many wait.

SQS keeps at most 120,000 received messages of a queue, and claims that came before the inbox noticed are added.
"""
MAX_WAITING_OF_NEW_ZONES: Final = 60_000
"""Beyond so many, the inbox takes no messages of domains that are not proven: what is accepted must not be lost."""


class ZoneSilentError(NotNowError):
    """The zone of a sender whose domain was never proven does not answer."""

    def __init__(self, reason: Reason, detail: str, silence: Silence) -> None:
        super().__init__(reason, detail)
        self.silence = silence

    def __reduce__(self) -> tuple[type["ZoneSilentError"], tuple[Reason, str, Silence]]:  # type: ignore[override]
        return type(self), (self.reason, self.detail, self.silence)


def seconds_silent(failed: int) -> int:
    """Seconds from the nth failed look-up of a zone to the next one: 5, 15, 45 … at most 6 hours."""
    return int(min(FIRST_SECONDS * FACTOR ** min(failed - 1, 10), LONGEST_SECONDS))


class PatientKeys:
    """Senders' keys, looked up by `keys`, as often as the state of their zone allows.

    `zones_of`: the zones that a domain can be in, from the top down. `silent_zone`: which of them does not answer;
    None: our resolvers do not. `is_silent`: whether a domain does not answer, whatever the name of the key is.
    """

    def __init__(
        self,
        keys: SenderKeys,
        zones: SenderZones,
        zones_of: Callable[[str], list[str]],
        silent_zone: Callable[[str], str | None],
        is_silent: Callable[[str], bool],
        clock: Clock,
    ) -> None:
        self._keys = keys
        self._zones = zones
        self._zones_of = zones_of
        self._silent_zone = silent_zone
        self._is_silent = is_silent
        self._clock = clock
        self._proofs: LoadingCache[DomainProof] = LoadingCache(clock, PROOF_CACHE_SECONDS, most=MAX_ZONES)
        self._recorded: LoadingCache[int] = LoadingCache(clock, PROOF_CACHE_SECONDS, most=MAX_ZONES)
        self._states: LoadingCache[ZoneState] = LoadingCache(clock, STATE_CACHE_SECONDS, most=MAX_ZONES)
        self._silent_until: Cache[int] = Cache(MAX_ZONES)
        self._lock = Lock()

    def silent_until(self, name: str) -> int | None:
        """When the zone of a key is asked again, from memory; None: it may be asked, or has to be looked up.

        Nobody asks it before. A domain that was proven meanwhile is looked up then.
        """
        now = self._clock()
        with self._lock:
            found = [self._silent_until.get(zone, now) for zone in self._zones_of(domain_of(name))]
        return next((each.value for each in found if each), None)

    def remembered(self, name: str) -> SenderKey | None:
        """As SenderKeys."""
        return self._keys.remembered(name)

    def find(self, name: str, *, fresh: bool = False) -> SenderKey:
        """As SenderKeys. Raises ZoneSilentError, too, and NotNowError(STORE_UNAVAILABLE)."""
        remembered = self._keys.remembered(name)
        if remembered is not None:
            return self._keys.find(name, fresh=True) if fresh else remembered
        domain, now = domain_of(name), int(self._clock())
        proof = self._proofs.get(domain, lambda: self._zones.proof(domain))
        is_trusted = _is_trusted(proof, now)
        try:
            found = self._keys.find(name, fresh=fresh) if is_trusted else self._ask(name, domain, now)
        except TheirError:
            if proof.silent_since is not None:
                self._record(domain, proof.until)
            raise
        except NotNowError as error:
            # A stranger chooses the name of the key: that it fails does not say that the domain is silent.
            failed = is_trusted and proof.silent_since is None and error.reason == KEY_LOOKUP_FAILED
            if failed and self._is_silent(domain):
                with suppress(NotNowError):  # it is recorded at the next look-up
                    self._zones.fall_silent(domain, now)
                self._proofs.drop(domain)
            raise
        if proof.silent_since is not None or proof.until < now + PROVEN_SECONDS // 2:
            self._record(domain, now + PROVEN_SECONDS)
        return found

    def _record(self, domain: str, proven_until: int) -> None:
        """Record that a domain answers: once, although several claims wait for its key."""

        def prove() -> int:
            self._zones.prove(domain, proven_until)
            return proven_until

        with suppress(NotNowError):  # it is recorded at the next look-up
            self._recorded.get(domain, prove)
            self._proofs.drop(domain)

    def _ask(self, name: str, domain: str, now: int) -> SenderKey:
        """Look up a key of a domain that is not trusted to answer."""
        known = {zone: self._state(zone) for zone in self._zones_of(domain)}
        silent = {zone: state.due for zone, state in known.items() if state.due is not None}
        for zone, due in silent.items():
            if due > now:
                raise self._error(KEY_LOOKUP_FAILED, name, zone, due)
        for zone in silent:
            known[zone] = self._count_look_up(name, zone, known[zone], now)
        try:
            found = self._keys.find(name)
        except TheirError:
            self._answered(silent)
            raise
        except NotNowError as error:
            raise self._silent(name, domain, known, error) from error
        self._answered(silent)
        return found

    def _state(self, zone: str) -> ZoneState:
        return self._states.get(zone, lambda: self._zones.read(zone))

    def _count_look_up(self, name: str, zone: str, state: ZoneState, now: int) -> ZoneState:
        """Count the look-up of a zone that is due. Raises ZoneSilentError if another worker makes it.

        It counts as failed beforehand: a killed worker must not make it free.
        """
        state, ours = self._zones.silence(zone, state, now, now + LOOK_UP_SECONDS)
        self._states.drop(zone)
        if not ours:
            raise self._error(KEY_LOOKUP_FAILED, name, zone, state.due or now)
        return state

    def _answered(self, zones: Iterable[str]) -> None:
        for zone in zones:
            with suppress(NotNowError):  # its claims wait until it is due
                self._zones.answered(zone)
            self._states.drop(zone)

    def _silent(self, name: str, domain: str, known: dict[str, ZoneState], error: NotNowError) -> NotNowError:
        """The error for a failed look-up. The zone that did not answer is silent; those above it have answered.

        `known`: the zones of the domain from the top down, with the look-ups that were counted.
        """
        zones = list(known)
        # A zone whose answers are too costly does answer; it is not asked more often than the others.
        zone = self._silent_zone(domain) if error.reason == KEY_LOOKUP_FAILED else zones[-1]
        if zone is None:
            self._take_back(known)
            return error
        self._answered(above for above in zones[: zones.index(zone)] if known[above].is_silent)
        state, now = known[zone], int(self._clock())
        if state.is_silent:
            due = now + seconds_silent(state.failed)
            self._zones.put_off(zone, state, state.failed, due)
        else:
            state, _ = self._zones.silence(zone, state, now, now + seconds_silent(state.failed + 1))
            due = state.due or now
        self._states.drop(zone)
        return self._error(error.reason, name, zone, due)

    def _take_back(self, known: dict[str, ZoneState]) -> None:
        """Do not count look-ups that failed because our own resolvers do not answer."""
        for zone, state in known.items():
            if state.is_silent:
                with suppress(NotNowError):  # one failure more is counted
                    self._zones.put_off(zone, state, state.failed - 1, int(self._clock()) + LOOK_UP_SECONDS)
                self._states.drop(zone)

    def _error(self, reason: Reason, name: str, zone: str, due: int) -> ZoneSilentError:
        with self._lock:
            self._silent_until.put(zone, CacheEntry(due, self._clock(), due))
        silence = Silence(name, zone, due, self._zones_of(domain_of(name))[0])
        return ZoneSilentError(reason, f"the zone {zone} does not answer", silence)


class SilentSenders:
    """The inbox's refusal of senders for whose silent zone too many claims wait. `zones_of`: as for PatientKeys."""

    def __init__(
        self, zones: SenderZones, zones_of: Callable[[str], list[str]], clock: Clock, *, cache_seconds: float = 10
    ) -> None:
        self._zones = zones
        self._zones_of = zones_of
        self._clock = clock
        self._backlogs: LoadingCache[Backlog] = LoadingCache(
            clock, cache_seconds, most=1, errors={NotNowError: cache_seconds}
        )

    def admit(self, domain: str) -> None:
        """Raises NotNowError(SENDER_DNS_SILENT).

        One row is read in 10 s; more only while too many claims wait for some zone.
        """
        full = None
        with suppress(NotNowError):  # a limit that cannot be read refuses nobody
            full = self._full_zone(domain)
        if full:
            raise NotNowError(SENDER_DNS_SILENT, full)

    def _full_zone(self, domain: str) -> str | None:
        now = self._clock()
        backlog = self._backlogs.get("", self._zones.backlog)
        if backlog.full_until <= now or _is_trusted(self._zones.proof(domain), now):
            return None
        is_full = backlog.waiting >= MAX_WAITING
        states = {zone: self._zones.read(zone) for zone in self._zones_of(domain)}
        for zone, state in states.items():
            # Once a zone is due, a message must be accepted that asks it.
            is_silent = state.due is not None and state.due > now
            if is_silent and (is_full or state.waiting >= MAX_WAITING_OF_ZONE):
                return zone
        above, state = next(iter(states.items()))
        is_crowded = is_full and above != domain and state.waiting >= MAX_WAITING_OF_ZONE
        return above if is_crowded or backlog.waiting >= MAX_WAITING_OF_NEW_ZONES else None


def _is_trusted(proof: DomainProof, now: float) -> bool:
    """Whether a domain is looked up for each of its messages: it was proven, and has not been silent for long."""
    is_silent = proof.silent_since is not None and proof.silent_since + PROVEN_SILENT_SECONDS <= now
    return proof.until > now and not is_silent


def domain_of(key_name: str) -> str:
    """The sender's domain of a key's name, such as `pk1._domainkey.sender.example`."""
    return key_name.rpartition("._domainkey.")[2].lower()
