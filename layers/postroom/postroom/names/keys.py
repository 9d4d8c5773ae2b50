"""Senders' keys by DNS name: looked up, proven by DNSSEC, parsed, cached."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, Generic, TypeVar

import dns.exception
import dns.name
from dns.rdatatype import TXT

from postroom.core.errors import NotNowError, TheirError
from postroom.core.expiring_cache import Cache, CacheEntry
from postroom.crypto.reasons import KEY_RECORD_INVALID
from postroom.names.dns import Ask
from postroom.names.dns.records import TxtRecord
from postroom.names.dnssec import (
    Absent,
    Bogus,
    EndlessAlias,
    Evidence,
    Indeterminate,
    Insecure,
    KnownZones,
    Policy,
    Secure,
    TrustAnchors,
    validate,
)
from postroom.names.registrable_domains import Hold, look_up_of
from postroom.protocols.nlweb.reasons import DNSSEC_BOGUS, DNSSEC_TOO_COSTLY, KEY_NOT_FOUND, SENDER_NOT_SIGNED

K = TypeVar("K")

NAMES_READ: Final = 1024
"""Names whose parsed form is cached: senders write more than once, and parsing a name costs as much as a hash."""


@dataclass(frozen=True)
class FoundKey(Generic[K]):
    """A parsed key and its proof; `expires_at` in epoch seconds.

    `cached`: it was in memory. `refetched`: it was looked up because the caller asked for a fresh one.
    """

    key: K
    evidence: Evidence
    expires_at: float
    cached: bool
    refetched: bool


@dataclass(frozen=True)
class KeepTimes:
    """How long results are cached, in seconds, and how many of them."""

    min_key_seconds: float = 30
    max_key_seconds: float = 86_400
    max_negative_seconds: float = 60
    """A missing or bad record is often repaired soon."""
    fresh_floor_seconds: float = 2
    """A key younger than this is not fetched again: forged mail must not make us flood anybody's DNS."""
    back_off_seconds: float = 5
    """How long a domain is not asked again after a failed look-up: forged mail in its name costs one wait, whatever its
    selectors."""
    max_names: int = 10_000
    max_evidence: int = 16 << 20
    """Characters of the evidence of all keys, and the keys as they are weighed: some 1,000 are usual, a sender may
    cause a hundred times as many."""


class KeyDirectory(Generic[K]):
    """Finds key records. Thread-safe; one look-up at a time for each name, shared by all threads that wait for it.

    `asking` returns an `Ask` for one look-up (`Resolvers.asking`). `parse` makes a key from the TXT records at the
    name, each with its strings joined (RFC 6376 §3.6.2.2), or raises `TheirError`. `clock`: epoch seconds. `hold`:
    limits the look-ups. `weigh`: the size of a key in characters, if senders decide it.
    """

    def __init__(
        self,
        asking: Callable[[], Ask],
        anchors: TrustAnchors,
        parse: Callable[[Sequence[bytes]], K],
        *,
        clock: Callable[[], float],
        policy: Policy | None = None,
        times: KeepTimes | None = None,
        hold: Hold | None = None,
        weigh: Callable[[K], int] = lambda _: 0,
    ) -> None:
        self._hold = hold
        self._weigh = weigh
        self._asking = asking
        self._anchors = anchors
        self._parse = parse
        self._clock = clock
        self._policy = policy
        self._times = times or KeepTimes()
        self._lock = threading.Lock()
        self._known: Cache[FoundKey[K]] = Cache(self._times.max_names, self._times.max_evidence)
        # Separate, because anybody can make up names without a key: they must not displace keys.
        self._refused: Cache[TheirError] = Cache(self._times.max_names)
        self._failing: Cache[NotNowError] = Cache(self._times.max_names)
        self._zones = KnownZones()
        self._running: dict[str, Future[FoundKey[K] | TheirError | NotNowError]] = {}

    def find(self, name: str, *, fresh: bool = False) -> FoundKey[K]:
        """The key at `name`, such as `pk1._domainkey.sender.example`.

        `fresh`: look it up even if it is cached, unless that was only a moment ago. If the new answer is not proven,
        the cached key is returned: only a proven answer replaces it. Raises `TheirError` (SENDER_NOT_SIGNED,
        DNSSEC_BOGUS, KEY_NOT_FOUND, KEY_RECORD_INVALID, or the error of `parse`) or `NotNowError` (KEY_LOOKUP_FAILED,
        DNSSEC_TOO_COSTLY, TOO_MANY_LOOK_UPS).
        """
        owner, key = _owner(name)
        with self._lock:
            outcome = self._remembered(key, owner, fresh)
            if outcome is not None:
                return _given(outcome)
            mine: Future[FoundKey[K] | TheirError | NotNowError] = Future()
            running = self._running.setdefault(key, mine)
        if running is mine:
            self._run(key, owner, fresh, running)
        outcome = running.result()
        if isinstance(outcome, FoundKey):
            return replace(outcome, refetched=fresh and not outcome.cached)
        return _given(outcome)

    def remembered(self, name: str) -> FoundKey[K] | None:
        """The key at `name` if it is in memory; None: it is not. Raises the TheirError of a remembered refusal."""
        _, key = _owner(name)
        now = self._clock()
        with self._lock:
            remembered = self._known.get(key, now) or self._refused.get(key, now)
        return _given(remembered.value) if remembered else None

    def _remembered(self, key: str, owner: dns.name.Name, fresh: bool) -> FoundKey[K] | TheirError | NotNowError | None:
        now = self._clock()
        remembered = self._known.get(key, now) or self._refused.get(key, now)
        if remembered and not (fresh and now - remembered.fetched_at >= self._times.fresh_floor_seconds):
            return remembered.value
        failing = self._failing.get(_branch(owner), now) or self._failing.get(key, now)
        return failing.value if failing else None

    def _run(
        self, key: str, owner: dns.name.Name, fresh: bool, running: Future[FoundKey[K] | TheirError | NotNowError]
    ) -> None:
        try:
            kept = self._look_up(key, owner, fresh)
        except BaseException as error:
            with self._lock:
                del self._running[key]
            running.set_exception(error)
            return
        with self._lock:
            if isinstance(kept.value, NotNowError):
                # A cached key stays: it still proves what it signed.
                place = key if kept.value.reason == DNSSEC_TOO_COSTLY else _branch(owner)
                self._failing.put(place, CacheEntry(kept.value, kept.fetched_at, kept.expires_at))
            elif isinstance(kept.value, TheirError):
                self._refused.put(key, CacheEntry(kept.value, kept.fetched_at, kept.expires_at))
                self._known.drop(key)
            else:
                found = CacheEntry(replace(kept.value, cached=True), kept.fetched_at, kept.expires_at)
                weight = len(repr(found.value.evidence)) + self._weigh(found.value.key)
                self._known.put(key, found, weight)
                self._refused.drop(key)
            del self._running[key]
        running.set_result(kept.value)

    def _look_up(
        self, key: str, owner: dns.name.Name, fresh: bool
    ) -> CacheEntry[FoundKey[K] | TheirError | NotNowError]:
        times = self._times
        started = self._clock()
        with look_up_of(_branch(owner).removesuffix("."), self._hold):
            verdict = validate(
                owner, TXT, self._anchors, self._asking(), started, policy=self._policy, known=self._zones, fresh=fresh
            )
        if isinstance(verdict, Indeterminate):
            now = self._clock()
            # A name that costs too much now will still do so in a moment.
            is_costly = verdict.reason == DNSSEC_TOO_COSTLY
            seconds = times.max_negative_seconds if is_costly else times.back_off_seconds
            return CacheEntry(NotNowError(verdict.reason, verdict.why), now, now + seconds)
        if isinstance(verdict, Bogus):
            with self._lock:
                known = self._known.get(key, self._clock())
            if known:
                # Otherwise anyone who can tamper with answers could remove a proven key.
                return CacheEntry(known.value, started, known.expires_at)
        if not isinstance(verdict, Secure):
            ttl = verdict.ttl if isinstance(verdict, Absent | Insecure) else times.max_negative_seconds
            return CacheEntry(discard_of(owner, verdict), started, started + min(ttl, times.max_negative_seconds))
        try:
            parsed = self._parse([b"".join(r.strings) for r in verdict.records if isinstance(r, TxtRecord)])
        except TheirError as wrong:
            return CacheEntry(wrong, started, started + min(verdict.ttl, times.max_negative_seconds))
        expires_at = started + min(max(verdict.ttl, times.min_key_seconds), times.max_key_seconds)
        found = FoundKey(parsed, verdict.evidence, expires_at, cached=False, refetched=False)
        return CacheEntry(found, started, expires_at)


def discard_of(owner: dns.name.Name, verdict: Absent | Insecure | Bogus | EndlessAlias) -> TheirError:
    """The reason to discard mail whose key record should be at `owner`, by the verdict on it."""
    match verdict:
        case Absent():
            return TheirError(KEY_NOT_FOUND, f"no TXT record at {owner} ({verdict.kind})")
        case Insecure():
            return TheirError(SENDER_NOT_SIGNED, verdict.why)
        case Bogus():
            return TheirError(DNSSEC_BOGUS, verdict.why)
        case EndlessAlias():
            return TheirError(KEY_RECORD_INVALID, verdict.why)


def _given(outcome: FoundKey[K] | TheirError | NotNowError) -> FoundKey[K]:
    """The key, or the error as a new exception: a shared one would collect the tracebacks of all its readers."""
    if isinstance(outcome, FoundKey):
        return outcome
    raise type(outcome)(outcome.reason, outcome.detail)


def _branch(owner: dns.name.Name) -> str:
    """The sender's domain, whose servers answer for all its selectors; for another form of name, the name itself."""
    labels = owner.canonicalize().labels
    # The last such label: a selector may have one, too, a host name cannot.
    after = next((i for i in range(len(labels), 0, -1) if labels[i - 1] == b"_domainkey"), 0)
    return dns.name.Name(labels[after:]).to_text()


@lru_cache(NAMES_READ)
def _owner(name: str) -> tuple[dns.name.Name, str]:
    """The name, and its canonical text, which is the key of everything cached about it."""
    try:
        # As bytes and without escapes: a host name is ASCII, and a dot in it separates labels.
        if "\\" in name:
            raise dns.name.BadEscape
        owner = dns.name.from_text(name.encode("ascii"))
    except (dns.exception.DNSException, UnicodeError):
        raise TheirError(KEY_NOT_FOUND, f"{name[:80]!r} is not a DNS name; expected SELECTOR._domainkey.HOST") from None
    return owner, owner.canonicalize().to_text()
