"""Operators' settings for what counts as a proof."""

from dataclasses import dataclass

from dns.dnssectypes import Algorithm, DSDigest

_ALGORITHMS = frozenset(
    {
        Algorithm.RSASHA256,
        Algorithm.RSASHA512,
        Algorithm.ECDSAP256SHA256,
        Algorithm.ECDSAP384SHA384,
        Algorithm.ED25519,
        Algorithm.ED448,
    }
)
_SHA1_ALGORITHMS = frozenset({Algorithm.RSASHA1, Algorithm.RSASHA1NSEC3SHA1})
_DIGESTS = frozenset({DSDigest.SHA256, DSDigest.SHA384})


@dataclass(frozen=True)
class Policy:
    """`accept_sha1`: accept signatures and DS digests with SHA-1, too.

    Otherwise a zone that has nothing better counts as not signed (RFC 9905 §2, §3); earlier RFCs ask to validate them
    (RFC 8624 §3.1, §3.3). `skew_seconds`: how far our clock may be off when signatures begin and end.
    """

    accept_sha1: bool = False
    skew_seconds: int = 0

    def knows(self, algorithm: int) -> bool:
        """Whether signatures of this algorithm are checked (RFC 8624 §3.1)."""
        return algorithm in _ALGORITHMS or (self.accept_sha1 and algorithm in _SHA1_ALGORITHMS)

    def digests(self, offered: set[int]) -> frozenset[DSDigest]:
        """The digest types of a zone's DS records that count: SHA-1 only if there is nothing better (RFC 4509 §3)."""
        better = _DIGESTS & offered
        return frozenset({DSDigest.SHA1}) if self.accept_sha1 and not better else frozenset(better)
