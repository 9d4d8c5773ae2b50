"""Other domains' manifests, which name the domain for Feedback (decision "Feedback")."""

import time
from collections.abc import Callable
from typing import NamedTuple, Protocol

import yaml

from postroom.core.errors import NotNowError
from postroom.core.loading_cache import LoadingCache
from postroom.core.reasons import OUTBOUND_FAILED
from postroom.names.documents import FAULTS, Strings
from postroom.names.failing_names import FailingNames
from postroom.net.failing_addresses import FailedRecentlyError
from postroom.net.https import HttpsResponse, NoSuchHostError, can_be_reached
from postroom.protocols.nlweb.names import read_host_name

MAX_MANIFEST_BYTES = 16384
"""Many times what a manifest needs; parsing 64 kB of hostile YAML takes a second."""
MAX_DOMAINS = 4096
"""The most cached answers, and the most remembered failures."""
_PREFIXES = ("nlweb", "pw")
"""Hosts that serve a domain's manifest: the name of 2023, then that of 2026, if the former does not exist."""


class FeedbackAddress(NamedTuple):
    """The domain for Feedback, or None with the reason. `said`: the domain's own manifest says so."""

    domain: str | None
    why: str
    said: bool = False


NO_FEEDBACK = FeedbackAddress(None, "the manifest has no Feedback", said=True)


class Gets(Protocol):
    """Fetches a manifest; `postroom.net.https.HttpsClient` is one."""

    def get(self, url: str, accept: str, seconds: float) -> HttpsResponse:
        """GET a URL within `seconds`. Raises NoSuchHostError or another NotNowError."""
        ...


def feedback_of(manifest: bytes) -> FeedbackAddress:
    """Read `About.Feedback`, or the older `Identity.Feedback`, from a manifest (YAML, at most 16 kB).

    Never raises: a manifest is not a message, and an unreadable one names nobody.
    """
    if len(manifest) > MAX_MANIFEST_BYTES:
        return FeedbackAddress(None, f"the manifest has more than {MAX_MANIFEST_BYTES} bytes")
    try:
        root = yaml.load(manifest, Strings)  # noqa: S506 - makes strings, lists and dicts only
    except FAULTS:
        return FeedbackAddress(None, "the manifest is not plain YAML")
    if not isinstance(root, dict):
        return FeedbackAddress(None, "the manifest is not a mapping, so it has no Feedback", said=True)
    for section in ("About", "Identity"):
        members = root.get(section)
        if isinstance(members, dict) and "Feedback" in members:
            return _checked(members["Feedback"])
    return NO_FEEDBACK


def read_feedback_domain(value: object) -> str | None:
    """A Feedback domain in lower case; None if it is not a host name that can be reached."""
    name = read_host_name(value)
    return name if name and can_be_reached(name) else None


def _checked(value: object) -> FeedbackAddress:
    name = read_feedback_domain(value)
    why = "the manifest says so" if name else "the manifest's Feedback is not a host name"
    return FeedbackAddress(name, why, said=True)


class ManifestDirectory:
    """Fetches manifests and caches their content; safe to share among threads.

    `clock` returns epoch seconds. `fetch_seconds` limits the requests to all hosts of a domain together. A Feedback
    domain is cached for `keep_seconds`, a missing one for `keep_none_seconds`. If a manifest could not be fetched, its
    domain is left alone for FAILING_SECONDS: mail forged in its name must not make us flood its host. At most `most`
    answers and `most` failures are remembered. `wildcard_above` is called after a failure.
    """

    def __init__(
        self,
        https: Gets,
        clock: Callable[[], float],
        wildcard_above: Callable[[str], str | None],
        *,
        fetch_seconds: float = 3.0,
        keep_seconds: float = 3600,
        keep_none_seconds: float = 300,
        most: int = MAX_DOMAINS,
    ) -> None:
        self._https = https
        self._wildcard_above = wildcard_above
        self._fetch_seconds = fetch_seconds
        self._failing = FailingNames(clock, most)
        self._cache: LoadingCache[FeedbackAddress] = LoadingCache(
            clock,
            lambda found: keep_seconds if found.domain else keep_none_seconds,
            most=most,
        )

    def feedback_domain_of(self, domain: str) -> str | None:
        """The domain for Feedback about messages of this domain (lower-case host name); None: nobody.

        Raises NotNowError (OutboundFailed) if its manifest is unavailable now; FailedRecentlyError is one of these.
        """
        return self.feedback_of(domain).domain

    def feedback_of(self, domain: str) -> FeedbackAddress:
        """The same, with the reason. Raises as `feedback_domain_of` does."""
        return self._cache.get(domain, lambda: self._fetch(domain))

    def _fetch(self, domain: str) -> FeedbackAddress:
        if not can_be_reached(domain):
            return FeedbackAddress(None, "only a host name has a manifest")
        seconds_left = self._failing.seconds_left(domain)
        if seconds_left:
            raise FailedRecentlyError(OUTBOUND_FAILED, f"the hosts of {domain} failed a moment ago", seconds_left)
        deadline = time.monotonic() + self._fetch_seconds
        for prefix in _PREFIXES:
            host = f"{prefix}.{domain}"
            try:
                answer = self._https.get(
                    f"https://{host}/manifest", accept="application/yaml, */*", seconds=deadline - time.monotonic()
                )
                return read_manifest(answer, host)
            except NoSuchHostError:
                continue
            except FailedRecentlyError:
                raise
            except NotNowError:
                self._failing.note(domain, self._wildcard_above(domain))
                raise
        return FeedbackAddress(None, "the domain has no host that would serve a manifest")


def read_manifest(answer: HttpsResponse, host: str) -> FeedbackAddress:
    """The content of a host's answer to GET /manifest. Raises NotNowError if there may be another answer soon."""
    if answer.status == 200:
        return feedback_of(answer.body)
    if answer.may_change_soon:
        raise NotNowError(OUTBOUND_FAILED, f"{host} answered {answer.status} to GET /manifest")
    return FeedbackAddress(None, f"{host} answered {answer.status} to GET /manifest")
