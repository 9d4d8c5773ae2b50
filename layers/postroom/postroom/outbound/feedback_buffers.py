"""The domain that receives Feedback for a sender (its buffer): from the sender's manifest, or from a graph domain."""

import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Protocol

from postroom.core.errors import NotNowError, TheirError
from postroom.core.ijson import parse
from postroom.core.loading_cache import LoadingCache
from postroom.core.reasons import OUTBOUND_FAILED, SIGNING_KEY_UNAVAILABLE
from postroom.names.manifest import ManifestDirectory, read_feedback_domain
from postroom.net.https import HttpsResponse
from postroom.outbound.ports import Clock
from postroom.protocols.nlweb.schema import NLWEB
from postroom.protocols.nlweb.sign import Draft, sign
from postroom.protocols.nlweb.subjects import IDENTITY
from postroom.storage.secrets.signing_keys import SigningKey

MAX_REPLY_BYTES: Final = 65_536
"""The reply has a host name, and possibly other data of the graph."""
MAX_DOMAINS: Final = 4096
"""The most domains whose answers are cached."""
_KEEP_SECONDS: Final = 3600


class Posts(Protocol):
    """Posts to the graph; `postroom.net.https.HttpsClient` is one."""

    def post(self, url: str, body: bytes, content_type: str) -> HttpsResponse:
        """Post a body. Raises NotNowError(OUTBOUND_FAILED)."""
        ...


class FirstKey(Protocol):
    """The source of the domain in whose name the graph is asked; `postroom.storage.secrets.signing_keys.SigningKeys` is
    one."""

    def first(self) -> tuple[str, SigningKey] | None:
        """A domain of ours and its key. Raises NotNowError(SIGNING_KEY_UNAVAILABLE)."""
        ...


@dataclass(slots=True, eq=False)
class GraphDomain:
    """Asks a graph domain `Identity@Graph` (decision "Feedback").

    It asks in the name of the first of our domains that has a key, whichever domain the message was for.
    """

    domain: str
    https: Posts
    keys: FirstKey
    clock: Clock
    new_uuid: Callable[[], uuid.UUID]
    _cache: LoadingCache[str | None] = field(init=False)

    def __post_init__(self) -> None:
        """Begin with an empty cache."""
        self._cache = LoadingCache(self.clock, _KEEP_SECONDS, most=MAX_DOMAINS)

    def feedback_domain_of(self, domain: str) -> str | None:
        """The buffer that the graph knows for a domain. Raises NotNowError."""
        return self._cache.get(domain, lambda: self._ask(domain))

    def _ask(self, domain: str) -> str | None:
        asker = self.keys.first()
        if asker is None:
            raise NotNowError(SIGNING_KEY_UNAVAILABLE, "no domain of ours has a key to ask the graph with")
        ours, signing = asker
        request = sign(
            Draft(
                sender=ours,
                receiver=self.domain,
                subject=IDENTITY[0],
                correlation=str(self.new_uuid()),
                timestamp_ms=int(self.clock() * 1000),
                body={"Domain": domain},
                selector=signing.selector,
            ),
            signing.key,
        )
        answer = self.https.post(NLWEB.inbox_url(self.domain), json.dumps(request).encode(), "application/json")
        if answer.status >= 500:
            raise NotNowError(OUTBOUND_FAILED, f"{self.domain} answered {answer.status} to {IDENTITY[0]}")
        if answer.status != 200:
            return None
        try:
            reply = parse(answer.body, max_bytes=MAX_REPLY_BYTES)
        except TheirError:
            return None
        return read_feedback_domain(reply.get("Feedback")) if isinstance(reply, dict) else None


class FeedbackBuffers:
    """A domain's buffer is in its manifest. If it has no manifest, the graph is asked."""

    def __init__(self, manifests: ManifestDirectory, graph: GraphDomain | None) -> None:
        self._manifests = manifests
        self._graph = graph

    def feedback_domain_of(self, domain: str) -> str | None:
        """The buffer of a domain; None: no Feedback is sent. Raises NotNowError."""
        feedback = self._manifests.feedback_of(domain)
        if feedback.said or self._graph is None:
            return feedback.domain
        return self._graph.feedback_domain_of(domain)
