"""DNS questions, and the port through which they are asked."""

from collections.abc import Callable
from typing import NamedTuple

import dns.name
import dns.rdatatype

from postroom.names.dns.answer import Answer


class Question(NamedTuple):
    """A DNS question of class IN; `name` is absolute."""

    name: dns.name.Name
    rdtype: dns.rdatatype.RdataType

    def __str__(self) -> str:
        return f"{self.name} {self.rdtype.name}"


class AskAnotherResolver(Question):
    """A question that is to be asked at another resolver than before, if there is one."""


Ask = Callable[[Question], Answer]
"""Answers a question with a message of rcode NOERROR, NXDOMAIN or YXDOMAIN.

Raises `NotNowError`: KEY_LOOKUP_FAILED if no server gave such an answer in time, DNSSEC_TOO_COSTLY if it was too long.
"""
