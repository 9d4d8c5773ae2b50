"""Senders' keys with patience for silent zones: how often a zone is asked that never answered, and for how many claims.

A domain of which a key was proven is looked up for each of its messages, as often as they are tried again, unless it
has been silent for an hour. For other domains, all claims of one zone share its look-ups, which soon are hours apart:
forged mail in the name of a domain that does not answer must neither flood its servers nor hold the worker.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from threading import Lock
from typing import Final, NamedTuple

from postroom.core.errors import NotNowError, TheirError
from postroom.core.expiring_cache import Cache, CacheEntry
from postroom.core.loading_cache import LoadingCache
from postroom.core.reason import Reason
from postroom.core.reasons import TOO_MANY_LOOK_UPS
from postroom.core.settings import DAY_SECONDS
from postroom.names.registrable_domains import registrable_domain
from postroom.outbound.ports import Clock
from postroom.pipeline.look_ups import LookUps
from postroom.pipeline.ports import SenderKey, SenderKeys
from postroom.pipeline.silence import Silence, ZoneSilentError
from postroom.protocols.nlweb.reasons import KEY_LOOKUP_FAILED, SENDER_DNS_SILENT
from postroom.storage.limits.sender_zones import DomainProof, SenderZones, ZoneState

FIRST_SECONDS: Final = 5
FACTOR: Final = 3
LONGEST_SECONDS: Final = 6 * 3600
PROVEN_SECONDS: Final = 90 * DAY_SECONDS
"""How long a domain counts as proven after a proof was recorded; it is recorded again in the second half."""
PROVEN_SILENT_SECONDS: Final = 3600
"""How long the messages of a proven domain that does not answer are tried again each by itself; then they wait, too."""
PUT_OFF_SECONDS: Final = 3600
"""How long a claim waits whose look-up is not made: 170 times in 7 days, and its queue delivers it 200 times."""
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

Of a domain that proved a key, claims are tried again each by itself. They wait as well; beyond MAX_WAITING_OF_ZONE, or
MAX_WAITING of all below its registrable domain, it takes more only if it finds the sender's key at once.

A server may be silent for each name below its domain as if it were a zone. So if too many claims wait in all, the inbox
takes messages of the zones below a registrable domain for which, with the zones below it, too many wait, only if it
finds the sender's key at once.
"""
SCARCE_WAITING: Final = 40_000
"""Beyond so many in all, one claim that waits below a registrable domain is too many."""
MAX_WAITING_OF_NEW_ZONES: Final = 60_000
"""Beyond so many, the inbox takes messages of domains that are not proven only if it finds the sender's key at once."""
MOST_WAITING: Final = 80_000
"""Beyond so many, it does not look if a claim waits for that registrable domain, or below it.

Its server may answer the inbox, and then be silent when the worker asks. SQS hides at most 120,000 messages of a queue.
It says a minute late how many there are, and the inbox asks it once in ten seconds: at 500 messages a second, 35,000
are accepted before it notices.
"""


class _Full(NamedTuple):
    """Why there is no room: the zone that is silent, or below which too many claims wait.

    `is_final`: whether the sender's key is found or not.
    """

    zone: str
    is_final: bool


def seconds_silent(failed: int) -> int:
    """Seconds from the nth failed look-up of a zone to the next one: 5, 15, 45 … at most 6 hours."""
    return int(min(FIRST_SECONDS * FACTOR ** min(failed - 1, 10), LONGEST_SECONDS))


class PatientKeys:
    """Senders' keys, looked up by `keys`, as often as the state of their zone allows.

    `zones_of`: the zones that a domain can be in, from the top down. `silent_zone`: which of them does not answer;
    None: our resolvers do not. `is_silent`: whether a domain does not answer, whatever the name of the key is.
    `look_ups`: their limits.
    """

    def __init__(
        self,
        keys: SenderKeys,
        zones: SenderZones,
        zones_of: Callable[[str], list[str]],
        silent_zone: Callable[[str], str | None],
        is_silent: Callable[[str], bool],
        look_ups: LookUps,
        clock: Clock,
    ) -> None:
        self._keys = keys
        self._zones = zones
        self._zones_of = zones_of
        self._silent_zone = silent_zone
        self._is_silent = is_silent
        self._look_ups = look_ups
        self._clock = clock
        self._proofs: LoadingCache[DomainProof] = LoadingCache(clock, PROOF_CACHE_SECONDS, most=MAX_ZONES)
        self._recorded: LoadingCache[int] = LoadingCache(clock, PROOF_CACHE_SECONDS, most=MAX_ZONES)
        self._states: LoadingCache[ZoneState] = LoadingCache(clock, STATE_CACHE_SECONDS, most=MAX_ZONES)
        self._silences: Cache[int] = Cache(MAX_ZONES)
        self._lock = Lock()

    def silence(self, name: str) -> Silence | None:
        """The silence of a key's zone, from memory; None: the zone may be asked, or has to be looked up.

        Nobody asks it before it is due. A domain that was proven meanwhile is looked up then.
        """
        now = self._clock()
        zones = self._zones_of(domain_of(name))
        with self._lock:
            found = [(zone, self._silences.get(zone, now)) for zone in zones]
        return next((Silence(name, zone, each.value, zones[0]) for zone, each in found if each), None)

    def remembered(self, name: str) -> SenderKey | None:
        """As SenderKeys."""
        return self._keys.remembered(name)

    def find(self, name: str, *, fresh: bool = False) -> SenderKey:
        """As SenderKeys. Raises ZoneSilentError, too, NotNowError(STORE_UNAVAILABLE), and LookUpNeededError."""
        remembered = self._keys.remembered(name)
        if remembered is not None and not fresh:
            return remembered
        domain = domain_of(name)
        if remembered is None:
            self._look_ups.check()
            return self._look_up(name, domain, fresh=fresh)
        return self._find_proven(name, domain, fresh=True)

    def _look_up(self, name: str, domain: str, *, fresh: bool) -> SenderKey:
        now = int(self._clock())
        proof = self._proofs.get(domain, lambda: self._zones.proof(domain))
        is_trusted = _is_trusted(proof, now)
        try:
            found = self._find_proven(name, domain, proof, fresh=fresh) if is_trusted else self._ask(name, domain, now)
        except TheirError:
            if proof.silent_since is not None:
                self._record(domain, proof.until)
            raise
        if proof.silent_since is not None or proof.until < now + PROVEN_SECONDS // 2:
            self._record(domain, now + PROVEN_SECONDS)
        return found

    def _find_proven(self, name: str, domain: str, proof: DomainProof | None = None, *, fresh: bool) -> SenderKey:
        """Look up a key of a domain that proved one. Raises ZoneSilentError. `proof`: what may have to be changed."""
        try:
            # By itself: whoever else has names below the same registrable domain must not delay it.
            with self._look_ups.of(domain, whatever_fails=True):
                try:
                    return self._keys.find(name, fresh=fresh)
                except NotNowError as error:
                    # A stranger chooses the name of the key: that it fails does not say that the domain is silent.
                    failed = proof and proof.silent_since is None and error.reason == KEY_LOOKUP_FAILED
                    if failed and self._is_silent(domain):
                        with suppress(NotNowError):  # it is recorded at the next look-up
                            self._zones.fall_silent(domain, int(self._clock()))
                        self._proofs.drop(domain)
                    raise
        except NotNowError as error:
            silence = Silence(name, domain, int(self._clock()), self._zones_of(domain)[0], is_proven=True)
            raise ZoneSilentError(error.reason, error.detail, silence) from error

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
        if silent:
            # Each look-up of such a zone is counted, so it must have all its time.
            self._look_ups.check_unlimited()
        try:
            with self._look_ups.of(registrable_domain(domain)):
                return self._ask_now(name, domain, known, silent, now)
        except NotNowError as error:
            if error.reason != TOO_MANY_LOOK_UPS:
                raise
            raise self._put_off(name, domain, error) from error

    def _ask_now(
        self, name: str, domain: str, known: dict[str, ZoneState], silent: Iterable[str], now: int
    ) -> SenderKey:
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

    def _put_off(self, name: str, domain: str, error: NotNowError) -> ZoneSilentError:
        """The error for a look-up that is not made, because others below its registrable domain take long.

        It says nothing about the zone, unless the others found out that it is silent.
        """
        zones, now = self._zones_of(domain), int(self._clock())
        for zone in zones:
            self._states.drop(zone)
            if (due := self._state(zone).due) is not None and due > now:
                return self._error(KEY_LOOKUP_FAILED, name, zone, due)
        silence = self._silence(name, zones[-1], now + PUT_OFF_SECONDS)
        return ZoneSilentError(error.reason, error.detail, silence)

    def _take_back(self, known: dict[str, ZoneState]) -> None:
        """Do not count look-ups that failed because our own resolvers do not answer."""
        for zone, state in known.items():
            if state.is_silent:
                with suppress(NotNowError):  # one failure more is counted
                    self._zones.put_off(zone, state, state.failed - 1, int(self._clock()) + LOOK_UP_SECONDS)
                self._states.drop(zone)

    def _error(self, reason: Reason, name: str, zone: str, due: int) -> ZoneSilentError:
        return ZoneSilentError(reason, f"the zone {zone} does not answer", self._silence(name, zone, due))

    def _silence(self, name: str, zone: str, due: int) -> Silence:
        with self._lock:
            self._silences.put(zone, CacheEntry(due, self._clock(), due))
        return Silence(name, zone, due, self._zones_of(domain_of(name))[0])


class SilentSenders:
    """The inbox's refusal of senders for whose silent zone too many claims wait.

    `keys`: with a limit of time and of look-ups at once. `count_waiting`: the claims that wait, or are not judged yet.
    `zones_of`: as for PatientKeys.
    """

    def __init__(
        self,
        keys: SenderKeys,
        zones: SenderZones,
        count_waiting: Callable[[], int],
        zones_of: Callable[[str], list[str]],
        clock: Clock,
        *,
        cache_seconds: float = 10,
    ) -> None:
        self._keys = keys
        self._zones = zones
        self._count_waiting = count_waiting
        self._zones_of = zones_of
        self._clock = clock
        self._waiting: LoadingCache[int] = LoadingCache(
            clock, cache_seconds, most=1, errors={NotNowError: cache_seconds}
        )

    def admit(self, key_name: str) -> None:
        """Raises NotNowError(SENDER_DNS_SILENT).

        The queue is asked once in 10 s. Rows are read only while as many claims wait as one zone may have. A key is
        looked up only for a sender that would be refused because of the claims of others.
        """
        full = None
        with suppress(NotNowError):  # a limit that cannot be read refuses nobody
            full = self._full(domain_of(key_name))
        if full and (full.is_final or not self._is_found(key_name)):
            raise NotNowError(SENDER_DNS_SILENT, full.zone)

    def _is_found(self, key_name: str) -> bool:
        """Whether the sender's key is found at once, so that a claim would not wait."""
        try:
            self._keys.find(key_name)
        except (TheirError, NotNowError):
            return False
        return True

    def _full(self, domain: str) -> _Full | None:
        now = self._clock()
        waiting = self._waiting.get("", self._count_waiting)
        if waiting < MAX_WAITING_OF_ZONE:
            return None
        if _is_trusted(self._zones.proof(domain), now):
            return self._full_of_proven(domain, waiting, now)
        is_full = waiting >= MAX_WAITING
        states = {zone: self._zones.read(zone) for zone in self._zones_of(domain)}
        for zone, state in states.items():
            # Once a zone is due, a message must be accepted that asks it.
            is_silent = state.due is not None and state.due > now
            if is_silent and (is_full or state.waiting(now) >= MAX_WAITING_OF_ZONE):
                return _Full(zone, is_final=True)
        above, state = next(iter(states.items()))
        crowd = 1 if waiting >= SCARCE_WAITING else MAX_WAITING_OF_ZONE
        is_crowded = is_full and above != domain and state.waiting(now) >= crowd
        if is_crowded or waiting >= MAX_WAITING_OF_NEW_ZONES:
            return _Full(above, is_final=waiting >= MOST_WAITING and state.waiting(now) > 0)
        return None

    def _full_of_proven(self, domain: str, waiting: int, now: float) -> _Full | None:
        """The same for a domain that proved a key. Its neighbours keep it out only if they are very many."""
        most = {self._zones_of(domain)[0]: MAX_WAITING if waiting < SCARCE_WAITING else MAX_WAITING_OF_ZONE}
        most[domain] = MAX_WAITING_OF_ZONE
        for zone, claims in most.items():
            if self._zones.read(zone).waiting(now) >= claims:
                return _Full(zone, is_final=waiting >= MOST_WAITING)
        return None


def _is_trusted(proof: DomainProof, now: float) -> bool:
    """Whether a domain is looked up for each of its messages: it was proven, and has not been silent for long."""
    is_silent = proof.silent_since is not None and proof.silent_since + PROVEN_SILENT_SECONDS <= now
    return proof.until > now and not is_silent


def domain_of(key_name: str) -> str:
    """The sender's domain of a key's name, such as `pk1._domainkey.sender.example`."""
    return key_name.rpartition("._domainkey.")[2].lower()
