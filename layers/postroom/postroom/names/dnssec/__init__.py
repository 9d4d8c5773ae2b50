"""DNSSEC validation, from a trust anchor down (RFC 4033-4035, RFC 5155, RFC 6840).

`validate` (or `look_up`, sans-I/O) returns a verdict. No resolver is trusted: not its AD bit, and not a missing
signature or proof of absence.
"""

from postroom.names.dnssec.anchors import IANA_ROOT, TrustAnchors
from postroom.names.dnssec.evidence import Alias, Evidence, Link
from postroom.names.dnssec.policy import Policy
from postroom.names.dnssec.verdicts import Absent, Bogus, EndlessAlias, Indeterminate, Insecure, Secure, Verdict
from postroom.names.dnssec.walk import look_up, validate, walk
from postroom.names.dnssec.zones import KnownZones

__all__ = [
    "IANA_ROOT",
    "Absent",
    "Alias",
    "Bogus",
    "EndlessAlias",
    "Evidence",
    "Indeterminate",
    "Insecure",
    "KnownZones",
    "Link",
    "Policy",
    "Secure",
    "TrustAnchors",
    "Verdict",
    "look_up",
    "validate",
    "walk",
]
