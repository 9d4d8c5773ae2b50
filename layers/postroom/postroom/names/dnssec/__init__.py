"""What DNS says, proven from a trust anchor down: the positive chain walk (RFC 4033-4035).

`validate` (or `walk`, sans-I/O) ends with a verdict. No resolver is believed: not its AD bit, not its silence
where a signature is due. Proofs of absence (NSEC, NSEC3) and wildcards are not checked yet: `Absent` and
`Insecure` stand on signed or missing records as described at their classes.
"""

from postroom.names.dnssec.anchors import IANA_ROOT, TrustAnchors
from postroom.names.dnssec.evidence import Alias, Evidence, Link
from postroom.names.dnssec.verdicts import Absent, Bogus, EndlessAlias, Insecure, Secure, Verdict
from postroom.names.dnssec.walk import drive, validate, walk

__all__ = [
    "IANA_ROOT",
    "Absent",
    "Alias",
    "Bogus",
    "EndlessAlias",
    "Evidence",
    "Insecure",
    "Link",
    "Secure",
    "TrustAnchors",
    "Verdict",
    "drive",
    "validate",
    "walk",
]
