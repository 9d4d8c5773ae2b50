"""The network from which a domain is examined."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import dns.name
from dns.rdatatype import RdataType

from postroom.doctor.host import Certificate
from postroom.names.dnssec import Verdict
from postroom.names.uris import ReadUri
from postroom.net.https import HttpsClient


@dataclass(frozen=True, slots=True)
class ExaminerNetwork:
    """Resolvers, hosts and the time.

    `look_up`: the verdict on records. `addresses`: those of a host, none if there is no such host; raises NotNowError.
    `certificate`: of a host at one of these addresses; raises NotNowError. `clock`: epoch seconds. `allow_private`:
    senders here also connect to private addresses. `read_uri`: what a URI of a dm3 profile leads to, under `ipfs:` only
    if `reads_ipfs`.
    """

    look_up: Callable[[dns.name.Name, RdataType], Verdict]
    addresses: Callable[[str], Sequence[str]]
    certificate: Callable[[str, Sequence[str]], Certificate]
    https: HttpsClient
    clock: Callable[[], float]
    allow_private: bool
    read_uri: ReadUri
    reads_ipfs: bool
